//! Numbers of more than 64 bits, in two parts.

use oclave_spirv::Op;

use super::builder::ValueId;
use super::function::{Lower, Lowering, Refusal};
use super::library;
use super::types::{Scalar, leaves};
use crate::llvm::tree::{Binary, Cast, Instruction, IntPredicate, Type, Typed};
use crate::spaces::Storage;

/// A number of more than 64 bits: its lower 64 and the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide {
    pub(super) low: ValueId,
    pub(super) high: ValueId,
}

/// What is done about numbers of more than 64 bits.
pub(super) const NARROWER: &str = "use numbers of at most 64 bits there";

impl Lower<'_, '_> {
    pub(super) fn wide_binary(&mut self, op: Binary, width: u32, left: Wide, right: Wide) -> Lowering<Wide> {
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
                let carried = self.std(library::U_MUL_HI, ulong, &[left.low, right.low]);
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

    pub(super) fn wide_compare(
        &mut self,
        predicate: IntPredicate,
        width: u32,
        left: Wide,
        right: Wide,
    ) -> ValueId {
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

    pub(super) fn wide_cast(
        &mut self,
        cast: Cast,
        from: u32,
        to: u32,
        values: &[ValueId],
    ) -> Lowering<Vec<ValueId>> {
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

    /// An intrinsic for numbers of 128 bits.
    pub(super) fn wide_intrinsic(
        &mut self,
        instruction: &Instruction,
        stem: &str,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let mut numbers = Vec::new();
        for (ty, argument) in arguments.iter().filter(|(ty, _)| *ty == Type::Int(128)) {
            if let &[low, high] = &*self.operand(ty, argument, Storage::Global)? {
                numbers.push(Wide { low, high });
            }
        }
        let Some(&first) = numbers.first() else { return Err("an intrinsic with too few operands".into()) };
        let second = numbers.get(1).copied().unwrap_or(first);
        let third = numbers.get(2).copied().unwrap_or(second);
        let result = match stem {
            "scmp" | "ucmp" => return self.wide_three_way(instruction, stem == "scmp", first, second),
            "ctpop" | "ctlz" | "cttz" => self.wide_count(stem, first),
            "bswap" => Wide { low: self.swap_bytes(first.high, 64), high: self.swap_bytes(first.low, 64) },
            "bitreverse" => {
                Wide { low: self.reverse_bits(first.high, 64)?, high: self.reverse_bits(first.low, 64)? }
            }
            "abs" => self.wide_magnitude(first)?.0,
            "umin" | "umax" | "smin" | "smax" => {
                let predicate = if stem.starts_with('s') { IntPredicate::Slt } else { IntPredicate::Ult };
                let is_less = self.wide_compare(predicate, 128, first, second);
                let (yes, no) = if stem.ends_with("min") { (first, second) } else { (second, first) };
                self.wide_select(is_less, yes, no)
            }
            "fshl" | "fshr" => self.wide_funnel(stem == "fshl", first, second, third.low)?,
            "uadd.sat" | "usub.sat" | "sadd.sat" | "ssub.sat" => {
                let (result, overflows) = self.wide_overflowing(stem, first, second)?;
                let limit = self.wide_limit(stem, first);
                self.wide_select(overflows, limit, result)
            }
            _ if stem.ends_with(".with.overflow") => {
                let (result, overflows) = self.wide_overflowing(stem, first, second)?;
                self.set(instruction, vec![result.low, result.high, overflows]);
                return Ok(());
            }
            _ => return Err(Refusal::new(format!("`llvm.{stem}` of numbers of 128 bits"), NARROWER)),
        };
        self.set(instruction, vec![result.low, result.high]);
        Ok(())
    }

    fn wide_select(&mut self, condition: ValueId, yes: Wide, no: Wide) -> Wide {
        let ulong = self.int(64);
        Wide {
            low: self.op(Op::Select, ulong, &[condition, yes.low, no.low]),
            high: self.op(Op::Select, ulong, &[condition, yes.high, no.high]),
        }
    }

    fn wide_number(&mut self, low: u64, high: u64) -> Wide {
        Wide { low: self.number(64, low), high: self.number(64, high) }
    }

    /// How far a number is from 0, and whether it is negative.
    fn wide_magnitude(&mut self, value: Wide) -> Lowering<(Wide, ValueId)> {
        let zero = self.wide_number(0, 0);
        let is_negative = self.compare_int(IntPredicate::Slt, 64, value.high, zero.high);
        let negated = self.wide_binary(Binary::Sub, 128, zero, value)?;
        Ok((self.wide_select(is_negative, negated, value), is_negative))
    }

    /// -1, 0 or 1.
    fn wide_three_way(
        &mut self,
        instruction: &Instruction,
        is_signed: bool,
        left: Wide,
        right: Wide,
    ) -> Lowering<()> {
        let Type::Int(width) = instruction.ty else { return Err("a comparison of vectors".into()) };
        let predicate = if is_signed { IntPredicate::Slt } else { IntPredicate::Ult };
        let is_less = self.wide_compare(predicate, 128, left, right);
        let is_greater = self.wide_compare(predicate, 128, right, left);
        let (ty, below) = (self.int(width), self.number(width, super::function::mask(width)));
        let above = self.of_bool(is_greater, width, 1);
        let result = self.op(Op::Select, ty, &[is_less, below, above]);
        self.set(instruction, vec![result]);
        Ok(())
    }

    /// How many bits are set, or how many zeroes a number begins or ends with.
    fn wide_count(&mut self, stem: &str, value: Wide) -> Wide {
        let (ulong, zero, all) = (self.int(64), self.number(64, 0), self.number(64, 64));
        let count = |lower: &mut Self, part: ValueId| match stem {
            "ctpop" => lower.op(Op::BitCount, ulong, &[part]),
            "ctlz" => lower.std(library::CLZ, ulong, &[part]),
            _ => lower.std(library::CTZ, ulong, &[part]),
        };
        let [low, high] = [value.low, value.high].map(|part| count(self, part));
        let sum = if stem == "ctpop" {
            self.op(Op::IAdd, ulong, &[low, high])
        } else {
            let (begin, first, second) =
                if stem == "ctlz" { (value.high, high, low) } else { (value.low, low, high) };
            let is_zero = self.compare_int(IntPredicate::Eq, 64, begin, zero);
            let further = self.op(Op::IAdd, ulong, &[second, all]);
            self.op(Op::Select, ulong, &[is_zero, further, first])
        };
        Wide { low: sum, high: zero }
    }

    /// Bits of two numbers side by side, shifted.
    fn wide_funnel(&mut self, is_left: bool, high: Wide, low: Wide, by: ValueId) -> Lowering<Wide> {
        let (ulong, last) = (self.int(64), self.number(64, 127));
        let one = self.number(64, 1);
        let by = self.op(Op::BitwiseAnd, ulong, &[by, last]);
        // No shift is by 128.
        let rest = self.op(Op::ISub, ulong, &[last, by]);
        let (left, right) = if is_left {
            let half = self.wide_shift(Binary::LShr, low, one);
            (self.wide_shift(Binary::Shl, high, by), self.wide_shift(Binary::LShr, half, rest))
        } else {
            let double = self.wide_shift(Binary::Shl, high, one);
            (self.wide_shift(Binary::Shl, double, rest), self.wide_shift(Binary::LShr, low, by))
        };
        self.wide_binary(Binary::Or, 128, left, right)
    }

    /// What a sum or difference that overflows saturates at.
    fn wide_limit(&mut self, stem: &str, left: Wide) -> Wide {
        match stem {
            "uadd.sat" => self.wide_number(u64::MAX, u64::MAX),
            "usub.sat" => self.wide_number(0, 0),
            _ => {
                let (most, least) = (self.wide_number(u64::MAX, u64::MAX >> 1), self.wide_number(0, 1 << 63));
                let zero = self.number(64, 0);
                let is_negative = self.compare_int(IntPredicate::Slt, 64, left.high, zero);
                self.wide_select(is_negative, least, most)
            }
        }
    }

    /// The result, and whether it overflowed.
    fn wide_overflowing(&mut self, stem: &str, left: Wide, right: Wide) -> Lowering<(Wide, ValueId)> {
        let (ulong, bool, zero) = (self.int(64), self.bool(), self.number(64, 0));
        let (sign, operation) = stem.split_at(1);
        let op = match operation.get(..3) {
            Some("add") => Binary::Add,
            Some("sub") => Binary::Sub,
            _ if sign == "u" => return self.wide_product(left, right),
            _ => {
                let ((a, a_sign), (b, b_sign)) = (self.wide_magnitude(left)?, self.wide_magnitude(right)?);
                let (product, overflows) = self.wide_product(a, b)?;
                let is_negative = self.op(Op::LogicalNotEqual, bool, &[a_sign, b_sign]);
                let nothing = self.wide_number(0, 0);
                let negated = self.wide_binary(Binary::Sub, 128, nothing, product)?;
                let result = self.wide_select(is_negative, negated, product);
                let sign = self.compare_int(IntPredicate::Slt, 64, result.high, zero);
                let is_other = self.op(Op::LogicalNotEqual, bool, &[sign, is_negative]);
                let is_some = self.wide_compare(IntPredicate::Ne, 128, product, nothing);
                let is_wrong = self.op(Op::LogicalAnd, bool, &[is_other, is_some]);
                return Ok((result, self.op(Op::LogicalOr, bool, &[overflows, is_wrong])));
            }
        };
        let result = self.wide_binary(op, 128, left, right)?;
        let overflows = match (sign, op) {
            ("u", Binary::Add) => self.wide_compare(IntPredicate::Ult, 128, result, left),
            ("u", _) => self.wide_compare(IntPredicate::Ult, 128, left, right),
            _ => {
                // The sign is wrong: that of the result differs from those that decide.
                let other = if op == Binary::Add { result } else { left };
                let a = self.op(Op::BitwiseXor, ulong, &[left.high, result.high]);
                let b = self.op(Op::BitwiseXor, ulong, &[right.high, other.high]);
                let both = self.op(Op::BitwiseAnd, ulong, &[a, b]);
                self.compare_int(IntPredicate::Slt, 64, both, zero)
            }
        };
        Ok((result, overflows))
    }

    /// A product without signs, and whether it overflowed.
    fn wide_product(&mut self, left: Wide, right: Wide) -> Lowering<(Wide, ValueId)> {
        let (ulong, bool, zero) = (self.int(64), self.bool(), self.number(64, 0));
        let product = self.wide_binary(Binary::Mul, 128, left, right)?;
        let is_some = |lower: &mut Self, value: ValueId| lower.op(Op::INotEqual, bool, &[value, zero]);
        let (a, b) = (is_some(self, left.high), is_some(self, right.high));
        let mut overflows = self.op(Op::LogicalAnd, bool, &[a, b]);
        // The products of a lower and a higher half, and the sum of these and what the lower halves carry.
        let mut sum = self.std(library::U_MUL_HI, ulong, &[left.low, right.low]);
        for [high, low] in [[left.high, right.low], [right.high, left.low]] {
            let beyond = self.std(library::U_MUL_HI, ulong, &[high, low]);
            let part = self.op(Op::IMul, ulong, &[high, low]);
            let next = self.op(Op::IAdd, ulong, &[sum, part]);
            let carries = self.compare_int(IntPredicate::Ult, 64, next, sum);
            for reason in [is_some(self, beyond), carries] {
                overflows = self.op(Op::LogicalOr, bool, &[overflows, reason]);
            }
            sum = next;
        }
        Ok((product, overflows))
    }

    /// The bits of a floating-point number, those of its fraction, and the bias of its exponent.
    fn parts_of_float(ty: &Type) -> (u32, u32, u64) {
        if *ty == Type::Float { (32, 23, 127) } else { (64, 52, 1023) }
    }

    /// Rust's `as`: what does not fit is the nearest number, NaN is 0.
    pub(super) fn float_to_wide(&mut self, is_signed: bool, from: &Type, value: ValueId) -> Lowering<Wide> {
        let (width, fraction, bias) = Self::parts_of_float(from);
        let (ulong, own, bool) = (self.int(64), self.int(width), self.bool());
        let bits = self.op(Op::Bitcast, own, &[value]);
        let bits = self.resize(bits, width, 64);
        let [by, all, one] = [fraction.into(), 2 * bias + 1, 1 << fraction].map(|n| self.number(64, n));
        let above = self.op(Op::ShiftRightLogical, ulong, &[bits, by]);
        let exponent = self.op(Op::BitwiseAnd, ulong, &[above, all]);
        let sign = self.number(64, 1 << (width - 1));
        let sign = self.op(Op::BitwiseAnd, ulong, &[bits, sign]);
        let [zero, low_bits, to_top] =
            [0, (1 << fraction) - 1, u64::from(63 - fraction)].map(|n| self.number(64, n));
        let is_negative = self.op(Op::INotEqual, bool, &[sign, zero]);
        let low = self.op(Op::BitwiseAnd, ulong, &[bits, low_bits]);
        let significand = self.op(Op::BitwiseOr, ulong, &[low, one]);
        // As if the exponent were 127, and then shifted down.
        let top = self.op(Op::ShiftLeftLogical, ulong, &[significand, to_top]);
        let highest = self.number(64, bias + 127);
        let down = self.op(Op::ISub, ulong, &[highest, exponent]);
        let last = self.number(64, 127);
        let down = self.op(Op::BitwiseAnd, ulong, &[down, last]);
        let size = self.wide_shift(Binary::LShr, Wide { low: zero, high: top }, down);
        let nothing = self.wide_number(0, 0);
        let bits_of_size = if is_signed { 127 } else { 128 };
        let (first, beyond) = (self.number(64, bias), self.number(64, bias + bits_of_size));
        let is_small = self.compare_int(IntPredicate::Ult, 64, exponent, first);
        let is_large = self.compare_int(IntPredicate::Uge, 64, exponent, beyond);
        let size = self.wide_select(is_small, nothing, size);
        let (most, negative) = if is_signed {
            let most = self.wide_number(u64::MAX, u64::MAX >> 1);
            let least = self.wide_number(0, 1 << 63);
            let negated = self.wide_binary(Binary::Sub, 128, nothing, size)?;
            (most, self.wide_select(is_large, least, negated))
        } else {
            (self.wide_number(u64::MAX, u64::MAX), nothing)
        };
        let positive = self.wide_select(is_large, most, size);
        let result = self.wide_select(is_negative, negative, positive);
        let is_nan = self.op(Op::Unordered, bool, &[value, value]);
        Ok(self.wide_select(is_nan, nothing, result))
    }

    /// The nearest floating-point number; the even one of two.
    pub(super) fn wide_to_float(&mut self, is_signed: bool, value: Wide, to: &Type) -> Lowering<ValueId> {
        let (width, fraction, bias) = Self::parts_of_float(to);
        let (ulong, bool) = (self.int(64), self.bool());
        let ty = self.leaf_type(Scalar::Float(width), Storage::Global);
        let (size, is_negative) = match is_signed {
            true => self.wide_magnitude(value)?,
            false => (value, self.output.builder.bool_constant(false)),
        };
        let zeroes = self.wide_count("ctlz", size).low;
        let last = self.number(64, 127);
        let by = self.op(Op::BitwiseAnd, ulong, &[zeroes, last]);
        let top = self.wide_shift(Binary::Shl, size, by);
        // The lower half only tells which of two numbers is nearer.
        let zero = self.number(64, 0);
        let is_more = self.op(Op::INotEqual, bool, &[top.low, zero]);
        let more = self.of_bool(is_more, 64, 1);
        let top = self.op(Op::BitwiseOr, ulong, &[top.high, more]);
        let rounded = self.op(Op::ConvertUToF, ty, &[top]);
        // Times 2^(64 - zeroes), which is exact.
        let (base, places) = (self.number(64, bias + 64), self.number(64, fraction.into()));
        let exponent = self.op(Op::ISub, ulong, &[base, zeroes]);
        let scale = self.op(Op::ShiftLeftLogical, ulong, &[exponent, places]);
        let scale = self.resize(scale, 64, width);
        let scale = self.op(Op::Bitcast, ty, &[scale]);
        let result = self.op(Op::FMul, ty, &[rounded, scale]);
        let negated = self.op(Op::FNegate, ty, &[result]);
        Ok(self.op(Op::Select, ty, &[is_negative, negated, result]))
    }
}
