//! Addresses as integers, computed from that of a variable. Mesa takes fields of packed structs for each
//! other if they are cast.

use super::{Finder, MAX_DEPTH, Splitter};
use oclave_spirv::{ChainStep, Op, Type};

impl Splitter<'_, '_, '_> {
    /// Writes the address of a pointer.
    pub(super) fn address(&mut self, pointer: u32, depth: u32) -> u32 {
        let Finder { definitions, types, bits } = self.finder;
        let number = self.at.int_type(bits);
        let parts = definitions.instruction(pointer).filter(|_| depth < MAX_DEPTH).and_then(|i| {
            match (i.op()?, i.operands()) {
                (Op::Bitcast, &[base]) => Some((base, Vec::new())),
                (op, operands @ [base, ..]) => Some((*base, types.chain_steps(definitions, op, operands)?)),
                _ => None,
            }
        });
        let Some((base, steps)) = parts else {
            return self.at.emit(Op::ConvertPtrToU, number, &[pointer]);
        };
        let mut sum = self.address(base, depth + 1);
        for step in steps {
            let more = match step {
                ChainStep::Member { offset_bytes } => self.at.int_constant(bits, offset_bytes),
                ChainStep::Element { index, stride_bytes } => {
                    let index = match definitions.type_of(index).and_then(|ty| types.ty(ty)) {
                        Some(Type::Int { width }) if width == bits => index,
                        _ => self.at.emit(Op::SConvert, number, &[index]),
                    };
                    let stride = self.at.int_constant(bits, stride_bytes);
                    self.at.emit(Op::IMul, number, &[index, stride])
                }
            };
            sum = self.at.emit(Op::IAdd, number, &[sum, more]);
        }
        sum
    }
}
