//! Loops with barriers that LLVM made nested.
//!
//! A loop with several edges back becomes nested loops if one of them keeps a value. LLVM does not do so to loops with `convergent`
//! calls, which rustc cannot mark. Work-items that go back by different edges are in different loops then, although all of them wait
//! at one barrier. Compilers for CPUs let each loop wait for all work-items. So such loops become one again, with one edge back.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::Op;
use oclave_spirv::analysis::control_flow::Tree;

use super::barriers::{loops, waits};
use super::builder::ValueId;
use super::calls::WORK_GROUP;
use super::code::{Block, Inst, effect, has_no_effect, redirect, targets};
use super::function::Lower;

impl Lower<'_, '_> {
    /// Makes one loop of nested ones with a barrier, where the outer one only goes on to the inner one.
    pub(super) fn join_nested_loops(&mut self) {
        let group = self.number(32, WORK_GROUP);
        while let Some((outer, inner)) = self.nested_loops(group) {
            self.join(outer, inner);
        }
    }

    /// The first blocks of two such loops.
    fn nested_loops(&self, group: ValueId) -> Option<(usize, usize)> {
        let has_meeting = |at: &usize| {
            self.blocks.get(*at).is_some_and(|block| block.code.iter().any(|inst| waits(inst, group)))
        };
        let (_, edges) = self.edges();
        let all = loops(&edges);
        all.iter().filter(|(_, body)| body.iter().any(has_meeting)).find_map(|(outer, body)| {
            let [inner] = *edges.get(*outer)?.as_slice() else { return None };
            let is_loop =
                inner != *outer && body.contains(&inner) && all.iter().any(|(header, _)| *header == inner);
            (is_loop && self.may_join(*outer, inner, &edges)).then_some((*outer, inner))
        })
    }

    fn may_join(&self, outer: usize, inner: usize, edges: &[Vec<usize>]) -> bool {
        let (Some(first), Some(second)) = (self.blocks.get(outer), self.blocks.get(inner)) else {
            return false;
        };
        let is_fixed = |inst: &Inst| {
            let is_built_in =
                || inst.operands.first().is_some_and(|from| self.output.builder.built_in_of(*from).is_some());
            has_no_effect(inst) && (inst.op != Op::Load || is_built_in())
        };
        // In loops that were written as two, the inner one has a counter of its own.
        let outer_phis: BTreeSet<u32> =
            first.phis.iter().filter_map(|phi| phi.result).map(|(_, id)| id.word()).collect();
        let mut begins =
            second.phis.iter().flat_map(|phi| phi.operands.chunks_exact(2)).filter_map(|pair| match *pair {
                [value, from] if from == first.label.word() => Some(value),
                _ => None,
            });
        let goes_on = begins.all(|value| outer_phis.contains(&value));
        let goes_to = |from: usize, to: usize| edges.get(from).is_some_and(|after| after.contains(&to));
        let are_apart = !(0..edges.len()).any(|from| goes_to(from, outer) && goes_to(from, inner));
        let tree = Tree::new(edges, 0);
        let repeats = |from: usize| goes_to(from, inner) && from != outer;
        let is_entered_once =
            (0..edges.len()).filter(|from| repeats(*from)).all(|from| tree.is_ancestor(inner, from));
        first.code.iter().all(is_fixed) && goes_on && are_apart && is_entered_once
    }

    fn join(&mut self, outer: usize, inner: usize) {
        let Some(label) = self.blocks.get(inner).map(|block| block.label.word()) else { return };
        let first = self.blocks.remove(outer);
        self.panic_exits = self.panic_exits.iter().map(|at| at - usize::from(*at > outer)).collect();
        for report in &mut self.reports {
            report.block -= usize::from(report.block > outer);
        }
        let outer_label = first.label.word();
        // Value → what each block before the outer loop, and each end of it, gives.
        let given: BTreeMap<u32, &[u32]> = first
            .phis
            .iter()
            .filter_map(|phi| Some((phi.result?.1.word(), phi.operands.as_slice())))
            .collect();
        let froms: Vec<u32> = first
            .phis
            .first()
            .map_or_else(Vec::new, |phi| phi.operands.iter().skip(1).step_by(2).copied().collect());
        let ends: Vec<u32> = self
            .blocks
            .iter()
            .filter(|block| targets(block).contains(&label))
            .map(|block| block.label.word())
            .collect();
        let value_from = |value: u32, from: u32| {
            let pairs = given.get(&value).into_iter().flat_map(|operands| operands.chunks_exact(2));
            pairs
                .filter(|pair| pair.get(1) == Some(&from))
                .find_map(|pair| pair.first().copied())
                .unwrap_or(value)
        };
        for block in &mut self.blocks {
            redirect(block, outer_label, label);
        }
        let Some(block) = self.blocks.iter_mut().find(|block| block.label.word() == label) else { return };
        for phi in &mut block.phis {
            let pairs = phi.operands.chunks_exact(2).flat_map(|pair| match *pair {
                [value, from] if from == outer_label => {
                    froms.iter().flat_map(|from| [value_from(value, *from), *from]).collect()
                }
                _ => pair.to_vec(),
            });
            phi.operands = pairs.collect();
        }
        for mut phi in first.phis.iter().cloned() {
            let own = phi.result.map_or(0, |(_, id)| id.word());
            phi.operands.extend(ends.iter().flat_map(|end| [own, *end]));
            block.phis.push(phi);
        }
        block.code.splice(0..0, first.code.iter().cloned());
        self.unite_ends(label);
    }

    /// Gives a loop one edge back: LLVM would make nested loops of several again.
    fn unite_ends(&mut self, header: u32) {
        let (index, edges) = self.edges();
        let Some(&at) = index.get(&header) else { return };
        let tree = Tree::new(&edges, 0);
        let goes_back = |(from, to): &(usize, &Vec<usize>)| to.contains(&at) && tree.is_ancestor(at, *from);
        let ends = edges.iter().enumerate().filter(goes_back);
        let ends: Vec<u32> = ends.filter_map(|(from, _)| Some(self.blocks.get(from)?.label.word())).collect();
        let mut last = Block::new(self.output.builder.value());
        last.end = Some(effect(Op::Branch, &[header]));
        let new = last.label.word();
        let Some(block) = self.blocks.get_mut(at) else { return };
        for phi in &mut block.phis {
            let (back, mut before): (Vec<_>, Vec<_>) = phi
                .operands
                .chunks_exact(2)
                .map(<[u32]>::to_vec)
                .partition(|pair| pair.get(1).is_some_and(|from| ends.contains(from)));
            let Some((ty, id)) = phi.result else { continue };
            let joined = self.output.builder.value_like(id);
            last.phis.push(Inst { op: Op::Phi, result: Some((ty, joined)), operands: back.concat() });
            before.push(vec![joined.word(), new]);
            phi.operands = before.concat();
        }
        for block in self.blocks.iter_mut().filter(|block| ends.contains(&block.label.word())) {
            redirect(block, header, new);
        }
        self.blocks.push(last);
    }
}
