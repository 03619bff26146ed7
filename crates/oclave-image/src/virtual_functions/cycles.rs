//! Virtual calls that lead back to themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::{Dispatcher, VirtualFunction, VirtualFunctions, VirtualSlot};

/// Functions that call each other in a cycle through dispatchers, in the order of the calls; `None`
/// where there is none.
///
/// Looked at is what a kernels image can reach when the set images `linked` are linked to it;
/// `slots` are those of all images that are known.
pub fn find_cycle(
    kernels: &VirtualFunctions,
    linked: &[&VirtualFunctions],
    slots: &[VirtualSlot],
) -> Option<Vec<String>> {
    let dispatchers: BTreeMap<&str, &Dispatcher> = linked
        .iter()
        .flat_map(|image| &image.dispatchers)
        .chain(&kernels.dispatchers)
        .map(|dispatcher| (dispatcher.name.as_str(), dispatcher))
        .collect();
    let functions: BTreeMap<&str, &VirtualFunction> =
        linked.iter().flat_map(|image| &image.functions).map(|f| (f.name.as_str(), f)).collect();
    let mut slots_of: BTreeMap<&str, Vec<&VirtualSlot>> = BTreeMap::new();
    for slot in slots {
        slots_of.entry(&slot.function).or_default().push(slot);
    }
    let candidates = |name: &str| -> Vec<&str> {
        let Some(dispatcher) = dispatchers.get(name) else { return Vec::new() };
        let called = functions.values().filter(|function| {
            let slots = slots_of.get(function.name.as_str()).map(Vec::as_slice).unwrap_or_default();
            function.signature == dispatcher.signature
                && (slots.is_empty() || slots.iter().any(|slot| dispatcher.key.admits(slot)))
        });
        called.map(|function| function.name.as_str()).collect()
    };
    let callees = |function: &str| -> Vec<&str> {
        let calls = functions.get(function).map(|f| f.calls.as_slice()).unwrap_or_default();
        let all: BTreeSet<&str> = calls.iter().flat_map(|name| candidates(name)).collect();
        all.into_iter().collect()
    };
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let roots: BTreeSet<&str> = kernels.dispatchers.iter().flat_map(|d| candidates(&d.name)).collect();
    for root in roots {
        // The way down, with the functions that are still to be looked at on each step.
        let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
        if done.insert(root) {
            path.push((root, callees(root)));
        }
        while let Some((_, open)) = path.last_mut() {
            let Some(next) = open.pop() else {
                path.pop();
                continue;
            };
            if let Some(start) = path.iter().position(|(function, _)| *function == next) {
                return Some(path.iter().skip(start).map(|(function, _)| (*function).to_owned()).collect());
            }
            if done.insert(next) {
                path.push((next, callees(next)));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotKey;

    fn dispatcher(slot: u32) -> Dispatcher {
        Dispatcher::new("i32_p8".parse().unwrap(), SlotKey { slot: Some(slot), class: None })
    }

    /// Functions with their slot and the slots that they call.
    fn image(functions: &[(&str, u32, &[u32])]) -> (VirtualFunctions, Vec<VirtualSlot>) {
        let mut image = VirtualFunctions::default();
        let mut slots = Vec::new();
        for (code, (name, slot, calls)) in (0..).zip(functions) {
            image.functions.push(VirtualFunction {
                name: (*name).to_owned(),
                code: code << 16,
                wrapper: format!("__vfw_{name}"),
                signature: "i32_p8".parse().unwrap(),
                calls: calls.iter().map(|slot| dispatcher(*slot).name).collect(),
            });
            image.dispatchers.extend(calls.iter().map(|slot| dispatcher(*slot)));
            slots.push(VirtualSlot {
                code: code << 16 | 16,
                function: (*name).to_owned(),
                slot: Some(*slot),
                classes: Vec::new(),
            });
        }
        (image, slots)
    }

    fn cycle(functions: &[(&str, u32, &[u32])]) -> Option<Vec<String>> {
        let (set, slots) = image(functions);
        let kernels = VirtualFunctions { dispatchers: vec![dispatcher(0)], ..VirtualFunctions::default() };
        find_cycle(&kernels, &[&set], &slots)
    }

    #[test]
    fn cycles_are_found_and_nothing_else() {
        assert_eq!(cycle(&[("leaf", 0, &[])]), None);
        assert_eq!(cycle(&[("outer", 0, &[1]), ("inner", 1, &[])]), None, "slots tell them apart");
        assert_eq!(cycle(&[("decorator", 0, &[0]), ("leaf", 0, &[])]), Some(vec!["decorator".to_owned()]));
        let both = cycle(&[("a", 0, &[1]), ("b", 1, &[2]), ("c", 2, &[1])]);
        assert_eq!(both, Some(vec!["b".to_owned(), "c".to_owned()]));
        assert_eq!(cycle(&[("a", 0, &[]), ("b", 1, &[1])]), None, "no kernel calls it");
        assert_eq!(
            cycle(&[("a", 0, &[1, 2]), ("b", 1, &[3]), ("c", 2, &[3]), ("d", 3, &[])]),
            None,
            "a diamond"
        );
    }
}
