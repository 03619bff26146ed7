//! Counters of loops, and pointers that loops move on.

use super::control_flow::{Flow, Loop};
use crate::{Definitions, Instruction, Op};

/// A phi of a loop's header, with one value from before the loop and one from the last iteration.
#[derive(Debug, Clone, Copy)]
pub struct Recurrence<'m> {
    /// The phi.
    pub phi: Instruction<'m>,
    /// Its result.
    pub id: u32,
    /// The type of the result.
    pub ty: u32,
    /// The first value.
    pub start: u32,
    /// The value of the next iteration.
    pub next: u32,
    /// The instruction that calculates `next`.
    pub change: Instruction<'m>,
    /// Label of the loop's header.
    pub header: u32,
    /// Label of the block before the loop.
    pub from: u32,
    /// Label of the block that goes back.
    pub latch: u32,
}

impl<'m> Recurrence<'m> {
    /// All of a loop, in the order of their ids.
    pub fn of_loop(definitions: &Definitions<'m>, flow: &Flow<'m>, of: &Loop) -> Vec<Self> {
        let label = |at: usize| flow.blocks.get(at).map(|block| block.label);
        let labels = label(of.header).zip(flow.preheader(of).and_then(label));
        let Some((header, from)) = labels else { return Vec::new() };
        let phis = definitions.block(header).filter(|i| i.is(Op::Phi));
        let found = phis.filter_map(|phi| {
            let (start, next, latch) = match *phi.operands() {
                [start, label, next, latch] if label == from => (start, next, latch),
                [next, latch, start, label] if label == from => (start, next, latch),
                _ => return None,
            };
            let (id, ty) = (phi.result_id()?, phi.result_type()?);
            let change = definitions.instruction(next)?;
            Some(Self { phi, id, ty, start, next, change, header, from, latch })
        });
        let mut found: Vec<Self> = found.collect();
        found.sort_unstable_by_key(|one| one.id);
        found
    }

    /// What is added to an integer in each iteration, or taken from it; `None` if it changes otherwise.
    pub fn step(&self) -> Option<u32> {
        let is_sum = self.change.is(Op::IAdd);
        match *self.change.operands() {
            [base, step] if base == self.id && (is_sum || self.change.is(Op::ISub)) => Some(step),
            [step, base] if base == self.id && is_sum => Some(step),
            _ => None,
        }
    }
}
