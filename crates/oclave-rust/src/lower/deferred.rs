//! Checks that loops make up for at their ends.
//!
//! Where an index comes from memory, nothing tells at the begin of a kernel that its check passes. But compilers for CPUs calculate
//! several work-items at once far more slowly if some may leave a loop in its middle. So a loop without effects goes on with index 0
//! after a check has failed. Behind the loop, such a work-item begins again, in the version with all checks.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::analysis::control_flow::Tree;
use oclave_spirv::{Op, StorageClass};

use super::barriers::{Loop, loops, reachable_from};
use super::builder::{TypeId, ValueId};
use super::code::{Block, Inst, edges, effect, has_no_effect, ids, redirect, rename_with, targets};
use super::function::Lower;
use super::ranges::AtMost;

/// A check that is not known to pass.
#[derive(Debug)]
pub(super) struct Check {
    /// The label of its block.
    pub(super) block: u32,
    /// Whether it passes where its condition is true.
    pub(super) is_yes: bool,
    /// When its slice has an element.
    pub(super) not_empty: Option<Vec<AtMost>>,
}

/// The index and the length of a check of bounds.
pub(super) fn compared(condition: &Inst, is_yes: bool) -> Option<(u32, u32)> {
    let [a, b] = *condition.operands.as_slice() else { return None };
    match (condition.op, is_yes) {
        (Op::ULessThan, true) | (Op::UGreaterThanEqual, false) => Some((a, b)),
        (Op::UGreaterThan, true) | (Op::ULessThanEqual, false) => Some((b, a)),
        _ => None,
    }
}

/// Where a check is.
#[derive(Debug)]
pub(super) enum Place {
    OutsideLoops,
    /// In a loop that can make up for it.
    Deferrable(Deferral),
    /// In another loop.
    Neither,
}

/// How a loop makes up for a check.
#[derive(Debug)]
pub(super) struct Deferral {
    header: usize,
    /// The labels from which the loop is reached, and from which it is repeated.
    entries: Vec<u32>,
    latch: u32,
    check: usize,
    is_yes: bool,
    condition: u32,
    index: u32,
    /// The first block after the check has passed.
    pass: usize,
    /// Blocks of the loop that are only reached then, `pass` too.
    passed: BTreeSet<usize>,
    /// The edge by which the loop ends if no check fails.
    exit: (usize, usize),
}

/// Whether nothing has an effect before a check that goes on to a label if it fails.
pub(super) fn can_begin_again(blocks: &[Block], label: ValueId) -> bool {
    let (_, edges) = edges(blocks);
    let is_check = |at: usize| blocks.get(at).is_some_and(|block| targets(block).contains(&label.word()));
    let is_before = |at: usize| reachable_from(&edges, at).into_iter().any(is_check);
    blocks.iter().enumerate().all(|(at, block)| block.code.iter().all(has_no_effect) || !is_before(at))
}

/// Where a check is in blocks. If it fails, it goes on to a label outside of them. A loop makes up for it if the index is one of
/// `opaque`, of whose values compilers know nothing but what checks tell.
pub(super) fn place(blocks: &[Block], check: &Check, opaque: &BTreeSet<u32>, bool: TypeId) -> Place {
    let (index, edges) = edges(blocks);
    let Some(&at) = index.get(&check.block) else { return Place::OutsideLoops };
    let all = loops(&edges);
    let around = all.iter().filter(|(_, body)| body.contains(&at)).min_by_key(|(_, body)| body.len());
    let Some(around) = around else { return Place::OutsideLoops };
    let is_innermost = all.iter().all(|(header, _)| *header == around.0 || !around.1.contains(header));
    let function = Shape { blocks, index, edges, opaque, bool };
    let deferral = is_innermost.then(|| function.deferral(at, check.is_yes, around));
    deferral.flatten().map_or(Place::Neither, Place::Deferrable)
}

/// A function.
struct Shape<'b> {
    blocks: &'b [Block],
    index: BTreeMap<u32, usize>,
    edges: Vec<Vec<usize>>,
    opaque: &'b BTreeSet<u32>,
    bool: TypeId,
}

impl Shape<'_> {
    fn deferral(&self, at: usize, is_yes: bool, (header, body): &Loop) -> Option<Deferral> {
        let header = *header;
        let tree = Tree::new(&self.edges, 0);
        let end = self.blocks.get(at)?.end.as_ref()?;
        let (Op::BranchConditional, [condition, yes, no, ..]) = (end.op, end.operands.as_slice()) else {
            return None;
        };
        let (condition, pass) = (*condition, *self.index.get(if is_yes { yes } else { no })?);
        let is_joined = !self.blocks.get(pass)?.phis.is_empty() || self.before(pass) != [at];
        if is_joined || !body.contains(&pass) {
            return None;
        }
        let passed: BTreeSet<usize> =
            body.iter().copied().filter(|block| tree.is_ancestor(pass, *block)).collect();
        let entries = self.before(header);
        let mut latches = entries.iter().filter(|from| body.contains(from));
        let (Some(latch), None) = (latches.next(), latches.next()) else { return None };
        let after = |from: usize| self.edges.get(from).into_iter().flatten().map(move |to| (from, *to));
        let mut exits = body.iter().flat_map(|from| after(*from)).filter(|(_, to)| !body.contains(to));
        let (Some(exit), None) = (exits.next(), exits.next()) else { return None };
        let is_seen = passed.contains(&exit.0) || exit.0 == header;
        let inside = || body.iter().filter_map(|at| Some((*at, self.blocks.get(*at)?)));
        let has_effects = inside().any(|(_, block)| !block.code.iter().all(has_no_effect));
        if !is_seen || !passed.contains(latch) || has_effects {
            return None;
        }
        let mut defined: BTreeMap<u32, &Inst> = BTreeMap::new();
        for inst in inside().flat_map(|(_, block)| block.phis.iter().chain(&block.code)) {
            defined.extend(inst.result.map(|(_, id)| (id.word(), inst)));
        }
        let (index, _) = compared(defined.get(&condition)?, is_yes)?;
        let sources = self.sources(&defined, index, header)?;
        if self.may_rely_on_check(body, sources, index) {
            return None;
        }
        // The loop ends as soon as it did.
        let is_counted = |id: u32| !is_loaded(&defined, id);
        let last = self.blocks.get(exit.0)?.end.as_ref()?;
        let ends_by_count =
            last.op == Op::BranchConditional && last.operands.first().copied().is_some_and(is_counted);
        if !ends_by_count {
            return None;
        }
        let latch = self.blocks.get(*latch)?.label.word();
        let unchecked = self.made_before(body, &passed, index, latch);
        let uses = |at: usize| {
            self.blocks
                .get(at)
                .into_iter()
                .flat_map(|block| block.phis.iter().chain(&block.code).chain(&block.end))
        };
        let is_used_again =
            passed.iter().flat_map(|at| uses(*at)).flat_map(used).any(|id| unchecked.contains(&id));
        let is_kept = self.blocks.get(header)?.phis.iter().flat_map(used).any(|id| unchecked.contains(&id));
        if is_used_again || is_kept {
            return None;
        }
        let entries = entries.iter().filter_map(|at| Some(self.blocks.get(*at)?.label.word())).collect();
        Some(Deferral { header, entries, latch, check: at, is_yes, condition, index, pass, passed, exit })
    }

    /// The values that an index is converted from. `None` if it is calculated. Compilers may know the least value of such an
    /// index, and leave out other checks because of that.
    fn sources(&self, defined: &BTreeMap<u32, &Inst>, index: u32, header: usize) -> Option<BTreeSet<u32>> {
        let kept = &self.blocks.get(header)?.phis;
        let (mut next, mut seen) = (Some(index), BTreeSet::new());
        while let Some(id) = next {
            let inst = defined.get(&id).filter(|_| seen.insert(id))?;
            next = match inst.op {
                _ if self.opaque.contains(&id) => None,
                Op::UConvert | Op::SConvert => inst.operands.first().copied(),
                Op::Phi if kept.iter().any(|phi| phi.result == inst.result) => {
                    let mut values = inst.operands.chunks_exact(2).filter_map(|pair| pair.first().copied());
                    Some(values.find(|value| defined.contains_key(value))?)
                }
                _ => return None,
            };
        }
        seen.remove(&index);
        Some(seen)
    }

    /// Whether a loop may read or decide by what its index is converted from. Compilers know from the check what this is at most,
    /// and may have left out checks of their own. In the place of the index itself, there is one that is within the slice.
    fn may_rely_on_check(&self, body: &BTreeSet<usize>, mut sources: BTreeSet<u32>, index: u32) -> bool {
        let blocks = || body.iter().filter_map(|at| self.blocks.get(*at));
        loop {
            let count = sources.len();
            for inst in blocks().flat_map(|block| block.phis.iter().chain(&block.code).chain(&block.end)) {
                if !used(inst).any(|id| sources.contains(&id)) {
                    continue;
                }
                match inst.result {
                    Some((_, id)) if id.word() == index => {}
                    Some((ty, _)) if ty == self.bool || inst.op == Op::Load => return true,
                    Some((_, id)) => {
                        sources.insert(id.word());
                    }
                    None => return true,
                }
            }
            if sources.len() == count {
                return false;
            }
        }
    }

    /// The blocks before a block.
    fn before(&self, to: usize) -> Vec<usize> {
        self.edges.iter().enumerate().filter(|(_, after)| after.contains(&to)).map(|(at, _)| at).collect()
    }

    /// What the loop makes of an index before its check, the condition included.
    fn made_before(
        &self,
        body: &BTreeSet<usize>,
        passed: &BTreeSet<usize>,
        index: u32,
        latch: u32,
    ) -> BTreeSet<u32> {
        let mut made = BTreeSet::new();
        loop {
            let count = made.len();
            for block in body.difference(passed).filter_map(|at| self.blocks.get(*at)) {
                for inst in block.phis.iter().chain(&block.code) {
                    // What a repetition gets has passed the check.
                    let is_checked = |id: u32| {
                        let mut pairs =
                            inst.operands.chunks_exact(2).filter(|pair| pair.first() == Some(&id));
                        inst.op == Op::Phi && pairs.all(|pair| pair.get(1) == Some(&latch))
                    };
                    if used(inst).any(|id| (id == index && !is_checked(id)) || made.contains(&id)) {
                        made.extend(inst.result.map(|(_, id)| id.word()));
                    }
                }
            }
            if made.len() == count {
                return made;
            }
        }
    }
}

fn used(inst: &Inst) -> impl Iterator<Item = u32> + '_ {
    ids(inst.op, inst.operands.len()).into_iter().filter_map(|place| inst.operands.get(place).copied())
}

/// Whether a value of a loop is calculated from what the loop loads.
fn is_loaded(defined: &BTreeMap<u32, &Inst>, id: u32) -> bool {
    let (mut open, mut seen) = (vec![id], BTreeSet::new());
    while let Some(id) = open.pop() {
        let Some(inst) = defined.get(&id).filter(|_| seen.insert(id)) else { continue };
        if inst.op == Op::Load {
            return true;
        }
        open.extend(used(inst));
    }
    false
}

impl Lower<'_, '_> {
    /// The values that are loaded from memory of the host. No type tells what is in there.
    pub(super) fn loaded_from_host(&mut self, blocks: &[Block]) -> BTreeSet<u32> {
        let code = || blocks.iter().flat_map(|block| &block.code);
        let types: BTreeMap<u32, TypeId> =
            code().filter_map(|inst| inst.result).map(|(ty, id)| (id.word(), ty)).collect();
        let mut found = BTreeSet::new();
        for inst in code().filter(|inst| inst.op == Op::Load) {
            let Some((ty, id)) = inst.result else { continue };
            let of_host = self.output.builder.pointer_type(StorageClass::CrossWorkgroup, ty);
            if inst.operands.first().and_then(|pointer| types.get(pointer)) == Some(&of_host) {
                found.insert(id.word());
            }
        }
        found
    }

    /// Lets a loop make up for a check: behind its end, work-items whose check has failed go on to a label. Gives the index that
    /// the loop uses behind the check.
    pub(super) fn defer(
        &mut self,
        blocks: &mut Vec<Block>,
        deferral: &Deferral,
        again: ValueId,
    ) -> Option<u32> {
        let Deferral { condition, index, exit, .. } = *deferral;
        let label = |at: usize| blocks.get(at).map(|block| block.label);
        let (pass, last, after) = (label(deferral.pass)?, label(exit.0)?, label(exit.1)?);
        let mut insts = blocks.iter().flat_map(|block| block.phis.iter().chain(&block.code));
        let (index_type, _) = insts.find_map(|inst| inst.result.filter(|(_, id)| id.word() == index))?;
        let (bool, ulong) = (self.bool(), self.int(64));
        let [zero, one] = [0, 1].map(|value| self.number(64, value));
        let first_index = self.output.builder.null(index_type);
        let [checked, failed, failed_now, has_failed] = [(); 4].map(|()| self.output.builder.value());
        let inst =
            |op, ty, id, operands: &[u32]| Inst { op, result: Some((ty, id)), operands: operands.to_vec() };
        let select = |ty, id, passes: u32, fails: u32| {
            let [yes, no] = if deferral.is_yes { [passes, fails] } else { [fails, passes] };
            inst(Op::Select, ty, id, &[condition, yes, no])
        };
        // Intel's compiler is faster with a number than with a `bool`.
        let known = [
            select(index_type, checked, index, first_index.word()),
            select(ulong, failed_now, failed.word(), one.word()),
        ];
        for &at in &deferral.passed {
            rename_with(std::slice::from_mut(blocks.get_mut(at)?), |id| {
                (id == index).then_some(checked.word())
            });
        }
        let first = blocks.get_mut(deferral.header)?;
        for pair in first.phis.iter_mut().flat_map(|phi| phi.operands.chunks_exact_mut(2)) {
            if let [value, from] = pair
                && (*value, *from) == (index, deferral.latch)
            {
                *value = checked.word();
            }
        }
        let before = |from: &u32| if *from == deferral.latch { failed_now } else { zero };
        let operands: Vec<u32> =
            deferral.entries.iter().flat_map(|from| [before(from).word(), *from]).collect();
        first.phis.push(inst(Op::Phi, ulong, failed, &operands));
        blocks.get_mut(deferral.pass)?.code.splice(0..0, known);
        blocks.get_mut(deferral.check)?.end = Some(effect(Op::Branch, &[pass.word()]));

        let mut end = Block::new(self.output.builder.value());
        let at_end = if deferral.passed.contains(&exit.0) { failed_now } else { failed };
        end.code.push(inst(Op::INotEqual, bool, has_failed, &[at_end.word(), zero.word()]));
        end.end = Some(effect(Op::BranchConditional, &[has_failed.word(), again.word(), after.word()]));
        redirect(blocks.get_mut(exit.0)?, after.word(), end.label.word());
        for phi in &mut blocks.get_mut(exit.1)?.phis {
            let labels = phi.operands.iter_mut().skip(1).step_by(2);
            labels.filter(|from| **from == last.word()).for_each(|from| *from = end.label.word());
        }
        blocks.insert(exit.0 + 1, end);
        Some(checked.word())
    }
}
