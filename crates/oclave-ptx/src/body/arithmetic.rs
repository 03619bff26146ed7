//! Integers and booleans: sums, products, shifts, logic.

use oclave_spirv::{Instruction, Op};

use super::{Body, ptx};
use crate::error::{Step, Stop};
use crate::operand::{Class, Kind, Operand, Ty};

impl<'m> Body<'_, '_, 'm> {
    /// A narrow number with zeros above it, which may have anything there now.
    pub(crate) fn masked(&mut self, kind: Kind, value: Operand) -> Operand {
        match value {
            Operand::Immediate(bits) => Operand::Immediate(bits & kind.mask()),
            _ if kind.is_narrow() => {
                self.op2(Class::B32, "and.b32", Ty::B32, value, Operand::Immediate(kind.mask()))
            }
            _ => value,
        }
    }

    /// A narrow number with its sign in all 32 bits.
    pub(crate) fn with_sign(&mut self, kind: Kind, value: Operand) -> Operand {
        match (kind, value) {
            (Kind::I8 | Kind::I16, Operand::Immediate(bits)) => {
                let value = crate::constants::sign_extend(bits, kind.bits());
                Operand::Immediate(u64::from(value as u32))
            }
            (Kind::I8, _) => self.op1(Class::B32, "cvt.s32.s8", Ty::B32, value),
            (Kind::I16, _) => self.op1(Class::B32, "cvt.s32.s16", Ty::B32, value),
            _ => value,
        }
    }

    /// An instruction on whole registers: `name.type`.
    pub(crate) fn integer(&mut self, name: &str, kind: Kind, ty: Ty, a: Operand, b: Operand) -> Operand {
        self.op2(kind.class(), &format!("{name}.{ty}"), ty, a, b)
    }

    pub(crate) fn integer2(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<2>(instruction, 0)?;
        let shift = self.kind_of(ids[1])?;
        self.lanes(instruction, ids, |body, kind, [a, b]| {
            let (s, x) = (kind.signed(), kind.untyped());
            if kind.is_float() || matches!(kind, Kind::Pointer(_)) {
                return Err(Stop::Broken("its operands are no integers"));
            }
            let result = match op {
                Op::IAdd => body.integer("add", kind, s, a, b),
                Op::ISub => body.integer("sub", kind, s, a, b),
                Op::IMul => body.integer("mul.lo", kind, s, a, b),
                Op::BitwiseAnd | Op::LogicalAnd => return Ok(body.integer("and", kind, x, a, b)),
                Op::BitwiseOr | Op::LogicalOr => return Ok(body.integer("or", kind, x, a, b)),
                Op::BitwiseXor | Op::LogicalNotEqual => return Ok(body.integer("xor", kind, x, a, b)),
                Op::LogicalEqual => {
                    let differs = body.integer("xor", kind, x, a, b);
                    return Ok(body.op1(Class::Pred, "not.pred", Ty::Pred, differs));
                }
                _ => return body.shift(op, kind, a, shift, b),
            };
            Ok(body.masked(kind, result))
        })
    }

    /// A shift. Amounts are taken modulo the width, as OpenCL C has them.
    pub(crate) fn shift(&mut self, op: Op, kind: Kind, a: Operand, by: Kind, b: Operand) -> Step<Operand> {
        let b = self.resize(by, Kind::I32, b, false);
        let amount = match b {
            Operand::Immediate(amount) => Operand::Immediate(amount & u64::from(kind.bits() - 1)),
            _ => self.op2(Class::B32, "and.b32", Ty::B32, b, Operand::Immediate(u64::from(kind.bits() - 1))),
        };
        let wide = kind.class() == Class::B64;
        let (name, value) = match op {
            Op::ShiftLeftLogical => (if wide { "shl.b64" } else { "shl.b32" }, a),
            Op::ShiftRightLogical => (if wide { "shr.u64" } else { "shr.u32" }, a),
            _ => (if wide { "shr.s64" } else { "shr.s32" }, self.with_sign(kind, a)),
        };
        let value = self.in_register(value, kind.class());
        let d = self.register(kind.class());
        ptx!(self, "{name} {d}, {value}, {}", amount.of(Ty::B32));
        Ok(if op == Op::ShiftRightLogical { d } else { self.masked(kind, d) })
    }

    pub(crate) fn integer1(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let ids = self.ids::<1>(instruction, 0)?;
        let from = self.kind_of(ids[0])?;
        self.lanes(instruction, ids, |body, kind, [a]| {
            Ok(match op {
                Op::SNegate => {
                    let negated = body.op1(kind.class(), &format!("neg.{}", kind.signed()), kind.signed(), a);
                    body.masked(kind, negated)
                }
                Op::Not | Op::LogicalNot => {
                    let inverted =
                        body.op1(kind.class(), &format!("not.{}", kind.untyped()), kind.untyped(), a);
                    body.masked(kind, inverted)
                }
                Op::BitReverse => {
                    let all = body.op1(kind.class(), &format!("brev.{}", kind.untyped()), kind.untyped(), a);
                    match kind.is_narrow() {
                        true => {
                            let by = Operand::Immediate(u64::from(32 - kind.bits()));
                            body.op2(Class::B32, "shr.u32", Ty::U32, all, by)
                        }
                        false => all,
                    }
                }
                _ => body.population(from, kind, a),
            })
        })
    }

    /// How many bits are set.
    pub(crate) fn population(&mut self, from: Kind, to: Kind, a: Operand) -> Operand {
        let count = self.op1(Class::B32, &format!("popc.{}", from.untyped()), from.untyped(), a);
        self.resize(Kind::I32, to, count, false)
    }

    /// Sums with carry and products of twice the width: structs of two numbers.
    pub(crate) fn extended_result(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, ty) = self.result(instruction)?;
        let [a, b] = self.ids(instruction, 0)?;
        let kind = self.kind_of(a)?;
        let (a, b) = (self.value(a)?, self.value(b)?);
        let both = self.cx.shapes.shape(ty)?.kinds.len();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (a, b) in a.into_iter().zip(b) {
            let (low, high) = match op {
                Op::IAddCarry => {
                    let sum = self.integer("add", kind, kind.signed(), a, b);
                    let sum = self.masked(kind, sum);
                    let carry = self.compare("lo", kind.unsigned(), sum, a);
                    (sum, self.flag(kind, carry))
                }
                Op::ISubBorrow => {
                    let difference = self.integer("sub", kind, kind.signed(), a, b);
                    let borrow = self.compare("lo", kind.unsigned(), a, b);
                    (self.masked(kind, difference), self.flag(kind, borrow))
                }
                op => {
                    let signed = op == Op::SMulExtended;
                    let low = self.integer("mul.lo", kind, kind.signed(), a, b);
                    (self.masked(kind, low), self.high_product(kind, a, b, signed))
                }
            };
            first.push(low);
            second.push(high);
        }
        first.extend(second);
        if first.len() != both {
            return Err(Stop::Broken("its result is not a struct of two numbers"));
        }
        self.bind(id, &first)
    }

    fn flag(&mut self, kind: Kind, condition: Operand) -> Operand {
        self.pick(kind, condition, Operand::Immediate(1), Operand::Immediate(0))
    }

    /// The upper half of a product.
    pub(crate) fn high_product(&mut self, kind: Kind, a: Operand, b: Operand, signed: bool) -> Operand {
        let ty = if signed { kind.signed() } else { kind.unsigned() };
        if !kind.is_narrow() {
            return self.op2(kind.class(), &format!("mul.hi.{ty}"), ty, a, b);
        }
        let (a, b) = if signed { (self.with_sign(kind, a), self.with_sign(kind, b)) } else { (a, b) };
        let product = self.op2(Class::B32, "mul.lo.s32", Ty::S32, a, b);
        let high = self.op2(Class::B32, "shr.u32", Ty::U32, product, Operand::Immediate(kind.bits().into()));
        self.masked(kind, high)
    }

    pub(crate) fn bit_field(&mut self, instruction: &Instruction<'m>, op: Op) -> Step {
        let (id, ty) = self.result(instruction)?;
        let shape = self.cx.shapes.shape(ty)?;
        let insert = op == Op::BitFieldInsert;
        let base = self.id(instruction, 0)?;
        let base = self.value(base)?;
        let inserted = self.id(instruction, 1)?;
        let first = if insert { 2 } else { 1 };
        let [offset, count] = self.ids(instruction, first)?;
        let (offset_kind, count_kind) = (self.kind_of(offset)?, self.kind_of(count)?);
        let (offset, count) = (self.scalar(offset)?, self.scalar(count)?);
        let offset = self.resize(offset_kind, Kind::I32, offset, false);
        let count = self.resize(count_kind, Kind::I32, count, false);
        let mut parts = Vec::new();
        for (lane, (kind, base)) in shape.kinds.iter().zip(base).enumerate() {
            let base = self.in_register(base, kind.class());
            let d = self.register(kind.class());
            if insert {
                let value = self.part(inserted, lane)?;
                let (value, ty) = (self.in_register(value, kind.class()), kind.untyped());
                ptx!(self, "bfi.{ty} {d}, {value}, {base}, {}, {}", offset.of(Ty::B32), count.of(Ty::B32));
                parts.push(self.masked(*kind, d));
                continue;
            }
            let signed = op == Op::BitFieldSExtract;
            let ty = if signed { kind.signed() } else { kind.unsigned() };
            ptx!(self, "bfe.{ty} {d}, {base}, {}, {}", offset.of(Ty::B32), count.of(Ty::B32));
            parts.push(self.masked(*kind, d));
        }
        self.bind(id, &parts)
    }
}
