//! Elements of private arrays that a loop overwrites before anything reads them.
//!
//! Safe Rust fills an array before a loop calculates one element after the other: `let mut w = [0; 64]; for t in 16..64 { w[t] = w[t - 2] ^
//! w[t - 16]; }`. LLVM keeps these stores. A kernel in C has none, as its arrays begin with anything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use oclave_spirv::{Op, VOLATILE};

use super::builder::Builder;
use super::code::{Block, Inst, edges, ids, targets};
use super::unrolled::only;

/// An index: a value, or nothing, and a constant that is added to it.
type Index = (Option<u32>, u64);

/// Leaves out such stores, and says whether there were any.
pub(super) fn leave_out_overwritten(builder: &Builder<'_>, variables: &[Inst], blocks: &mut [Block]) -> bool {
    let arrays = Arrays::new(builder, variables, blocks);
    if arrays.elements.is_empty() {
        return false;
    }
    let found = arrays.overwritten(blocks);
    // The last ones first, so that the places of others stay.
    for (block, place) in found.iter().rev() {
        if let Some(block) = blocks.get_mut(*block) {
            block.code.remove(*place);
        }
    }
    !found.is_empty()
}

/// The private arrays of which only elements are used, by loads and stores.
struct Arrays<'b> {
    builder: &'b Builder<'b>,
    /// Sum → its parts.
    sums: BTreeMap<u32, [u32; 2]>,
    /// Address → its array and index.
    elements: BTreeMap<u32, (u32, Index)>,
}

impl<'b> Arrays<'b> {
    fn new(builder: &'b Builder<'b>, variables: &[Inst], blocks: &[Block]) -> Self {
        let code = || blocks.iter().flat_map(|block| &block.code);
        let sum = |inst: &Inst| match (inst.op, inst.operands.as_slice(), inst.result) {
            (Op::IAdd, &[a, b], Some((_, id))) => Some((id.word(), [a, b])),
            _ => None,
        };
        let mut arrays = Self { builder, sums: code().filter_map(sum).collect(), elements: BTreeMap::new() };
        let mut known: BTreeSet<u32> =
            variables.iter().filter_map(|inst| inst.result).map(|(_, id)| id.word()).collect();
        for inst in code() {
            if let (Op::PtrAccessChain | Op::InBoundsPtrAccessChain, &[array, first, index], Some((_, id))) =
                (inst.op, inst.operands.as_slice(), inst.result)
                && builder.integer(first) == Some(0)
                && known.contains(&array)
            {
                arrays.elements.insert(id.word(), (array, arrays.index(index)));
            }
        }
        let all = blocks.iter().flat_map(|block| block.phis.iter().chain(&block.code).chain(&block.end));
        for inst in all {
            let access = inst.operands.get(match inst.op {
                Op::Load => 1,
                _ => 2,
            });
            let is_access = matches!(inst.op, Op::Load | Op::Store)
                && access.is_none_or(|operand| operand & VOLATILE == 0);
            let is_step = inst.result.is_some_and(|(_, id)| arrays.elements.contains_key(&id.word()));
            for place in ids(inst.op, inst.operands.len()) {
                let Some(id) = inst.operands.get(place) else { continue };
                if !(is_step && place == 0) {
                    known.remove(id);
                }
                if let Some((array, _)) = arrays.elements.get(id).filter(|_| !(is_access && place == 0)) {
                    known.remove(array);
                }
            }
        }
        arrays.elements.retain(|_, (array, _)| known.contains(array));
        arrays
    }

    fn index(&self, id: u32) -> Index {
        if let Some(number) = self.builder.integer(id) {
            return (None, number);
        }
        let Some(&[a, b]) = self.sums.get(&id) else { return (Some(id), 0) };
        match (self.builder.integer(a), self.builder.integer(b)) {
            (Some(a), Some(b)) => (None, a.wrapping_add(b)),
            (Some(number), None) => (Some(b), number),
            (None, Some(number)) => (Some(a), number),
            (None, None) => (Some(id), 0),
        }
    }

    /// The stores that nobody sees, by their blocks and places there.
    fn overwritten(&self, blocks: &[Block]) -> BTreeSet<(usize, usize)> {
        let (_, after) = edges(blocks);
        let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); blocks.len()];
        for (from, to) in after.iter().enumerate() {
            for to in to {
                before.get_mut(*to).into_iter().for_each(|all| _ = all.insert(from));
            }
        }
        let mut found = BTreeSet::new();
        for (at, block) in blocks.iter().enumerate() {
            let Some((counter, range)) = self.counted(block) else { continue };
            let mut arrays = self.filled(block, counter, &range);
            let mut last = at;
            // Backwards, as long as each block leads to the next one alone.
            while !arrays.is_empty()
                && let Some(from) =
                    only(before.get(last).into_iter().flatten().copied().filter(|from| *from != at))
                && let Some(block) = blocks.get(from).filter(|block| targets(block).len() == 1)
            {
                for (place, inst) in block.code.iter().enumerate().rev() {
                    let Some((array, index)) = self.access(inst) else { continue };
                    let is_meant = index.0.is_none() && range.contains(&index.1);
                    match inst.op {
                        Op::Store if is_meant && arrays.contains(&array) => _ = found.insert((from, place)),
                        Op::Store => {}
                        _ if index.0.is_none() && !is_meant => {}
                        _ => _ = arrays.remove(&array),
                    }
                }
                last = from;
            }
        }
        found
    }

    /// The array and the index that an instruction loads from or stores to.
    fn access(&self, inst: &Inst) -> Option<(u32, Index)> {
        let address = inst.operands.first().filter(|_| matches!(inst.op, Op::Load | Op::Store))?;
        self.elements.get(address).copied()
    }

    /// The counter of a loop of one block, and its values, if these grow by one and are known.
    fn counted(&self, block: &Block) -> Option<(u32, Range<u64>)> {
        let own = block.label.word();
        let end = block.end.as_ref().filter(|end| end.op == Op::BranchConditional)?;
        let &[condition, yes, no, ..] = end.operands.as_slice() else { return None };
        if (yes == own) == (no == own) {
            return None;
        }
        let compared =
            block.code.iter().find(|inst| inst.result.is_some_and(|(_, id)| id.word() == condition))?;
        let &[next, bound] = compared.operands.as_slice() else { return None };
        let is_bound = match compared.op {
            Op::IEqual => no == own,
            Op::INotEqual | Op::ULessThan => yes == own,
            _ => false,
        };
        let (counter, 1) = self.index(next) else { return None };
        let (counter, bound) = (counter?, self.builder.integer(bound).filter(|_| is_bound)?);
        let phi = block.phis.iter().find(|phi| phi.result.is_some_and(|(_, id)| id.word() == counter))?;
        let start = match *phi.operands.as_slice() {
            [start, _, back, from] | [back, from, start, _] if from == own && back == next => start,
            _ => return None,
        };
        let start = self.builder.integer(start)?;
        (start < bound).then_some((counter, start..bound))
    }

    /// The arrays whose elements a loop stores one after the other, and of which it loads only earlier ones.
    fn filled(&self, block: &Block, counter: u32, range: &Range<u64>) -> BTreeSet<u32> {
        let (mut filled, mut others) = (BTreeSet::new(), BTreeSet::new());
        for inst in &block.code {
            let Some((array, (base, constant))) = self.access(inst) else { continue };
            match (inst.op, base) {
                (Op::Store, Some(base)) if base == counter && constant == 0 => _ = filled.insert(array),
                (Op::Load, Some(base)) if base == counter && is_behind(constant, range) => {}
                (Op::Load, None) if !range.contains(&constant) => {}
                _ => _ = others.insert(array),
            }
        }
        &filled - &others
    }
}

/// Whether a constant takes something from a counter, and leads to no index below 0.
fn is_behind(constant: u64, range: &Range<u64>) -> bool {
    (1..=range.start).contains(&constant.wrapping_neg())
}
