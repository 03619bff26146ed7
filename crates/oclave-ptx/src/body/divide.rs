//! Quotients and remainders of integers.

use oclave_spirv::{Instruction, Op};

use super::{Body, ptx};
use crate::error::Step;
use crate::operand::{Class, Kind, Operand, Ty};

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn divide(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<2>(instruction, 0)?;
        self.lanes(instruction, ids, |body, kind, [a, b]| {
            let signed = matches!(op, Op::SDiv | Op::SRem | Op::SMod);
            let (a, b) = if signed { (body.with_sign(kind, a), body.with_sign(kind, b)) } else { (a, b) };
            let ty = if signed { kind.signed() } else { kind.unsigned() };
            let result = match op {
                Op::SDiv | Op::UDiv => body.whole("div", kind, ty, a, b),
                Op::SRem | Op::UMod => body.whole("rem", kind, ty, a, b),
                _ => body.floored_remainder(kind, a, b),
            };
            Ok(body.masked(kind, result))
        })
    }

    /// A quotient or remainder. In 64 bits both call a function of about seventy instructions. Indices
    /// are of that type, and mostly small: where both numbers have 32 bits, so does the division.
    fn whole(&mut self, name: &str, kind: Kind, ty: Ty, a: Operand, b: Operand) -> Operand {
        let is_constant = matches!(a, Operand::Immediate(_)) || matches!(b, Operand::Immediate(_));
        // The assembler multiplies where the divisor is a constant.
        if kind.bits() != 64 || is_constant {
            return self.integer(name, kind, ty, a, b);
        }
        let (wide, done) = (self.new_label(), self.new_label());
        let d = self.register(Class::B64);
        let bits = self.op2(Class::B64, "or.b64", Ty::B64, a, b);
        let is_wide = self.compare("hi", Ty::U64, bits, Operand::Immediate(u32::MAX.into()));
        ptx!(self, "@{is_wide} bra {wide}");
        let [a_low, b_low] = [a, b].map(|number| self.op1(Class::B32, "cvt.u32.u64", Ty::U64, number));
        let low = self.op2(Class::B32, &format!("{name}.u32"), Ty::U32, a_low, b_low);
        ptx!(self, "cvt.u64.u32 {d}, {low}");
        ptx!(self, "bra {done}");
        self.label(&wide);
        ptx!(self, "{name}.{ty} {d}, {a}, {b}");
        self.label(&done);
        d
    }

    /// The remainder with the sign of the divisor.
    fn floored_remainder(&mut self, kind: Kind, a: Operand, b: Operand) -> Operand {
        let (s, zero) = (kind.signed(), Operand::Immediate(0));
        let remainder = self.whole("rem", kind, s, a, b);
        let moved = self.integer("add", kind, s, remainder, b);
        let signs = self.integer("xor", kind, kind.untyped(), remainder, b);
        let opposite = self.compare("lt", s, signs, zero);
        let not_zero = self.compare("ne", s, remainder, zero);
        let both = self.op2(Class::Pred, "and.pred", Ty::Pred, opposite, not_zero);
        self.pick(kind, both, moved, remainder)
    }
}
