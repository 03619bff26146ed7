//! The new function, written from the old one.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use crate::passes::kept_values::KeptValues;
use crate::passes::mesa::nesting::labels;
use oclave_spirv::{Instruction, Op, Rewriter, StorageClass, is_block_end, is_terminator};

/// Writes one function.
pub(crate) struct Writer<'w, 'r, 'p, 'f, 'm> {
    new: &'w mut Rewriter<'r>,
    plan: &'p Plan<'f, 'm>,
    entry: u32,
    head: u32,
    kept: KeptValues,
    /// Variables for phis of blocks that `head` leads to, with the types of these.
    inlets: BTreeMap<u32, (u32, u32)>,
    /// Block, and such a block that it leads to → the label of a block in between.
    edges: BTreeMap<(usize, usize), u32>,
    /// What the blocks in between store: value, variable.
    passed: BTreeMap<(usize, usize), Vec<(u32, u32)>>,
    /// What is used at the end of a block: value → what is loaded for it.
    at_end: BTreeMap<usize, BTreeMap<u32, u32>>,
}

impl<'w, 'r, 'p, 'f, 'm> Writer<'w, 'r, 'p, 'f, 'm> {
    pub(crate) fn new(new: &'w mut Rewriter<'r>, plan: &'p Plan<'f, 'm>) -> Self {
        let [entry, head] = [new.fresh_id(), new.fresh_id()];
        let kept = KeptValues::new(new, &plan.kept);
        let mut writer = Self {
            new,
            plan,
            entry,
            head,
            kept,
            inlets: BTreeMap::new(),
            edges: BTreeMap::new(),
            passed: BTreeMap::new(),
            at_end: BTreeMap::new(),
        };
        for (at, block) in plan.flow.blocks.iter().enumerate() {
            for label in labels(plan.definitions, block) {
                if let Some(to) = plan.places.get(&label).filter(|to| plan.cuts.contains_key(to)) {
                    let new = &mut *writer.new;
                    writer.edges.entry((at, *to)).or_insert_with(|| new.fresh_id());
                }
            }
        }
        writer.plan_phis();
        writer
    }

    fn plan_phis(&mut self) {
        let plan = self.plan;
        let mut block = 0;
        for instruction in plan.definitions.body(plan.flow.function) {
            if instruction.is(Op::Label) {
                let place = instruction.result_id().and_then(|label| plan.places.get(&label));
                block = place.copied().unwrap_or(0);
            }
            let (true, Some(id), Some(ty)) =
                (instruction.is(Op::Phi), instruction.result_id(), instruction.result_type())
            else {
                continue;
            };
            let mut inlet = None;
            if plan.cuts.contains_key(&block) {
                let variable = self.new.fresh_id();
                self.inlets.insert(id, (variable, ty));
                inlet = Some(variable);
            }
            for (value, from) in plan.uses(&instruction, block) {
                if let Some(variable) = inlet {
                    self.passed.entry((from, block)).or_default().push((value, variable));
                }
                if !plan.is_there(value, from) {
                    let new = &mut *self.new;
                    self.at_end.entry(from).or_default().entry(value).or_insert_with(|| new.fresh_id());
                }
            }
        }
    }

    pub(crate) fn write<'i>(mut self, instructions: &mut impl Iterator<Item = Instruction<'i>>) {
        let mut block = 0;
        let mut phis = BTreeSet::new();
        // Variables of the old function, and then all that the new one begins with, come before the
        // old function's first block.
        let (mut is_first, mut in_entry) = (true, false);
        let mut is_ended = false;
        for instruction in instructions {
            let op = instruction.op();
            if op == Some(Op::Label) && std::mem::take(&mut is_first) {
                in_entry = true;
                self.new.replace(&instruction, Op::Label, &[self.entry]);
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
                    let place = instruction.result_id().and_then(|label| self.plan.places.get(&label));
                    (block, is_ended) = (place.copied().unwrap_or(0), false);
                    self.new.copy(&instruction);
                }
                // Hints about what may be another loop now.
                Some(Op::LoopMerge | Op::SelectionMerge) => {}
                Some(Op::Phi) => {
                    self.copy_phi(&instruction);
                    phis.extend(instruction.result_id());
                }
                Some(Op::FunctionEnd) => {
                    self.new.copy(&instruction);
                    break;
                }
                _ if is_first || in_entry => self.new.copy(&instruction),
                _ => {
                    if op.is_some_and(is_block_end) && !std::mem::replace(&mut is_ended, true) {
                        self.load_at_end(block);
                    }
                    self.copy(&instruction, block);
                }
            }
        }
    }

    /// What the new function begins with, and the head of its loop.
    fn begin(&mut self) {
        let plan = self.plan;
        let variables = self.kept.variables().chain(self.inlets.values().copied());
        for (variable, ty) in variables {
            let pointer = self.new.pointer_type(StorageClass::Function, ty);
            self.new.push(Op::Variable, &[pointer, variable, StorageClass::Function as u32]);
        }
        self.new.push(Op::Branch, &[self.head]);

        self.new.push(Op::Label, &[self.head]);
        let (int, state) = (self.new.int_type(32), self.new.fresh_id());
        let mut phi = vec![int, state, self.new.int_constant(32, 0), self.entry];
        for ((_, to), edge) in &self.edges {
            let number = plan.cuts.get(to).copied().unwrap_or(0);
            phi.extend([self.new.int_constant(32, number.into()), *edge]);
        }
        self.new.push(Op::Phi, &phi);
        let label = |at: usize| plan.flow.blocks.get(at).map_or(0, |block| block.label);
        let cases = plan.cuts.iter().flat_map(|(at, number)| [*number, label(*at)]);
        let operands: Vec<u32> = [state, label(0)].into_iter().chain(cases).collect();
        self.new.push(Op::Switch, &operands);
        self.new.push(Op::Label, &[label(0)]);
    }

    /// Loads what phis of the blocks behind a block need.
    fn load_at_end(&mut self, block: usize) {
        for (id, value) in self.at_end.get(&block).cloned().unwrap_or_default() {
            self.kept.load(self.new, id, value);
        }
    }

    /// What stands for a value at the end of a block.
    fn value_at_end(&self, block: usize, id: u32) -> u32 {
        self.at_end.get(&block).and_then(|of| of.get(&id)).copied().unwrap_or(id)
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
            let from = self.plan.places.get(&label);
            operands.extend([from.map_or(id, |from| self.value_at_end(*from, id)), label]);
        }
        self.new.replace(phi, Op::Phi, &operands);
    }

    fn copy(&mut self, instruction: &Instruction<'_>, block: usize) {
        let plan = self.plan;
        let mut loaded = BTreeMap::new();
        for (id, at) in plan.uses(instruction, block) {
            if !plan.is_there(id, at) && !loaded.contains_key(&id) {
                let value = self.new.fresh_id();
                loaded.insert(id, value);
                self.kept.load(self.new, id, value);
            }
        }
        let ends = instruction.op().is_some_and(is_terminator);
        let behind = if ends { self.edges_of(block) } else { Vec::new() };
        let by: BTreeMap<u32, u32> =
            behind.iter().filter_map(|(to, edge)| Some((plan.flow.blocks.get(*to)?.label, *edge))).collect();
        self.new
            .copy_mapped(instruction, |id| loaded.get(&id).or_else(|| by.get(&id)).copied().unwrap_or(id));
        instruction.result_id().into_iter().for_each(|id| self.kept.store(self.new, id));
        for (to, edge) in behind {
            self.new.push(Op::Label, &[edge]);
            for (value, variable) in self.passed.get(&(block, to)).cloned().unwrap_or_default() {
                let value = self.value_at_end(block, value);
                self.new.push(Op::Store, &[variable, value]);
            }
            self.new.push(Op::Branch, &[self.head]);
        }
    }

    /// The blocks in between that a block leads to, each with the block that it stands for.
    fn edges_of(&self, block: usize) -> Vec<(usize, u32)> {
        let all = self.edges.range((block, 0)..=(block, usize::MAX));
        all.map(|((_, to), edge)| (*to, *edge)).collect()
    }
}
