//! The values of constants, specialization constants at their defaults, and constant expressions.

use oclave_spirv::{Definitions, Instruction, Op, Type};

use crate::error::{Step, Stop, need};
use crate::operand::{Kind, Space};
use crate::types::Shapes;

/// One scalar of a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constant {
    /// Zero-extended from the width of its type.
    Bits(u64),
    /// An address that only the driver knows.
    Address {
        /// A module-scope variable.
        variable: u32,
        /// In bytes, from its start.
        offset: i64,
        /// Generic, or that of the variable.
        space: Space,
    },
}

/// Constant expressions do not nest deeper.
const MOST_DEPTH: u32 = 64;

/// All scalars of the constant `id`.
pub(crate) fn parts<'m>(
    shapes: &mut Shapes<'_, 'm>,
    definitions: &Definitions<'m>,
    id: u32,
) -> Step<Vec<Constant>> {
    let mut reader = Reader { shapes, definitions, visited: 0 };
    reader.parts(id, 0)
}

struct Reader<'r, 'a, 'm> {
    shapes: &'r mut Shapes<'a, 'm>,
    definitions: &'r Definitions<'m>,
    visited: u32,
}

impl<'m> Reader<'_, '_, 'm> {
    fn parts(&mut self, id: u32, depth: u32) -> Step<Vec<Constant>> {
        self.visited += 1;
        if depth > MOST_DEPTH || self.visited > 1 << 16 {
            return Err(Stop::unsupported("a constant expression that nests too deeply"));
        }
        let constant = need(self.definitions.instruction(id))?;
        let ty = need(constant.result_type())?;
        match constant.op() {
            Some(Op::ConstantTrue | Op::SpecConstantTrue) => Ok(vec![Constant::Bits(1)]),
            Some(Op::ConstantFalse | Op::SpecConstantFalse) => Ok(vec![Constant::Bits(0)]),
            Some(Op::Constant | Op::SpecConstant) => {
                let kind = self.shapes.kind(ty)?;
                let low = u64::from(need(constant.operand(0))?);
                let high = u64::from(constant.operand(1).unwrap_or(0));
                Ok(vec![Constant::Bits((low | high << 32) & kind.mask())])
            }
            Some(Op::ConstantNull | Op::Undef) => {
                let shape = self.shapes.shape(ty)?;
                Ok(vec![Constant::Bits(0); shape.kinds.len()])
            }
            Some(Op::ConstantComposite | Op::SpecConstantComposite) => {
                // Its type has a limit of parts, and so has this.
                let shape = self.shapes.shape(ty)?;
                let mut all = Vec::with_capacity(shape.kinds.len());
                for &part in constant.operands() {
                    all.extend(self.parts(part, depth + 1)?);
                }
                if all.len() != shape.kinds.len() {
                    return Err(Stop::Broken("a composite constant has other parts than its type"));
                }
                Ok(all)
            }
            Some(Op::SpecConstantOp) => self.expression(&constant, ty, depth),
            Some(Op::Variable) => match self.shapes.kind(ty)? {
                Kind::Pointer(space) if space != Space::Param => {
                    Ok(vec![Constant::Address { variable: id, offset: 0, space }])
                }
                _ => Err(Stop::unsupported("the address of a built-in variable")),
            },
            Some(Op::ConstantFunctionPointerINTEL | Op::Function) => {
                Err(Stop::unsupported("pointers to functions are not supported"))
            }
            _ => Err(Stop::Broken("it is not a constant")),
        }
    }

    fn bits(&mut self, id: u32, depth: u32) -> Step<u64> {
        match self.parts(id, depth + 1)?.as_slice() {
            [Constant::Bits(bits)] => Ok(*bits),
            _ => Err(Stop::unsupported("arithmetic with addresses in a constant expression")),
        }
    }

    fn expression(&mut self, constant: &Instruction<'m>, ty: u32, depth: u32) -> Step<Vec<Constant>> {
        let &[opcode, ref operands @ ..] = constant.operands() else {
            return Err(Stop::Broken("a constant expression without operation"));
        };
        let op = Op::from_u32(opcode);
        let first = operands.first().copied();
        match op {
            Some(Op::AccessChain | Op::InBoundsAccessChain) => self.address(operands, false, depth),
            Some(Op::PtrAccessChain | Op::InBoundsPtrAccessChain) => self.address(operands, true, depth),
            Some(Op::Bitcast | Op::CopyObject | Op::ConvertPtrToU | Op::ConvertUToPtr) => {
                let parts = self.parts(need(first)?, depth + 1)?;
                let shape = self.shapes.shape(ty)?;
                let from = need(self.definitions.type_of(need(first)?))?;
                let same = self
                    .shapes
                    .shape(from)?
                    .kinds
                    .iter()
                    .map(|k| k.bits())
                    .eq(shape.kinds.iter().map(|k| k.bits()));
                if !same {
                    return Err(Stop::unsupported("a bit cast between vectors in a constant expression"));
                }
                Ok(parts)
            }
            Some(Op::PtrCastToGeneric) => {
                let parts = self.parts(need(first)?, depth + 1)?;
                let generic = |part| match part {
                    Constant::Address { variable, offset, .. } => {
                        Constant::Address { variable, offset, space: Space::Generic }
                    }
                    bits => bits,
                };
                Ok(parts.into_iter().map(generic).collect())
            }
            Some(Op::CompositeExtract) => {
                let mut of = need(self.definitions.type_of(need(first)?))?;
                let mut start = 0;
                for &index in operands.get(1..).unwrap_or_default() {
                    let (before, part) = self.shapes.part(of, index)?;
                    (start, of) = (start + before, part);
                }
                let count = self.shapes.shape(of)?.kinds.len();
                let parts = self.parts(need(first)?, depth + 1)?;
                need(parts.get(start..start + count).map(<[Constant]>::to_vec))
            }
            Some(Op::Select) => {
                let chosen = if self.bits(need(first)?, depth)? & 1 != 0 { 1 } else { 2 };
                self.parts(need(operands.get(chosen).copied())?, depth + 1)
            }
            Some(op) => {
                let from = need(self.definitions.type_of(need(first)?))?;
                let (from, to) = (self.shapes.kind(from)?, self.shapes.kind(ty)?);
                let mut values = Vec::new();
                for &operand in operands.iter().take(3) {
                    values.push(self.bits(operand, depth)?);
                }
                let result = arithmetic(op, from, &values)
                    .ok_or_else(|| Stop::unsupported(format!("Op{op:?} in a constant expression")))?;
                Ok(vec![Constant::Bits(result & to.mask())])
            }
            None => Err(Stop::unsupported(format!("opcode {opcode} in a constant expression"))),
        }
    }

    /// The address of a part of a variable.
    fn address(&mut self, operands: &[u32], over_elements: bool, depth: u32) -> Step<Vec<Constant>> {
        let &[base, ref indices @ ..] = operands else { return Err(Stop::Broken("no base pointer")) };
        let base_parts = self.parts(base, depth + 1)?;
        let pointer = need(self.definitions.type_of(base))?;
        let Some(Type::Pointer { pointee, .. }) = self.shapes.table.ty(pointer) else {
            return Err(Stop::Broken("its base is not a pointer"));
        };
        let mut of = pointee;
        let mut bytes = 0_i64;
        for (at, &index) in indices.iter().enumerate() {
            let kind = need(self.definitions.type_of(index))?;
            let kind = self.shapes.kind(kind)?;
            let value = sign_extend(self.bits(index, depth)?, kind.bits());
            let step = if at == 0 && over_elements {
                self.shapes.size_bytes(of)
            } else {
                if let Some(Type::Struct { .. }) = self.shapes.table.ty(of) {
                    let (offset, member) = member(self.shapes, of, value)?;
                    bytes = bytes.wrapping_add(offset as i64);
                    of = member;
                    continue;
                }
                of = element(self.shapes, of)?;
                self.shapes.size_bytes(of)
            };
            bytes = bytes.wrapping_add(value.wrapping_mul(step.unwrap_or(0) as i64));
        }
        Ok(base_parts
            .into_iter()
            .map(|part| match part {
                Constant::Address { variable, offset, space } => {
                    Constant::Address { variable, offset: offset.wrapping_add(bytes), space }
                }
                Constant::Bits(bits) => Constant::Bits(bits.wrapping_add(bytes as u64)),
            })
            .collect())
    }
}

/// Offset and type of a member.
pub(crate) fn member(shapes: &Shapes<'_, '_>, structure: u32, index: i64) -> Step<(u64, u32)> {
    let Some(Type::Struct { members }) = shapes.table.ty(structure) else {
        return Err(Stop::Broken("it is not a struct"));
    };
    let index = usize::try_from(index).map_err(|_| Stop::Broken("no such member"))?;
    let offsets = shapes.table.member_offsets(structure);
    let offset = offsets.and_then(|offsets| offsets.get(index).copied());
    match (offset, members.get(index)) {
        (Some(offset), Some(&member)) => Ok((offset, member)),
        _ => Err(Stop::Broken("no such member")),
    }
}

/// The type of the elements of an array or vector.
pub(crate) fn element(shapes: &Shapes<'_, '_>, of: u32) -> Step<u32> {
    match shapes.table.ty(of) {
        Some(
            Type::Array { element, .. }
            | Type::RuntimeArray { element }
            | Type::Vector { component: element, .. },
        ) => Ok(element),
        _ => Err(Stop::Broken("an index into a scalar")),
    }
}

/// The number with the sign that it has in `bits` bits.
pub(crate) fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    (value << unused) as i64 >> unused
}

/// Integer arithmetic and logic; `None` for anything else.
fn arithmetic(op: Op, kind: Kind, values: &[u64]) -> Option<u64> {
    if kind.is_float() {
        return None;
    }
    let bits = kind.bits();
    let a = *values.first()?;
    let (sa, sb) = (sign_extend(a, bits), values.get(1).map(|b| sign_extend(*b, bits)));
    let b = values.get(1).copied();
    let shift = b.and_then(|b| u32::try_from(b).ok()).unwrap_or(64);
    Some(match op {
        Op::IAdd => a.wrapping_add(b?),
        Op::ISub => a.wrapping_sub(b?),
        Op::IMul => a.wrapping_mul(b?),
        Op::UDiv => a.checked_div(b?).unwrap_or(0),
        Op::UMod => a.checked_rem(b?).unwrap_or(0),
        Op::SDiv => sa.checked_div(sb?).unwrap_or(0) as u64,
        Op::SRem => sa.checked_rem(sb?).unwrap_or(0) as u64,
        Op::SMod => sa
            .checked_rem_euclid(sb?)
            .map_or(0, |r| if sb < Some(0) && r != 0 { r + sb.unwrap_or(0) } else { r })
            as u64,
        Op::SNegate => sa.wrapping_neg() as u64,
        Op::Not => !a,
        Op::ShiftLeftLogical => a.checked_shl(shift).unwrap_or(0),
        Op::ShiftRightLogical => a.checked_shr(shift).unwrap_or(0),
        Op::ShiftRightArithmetic => sa.checked_shr(shift).unwrap_or(sa >> 63) as u64,
        Op::BitwiseAnd | Op::LogicalAnd => a & b?,
        Op::BitwiseOr | Op::LogicalOr => a | b?,
        Op::BitwiseXor | Op::LogicalNotEqual => a ^ b?,
        Op::LogicalEqual => !(a ^ b?),
        Op::LogicalNot => !a & 1,
        Op::IEqual => u64::from(a == b?),
        Op::INotEqual => u64::from(a != b?),
        Op::ULessThan => u64::from(a < b?),
        Op::UGreaterThan => u64::from(a > b?),
        Op::ULessThanEqual => u64::from(a <= b?),
        Op::UGreaterThanEqual => u64::from(a >= b?),
        Op::SLessThan => u64::from(sa < sb?),
        Op::SGreaterThan => u64::from(sa > sb?),
        Op::SLessThanEqual => u64::from(sa <= sb?),
        Op::SGreaterThanEqual => u64::from(sa >= sb?),
        Op::UConvert => a,
        Op::SConvert => sa as u64,
        _ => return None,
    })
}
