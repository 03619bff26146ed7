//! LLVM's textual form, read line by line: names, tokens and types, as far as the edits of this
//! module need them.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A type, as far as it matters for integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ty<'t> {
    /// `iN`.
    Int(u32),
    /// `<LANES x iN>`.
    Vector(u32, u32),
    /// Any other type, in its own words.
    Other(&'t str),
}

impl std::fmt::Display for Ty<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(bits) => write!(f, "i{bits}"),
            Self::Vector(lanes, bits) => write!(f, "<{lanes} x i{bits}>"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl Ty<'_> {
    /// The width of the integer or of the lanes.
    pub(super) fn bits(&self) -> Option<u32> {
        match *self {
            Self::Int(bits) | Self::Vector(_, bits) => Some(bits),
            Self::Other(_) => None,
        }
    }

    /// The type with lanes of another width.
    pub(super) fn with_bits(self, bits: u32) -> Self {
        match self {
            Self::Int(_) => Self::Int(bits),
            Self::Vector(lanes, _) => Self::Vector(lanes, bits),
            other @ Self::Other(_) => other,
        }
    }

    /// A constant that has the number in all lanes.
    pub(super) fn splat(self, number: impl std::fmt::Display) -> String {
        match self {
            Self::Vector(lanes, bits) => {
                let lane = format!("i{bits} {number}");
                format!("<{}>", vec![lane; lanes as usize].join(", "))
            }
            _ => number.to_string(),
        }
    }
}

/// The width of `iN`.
pub(super) fn int_width(token: &str) -> Option<u32> {
    let digits = token.strip_prefix('i')?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// Splits a line into tokens with their positions: words, strings (a prefix such as `@` or `c`
/// included) and single characters. A comment ends the line.
pub(super) fn tokens(line: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "%@!#$._-+".contains(c) || !c.is_ascii();
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        let at = line.len() - rest.len() + start;
        rest = rest.get(start..).unwrap_or_default();
        if rest.starts_with(';') {
            break;
        }
        let mut length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if let Some(string) = rest.get(length..).and_then(|after| after.strip_prefix('"')) {
            length += 1 + string.find('"').map_or(string.len(), |end| end + 1);
        }
        // Any other character is a token of its own.
        let length = length.max(rest.chars().next().map_or(1, char::len_utf8));
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        found.push((at, token));
        rest = after;
    }
    found
}

/// Replaces tokens of a line.
pub(crate) fn replace_tokens<'l>(
    line: &'l str,
    mut replacement: impl FnMut(&str) -> Option<String>,
) -> Cow<'l, str> {
    let mut new = String::new();
    let mut copied = 0;
    for (at, token) in tokens(line) {
        if let Some(other) = replacement(token) {
            new.push_str(line.get(copied..at).unwrap_or_default());
            new.push_str(&other);
            copied = at + token.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(line);
    }
    new.push_str(line.get(copied..).unwrap_or_default());
    Cow::Owned(new)
}

/// Replaces local values by others.
pub(super) fn replace_values<'l>(line: &'l str, values: &BTreeMap<String, String>) -> Cow<'l, str> {
    replace_tokens(line, |token| token.starts_with('%').then(|| values.get(token).cloned())?)
}

/// `%result` of an instruction, and what follows `=`. Instructions without result have an empty
/// name.
pub(super) fn definition(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    match line.split_once(" = ") {
        Some((name, rest)) if name.starts_with('%') && !name.contains([' ', ',']) => (name, rest),
        _ => ("", line),
    }
}

/// Reads the tokens of one instruction in order.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    tokens: Vec<(usize, &'t str)>,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, tokens: tokens(text), at: 0 }
    }

    pub(super) fn peek(&self) -> &'t str {
        self.tokens.get(self.at).map_or("", |(_, token)| token)
    }

    pub(super) fn next(&mut self) -> &'t str {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Takes a token if it is the next one.
    pub(super) fn take(&mut self, token: &str) -> bool {
        let here = !token.is_empty() && self.peek() == token;
        self.at += usize::from(here);
        here
    }

    /// The rest of the text, metadata included.
    pub(super) fn rest(&self) -> &'t str {
        self.tokens.get(self.at).and_then(|(at, _)| self.text.get(*at..)).unwrap_or_default()
    }

    /// The text from a token to the one before the next.
    fn since(&self, from: usize) -> &'t str {
        let start = self.tokens.get(from).map_or(self.text.len(), |(at, _)| *at);
        let end = self
            .at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last))
            .map_or(start, |(at, token)| at + token.len());
        self.text.get(start..end).unwrap_or_default()
    }

    /// Takes a token, with all up to its closing bracket if it opens one.
    fn group(&mut self) {
        let mut depth = 0_u32;
        loop {
            match self.next() {
                "(" | "[" | "{" | "<" => depth += 1,
                ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
                "" => return,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Ty<'t> {
        let from = self.at;
        self.group();
        let words = self.since(from);
        let mut ty = int_width(words).map_or(Ty::Other(words), Ty::Int);
        if let [(_, "<"), (_, lanes), (_, "x"), (_, lane), (_, ">")] = tokens(words).as_slice()
            && let (Ok(lanes), Some(bits)) = (lanes.parse(), int_width(lane))
        {
            ty = Ty::Vector(lanes, bits);
        }
        loop {
            if self.take("addrspace") {
                self.group();
            } else if !self.take("*") {
                return ty;
            }
            ty = Ty::Other(self.since(from));
        }
    }

    /// An operand: a name, a number, a constant vector, an expression.
    pub(super) fn value(&mut self) -> &'t str {
        let from = self.at;
        let word = self.peek();
        self.group();
        let is_expression = word.starts_with(|c: char| c.is_ascii_lowercase());
        while is_expression && matches!(self.peek(), "(" | "inbounds" | "exact" | "nuw" | "nsw") {
            self.group();
        }
        self.since(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_strings_and_characters() {
        let words = |line| tokens(line).into_iter().map(|(_, token)| token).collect::<Vec<_>>();
        assert_eq!(
            words("  %\"a b\" = add i31 %5, -3 ; c"),
            ["%\"a b\"", "=", "add", "i31", "%5", ",", "-3"]
        );
        assert_eq!(words("c\"x;y\" !5 <4 x i32>*"), ["c\"x;y\"", "!5", "<", "4", "x", "i32", ">", "*"]);
    }

    #[test]
    fn types_and_values_are_taken_whole() {
        let mut cursor = Cursor::new(
            "<4 x i31> <i31 1, i31 undef>, i24 addrspace(1)* getelementptr inbounds (i8, i8* @x), { i32, i1 } %y !dbg !3",
        );
        assert_eq!(cursor.ty(), Ty::Vector(4, 31));
        assert_eq!(cursor.value(), "<i31 1, i31 undef>");
        assert!(cursor.take(","));
        assert_eq!(cursor.ty(), Ty::Other("i24 addrspace(1)*"));
        assert_eq!(cursor.value(), "getelementptr inbounds (i8, i8* @x)");
        assert!(cursor.take(","));
        assert_eq!(cursor.ty(), Ty::Other("{ i32, i1 }"));
        assert_eq!(cursor.value(), "%y");
        assert_eq!(cursor.rest(), "!dbg !3");
    }

    #[test]
    fn values_are_replaced_outside_of_strings() {
        let values = BTreeMap::from([("%1".to_owned(), "%x".to_owned())]);
        assert_eq!(
            replace_values("  %2 = add i32 %1, %11, \"%1\"", &values),
            "  %2 = add i32 %x, %11, \"%1\""
        );
    }
}
