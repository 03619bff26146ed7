//! Floating-point arithmetic.

use oclave_spirv::{Instruction, Op};

use super::Body;
use crate::error::{Step, Stop, need};
use crate::facts::FAST_RECIPROCAL;
use crate::operand::{Class, Kind, Operand, Ty};

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn float2(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, _) = self.result(instruction)?;
        let ids = self.ids::<2>(instruction, 0)?;
        let of_id = self.cx.facts.of(id);
        let before = self.contract;
        self.contract &= !of_id.no_contraction;
        let fast = of_id.fast_math & FAST_RECIPROCAL != 0;
        let done = self.lanes(instruction, ids, |body, kind, [a, b]| {
            if !kind.is_float() {
                return Err(Stop::Broken("its operands are no floating-point numbers"));
            }
            match op {
                Op::FAdd => Ok(body.add(kind, a, b)),
                Op::FSub => Ok(body.subtract(kind, a, b)),
                Op::FMul => Ok(body.multiply(kind, a, b)),
                Op::FDiv => Ok(body.quotient(kind, a, b, fast)),
                Op::FRem => body.remainder(kind, a, b),
                _ => body.floored(kind, a, b),
            }
        });
        self.contract = before;
        done
    }

    /// Without a rounding mode the assembler may fuse a product and a sum.
    fn rounded(&self, name: &str, kind: Kind) -> String {
        if self.contract { format!("{name}.{}", kind.float()) } else { format!("{name}.rn.{}", kind.float()) }
    }

    pub(crate) fn add(&mut self, kind: Kind, a: Operand, b: Operand) -> Operand {
        self.op2(kind.class(), &self.rounded("add", kind), kind.float(), a, b)
    }

    pub(crate) fn subtract(&mut self, kind: Kind, a: Operand, b: Operand) -> Operand {
        self.op2(kind.class(), &self.rounded("sub", kind), kind.float(), a, b)
    }

    pub(crate) fn multiply(&mut self, kind: Kind, a: Operand, b: Operand) -> Operand {
        self.op2(kind.class(), &self.rounded("mul", kind), kind.float(), a, b)
    }

    pub(crate) fn fused(&mut self, kind: Kind, a: Operand, b: Operand, c: Operand) -> Operand {
        self.op3(kind.class(), &format!("fma.rn.{}", kind.float()), kind.float(), [a, b, c])
    }

    /// A quotient, correctly rounded unless `fast` or the target allows less.
    pub(crate) fn quotient(&mut self, kind: Kind, a: Operand, b: Operand, fast: bool) -> Operand {
        match kind {
            // 24 bits are enough for the quotient of two numbers of 11 to be rounded twice without
            // harm.
            Kind::F16 => {
                let (a, b) = (
                    self.float_to_float(kind, Kind::F32, a, None),
                    self.float_to_float(kind, Kind::F32, b, None),
                );
                let q = self.op2(Class::B32, "div.rn.f32", Ty::F32, a, b);
                self.float_to_float(Kind::F32, kind, q, None)
            }
            Kind::F32 if fast || !self.cx.target.precise_division => {
                self.op2(Class::B32, "div.full.f32", Ty::F32, a, b)
            }
            kind => self.op2(kind.class(), &format!("div.rn.{}", kind.float()), kind.float(), a, b),
        }
    }

    pub(crate) fn negate(&mut self, kind: Kind, a: Operand) -> Operand {
        self.op1(kind.class(), &format!("neg.{}", kind.float()), kind.float(), a)
    }

    /// The remainder with the sign of the dividend: the library's `fmod`.
    fn remainder(&mut self, kind: Kind, a: Operand, b: Operand) -> Step<Operand> {
        self.library_function(spirv::OpenclStd100Op::fmod, "fmod", kind, &[(kind, a), (kind, b)])
    }

    /// The remainder with the sign of the divisor.
    fn floored(&mut self, kind: Kind, a: Operand, b: Operand) -> Step<Operand> {
        let zero = Operand::Immediate(0);
        let remainder = self.remainder(kind, a, b)?;
        let moved = self.add(kind, remainder, b);
        let product_is_negative = {
            let x = self.compare("lt", kind.float(), remainder, zero);
            let y = self.compare("lt", kind.float(), b, zero);
            self.op2(Class::Pred, "xor.pred", Ty::Pred, x, y)
        };
        let not_zero = self.compare("ne", kind.float(), remainder, zero);
        let both = self.op2(Class::Pred, "and.pred", Ty::Pred, product_is_negative, not_zero);
        Ok(self.pick(kind, both, moved, remainder))
    }

    pub(crate) fn float_negate(&mut self, instruction: &Instruction<'m>) -> Step {
        let ids = self.ids::<1>(instruction, 0)?;
        self.lanes(instruction, ids, |body, kind, [a]| Ok(body.negate(kind, a)))
    }

    /// `OpVectorTimesScalar`.
    pub(crate) fn scale(&mut self, instruction: &Instruction<'m>) -> Step {
        let [vector, scalar] = self.ids(instruction, 0)?;
        let by = self.scalar(scalar)?;
        self.lanes(instruction, [vector], |body, kind, [a]| Ok(body.multiply(kind, a, by)))
    }

    /// `OpDot`.
    pub(crate) fn dot(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, _) = self.result(instruction)?;
        let [a, b] = self.ids(instruction, 0)?;
        let kind = self.kind_of(a)?;
        let (a, b) = (self.value(a)?, self.value(b)?);
        let result = self.dot_of(kind, &a, &b)?;
        self.bind(id, &[result])
    }

    /// The sum of products.
    pub(crate) fn dot_of(&mut self, kind: Kind, a: &[Operand], b: &[Operand]) -> Step<Operand> {
        let mut pairs = a.iter().zip(b);
        let (first, second) = need(pairs.next())?;
        let mut sum = self.multiply(kind, *first, *second);
        for (a, b) in pairs {
            sum = self.fused(kind, *a, *b, sum);
        }
        Ok(sum)
    }
}
