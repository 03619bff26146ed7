//! Conversions between numbers, with their rounding modes and saturation.

use oclave_spirv::{Instruction, Op};

use super::{Body, ptx};
use crate::error::{Step, Stop};
use crate::operand::{Class, Kind, Operand, Ty};

/// `FPRoundingMode` of SPIR-V.
const TO_EVEN: u32 = 0;
const TO_ZERO: u32 = 1;
const UP: u32 = 2;
const DOWN: u32 = 3;

impl<'m> Body<'_, '_, 'm> {
    /// An integer in 64 bits.
    pub(crate) fn widen(&mut self, from: Kind, value: Operand, signed: bool) -> Operand {
        self.resize(from, Kind::I64, value, signed)
    }

    /// An integer (or boolean) of another width.
    pub(crate) fn resize(&mut self, from: Kind, to: Kind, value: Operand, signed: bool) -> Operand {
        if from == to {
            return value;
        }
        if let Operand::Immediate(bits) = value {
            let bits = if signed { crate::constants::sign_extend(bits, from.bits()) as u64 } else { bits };
            return Operand::Immediate(bits & to.mask());
        }
        match (from.class(), to.class()) {
            (Class::Pred, _) => {
                let number = self.bool_as(value, if signed { u64::MAX } else { 1 });
                self.resize(Kind::I32, to, number, signed)
            }
            (_, Class::Pred) => self.compare("ne", from.signed(), value, Operand::Immediate(0)),
            (Class::B64, Class::B64) => value,
            (Class::B64, _) => {
                let low = self.op1(Class::B32, "cvt.u32.u64", Ty::U64, value);
                self.masked(to, low)
            }
            (_, Class::B64) => {
                let value = if signed { self.with_sign(from, value) } else { value };
                let name = if signed { "cvt.s64.s32" } else { "cvt.u64.u32" };
                self.op1(Class::B64, name, Ty::U32, value)
            }
            _ if to.bits() > from.bits() => {
                let value = if signed { self.with_sign(from, value) } else { value };
                if signed { self.masked(to, value) } else { value }
            }
            _ => self.masked(to, value),
        }
    }

    /// The 16 bits of a number of half precision, in a 32-bit register.
    pub(crate) fn half_bits(&mut self, value: Operand) -> Operand {
        match value {
            Operand::Immediate(bits) => Operand::Immediate(bits & 0xffff),
            _ => self.op1(Class::B32, "cvt.u32.u16", Ty::U16, value),
        }
    }

    /// The number of half precision that has these bits.
    pub(crate) fn half_of_bits(&mut self, bits: Operand) -> Operand {
        match bits {
            Operand::Immediate(bits) => Operand::Immediate(bits & 0xffff),
            _ => self.op1(Class::B16, "cvt.u16.u32", Ty::U32, bits),
        }
    }

    pub(crate) fn convert(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<1>(instruction, 0)?;
        let (id, _) = self.result(instruction)?;
        let of_id = self.cx.facts.of(id);
        let from = self.kind_of(ids[0])?;
        self.lanes(instruction, ids, |body, to, [a]| {
            Ok(match op {
                Op::UConvert if of_id.saturated => body.clamped(from, to, a, false, false)?,
                Op::UConvert | Op::ConvertPtrToU | Op::ConvertUToPtr => body.resize(from, to, a, false),
                Op::SConvert if of_id.saturated => body.clamped(from, to, a, true, true)?,
                Op::SConvert => body.resize(from, to, a, true),
                Op::SatConvertSToU => body.clamped(from, to, a, true, false)?,
                Op::SatConvertUToS => body.clamped(from, to, a, false, true)?,
                Op::FConvert => body.float_to_float(from, to, a, of_id.rounding),
                Op::ConvertSToF | Op::ConvertUToF => {
                    body.integer_to_float(from, to, a, op == Op::ConvertSToF, of_id.rounding)
                }
                _ => {
                    body.float_to_integer(from, to, a, op == Op::ConvertFToS, of_id.saturated, of_id.rounding)
                }
            })
        })
    }

    /// An integer of another width or signedness, at the nearest number that there is.
    pub(crate) fn clamped(
        &mut self,
        from: Kind,
        to: Kind,
        value: Operand,
        from_signed: bool,
        to_signed: bool,
    ) -> Step<Operand> {
        if from.is_float() || to.is_float() {
            return Err(Stop::Broken("its operands are no integers"));
        }
        // In 64 bits everything but unsigned numbers of 64 bits has a sign.
        let wide = self.widen(from, value, from_signed);
        let bits = to.bits();
        let largest = if to_signed { (1_u64 << (bits - 1)) - 1 } else { to.mask() };
        let smallest = if to_signed { (-1_i64 << (bits - 1)) as u64 } else { 0 };
        let result = if from_signed {
            let above = if !to_signed && bits == 64 {
                wide
            } else {
                self.op2(Class::B64, "min.s64", Ty::S64, wide, Operand::Immediate(largest))
            };
            self.op2(Class::B64, "max.s64", Ty::S64, above, Operand::Immediate(smallest))
        } else {
            self.op2(Class::B64, "min.u64", Ty::U64, wide, Operand::Immediate(largest))
        };
        Ok(self.resize(Kind::I64, to, result, false))
    }

    /// A floating-point number of another width.
    pub(crate) fn float_to_float(
        &mut self,
        from: Kind,
        to: Kind,
        value: Operand,
        rounding: Option<u32>,
    ) -> Operand {
        let rounds = match rounding {
            _ if to.bits() >= from.bits() => "",
            Some(TO_ZERO) => ".rz",
            Some(UP) => ".rp",
            Some(DOWN) => ".rm",
            _ => ".rn",
        };
        if from == to {
            return value;
        }
        let value = self.in_register(value, from.class());
        let d = self.register(to.class());
        ptx!(self, "cvt{rounds}.{}.{} {d}, {value}", to.float(), from.float());
        d
    }

    /// The nearest floating-point number, or the one that the rounding mode says.
    pub(crate) fn integer_to_float(
        &mut self,
        from: Kind,
        to: Kind,
        value: Operand,
        signed: bool,
        rounding: Option<u32>,
    ) -> Operand {
        let rounds = match rounding {
            Some(TO_ZERO) => "rz",
            Some(UP) => "rp",
            Some(DOWN) => "rm",
            _ => "rn",
        };
        let value = if signed { self.with_sign(from, value) } else { value };
        let value = self.in_register(value, from.class());
        let ty = if signed { from.signed() } else { from.unsigned() };
        let d = self.register(to.class());
        ptx!(self, "cvt.{rounds}.{}.{ty} {d}, {value}", to.float());
        d
    }

    /// An integer of a floating-point number. Where it does not fit, it saturates if that is asked
    /// for, and a NaN is 0.
    pub(crate) fn float_to_integer(
        &mut self,
        from: Kind,
        to: Kind,
        value: Operand,
        signed: bool,
        saturated: bool,
        rounding: Option<u32>,
    ) -> Operand {
        let rounds = match rounding {
            Some(TO_EVEN) => "rni",
            Some(UP) => "rpi",
            Some(DOWN) => "rmi",
            _ => "rzi",
        };
        let value = self.in_register(value, from.class());
        // Narrow results wrap around, as on other devices, unless they saturate.
        let wraps = to.is_narrow() && !saturated;
        let ty = if signed || wraps { to.signed() } else { to.unsigned() };
        let converted = self.register(to.class());
        ptx!(self, "cvt.{rounds}.{ty}.{} {converted}, {value}", from.float());
        if !saturated {
            return self.masked(to, converted);
        }
        let mut result = converted;
        if to.is_narrow() {
            if signed {
                let (largest, smallest) =
                    ((1_u64 << (to.bits() - 1)) - 1, (-1_i64 << (to.bits() - 1)) as u64);
                let below = self.op2(Class::B32, "min.s32", Ty::S32, converted, Operand::Immediate(largest));
                let inside = self.op2(Class::B32, "max.s32", Ty::S32, below, Operand::Immediate(smallest));
                result = self.masked(to, inside);
            } else {
                result = self.op2(Class::B32, "min.u32", Ty::U32, converted, Operand::Immediate(to.mask()));
            }
        }
        let is_nan = self.compare("nan", from.float(), value, value);
        self.pick(to, is_nan, Operand::Immediate(0), result)
    }
}
