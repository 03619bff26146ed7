//! Integers: arithmetic, comparisons, conversions.

use oclave_spirv::Op;

use super::builder::ValueId;
use super::function::{Lower, Lowering, Refusal, mask};
use super::memory::may_have_other_null;
use super::types::{Leaf, Scalar, leaves, storage_width};
use super::wide::{NARROWER, Wide};
use crate::llvm::tree::{Binary, Cast, Instruction, IntPredicate, Operand, Type};
use crate::spaces::Storage;

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
    /// pointer there has all bits set. LLVM knows the alignment of addresses, which stays.
    pub(super) fn number_of_address(&mut self, pointer: ValueId, storage: Storage) -> ValueId {
        let ty = self.int(64);
        let number = self.op(Op::ConvertPtrToU, ty, &[pointer]);
        let Some((null, above)) = self.null_number(storage) else { return number };
        let (bool, zero) = (self.bool(), self.number(64, 0));
        let is_null = self.op(Op::IEqual, bool, &[number, null]);
        let number = self.op(Op::IAdd, ty, &[number, above]);
        self.op(Op::Select, ty, &[is_null, zero, number])
    }

    /// The address that a number of [`number_of_address`](Self::number_of_address) is of.
    pub(super) fn address_of_number(&mut self, number: ValueId, storage: Storage) -> ValueId {
        let mut address = number;
        if let Some((null, above)) = self.null_number(storage) {
            let (ty, bool, zero) = (self.int(64), self.bool(), self.number(64, 0));
            let is_null = self.op(Op::IEqual, bool, &[number, zero]);
            let rest = self.op(Op::ISub, ty, &[number, above]);
            address = self.op(Op::Select, ty, &[is_null, null, rest]);
        }
        let ty = self.output.byte_pointer(storage);
        self.op(Op::ConvertUToPtr, ty, &[address])
    }

    /// The device's own number of a null pointer, where it may be other than 0, and what is added to other addresses then. That is 0 if
    /// null is 0. It is more than any alignment if all bits of null are set.
    fn null_number(&mut self, storage: Storage) -> Option<(ValueId, ValueId)> {
        if !may_have_other_null(storage) {
            return None;
        }
        let (ty, pointer) = (self.int(64), self.output.byte_pointer(storage));
        let (null, bit) = (self.output.builder.null(pointer), self.number(64, 1 << 30));
        let null = self.op(Op::ConvertPtrToU, ty, &[null]);
        Some((null, self.op(Op::BitwiseAnd, ty, &[null, bit])))
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
        if let (Type::Int(128), Type::Float | Type::Double, &[low, high]) = (from, to, &*values) {
            let result = self.wide_to_float(cast == Cast::SiToFp, Wide { low, high }, to)?;
            self.set(instruction, vec![result]);
            return Ok(());
        }
        if let (Type::Float | Type::Double, Type::Int(128), &[value]) = (from, to, &*values) {
            let result = self.float_to_wide(cast == Cast::FpToSi, from, value)?;
            self.set(instruction, vec![result.low, result.high]);
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

    pub(super) fn cast_scalar(
        &mut self,
        cast: Cast,
        from: Scalar,
        to: Scalar,
        value: ValueId,
    ) -> Lowering<ValueId> {
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
        if from.has_packed_vector() || to.has_packed_vector() {
            let results = self.repacked(&sources, &targets, &values)?;
            self.set(instruction, results);
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

    /// The bits of integers, one behind the other, as other integers.
    fn repacked(&mut self, sources: &[Leaf], targets: &[Leaf], values: &[ValueId]) -> Lowering<Vec<ValueId>> {
        let width_of = |leaf: &Leaf| match leaf.scalar {
            Scalar::Bool => Ok(1),
            Scalar::Int(width) => Ok(width),
            _ => Err(Refusal::from("bits of a vector that become no integers")),
        };
        let ulong = self.int(64);
        // The first bit of each, the one behind its last, and its value.
        let (mut parts, mut end) = (Vec::new(), 0);
        for (leaf, value) in sources.iter().zip(values) {
            let width = width_of(leaf)?;
            let value = match leaf.scalar {
                Scalar::Bool => self.of_bool(*value, 64, 1),
                _ => self.resize(*value, width, 64),
            };
            parts.push((end, end + width, value));
            end += width;
        }
        let (mut results, mut begin) = (Vec::new(), 0);
        for leaf in targets {
            let width = width_of(leaf)?;
            let mut joined = self.number(64, 0);
            for &(first, _, value) in parts.iter().filter(|part| part.1 > begin && part.0 < begin + width) {
                let (op, by) = match first.checked_sub(begin) {
                    Some(by) => (Op::ShiftLeftLogical, by),
                    None => (Op::ShiftRightLogical, begin - first),
                };
                let by = self.number(64, by.into());
                let moved = self.op(op, ulong, &[value, by]);
                joined = self.op(Op::BitwiseOr, ulong, &[joined, moved]);
            }
            begin += width;
            results.push(match leaf.scalar {
                Scalar::Bool => self.cast_scalar(Cast::Trunc, Scalar::Int(64), Scalar::Bool, joined)?,
                _ => self.resize(joined, 64, width),
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
