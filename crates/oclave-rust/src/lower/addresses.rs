//! Addresses near their uses, in kernels with barriers.
//!
//! rustc calculates addresses before loops. Compilers for CPUs keep each of them in memory for every work-item while it
//! waits at a barrier. So blocks calculate the addresses that they use once more, from less values, and again after each barrier.

use std::collections::BTreeMap;

use oclave_spirv::Op;

use super::builder::ValueId;
use super::code::{Block, Inst, ids};
use super::function::Lower;

/// How far back an address is followed.
const DEPTH: u32 = 8;

impl Lower<'_, '_> {
    /// Lets blocks calculate their addresses themselves, again after each barrier.
    pub(super) fn with_own_addresses(&mut self, mut blocks: Vec<Block>) -> Vec<Block> {
        let mut defined: BTreeMap<u32, (usize, Inst)> = BTreeMap::new();
        let mut stretch = 0;
        for block in &blocks {
            for inst in &block.code {
                defined.extend(inst.result.map(|(_, id)| (id.word(), (stretch, inst.clone()))));
                stretch += usize::from(inst.op == Op::ControlBarrier);
            }
            stretch += 1;
        }
        let mut copies = Copies { defined: &defined, stretch: 0, new: BTreeMap::new(), code: Vec::new() };
        for block in &mut blocks {
            for mut inst in std::mem::take(&mut block.code) {
                self.copy_operands(&mut copies, &mut inst, DEPTH);
                block.code.append(&mut copies.code);
                if inst.op == Op::ControlBarrier {
                    copies.begin();
                }
                block.code.push(inst);
            }
            if let Some(end) = &mut block.end {
                self.copy_operands(&mut copies, end, DEPTH);
                block.code.append(&mut copies.code);
            }
            copies.begin();
        }
        blocks
    }

    fn copy_operands(&mut self, copies: &mut Copies<'_>, inst: &mut Inst, depth: u32) {
        for place in ids(inst.op, inst.operands.len()) {
            if let Some(word) = inst.operands.get_mut(place) {
                *word = self.copy_of(copies, *word, depth).unwrap_or(*word);
            }
        }
    }

    /// The copy of a value from another stretch, if it is an address or what one is made of.
    fn copy_of(&mut self, copies: &mut Copies<'_>, id: u32, depth: u32) -> Option<u32> {
        if let Some(known) = copies.new.get(&id) {
            return Some(*known);
        }
        let (stretch, inst) = copies.defined.get(&id)?;
        if *stretch == copies.stretch || depth == 0 || !self.is_address(copies, inst) {
            return None;
        }
        let (mut inst, (ty, old)) = (inst.clone(), inst.result?);
        self.copy_operands(copies, &mut inst, depth - 1);
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

/// What one stretch of instructions calculates again. Blocks and barriers end stretches.
struct Copies<'d> {
    /// Value → stretch, and what calculates it.
    defined: &'d BTreeMap<u32, (usize, Inst)>,
    stretch: usize,
    new: BTreeMap<u32, u32>,
    /// Not yet in the block.
    code: Vec<Inst>,
}

impl Copies<'_> {
    /// Begins the next stretch.
    fn begin(&mut self) {
        self.stretch += 1;
        self.new.clear();
    }
}
