//! Class hierarchies, from the descriptions of types that clang emits beside vtables (Itanium C++
//! ABI, 2.9.4).
//!
//! They list the static types through which a sub-vtable may be called. So calls of unrelated
//! classes stay apart, even if these have functions of one signature in one slot.

use std::collections::BTreeMap;

use super::demangle::class_name;
use super::vtables::{Names, is_cast};
use oclave_spirv::{Definitions, Instruction, Op};

/// How deep classes may derive from each other, and how many parts an object may have; beyond,
/// nothing is known.
const MAX_DEPTH: u32 = 64;
const MAX_PARTS: u32 = 4096;
const VIRTUAL_BASE: u64 = 1;
const OFFSET_SHIFT: u32 = 8;

/// Classes by the variables that describe them.
#[derive(Debug)]
pub(super) struct Hierarchy<'a, 'm> {
    definitions: &'a Definitions<'m>,
    names: &'a Names,
}

/// A class and its bases in an object.
#[derive(Debug, Default)]
struct Parts {
    /// Class → where the object has it.
    offsets: BTreeMap<String, Vec<i64>>,
    count: u32,
}

impl<'a, 'm> Hierarchy<'a, 'm> {
    pub(super) fn new(definitions: &'a Definitions<'m>, names: &'a Names) -> Self {
        Self { definitions, names }
    }

    /// The names of the class and its bases that begin `offset` bytes after the start of an object.
    ///
    /// Empty where that is not known: for virtual bases, and for classes that other sources
    /// describe.
    pub(super) fn classes_at(&self, description: u32, offset: i64) -> Vec<String> {
        let mut found = Parts::default();
        match self.collect(description, 0, 0, &mut found) {
            Some(()) => {
                let parts = found.offsets.into_iter();
                parts.filter(|(_, at)| at.contains(&offset)).map(|(name, _)| name).collect()
            }
            None => Vec::new(),
        }
    }

    /// Adds a class and its bases with their offsets.
    fn collect(&self, description: u32, offset: i64, depth: u32, found: &mut Parts) -> Option<()> {
        found.count += 1;
        if depth > MAX_DEPTH || found.count > MAX_PARTS {
            return None;
        }
        let name = class_name(self.names.plain(description).strip_prefix("_ZTI")?)?;
        found.offsets.entry(name).or_default().push(offset);
        let variable = self.definitions.instruction(description)?;
        let value =
            self.definitions.instruction(variable.operand(1)?).filter(|i| i.is(Op::ConstantComposite))?;
        match *value.operands() {
            // No bases; one at the start; flags, a count, and any number with an offset each.
            [_, _] => Some(()),
            [_, _, base] => self.collect(self.description(base)?, offset, depth + 1, found),
            [_, _, _, _, ref bases @ ..] => bases.chunks(2).try_for_each(|base| {
                let &[base, place] = base else { return None };
                let place = self.definitions.int_constant(place)?;
                if place & VIRTUAL_BASE != 0 {
                    return None;
                }
                let base_offset = place.cast_signed() >> OFFSET_SHIFT;
                self.collect(self.description(base)?, offset.checked_add(base_offset)?, depth + 1, found)
            }),
            _ => None,
        }
    }

    /// The variable behind the casts of a constant.
    fn description(&self, id: u32) -> Option<u32> {
        let mut id = id;
        // No constant has more casts than this; the limit ends cycles.
        for _ in 0..8 {
            let instruction: Instruction<'_> = self.definitions.instruction(id)?;
            match *instruction.operands() {
                [op, operand] if instruction.is(Op::SpecConstantOp) && is_cast(op) => id = operand,
                _ => return instruction.is(Op::Variable).then_some(id),
            }
        }
        None
    }
}
