//! Addresses as integers, computed from that of a variable. Mesa takes fields of packed structs for each
//! other if they are cast.

use super::{Finder, MAX_DEPTH, Splitter};
use oclave_spirv::{Op, Type};

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

impl Splitter<'_, '_, '_> {
    /// Writes the address of a pointer.
    pub(super) fn address(&mut self, pointer: u32, depth: u32) -> u32 {
        let Finder { definitions, bits, .. } = self.finder;
        let number = self.at.int_type(bits);
        let parts = definitions.instruction(pointer).filter(|_| depth < MAX_DEPTH).and_then(|i| {
            match (i.op()?, i.operands()) {
                (Op::Bitcast, &[base]) => Some((base, Vec::new())),
                (Op::AccessChain | Op::InBoundsAccessChain, [base, indices @ ..]) => {
                    Some((*base, self.finder.steps(*base, None, indices)?))
                }
                (Op::PtrAccessChain | Op::InBoundsPtrAccessChain, [base, element, indices @ ..]) => {
                    Some((*base, self.finder.steps(*base, Some(*element), indices)?))
                }
                _ => None,
            }
        });
        let Some((base, steps)) = parts else {
            return self.at.emit(Op::ConvertPtrToU, number, &[pointer]);
        };
        let mut sum = self.address(base, depth + 1);
        for step in steps {
            let more = match step {
                Step::Bytes(bytes) => self.at.int_constant(bits, bytes),
                Step::Elements { index, width, stride } => {
                    let index = match width == bits {
                        true => index,
                        false => self.at.emit(Op::SConvert, number, &[index]),
                    };
                    let stride = self.at.int_constant(bits, stride);
                    self.at.emit(Op::IMul, number, &[index, stride])
                }
            };
            sum = self.at.emit(Op::IAdd, number, &[sum, more]);
        }
        sum
    }
}

impl Finder<'_, '_> {
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
