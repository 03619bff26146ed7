//! Addresses near their uses, in kernels with barriers.
//!
//! rustc calculates addresses before loops. Compilers for CPUs keep each of them in memory for every work-item while it
//! waits at a barrier. So blocks calculate the addresses that they use once more, from less values.

use std::collections::BTreeMap;

use oclave_spirv::{Op, ValueId};

use super::code::{Block, Inst, ids};
use super::function::Lower;

/// How far back an address is followed.
const DEPTH: u32 = 8;

impl Lower<'_, '_> {
    /// Lets each block calculate its addresses itself.
    pub(super) fn with_own_addresses(&mut self, mut blocks: Vec<Block>) -> Vec<Block> {
        let mut defined: BTreeMap<u32, (usize, Inst)> = BTreeMap::new();
        for (at, block) in blocks.iter().enumerate() {
            for inst in &block.code {
                defined.extend(inst.result.map(|(_, id)| (id.word(), (at, inst.clone()))));
            }
        }
        for (at, block) in blocks.iter_mut().enumerate() {
            let mut copies = Copies { defined: &defined, block: at, new: BTreeMap::new(), code: Vec::new() };
            let Block { code, end, .. } = block;
            for inst in code.iter_mut().chain(end) {
                for place in ids(inst.op, inst.operands.len()) {
                    if let Some(word) = inst.operands.get_mut(place) {
                        *word = self.copy_of(&mut copies, *word, DEPTH).unwrap_or(*word);
                    }
                }
            }
            let copied = copies.code;
            block.code.splice(0..0, copied);
        }
        blocks
    }

    /// The copy of a value that another block calculates, if it is an address or what one is made of.
    fn copy_of(&mut self, copies: &mut Copies<'_>, id: u32, depth: u32) -> Option<u32> {
        if let Some(known) = copies.new.get(&id) {
            return Some(*known);
        }
        let (block, inst) = copies.defined.get(&id)?;
        if *block == copies.block || depth == 0 || !self.is_address(copies, inst) {
            return None;
        }
        let (mut inst, (ty, old)) = (inst.clone(), inst.result?);
        for place in ids(inst.op, inst.operands.len()) {
            let word = inst.operands.get_mut(place)?;
            *word = self.copy_of(copies, *word, depth - 1).unwrap_or(*word);
        }
        let new: ValueId = self.output.builder.value_like(old);
        inst.result = Some((ty, new));
        copies.code.push(inst);
        copies.new.insert(id, new.word());
        Some(new.word())
    }

    /// Whether an instruction gives an address, or an id of the work-item.
    fn is_address(&self, copies: &Copies<'_>, inst: &Inst) -> bool {
        let first = inst.operands.first().copied();
        let is_built_in = |variable: Option<u32>| {
            variable.is_some_and(|variable| self.output.builder.built_in_of(variable).is_some())
        };
        match inst.op {
            Op::InBoundsPtrAccessChain | Op::PtrAccessChain | Op::Bitcast => true,
            Op::Load => is_built_in(first),
            Op::CompositeExtract => {
                first.and_then(|vector| copies.defined.get(&vector)).is_some_and(|(_, vector)| {
                    vector.op == Op::Load && is_built_in(vector.operands.first().copied())
                })
            }
            _ => false,
        }
    }
}

/// What one block calculates again.
struct Copies<'d> {
    defined: &'d BTreeMap<u32, (usize, Inst)>,
    block: usize,
    new: BTreeMap<u32, u32>,
    code: Vec<Inst>,
}
