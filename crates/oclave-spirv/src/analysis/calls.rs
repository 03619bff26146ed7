//! The call graph.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::control_flow::Flow;

/// The functions that each function calls.
pub fn calls(flows: &[Flow<'_>]) -> BTreeMap<u32, BTreeSet<u32>> {
    let called = |flow: &Flow<'_>| flow.blocks.iter().flat_map(|block| block.calls.iter().copied()).collect();
    flows.iter().map(|flow| (flow.function, called(flow))).collect()
}

/// Whether calls lead from a function to another.
pub fn reaches(calls: &BTreeMap<u32, BTreeSet<u32>>, from: u32, to: u32) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        for callee in calls.get(&id).into_iter().flatten() {
            if *callee == to {
                return true;
            }
            if seen.insert(*callee) {
                open.push(*callee);
            }
        }
    }
    false
}

/// The functions that calls lead to from some others, through functions that `follows` takes.
pub fn callees(
    flows: &[Flow<'_>],
    from: impl IntoIterator<Item = u32>,
    follows: impl Fn(u32) -> bool,
) -> BTreeSet<u32> {
    let calls = calls(flows);
    let (mut found, mut open) = (BTreeSet::new(), from.into_iter().collect::<Vec<_>>());
    while let Some(function) = open.pop() {
        for callee in calls.get(&function).into_iter().flatten() {
            if follows(*callee) && found.insert(*callee) {
                open.push(*callee);
            }
        }
    }
    found
}

/// The functions with a property, and those that call them.
pub fn with_callers(flows: &[Flow<'_>], is_so: impl Fn(&Flow<'_>) -> bool) -> BTreeSet<u32> {
    let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for flow in flows {
        for callee in flow.blocks.iter().flat_map(|block| &block.calls) {
            callers.entry(*callee).or_default().push(flow.function);
        }
    }
    let mut open: Vec<u32> = flows.iter().filter(|flow| is_so(flow)).map(|flow| flow.function).collect();
    let mut found = BTreeSet::new();
    while let Some(function) = open.pop() {
        if found.insert(function) {
            open.extend(callers.get(&function).into_iter().flatten());
        }
    }
    found
}
