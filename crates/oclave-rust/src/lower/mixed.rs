//! Private memory in which rustc writes a pointer and reads a number, or the other way round.
//!
//! So it does where null says that there is no value. The number of a null pointer is 0 in all of its code, but not on every device.
//! Such memory has numbers of addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::function::constants;
use crate::llvm::tree::{Function, Instruction, Kind, Local, Operand, Type};
use crate::memory::constant_offset;

/// The addresses of such memory.
pub(super) fn mixed_places(function: &Function) -> BTreeSet<Local> {
    let mut places = Places::default();
    let instructions = || function.blocks.iter().flat_map(|block| &block.instructions);
    // A phi may take a value that a later block defines.
    for _ in 0..2 {
        instructions().for_each(|instruction| places.find(instruction));
    }
    let (mut pointers, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for instruction in instructions() {
        let (ty, pointer) = match &instruction.kind {
            Kind::Load { pointer: Operand::Local(pointer), .. } => (&instruction.ty, pointer),
            Kind::Store { value: (ty, _), pointer: Operand::Local(pointer), .. } => (ty, pointer),
            _ => continue,
        };
        let Some(class) = places.class(*pointer) else { continue };
        match ty {
            Type::Pointer => pointers.insert(class),
            Type::Int(64) => numbers.insert(class),
            _ => continue,
        };
    }
    let is_mixed = |place: &Local| {
        places.class(*place).is_some_and(|class| pointers.contains(&class) && numbers.contains(&class))
    };
    places.same_as.keys().copied().filter(is_mixed).collect()
}

/// Addresses in variables of a function.
#[derive(Default)]
struct Places {
    /// Address → the variable and how far it is from its begin, and the first address of that place.
    offsets: BTreeMap<Local, (Local, u64)>,
    first: BTreeMap<(Local, u64), Local>,
    /// Address → another one that may be of the same place, or itself.
    same_as: BTreeMap<Local, Local>,
}

impl Places {
    fn find(&mut self, instruction: &Instruction) {
        let Some(result) = instruction.result else { return };
        match &instruction.kind {
            Kind::Alloca { .. } => self.add(result, (result, 0)),
            Kind::Address { element, base: Operand::Local(base), indices, .. } => {
                let offset = constants(indices).and_then(|indices| constant_offset(element, indices));
                if let (Some(offset), Some((variable, begin))) = (offset, self.offsets.get(base)) {
                    self.add(result, (*variable, begin.wrapping_add(offset)));
                }
            }
            Kind::Phi(incoming) if instruction.ty == Type::Pointer => {
                incoming.iter().for_each(|(value, _)| self.unite(result, value));
            }
            Kind::Select(_, yes, no) if instruction.ty == Type::Pointer => {
                [yes, no].into_iter().for_each(|value| self.unite(result, value));
            }
            _ => {}
        }
    }

    fn add(&mut self, address: Local, place: (Local, u64)) {
        self.offsets.insert(address, place);
        let first = *self.first.entry(place).or_insert(address);
        self.same_as.entry(address).or_insert(first);
    }

    /// Notes that an address may be another one.
    fn unite(&mut self, address: Local, other: &Operand) {
        if let Operand::Local(other) = other
            && let Some(other) = self.class(*other)
        {
            self.same_as.entry(address).or_insert(address);
            if let Some(own) = self.class(address) {
                self.same_as.insert(own, other);
            }
        }
    }

    /// One address for all that may be of the same place.
    fn class(&self, address: Local) -> Option<Local> {
        let mut at = address;
        loop {
            let next = *self.same_as.get(&at)?;
            if next == at {
                return Some(at);
            }
            at = next;
        }
    }
}
