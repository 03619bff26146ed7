//! The new function, written over the old one.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use crate::passes::kept_values::KeptValues;
use crate::passes::mesa::nesting::labels;
use oclave_spirv::{Cursor, Editor, Instruction, Op, is_terminator};

/// Writes one function.
pub(super) struct Writer<'p, 'f, 'm> {
    plan: &'p Plan<'f, 'm>,
    entry: u32,
    head: u32,
    kept: KeptValues,
    /// Block, and a block that `head` leads to and it does, too → the label of a block in between.
    edges: BTreeMap<(usize, usize), u32>,
    /// What the blocks in between store: value, variable.
    passed: BTreeMap<(usize, usize), Vec<(u32, u32)>>,
    /// A value that is used at the end of a block, and the block → the id that it is loaded as.
    at_end: BTreeMap<(u32, usize), u32>,
}

impl<'p, 'f, 'm> Writer<'p, 'f, 'm> {
    pub(super) fn write(edit: &mut Editor<'_>, plan: &'p Plan<'f, 'm>) {
        let function = plan.flow.function;
        let [entry, head] = [edit.fresh_id(), edit.fresh_id()];
        let mut writer = Self {
            plan,
            entry,
            head,
            kept: KeptValues::new(edit, function, &plan.kept),
            edges: edges(edit, plan),
            passed: BTreeMap::new(),
            at_end: BTreeMap::new(),
        };
        writer.begin(&mut edit.at_entry(function));
        writer.change_phis(edit);
        plan.code().for_each(|(block, instruction)| writer.change(edit, &instruction, block));
    }

    /// What the new function begins with, and the head of its loop.
    fn begin(&self, at: &mut Cursor<'_, '_>) {
        let label = |at: usize| self.plan.flow.blocks.get(at).map(|block| block.label);
        let Some(first) = label(0) else { return };
        at.push(Op::Branch, &[self.head]);

        at.push(Op::Label, &[self.head]);
        let mut phi = vec![at.int_constant(32, 0), self.entry];
        for ((_, to), edge) in &self.edges {
            let Some(number) = self.plan.cuts.get(to) else { continue };
            phi.extend([at.int_constant(32, u64::from(*number)), *edge]);
        }
        let int = at.int_type(32);
        let state = at.emit(Op::Phi, int, &phi);
        let cases = self.plan.cuts.iter().filter_map(|(at, number)| Some([*number, label(*at)?]));
        let operands: Vec<u32> = [state, first].into_iter().chain(cases.flatten()).collect();
        at.push(Op::Switch, &operands);
        at.push(Op::Label, &[first]);
    }

    /// Loads what phis take at the ends of blocks. Phis of blocks that `head` leads to become variables.
    fn change_phis(&mut self, edit: &mut Editor<'_>) {
        let plan = self.plan;
        let phis: Vec<(usize, Instruction<'_>)> = plan.code().filter(|(_, i)| i.is(Op::Phi)).collect();
        let missing: BTreeSet<(u32, usize)> =
            phis.iter().flat_map(|(at, phi)| plan.missing(phi, *at)).collect();
        for (id, block) in missing {
            let Some(end) = plan.flow.blocks.get(block).and_then(|block| block.terminator) else { continue };
            self.at_end.insert((id, block), self.kept.load(&mut edit.before(&end), id));
        }
        for (block, phi) in &phis {
            let (Some(id), Some(ty), Some(of)) =
                (phi.result_id(), phi.result_type(), plan.flow.blocks.get(*block))
            else {
                continue;
            };
            if plan.cuts.contains_key(block) {
                let variable = edit.variable(plan.flow.function, ty, None);
                for (value, from) in plan.uses(phi, *block) {
                    let value = self.value_at_end(value, from);
                    self.passed.entry((from, *block)).or_default().push((value, variable));
                }
                edit.replace(phi, Op::Load, &[ty, id, variable]);
            } else {
                let pairs = phi.operands().chunks_exact(2).filter_map(|pair| {
                    let &[value, label] = pair else { return None };
                    let from = plan.places.get(&label);
                    Some([from.map_or(value, |from| self.value_at_end(value, *from)), label])
                });
                let operands: Vec<u32> = [ty, id].into_iter().chain(pairs.flatten()).collect();
                edit.replace(phi, Op::Phi, &operands);
            }
            self.kept.store(&mut edit.at_start(of.label), id);
        }
    }

    /// What stands for a value at the end of a block.
    fn value_at_end(&self, id: u32, block: usize) -> u32 {
        self.at_end.get(&(id, block)).copied().unwrap_or(id)
    }

    /// Changes an instruction of a block that is no phi.
    fn change(&self, edit: &mut Editor<'_>, instruction: &Instruction<'_>, block: usize) {
        let plan = self.plan;
        match instruction.op() {
            // Variables of the old function come before its first block now.
            Some(Op::Label) if block == 0 => edit.replace(instruction, Op::Label, &[self.entry]),
            // Hints about what may be another loop now.
            Some(Op::LoopMerge | Op::SelectionMerge) => edit.remove(instruction),
            Some(Op::Phi) => {}
            op => {
                let ends = op.is_some_and(is_terminator);
                let edges = || self.edges.range((block, 0)..=(block, usize::MAX)).filter(|_| ends);
                let replaced =
                    edges().filter_map(|((_, to), edge)| Some((plan.flow.blocks.get(*to)?.label, *edge)));
                let missing = plan.missing(instruction, block).map(|(id, _)| id);
                self.kept.change(edit, instruction, missing, replaced.collect());
                for (place, edge) in edges() {
                    let mut at = edit.after(instruction);
                    at.push(Op::Label, &[*edge]);
                    for (value, variable) in self.passed.get(place).into_iter().flatten() {
                        at.push(Op::Store, &[*variable, *value]);
                    }
                    at.push(Op::Branch, &[self.head]);
                }
            }
        }
    }
}

/// Labels for blocks between a block and one that `head` leads to.
fn edges(edit: &mut Editor<'_>, plan: &Plan<'_, '_>) -> BTreeMap<(usize, usize), u32> {
    let mut edges = BTreeMap::new();
    for (at, block) in plan.flow.blocks.iter().enumerate() {
        for label in labels(plan.definitions, block) {
            if let Some(to) = plan.places.get(&label).filter(|to| plan.cuts.contains_key(to)) {
                edges.entry((at, *to)).or_insert_with(|| edit.fresh_id());
            }
        }
    }
    edges
}
