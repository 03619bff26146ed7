//! Comparisons of floating-point numbers.

use oclave_spirv::Op;

use super::builder::ValueId;
use super::function::{Lower, Lowering};
use crate::llvm::tree::{FloatPredicate, Instruction, Operand, Type};
use crate::spaces::Storage;

impl Lower<'_, '_> {
    pub(super) fn compare_floats(
        &mut self,
        instruction: &Instruction,
        predicate: FloatPredicate,
        of: &Type,
        left: &Operand,
        right: &Operand,
    ) -> Lowering<()> {
        let (left, right) =
            (self.operand(of, left, Storage::Global)?, self.operand(of, right, Storage::Global)?);
        let results: Vec<ValueId> = left
            .iter()
            .zip(right.iter())
            .map(|(left, right)| self.compare_float(predicate, *left, *right))
            .collect();
        self.set(instruction, results);
        Ok(())
    }

    fn compare_float(&mut self, predicate: FloatPredicate, left: ValueId, right: ValueId) -> ValueId {
        let op = match predicate {
            FloatPredicate::False => return self.output.builder.bool_constant(false),
            FloatPredicate::True => return self.output.builder.bool_constant(true),
            FloatPredicate::Oeq => Op::FOrdEqual,
            FloatPredicate::Ogt => Op::FOrdGreaterThan,
            FloatPredicate::Oge => Op::FOrdGreaterThanEqual,
            FloatPredicate::Olt => Op::FOrdLessThan,
            FloatPredicate::Ole => Op::FOrdLessThanEqual,
            FloatPredicate::One => Op::FOrdNotEqual,
            FloatPredicate::Ord => Op::Ordered,
            FloatPredicate::Ueq => Op::FUnordEqual,
            FloatPredicate::Ugt => Op::FUnordGreaterThan,
            FloatPredicate::Uge => Op::FUnordGreaterThanEqual,
            FloatPredicate::Ult => Op::FUnordLessThan,
            FloatPredicate::Ule => Op::FUnordLessThanEqual,
            FloatPredicate::Une => Op::FUnordNotEqual,
            FloatPredicate::Uno => Op::Unordered,
        };
        let ty = self.bool();
        self.op(op, ty, &[left, right])
    }
}
