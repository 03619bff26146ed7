//! The decorations of ids, for values that are written several times.

use std::collections::HashMap;

use crate::{Declarations, Definitions, Op, Section};

/// What `OpDecorate` says of each id: operands, without the id.
pub(super) struct Decorations(HashMap<u32, Vec<Vec<u32>>>);

impl Decorations {
    /// Those of a module that are wanted.
    pub(super) fn of(definitions: &Definitions<'_>, is_wanted: impl Fn(&[u32]) -> bool) -> Self {
        let mut all: HashMap<u32, Vec<Vec<u32>>> = HashMap::new();
        for instruction in definitions.module().global_instructions() {
            if let (Some(Op::Decorate), &[id, ref decoration @ ..]) =
                (instruction.op(), instruction.operands())
                && is_wanted(decoration)
            {
                all.entry(id).or_default().push(decoration.to_vec());
            }
        }
        Self(all)
    }

    /// Gives a new id the decorations of another of some kinds.
    pub(super) fn copy(
        &self,
        new: &mut Declarations<'_>,
        id: u32,
        other: u32,
        is_wanted: impl Fn(u32) -> bool,
    ) {
        for decoration in self.0.get(&other).into_iter().flatten() {
            if decoration.first().is_some_and(|kind| is_wanted(*kind)) {
                let operands = [&[id], decoration.as_slice()].concat();
                new.push_in(Section::Annotations, Op::Decorate, &operands);
            }
        }
    }
}
