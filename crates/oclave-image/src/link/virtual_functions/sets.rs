//! Which functions belong to which sets.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::lower::functions_with_bodies;
use super::vtables::{Names, Vtables};
use oclave_spirv::Module;

/// Function → its sets, for all functions with a body that belong to one.
pub(super) type FunctionSets = BTreeMap<u32, BTreeSet<String>>;

/// Annotated functions, thunks to them, and the destructors of classes with such functions, which
/// clang does not annotate.
pub(super) fn function_sets(
    module: &Module,
    marked: &BTreeMap<u32, BTreeSet<String>>,
    names: &Names,
    vtables: &Vtables,
) -> FunctionSets {
    let bodies = functions_with_bodies(module);
    let by_name: HashMap<&str, u32> = bodies.iter().map(|&id| (names.plain(id), id)).collect();
    let mut sets: FunctionSets =
        marked.iter().filter(|(id, _)| bodies.contains(id)).map(|(&id, sets)| (id, sets.clone())).collect();
    for table in &vtables.tables {
        let functions = || table.slots.values().map(|slot| slot.function);
        let of_class: BTreeSet<String> = functions()
            .filter_map(|function| sets.get(&target(function, &by_name, names)))
            .flatten()
            .cloned()
            .collect();
        for function in functions().filter(|&f| bodies.contains(&f) && !of_class.is_empty()) {
            if is_destructor(names.plain(function)) {
                sets.entry(function).or_default().extend(of_class.iter().cloned());
            } else {
                let target = target(function, &by_name, names);
                if let Some(of_target) = sets.get(&target).filter(|_| target != function).cloned() {
                    sets.insert(function, of_target);
                }
            }
        }
    }
    sets
}

/// Whether a slot with this function is never called: pure virtual functions, deleted ones,
/// deleting destructors.
pub(super) fn is_uncallable(name: &str) -> bool {
    name == "__cxa_pure_virtual" || name == "__cxa_deleted_virtual" || name.ends_with("D0Ev")
}

fn is_destructor(name: &str) -> bool {
    name.starts_with("_Z") && (name.ends_with("D1Ev") || name.ends_with("D2Ev"))
}

/// The function to which a thunk leads; any other function itself.
fn target(function: u32, by_name: &HashMap<&str, u32>, names: &Names) -> u32 {
    let target = thunk_target(names.plain(function));
    target.and_then(|name| by_name.get(name.as_str()).copied()).unwrap_or(function)
}

/// The name of the function to which a thunk leads (Itanium C++ ABI, 5.1.4.4 "Virtual Override
/// Thunks").
pub(super) fn thunk_target(name: &str) -> Option<String> {
    let rest = name.strip_prefix("_ZT")?;
    let rest = match rest.strip_prefix('c') {
        Some(covariant) => call_offset(call_offset(covariant)?)?,
        None => call_offset(rest)?,
    };
    Some(format!("_Z{rest}"))
}

/// What follows `h <number> _` or `v <number> _ <number> _`.
fn call_offset(text: &str) -> Option<&str> {
    match text.strip_prefix('h') {
        Some(rest) => number(rest),
        None => number(number(text.strip_prefix('v')?)?),
    }
}

fn number(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('n').unwrap_or(text);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == digits.len() { None } else { rest.strip_prefix('_') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thunks_lead_to_functions() {
        for (name, wanted) in [
            ("_ZThn16_NU3AS41C1gE3big", Some("_ZNU3AS41C1gE3big")),
            ("_ZTv0_n24_N1L1hEv", Some("_ZN1L1hEv")),
            ("_ZTchn16_h16_N1C4selfEv", Some("_ZN1C4selfEv")),
            ("_ZTch0_v0_n32_N1C4selfEv", Some("_ZN1C4selfEv")),
            ("_ZTV1C", None),
            ("_ZTh_N1C", None),
            ("_ZN1L1hEv", None),
        ] {
            assert_eq!(thunk_target(name).as_deref(), wanted, "{name}");
        }
    }

    #[test]
    fn destructors_are_known_by_their_names() {
        assert!(is_destructor("_ZNU3AS41AD2Ev") && is_destructor("_ZThn16_NU3AS41CD1Ev"));
        assert!(is_uncallable("_ZNU3AS41AD0Ev") && !is_destructor("_ZNU3AS41AD0Ev"));
        assert!(!is_destructor("_ZN1A1fEv"));
    }
}
