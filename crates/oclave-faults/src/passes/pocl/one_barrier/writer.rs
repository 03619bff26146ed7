//! The new function, written over the old one.

use std::collections::{BTreeMap, BTreeSet};

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
        let kept = KeptValues::new(edit, function, &plan.kept);
        let phis = plan.code().filter(|(_, i)| i.is(Op::Phi));
        let phis: BTreeMap<u32, (usize, Instruction<'_>)> =
            phis.filter_map(|(part, phi)| Some((phi.result_id()?, (part, phi)))).collect();
        let mut inlets = BTreeMap::new();
        for (id, (part, phi)) in &phis {
            if let Some(label) = plan.parts.get(*part).and_then(|part| part.label) {
                kept.store(&mut edit.at_start(label), *id);
            }
            if let Some(ty) = phi.result_type().filter(|_| plan.is_header(*part)) {
                inlets.insert(*id, edit.variable(function, ty, None));
            }
        }
        let int = edit.int_type(32);
        let state = edit.variable(function, int, None);
        let size = size.filter(|_| plan.ways_to_latch() == 2);
        let another_way = size.map(|size| (size, edit.variable(function, int, None)));
        let labels = plan.parts.iter().map(|part| part.label.unwrap_or_else(|| edit.fresh_id())).collect();
        let [head, latch] = [edit.fresh_id(), edit.fresh_id()];
        let writer = Self { plan, another_way, kept, state, head, latch, labels };
        writer.begin(&mut edit.at_entry(function));
        plan.code().for_each(|(part, instruction)| writer.change(edit, &instruction, part));
        writer.pass_values(edit, &inlets);
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
            // Variables of the old function come before its first block now.
            Some(Op::Label) if self.plan.is_first_label(instruction) => {
                let entry = edit.fresh_id();
                edit.replace(instruction, Op::Label, &[entry]);
            }
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
                let missing = self.plan.missing(instruction, part).into_iter().map(|(id, _)| id);
                self.kept.change(edit, instruction, missing, replaced);
                if let Some((header, _, by)) = back {
                    let mut at = edit.after(instruction);
                    at.push(Op::Label, &[by]);
                    self.go_on_at(&mut at, header as u64);
                }
            }
        }
    }

    /// Loads what phis take at the ends of parts. Phis of headers become variables, `inlets`, which ends of parts store.
    fn pass_values(&self, edit: &mut Editor<'_>, inlets: &BTreeMap<u32, u32>) {
        let Plan { flow, last, .. } = self.plan;
        let ends = flow.blocks.iter().filter_map(|of| Some((*last.get(&of.label)?, of.terminator?)));
        let ends: BTreeMap<usize, Instruction<'_>> = ends.collect();
        let phis = || self.plan.code().map(|(_, phi)| phi).filter(|phi| phi.is(Op::Phi));
        let missing: BTreeSet<(u32, usize)> = phis().flat_map(|phi| self.plan.missing(&phi, 0)).collect();
        let mut loaded = BTreeMap::new();
        for (id, part) in missing {
            let Some(end) = ends.get(&part) else { continue };
            loaded.insert((id, part), self.kept.load(&mut edit.before(end), id));
        }
        let at_end = |id: u32, part: usize| loaded.get(&(id, part)).copied().unwrap_or(id);
        for phi in phis() {
            let (Some(ty), Some(id)) = (phi.result_type(), phi.result_id()) else { continue };
            if let Some(variable) = inlets.get(&id) {
                for (value, part) in self.plan.uses(&phi, 0) {
                    let Some(end) = ends.get(&part) else { continue };
                    edit.before(end).push(Op::Store, &[*variable, at_end(value, part)]);
                }
                edit.replace(&phi, Op::Load, &[ty, id, *variable]);
                continue;
            }
            let pairs = phi.operands().chunks_exact(2).filter_map(|pair| {
                let &[value, label] = pair else { return None };
                let part = last.get(&label).copied();
                let from = part.and_then(|part| self.labels.get(part)).copied().unwrap_or(label);
                Some([part.map_or(value, |part| at_end(value, part)), from])
            });
            let operands: Vec<u32> = [ty, id].into_iter().chain(pairs.flatten()).collect();
            edit.replace(&phi, Op::Phi, &operands);
        }
    }
}
