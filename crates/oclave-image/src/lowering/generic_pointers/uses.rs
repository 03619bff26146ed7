//! What instructions do with generic pointers whose address space is only known when a kernel runs.
//!
//! Such a pointer is a 64-bit integer with the address space in its two highest bits. So it is where
//! it comes from memory, and where pointers into several address spaces meet. A pointer whose
//! address space is known becomes such an integer where it is stored.

use std::collections::HashMap;

use super::infer::{Clone, is_generic};
use oclave_spirv::{Definitions, Instruction, Op, Role, StorageClass, TypeTable, is_access_chain, is_atomic};

/// The class of a value that is such an integer.
pub(super) const TAGGED: u32 = StorageClass::Generic as u32;
/// Where its tag begins.
pub(super) const TAG_SHIFT: u64 = 62;

/// The tag of an address space. That of global memory is 0, and 3 counts as global memory, too: some
/// devices extend the sign of addresses.
pub(super) fn tag(class: u32) -> u64 {
    match class {
        _ if class == StorageClass::Function as u32 => 1,
        _ if class == StorageClass::Workgroup as u32 => 2,
        _ => 0,
    }
}

/// What an instruction does with generic pointers. Places count its words.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Uses {
    /// Operands that are wanted as integers.
    pub(super) integers: Vec<usize>,
    /// Integers that the instruction follows to memory.
    pub(super) followed: Vec<usize>,
    /// Nobody has thought of such an instruction.
    pub(super) unknown: bool,
}

/// The values of a clone.
#[derive(Clone, Copy)]
pub(super) struct View<'a, 'm> {
    pub(super) definitions: &'a Definitions<'m>,
    pub(super) types: &'a TypeTable<'m>,
    /// The classes of generic constants.
    pub(super) constants: &'a HashMap<u32, u32>,
    pub(super) clone: &'a Clone,
}

impl View<'_, '_> {
    pub(super) fn is_generic_value(&self, id: u32) -> bool {
        is_generic(self.types, self.definitions.type_of(id))
    }

    /// The class of a generic value; of null, that of global memory.
    pub(super) fn class(&self, id: u32) -> u32 {
        let found = self.clone.classes.get(&id).or_else(|| self.constants.get(&id));
        found.copied().unwrap_or(StorageClass::CrossWorkgroup as u32)
    }

    /// Whether a generic value is a constant that points nowhere.
    pub(super) fn is_null(&self, id: u32) -> bool {
        self.definitions.instruction(id).is_some_and(|i| {
            i.is(Op::ConstantNull) || i.is(Op::Undef) && !self.clone.classes.contains_key(&id)
        })
    }

    /// The places of generic values among the operands.
    fn generic_operands(&self, instruction: &Instruction<'_>) -> Vec<usize> {
        let mut places = Vec::new();
        instruction.visit_ids(self.definitions, |index, role| {
            if role == Role::Id && self.is_generic_value(instruction.word(index).unwrap_or(0)) {
                places.push(index);
            }
        });
        places
    }

    pub(super) fn uses(&self, instruction: &Instruction<'_>) -> Uses {
        let Some(op) = instruction.op() else { return Uses::default() };
        let operands = self.generic_operands(instruction);
        let is_tagged = |place: &usize| self.class(instruction.word(*place).unwrap_or(0)) == TAGGED;
        let any_tagged = operands.iter().any(is_tagged);
        let result = instruction.result_id().map_or(0, |id| self.class(id));
        let generic_result = is_generic(self.types, instruction.result_type());
        let integers = |integers| Uses { integers, ..Uses::default() };
        match op {
            Op::Phi | Op::Select if generic_result => match result == TAGGED {
                true => integers(operands),
                false => Uses::default(),
            },
            Op::Store => Uses {
                integers: operands.iter().copied().filter(|place| *place != 1).collect(),
                followed: operands.into_iter().filter(|place| *place == 1).filter(is_tagged).collect(),
                unknown: false,
            },
            Op::CompositeConstruct | Op::CompositeInsert | Op::ConvertPtrToU => integers(operands),
            Op::Bitcast if !generic_result => integers(operands),
            Op::ReturnValue if self.clone.result == Some(TAGGED) => integers(operands),
            Op::PtrEqual | Op::PtrNotEqual => {
                let mut classes = operands
                    .iter()
                    .map(|place| instruction.word(*place).unwrap_or(0))
                    .filter(|id| !self.is_null(*id))
                    .map(|id| self.class(id));
                let first = classes.next();
                match any_tagged || classes.any(|class| Some(class) != first) {
                    true => integers(operands),
                    false => Uses::default(),
                }
            }
            _ if !any_tagged => Uses::default(),
            // These take what they are given.
            Op::FunctionCall
            | Op::ReturnValue
            | Op::Bitcast
            | Op::CopyObject
            | Op::GenericCastToPtr
            | Op::GenericCastToPtrExplicit
            | Op::GenericPtrMemSemantics => Uses::default(),
            _ if is_access_chain(op) => Uses::default(),
            _ if follows(op) => {
                Uses { followed: operands.into_iter().filter(is_tagged).collect(), ..Uses::default() }
            }
            _ => Uses { unknown: true, ..Uses::default() },
        }
    }
}

/// Whether an instruction does to what a pointer leads to what it does in any address space.
fn follows(op: Op) -> bool {
    matches!(op, Op::Load | Op::CopyMemory | Op::CopyMemorySized | Op::ExtInst) || is_atomic(op)
}
