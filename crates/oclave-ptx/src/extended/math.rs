//! Functions of floating-point numbers that a few instructions say exactly.

use spirv::OpenclStd100Op as Cl;

use crate::body::{Body, ptx};
use crate::error::{Step, need};
use crate::operand::{Class, Kind, Operand, Ty};

impl Body<'_, '_, '_> {
    /// A function of floating-point numbers; `None` where `cl` is not one, or comes from the
    /// library.
    pub(crate) fn math_function(
        &mut self,
        cl: Cl,
        kind: Kind,
        values: &[(Kind, Operand)],
    ) -> Step<Option<Operand>> {
        let Some(&(of, a)) = values.first() else { return Ok(None) };
        if !of.is_float() && cl != Cl::nan {
            return Ok(None);
        }
        let two = || need(values.get(1).map(|(_, value)| *value));
        let three = || need(values.get(2).map(|(_, value)| *value));
        let float = kind.float();
        Ok(Some(match cl {
            Cl::fma | Cl::mad => self.fused(kind, a, two()?, three()?),
            Cl::ceil => self.rounded_to_integer(kind, a, "rpi"),
            Cl::floor => self.rounded_to_integer(kind, a, "rmi"),
            Cl::trunc => self.rounded_to_integer(kind, a, "rzi"),
            Cl::rint => self.rounded_to_integer(kind, a, "rni"),
            Cl::round => self.rounded_away(kind, a),
            Cl::fabs => self.magnitude(kind, a),
            Cl::copysign => {
                let sign = 1_u64 << (kind.bits() - 1);
                self.bit_mix(kind, a, two()?, sign)
            }
            Cl::fmin | Cl::fmin_common => self.smaller(kind, a, two()?, true),
            Cl::fmax | Cl::fmax_common => self.smaller(kind, a, two()?, false),
            Cl::fclamp => {
                let above = self.smaller(kind, a, two()?, false);
                self.smaller(kind, above, three()?, true)
            }
            Cl::fdim => {
                let b = two()?;
                let difference = self.op2(kind.class(), &format!("sub.rn.{float}"), float, a, b);
                // Greater, or one of them is no number, and neither is the difference.
                let counts = self.compare("gtu", float, a, b);
                self.pick(kind, counts, difference, Operand::Immediate(0))
            }
            Cl::maxmag | Cl::minmag => self.by_magnitude(kind, a, two()?, cl == Cl::maxmag),
            Cl::nan => {
                let quiet: u64 = match kind {
                    Kind::F16 => 0x7e00,
                    Kind::F32 => 0x7fc0_0000,
                    _ => 0x7ff8_0000_0000_0000,
                };
                let payload = if of == Kind::I16 { self.half_of_bits(a) } else { a };
                self.integer("or", kind, kind.untyped(), payload, Operand::Immediate(quiet))
            }
            Cl::sqrt => self.square_root(kind, a),
            Cl::rsqrt => self.reciprocal_root(kind, a),
            Cl::nextafter => self.next_after(kind, a, two()?),
            Cl::ldexp => self.scaled(kind, a, two()?),
            Cl::bitselect => {
                let [a, b, c] = [a, two()?, three()?];
                match kind {
                    Kind::F16 => {
                        let [a, b, c] = [a, b, c].map(|value| self.half_bits(value));
                        let bits = self.bit_select(Kind::I16, a, b, c);
                        self.half_of_bits(bits)
                    }
                    kind => self.bit_select(kind, a, b, c),
                }
            }
            Cl::select => self.select_by_bits(values.get(2).copied(), kind, a, two()?)?,
            _ => return Ok(None),
        }))
    }

    /// An integer of the same type.
    fn rounded_to_integer(&mut self, kind: Kind, a: Operand, how: &str) -> Operand {
        let float = kind.float();
        self.op1(kind.class(), &format!("cvt.{how}.{float}.{float}"), float, a)
    }

    /// The nearest integer, halves away from zero: `trunc(a + copysign(largest below one half, a))`
    /// where that is exact.
    fn rounded_away(&mut self, kind: Kind, a: Operand) -> Operand {
        if kind == Kind::F16 {
            let single = self.float_to_float(kind, Kind::F32, a, None);
            let rounded = self.rounded_away(Kind::F32, single);
            return self.float_to_float(Kind::F32, kind, rounded, None);
        }
        let float = kind.float();
        let truncated = self.rounded_to_integer(kind, a, "rzi");
        // Exact: both have the same sign, and they are near each other.
        let rest = self.op2(kind.class(), &format!("sub.rn.{float}"), float, a, truncated);
        let rest = self.magnitude(kind, rest);
        let (half, one) = match kind {
            Kind::F32 => (u64::from(0.5_f32.to_bits()), u64::from(1.0_f32.to_bits())),
            _ => (0.5_f64.to_bits(), 1.0_f64.to_bits()),
        };
        let goes = self.compare("ge", float, rest, Operand::Immediate(half));
        let sign = 1_u64 << (kind.bits() - 1);
        let step = self.bit_mix(kind, Operand::Immediate(one), a, sign);
        let moved = self.op2(kind.class(), &format!("add.rn.{float}"), float, truncated, step);
        let result = self.pick(kind, goes, moved, truncated);
        // Infinities minus themselves are no numbers, which compare as false: the truncated value
        // stays.
        self.bit_mix(kind, result, a, sign)
    }

    pub(crate) fn magnitude(&mut self, kind: Kind, a: Operand) -> Operand {
        if kind == Kind::F16 {
            let bits = self.half_bits(a);
            let bits = self.op2(Class::B32, "and.b32", Ty::B32, bits, Operand::Immediate(0x7fff));
            return self.half_of_bits(bits);
        }
        self.op1(kind.class(), &format!("abs.{}", kind.float()), kind.float(), a)
    }

    /// The bits of `b` where `mask` has ones, and of `a` elsewhere.
    fn bit_mix(&mut self, kind: Kind, a: Operand, b: Operand, mask: u64) -> Operand {
        let of = match kind {
            Kind::F64 => Kind::I64,
            _ => Kind::I32,
        };
        let half = kind == Kind::F16;
        let (a, b) = if half { (self.half_bits(a), self.half_bits(b)) } else { (a, b) };
        let kept = self.integer("and", of, of.untyped(), a, Operand::Immediate(!mask & of.mask()));
        let taken = self.integer("and", of, of.untyped(), b, Operand::Immediate(mask));
        let both = self.integer("or", of, of.untyped(), kept, taken);
        if half { self.half_of_bits(both) } else { both }
    }

    /// The smaller or the larger number; the other one where one is no number.
    pub(crate) fn smaller(&mut self, kind: Kind, a: Operand, b: Operand, smaller: bool) -> Operand {
        let name = if smaller { "min" } else { "max" };
        if kind == Kind::F16 && !self.cx.target.at_least(8, 0) {
            let (a, b) = (self.float_if_half(kind, a), self.float_if_half(kind, b));
            let result = self.op2(Class::B32, &format!("{name}.f32"), Ty::F32, a, b);
            return self.float_to_float(Kind::F32, kind, result, None);
        }
        self.op2(kind.class(), &format!("{name}.{}", kind.float()), kind.float(), a, b)
    }

    fn by_magnitude(&mut self, kind: Kind, a: Operand, b: Operand, larger: bool) -> Operand {
        let (x, y) = (self.magnitude(kind, a), self.magnitude(kind, b));
        let relation = if larger { "gt" } else { "lt" };
        let first = self.compare(relation, kind.float(), x, y);
        let second = self.compare(relation, kind.float(), y, x);
        let equal = self.smaller(kind, a, b, !larger);
        let other = self.pick(kind, second, b, equal);
        self.pick(kind, first, a, other)
    }

    pub(crate) fn square_root(&mut self, kind: Kind, a: Operand) -> Operand {
        match kind {
            Kind::F16 => {
                let single = self.float_to_float(kind, Kind::F32, a, None);
                let root = self.op1(Class::B32, "sqrt.rn.f32", Ty::F32, single);
                self.float_to_float(Kind::F32, kind, root, None)
            }
            Kind::F32 if !self.cx.target.precise_division => {
                self.op1(Class::B32, "sqrt.approx.f32", Ty::F32, a)
            }
            kind => self.op1(kind.class(), &format!("sqrt.rn.{}", kind.float()), kind.float(), a),
        }
    }

    /// `1 / sqrt(a)`: the hardware's in single precision, whose error is below OpenCL's 2 ulp.
    fn reciprocal_root(&mut self, kind: Kind, a: Operand) -> Operand {
        match kind {
            Kind::F16 => {
                let single = self.float_to_float(kind, Kind::F32, a, None);
                let root = self.op1(Class::B32, "rsqrt.approx.f32", Ty::F32, single);
                self.float_to_float(Kind::F32, kind, root, None)
            }
            Kind::F32 => self.op1(Class::B32, "rsqrt.approx.f32", Ty::F32, a),
            _ => {
                let root = self.op1(Class::B64, "sqrt.rn.f64", Ty::F64, a);
                self.op1(Class::B64, "rcp.rn.f64", Ty::F64, root)
            }
        }
    }

    /// The next number towards `b`: numbers of one sign are in the order of their bits.
    fn next_after(&mut self, kind: Kind, a: Operand, b: Operand) -> Operand {
        if kind == Kind::F16 {
            // Through the bits, in 32-bit registers.
            let (x, y) = (self.half_bits(a), self.half_bits(b));
            let bits = self.next_bits(Kind::I16, kind, x, a, b, y);
            return self.half_of_bits(bits);
        }
        let of = if kind == Kind::F64 { Kind::I64 } else { Kind::I32 };
        self.next_bits(of, kind, a, a, b, b)
    }

    fn next_bits(
        &mut self,
        of: Kind,
        kind: Kind,
        bits: Operand,
        a: Operand,
        b: Operand,
        b_bits: Operand,
    ) -> Operand {
        let float = kind.float();
        let (sign, zero) = (1_u64 << (kind.bits() - 1), Operand::Immediate(0));
        let (a, b) = (self.in_register(a, kind.class()), self.in_register(b, kind.class()));
        let up = self.integer("add", of, of.signed(), bits, Operand::Immediate(1));
        let down = self.integer("sub", of, of.signed(), bits, Operand::Immediate(1));
        let rises = self.compare("lt", float, a, b);
        let rises = self.bool_as(rises, 1);
        let negative = self.integer("and", of, of.untyped(), bits, Operand::Immediate(sign));
        let negative = self.compare("ne", of.untyped(), negative, zero);
        let negative = self.bool_as(negative, 1);
        let differs = self.op2(Class::B32, "xor.b32", Ty::B32, rises, negative);
        let away = self.compare("ne", Ty::U32, differs, zero);
        let mut result = self.pick(of, away, up, down);
        // From zero: the smallest number with the sign of `b`.
        let is_zero = self.compare("eq", float, a, zero);
        let b_sign = self.integer("and", of, of.untyped(), b_bits, Operand::Immediate(sign));
        let smallest = self.integer("or", of, of.untyped(), b_sign, Operand::Immediate(1));
        result = self.pick(of, is_zero, smallest, result);
        let equal = self.compare("eq", float, a, b);
        result = self.pick(of, equal, b_bits, result);
        let quiet: u64 = match kind {
            Kind::F16 => 0x7e00,
            Kind::F32 => 0x7fc0_0000,
            _ => 0x7ff8_0000_0000_0000,
        };
        let unordered = self.register(Class::Pred);
        ptx!(self, "setp.nan.{float} {unordered}, {a}, {b}");
        self.pick(of, unordered, Operand::Immediate(quiet), result)
    }
}
