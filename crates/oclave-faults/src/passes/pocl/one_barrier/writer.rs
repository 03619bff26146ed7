//! The new function, written from the old one.

use std::collections::{BTreeMap, BTreeSet};

use super::{END, Plan, add_barrier};
use crate::passes::Result;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::kept_values::KeptValues;
use crate::passes::opaque_values::is_largest;
use oclave_spirv::{Instruction, Op, Rewriter, StorageClass, is_terminator};

/// Writes one function.
pub(super) struct Writer<'w, 'r, 'p, 'f, 'm> {
    new: &'w mut Rewriter<'r>,
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
    /// What phis use at the end of a part: value → what was loaded for it.
    at_end: BTreeMap<usize, BTreeMap<u32, u32>>,
    /// What the end of a part stores for phis of headers: value, variable.
    passed: BTreeMap<usize, Vec<(u32, u32)>>,
    /// Variables for phis of headers, with the types of these.
    inlets: BTreeMap<u32, (u32, u32)>,
}

impl<'w, 'r, 'p, 'f, 'm> Writer<'w, 'r, 'p, 'f, 'm> {
    pub(super) fn new(
        new: &'w mut Rewriter<'r>,
        plan: &'p Plan<'f, 'm>,
        size: Option<&'p BuiltInVector>,
    ) -> Self {
        let definitions = new.definitions();
        let mut at_end: BTreeMap<usize, BTreeMap<u32, u32>> = BTreeMap::new();
        for phi in definitions.body(plan.flow.function).filter(|i| i.is(Op::Phi)) {
            for (id, part) in plan.uses(definitions, &phi, 0) {
                if !plan.is_there(id, part) {
                    at_end.entry(part).or_default().entry(id).or_insert_with(|| new.fresh_id());
                }
            }
        }
        let (passed, inlets) = inlets(new, plan);
        let labels = plan.parts.iter().map(|part| part.label.unwrap_or_else(|| new.fresh_id())).collect();
        let kept = KeptValues::new(new, &plan.kept);
        let [state, head, latch] = [new.fresh_id(), new.fresh_id(), new.fresh_id()];
        let size = size.filter(|_| plan.ways_to_latch() == 2);
        let another_way = size.map(|size| (size, new.fresh_id()));
        Self { new, plan, another_way, kept, state, head, latch, labels, at_end, passed, inlets }
    }

    pub(super) fn write<'i>(
        mut self,
        instructions: &mut impl Iterator<Item = Instruction<'i>>,
    ) -> Result<()> {
        let mut part = 0;
        let mut phis = BTreeSet::new();
        // Variables of the old function, and then all that the new one begins with, come before the
        // old function's first block.
        let mut in_entry = false;
        for instruction in instructions {
            let op = instruction.op();
            if op == Some(Op::Label) && self.plan.is_first_label(&instruction) {
                in_entry = true;
                let entry = self.new.fresh_id();
                self.new.replace(&instruction, Op::Label, &[entry]);
                continue;
            }
            if in_entry && !matches!(op, Some(Op::Variable | Op::Line | Op::NoLine)) {
                in_entry = false;
                self.begin();
            }
            if !matches!(op, Some(Op::Phi | Op::Line | Op::NoLine)) {
                std::mem::take(&mut phis).into_iter().for_each(|id| self.kept.store(self.new, id));
            }
            match op {
                Some(Op::Label) => {
                    part += 1;
                    self.new.copy(&instruction);
                }
                Some(Op::ControlBarrier) => {
                    part += 1;
                    self.go_on_at(part as u64);
                    let label = self.labels.get(part).copied().unwrap_or(0);
                    self.new.push(Op::Label, &[label]);
                }
                Some(Op::Return) => {
                    self.part_ways();
                    self.go_on_at(END);
                }
                // Hints about loops that are other loops now.
                Some(Op::LoopMerge | Op::SelectionMerge) => {}
                Some(Op::Phi) => {
                    self.copy_phi(&instruction);
                    phis.extend(instruction.result_id());
                }
                Some(Op::FunctionEnd) => {
                    self.end();
                    self.new.copy(&instruction);
                    break;
                }
                _ => self.copy(&instruction, part)?,
            }
        }
        Ok(())
    }

    /// What the new function begins with, and the loop.
    fn begin(&mut self) {
        let int = self.new.int_type(32);
        let mut variables: Vec<(u32, u32)> =
            self.kept.variables().chain(self.inlets.values().copied()).collect();
        variables.push((self.state, int));
        variables.extend(self.another_way.map(|(_, unread)| (unread, int)));
        for (variable, ty) in variables {
            let pointer = self.new.pointer_type(StorageClass::Function, ty);
            self.new.push(Op::Variable, &[pointer, variable, StorageClass::Function as u32]);
        }
        let zero = self.new.int_constant(32, 0);
        self.new.push(Op::Store, &[self.state, zero]);
        self.new.push(Op::Branch, &[self.head]);

        self.new.push(Op::Label, &[self.head]);
        let state = self.load(int, self.state);
        let first = self.labels.first().copied().unwrap_or(0);
        let cases = (0..).zip(&self.plan.parts).zip(&self.labels);
        let plan = self.plan;
        let resumed =
            cases.filter(|((_, part), _)| plan.is_resumed(part)).flat_map(|((at, _), label)| [at, *label]);
        let operands: Vec<u32> = [state, first].into_iter().chain(resumed).collect();
        self.new.push(Op::Switch, &operands);

        self.new.push(Op::Label, &[first]);
    }

    /// The barrier, and the end of the new function.
    fn end(&mut self) {
        let int = self.new.int_type(32);
        self.new.push(Op::Label, &[self.latch]);
        add_barrier(self.new);
        let (exit, state) = (self.new.fresh_id(), self.load(int, self.state));
        let (truth, end, more) = (self.new.bool_type(), self.new.int_constant(32, END), self.new.fresh_id());
        self.new.push(Op::INotEqual, &[truth, more, state, end]);
        self.new.push(Op::BranchConditional, &[more, self.head, exit]);
        self.new.push(Op::Label, &[exit]);
        self.new.push(Op::Return, &[]);
    }

    fn load(&mut self, ty: u32, variable: u32) -> u32 {
        let value = self.new.fresh_id();
        self.new.push(Op::Load, &[ty, value, variable]);
        value
    }

    fn go_on_at(&mut self, state: u64) {
        let state = self.new.int_constant(32, state);
        self.new.push(Op::Store, &[self.state, state]);
        self.new.push(Op::Branch, &[self.latch]);
    }

    /// Another way to the barrier, which nothing takes. If only two ways lead there, LLVM joins what
    /// they store in variables, and PoCL 6.0 fails on the phis. The store is volatile, so that LLVM
    /// keeps the way.
    fn part_ways(&mut self) {
        let Some((size, unread)) = self.another_way else { return };
        let never = is_largest(self.new, size);
        let (zero, way, next) = (self.new.int_constant(32, 0), self.new.fresh_id(), self.new.fresh_id());
        self.new.push(Op::BranchConditional, &[never, way, next]);
        self.new.push(Op::Label, &[way]);
        self.new.push(Op::Store, &[unread, zero, 1]);
        self.go_on_at(0);
        self.new.push(Op::Label, &[next]);
    }

    /// What phis of the blocks behind a part need.
    fn end_part(&mut self, part: usize) {
        let loaded = self.at_end.get(&part).cloned().unwrap_or_default();
        for (id, value) in &loaded {
            self.kept.load(self.new, *id, *value);
        }
        for (id, variable) in self.passed.get(&part).cloned().unwrap_or_default() {
            let value = loaded.get(&id).copied().unwrap_or(id);
            self.new.push(Op::Store, &[variable, value]);
        }
    }

    fn copy_phi(&mut self, phi: &Instruction<'_>) {
        if let Some((id, (variable, ty))) = phi.result_id().and_then(|id| Some((id, *self.inlets.get(&id)?)))
        {
            self.new.replace(phi, Op::Load, &[ty, id, variable]);
            return;
        }
        let mut operands: Vec<u32> = phi.result_type().into_iter().chain(phi.result_id()).collect();
        for pair in phi.operands().chunks_exact(2) {
            let &[id, label] = pair else { continue };
            let part = self.plan.last.get(&label);
            let loaded = part.and_then(|part| self.at_end.get(part)).and_then(|of| of.get(&id));
            let from = part.and_then(|part| self.labels.get(*part)).copied().unwrap_or(label);
            operands.extend([loaded.copied().unwrap_or(id), from]);
        }
        self.new.replace(phi, Op::Phi, &operands);
    }

    fn copy(&mut self, instruction: &Instruction<'_>, part: usize) -> Result<()> {
        let definitions = self.new.definitions();
        let mut loaded = BTreeMap::new();
        for (id, at) in self.plan.uses(definitions, instruction, part) {
            if !self.plan.is_there(id, at) && !loaded.contains_key(&id) {
                let value = self.new.fresh_id();
                loaded.insert(id, value);
                self.kept.load(self.new, id, value);
            }
        }
        let mut around = None;
        if instruction.op().is_some_and(is_terminator) {
            self.end_part(part);
            around = self.plan.back.get(&part).map(|header| (*header, self.new.fresh_id()));
        }
        self.new.copy_mapped(instruction, |id| match around {
            Some((header, by)) if header == id => by,
            _ => loaded.get(&id).copied().unwrap_or(id),
        });
        instruction.result_id().into_iter().for_each(|id| self.kept.store(self.new, id));
        if let Some((header, by)) = around {
            let state = self.plan.parts.iter().position(|part| part.label == Some(header));
            let no_part = || oclave_spirv::Error::Malformed {
                word: instruction.at,
                what: "a loop without a header".to_owned(),
            };
            let state = state.ok_or_else(no_part)?;
            self.new.push(Op::Label, &[by]);
            self.go_on_at(state as u64);
        }
        Ok(())
    }
}

type Passed = BTreeMap<usize, Vec<(u32, u32)>>;

/// Variables for the phis of headers, and what ends of parts store in them.
fn inlets(new: &mut Rewriter<'_>, plan: &Plan<'_, '_>) -> (Passed, BTreeMap<u32, (u32, u32)>) {
    let (mut passed, mut inlets): (Passed, _) = (BTreeMap::new(), BTreeMap::new());
    let mut block = 0;
    for instruction in new.definitions().body(plan.flow.function) {
        if instruction.is(Op::Label) {
            block = instruction.result_id().unwrap_or(0);
        }
        let phi = instruction.result_id().zip(instruction.result_type());
        let Some((id, ty)) = phi.filter(|_| instruction.is(Op::Phi) && plan.is_header(block)) else {
            continue;
        };
        let variable = new.fresh_id();
        inlets.insert(id, (variable, ty));
        for (value, part) in plan.uses(new.definitions(), &instruction, 0) {
            passed.entry(part).or_default().push((value, variable));
        }
    }
    (passed, inlets)
}
