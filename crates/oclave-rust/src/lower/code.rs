//! The blocks of a function while it is lowered.

use std::collections::BTreeMap;

use oclave_spirv::{Code, Op, is_group_reduction, is_pure};

use super::barriers::reachable_from;
use super::builder::{TypeId, ValueId};
use super::library;

/// An instruction. Its operands are those of the specification, without result type and result.
#[derive(Debug, Clone)]
pub(super) struct Inst {
    pub(super) op: Op,
    pub(super) result: Option<(TypeId, ValueId)>,
    pub(super) operands: Vec<u32>,
}

/// A block of SPIR-V.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) label: ValueId,
    pub(super) phis: Vec<Inst>,
    pub(super) code: Vec<Inst>,
    pub(super) end: Option<Inst>,
}

impl Block {
    pub(super) fn new(label: ValueId) -> Self {
        Self { label, phis: Vec::new(), code: Vec::new(), end: None }
    }
}

/// The places of operands that are ids.
pub(super) fn ids(op: Op, count: usize) -> Vec<usize> {
    match op {
        Op::Load | Op::CompositeExtract | Op::Line => vec![0],
        Op::ImageSampleExplicitLod => [0, 1].into_iter().chain(3..count).collect(),
        Op::Store | Op::CompositeInsert => vec![0, 1],
        Op::CopyMemorySized => vec![0, 1, 2],
        Op::ExtInst => std::iter::once(0).chain(2..count).collect(),
        Op::Switch => [0, 1].into_iter().chain((3..count).step_by(2)).collect(),
        // The second says which part a reduction combines.
        _ if is_group_reduction(op) => vec![0, 2],
        Op::Variable => Vec::new(),
        _ => (0..count).collect(),
    }
}

/// The labels that a block may go to.
pub(super) fn targets(block: &Block) -> Vec<u32> {
    let Some(end) = &block.end else { return Vec::new() };
    let words = end.operands.iter().copied();
    match end.op {
        Op::Branch => words.collect(),
        Op::BranchConditional => words.skip(1).take(2).collect(),
        Op::Switch => words.skip(1).step_by(2).collect(),
        _ => Vec::new(),
    }
}

/// Lets a block go to another label.
pub(super) fn redirect(block: &mut Block, old: u32, new: u32) {
    let Some(end) = &mut block.end else { return };
    let (first, step) = match end.op {
        Op::Branch => (0, 1),
        Op::BranchConditional => (1, 1),
        Op::Switch => (1, 2),
        _ => return,
    };
    for target in end.operands.iter_mut().skip(first).step_by(step).filter(|target| **target == old) {
        *target = new;
    }
}

/// The places of blocks by their labels, and where each block may go to.
pub(super) fn edges(blocks: &[Block]) -> (BTreeMap<u32, usize>, Vec<Vec<usize>>) {
    let index: BTreeMap<u32, usize> =
        blocks.iter().enumerate().map(|(at, block)| (block.label.word(), at)).collect();
    let to = |block: &Block| targets(block).iter().filter_map(|label| index.get(label).copied()).collect();
    let edges = blocks.iter().map(to).collect();
    (index, edges)
}

/// The blocks that the first one reaches.
pub(super) fn without_unreached(mut blocks: Vec<Block>) -> Vec<Block> {
    let (index, after) = edges(&blocks);
    let reached = reachable_from(&after, 0);
    for (at, block) in blocks.iter_mut().enumerate() {
        let is_edge = |from: &u32| {
            let from = index.get(from).filter(|from| reached.contains(from));
            from.and_then(|from| after.get(*from)).is_some_and(|after| after.contains(&at))
        };
        for phi in &mut block.phis {
            let pairs = phi.operands.chunks_exact(2).filter(|pair| pair.get(1).is_some_and(is_edge));
            phi.operands = pairs.flatten().copied().collect();
        }
    }
    let mut at = 0..;
    blocks.retain(|_| at.next().is_some_and(|at| reached.contains(&at)));
    blocks
}

/// One block of each and the next, where nothing else leads to the next.
pub(super) fn merged(blocks: Vec<Block>) -> Vec<Block> {
    let mut before: BTreeMap<u32, u32> = BTreeMap::new();
    for label in blocks.iter().flat_map(targets) {
        *before.entry(label).or_default() += 1;
    }
    // Label → that of the block which it is part of.
    let mut part_of: BTreeMap<u32, u32> = BTreeMap::new();
    let mut new: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let label = block.label.word();
        let is_next = |last: &&mut Block| {
            let branch = last.end.as_ref().filter(|end| end.op == Op::Branch);
            branch.is_some_and(|branch| branch.operands.first() == Some(&label))
        };
        let is_only = block.phis.is_empty() && before.get(&label) == Some(&1);
        match new.last_mut().filter(|_| is_only).filter(is_next) {
            Some(last) => {
                part_of.insert(label, last.label.word());
                last.code.extend(block.code);
                last.end = block.end;
            }
            None => new.push(block),
        }
    }
    rename_with(&mut new, |id| part_of.get(&id).copied());
    new
}

/// An instruction without a result.
pub(super) fn effect(op: Op, operands: &[u32]) -> Inst {
    Inst { op, result: None, operands: operands.to_vec() }
}

/// Replaces ids that operands use, labels included, by others.
pub(super) fn rename(blocks: &mut [Block], of: &BTreeMap<u32, ValueId>) {
    rename_with(blocks, |id| of.get(&id).map(|id| id.word()));
}

/// As [`rename`], by a function. What it gives nothing for stays.
pub(super) fn rename_with(blocks: &mut [Block], of: impl Fn(u32) -> Option<u32>) {
    for block in blocks {
        for inst in block.phis.iter_mut().chain(&mut block.code).chain(&mut block.end) {
            for place in ids(inst.op, inst.operands.len()) {
                if let Some(word) = inst.operands.get_mut(place) {
                    *word = of(*word).unwrap_or(*word);
                }
            }
        }
    }
}

/// Whether an instruction may go if nobody uses its result.
fn may_go(inst: &Inst) -> bool {
    is_pure(inst.op)
        || matches!(
            inst.op,
            Op::PtrAccessChain
                | Op::InBoundsPtrAccessChain
                | Op::Bitcast
                | Op::ConvertUToPtr
                | Op::ConvertPtrToU
                | Op::PtrCastToGeneric
                | Op::GenericCastToPtr
                | Op::CompositeExtract
                | Op::Phi
                | Op::Select
                | Op::Load
        )
}

/// Whether an instruction does nothing but give its result.
pub(super) fn has_no_effect(inst: &Inst) -> bool {
    match inst.op {
        Op::Line => true,
        Op::ExtInst => inst.operands.get(1).is_some_and(|number| library::calculates(*number)),
        _ => may_go(inst),
    }
}

/// Leaves out instructions whose results nobody uses.
pub(super) fn leave_out_unused(blocks: &mut [Block]) {
    let used = used(blocks);
    let is_used = |inst: &Inst| match inst.result {
        Some((_, id)) => !may_go(inst) || used.get(&id.word()).is_some_and(|count| *count > 0),
        None => true,
    };
    for block in blocks {
        block.phis.retain(is_used);
        block.code.retain(is_used);
    }
}

/// The words of blocks, the variables of the function in the first.
pub(super) fn assemble(variables: &[Inst], blocks: &[Block]) -> Code {
    let mut code = Code::new();
    for (index, block) in blocks.iter().enumerate() {
        code.push(Op::Label, &[block.label.word()]);
        if index == 0 {
            variables.iter().for_each(|inst| write(&mut code, inst));
        }
        let insts = block.phis.iter().chain(&block.code).chain(&block.end);
        insts.for_each(|inst| write(&mut code, inst));
    }
    code
}

/// How often ids are used by what stays. A literal that looks like an id counts as a use of it.
fn used(blocks: &[Block]) -> BTreeMap<u32, u32> {
    let mut used: BTreeMap<u32, u32> = BTreeMap::new();
    let mut removable: BTreeMap<u32, &Inst> = BTreeMap::new();
    let all = || blocks.iter().flat_map(|block| block.phis.iter().chain(&block.code).chain(&block.end));
    for inst in all() {
        for &operand in &inst.operands {
            *used.entry(operand).or_default() += 1;
        }
        if let Some((_, id)) = inst.result
            && may_go(inst)
        {
            removable.insert(id.word(), inst);
        }
    }
    let is_unused = |used: &BTreeMap<u32, u32>, id: &u32| used.get(id).is_none_or(|count| *count == 0);
    let mut pending: Vec<u32> = removable.keys().copied().filter(|id| is_unused(&used, id)).collect();
    while let Some(id) = pending.pop() {
        let Some(inst) = removable.remove(&id) else { continue };
        for operand in &inst.operands {
            if let Some(count) = used.get_mut(operand) {
                *count = count.saturating_sub(1);
            }
            if is_unused(&used, operand) && removable.contains_key(operand) {
                pending.push(*operand);
            }
        }
    }
    used
}

/// Writes the words of an instruction.
pub(super) fn write(code: &mut Code, inst: &Inst) {
    let mut operands = Vec::with_capacity(inst.operands.len() + 2);
    operands.extend(inst.result.iter().flat_map(|(ty, id)| [ty.word(), id.word()]));
    operands.extend_from_slice(&inst.operands);
    code.push(inst.op, &operands);
}
