//! Intrinsics of LLVM.

use oclave_spirv::{Decoration, Op};

use super::builder::{TypeId, ValueId};
use super::function::{Lower, Lowering, Refusal, mask};
use super::ints::only_int;
use super::library;
use super::types::{Scalar, leaves, storage_width};
use super::wide::NARROWER;
use crate::llvm::tree::{Binary, Constant, Instruction, IntPredicate, Operand, Type, Typed};
use crate::spaces::Storage;

impl Lower<'_, '_> {
    /// Calls `llvm.NAME`.
    pub(super) fn intrinsic(
        &mut self,
        instruction: &Instruction,
        name: &str,
        arguments: &[Typed],
        aligns: &[u64],
    ) -> Lowering<()> {
        let ty = &instruction.ty;
        let stem = stem(name);
        let is_widest = |ty: &Type| matches!(ty, Type::Int(129..));
        if is_widest(ty) || arguments.iter().any(|(ty, _)| is_widest(ty)) {
            return Err(Refusal::new(format!("`llvm.{stem}` of numbers of more than 128 bits"), NARROWER));
        }
        match stem {
            "assume"
            | "lifetime.start"
            | "lifetime.end"
            | "experimental.noalias.scope.decl"
            | "donothing"
            | "dbg.value"
            | "dbg.declare"
            | "dbg.label"
            | "invariant.end"
            | "prefetch"
            | "sideeffect"
            | "fake.use" => {
                return Ok(());
            }
            "memcpy" | "memcpy.inline" => return self.copy(arguments, aligns, false),
            "memmove" => return self.copy(arguments, aligns, true),
            "memset" | "memset.inline" => return self.fill(arguments, aligns),
            "expect"
            | "expect.with.probability"
            | "ssa.copy"
            | "launder.invariant.group"
            | "strip.invariant.group"
            | "arithmetic.fence"
            | "threadlocal.address" => {
                let Some((ty, value)) = arguments.first() else {
                    return Err("an intrinsic without operands".into());
                };
                let storage = self.result_storage(instruction);
                let values = self.operand(ty, value, storage)?;
                self.set(instruction, values);
                return Ok(());
            }
            _ if arguments.first().is_some_and(|(ty, _)| *ty == Type::Int(128)) => {
                return self.wide_intrinsic(instruction, stem, arguments);
            }
            "fmuladd" => return self.multiply_add(instruction, arguments),
            "powi" => {
                let values = self.pair(arguments)?;
                let (ty, exponent) = (self.only_type(instruction)?, self.as_int(arguments.get(1))?);
                let result = self.std(library::POWN, ty, &[values.0, exponent]);
                self.set(instruction, vec![result]);
                return Ok(());
            }
            "ldexp" => {
                let values = self.pair(arguments)?;
                let (ty, exponent) = (self.only_type(instruction)?, self.as_int(arguments.get(1))?);
                let result = self.std(library::LDEXP, ty, &[values.0, exponent]);
                self.set(instruction, vec![result]);
                return Ok(());
            }
            "minimum" | "maximum" => return self.nan_minimum(instruction, stem == "maximum", arguments),
            "is.constant" => {
                let no = self.output.builder.bool_constant(false);
                self.set(instruction, vec![no]);
                return Ok(());
            }
            "fptosi.sat" | "fptoui.sat" => {
                return self.saturating_conversion(instruction, stem == "fptosi.sat", arguments);
            }
            "scmp" | "ucmp" => return self.three_way(instruction, stem == "scmp", arguments),
            "is.fpclass" => return self.float_class(instruction, arguments),
            "vector.reduce.add" | "vector.reduce.or" | "vector.reduce.and" | "vector.reduce.xor"
            | "vector.reduce.umax" | "vector.reduce.umin" | "vector.reduce.mul" => {
                return self.reduce(instruction, stem, arguments);
            }
            _ => {}
        }
        if stem.ends_with(".with.overflow") {
            return self.overflowing(instruction, stem, arguments);
        }
        if matches!(ty, Type::Half | Type::Float | Type::Double | Type::Vector(..))
            && let Some((number, count)) = library::intrinsic(stem)
        {
            return self.mathematics(instruction, number, count, arguments);
        }
        let element = match ty {
            Type::Vector(_, element) => element.as_ref(),
            ty => ty,
        };
        let width = match element {
            Type::Int(width @ 1..=64) => *width,
            Type::Int(_) => {
                return Err(Refusal::new(
                    format!("`llvm.{stem}` of numbers of the type {ty}"),
                    "use numbers of at most 64 bits there",
                ));
            }
            _ => return Err(self.unknown(name)),
        };
        let mut lists = Vec::new();
        for (ty, argument) in arguments {
            lists.push(self.operand(ty, argument, Storage::Global)?);
        }
        let count =
            usize::try_from(if matches!(ty, Type::Vector(..)) { ty.elements().unwrap_or(0) } else { 1 });
        let mut results = Vec::new();
        for index in 0..count.unwrap_or(0) {
            // Flags (`i1 false`) are the same for all elements.
            let operands: Vec<ValueId> =
                lists.iter().filter_map(|list| list.get(index).or(list.first()).copied()).collect();
            results.push(self.int_intrinsic(stem, name, width, &operands)?);
        }
        self.set(instruction, results);
        Ok(())
    }

    fn unknown(&self, name: &str) -> Refusal {
        Refusal::new(
            format!("the intrinsic `llvm.{name}`, which this version of oclave-rust does not know"),
            "report it with the source; until then, write it in another way",
        )
    }

    fn pair(&mut self, arguments: &[Typed]) -> Lowering<(ValueId, ValueId)> {
        let [(first_type, first), (second_type, second), ..] = arguments else {
            return Err("an intrinsic with too few operands".into());
        };
        Ok((self.scalar(first_type, first)?, self.scalar(second_type, second)?))
    }

    fn only_type(&mut self, instruction: &Instruction) -> Lowering<TypeId> {
        match leaves(&instruction.ty)?.as_slice() {
            [leaf] => Ok(self.leaf_type(leaf.scalar, Storage::Global)),
            _ => Err(format!("an intrinsic with a result of the type {}", instruction.ty).into()),
        }
    }

    /// An exponent as 32 bits.
    fn as_int(&mut self, argument: Option<&Typed>) -> Lowering<ValueId> {
        let Some((ty, value)) = argument else { return Err("an intrinsic with too few operands".into()) };
        let Some(width) = only_int(&leaves(ty)?) else { return Err("an exponent that is no number".into()) };
        let value = self.scalar(ty, value)?;
        Ok(self.sign_extended(value, width, 32))
    }

    fn int_intrinsic(
        &mut self,
        stem: &str,
        name: &str,
        width: u32,
        operands: &[ValueId],
    ) -> Lowering<ValueId> {
        let few = || Refusal::from("an intrinsic with too few operands");
        let first = *operands.first().ok_or_else(few)?;
        if width == 1 {
            return Err(Refusal::new(format!("`llvm.{stem}` of `bool`"), "convert it to `u8` there"));
        }
        let own = storage_width(width);
        let ty = self.int(width);
        let second = || operands.get(1).copied().ok_or_else(few);
        Ok(match stem {
            "ctpop" => self.op(Op::BitCount, ty, &[first]),
            "ctlz" => {
                let count = self.std(library::CLZ, ty, &[first]);
                self.minus(count, width, u64::from(own - width))
            }
            "cttz" => {
                // A bit beyond the width stops the count of odd widths.
                let value = if width == own {
                    first
                } else {
                    let end = self.number(width, 1 << width);
                    self.op(Op::BitwiseOr, ty, &[first, end])
                };
                self.std(library::CTZ, ty, &[value])
            }
            "bswap" => self.swap_bytes(first, width),
            "bitreverse" => self.reverse_bits(first, width)?,
            "abs" => {
                let value = self.sign_extended(first, width, own);
                let value = self.std(library::S_ABS, ty, &[value]);
                self.masked(value, width)
            }
            "umin" => self.std(library::U_MIN, ty, &[first, second()?]),
            "umax" => self.std(library::U_MAX, ty, &[first, second()?]),
            "smin" | "smax" => {
                let number = if stem == "smin" { library::S_MIN } else { library::S_MAX };
                let (a, b) = (self.sign_extended(first, width, own), second()?);
                let b = self.sign_extended(b, width, own);
                let value = self.std(number, ty, &[a, b]);
                self.masked(value, width)
            }
            "uadd.sat" | "usub.sat" | "sadd.sat" | "ssub.sat" => {
                self.saturating(stem, width, first, second()?)?
            }
            "ushl.sat" | "sshl.sat" => return Err(self.unknown(name)),
            "fshl" | "fshr" => {
                let third = operands.get(2).copied().ok_or_else(few)?;
                self.funnel(stem == "fshl", width, first, second()?, third)?
            }
            _ => return Err(self.unknown(name)),
        })
    }

    fn minus(&mut self, value: ValueId, width: u32, number: u64) -> ValueId {
        if number == 0 {
            return value;
        }
        let (ty, number) = (self.int(width), self.number(width, number));
        self.op(Op::ISub, ty, &[value, number])
    }

    pub(super) fn swap_bytes(&mut self, value: ValueId, width: u32) -> ValueId {
        let ty = self.int(width);
        let bytes = width / 8;
        let mut joined = self.number(width, 0);
        for byte in 0..bytes {
            let (from, to) = (byte * 8, (bytes - 1 - byte) * 8);
            let from = self.number(width, u64::from(from));
            let part = self.op(Op::ShiftRightLogical, ty, &[value, from]);
            let low = self.number(width, 0xff);
            let part = self.op(Op::BitwiseAnd, ty, &[part, low]);
            let to = self.number(width, u64::from(to));
            let part = self.op(Op::ShiftLeftLogical, ty, &[part, to]);
            joined = self.op(Op::BitwiseOr, ty, &[joined, part]);
        }
        joined
    }

    pub(super) fn reverse_bits(&mut self, value: ValueId, width: u32) -> Lowering<ValueId> {
        let own = storage_width(width);
        let ty = self.int(width);
        let mut value = value;
        let mut step = 1;
        while step < own {
            let pattern = (0..own).filter(|bit| bit / step % 2 == 0).fold(0_u64, |mask, bit| mask | 1 << bit);
            let (pattern, by) = (self.number(own, pattern), self.number(own, u64::from(step)));
            let low = self.op(Op::BitwiseAnd, ty, &[value, pattern]);
            let low = self.op(Op::ShiftLeftLogical, ty, &[low, by]);
            let high = self.op(Op::ShiftRightLogical, ty, &[value, by]);
            let high = self.op(Op::BitwiseAnd, ty, &[high, pattern]);
            value = self.op(Op::BitwiseOr, ty, &[low, high]);
            step *= 2;
        }
        if own == width {
            return Ok(value);
        }
        let by = self.number(own, u64::from(own - width));
        Ok(self.op(Op::ShiftRightLogical, ty, &[value, by]))
    }

    fn saturating(&mut self, stem: &str, width: u32, left: ValueId, right: ValueId) -> Lowering<ValueId> {
        let own = storage_width(width);
        let ty = self.int(width);
        let is_signed = stem.starts_with('s');
        let number = match stem {
            "uadd.sat" => library::U_ADD_SAT,
            "usub.sat" => library::U_SUB_SAT,
            "sadd.sat" => library::S_ADD_SAT,
            _ => library::S_SUB_SAT,
        };
        if width == own || stem == "usub.sat" {
            return Ok(self.std(number, ty, &[left, right]));
        }
        // What an odd width saturates at is not what its type does.
        if !is_signed {
            let sum = self.op(Op::IAdd, ty, &[left, right]);
            let most = self.number(width, mask(width));
            return Ok(self.std(library::U_MIN, ty, &[sum, most]));
        }
        let (left, right) = (self.sign_extended(left, width, own), self.sign_extended(right, width, own));
        let op = if stem == "sadd.sat" { Op::IAdd } else { Op::ISub };
        let sum = self.op(op, ty, &[left, right]);
        let most = self.number(own, mask(width - 1));
        let least = self.number(own, !mask(width - 1));
        let sum = self.std(library::S_MIN, ty, &[sum, most]);
        let sum = self.std(library::S_MAX, ty, &[sum, least]);
        Ok(self.masked(sum, width))
    }

    /// Bits of two numbers side by side, shifted.
    fn funnel(
        &mut self,
        is_left: bool,
        width: u32,
        high: ValueId,
        low: ValueId,
        by: ValueId,
    ) -> Lowering<ValueId> {
        if width != storage_width(width) {
            return Err(format!("a rotation of {width} bits").into());
        }
        let ty = self.int(width);
        let last = self.number(width, u64::from(width - 1));
        let by = self.op(Op::BitwiseAnd, ty, &[by, last]);
        if high == low {
            let by = if is_left {
                by
            } else {
                let zero = self.number(width, 0);
                let negative = self.op(Op::ISub, ty, &[zero, by]);
                self.op(Op::BitwiseAnd, ty, &[negative, last])
            };
            return Ok(self.std(library::ROTATE, ty, &[high, by]));
        }
        let one = self.number(width, 1);
        // `last - by` and a step of one: no shift is by the width.
        let rest = self.op(Op::ISub, ty, &[last, by]);
        if is_left {
            let left = self.op(Op::ShiftLeftLogical, ty, &[high, by]);
            let half = self.op(Op::ShiftRightLogical, ty, &[low, one]);
            let right = self.op(Op::ShiftRightLogical, ty, &[half, rest]);
            return Ok(self.op(Op::BitwiseOr, ty, &[left, right]));
        }
        let right = self.op(Op::ShiftRightLogical, ty, &[low, by]);
        let double = self.op(Op::ShiftLeftLogical, ty, &[high, one]);
        let left = self.op(Op::ShiftLeftLogical, ty, &[double, rest]);
        Ok(self.op(Op::BitwiseOr, ty, &[left, right]))
    }

    /// `{ result, whether it overflowed }`.
    fn overflowing(&mut self, instruction: &Instruction, stem: &str, arguments: &[Typed]) -> Lowering<()> {
        let Some((ty, _)) = arguments.first() else {
            return Err("an intrinsic with too few operands".into());
        };
        let Some(width) = only_int(&leaves(ty)?) else {
            return Err(Refusal::new(
                format!("`llvm.{stem}` of numbers of the type {ty}"),
                "use numbers of at most 64 bits there",
            ));
        };
        let (left, right) = self.pair(arguments)?;
        let own = storage_width(width);
        let (int, bool) = (self.int(width), self.bool());
        let (result, overflowed) = match stem {
            "uadd.with.overflow" => {
                let sum = self.binary_int(Binary::Add, width, left, right)?;
                (sum, self.compare_int(IntPredicate::Ult, width, sum, left))
            }
            "usub.with.overflow" => {
                let rest = self.binary_int(Binary::Sub, width, left, right)?;
                (rest, self.compare_int(IntPredicate::Ult, width, left, right))
            }
            "sadd.with.overflow" | "ssub.with.overflow" => {
                let is_sum = stem == "sadd.with.overflow";
                let op = if is_sum { Binary::Add } else { Binary::Sub };
                let result = self.binary_int(op, width, left, right)?;
                // The sign is wrong: that of the result differs from those that decide.
                let a = self.op(Op::BitwiseXor, int, &[left, result]);
                let other = if is_sum { result } else { left };
                let b = self.op(Op::BitwiseXor, int, &[right, other]);
                let both = self.op(Op::BitwiseAnd, int, &[a, b]);
                let sign = self.number(width, 1 << (width - 1));
                let bit = self.op(Op::BitwiseAnd, int, &[both, sign]);
                let zero = self.number(width, 0);
                (result, self.op(Op::INotEqual, bool, &[bit, zero]))
            }
            "umul.with.overflow" | "smul.with.overflow" if width < 64 => {
                // The product in twice the width tells.
                let is_signed = stem.starts_with('s');
                let wide = if width <= 16 { 32 } else { 64 };
                let wide_type = self.int(wide);
                let [a, b] = [left, right].map(|value| match is_signed {
                    true => self.sign_extended(value, width, wide),
                    false => self.resize(value, width, wide),
                });
                if width > 32 {
                    return Err(format!("a multiplication of {width} bits with a check").into());
                }
                let product = self.op(Op::IMul, wide_type, &[a, b]);
                let result = self.resize(product, wide, width);
                let back = match is_signed {
                    true => self.sign_extended(result, width, wide),
                    false => self.resize(result, width, wide),
                };
                (result, self.op(Op::INotEqual, bool, &[back, product]))
            }
            "umul.with.overflow" => {
                let product = self.op(Op::IMul, int, &[left, right]);
                let high = self.std(library::U_MUL_HI, int, &[left, right]);
                let zero = self.number(own, 0);
                (product, self.op(Op::INotEqual, bool, &[high, zero]))
            }
            "smul.with.overflow" => {
                let product = self.op(Op::IMul, int, &[left, right]);
                let high = self.std(library::S_MUL_HI, int, &[left, right]);
                let last = self.number(own, u64::from(own - 1));
                let sign = self.op(Op::ShiftRightArithmetic, int, &[product, last]);
                (product, self.op(Op::INotEqual, bool, &[high, sign]))
            }
            _ => return Err(self.unknown(stem)),
        };
        self.set(instruction, vec![result, overflowed]);
        Ok(())
    }

    /// `a * b + c`, rounded twice as Rust would write it.
    fn multiply_add(&mut self, instruction: &Instruction, arguments: &[Typed]) -> Lowering<()> {
        let mut lists = Vec::new();
        for (ty, argument) in arguments {
            lists.push(self.operand(ty, argument, Storage::Global)?);
        }
        let [a, b, c] = lists.as_slice() else { return Err("an intrinsic with too few operands".into()) };
        let mut results = Vec::new();
        for (leaf, ((a, b), c)) in leaves(&instruction.ty)?.iter().zip(a.iter().zip(b.iter()).zip(c.iter())) {
            let ty = self.leaf_type(leaf.scalar, Storage::Global);
            let product = self.op(Op::FMul, ty, &[*a, *b]);
            results.push(self.op(Op::FAdd, ty, &[product, *c]));
        }
        self.set(instruction, results);
        Ok(())
    }

    /// The larger or smaller number; NaN if one of them is.
    fn nan_minimum(
        &mut self,
        instruction: &Instruction,
        is_maximum: bool,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let (left, right) = self.pair(arguments)?;
        let (ty, bool) = (self.only_type(instruction)?, self.bool());
        let number = if is_maximum { library::F_MAX } else { library::F_MIN };
        let best = self.std(number, ty, &[left, right]);
        let sum = self.op(Op::FAdd, ty, &[left, right]);
        let is_nan = self.op(Op::Unordered, bool, &[left, right]);
        let result = self.op(Op::Select, ty, &[is_nan, sum, best]);
        self.set(instruction, vec![result]);
        Ok(())
    }

    /// Rust's `as`: what does not fit is the nearest number, NaN is 0.
    fn saturating_conversion(
        &mut self,
        instruction: &Instruction,
        is_signed: bool,
        arguments: &[Typed],
    ) -> Lowering<()> {
        let Some((from, value)) = arguments.first() else {
            return Err("an intrinsic with too few operands".into());
        };
        let values = self.operand(from, value, Storage::Global)?;
        if let (Type::Float | Type::Double, Type::Int(128), &[value]) = (from, &instruction.ty, &*values) {
            let result = self.float_to_wide(is_signed, from, value)?;
            self.set(instruction, vec![result.low, result.high]);
            return Ok(());
        }
        let (sources, targets) = (leaves(from)?, leaves(&instruction.ty)?);
        if sources.len() != targets.len() {
            return Err(Refusal::new(format!("a conversion from {from} to {}", instruction.ty), NARROWER));
        }
        let bool = self.bool();
        let mut results = Vec::new();
        for (leaf, value) in targets.iter().zip(values.iter()) {
            let Scalar::Int(width) = leaf.scalar else {
                return Err("a conversion to what is no number".into());
            };
            let own = storage_width(width);
            let ty = self.int(own);
            let op = if is_signed { Op::ConvertFToS } else { Op::ConvertFToU };
            let mut number = self.op(op, ty, &[*value]);
            self.output.builder.decorate(number, Decoration::SaturatedConversion, &[]);
            if own != width {
                if is_signed {
                    let most = self.number(own, mask(width - 1));
                    let least = self.number(own, !mask(width - 1));
                    number = self.std(library::S_MIN, ty, &[number, most]);
                    number = self.std(library::S_MAX, ty, &[number, least]);
                    number = self.masked(number, width);
                } else {
                    let most = self.number(own, mask(width));
                    number = self.std(library::U_MIN, ty, &[number, most]);
                }
            }
            let is_nan = self.op(Op::Unordered, bool, &[*value, *value]);
            let zero = self.number(own, 0);
            results.push(self.op(Op::Select, ty, &[is_nan, zero, number]));
        }
        self.set(instruction, results);
        Ok(())
    }

    /// -1, 0 or 1, as two numbers compare.
    fn three_way(&mut self, instruction: &Instruction, is_signed: bool, arguments: &[Typed]) -> Lowering<()> {
        let [(ty, left), (_, right), ..] = arguments else {
            return Err("an intrinsic with too few operands".into());
        };
        let (left, right) =
            (self.operand(ty, left, Storage::Global)?, self.operand(ty, right, Storage::Global)?);
        let (less, greater) = match is_signed {
            true => (IntPredicate::Slt, IntPredicate::Sgt),
            false => (IntPredicate::Ult, IntPredicate::Ugt),
        };
        let (sources, targets) = (leaves(ty)?, leaves(&instruction.ty)?);
        if sources.len() != targets.len() {
            return Err(format!("a comparison of values of the type {ty}").into());
        }
        let mut results = Vec::new();
        for ((source, target), (left, right)) in
            sources.iter().zip(&targets).zip(left.iter().zip(right.iter()))
        {
            let (Scalar::Int(width), Scalar::Int(to)) = (source.scalar, target.scalar) else {
                return Err(format!("a comparison of values of the type {ty}").into());
            };
            let result_type = self.int(to);
            let is_less = self.compare_int(less, width, *left, *right);
            let is_greater = self.compare_int(greater, width, *left, *right);
            let above = self.of_bool(is_greater, to, 1);
            let below = self.number(to, mask(to));
            results.push(self.op(Op::Select, result_type, &[is_less, below, above]));
        }
        self.set(instruction, results);
        Ok(())
    }

    /// Whether a number is of one of some classes: NaN, infinity, and so on.
    fn float_class(&mut self, instruction: &Instruction, arguments: &[Typed]) -> Lowering<()> {
        let [(ty, value), (_, Operand::Constant(Constant::Int(classes)))] = arguments else {
            return Err("a class of numbers that is calculated".into());
        };
        let (exponent, fraction, width) = match ty {
            Type::Half => (0x7c00_u64, 10, 16),
            Type::Float => (0x7f80_0000, 23, 32),
            Type::Double => (0x7ff0_0000_0000_0000, 52, 64),
            _ => return Err(format!("the class of a value of the type {ty}").into()),
        };
        let value = self.scalar(ty, value)?;
        let (int, bool) = (self.int(width), self.bool());
        let bits = self.op(Op::Bitcast, int, &[value]);
        let all = self.number(width, mask(width - 1));
        let size = self.op(Op::BitwiseAnd, int, &[bits, all]);
        let zero = self.number(width, 0);
        let is_negative = self.op(Op::SLessThan, bool, &[bits, zero]);
        let infinity = self.number(width, exponent);
        let quiet = self.number(width, exponent | 1 << (fraction - 1));
        let smallest = self.number(width, 1 << fraction);
        let mut found = self.output.builder.bool_constant(false);
        // In the order of the bits: two of NaNs, then by sign infinity, normal, subnormal, zero, and the positive ones.
        for class in 0..10_u32 {
            if classes >> class & 1 == 0 {
                continue;
            }
            let nan = self.compare_int(IntPredicate::Ugt, width, size, infinity);
            let is_quiet = self.compare_int(IntPredicate::Uge, width, size, quiet);
            let is_class = match class {
                0 => {
                    let loud = self.op(Op::LogicalNot, bool, &[is_quiet]);
                    self.op(Op::LogicalAnd, bool, &[nan, loud])
                }
                1 => is_quiet,
                _ => {
                    let of_size = match class {
                        2 | 9 => self.compare_int(IntPredicate::Eq, width, size, infinity),
                        3 | 8 => {
                            let low = self.compare_int(IntPredicate::Uge, width, size, smallest);
                            let high = self.compare_int(IntPredicate::Ult, width, size, infinity);
                            self.op(Op::LogicalAnd, bool, &[low, high])
                        }
                        4 | 7 => {
                            let low = self.compare_int(IntPredicate::Ne, width, size, zero);
                            let high = self.compare_int(IntPredicate::Ult, width, size, smallest);
                            self.op(Op::LogicalAnd, bool, &[low, high])
                        }
                        _ => self.compare_int(IntPredicate::Eq, width, size, zero),
                    };
                    let sign = match class {
                        2..=5 => is_negative,
                        _ => self.op(Op::LogicalNot, bool, &[is_negative]),
                    };
                    self.op(Op::LogicalAnd, bool, &[of_size, sign])
                }
            };
            found = self.op(Op::LogicalOr, bool, &[found, is_class]);
        }
        self.set(instruction, vec![found]);
        Ok(())
    }

    fn reduce(&mut self, instruction: &Instruction, stem: &str, arguments: &[Typed]) -> Lowering<()> {
        let Some((ty, vector)) = arguments.first() else {
            return Err("an intrinsic with too few operands".into());
        };
        let Type::Int(width @ 2..=64) = instruction.ty else {
            return Err(format!("`llvm.{stem}` of the type {ty}").into());
        };
        let values = self.operand(ty, vector, Storage::Global)?;
        let mut values = values.iter().copied();
        let Some(mut joined) = values.next() else { return Err("a vector without elements".into()) };
        let int = self.int(width);
        for value in values {
            joined = match stem {
                "vector.reduce.add" => self.binary_int(Binary::Add, width, joined, value)?,
                "vector.reduce.mul" => self.binary_int(Binary::Mul, width, joined, value)?,
                "vector.reduce.or" => self.binary_int(Binary::Or, width, joined, value)?,
                "vector.reduce.and" => self.binary_int(Binary::And, width, joined, value)?,
                "vector.reduce.xor" => self.binary_int(Binary::Xor, width, joined, value)?,
                "vector.reduce.umax" => self.std(library::U_MAX, int, &[joined, value]),
                _ => self.std(library::U_MIN, int, &[joined, value]),
            };
        }
        self.set(instruction, vec![joined]);
        Ok(())
    }
}

/// The name of an intrinsic without the types behind it: `fptosi.sat` of `fptosi.sat.i32.f32`.
fn stem(name: &str) -> &str {
    let mut stem = name;
    while let Some((head, tail)) = stem.rsplit_once('.') {
        let is_type = tail
            .strip_prefix(['i', 'f', 'p', 'v'])
            .is_some_and(|rest| !rest.is_empty() && rest.chars().next().is_some_and(|c| c.is_ascii_digit()));
        if !is_type {
            break;
        }
        stem = head;
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn stems() {
        assert_eq!(stem("fptosi.sat.i32.f32"), "fptosi.sat");
        assert_eq!(stem("memcpy.p0.p0.i64"), "memcpy");
        assert_eq!(stem("umul.with.overflow.i64"), "umul.with.overflow");
        assert_eq!(stem("vector.reduce.add.v4i32"), "vector.reduce.add");
    }
}
