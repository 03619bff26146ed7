//! Floating-point numbers of 16 bits, which `oclave-kernel` has as their bits.

use oclave_spirv::Op;

use super::builder::ValueId;
use super::function::{Lower, Lowering};
use super::types::class;
use crate::llvm::tree::{Instruction, Typed};
use crate::spaces::Storage;

/// Instructions of `OpenCL.std`.
const VLOAD_HALF: u32 = 173;
const VSTORE_HALF_R: u32 = 176;
/// To the nearest number, that with an even last digit of two.
const NEAREST: u32 = 0;

impl Lower<'_, '_> {
    /// A function of `oclave-kernel` for its type `f16`.
    pub(super) fn half(
        &mut self,
        instruction: &Instruction,
        name: &str,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let mut operands = Vec::new();
        for (ty, argument) in arguments {
            operands.push(self.scalar(ty, argument)?);
        }
        let result = match (name, operands.as_slice()) {
            ("half_to_float", [bits]) => self.half_to_float(*bits),
            ("half_of_float", [number]) => self.half_of_float(*number),
            ("half_add", [a, b]) => self.half_arithmetic(Op::FAdd, *a, *b),
            ("half_sub", [a, b]) => self.half_arithmetic(Op::FSub, *a, *b),
            ("half_mul", [a, b]) => self.half_arithmetic(Op::FMul, *a, *b),
            ("half_div", [a, b]) => self.half_arithmetic(Op::FDiv, *a, *b),
            _ => return Err(format!("`{name}`, which is no function of `f16`").into()),
        };
        self.set(instruction, vec![result]);
        Ok(())
    }

    /// A variable for the bits of a number, as a pointer to bits and as one to the number.
    fn half_variable(&mut self) -> [ValueId; 2] {
        let ushort = self.int(16);
        let variable = self.variable(ushort, None);
        let half = self.output.builder.stored_half_type();
        let pointer = self.output.builder.pointer_type(class(Storage::Function), half);
        let number = self.op(Op::Bitcast, pointer, &[variable]);
        [variable, number]
    }

    fn half_to_float(&mut self, bits: ValueId) -> ValueId {
        let [variable, number] = self.half_variable();
        self.effect(Op::Store, &[variable, bits].map(ValueId::word));
        let (float, first) = (self.output.builder.float_type(32), self.number(64, 0));
        self.std(VLOAD_HALF, float, &[first, number])
    }

    fn half_of_float(&mut self, value: ValueId) -> ValueId {
        let [variable, number] = self.half_variable();
        let (set, void) = (self.output.builder.opencl_std(), self.output.builder.void_type());
        let first = self.number(64, 0);
        let words = vec![set.word(), VSTORE_HALF_R, value.word(), first.word(), number.word(), NEAREST];
        self.op_words(Op::ExtInst, void, words);
        let ushort = self.int(16);
        self.op_words(Op::Load, ushort, vec![variable.word(), 2, 2])
    }

    /// Arithmetic of the device, which must have it.
    fn half_arithmetic(&mut self, op: Op, a: ValueId, b: ValueId) -> ValueId {
        let (ushort, half) = (self.int(16), self.output.builder.float_type(16));
        let [a, b] = [a, b].map(|bits| self.op(Op::Bitcast, half, &[bits]));
        let result = self.op(op, half, &[a, b]);
        self.op(Op::Bitcast, ushort, &[result])
    }
}
