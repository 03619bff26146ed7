//! `ldexp`. The library's cuts off bits of subnormal results, and makes infinity of what is no
//! number.

use crate::body::Body;
use crate::extended::common::bits_of;
use crate::operand::{Class, Kind, Operand, Ty};

/// Numbers of single precision leave its range when they are scaled by so many powers of two.
const SINGLE: i32 = 400;
/// Exponents of double precision.
const LEAST: i32 = -1022;
const MOST: i32 = 1023;
/// A step down leaves room for 53 bits. So only one of several steps rounds, or the result is zero.
const DOWN: i32 = LEAST + 53;

impl Body<'_, '_, '_> {
    /// `a * 2^n`, correctly rounded.
    pub(crate) fn scaled(&mut self, kind: Kind, a: Operand, n: Operand) -> Operand {
        if kind != Kind::F64 {
            // Exact in double precision, so that it is rounded once.
            let double = self.float_to_float(kind, Kind::F64, a, None);
            let n = self.exponent_within(n, -SINGLE, SINGLE);
            let factor = self.power_of_two(n);
            let result = self.multiply(Kind::F64, double, factor);
            return self.float_to_float(Kind::F64, kind, result, None);
        }
        let (mut result, mut rest) = (a, n);
        for _ in 0..2 {
            let above = self.compare("gt", Ty::S32, rest, immediate(MOST));
            let below = self.compare("lt", Ty::S32, rest, immediate(LEAST));
            let factor = self.pick(kind, above, power(MOST), power(0));
            let factor = self.pick(kind, below, power(DOWN), factor);
            result = self.multiply(kind, result, factor);
            let step = self.pick(Kind::I32, above, immediate(-MOST), immediate(0));
            let step = self.pick(Kind::I32, below, immediate(-DOWN), step);
            rest = self.op2(Class::B32, "add.s32", Ty::S32, rest, step);
        }
        let rest = self.exponent_within(rest, LEAST, MOST);
        let factor = self.power_of_two(rest);
        self.multiply(kind, result, factor)
    }

    fn exponent_within(&mut self, n: Operand, least: i32, most: i32) -> Operand {
        let above = self.op2(Class::B32, "max.s32", Ty::S32, n, immediate(least));
        self.op2(Class::B32, "min.s32", Ty::S32, above, immediate(most))
    }

    /// `2^n` in double precision, for its exponents.
    fn power_of_two(&mut self, n: Operand) -> Operand {
        let exponent = self.op2(Class::B32, "add.s32", Ty::S32, n, immediate(MOST));
        let wide = self.op1(Class::B64, "cvt.u64.u32", Ty::U32, exponent);
        self.op2(Class::B64, "shl.b64", Ty::B64, wide, Operand::Immediate(52))
    }
}

fn immediate(n: i32) -> Operand {
    Operand::Immediate(u64::from(n.cast_unsigned()))
}

fn power(n: i32) -> Operand {
    bits_of(Kind::F64, f64::from(n).exp2())
}
