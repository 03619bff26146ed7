//! Where access chains lead: from a pointer, by indices, to a part of the object.

use ::spirv::Op;

use super::definitions::Definitions;
use super::opcodes::first_chain_index;
use super::types::{Type, TypeTable};

/// What one index of an access chain adds to the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainStep {
    /// The offset of a member of a struct.
    Member {
        /// Bytes from the start of the struct.
        offset_bytes: u64,
    },
    /// An index, times the size of what it counts.
    Element {
        /// The id of the index, which is signed.
        index: u32,
        /// The size of an element, with padding.
        stride_bytes: u64,
    },
}

impl TypeTable<'_> {
    /// The type of the part of a composite that an index selects. For a struct, the index is a constant.
    pub fn part(&self, definitions: &Definitions<'_>, composite: u32, index: u32) -> Option<u32> {
        match self.ty(composite)? {
            Type::Array { element, .. } | Type::RuntimeArray { element } => Some(element),
            Type::Vector { component, .. } => Some(component),
            Type::Struct { members } => members.get(member(definitions, index)?).copied(),
            _ => None,
        }
    }

    /// The steps of an access chain with these operands, the base first. `None` for other opcodes, and where a size is not
    /// known.
    pub fn chain_steps(
        &self,
        definitions: &Definitions<'_>,
        op: Op,
        operands: &[u32],
    ) -> Option<Vec<ChainStep>> {
        let (before, indices) = operands.split_at_checked(first_chain_index(op)?)?;
        let (&base, elements) = before.split_first()?;
        let (_, mut ty) = self.pointer(definitions.type_of(base)?)?;
        let element =
            |index: u32, ty: u32| Some(ChainStep::Element { index, stride_bytes: self.size_bytes(ty)? });
        let mut steps = Vec::with_capacity(operands.len());
        for &index in elements {
            steps.push(element(index, ty)?);
        }
        for &index in indices {
            let part = self.part(definitions, ty, index)?;
            steps.push(match self.member_offsets(ty) {
                Some(offsets) => {
                    ChainStep::Member { offset_bytes: *offsets.get(member(definitions, index)?)? }
                }
                None => element(index, part)?,
            });
            ty = part;
        }
        Some(steps)
    }

    /// The bytes that an access chain with constant indices adds to the address of its base.
    ///
    /// Returns `None` for other indices, on overflow, and where [`chain_steps`](Self::chain_steps) does.
    pub fn chain_offset(&self, definitions: &Definitions<'_>, op: Op, operands: &[u32]) -> Option<i64> {
        let bytes = |step| match step {
            ChainStep::Member { offset_bytes } => i64::try_from(offset_bytes).ok(),
            ChainStep::Element { index, stride_bytes } => {
                definitions.signed_constant(index)?.checked_mul(i64::try_from(stride_bytes).ok()?)
            }
        };
        let steps = self.chain_steps(definitions, op, operands)?;
        steps.into_iter().try_fold(0_i64, |sum, step| sum.checked_add(bytes(step)?))
    }
}

/// The number of a member.
fn member(definitions: &Definitions<'_>, index: u32) -> Option<usize> {
    usize::try_from(definitions.int_constant(index)?).ok()
}
