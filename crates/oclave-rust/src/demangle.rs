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

#[cfg(test)]
mod tests {
    use super::path;

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
