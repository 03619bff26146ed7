//! C++ names as people write them, as far as messages need that.

use super::sets::thunk_target;

/// `square::area` for `_ZNU3AS46square4areaEi`, and for thunks to it; other kinds of names as they
/// are.
pub(crate) fn readable(name: &str) -> String {
    let target = thunk_target(name);
    nested(target.as_deref().unwrap_or(name)).unwrap_or_else(|| name.to_owned())
}

/// `a::shape` for `N1a5shapeE`; class templates without arguments, where nothing follows them.
/// `None` for what this does not understand.
pub(super) fn class_name(mangled: &str) -> Option<String> {
    if mangled.starts_with('N') {
        return nested(&format!("_Z{mangled}"));
    }
    identifier(mangled)
        .filter(|(_, rest)| rest.is_empty() || rest.starts_with('I'))
        .map(|(name, _)| name.to_owned())
}

/// The same name for the type of an object: `struct.a::shape`, `class.a::shape.base`,
/// `struct.scaled.4`.
pub(super) fn class_of_type(name: &str) -> Option<String> {
    let name = name.strip_prefix("struct.").or_else(|| name.strip_prefix("class."))?;
    let mut name = name.replace("(anonymous namespace)", "(anonymous)");
    while let Some((stem, suffix)) = name.rsplit_once('.') {
        // LLVM numbers types of one name; instances of a template are such.
        if suffix != "base" && !suffix.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        name.truncate(stem.len());
    }
    let plain = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == ',');
    plain.then_some(name)
}

/// The parts of a nested name of plain identifiers, constructors and destructors.
fn nested(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix("_ZN").or_else(|| name.strip_prefix("_ZTVN"));
    if rest.is_none() {
        // A class or function without namespace: one identifier.
        let plain = name.strip_prefix("_ZTV").or_else(|| name.strip_prefix("_Z"))?;
        return identifier(plain).map(|(part, _)| part.to_owned());
    }
    let mut parts: Vec<String> = Vec::new();
    while let Some(text) = rest {
        if let Some((qualifier, after)) = text.strip_prefix('U').and_then(identifier) {
            let _ = qualifier;
            rest = Some(after);
        } else if let Some(after) = text.strip_prefix(['K', 'V']) {
            rest = Some(after);
        } else if text.starts_with('E') {
            break;
        } else if let Some(after) = ["D0", "D1", "D2"].iter().find_map(|d| text.strip_prefix(d)) {
            parts.push(format!("~{}", parts.last()?));
            rest = Some(after);
        } else if let Some(after) = ["C1", "C2"].iter().find_map(|c| text.strip_prefix(c)) {
            parts.push(parts.last()?.clone());
            rest = Some(after);
        } else {
            let (part, after) = identifier(text)?;
            parts.push(if part == "_GLOBAL__N_1" { "(anonymous)".to_owned() } else { part.to_owned() });
            rest = Some(after);
        }
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// An identifier with its length in front, and what follows.
fn identifier(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = text.split_at_checked(digits)?;
    rest.split_at_checked(length.parse().ok()?).filter(|(part, _)| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_and_types_name_classes_alike() {
        for (mangled, ty, wanted) in [
            ("6square", "struct.square", "square"),
            ("N1a5shapeE", "class.a::shape.base", "a::shape"),
            ("N12_GLOBAL__N_13hidE", "struct.(anonymous namespace)::hid", "(anonymous)::hid"),
            ("2tmIiE", "struct.tm.0", "tm"),
        ] {
            assert_eq!(class_name(mangled).as_deref(), Some(wanted));
            assert_eq!(class_of_type(ty).as_deref(), Some(wanted));
        }
        assert_eq!(class_name("N1a2tmIiEE"), None);
        assert_eq!(class_of_type("union.u"), None);
        assert_eq!(class_of_type("struct.a.b"), None);
    }

    #[test]
    fn names_are_readable() {
        for (name, wanted) in [
            ("_ZNU3AS46square4areaEi", "square::area"),
            ("_ZNU3AS4K6square7half_ofEv", "square::half_of"),
            ("_ZN12_GLOBAL__N_16HiddenD2Ev", "(anonymous)::Hidden::~Hidden"),
            ("_Z6helperi", "helper"),
            ("_ZTV5shape", "shape"),
            ("_ZThn16_NU3AS42vd2rfEi", "vd::rf"),
            ("_ZNU3AS42TmIiE1fEi", "_ZNU3AS42TmIiE1fEi"),
            ("plain", "plain"),
            ("_ZN", "_ZN"),
            ("_ZN99x", "_ZN99x"),
            ("_ZNé", "_ZNé"),
        ] {
            assert_eq!(readable(name), wanted);
        }
    }
}
