//! Names of functions for messages, from symbols of rustc's manglings: `v0`, and `legacy` in `core` of older versions.

/// The path in a symbol: `core::str::converts::from_utf8`. The symbol itself where it has another
/// mangling. Generic arguments and the numbers of crates are left out.
pub(crate) fn path(symbol: &str) -> String {
    let names = match (symbol.strip_prefix("_R"), symbol.strip_prefix("_ZN")) {
        (Some(rest), _) => identifiers(rest),
        (_, Some(rest)) => legacy_identifiers(rest),
        _ => Vec::new(),
    };
    if names.is_empty() { symbol.to_owned() } else { names.join("::") }
}

/// The identifiers of a symbol in order, up to the first generic arguments behind a name.
fn identifiers(mut rest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    while let Some(first) = rest.chars().next() {
        match first {
            's' => {
                // A disambiguator: `s_` or `s1a_`.
                rest = rest.split_once('_').map_or("", |(_, rest)| rest);
            }
            '0'..='9' => {
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let (length, tail) = rest.split_at_checked(digits).unwrap_or((rest, ""));
                let tail = tail.strip_prefix('_').unwrap_or(tail);
                let Some((name, tail)) = length.parse().ok().and_then(|length| tail.split_at_checked(length))
                else {
                    return names;
                };
                if !name.is_empty() {
                    names.push(name);
                }
                rest = tail;
                // A name of a nested path follows directly or behind a disambiguator.
                if !rest.starts_with(|c: char| c.is_ascii_digit() || c == 's') && !names.is_empty() {
                    return names;
                }
            }
            _ => rest = rest.get(first.len_utf8()..).unwrap_or_default(),
        }
    }
    names
}

/// The identifiers of a symbol of the legacy mangling, without the hash that it ends with.
fn legacy_identifiers(mut rest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0) {
        let (length, tail) = rest.split_at(digits);
        let Some((name, tail)) = length.parse().ok().and_then(|length| tail.split_at_checked(length)) else {
            break;
        };
        // `_$LT$impl$u20$…` is a type.
        if !name.contains('$') {
            names.push(name);
        }
        rest = tail;
    }
    names.pop();
    names
}

/// The traits of `core::fmt` and the letters of their formats.
const FORMATS: [(&str, &str); 8] = [
    ("Display", ""),
    ("Debug", "?"),
    ("LowerHex", "x"),
    ("UpperHex", "X"),
    ("Binary", "b"),
    ("Octal", "o"),
    ("LowerExp", "e"),
    ("UpperExp", "E"),
];

/// Primitive types, and their letters in `v0`.
const PRIMITIVES: [(&str, char); 14] = [
    ("i8", 'a'),
    ("bool", 'b'),
    ("char", 'c'),
    ("f64", 'd'),
    ("f32", 'f'),
    ("u8", 'h'),
    ("isize", 'i'),
    ("usize", 'j'),
    ("i32", 'l'),
    ("u32", 'm'),
    ("i16", 's'),
    ("u16", 't'),
    ("i64", 'x'),
    ("u64", 'y'),
];

/// What a function of `core::fmt` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    /// A primitive type.
    pub(crate) ty: &'static str,
    /// The letter of the format.
    pub(crate) format: &'static str,
    /// It is a reference to such a value.
    pub(crate) is_reference: bool,
}

/// What a function of `core::fmt` shows, if this is a value of a primitive type or a reference to one.
pub(crate) fn shown(symbol: &str) -> Option<Shown> {
    FORMATS.into_iter().find_map(|(name, format)| {
        let (ty, is_reference) = match symbol.strip_prefix("_R") {
            Some(symbol) => v0_type(symbol, name)?,
            None => (legacy_type(symbol, name)?, false),
        };
        Some(Shown { ty, format, is_reference })
    })
}

/// The types of both sides of an assertion: `assert_failed` and `m` `m` `E`.
pub(crate) fn compared(symbol: &str) -> Option<[Shown; 2]> {
    let (_, arguments) = symbol.split_once("13assert_failed")?;
    let mut letters = arguments.chars();
    let mut side = || {
        let first = letters.next()?;
        let (is_reference, letter) = if first == 'R' { (true, letters.next()?) } else { (false, first) };
        let (ty, _) = PRIMITIVES.into_iter().find(|(_, code)| *code == letter)?;
        Some(Shown { ty, format: "?", is_reference })
    };
    let sides = [side()?, side()?];
    (letters.next() == Some('E')).then_some(sides)
}

/// The type before a trait, whose path begins with a part that stood before: `m` `NtB9_7Display` `3fmt`. `R` is a reference.
fn v0_type(symbol: &str, format: &str) -> Option<(&'static str, bool)> {
    let (before, _) = symbol.split_once(&format!("_{}{format}3fmt", format.len()))?;
    let (path, _) = before.rsplit_once("NtB")?;
    let mut letters = path.chars().rev();
    let (letter, outer) = (letters.next()?, letters.next()?);
    let (ty, _) = PRIMITIVES.into_iter().find(|(_, code)| *code == letter)?;
    // Pointers, slices and arrays end with other capital letters.
    match outer {
        'R' => letters.next().filter(|outer| !outer.is_ascii_uppercase()).map(|_| (ty, true)),
        'A'..='Z' => None,
        _ => Some((ty, false)),
    }
}

/// The type of an implementation of a trait.
fn legacy_type(symbol: &str, format: &str) -> Option<&'static str> {
    let of_impl = |ty: &str| symbol.contains(&format!("core..fmt..{format}$u20$for$u20${ty}$GT$"));
    let of_type = |ty: &str| symbol.contains(&format!("$LT${ty}$u20$as$u20$core..fmt..{format}$GT$"));
    PRIMITIVES.into_iter().map(|(ty, _)| ty).find(|ty| of_impl(ty) || of_type(ty))
}

#[cfg(test)]
mod tests {
    use super::{Shown, compared, path, shown};

    #[test]
    fn functions_of_formats_tell_the_type() {
        let of = |ty, format, is_reference| Some(Shown { ty, format, is_reference });
        let number = "_RNvXs8_NtNtNtCsgEmfK2I1SDS_4core3fmt3num3impmNtB9_7Display3fmt";
        assert_eq!(shown(number), of("u32", "", false));
        let hex = "_RNvXsu_NtNtCsgEmfK2I1SDS_4core3fmt3nummNtB7_8LowerHex3fmt";
        assert_eq!(shown(hex), of("u32", "x", false));
        let float = "_RNvXs2_NtNtCsgEmfK2I1SDS_4core3fmt5floatfNtB7_5Debug3fmt";
        assert_eq!(shown(float), of("f32", "?", false));
        let reference = "_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRmNtB6_5Debug3fmtCsciUMGOH01m6_1b";
        assert_eq!(shown(reference), of("u32", "?", true));
        assert_eq!(shown(&reference.replace("fmtRm", "fmtRRm")), None);
        assert_eq!(shown(&reference.replace("fmtRm", "fmtSm")), None);
        let old = "_ZN4core3fmt3num3imp54_$LT$impl$u20$core..fmt..Display$u20$for$u20$usize$GT$3fmt17hb9928f289d6fcf72E";
        assert_eq!(shown(old), of("usize", "", false));
        let bool = "_ZN43_$LT$bool$u20$as$u20$core..fmt..Display$GT$3fmt17h0E";
        assert_eq!(shown(bool), of("bool", "", false));
        assert_eq!(shown("_ZN4core3fmt5write17h0E"), None);
    }

    #[test]
    fn assertions_tell_both_types() {
        let symbol =
            |of: &str| format!("_RINvNtCsgEmfK2I1SDS_4core9panicking13assert_failed{of}ECs4Q2Qx8jI5j6_1a");
        let side = |ty, is_reference| Shown { ty, format: "?", is_reference };
        assert_eq!(compared(&symbol("fm")), Some([side("f32", false), side("u32", false)]));
        assert_eq!(compared(&symbol("Rml")), Some([side("u32", true), side("i32", false)]));
        assert_eq!(compared(&symbol("Sml")), None);
        assert_eq!(compared(&symbol("mmm")), None);
    }

    #[test]
    fn paths() {
        assert_eq!(
            path("_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check"),
            "core::panicking::panic_bounds_check"
        );
        assert_eq!(
            path("_RNvNtNtCsgEmfK2I1SDS_4core3str8converts9from_utf8"),
            "core::str::converts::from_utf8"
        );
        assert_eq!(path("_ZN4core6option13unwrap_failed17h62317944fa5dc382E"), "core::option::unwrap_failed");
        assert_eq!(
            path(
                "_ZN4core5slice29_$LT$impl$u20$$u5b$T$u5d$$GT$15copy_from_slice17len_mismatch_fail17hcb07c599de0a38a3E"
            ),
            "core::slice::copy_from_slice::len_mismatch_fail"
        );
        assert_eq!(path("sinf"), "sinf");
        assert_eq!(path("_ZN99999999999999999999x"), "_ZN99999999999999999999x");
    }
}
