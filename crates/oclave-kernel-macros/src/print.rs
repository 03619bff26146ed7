//! `device_println!`: from Rust's formats to those of OpenCL C.
//!
//! A call becomes that of a function whose name has the format, so that no optimisation can put
//! another format in its place. The types of arguments, which macros do not know, are arguments as well.

use proc_macro::{Ident, Literal, Span, TokenStream, TokenTree};

use super::{Expanded, Parameter, with_types, wrong};

/// A call of the macro, understood.
struct Print {
    /// The format of C. Conversions end with `?` where they depend on the type.
    template: String,
    /// The same in Rust, with the values by number.
    of_host: String,
    /// The values, in order.
    values: Vec<TokenStream>,
}

pub(super) fn expand(tokens: TokenStream, ends_line: bool) -> Expanded<TokenStream> {
    let span = tokens.clone().into_iter().next().map_or(Span::call_site(), |token| token.span());
    let mut parts = split(tokens).into_iter();
    let (format, format_span) = match parts.next().as_deref() {
        None => (String::new(), span),
        Some([TokenTree::Literal(literal)]) => match text_of(literal) {
            Some(text) => (text, literal.span()),
            None => return wrong("the format is a string literal", literal.span()),
        },
        Some(_) => return wrong("the format is a string literal", span),
    };
    let given: Vec<Vec<TokenTree>> = parts.collect();
    let mut print = Print { template: String::new(), of_host: String::new(), values: Vec::new() };
    print.read(&format, format_span, &given)?;
    if ends_line {
        print.template.push('\n');
    }
    if print.template.contains('\0') {
        return wrong("a format has no zero", format_span);
    }
    let count = print.values.len();
    let (mut references, mut names, mut parameters, mut arguments, mut checks) =
        (String::new(), String::new(), String::new(), String::new(), String::new());
    for index in 0..count {
        references += &format!("&(__type{index}!()),");
        names += &format!("__{index},");
        parameters += "_: u32, _: u64,";
        arguments += &format!(
            "::oclave_kernel::__private::print_code(__{index}), ::oclave_kernel::__private::print_bits(__{index}),"
        );
        checks += &format!("::oclave_kernel::__private::print_code(__{index});");
    }
    let (line, column) = (format_span.line(), format_span.column());
    let hex: String = print.template.bytes().map(|byte| format!("{byte:02x}")).collect();
    let of_host = &print.of_host;
    let text = format!(
        "match ({references}) {{ ({names}) => {{
            ::oclave_kernel::__device! {{
                #[allow(unsafe_code)]
                unsafe extern \"C\" {{
                    #[link_name = \"__oclave_print_{line}_{column}_{hex}\"]
                    safe fn __print({parameters});
                }}
                __print({arguments});
            }}
            ::oclave_kernel::__host! {{
                {checks}
                ::oclave_kernel::__private::print(::core::format_args!({of_host:?}, {names}), {ends_line});
            }}
        }} }}"
    );
    let Ok(tokens) = text.parse::<TokenStream>() else {
        return wrong("this cannot be printed; report it", format_span);
    };
    let values: Vec<Parameter> =
        print.values.into_iter().map(|ty| Parameter { name: String::new(), ty }).collect();
    Ok(with_types(tokens, &values))
}

/// Splits at commas.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    for token in tokens {
        match (&token, parts.last_mut()) {
            (TokenTree::Punct(punct), _) if punct.as_char() == ',' => parts.push(Vec::new()),
            (_, Some(part)) => part.push(token),
            (_, None) => {}
        }
    }
    if parts.last().is_some_and(Vec::is_empty) {
        parts.pop();
    }
    parts
}

impl Print {
    fn read(&mut self, format: &str, span: Span, given: &[Vec<TokenTree>]) -> Expanded<()> {
        let mut rest = format;
        let (mut next, mut used) = (0, vec![false; given.len()]);
        while let Some(at) = rest.find(['{', '}']) {
            let (text, from) = rest.split_at(at);
            self.text(text);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                self.text(&from[..1]);
                rest = after;
                continue;
            }
            let inside = from.strip_prefix('{').and_then(|from| from.split_once('}'));
            let Some((inside, after)) = inside else {
                return wrong(
                    "a `{` or `}` of the format that is not closed or opened; write it twice to print it",
                    span,
                );
            };
            rest = after;
            let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
            let name = name.trim();
            let spec = Spec::of(spec.trim_end(), span)?;
            let value = if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
                let index = if name.is_empty() { next } else { name.parse().unwrap_or(usize::MAX) };
                if name.is_empty() {
                    next += 1;
                }
                let (Some(value), Some(used)) = (given.get(index), used.get_mut(index)) else {
                    return wrong("the format has more values than there are", span);
                };
                *used = true;
                if let [TokenTree::Literal(literal)] = value.as_slice()
                    && let Some(text) = text_of(literal)
                {
                    if !spec.is_plain() {
                        return wrong("a string has no width or precision here", literal.span());
                    }
                    self.text(&text);
                    continue;
                }
                value.iter().cloned().collect()
            } else {
                TokenTree::from(Ident::new(name, span)).into()
            };
            self.value(value, &spec);
        }
        self.text(rest);
        match used.iter().position(|used| !used).and_then(|unused| given.get(unused)?.first()) {
            Some(unused) => wrong("the format does not have this value", unused.span()),
            None => Ok(()),
        }
    }

    fn text(&mut self, text: &str) {
        self.template += &text.replace('%', "%%");
        self.of_host += &text.replace('{', "{{").replace('}', "}}");
    }

    fn value(&mut self, value: TokenStream, spec: &Spec) {
        let Spec { is_left, has_prefix, has_zeros, width, precision, letter, text } = spec;
        self.of_host += &format!("{{{}:{text}}}", self.values.len());
        self.values.push(value);
        let mut width = *width;
        if *has_prefix {
            self.template += match letter {
                'o' => "0o",
                _ => "0x",
            };
            width = width.saturating_sub(2);
        }
        self.template.push('%');
        self.template += if *is_left { "-" } else { "" };
        self.template += if *has_zeros { "0" } else { "" };
        if width > 0 {
            self.template += &width.to_string();
        }
        if let Some(precision) = precision {
            self.template += &format!(".{precision}");
        }
        self.template.push(*letter);
    }
}

/// What stands after the colon of a value.
struct Spec {
    is_left: bool,
    has_prefix: bool,
    has_zeros: bool,
    width: u32,
    precision: Option<u32>,
    /// `x`, `X` or `o`; else `?`.
    letter: char,
    /// As it was written.
    text: String,
}

impl Spec {
    fn of(text: &str, span: Span) -> Expanded<Self> {
        let unknown = || {
            wrong(
                format!(
                    "`{{:{text}}}` is no format of kernels: they have `<`, `>`, `#`, `0`, a width, a precision, `?`, `x`, `X` and `o`"
                ),
                span,
            )
        };
        let number = |text: &mut &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (digits, rest) = text.split_at(end);
            *text = rest;
            digits.parse::<u32>().ok()
        };
        let mut rest = text;
        let mut take = |prefix: &str| match rest.strip_prefix(prefix) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        };
        let is_left = take("<");
        if !is_left {
            take(">");
        }
        let (has_prefix, has_zeros) = (take("#"), take("0"));
        let width = number(&mut rest).unwrap_or(0);
        let precision = match rest.strip_prefix('.') {
            Some(after) => {
                rest = after;
                match number(&mut rest) {
                    Some(precision) => Some(precision),
                    None => return unknown(),
                }
            }
            None => None,
        };
        let letter = match rest {
            "" | "?" => '?',
            "x" => 'x',
            "X" => 'X',
            "o" => 'o',
            _ => return unknown(),
        };
        // The prefix stands before the zeroes, and spaces would stand before it.
        if has_prefix && (letter == '?' || is_left || width > 0 && !has_zeros) || is_left && has_zeros {
            return unknown();
        }
        Ok(Self { is_left, has_prefix, has_zeros, width, precision, letter, text: text.to_owned() })
    }

    fn is_plain(&self) -> bool {
        self.text.is_empty()
    }
}

/// The text of a string literal.
fn text_of(literal: &Literal) -> Option<String> {
    let text = literal.to_string();
    if let Some(raw) = text.strip_prefix('r') {
        let raw = raw.trim_matches('#');
        return Some(raw.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut found = String::new();
    while let Some(at) = rest.find('\\') {
        found += &rest[..at];
        let mut after = rest[at + 1..].chars();
        let escaped = after.next()?;
        let mut tail = after.as_str();
        match escaped {
            'n' => found.push('\n'),
            't' => found.push('\t'),
            'r' => found.push('\r'),
            '0' => found.push('\0'),
            'x' => {
                found.push(char::from(u8::from_str_radix(tail.get(..2)?, 16).ok()?));
                tail = &tail[2..];
            }
            'u' => {
                let (digits, more) = tail.strip_prefix('{')?.split_once('}')?;
                found.push(char::from_u32(u32::from_str_radix(&digits.replace('_', ""), 16).ok()?)?);
                tail = more;
            }
            '\n' => tail = tail.trim_start(),
            other => found.push(other),
        }
        rest = tail;
    }
    found += rest;
    Some(found)
}
