//! Order of types, constants and module-scope variables: each after what it uses.

use std::collections::HashMap;
use std::ops::Range;

use super::definitions::Definitions;
use super::grammar::Role;
use super::module::{HEADER_WORDS, Module, instructions_of};
use crate::Result;

/// Moves the instructions in `types` (a range of words) so that each stands after those that define
/// what it uses. Those that stand well stay in their order. What uses itself, by way of others,
/// stays as it is.
pub(super) fn sort_types(module: Module, types: Range<usize>) -> Result<Module> {
    let Some(section) = module.words().get(types.clone()) else { return Ok(module) };
    let instructions: Vec<_> = instructions_of(section).collect();
    let by_id: HashMap<u32, usize> =
        instructions.iter().enumerate().filter_map(|(i, inst)| Some((inst.result_id()?, i))).collect();
    let definitions = Definitions::new(&module);
    let uses = |i: usize| {
        let mut uses = Vec::new();
        if let Some(instruction) = instructions.get(i) {
            instruction.visit_ids(&definitions, |index, role| {
                if matches!(role, Role::Id | Role::ResultType)
                    && let Some(&other) = instruction.word(index).and_then(|id| by_id.get(&id))
                    && other != i
                {
                    uses.push(other);
                }
            });
        }
        uses
    };

    // OpTypeForwardPointer allows its pointer to be used before it is declared: the struct behind
    // it may use it.
    let forward: std::collections::HashSet<u32> = instructions
        .iter()
        .filter(|i| i.is(::spirv::Op::TypeForwardPointer))
        .filter_map(|i| i.operand(0))
        .collect();
    let is_forward =
        |i: usize| instructions.get(i).and_then(|i| i.result_id()).is_some_and(|id| forward.contains(&id));

    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; instructions.len()];
    let mut order = Vec::with_capacity(instructions.len());
    let mut stack = Vec::new();
    for root in 0..instructions.len() {
        stack.push(root);
        while let Some(&i) = stack.last() {
            match state.get(i) {
                Some(State::New) => {
                    if let Some(s) = state.get_mut(i) {
                        *s = State::Open;
                    }
                    stack.extend(
                        uses(i)
                            .into_iter()
                            .rev()
                            .filter(|&u| state.get(u) == Some(&State::New) && !(is_forward(u) && u > i)),
                    );
                }
                Some(State::Open) => {
                    if let Some(s) = state.get_mut(i) {
                        *s = State::Done;
                    }
                    order.push(i);
                    stack.pop();
                }
                _ => {
                    stack.pop();
                }
            }
        }
    }
    if order.is_sorted() {
        return Ok(module);
    }
    let mut sorted = Vec::with_capacity(section.len());
    for i in order {
        sorted.extend_from_slice(instructions.get(i).map(|i| i.words).unwrap_or_default());
    }
    debug_assert_eq!(sorted.len(), section.len());
    let mut words = module.into_words();
    if let Some(section) = words.get_mut(types.start.max(HEADER_WORDS)..types.end) {
        section.copy_from_slice(&sorted);
    }
    Module::from_words(words)
}
