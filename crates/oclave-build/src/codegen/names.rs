//! Rust names from C names.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};

/// Words that cannot be names as they are, in one edition or another.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// Words that cannot be names even with `r#`.
const NEVER: [&str; 5] = ["self", "Self", "super", "crate", "_"];

/// A name of letters, digits and `_` that Rust takes: C's `$`, and whatever else compilers allow,
/// become `_`.
pub(crate) fn sanitized(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut text: String = name.chars().map(plain).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    if NEVER.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

/// The identifier of a [`sanitized`] name, raw where it is a keyword.
pub(crate) fn ident(name: &str) -> Ident {
    if KEYWORDS.contains(&name) {
        Ident::new_raw(name, Span::call_site())
    } else {
        Ident::new(name, Span::call_site())
    }
}

/// `params_t` → `Params`, `my_struct` → `MyStruct`; `HSV` stays.
pub(crate) fn type_name(name: &str) -> String {
    let name = name.rsplit("::").next().unwrap_or(name);
    let name = name.strip_suffix("_t").filter(|rest| !rest.is_empty()).unwrap_or(name);
    let mut text = String::new();
    for part in sanitized(name).split('_') {
        let mut chars = part.chars();
        text.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        text.extend(chars);
    }
    sanitized(&text)
}

/// `blurRadius` → `BLUR_RADIUS`, `counter` → `COUNTER`.
pub(crate) fn static_name(name: &str) -> String {
    let mut text = String::new();
    let mut lower_before = false;
    for c in sanitized(name).chars() {
        if c.is_ascii_uppercase() && lower_before {
            text.push('_');
        }
        lower_before = c.is_ascii_lowercase() || c.is_ascii_digit();
        text.push(c.to_ascii_uppercase());
    }
    sanitized(&text)
}

/// Names taken in one scope.
#[derive(Debug, Default, Clone)]
pub(crate) struct Scope {
    taken: BTreeSet<String>,
}

impl Scope {
    pub(crate) fn with(names: &[&str]) -> Self {
        Self { taken: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// Takes a name, with as many `_` appended as it needs to be new.
    pub(crate) fn take(&mut self, mut name: String) -> String {
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_rust() {
        assert_eq!(sanitized("a$b"), "a_b");
        assert_eq!(sanitized("3d"), "_3d");
        assert_eq!(sanitized(""), "__");
        assert_eq!(sanitized("self"), "self_");
        assert_eq!(ident("type").to_string(), "r#type");
        assert_eq!(ident("gen").to_string(), "r#gen");
        assert_eq!(type_name("params_t"), "Params");
        assert_eq!(type_name("ns::my_struct"), "MyStruct");
        assert_eq!(type_name("HSV"), "HSV");
        assert_eq!(type_name("_t"), "T");
        assert_eq!(type_name("self"), "Self_");
        assert_eq!(type_name("__"), "__");
        assert_eq!(static_name("blurRadius"), "BLUR_RADIUS");
        assert_eq!(static_name("WIDTH"), "WIDTH");
        assert_eq!(static_name("t2x"), "T2X");
    }

    #[test]
    fn a_name_is_given_once() {
        let mut scope = Scope::with(&["IMAGES"]);
        assert_eq!(scope.take("IMAGES".to_owned()), "IMAGES_");
        assert_eq!(scope.take("x".to_owned()), "x");
        assert_eq!(scope.take("x".to_owned()), "x_");
        assert_eq!(scope.take("x".to_owned()), "x__");
    }
}
