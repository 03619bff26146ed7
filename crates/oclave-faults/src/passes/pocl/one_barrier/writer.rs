//! The new function, written over the old one.

use super::{BOTH_FENCES, END, Plan};
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::kept_values::KeptValues;
use crate::passes::opaque_values::is_largest;
use crate::passes::pocl::barrier;
use oclave_spirv::{Cursor, Editor, Instruction, Op, is_terminator};

/// Writes one function.
pub(super) struct Writer<'p, 'f, 'm> {
    plan: &'p Plan<'f, 'm>,
    /// What another way to the barrier needs, if the function gets one: the size of the group, and a
    /// variable that nothing reads.
    another_way: Option<(&'p BuiltInVector, u32)>,
    kept: KeptValues,
    state: u32,
    head: u32,
    latch: u32,
    /// The label of each part.
    labels: Vec<u32>,
}

impl<'p, 'f, 'm> Writer<'p, 'f, 'm> {
    pub(super) fn write(edit: &mut Editor<'_>, plan: &'p Plan<'f, 'm>, size: Option<&'p BuiltInVector>) {
        let function = plan.flow.function;
        let kept = KeptValues::new(edit, &plan.pieces);
        let int = edit.int_type(32);
        let state = edit.variable(function, int, None);
        let size = size.filter(|_| plan.ways_to_latch() == 2);
        let another_way = size.map(|size| (size, edit.variable(function, int, None)));
        let labels = plan.parts.iter().map(|part| part.label.unwrap_or_else(|| edit.fresh_id())).collect();
        let [head, latch] = [edit.fresh_id(), edit.fresh_id()];
        let writer = Self { plan, another_way, kept, state, head, latch, labels };
        // Variables of the old function come before its first block now.
        if let Some(first) = plan.flow.blocks.first().and_then(|of| plan.definitions.instruction(of.label)) {
            let entry = edit.fresh_id();
            edit.replace(&first, Op::Label, &[entry]);
        }
        writer.begin(&mut edit.at_entry(function));
        plan.pieces.code.iter().for_each(|(part, instruction)| writer.change(edit, instruction, *part));
        writer.pass_values(edit);
        if let Some(last) = plan.flow.blocks.last().and_then(|block| block.terminator) {
            writer.end(&mut edit.after(&last));
        }
    }

    /// What the new function begins with, and the loop.
    fn begin(&self, at: &mut Cursor<'_, '_>) {
        let Some(first) = self.labels.first().copied() else { return };
        let (int, zero) = (at.int_type(32), at.int_constant(32, 0));
        at.push(Op::Store, &[self.state, zero]);
        at.push(Op::Branch, &[self.head]);

        at.push(Op::Label, &[self.head]);
        let state = at.emit(Op::Load, int, &[self.state]);
        let resumed = self.labels.iter().enumerate().filter(|(part, _)| self.plan.is_resumed(*part));
        let cases = resumed.flat_map(|(part, label)| [part as u32, *label]);
        let operands: Vec<u32> = [state, first].into_iter().chain(cases).collect();
        at.push(Op::Switch, &operands);

        at.push(Op::Label, &[first]);
    }

    /// The barrier, and the end of the new function.
    fn end(&self, at: &mut Cursor<'_, '_>) {
        let (int, truth, end) = (at.int_type(32), at.bool_type(), at.int_constant(32, END));
        at.push(Op::Label, &[self.latch]);
        barrier(at, BOTH_FENCES);
        let exit = at.fresh_id();
        let state = at.emit(Op::Load, int, &[self.state]);
        let more = at.emit(Op::INotEqual, truth, &[state, end]);
        at.push(Op::BranchConditional, &[more, self.head, exit]);
        at.push(Op::Label, &[exit]);
        at.push(Op::Return, &[]);
    }

    fn go_on_at(&self, at: &mut Cursor<'_, '_>, state: u64) {
        let state = at.int_constant(32, state);
        at.push(Op::Store, &[self.state, state]);
        at.push(Op::Branch, &[self.latch]);
    }

    /// Another way to the barrier, which nothing takes. If only two ways lead there, LLVM joins what
    /// they store in variables, and PoCL 6.0 fails on the phis. The store is volatile, so that LLVM
    /// keeps the way.
    fn part_ways(&self, at: &mut Cursor<'_, '_>) {
        let Some((size, unread)) = self.another_way else { return };
        let never = is_largest(at, size);
        let (zero, way, next) = (at.int_constant(32, 0), at.fresh_id(), at.fresh_id());
        at.push(Op::BranchConditional, &[never, way, next]);
        at.push(Op::Label, &[way]);
        at.push(Op::Store, &[unread, zero, 1]);
        self.go_on_at(at, 0);
        at.push(Op::Label, &[next]);
    }

    /// Changes an instruction of a part that is no phi.
    fn change(&self, edit: &mut Editor<'_>, instruction: &Instruction<'_>, part: usize) {
        match instruction.op() {
            Some(Op::ControlBarrier) => {
                let Some(label) = self.labels.get(part) else { return };
                let mut at = edit.instead_of(instruction);
                self.go_on_at(&mut at, part as u64);
                at.push(Op::Label, &[*label]);
            }
            Some(Op::Return) => {
                let mut at = edit.instead_of(instruction);
                self.part_ways(&mut at);
                self.go_on_at(&mut at, END);
            }
            // Hints about loops that are other loops now.
            Some(Op::LoopMerge | Op::SelectionMerge) => edit.remove(instruction),
            Some(Op::Phi) => {}
            op => {
                let header = self.plan.back.get(&part).filter(|_| op.is_some_and(is_terminator));
                let header = header.and_then(|header| Some((*header, *self.labels.get(*header)?)));
                let back = header.map(|(header, label)| (header, label, edit.fresh_id()));
                let replaced = back.iter().map(|(_, label, by)| (*label, *by)).collect();
                let missing = self.plan.pieces.missing(instruction, part).map(|(id, _)| id);
                self.kept.change(edit, instruction, missing, replaced);
                if let Some((header, _, by)) = back {
                    let mut at = edit.after(instruction);
                    at.push(Op::Label, &[by]);
                    self.go_on_at(&mut at, header as u64);
                }
            }
        }
    }

    /// Writes the phis, and stores at the ends of parts what those of headers take.
    fn pass_values(&self, edit: &mut Editor<'_>) {
        let ends = self.plan.pieces.ends();
        for ((part, _), values) in self.kept.write_phis(edit, &self.plan.pieces, &self.labels) {
            let Some(end) = ends.get(&part) else { continue };
            for (value, variable) in values {
                edit.before(end).push(Op::Store, &[variable, value]);
            }
        }
    }
}
