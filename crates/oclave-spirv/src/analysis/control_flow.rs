//! Blocks, dominators and loops of a function.

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use super::dominators::Tree;
use crate::{Definitions, Instruction, Op, is_terminator};

/// A block.
#[derive(Debug)]
pub struct Block<'m> {
    /// Id of its `OpLabel`.
    pub label: u32,
    /// The instruction that ends the block; `None` in a malformed function.
    pub terminator: Option<Instruction<'m>>,
    /// Indices of the blocks that it branches to.
    pub successors: Vec<usize>,
    /// Indices of the blocks that branch to it.
    pub predecessors: Vec<usize>,
    /// It has a barrier of the work-group.
    pub barrier: bool,
    /// Functions that it calls.
    pub calls: Vec<u32>,
}

/// A natural loop; loops with one header are one.
#[derive(Debug)]
pub struct Loop {
    /// Index of the block that dominates the loop.
    pub header: usize,
    /// Indices of all blocks of the loop, the header included.
    pub blocks: BTreeSet<usize>,
    /// Indices of the blocks that branch back to the header.
    pub latches: Vec<usize>,
}

/// The control flow of a function.
#[derive(Debug)]
pub struct Flow<'m> {
    /// Id of its `OpFunction`.
    pub function: u32,
    /// Blocks in the order of the module.
    pub blocks: Vec<Block<'m>>,
    /// Inner loops come before those around them.
    pub loops: Vec<Loop>,
    /// A cycle is entered at several blocks.
    pub irreducible: bool,
    /// For each phi, the block that it is in.
    pub phis: HashMap<u32, usize>,
    dominators: Tree,
    postdominators: Tree,
}

impl<'m> Flow<'m> {
    /// The control flow of each function that has a body.
    pub fn of_functions(definitions: &Definitions<'m>) -> Vec<Self> {
        let mut all = Vec::new();
        let mut function = 0;
        let mut blocks: Vec<Block<'m>> = Vec::new();
        let mut phis = HashMap::new();
        for instruction in definitions.module().instructions() {
            match instruction.op() {
                Some(Op::Function) => function = instruction.result_id().unwrap_or(0),
                Some(Op::Label) => blocks.push(Block {
                    label: instruction.result_id().unwrap_or(0),
                    terminator: None,
                    successors: Vec::new(),
                    predecessors: Vec::new(),
                    barrier: false,
                    calls: Vec::new(),
                }),
                Some(Op::FunctionEnd) if !blocks.is_empty() => {
                    let (blocks, phis) = (std::mem::take(&mut blocks), std::mem::take(&mut phis));
                    all.push(Self::new(definitions, function, blocks, phis));
                }
                Some(op) => {
                    let number = blocks.len().wrapping_sub(1);
                    let Some(block) = blocks.last_mut() else { continue };
                    match op {
                        Op::ControlBarrier => block.barrier = true,
                        Op::FunctionCall => block.calls.extend(instruction.operand(0)),
                        Op::Phi => {
                            phis.insert(instruction.result_id().unwrap_or(0), number);
                        }
                        op if is_terminator(op) => block.terminator = Some(instruction),
                        _ => {}
                    }
                }
                None => {}
            }
        }
        all
    }

    fn new(
        definitions: &Definitions<'m>,
        function: u32,
        mut blocks: Vec<Block<'m>>,
        phis: HashMap<u32, usize>,
    ) -> Self {
        let labels: HashMap<u32, usize> =
            blocks.iter().enumerate().map(|(at, block)| (block.label, at)).collect();
        for at in 0..blocks.len() {
            let terminator = blocks.get(at).and_then(|block| block.terminator);
            let targets = terminator.map_or_else(Vec::new, |terminator| targets(definitions, &terminator));
            let successors: Vec<usize> =
                targets.iter().filter_map(|label| labels.get(label).copied()).collect();
            for to in &successors {
                if let Some(block) = blocks.get_mut(*to) {
                    block.predecessors.push(at);
                }
            }
            if let Some(block) = blocks.get_mut(at) {
                block.successors = successors;
            }
        }
        let count = blocks.len();
        let forward: Vec<Vec<usize>> = blocks.iter().map(|block| block.successors.clone()).collect();
        let dominators = Tree::new(&forward, 0);
        // A node behind all that end the function is the root of the reversed graph.
        let mut backward: Vec<Vec<usize>> = blocks.iter().map(|block| block.predecessors.clone()).collect();
        backward.push((0..count).filter(|at| forward.get(*at).is_none_or(Vec::is_empty)).collect());
        let postdominators = Tree::new(&backward, count);
        let (loops, irreducible) = loops(&blocks, &dominators);
        Self { function, blocks, loops, irreducible, phis, dominators, postdominators }
    }

    /// The instructions of all blocks behind their labels, each with the index of its block.
    pub fn code<'a>(
        &'a self,
        definitions: &'a Definitions<'m>,
    ) -> impl Iterator<Item = (usize, Instruction<'m>)> + use<'a, 'm> {
        let blocks = self.blocks.iter().enumerate();
        blocks.flat_map(|(at, block)| definitions.block(block.label).map(move |i| (at, i)))
    }

    /// The instructions of a loop's blocks behind their labels.
    pub fn loop_code<'a>(
        &'a self,
        definitions: &'a Definitions<'m>,
        of: &'a Loop,
    ) -> impl Iterator<Item = Instruction<'m>> + use<'a, 'm> {
        let blocks = of.blocks.iter().filter_map(|at| self.blocks.get(*at));
        blocks.flat_map(|block| definitions.block(block.label))
    }

    /// Whether each block stands behind the one that dominates it.
    pub fn is_sorted(&self) -> bool {
        (1..self.blocks.len()).all(|at| !self.dominators.is_reached(at) || self.dominators.parent(at) < at)
    }

    /// The blocks in an order in which each stands behind the one that dominates it; what is not
    /// reached comes last.
    pub fn reverse_postorder(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        order.sort_by_key(|at| self.dominators.position(*at));
        order
    }

    /// Whether all ways from the entry to `b` lead through `a`.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        self.dominators.is_ancestor(a, b)
    }

    /// The last block before a block that all ways from the entry lead through.
    pub fn dominator(&self, block: usize) -> Option<usize> {
        self.dominators.above(block)
    }

    /// The last block that all ways from the entry to two blocks lead through. It may be one of them.
    pub fn common_dominator(&self, a: usize, b: usize) -> Option<usize> {
        let are_reached = self.dominators.is_reached(a) && self.dominators.is_reached(b);
        self.dominators.common(a, b).filter(|_| are_reached)
    }

    /// Blocks that may lead past a block, from the inside.
    pub fn conditions_above(&self, mut block: usize) -> Vec<usize> {
        let mut conditions = Vec::new();
        while let Some(before) = self.dominator(block) {
            if !self.postdominates(block, before) {
                conditions.push(before);
            }
            block = before;
        }
        conditions
    }

    /// Whether a block may leave a loop around it.
    pub fn ends_loop(&self, block: usize) -> bool {
        self.loops_around(block).any(|of| self.exiting(of).contains(&block))
    }

    /// Where all ways behind a branch meet, if that is in the same loop and no loop begins there.
    pub fn join(&self, branch: usize) -> Option<usize> {
        let around = |at: usize| self.loops_around(at).map(|of| of.header).next();
        let join = self.postdominators.parent(branch);
        let is_block = join < self.blocks.len() && join != branch;
        (is_block && around(join) == around(branch)).then_some(join)
    }

    /// The block that a conditional branch leads to on all paths to a block. `None` if other blocks lead
    /// there, too, and for a switch.
    pub fn branch_to(&self, branch: usize, block: usize) -> Option<usize> {
        let branching = self.blocks.get(branch)?;
        branching.terminator.filter(|terminator| terminator.is(Op::BranchConditional))?;
        self.branches(branch).find(|to| self.dominates(*to, block))
    }

    /// The index of the block with a label.
    pub fn find(&self, label: u32) -> Option<usize> {
        self.blocks.iter().position(|block| block.label == label)
    }

    /// The blocks that only this branch leads to.
    pub fn branches(&self, branch: usize) -> impl Iterator<Item = usize> {
        let to = self.blocks.get(branch).into_iter().flat_map(|block| &block.successors).copied();
        to.filter(move |to| self.predecessor(*to) == Some(branch))
    }

    /// Whether the ways behind a branch meet only where all of them do.
    pub fn is_nested(&self, branch: usize) -> bool {
        let is_only_way = |to: usize| match self.loops.iter().find(|of| of.header == to) {
            Some(of) => self.preheader(of) == Some(branch),
            None => self.predecessor(to) == Some(branch),
        };
        let mut behind = (0..self.blocks.len()).filter(|at| self.dominator(*at) == Some(branch));
        behind.all(|at| is_only_way(at) || self.postdominates(at, branch))
    }

    /// Whether all ways from `b` to the end lead through `a`.
    pub fn postdominates(&self, a: usize, b: usize) -> bool {
        self.postdominators.is_ancestor(a, b)
    }

    /// The loops around a block, from the inside.
    pub fn loops_around(&self, block: usize) -> impl Iterator<Item = &Loop> {
        self.loops.iter().filter(move |l| l.blocks.contains(&block))
    }

    /// The blocks of a loop that can leave it.
    pub fn exiting(&self, of: &Loop) -> Vec<usize> {
        let leaves = |at: &&usize| {
            self.blocks.get(**at).is_some_and(|b| b.successors.iter().any(|to| !of.blocks.contains(to)))
        };
        of.blocks.iter().filter(leaves).copied().collect()
    }

    /// The one block from which a loop is entered.
    pub fn preheader(&self, of: &Loop) -> Option<usize> {
        let header = self.blocks.get(of.header)?;
        let mut outside = header.predecessors.iter().filter(|at| !of.blocks.contains(at));
        let first = outside.next().copied()?;
        outside.all(|at| *at == first).then_some(first)
    }

    /// The one block before a block.
    pub fn predecessor(&self, block: usize) -> Option<usize> {
        let all = &self.blocks.get(block)?.predecessors;
        let first = all.first().copied()?;
        all.iter().all(|at| *at == first).then_some(first)
    }
}

/// The labels that a terminator leads to, each as often as it names it; the default of a switch first.
pub fn targets(definitions: &Definitions<'_>, terminator: &Instruction<'_>) -> Vec<u32> {
    match (terminator.op(), terminator.operands()) {
        (Some(Op::Branch), &[to, ..]) => vec![to],
        (Some(Op::BranchConditional), &[_, yes, no, ..]) => vec![yes, no],
        (Some(Op::Switch), &[selector, default, ref cases @ ..]) => {
            let case = definitions.literal_words(selector) + 1;
            std::iter::once(default)
                .chain(cases.chunks(case).filter_map(|case| case.last()).copied())
                .collect()
        }
        _ => Vec::new(),
    }
}

fn loops(blocks: &[Block<'_>], dominators: &Tree) -> (Vec<Loop>, bool) {
    let mut tails: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut irreducible = false;
    for (from, block) in blocks.iter().enumerate() {
        for &to in &block.successors {
            if dominators.is_ancestor(to, from) {
                tails.entry(to).or_default().push(from);
            } else if dominators.position(to) <= dominators.position(from) && dominators.is_reached(from) {
                irreducible = true;
            }
        }
    }
    let mut loops: Vec<Loop> = tails
        .into_iter()
        .map(|(header, latches)| {
            let mut inside = BTreeSet::from([header]);
            let mut open = latches.clone();
            while let Some(at) = open.pop() {
                if inside.insert(at) {
                    open.extend(blocks.get(at).into_iter().flat_map(|b| &b.predecessors));
                }
            }
            Loop { header, blocks: inside, latches }
        })
        .collect();
    loops.sort_by_key(|l| l.blocks.len());
    (loops, irreducible)
}
