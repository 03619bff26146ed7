//! Integers: arithmetic, comparisons, conversions.

use oclave_spirv::{Op, ValueId};

use super::function::{Lower, Lowering, Refusal, mask};
use super::types::{Leaf, Scalar, leaves, storage_width};
use crate::llvm::tree::{Binary, Cast, Instruction, IntPredicate, Operand, Type};
use crate::spaces::Storage;

/// A number of more than 64 bits: its lower 64 and the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide {
    pub(super) low: ValueId,
    pub(super) high: ValueId,
}

/// What is done about numbers of more than 64 bits.
const NARROWER: &str = "use numbers of at most 64 bits there";

impl Lower<'_, '_> {
    pub(super) fn binary(
        &mut self,
        instruction: &Instruction,
        op: Binary,
        left: &Operand,
        right: &Operand,
    ) -> Lowering<()> {
        let ty = &instruction.ty;
        let storage = self.result_storage(instruction);
        let (left, right) = (self.operand(ty, left, storage)?, self.operand(ty, right, storage)?);
        if let Type::Int(width @ 65..=128) = ty {
            let (&[low, high], &[right_low, right_high]) = (&left[..], &right[..]) else {
                return Err("a number of an unknown form".into());
            };
            let wide =
                self.wide_binary(op, *width, Wide { low, high }, Wide { low: right_low, high: right_high })?;
            self.set(instruction, vec![wide.low, wide.high]);
            return Ok(());
        }
        if let Type::Int(width @ 129..) = ty
            && !matches!(op, Binary::And | Binary::Or | Binary::Xor)
        {
            return Err(Refusal::new(format!("arithmetic on numbers of {width} bits"), NARROWER));
        }
        let mut results = Vec::new();
        for (leaf, (left, right)) in leaves(ty)?.iter().zip(left.iter().zip(right.iter())) {
            results.push(self.binary_scalar(op, leaf.scalar, *left, *right)?);
        }
        self.set(instruction, results);
        Ok(())
    }

    fn binary_scalar(
        &mut self,
        op: Binary,
        scalar: Scalar,
        left: ValueId,
        right: ValueId,
    ) -> Lowering<ValueId> {
        match scalar {
            Scalar::Float(_) => {
                let ty = self.leaf_type(scalar, Storage::Global);
                let op = match op {
                    Binary::FAdd => Op::FAdd,
                    Binary::FSub => Op::FSub,
                    Binary::FMul => Op::FMul,
                    Binary::FDiv => Op::FDiv,
                    Binary::FRem => Op::FRem,
                    _ => return Err("an operation of integers on floating-point numbers".into()),
                };
                Ok(self.op(op, ty, &[left, right]))
            }
            Scalar::Bool => {
                let ty = self.bool();
                Ok(match op {
                    Binary::Add | Binary::Sub | Binary::Xor => {
                        self.op(Op::LogicalNotEqual, ty, &[left, right])
                    }
                    Binary::And | Binary::Mul => self.op(Op::LogicalAnd, ty, &[left, right]),
                    Binary::Or => self.op(Op::LogicalOr, ty, &[left, right]),
                    // Shifts and divisions by 1 are the only ones that are defined.
                    _ => left,
                })
            }
            Scalar::Int(width) => self.binary_int(op, width, left, right),
            Scalar::Pointer => Err("arithmetic on addresses".into()),
        }
    }

    pub(super) fn binary_int(
        &mut self,
        op: Binary,
        width: u32,
        left: ValueId,
        right: ValueId,
    ) -> Lowering<ValueId> {
        let ty = self.int(width);
        let spirv = match op {
            Binary::Add => Op::IAdd,
            Binary::Sub => Op::ISub,
            Binary::Mul => Op::IMul,
            Binary::UDiv => Op::UDiv,
            Binary::SDiv => Op::SDiv,
            Binary::URem => Op::UMod,
            Binary::SRem => Op::SRem,
            Binary::Shl => Op::ShiftLeftLogical,
            Binary::LShr => Op::ShiftRightLogical,
            Binary::AShr => Op::ShiftRightArithmetic,
            Binary::And => Op::BitwiseAnd,
            Binary::Or => Op::BitwiseOr,
            Binary::Xor => Op::BitwiseXor,
            _ => return Err("an operation of floating-point numbers on integers".into()),
        };
        let (left, right) = match op {
            Binary::SDiv | Binary::SRem => {
                let own = storage_width(width);
                (self.sign_extended(left, width, own), self.sign_extended(right, width, own))
            }
            Binary::AShr => (self.sign_extended(left, width, storage_width(width)), right),
            _ => (left, right),
        };
        let result = self.op(spirv, ty, &[left, right]);
        Ok(match op {
            Binary::And | Binary::Or | Binary::Xor | Binary::LShr | Binary::UDiv | Binary::URem => result,
            _ => self.masked(result, width),
        })
    }

    /// Clears the bits above a width.
    pub(super) fn masked(&mut self, value: ValueId, width: u32) -> ValueId {
        if width == storage_width(width) {
            return value;
        }
        let (ty, bits) = (self.int(width), self.number(width, mask(width)));
        self.op(Op::BitwiseAnd, ty, &[value, bits])
    }

    /// A number of a width with its sign, in the type for another width, all of whose bits count.
    pub(super) fn sign_extended(&mut self, value: ValueId, width: u32, to: u32) -> ValueId {
        let (own, wanted) = (storage_width(width), storage_width(to));
        let mut value = value;
        if width != own {
            let (ty, by) = (self.int(own), self.number(own, u64::from(own - width)));
            let left = self.op(Op::ShiftLeftLogical, ty, &[value, by]);
            value = self.op(Op::ShiftRightArithmetic, ty, &[left, by]);
        }
        if own == wanted {
            return value;
        }
        let ty = self.int(wanted);
        self.op(if wanted > own { Op::SConvert } else { Op::UConvert }, ty, &[value])
    }

    /// A number without a sign in the type for another width; what does not fit is lost.
    pub(super) fn resize(&mut self, value: ValueId, width: u32, to: u32) -> ValueId {
        let (own, wanted) = (storage_width(width), storage_width(to));
        let ty = self.int(wanted);
        let value = if own == wanted { value } else { self.op(Op::UConvert, ty, &[value]) };
        if to < width { self.masked(value, to) } else { value }
    }

    pub(super) fn compare_ints(
        &mut self,
        instruction: &Instruction,
        predicate: IntPredicate,
        of: &Type,
        left: &Operand,
        right: &Operand,
    ) -> Lowering<()> {
        if *of == Type::Pointer {
            let (left, right) = (self.address_number(left)?, self.address_number(right)?);
            let result = self.compare_int(predicate, 64, left, right);
            self.set(instruction, vec![result]);
            return Ok(());
        }
        let (left, right) =
            (self.operand(of, left, Storage::Global)?, self.operand(of, right, Storage::Global)?);
        if let Type::Int(width @ 65..=128) = of {
            let (&[low, high], &[right_low, right_high]) = (&left[..], &right[..]) else {
                return Err("a number of an unknown form".into());
            };
            let result = self.wide_compare(
                predicate,
                *width,
                Wide { low, high },
                Wide { low: right_low, high: right_high },
            );
            self.set(instruction, vec![result]);
            return Ok(());
        }
        if let Type::Int(width @ 129..) = of {
            return Err(Refusal::new(format!("a comparison of numbers of {width} bits"), NARROWER));
        }
        let mut results = Vec::new();
        for (leaf, (left, right)) in leaves(of)?.iter().zip(left.iter().zip(right.iter())) {
            results.push(match leaf.scalar {
                Scalar::Int(width) => self.compare_int(predicate, width, *left, *right),
                Scalar::Bool => self.compare_bool(predicate, *left, *right),
                _ => return Err(format!("a comparison of values of the type {of}").into()),
            });
        }
        self.set(instruction, results);
        Ok(())
    }

    /// The address in a pointer, as a number.
    pub(super) fn address_number(&mut self, pointer: &Operand) -> Lowering<ValueId> {
        if let Operand::Constant(constant) = pointer
            && let Some((None, number)) = crate::memory::address(constant)
        {
            return Ok(self.number(64, number));
        }
        let (pointer, storage) = self.pointer(pointer)?;
        Ok(self.number_of_address(pointer, storage))
    }

    /// An address as a number, which is 0 for null. Mesa counts private and local memory from 0, and its null
    /// pointer there has all bits set.
    pub(super) fn number_of_address(&mut self, pointer: ValueId, storage: Storage) -> ValueId {
        let ty = self.int(64);
        let number = self.op(Op::ConvertPtrToU, ty, &[pointer]);
        match self.null_number(storage) {
            Some(null) => self.op(Op::ISub, ty, &[number, null]),
            None => number,
        }
    }

    /// The address that a number of [`number_of_address`](Self::number_of_address) is of.
    pub(super) fn address_of_number(&mut self, number: ValueId, storage: Storage) -> ValueId {
        let number = match self.null_number(storage) {
            Some(null) => {
                let ty = self.int(64);
                self.op(Op::IAdd, ty, &[number, null])
            }
            None => number,
        };
        let ty = self.output.byte_pointer(storage);
        self.op(Op::ConvertUToPtr, ty, &[number])
    }

    /// The device's own number of a null pointer, where it may be other than 0.
    fn null_number(&mut self, storage: Storage) -> Option<ValueId> {
        if !matches!(storage, Storage::Function | Storage::Local) {
            return None;
        }
        let (ty, pointer) = (self.int(64), self.output.byte_pointer(storage));
        let null = self.output.builder.null(pointer);
        Some(self.op(Op::ConvertPtrToU, ty, &[null]))
    }

    pub(super) fn compare_int(
        &mut self,
        predicate: IntPredicate,
        width: u32,
        left: ValueId,
        right: ValueId,
    ) -> ValueId {
        let (op, is_signed) = match predicate {
            IntPredicate::Eq => (Op::IEqual, false),
            IntPredicate::Ne => (Op::INotEqual, false),
            IntPredicate::Ugt => (Op::UGreaterThan, false),
            IntPredicate::Uge => (Op::UGreaterThanEqual, false),
            IntPredicate::Ult => (Op::ULessThan, false),
            IntPredicate::Ule => (Op::ULessThanEqual, false),
            IntPredicate::Sgt => (Op::SGreaterThan, true),
            IntPredicate::Sge => (Op::SGreaterThanEqual, true),
            IntPredicate::Slt => (Op::SLessThan, true),
            IntPredicate::Sle => (Op::SLessThanEqual, true),
        };
        let own = storage_width(width);
        let (left, right) = match is_signed {
            true => (self.sign_extended(left, width, own), self.sign_extended(right, width, own)),
            false => (left, right),
        };
        let ty = self.bool();
        self.op(op, ty, &[left, right])
    }

    fn compare_bool(&mut self, predicate: IntPredicate, left: ValueId, right: ValueId) -> ValueId {
        let ty = self.bool();
        match predicate {
            IntPredicate::Eq => self.op(Op::LogicalEqual, ty, &[left, right]),
            IntPredicate::Ne => self.op(Op::LogicalNotEqual, ty, &[left, right]),
            // With a sign, true is -1.
            IntPredicate::Ugt | IntPredicate::Slt => {
                let not = self.op(Op::LogicalNot, ty, &[right]);
                self.op(Op::LogicalAnd, ty, &[left, not])
            }
            IntPredicate::Uge | IntPredicate::Sle => {
                let not = self.op(Op::LogicalNot, ty, &[right]);
                self.op(Op::LogicalOr, ty, &[left, not])
            }
            IntPredicate::Ult | IntPredicate::Sgt => {
                let not = self.op(Op::LogicalNot, ty, &[left]);
                self.op(Op::LogicalAnd, ty, &[not, right])
            }
            IntPredicate::Ule | IntPredicate::Sge => {
                let not = self.op(Op::LogicalNot, ty, &[left]);
                self.op(Op::LogicalOr, ty, &[not, right])
            }
        }
    }

    pub(super) fn cast(
        &mut self,
        instruction: &Instruction,
        cast: Cast,
        from: &Type,
        value: &Operand,
    ) -> Lowering<()> {
        let to = &instruction.ty;
        match cast {
            Cast::PtrToInt => {
                let address = self.address_number(value)?;
                let Type::Int(width) = to else { return Err("a vector of addresses".into()) };
                let address = self.resize(address, 64, (*width).min(64));
                let mut results = vec![address];
                if *width > 64 {
                    results.push(self.number(width - 64, 0));
                }
                self.set(instruction, results);
                return Ok(());
            }
            Cast::IntToPtr => {
                let Type::Int(width @ 1..=64) = from else {
                    return Err(format!("an address of the type {from}").into());
                };
                let number = self.scalar(from, value)?;
                let number = self.resize(number, *width, 64);
                let storage = self.result_storage(instruction);
                let pointer = self.address_of_number(number, storage);
                self.set(instruction, vec![pointer]);
                return Ok(());
            }
            Cast::AddressSpace => {
                let storage = self.result_storage(instruction);
                let values = self.operand(from, value, storage)?;
                self.set(instruction, values);
                return Ok(());
            }
            Cast::Bitcast => return self.bitcast(instruction, from, value),
            _ => {}
        }
        let values = self.operand(from, value, Storage::Global)?;
        if let (Type::Int(width), Type::Int(to)) = (from, to)
            && (*width > 64 || *to > 64)
        {
            let results = self.wide_cast(cast, *width, *to, &values)?;
            self.set(instruction, results);
            return Ok(());
        }
        let (sources, targets) = (leaves(from)?, leaves(to)?);
        if sources.len() != targets.len() {
            return Err(format!("a conversion from {from} to {to}").into());
        }
        let mut results = Vec::new();
        for (value, (source, target)) in values.iter().zip(sources.iter().zip(&targets)) {
            results.push(self.cast_scalar(cast, source.scalar, target.scalar, *value)?);
        }
        self.set(instruction, results);
        Ok(())
    }

    fn cast_scalar(&mut self, cast: Cast, from: Scalar, to: Scalar, value: ValueId) -> Lowering<ValueId> {
        let ty = self.leaf_type(to, Storage::Global);
        Ok(match (cast, from, to) {
            (Cast::Trunc, Scalar::Int(width), Scalar::Int(to)) => self.resize(value, width, to),
            (Cast::Trunc, Scalar::Int(width), Scalar::Bool) => {
                let own = self.int(width);
                let (one, zero) = (self.number(width, 1), self.number(width, 0));
                let bit = self.op(Op::BitwiseAnd, own, &[value, one]);
                self.op(Op::INotEqual, ty, &[bit, zero])
            }
            (Cast::ZExt, Scalar::Int(width), Scalar::Int(to)) => self.resize(value, width, to),
            (Cast::SExt, Scalar::Int(width), Scalar::Int(to)) => {
                let value = self.sign_extended(value, width, to);
                self.masked(value, to)
            }
            (Cast::ZExt, Scalar::Bool, Scalar::Int(to)) => self.of_bool(value, to, 1),
            (Cast::SExt, Scalar::Bool, Scalar::Int(to)) => self.of_bool(value, to, mask(to)),
            (Cast::UiToFp, Scalar::Int(_), Scalar::Float(_)) => self.op(Op::ConvertUToF, ty, &[value]),
            (Cast::SiToFp, Scalar::Int(width), Scalar::Float(_)) => {
                let value = self.sign_extended(value, width, storage_width(width));
                self.op(Op::ConvertSToF, ty, &[value])
            }
            (Cast::UiToFp, Scalar::Bool, Scalar::Float(_)) => {
                let number = self.of_bool(value, 32, 1);
                self.op(Op::ConvertUToF, ty, &[number])
            }
            (Cast::SiToFp, Scalar::Bool, Scalar::Float(_)) => {
                let number = self.of_bool(value, 32, u64::from(u32::MAX));
                self.op(Op::ConvertSToF, ty, &[number])
            }
            (Cast::FpToUi, Scalar::Float(_), Scalar::Int(to)) => {
                let number = self.op(Op::ConvertFToU, ty, &[value]);
                self.masked(number, to)
            }
            (Cast::FpToSi, Scalar::Float(_), Scalar::Int(to)) => {
                let number = self.op(Op::ConvertFToS, ty, &[value]);
                self.masked(number, to)
            }
            (Cast::FpTrunc | Cast::FpExt, Scalar::Float(_), Scalar::Float(_)) => {
                self.op(Op::FConvert, ty, &[value])
            }
            _ => return Err("a conversion of an unknown form".into()),
        })
    }

    /// A number for true, 0 for false.
    pub(super) fn of_bool(&mut self, value: ValueId, width: u32, number: u64) -> ValueId {
        let ty = self.int(width);
        let (yes, no) = (self.number(width, number), self.number(width, 0));
        self.op(Op::Select, ty, &[value, yes, no])
    }

    /// The same bits as another type. Values of several scalars go through memory.
    fn bitcast(&mut self, instruction: &Instruction, from: &Type, value: &Operand) -> Lowering<()> {
        let to = &instruction.ty;
        let storage = self.result_storage(instruction);
        let values = self.operand(from, value, storage)?;
        let (sources, targets) = (leaves(from)?, leaves(to)?);
        if sources == targets {
            self.set(instruction, values);
            return Ok(());
        }
        if let ([source], [target], [value]) = (&sources[..], &targets[..], &values[..]) {
            let ty = self.leaf_type(target.scalar, storage);
            let result = match (source.scalar, target.scalar) {
                (Scalar::Int(_) | Scalar::Float(_), Scalar::Int(_) | Scalar::Float(_)) => {
                    self.op(Op::Bitcast, ty, &[*value])
                }
                _ => return Err(format!("the bits of {from} as {to}").into()),
            };
            self.set(instruction, vec![result]);
            return Ok(());
        }
        let ulong = self.int(64);
        let words =
            crate::llvm::layout::store_size(from).max(crate::llvm::layout::store_size(to)).div_ceil(8);
        let array = self.output.builder.array_type(ulong, words.max(1));
        let variable = self.variable(array, None);
        let bytes = self.output.byte_pointer(Storage::Function);
        let pointer = self.op(Op::Bitcast, bytes, &[variable]);
        self.store_leaves(pointer, Storage::Function, &sources, &values, storage, 1)?;
        let results = self.load_leaves(pointer, Storage::Function, &targets, storage, 1)?;
        self.set(instruction, results);
        Ok(())
    }

    // More than 64 bits.

    fn wide_binary(&mut self, op: Binary, width: u32, left: Wide, right: Wide) -> Lowering<Wide> {
        let ulong = self.int(64);
        let high_width = width - 64;
        let high_type = self.int(high_width);
        let widened = |lower: &mut Self, value: ValueId| lower.resize(value, high_width, 64);
        Ok(match op {
            Binary::And | Binary::Or | Binary::Xor => {
                let op = match op {
                    Binary::And => Op::BitwiseAnd,
                    Binary::Or => Op::BitwiseOr,
                    _ => Op::BitwiseXor,
                };
                Wide {
                    low: self.op(op, ulong, &[left.low, right.low]),
                    high: self.op(op, high_type, &[left.high, right.high]),
                }
            }
            Binary::Add => {
                let low = self.op(Op::IAdd, ulong, &[left.low, right.low]);
                let carries = self.compare_int(IntPredicate::Ult, 64, low, left.low);
                let carry = self.of_bool(carries, high_width, 1);
                let high = self.op(Op::IAdd, high_type, &[left.high, right.high]);
                let high = self.op(Op::IAdd, high_type, &[high, carry]);
                Wide { low, high: self.masked(high, high_width) }
            }
            Binary::Sub => {
                let low = self.op(Op::ISub, ulong, &[left.low, right.low]);
                let borrows = self.compare_int(IntPredicate::Ult, 64, left.low, right.low);
                let borrow = self.of_bool(borrows, high_width, 1);
                let high = self.op(Op::ISub, high_type, &[left.high, right.high]);
                let high = self.op(Op::ISub, high_type, &[high, borrow]);
                Wide { low, high: self.masked(high, high_width) }
            }
            Binary::Mul => {
                let low = self.op(Op::IMul, ulong, &[left.low, right.low]);
                let carried = self.std(super::library::U_MUL_HI, ulong, &[left.low, right.low]);
                let (left_high, right_high) = (widened(self, left.high), widened(self, right.high));
                let a = self.op(Op::IMul, ulong, &[left.low, right_high]);
                let b = self.op(Op::IMul, ulong, &[left_high, right.low]);
                let high = self.op(Op::IAdd, ulong, &[carried, a]);
                let high = self.op(Op::IAdd, ulong, &[high, b]);
                Wide { low, high: self.resize(high, 64, high_width) }
            }
            Binary::Shl | Binary::LShr | Binary::AShr => {
                let high = match op {
                    Binary::AShr => self.sign_extended(left.high, high_width, 64),
                    _ => widened(self, left.high),
                };
                let shifted = self.wide_shift(op, Wide { low: left.low, high }, right.low);
                Wide { low: shifted.low, high: self.resize(shifted.high, 64, high_width) }
            }
            _ => {
                return Err(Refusal::new(format!("a division of numbers of {width} bits"), NARROWER));
            }
        })
    }

    /// A shift of 128 bits by less than 128.
    fn wide_shift(&mut self, op: Binary, value: Wide, by: ValueId) -> Wide {
        let (ulong, bool) = (self.int(64), self.bool());
        let (all, zero, one) = (self.number(64, 64), self.number(64, 0), self.number(64, 1));
        let mask63 = self.number(64, 63);
        let is_far = self.op(Op::UGreaterThanEqual, bool, &[by, all]);
        let near = self.op(Op::BitwiseAnd, ulong, &[by, mask63]);
        // The bits that pass from one half to the other: shifted by 64 - near, in two steps that are never 64.
        let rest = self.op(Op::ISub, ulong, &[mask63, near]);
        if op == Binary::Shl {
            let low = self.op(Op::ShiftLeftLogical, ulong, &[value.low, near]);
            let half = self.op(Op::ShiftRightLogical, ulong, &[value.low, one]);
            let passed = self.op(Op::ShiftRightLogical, ulong, &[half, rest]);
            let high = self.op(Op::ShiftLeftLogical, ulong, &[value.high, near]);
            let high = self.op(Op::BitwiseOr, ulong, &[high, passed]);
            return Wide {
                low: self.op(Op::Select, ulong, &[is_far, zero, low]),
                high: self.op(Op::Select, ulong, &[is_far, low, high]),
            };
        }
        let (shift, filler) = if op == Binary::AShr {
            (Op::ShiftRightArithmetic, self.op(Op::ShiftRightArithmetic, ulong, &[value.high, mask63]))
        } else {
            (Op::ShiftRightLogical, zero)
        };
        let high = self.op(shift, ulong, &[value.high, near]);
        let double = self.op(Op::ShiftLeftLogical, ulong, &[value.high, one]);
        let passed = self.op(Op::ShiftLeftLogical, ulong, &[double, rest]);
        let low = self.op(Op::ShiftRightLogical, ulong, &[value.low, near]);
        let low = self.op(Op::BitwiseOr, ulong, &[low, passed]);
        Wide {
            low: self.op(Op::Select, ulong, &[is_far, high, low]),
            high: self.op(Op::Select, ulong, &[is_far, filler, high]),
        }
    }

    fn wide_compare(&mut self, predicate: IntPredicate, width: u32, left: Wide, right: Wide) -> ValueId {
        let bool = self.bool();
        let high_width = width - 64;
        let same = self.compare_int(IntPredicate::Eq, high_width, left.high, right.high);
        match predicate {
            IntPredicate::Eq | IntPredicate::Ne => {
                let low = self.compare_int(IntPredicate::Eq, 64, left.low, right.low);
                let equal = self.op(Op::LogicalAnd, bool, &[same, low]);
                if predicate == IntPredicate::Eq { equal } else { self.op(Op::LogicalNot, bool, &[equal]) }
            }
            _ => {
                let unsigned = match predicate {
                    IntPredicate::Sgt => IntPredicate::Ugt,
                    IntPredicate::Sge => IntPredicate::Uge,
                    IntPredicate::Slt => IntPredicate::Ult,
                    IntPredicate::Sle => IntPredicate::Ule,
                    other => other,
                };
                let low = self.compare_int(unsigned, 64, left.low, right.low);
                let high = self.compare_int(predicate, high_width, left.high, right.high);
                self.op(Op::Select, bool, &[same, low, high])
            }
        }
    }

    fn wide_cast(&mut self, cast: Cast, from: u32, to: u32, values: &[ValueId]) -> Lowering<Vec<ValueId>> {
        let first = values.first().copied().ok_or_else(|| Refusal::from("a number without a value"))?;
        if from > 128 || to > 128 {
            return self.widest_cast(cast, from, to, values);
        }
        Ok(match (cast, values) {
            (Cast::Trunc, &[low, _]) if to == 1 => {
                vec![self.cast_scalar(Cast::Trunc, Scalar::Int(64), Scalar::Bool, low)?]
            }
            (Cast::Trunc, &[low, _]) if to <= 64 => vec![self.resize(low, 64, to)],
            (Cast::Trunc, &[low, high]) => vec![low, self.resize(high, from - 64, to - 64)],
            (Cast::ZExt, &[low, high]) => vec![low, self.resize(high, from - 64, to - 64)],
            (Cast::SExt, &[low, high]) => {
                let high = self.sign_extended(high, from - 64, to - 64);
                vec![low, self.masked(high, to - 64)]
            }
            (Cast::ZExt, _) if from == 1 => vec![self.of_bool(first, 64, 1), self.number(to - 64, 0)],
            (Cast::ZExt, _) => vec![self.resize(first, from, 64), self.number(to - 64, 0)],
            (Cast::SExt, _) => {
                let low = match from {
                    1 => self.of_bool(first, 64, u64::MAX),
                    _ => self.sign_extended(first, from, 64),
                };
                let ulong = self.int(64);
                let by = self.number(64, 63);
                let sign = self.op(Op::ShiftRightArithmetic, ulong, &[low, by]);
                vec![low, self.resize(sign, 64, to - 64)]
            }
            _ => return Err(format!("a conversion between i{from} and i{to}").into()),
        })
    }

    /// Conversions of numbers of more than 128 bits, which are memory that is moved: to their lower parts, and from these.
    fn widest_cast(&mut self, cast: Cast, from: u32, to: u32, values: &[ValueId]) -> Lowering<Vec<ValueId>> {
        let parts = leaves(&Type::Int(to))?;
        let has = |index: usize| values.get(index).copied();
        let mut results = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let own = from.saturating_sub(index as u32 * 64).min(64);
            results.push(match (cast, part.scalar, has(index)) {
                (Cast::Trunc, Scalar::Bool, Some(value)) => {
                    self.cast_scalar(Cast::Trunc, Scalar::Int(own), Scalar::Bool, value)?
                }
                (Cast::ZExt, Scalar::Int(_), Some(value)) if from == 1 => self.of_bool(value, 64, 1),
                (Cast::Trunc | Cast::ZExt, Scalar::Int(width), Some(value)) => self.resize(value, own, width),
                (Cast::ZExt, Scalar::Int(width), None) => self.number(width, 0),
                _ => return Err(Refusal::new(format!("a conversion between i{from} and i{to}"), NARROWER)),
            });
        }
        Ok(results)
    }
}

/// The scalar of an operand that is none or one integer.
pub(super) fn only_int(parts: &[Leaf]) -> Option<u32> {
    match parts {
        [Leaf { scalar: Scalar::Int(width), .. }] => Some(*width),
        _ => None,
    }
}
