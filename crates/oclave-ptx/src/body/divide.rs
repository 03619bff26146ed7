//! Quotients and remainders of integers.

use oclave_image::spirv::{Instruction, Op};

use super::Body;
use crate::error::Step;
use crate::operand::{Kind, Operand};

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn divide(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<2>(instruction, 0)?;
        self.lanes(instruction, ids, |body, kind, [a, b]| {
            let signed = matches!(op, Op::SDiv | Op::SRem | Op::SMod);
            let (a, b) = if signed { (body.with_sign(kind, a), body.with_sign(kind, b)) } else { (a, b) };
            let ty = if signed { kind.signed() } else { kind.unsigned() };
            let result = match op {
                Op::SDiv | Op::UDiv => body.integer("div", kind, ty, a, b),
                Op::SRem | Op::UMod => body.integer("rem", kind, ty, a, b),
                _ => body.floored_remainder(kind, a, b),
            };
            Ok(body.masked(kind, result))
        })
    }

    /// The remainder with the sign of the divisor.
    fn floored_remainder(&mut self, kind: Kind, a: Operand, b: Operand) -> Operand {
        let (s, zero) = (kind.signed(), Operand::Immediate(0));
        let remainder = self.integer("rem", kind, s, a, b);
        let moved = self.integer("add", kind, s, remainder, b);
        let signs = self.integer("xor", kind, kind.untyped(), remainder, b);
        let opposite = self.compare("lt", s, signs, zero);
        let not_zero = self.compare("ne", s, remainder, zero);
        let both =
            self.op2(crate::operand::Class::Pred, "and.pred", crate::operand::Ty::Pred, opposite, not_zero);
        self.pick(kind, both, moved, remainder)
    }
}
