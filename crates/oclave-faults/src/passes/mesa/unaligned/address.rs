//! Addresses as integers, computed from that of a variable. Mesa takes fields of packed structs for each
//! other if they are cast.

use super::MAX_DEPTH;
use crate::passes::opaque_values::emit;
use oclave_spirv::{Definitions, Op, Rewriter, Type, TypeTable};

/// What an access chain adds to an address.
enum Step {
    Bytes(u64),
    /// An index of so many bits, times so many bytes.
    Elements {
        index: u32,
        width: u32,
        stride: u64,
    },
}

pub(crate) struct Addresses<'a, 'm> {
    pub(crate) definitions: &'a Definitions<'m>,
    pub(crate) types: &'a TypeTable<'m>,
    /// The width of an address.
    pub(crate) bits: u32,
}

impl Addresses<'_, '_> {
    /// Writes the address of a pointer.
    pub(crate) fn write(&self, new: &mut Rewriter<'_>, pointer: u32, depth: u32) -> u32 {
        let number = new.int_type(self.bits);
        let parts =
            self.definitions.instruction(pointer).filter(|_| depth < MAX_DEPTH).and_then(|i| {
                match (i.op()?, i.operands()) {
                    (Op::Bitcast, &[base]) => Some((base, Vec::new())),
                    (Op::AccessChain | Op::InBoundsAccessChain, [base, indices @ ..]) => {
                        Some((*base, self.steps(*base, None, indices)?))
                    }
                    (Op::PtrAccessChain | Op::InBoundsPtrAccessChain, [base, element, indices @ ..]) => {
                        Some((*base, self.steps(*base, Some(*element), indices)?))
                    }
                    _ => None,
                }
            });
        let Some((base, steps)) = parts else {
            return emit(new, Op::ConvertPtrToU, number, &[pointer]);
        };
        let mut sum = self.write(new, base, depth + 1);
        for step in steps {
            let more = match step {
                Step::Bytes(bytes) => new.int_constant(self.bits, bytes),
                Step::Elements { index, width, stride } => {
                    let index = match width == self.bits {
                        true => index,
                        false => emit(new, Op::SConvert, number, &[index]),
                    };
                    let stride = new.int_constant(self.bits, stride);
                    emit(new, Op::IMul, number, &[index, stride])
                }
            };
            sum = emit(new, Op::IAdd, number, &[sum, more]);
        }
        sum
    }

    /// What an access chain adds to the address of its base.
    fn steps(&self, base: u32, element: Option<u32>, indices: &[u32]) -> Option<Vec<Step>> {
        let pointer = self.types.ty(self.definitions.type_of(base)?)?;
        let Type::Pointer { pointee: mut ty, .. } = pointer else { return None };
        let elements = |index: u32, ty: u32| {
            let Some(Type::Int { width }) = self.types.ty(self.definitions.type_of(index)?) else {
                return None;
            };
            Some(Step::Elements { index, width, stride: self.types.size_bytes(ty)? })
        };
        let mut steps = Vec::new();
        if let Some(element) = element {
            steps.push(elements(element, ty)?);
        }
        for index in indices {
            match self.types.ty(ty)? {
                Type::Array { element: part, .. } | Type::Vector { component: part, .. } => {
                    steps.push(elements(*index, part)?);
                    ty = part;
                }
                Type::Struct { members } => {
                    let member = usize::try_from(self.definitions.int_constant(*index)?).ok()?;
                    steps.push(Step::Bytes(*self.types.member_offsets(ty)?.get(member)?));
                    ty = *members.get(member)?;
                }
                _ => return None,
            }
        }
        Some(steps)
    }
}
