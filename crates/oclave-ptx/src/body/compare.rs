//! Comparisons and questions about numbers.

use oclave_spirv::{Instruction, Op};

use super::Body;
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Ty};

impl<'m> Body<'_, '_, 'm> {
    pub(crate) fn compare_integers(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<2>(instruction, 0)?;
        let kind = self.kind_of(ids[0])?;
        let (relation, signed) = match op {
            Op::IEqual | Op::PtrEqual => ("eq", false),
            Op::INotEqual | Op::PtrNotEqual => ("ne", false),
            Op::UGreaterThan => ("hi", false),
            Op::UGreaterThanEqual => ("hs", false),
            Op::ULessThan => ("lo", false),
            Op::ULessThanEqual => ("ls", false),
            Op::SGreaterThan => ("gt", true),
            Op::SGreaterThanEqual => ("ge", true),
            Op::SLessThan => ("lt", true),
            _ => ("le", true),
        };
        self.lanes(instruction, ids, |body, _, [a, b]| {
            if kind == Kind::Bool {
                let differs = body.op2(Class::Pred, "xor.pred", Ty::Pred, a, b);
                return match relation {
                    "ne" => Ok(differs),
                    "eq" => Ok(body.op1(Class::Pred, "not.pred", Ty::Pred, differs)),
                    _ => Err(Stop::Broken("its operands are no integers")),
                };
            }
            let (a, b) = if signed { (body.with_sign(kind, a), body.with_sign(kind, b)) } else { (a, b) };
            Ok(body.compare(relation, if signed { kind.signed() } else { kind.unsigned() }, a, b))
        })
    }

    pub(crate) fn compare_floats(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<2>(instruction, 0)?;
        let kind = self.kind_of(ids[0])?;
        let relation = match op {
            Op::FOrdEqual => "eq",
            Op::FUnordEqual => "equ",
            Op::FOrdNotEqual | Op::LessOrGreater => "ne",
            Op::FUnordNotEqual => "neu",
            Op::FOrdLessThan => "lt",
            Op::FUnordLessThan => "ltu",
            Op::FOrdGreaterThan => "gt",
            Op::FUnordGreaterThan => "gtu",
            Op::FOrdLessThanEqual => "le",
            Op::FUnordLessThanEqual => "leu",
            Op::FOrdGreaterThanEqual => "ge",
            Op::FUnordGreaterThanEqual => "geu",
            Op::Ordered => "num",
            _ => "nan",
        };
        if !kind.is_float() {
            return Err(Stop::Broken("its operands are no floating-point numbers"));
        }
        self.lanes(instruction, ids, |body, _, [a, b]| Ok(body.compare(relation, kind.float(), a, b)))
    }

    /// `OpIsNan` and its like.
    pub(crate) fn classify(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<1>(instruction, 0)?;
        let kind = self.kind_of(ids[0])?;
        self.lanes(instruction, ids, |body, _, [a]| {
            let a = body.in_register(a, kind.class());
            if op == Op::IsNan {
                return Ok(body.compare("nan", kind.float(), a, a));
            }
            let bits = if kind == Kind::F16 { body.half_bits(a) } else { a };
            if op == Op::SignBitSet {
                let ty = if kind == Kind::F64 { Ty::U64 } else { Ty::U32 };
                return Ok(body.compare("hs", ty, bits, Operand::Immediate(1 << (kind.bits() - 1))));
            }
            // `testp.normal` holds for zero, too, and there is no `testp` for half precision: the
            // bits tell.
            let (of, smallest, infinity) = match kind {
                Kind::F16 => (Kind::I32, 0x0400, 0x7c00),
                Kind::F64 => (Kind::I64, 1 << 52, 0x7ff << 52),
                _ => (Kind::I32, 1 << 23, 0xff << 23),
            };
            let magnitude = Operand::Immediate((1 << (kind.bits() - 1)) - 1);
            let magnitude = body.integer("and", of, of.untyped(), bits, magnitude);
            Ok(match op {
                Op::IsInf => body.compare("eq", of.unsigned(), magnitude, Operand::Immediate(infinity)),
                Op::IsFinite => body.compare("lo", of.unsigned(), magnitude, Operand::Immediate(infinity)),
                _ => {
                    let above = body.integer("sub", of, of.signed(), magnitude, Operand::Immediate(smallest));
                    body.compare("lo", of.unsigned(), above, Operand::Immediate(infinity - smallest))
                }
            })
        })
    }

    /// `OpAny`, `OpAll`.
    pub(crate) fn any_or_all(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, _) = self.result(instruction)?;
        let vector = self.id(instruction, 0)?;
        let name = if op == Op::Any { "or.pred" } else { "and.pred" };
        let mut lanes = self.value(vector)?.into_iter();
        let mut result = need(lanes.next())?;
        for lane in lanes {
            result = self.op2(Class::Pred, name, Ty::Pred, result, lane);
        }
        self.bind(id, &[result])
    }
}
