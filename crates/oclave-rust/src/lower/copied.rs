//! Waits that rustc copied into branches.
//!
//! rustc does not know that all work-items of a group have to get to the same barrier or group function. Where a condition is tested before
//! such a call and behind it, jump threading puts a copy of the call into each branch. The library keeps rustc from copying a
//! barrier itself (`keep_whole`), but not from copying calls of functions that have one. At copies, some work-items would wait in one
//! branch, and the others in the other branch. So copies become one again, in a block that all of them lead to. It goes on to the code
//! behind the copy that the work-item comes from.
//!
//! Copies have the same place in the source, inlined calls included. A loop that is unrolled has such copies, too, but one leads to
//! the other.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::analysis::control_flow::Tree;
use oclave_spirv::{Op, is_group_function};

use super::barriers::{load, reachable_from, reversed, store};
use super::builder::{TypeId, ValueId};
use super::calls::SUB_GROUP;
use super::code::{Block, Inst, effect, redirect, rename, targets};
use super::function::Lower;
use crate::llvm::tree::Instruction;

/// A wait: its block and its position there.
type Place = (usize, usize);

impl Lower<'_, '_> {
    /// Says what place in the source the next wait comes from.
    pub(super) fn mark_wait(&mut self, call: &Instruction) {
        let places = self.output.program.places(self.copy.symbol.module, call);
        if places.is_empty() {
            return;
        }
        let known = self.origins.iter().position(|origin| *origin == places);
        let origin = known.unwrap_or_else(|| {
            self.origins.push(places);
            self.origins.len() - 1
        });
        // It is left out again, with its operand.
        self.effect(Op::Nop, &[origin as u32]);
    }

    /// Makes one wait of those that rustc copied into branches.
    pub(super) fn unite_copied_waits(&mut self) {
        let copied = self.copied_waits();
        for origin in &copied {
            self.unite(*origin);
        }
        for block in &mut self.blocks {
            block.code.retain(|inst| inst.op != Op::Nop);
        }
        if copied.is_empty() {
            return;
        }
        self.decide_together();
        self.sort_blocks();
    }

    /// The marked waits, by what they come from.
    fn marked_waits(&self) -> BTreeMap<u32, Vec<Place>> {
        let mut marked: BTreeMap<u32, Vec<Place>> = BTreeMap::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let mut origin = None;
            for (position, inst) in block.code.iter().enumerate() {
                if inst.op == Op::Nop {
                    origin = inst.operands.first().copied();
                } else if needs_all(inst)
                    && let Some(origin) = origin.take()
                {
                    marked.entry(origin).or_default().push((at, position));
                }
            }
        }
        marked
    }

    /// What waits come from of which one does not lead to another.
    fn copied_waits(&self) -> Vec<u32> {
        let marked = self.marked_waits();
        if marked.values().all(|places| places.len() < 2) {
            return Vec::new();
        }
        let (_, edges) = self.edges();
        let tree = Tree::new(&edges, 0);
        let goes_on = |from: usize, to: usize| !tree.is_ancestor(to, from);
        let forward: Vec<Vec<usize>> = edges
            .iter()
            .enumerate()
            .map(|(from, to)| to.iter().copied().filter(|to| goes_on(from, *to)).collect())
            .collect();
        let are_apart = |places: &Vec<Place>| {
            let blocks: BTreeSet<usize> =
                places.iter().map(|(at, _)| *at).filter(|at| tree.is_reached(*at)).collect();
            let reached: BTreeMap<usize, BTreeSet<usize>> =
                blocks.iter().map(|at| (*at, reachable_from(&forward, *at))).collect();
            let leads = |from: usize, to: usize| reached.get(&from).is_some_and(|all| all.contains(&to));
            blocks.iter().any(|a| blocks.iter().any(|b| !leads(*a, *b) && !leads(*b, *a)))
        };
        marked.into_iter().filter(|(_, places)| are_apart(places)).map(|(origin, _)| origin).collect()
    }

    /// Makes one wait of those that come from the same place.
    fn unite(&mut self, origin: u32) {
        let mut places = self.marked_waits().remove(&origin).unwrap_or_default();
        // Those behind others in the same block first.
        places.reverse();
        let mut whole = Block::new(self.output.builder.value());
        // The block that ends before each wait, the wait, and the block that begins behind it.
        let mut parts: Vec<(u32, Inst, u32)> = Vec::new();
        for (at, position) in places {
            let behind = self.split(at, position);
            let Some([block, rest]) = self.blocks.get_disjoint_mut([at, behind]).ok() else { continue };
            let wait = rest.code.remove(0);
            let (before, behind) = (block.label.word(), rest.label.word());
            redirect(block, behind, whole.label.word());
            for (from, ..) in parts.iter_mut().filter(|(from, ..)| *from == before) {
                *from = behind;
            }
            parts.push((before, wait, behind));
        }
        let Some(mut wait) = parts.first().map(|(_, wait, _)| wait.clone()) else { return };
        for index in 0..wait.operands.len() {
            let values: Vec<[u32; 2]> = parts
                .iter()
                .filter_map(|(from, wait, _)| Some([*wait.operands.get(index)?, *from]))
                .collect();
            if values.iter().any(|[value, _]| Some(value) != wait.operands.get(index)) {
                let (ty, joined) = (self.operand_type(&wait, index, &values), self.output.builder.value());
                whole.phis.push(Inst { op: Op::Phi, result: Some((ty, joined)), operands: values.concat() });
                if let Some(operand) = wait.operands.get_mut(index) {
                    *operand = joined.word();
                }
            }
        }
        if let Some((_, own)) = wait.result {
            let results = parts.iter().filter_map(|(_, wait, _)| wait.result);
            rename(&mut self.blocks, &results.map(|(_, result)| (result.word(), own)).collect());
        }
        whole.code.push(wait);
        let (uint, which) = (self.int(32), self.output.builder.value());
        let numbered = (0_u64..).zip(&parts);
        let operands =
            numbered.flat_map(|(number, (from, ..))| [self.number(32, number).word(), *from]).collect();
        whole.phis.push(Inst { op: Op::Phi, result: Some((uint, which)), operands });
        let targets: Vec<u32> = parts.iter().map(|(.., behind)| *behind).collect();
        self.go_on(&mut whole, which, &targets);
        self.blocks.push(whole);
    }

    /// The type of an operand that differs between copies.
    fn operand_type(&mut self, wait: &Inst, index: usize, values: &[[u32; 2]]) -> TypeId {
        if matches!(wait.op, Op::GroupAll | Op::GroupAny) {
            return self.bool();
        }
        match wait.result {
            // The place of the work-item whose value all get.
            Some(_) if wait.op == Op::GroupBroadcast && index == 2 => {
                let all = self.blocks.iter().flat_map(|block| block.phis.iter().chain(&block.code));
                let mut results = all.filter_map(|inst| inst.result);
                let known = results
                    .find(|(_, id)| values.iter().any(|[value, _]| *value == id.word()))
                    .map(|(ty, _)| ty);
                let is_sub_group = wait.operands.first().copied() == Some(self.number(32, SUB_GROUP).word());
                known.unwrap_or_else(|| self.int(if is_sub_group { 32 } else { 64 }))
            }
            Some((ty, _)) => ty,
            None => self.int(32),
        }
    }

    /// Splits a block before a position. Gives the index of the second part.
    fn split(&mut self, at: usize, position: usize) -> usize {
        let mut rest = Block::new(self.output.builder.value());
        let new = self.blocks.len();
        let Some(block) = self.blocks.get_mut(at) else { return at };
        let (before, behind) = (block.label.word(), rest.label.word());
        rest.code = block.code.split_off(position.min(block.code.len()));
        rest.end = block.end.replace(effect(Op::Branch, &[behind]));
        self.blocks.push(rest);
        let phis = self.blocks.iter_mut().flat_map(|block| &mut block.phis);
        let froms = phis.flat_map(|phi| phi.operands.iter_mut().skip(1).step_by(2));
        froms.filter(|from| **from == before).for_each(|from| *from = behind);
        if self.panic_exits.remove(&at) {
            self.panic_exits.insert(new);
        }
        self.reports.iter_mut().filter(|report| report.block == at).for_each(|report| report.block = new);
        new
    }

    /// Lets all work-items decide at one branch where they wait next, or that they end. Between two waits, those that come from
    /// different copies run different code, and would decide at different branches.
    fn decide_together(&mut self) {
        let mut at = 0;
        while let Some(block) = self.blocks.get(at) {
            let first = usize::from(at != 0 && block.code.first().is_some_and(needs_all));
            let position = block.code.iter().skip(first).position(needs_all);
            if let Some(position) = position {
                self.split(at, first + position);
            }
            at += 1;
        }
        let begins_with_wait =
            |at: &usize| self.blocks.get(*at).is_some_and(|block| block.code.first().is_some_and(needs_all));
        let waits: BTreeSet<usize> = (0..self.blocks.len()).filter(begins_with_wait).collect();
        self.keep_all_in_variables();
        let is_return = |at: &usize| {
            let end = self.blocks.get(*at).and_then(|block| block.end.as_ref());
            !self.panic_exits.contains(at) && end.is_some_and(|end| end.op == Op::Return)
        };
        let (_, edges) = self.edges();
        let phases = Phases {
            leads_to_wait: leading_to(&edges, waits.iter().copied()),
            leads_to_end: leading_to(&edges, (0..edges.len()).filter(is_return)),
            edges,
            waits,
        };
        for start in std::iter::once(0).chain(phases.waits.iter().copied()) {
            self.decide_behind(start, &phases);
        }
    }

    /// Lets all work-items decide at one branch where they go behind a wait, or behind the begin of the kernel.
    fn decide_behind(&mut self, start: usize, phases: &Phases) {
        let phase = phases.behind(start);
        let decisions = phases.decisions(start, &phase);
        let goals: BTreeSet<Option<usize>> = decisions.iter().map(|(_, to)| phases.goal(*to)).collect();
        let deciding: BTreeSet<usize> = decisions.iter().map(|(from, _)| *from).collect();
        if goals.len() < 2 || deciding.len() < 2 {
            return;
        }
        let label = |lower: &Self, at: usize| lower.blocks.get(at).map_or(0, |block| block.label.word());
        let exits: BTreeSet<usize> = decisions.iter().map(|(_, to)| *to).collect();
        let ends: Vec<u32> =
            exits.iter().filter(|to| phases.goal(**to).is_none()).map(|to| label(self, *to)).collect();
        let uint = self.int(32);
        let [goal, end] = [(); 2].map(|()| self.variable(uint, None));
        let decision = Block::new(self.output.builder.value());
        let mut copies = self.own_blocks(start, &phase);
        let mut on_edges = Vec::new();
        for to in &exits {
            let target = label(self, *to);
            let goal_number = goals.iter().position(|goal| *goal == phases.goal(*to)).unwrap_or(0);
            let end_number = ends.iter().position(|end| *end == target).unwrap_or(0);
            let [goal_number, end_number] = [goal_number, end_number].map(|n| self.number(32, n as u64));
            let stores = [store(goal, goal_number), store(end, end_number)];
            on_edges.extend(self.lead_to(&mut copies, target, &decision, &stores));
        }
        if let Some(first) = copies.pop()
            && let Some(block) = self.blocks.get_mut(start)
        {
            *block = first;
        }
        let at_end = self.output.builder.value();
        let labels: Vec<u32> =
            goals.iter().map(|goal| goal.map_or(at_end.word(), |wait| label(self, wait))).collect();
        let decision = self.go_by_number(decision, goal, &labels);
        self.blocks.extend(copies.into_iter().chain(on_edges).chain([decision]));
        if !ends.is_empty() {
            let ending = self.go_by_number(Block::new(at_end), end, &ends);
            self.blocks.push(ending);
        }
    }

    /// Copies the blocks of a phase, as those may be of other phases, too. The last one is the block that the phase begins with. It leads to
    /// the copies and keeps its label.
    fn own_blocks(&mut self, start: usize, phase: &BTreeSet<usize>) -> Vec<Block> {
        let own = phase.iter().filter_map(|at| self.blocks.get(*at).cloned()).collect();
        let (mut copies, new) = self.copies(own);
        if let Some(mut first) = self.blocks.get(start).cloned() {
            for (old, new) in &new {
                redirect(&mut first, *old, new.word());
            }
            copies.push(first);
        }
        copies
    }

    /// Leads blocks to another one instead of a target. Gives the blocks on these edges, each with some code.
    fn lead_to(&mut self, blocks: &mut [Block], target: u32, to: &Block, code: &[Inst]) -> Vec<Block> {
        let leading = blocks.iter_mut().filter(|block| targets(block).contains(&target));
        leading
            .map(|block| {
                let mut on_edge = Block::new(self.output.builder.value());
                on_edge.code.extend_from_slice(code);
                on_edge.end = Some(effect(Op::Branch, &[to.label.word()]));
                redirect(block, target, on_edge.label.word());
                on_edge
            })
            .collect()
    }

    /// Ends a block with a branch to one of some labels, whose number a variable has.
    fn go_by_number(&mut self, mut block: Block, variable: ValueId, targets: &[u32]) -> Block {
        let (uint, which) = (self.int(32), self.output.builder.value());
        block.code.push(load(uint, which, variable));
        self.go_on(&mut block, which, targets);
        block
    }

    /// Ends a block with a branch to one of some labels.
    fn go_on(&mut self, block: &mut Block, which: ValueId, targets: &[u32]) {
        block.end = match targets {
            [only] => Some(effect(Op::Branch, &[*only])),
            [first, second] => {
                let (bool, is_first, zero) = (self.bool(), self.output.builder.value(), self.number(32, 0));
                let operands = vec![which.word(), zero.word()];
                block.code.push(Inst { op: Op::IEqual, result: Some((bool, is_first)), operands });
                Some(effect(Op::BranchConditional, &[is_first.word(), *first, *second]))
            }
            [others @ .., last] => {
                let cases = (0_u32..).zip(others).flat_map(|(number, to)| [number, *to]);
                let operands: Vec<u32> = [which.word(), *last].into_iter().chain(cases).collect();
                Some(effect(Op::Switch, &operands))
            }
            [] => None,
        };
    }
}

/// The parts of a kernel between waits.
struct Phases {
    edges: Vec<Vec<usize>>,
    /// The blocks that begin with a wait.
    waits: BTreeSet<usize>,
    leads_to_wait: BTreeSet<usize>,
    /// Those that lead to the end of the kernel without a panic.
    leads_to_end: BTreeSet<usize>,
}

impl Phases {
    fn to(&self, from: usize) -> impl Iterator<Item = usize> {
        self.edges.get(from).into_iter().flatten().copied()
    }

    /// The blocks behind one that lead to a wait, up to these.
    fn behind(&self, start: usize) -> BTreeSet<usize> {
        let (mut open, mut seen) = (vec![start], BTreeSet::new());
        while let Some(at) = open.pop() {
            let next = self.to(at).filter(|to| !self.waits.contains(to) && self.leads_to_wait.contains(to));
            open.extend(next.filter(|to| seen.insert(*to)));
        }
        seen
    }

    /// The edges on which is decided where work-items go: to a wait, or to a block from which on nobody waits.
    fn decisions(&self, start: usize, phase: &BTreeSet<usize>) -> Vec<(usize, usize)> {
        let edges = phase.iter().chain([&start]).flat_map(|from| self.to(*from).map(|to| (*from, to)));
        edges.filter(|(_, to)| self.is_goal(*to)).collect()
    }

    /// Whether a block is a wait, or one from which on nobody waits. Panics are neither.
    fn is_goal(&self, at: usize) -> bool {
        self.waits.contains(&at) || !self.leads_to_wait.contains(&at) && self.leads_to_end.contains(&at)
    }

    /// The wait that a block is, if it is one.
    fn goal(&self, at: usize) -> Option<usize> {
        Some(at).filter(|at| self.waits.contains(at))
    }
}

/// Whether an instruction needs all work-items of a group.
fn needs_all(inst: &Inst) -> bool {
    inst.op == Op::ControlBarrier || is_group_function(inst.op)
}

/// The blocks that lead to some, and these.
pub(super) fn leading_to(edges: &[Vec<usize>], goals: impl Iterator<Item = usize>) -> BTreeSet<usize> {
    let before = reversed(edges);
    goals.flat_map(|goal| reachable_from(&before, goal)).collect()
}
