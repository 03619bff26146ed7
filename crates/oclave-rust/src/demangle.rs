//! Names of functions for messages, from symbols of rustc's `v0` mangling.

/// The path in a symbol: `core::str::converts::from_utf8`. The symbol itself where it has another
/// mangling. Generic arguments and the numbers of crates are left out.
pub(crate) fn path(symbol: &str) -> String {
    let Some(rest) = symbol.strip_prefix("_R") else { return symbol.to_owned() };
    let names = identifiers(rest);
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
        assert_eq!(path("sinf"), "sinf");
    }
}
