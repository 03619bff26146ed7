//! Functions of integers.

use oclave_spirv::Op;
use spirv::OpenclStd100Op as Cl;

use crate::body::{Body, ptx};
use crate::error::{Step, need};
use crate::operand::{Class, Kind, Operand, Ty};

impl Body<'_, '_, '_> {
    /// A function of integers; `None` where `cl` is not one.
    pub(crate) fn integer_function(
        &mut self,
        cl: Cl,
        kind: Kind,
        values: &[(Kind, Operand)],
    ) -> Step<Option<Operand>> {
        if kind.is_float() || !is_integer_function(cl) {
            return Ok(None);
        }
        let value = |index: usize| values.get(index).map(|(_, value)| *value);
        let (from, a) = need(values.first().copied())?;
        let two = || need(value(1));
        let three = || need(value(2));
        let x = kind.untyped();
        Ok(Some(match cl {
            Cl::s_abs => {
                let signed = self.with_sign(kind, a);
                let magnitude =
                    self.op1(kind.class(), &format!("abs.{}", kind.signed()), kind.signed(), signed);
                self.masked(kind, magnitude)
            }
            Cl::u_abs => a,
            Cl::s_abs_diff => self.difference(kind, a, two()?, true),
            Cl::u_abs_diff => self.difference(kind, a, two()?, false),
            Cl::s_add_sat | Cl::u_add_sat | Cl::s_sub_sat | Cl::u_sub_sat => {
                self.saturated(cl, kind, a, two()?)?
            }
            Cl::s_hadd | Cl::u_hadd | Cl::s_rhadd | Cl::u_rhadd => self.average(cl, kind, a, two()?)?,
            Cl::s_max | Cl::u_max => self.extremum(kind, a, two()?, "max", cl == Cl::s_max),
            Cl::s_min | Cl::u_min => self.extremum(kind, a, two()?, "min", cl == Cl::s_min),
            Cl::s_clamp | Cl::u_clamp => {
                let signed = cl == Cl::s_clamp;
                let above = self.extremum(kind, a, two()?, "max", signed);
                self.extremum(kind, above, three()?, "min", signed)
            }
            Cl::clz => self.leading_zeros(kind, a),
            Cl::ctz => {
                // A bit above the number stops the search where the number has none.
                let a = match kind.is_narrow() {
                    true => self.op2(Class::B32, "or.b32", Ty::B32, a, Operand::Immediate(1 << kind.bits())),
                    false => a,
                };
                let reversed = self.op1(kind.class(), &format!("brev.{x}"), x, a);
                let count = self.op1(Class::B32, &format!("clz.{x}"), x, reversed);
                self.resize(Kind::I32, kind, count, false)
            }
            Cl::popcount => self.population(from, kind, a),
            Cl::s_mul_hi => self.high_product(kind, a, two()?, true),
            Cl::u_mul_hi => self.high_product(kind, a, two()?, false),
            Cl::s_mad_hi | Cl::u_mad_hi => {
                let high = self.high_product(kind, a, two()?, cl == Cl::s_mad_hi);
                let sum = self.integer("add", kind, kind.signed(), high, three()?);
                self.masked(kind, sum)
            }
            Cl::u_mad_sat | Cl::s_mad_sat => {
                self.saturated_product(kind, a, two()?, three()?, cl == Cl::s_mad_sat)?
            }
            Cl::rotate => self.rotated(kind, a, two()?)?,
            Cl::u_upsample | Cl::s_upsample => {
                let high = self.resize(from, kind, a, false);
                let by = Operand::Immediate(from.bits().into());
                let high = self.shift(Op::ShiftLeftLogical, kind, high, Kind::I32, by)?;
                let low = self.resize(from, kind, two()?, false);
                self.integer("or", kind, x, high, low)
            }
            Cl::s_mad24 | Cl::u_mad24 => {
                let name = if cl == Cl::s_mad24 { "mad24.lo.s32" } else { "mad24.lo.u32" };
                self.op3(Class::B32, name, Ty::S32, [a, two()?, three()?])
            }
            Cl::s_mul24 | Cl::u_mul24 => {
                let name = if cl == Cl::s_mul24 { "mul24.lo.s32" } else { "mul24.lo.u32" };
                self.op2(Class::B32, name, Ty::S32, a, two()?)
            }
            Cl::bitselect => self.bit_select(kind, a, two()?, three()?),
            _ => self.select_by_bits(values.get(2).copied(), kind, a, two()?)?,
        }))
    }

    /// `bitselect(a, b, c)`: bits of `b` where `c` has ones.
    pub(crate) fn bit_select(&mut self, kind: Kind, a: Operand, b: Operand, c: Operand) -> Operand {
        let x = kind.untyped();
        let differs = self.integer("xor", kind, x, a, b);
        let chosen = self.integer("and", kind, x, differs, c);
        self.integer("xor", kind, x, a, chosen)
    }

    /// `select(a, b, c)`: lanes ask for the top bit of `c`, scalars whether it is zero.
    pub(crate) fn select_by_bits(
        &mut self,
        by: Option<(Kind, Operand)>,
        kind: Kind,
        a: Operand,
        b: Operand,
    ) -> Step<Operand> {
        let (of, by) = need(by)?;
        let zero = Operand::Immediate(0);
        let chosen = match self.in_vector {
            true => {
                let by = self.with_sign(of, by);
                self.compare("lt", of.signed(), by, zero)
            }
            false => self.compare("ne", of.signed(), by, zero),
        };
        Ok(self.pick(kind, chosen, b, a))
    }

    fn extremum(&mut self, kind: Kind, a: Operand, b: Operand, name: &str, signed: bool) -> Operand {
        let (a, b) = if signed { (self.with_sign(kind, a), self.with_sign(kind, b)) } else { (a, b) };
        let ty = if signed { kind.signed() } else { kind.unsigned() };
        let result = self.integer(name, kind, ty, a, b);
        if signed { self.masked(kind, result) } else { result }
    }

    fn difference(&mut self, kind: Kind, a: Operand, b: Operand, signed: bool) -> Operand {
        let larger = self.extremum(kind, a, b, "max", signed);
        let smaller = self.extremum(kind, a, b, "min", signed);
        let difference = self.integer("sub", kind, kind.signed(), larger, smaller);
        self.masked(kind, difference)
    }

    pub(crate) fn leading_zeros(&mut self, kind: Kind, a: Operand) -> Operand {
        let x = kind.untyped();
        let count = self.op1(Class::B32, &format!("clz.{x}"), x, a);
        match kind.is_narrow() {
            true => {
                let above = Operand::Immediate(u64::from(32 - kind.bits()));
                self.op2(Class::B32, "sub.s32", Ty::S32, count, above)
            }
            false => self.resize(Kind::I32, kind, count, false),
        }
    }

    fn saturated(&mut self, cl: Cl, kind: Kind, a: Operand, b: Operand) -> Step<Operand> {
        let (signed, adds) = match cl {
            Cl::s_add_sat => (true, true),
            Cl::u_add_sat => (false, true),
            Cl::s_sub_sat => (true, false),
            _ => (false, false),
        };
        let name = if adds { "add" } else { "sub" };
        if kind.is_narrow() {
            let (a, b) = if signed { (self.with_sign(kind, a), self.with_sign(kind, b)) } else { (a, b) };
            let result = self.op2(Class::B32, &format!("{name}.s32"), Ty::S32, a, b);
            return self.clamped(Kind::I32, kind, result, true, signed);
        }
        if signed && kind == Kind::I32 {
            return Ok(self.op2(Class::B32, &format!("{name}.sat.s32"), Ty::S32, a, b));
        }
        let result = self.integer(name, kind, kind.signed(), a, b);
        if !signed {
            let (wrapped, limit) = if adds {
                (self.compare("lo", kind.unsigned(), result, a), Operand::Immediate(kind.mask()))
            } else {
                (self.compare("lo", kind.unsigned(), a, b), Operand::Immediate(0))
            };
            return Ok(self.pick(kind, wrapped, limit, result));
        }
        // Signed numbers of 64 bits: too large if the operands' signs say so and the result's does
        // not agree.
        let x = kind.untyped();
        let against = self.integer("xor", kind, x, a, b);
        let moved = self.integer("xor", kind, x, a, result);
        let overflows = if adds {
            let same = self.op1(kind.class(), &format!("not.{x}"), x, against);
            self.integer("and", kind, x, same, moved)
        } else {
            self.integer("and", kind, x, against, moved)
        };
        let overflowed = self.compare("lt", kind.signed(), overflows, Operand::Immediate(0));
        let limit = self.limit_by_sign(kind, a);
        Ok(self.pick(kind, overflowed, limit, result))
    }

    /// The largest or smallest signed number, as the sign of `a` says.
    fn limit_by_sign(&mut self, kind: Kind, a: Operand) -> Operand {
        let negative = self.compare("lt", kind.signed(), a, Operand::Immediate(0));
        let (largest, smallest) = (kind.mask() >> 1, 1_u64 << (kind.bits() - 1));
        self.pick(kind, negative, Operand::Immediate(smallest), Operand::Immediate(largest))
    }

    /// Averages without overflow: `(a & b) + ((a ^ b) >> 1)`, or up.
    fn average(&mut self, cl: Cl, kind: Kind, a: Operand, b: Operand) -> Step<Operand> {
        let signed = matches!(cl, Cl::s_hadd | Cl::s_rhadd);
        let up = matches!(cl, Cl::s_rhadd | Cl::u_rhadd);
        let x = kind.untyped();
        let common = self.integer(if up { "or" } else { "and" }, kind, x, a, b);
        let differs = self.integer("xor", kind, x, a, b);
        let shift = if signed { Op::ShiftRightArithmetic } else { Op::ShiftRightLogical };
        let half = self.shift(shift, kind, differs, Kind::I32, Operand::Immediate(1))?;
        let result = self.integer(if up { "sub" } else { "add" }, kind, kind.signed(), common, half);
        Ok(self.masked(kind, result))
    }

    fn rotated(&mut self, kind: Kind, a: Operand, by: Operand) -> Step<Operand> {
        if kind == Kind::I32 {
            let (a, d) = (self.in_register(a, Class::B32), self.register(Class::B32));
            ptx!(self, "shf.l.wrap.b32 {d}, {a}, {a}, {}", by.of(Ty::B32));
            return Ok(d);
        }
        let by = self.resize(kind, Kind::I32, by, false);
        let left = self.shift(Op::ShiftLeftLogical, kind, a, Kind::I32, by)?;
        let back = self.op1(Class::B32, "neg.s32", Ty::S32, by);
        let right = self.shift(Op::ShiftRightLogical, kind, a, Kind::I32, back)?;
        Ok(self.integer("or", kind, kind.untyped(), left, right))
    }

    /// `a * b + c`, at the nearest number that there is.
    fn saturated_product(
        &mut self,
        kind: Kind,
        a: Operand,
        b: Operand,
        c: Operand,
        signed: bool,
    ) -> Step<Operand> {
        if kind != Kind::I64 {
            // In 64 bits the product and the sum fit.
            let [a, b, c] = [a, b, c].map(|value| self.widen(kind, value, signed));
            let sum = self.op3(Class::B64, "mad.lo.s64", Ty::S64, [a, b, c]);
            return self.clamped(Kind::I64, kind, sum, signed, signed);
        }
        let low = self.integer("mul.lo", kind, Ty::S64, a, b);
        let high = self.high_product(kind, a, b, signed);
        let sum = self.register(Class::B64);
        let top = self.register(Class::B64);
        let c_top = if signed {
            self.op2(Class::B64, "shr.s64", Ty::B32, c, Operand::Immediate(63))
        } else {
            Operand::Immediate(0)
        };
        ptx!(self, "add.cc.u64 {sum}, {}, {}", low.of(Ty::U64), c.of(Ty::U64));
        ptx!(self, "addc.u64 {top}, {}, {}", high.of(Ty::U64), c_top.of(Ty::U64));
        if !signed {
            let fits = self.compare("eq", Ty::U64, top, Operand::Immediate(0));
            return Ok(self.pick(kind, fits, sum, Operand::Immediate(u64::MAX)));
        }
        let sign = self.op2(Class::B64, "shr.s64", Ty::B32, sum, Operand::Immediate(63));
        let fits = self.compare("eq", Ty::U64, top, sign);
        let limit = self.limit_by_sign(kind, top);
        Ok(self.pick(kind, fits, sum, limit))
    }
}

fn is_integer_function(cl: Cl) -> bool {
    matches!(cl as u32, 141..=170 | 186 | 187 | 201..=204)
}
