//! The new function, written over the old one.

use std::collections::BTreeMap;

use super::Plan;
use crate::passes::kept_values::{KeptValues, Passed};
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
    /// What the blocks in between store.
    passed: Passed,
}

impl<'p, 'f, 'm> Writer<'p, 'f, 'm> {
    pub(super) fn write(edit: &mut Editor<'_>, plan: &'p Plan<'f, 'm>) {
        let function = plan.flow.function;
        let [entry, head] = [edit.fresh_id(), edit.fresh_id()];
        let kept = KeptValues::new(edit, &plan.pieces);
        let labels: Vec<u32> = plan.flow.blocks.iter().map(|block| block.label).collect();
        let passed = kept.write_phis(edit, &plan.pieces, &labels);
        let writer = Self { plan, entry, head, kept, edges: edges(edit, plan), passed };
        // Variables of the old function come before its first block now.
        if let Some(first) = labels.first().and_then(|label| plan.definitions.instruction(*label)) {
            edit.replace(&first, Op::Label, &[entry]);
        }
        writer.begin(&mut edit.at_entry(function));
        plan.pieces.code.iter().for_each(|(block, instruction)| writer.change(edit, instruction, *block));
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

    /// Changes an instruction of a block that is no phi.
    fn change(&self, edit: &mut Editor<'_>, instruction: &Instruction<'_>, block: usize) {
        let plan = self.plan;
        match instruction.op() {
            // Hints about what may be another loop now.
            Some(Op::LoopMerge | Op::SelectionMerge) => edit.remove(instruction),
            Some(Op::Phi) => {}
            op => {
                let ends = op.is_some_and(is_terminator);
                let edges = || self.edges.range((block, 0)..=(block, usize::MAX)).filter(|_| ends);
                let replaced =
                    edges().filter_map(|((_, to), edge)| Some((plan.flow.blocks.get(*to)?.label, *edge)));
                let missing = plan.pieces.missing(instruction, block).map(|(id, _)| id);
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
            if let Some(to) = plan.pieces.last.get(&label).filter(|to| plan.cuts.contains_key(to)) {
                edges.entry((at, *to)).or_insert_with(|| edit.fresh_id());
            }
        }
    }
    edges
}
