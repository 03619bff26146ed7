//! Tokens of LLVM IR in its text form.

use std::borrow::Cow;

/// One token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'t> {
    /// A keyword, a type's name, a flag.
    Word(&'t str),
    /// `name:` at the begin of a block.
    Label(Cow<'t, str>),
    /// `@name`
    Global(Cow<'t, str>),
    /// `%name`
    Local(Cow<'t, str>),
    /// `#1`, a group of attributes.
    Attributes,
    /// `#dbg_value`
    DebugRecord,
    /// `!12`
    MetadataId(u32),
    /// `!dbg`
    MetadataName(&'t str),
    /// `!` before a string or a brace.
    Exclamation,
    /// `$name`
    Comdat,
    /// A decimal or hexadecimal integer, as written. See [`integer`].
    Integer(&'t str),
    /// A floating-point number, as written.
    Float(&'t str),
    /// `"text"`
    Text(Vec<u8>),
    /// `c"text"`
    Bytes(Vec<u8>),
    /// `...`
    Ellipsis,
    /// Any of `= , * ( ) [ ] { } < > : | ^ /`.
    Symbol(char),
    /// A character that no token begins with.
    Unknown(char),
    /// The end of the text.
    End,
}

/// Reads tokens from front to back.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The next token and its line.
    pub(crate) fn next(&mut self) -> (Token<'t>, u32) {
        self.skip_space();
        let line = self.line;
        (self.token(), line)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b';' => {
                    let rest = self.rest();
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Takes the longest prefix whose bytes `belongs` accepts.
    fn take(&mut self, belongs: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !belongs(byte)).unwrap_or(rest.len());
        let (taken, _) = rest.split_at_checked(end).unwrap_or((rest, ""));
        self.at += taken.len();
        taken
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn token(&mut self) -> Token<'t> {
        let Some(first) = self.rest().chars().next() else { return Token::End };
        match first {
            '@' => Token::Global(self.name()),
            '%' => Token::Local(self.name()),
            '$' => {
                self.name();
                Token::Comdat
            }
            '#' => {
                self.at += 1;
                if self.take(is_name).starts_with(|c: char| c.is_ascii_digit()) {
                    Token::Attributes
                } else {
                    Token::DebugRecord
                }
            }
            '!' => self.metadata(),
            '"' => {
                let text = self.quoted();
                if self.peek() == Some(b':') {
                    self.at += 1;
                    return Token::Label(Cow::Owned(String::from_utf8_lossy(&text).into_owned()));
                }
                Token::Text(text)
            }
            '.' if self.rest().starts_with("...") => {
                self.at += 3;
                Token::Ellipsis
            }
            'c' if self.rest().starts_with("c\"") => {
                self.at += 1;
                Token::Bytes(self.quoted())
            }
            '+' | '-' if is_special(self.rest()) => self.special(),
            '+' => {
                self.at += 1;
                self.number()
            }
            _ if is_name(first as u8) && first.is_ascii() => self.word(),
            '=' | ',' | '*' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ':' | '|' | '^' | '/' => {
                self.at += 1;
                Token::Symbol(first)
            }
            _ => {
                self.at += first.len_utf8();
                Token::Unknown(first)
            }
        }
    }

    /// The name behind a sigil.
    fn name(&mut self) -> Cow<'t, str> {
        self.at += 1;
        if self.peek() == Some(b'"') {
            return Cow::Owned(String::from_utf8_lossy(&self.quoted()).into_owned());
        }
        Cow::Borrowed(self.take(is_name))
    }

    fn metadata(&mut self) -> Token<'t> {
        self.at += 1;
        let name = self.take(|byte| is_name(byte) || byte == b'\\');
        if name.is_empty() {
            return Token::Exclamation;
        }
        name.parse().map_or(Token::MetadataName(name), Token::MetadataId)
    }

    /// A quoted string from its first quote on. `\xx` is a byte.
    fn quoted(&mut self) -> Vec<u8> {
        self.at += 1;
        let mut bytes = Vec::new();
        let all = self.text.as_bytes();
        while let Some(&byte) = all.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => match self.escape() {
                    Some(byte) => bytes.push(byte),
                    None => bytes.push(b'\\'),
                },
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    bytes.push(byte);
                }
                _ => bytes.push(byte),
            }
        }
        // A cut text may end within a character.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        bytes
    }

    fn escape(&mut self) -> Option<u8> {
        let all = self.text.as_bytes();
        if all.get(self.at) == Some(&b'\\') {
            self.at += 1;
            return Some(b'\\');
        }
        let digits = all.get(self.at..self.at.checked_add(2)?)?;
        let value = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        self.at += 2;
        Some(value)
    }

    fn word(&mut self) -> Token<'t> {
        let start = self.clone();
        let word = self.take(is_name);
        if self.peek() == Some(b':') && !word.is_empty() {
            // Fields of metadata (`line: 3`) have a space behind the colon, as the last label of a line has a line break.
            self.at += 1;
            return Token::Label(Cow::Borrowed(word));
        }
        let bytes = word.as_bytes();
        let is_number = match bytes {
            [b'-', second, ..] => second.is_ascii_digit(),
            [first, ..] => first.is_ascii_digit(),
            [] => false,
        };
        let is_hexadecimal = ["u0x", "s0x", "f0x"].iter().any(|prefix| word.starts_with(prefix));
        if is_number || is_hexadecimal {
            *self = start;
            return self.number();
        }
        Token::Word(word)
    }

    /// An infinity or a NaN: `-inf`, `+qnan`, `+snan(0x1)`.
    fn special(&mut self) -> Token<'t> {
        let rest = self.rest();
        let name = rest.bytes().skip(1).position(|byte| !byte.is_ascii_alphabetic());
        let mut end = name.map_or(rest.len(), |name| 1 + name);
        if rest.get(end..).is_some_and(|rest| rest.starts_with('(')) {
            end = rest.find(')').map_or(rest.len(), |close| close + 1);
        }
        self.at += end;
        Token::Float(rest.get(..end).unwrap_or(rest))
    }

    fn number(&mut self) -> Token<'t> {
        let before = self.at;
        let word =
            self.take(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_'));
        // `1.000000e+00` has its sign behind the exponent; nothing else has one behind the first.
        let signs = word.char_indices().skip(1).find(|&(at, c)| {
            matches!(c, '-' | '+') && !word.get(..at).is_some_and(|head| head.ends_with(['e', 'E']))
        });
        let word = match signs {
            Some((at, _)) => {
                self.at = before + at;
                word.get(..at).unwrap_or(word)
            }
            None => word,
        };
        let is_float = word.starts_with("0x") || word.starts_with("f0x") || word.contains('.');
        if word.is_empty() {
            return Token::Unknown('+');
        }
        if is_float { Token::Float(word) } else { Token::Integer(word) }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'$' | b'.' | b'_')
}

/// The value of an integer token, negative ones in two's complement of 128 bits.
pub(crate) fn integer(text: &str) -> Option<u128> {
    if let Some(digits) = text.strip_prefix("u0x").or_else(|| text.strip_prefix("s0x")) {
        return u128::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('-') {
        Some(digits) => digits.parse::<u128>().ok().map(u128::wrapping_neg),
        None => text.parse().ok(),
    }
}

/// Whether a text begins with an infinity or a NaN.
fn is_special(text: &str) -> bool {
    let name = text.get(1..).unwrap_or_default();
    ["inf", "qnan", "nan(", "snan("].iter().any(|special| name.starts_with(special))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        loop {
            match lexer.next().0 {
                Token::End => return found,
                token => found.push(token),
            }
        }
    }

    #[test]
    fn an_instruction() {
        let found = tokens("  %_24.i = fmul float %\"a b\", 1.500000e+00, !dbg !141 ; note");
        assert_eq!(
            found,
            [
                Token::Local("_24.i".into()),
                Token::Symbol('='),
                Token::Word("fmul"),
                Token::Word("float"),
                Token::Local("a b".into()),
                Token::Symbol(','),
                Token::Float("1.500000e+00"),
                Token::Symbol(','),
                Token::MetadataName("dbg"),
                Token::MetadataId(141),
            ]
        );
    }

    #[test]
    fn strings_numbers_and_labels() {
        let found = tokens("bb1:\n [2 x i8] c\"a\\00\" -12 0x3F847AE140000000 0xH3C00 #4 !{!\"x\", i32 7}");
        assert_eq!(
            found,
            [
                Token::Label("bb1".into()),
                Token::Symbol('['),
                Token::Integer("2"),
                Token::Word("x"),
                Token::Word("i8"),
                Token::Symbol(']'),
                Token::Bytes(vec![b'a', 0]),
                Token::Integer("-12"),
                Token::Float("0x3F847AE140000000"),
                Token::Float("0xH3C00"),
                Token::Attributes,
                Token::Exclamation,
                Token::Symbol('{'),
                Token::Exclamation,
                Token::Text(b"x".to_vec()),
                Token::Symbol(','),
                Token::Word("i32"),
                Token::Integer("7"),
                Token::Symbol('}'),
            ]
        );
        assert_eq!(integer("-1"), Some(u128::MAX));
    }

    #[test]
    fn infinities_and_nans() {
        let found = tokens("+inf, -inf] +qnan -nan(0xAE98) f0x40490FDB %-inf");
        assert_eq!(
            found,
            [
                Token::Float("+inf"),
                Token::Symbol(','),
                Token::Float("-inf"),
                Token::Symbol(']'),
                Token::Float("+qnan"),
                Token::Float("-nan(0xAE98)"),
                Token::Float("f0x40490FDB"),
                Token::Local("-inf".into()),
            ]
        );
    }
}
