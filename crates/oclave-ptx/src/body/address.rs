//! Pointers: access chains, casts between state spaces, comparisons.

use oclave_spirv::{Instruction, Op, Type};

use super::{Body, ptx};
use crate::constants::{element, member, sign_extend};
use crate::error::{Step, Stop, need};
use crate::operand::{Class, Kind, Operand, Space, Ty};

impl<'m> Body<'_, '_, 'm> {
    /// All kinds of access chains.
    pub(crate) fn access_chain(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, _) = self.result(instruction)?;
        let over_elements = matches!(instruction.op(), Some(Op::PtrAccessChain | Op::InBoundsPtrAccessChain));
        let base = self.id(instruction, 0)?;
        if self.read_only.contains(&base) || self.is_read_only_variable(base) {
            self.read_only.insert(id);
        }
        let pointer = need(self.cx.definitions.type_of(base))?;
        let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(pointer) else {
            return Err(Stop::Broken("its base is not a pointer"));
        };
        let mut address = self.scalar(base)?;
        let mut of = pointee;
        let mut constant = 0_i64;
        for (at, &index) in instruction.operands().get(1..).unwrap_or_default().iter().enumerate() {
            let step = if at == 0 && over_elements {
                need(self.cx.shapes.size_bytes(of))?
            } else {
                if let Some(Type::Struct { .. }) = self.cx.shapes.table.ty(of) {
                    let value = need(self.cx.definitions.int_constant(index))?;
                    let (offset, part) = member(&self.cx.shapes, of, value as i64)?;
                    constant = constant.wrapping_add(offset as i64);
                    of = part;
                    continue;
                }
                of = element(&self.cx.shapes, of)?;
                need(self.cx.shapes.size_bytes(of))?
            };
            let kind = self.kind_of(index)?;
            match self.scalar(index)? {
                Operand::Immediate(bits) => {
                    let value = sign_extend(bits, kind.bits());
                    constant = constant.wrapping_add(value.wrapping_mul(step as i64));
                }
                value => address = self.plus_scaled(address, index, kind, value, step),
            }
        }
        if constant != 0 {
            address = self.op2(Class::B64, "add.s64", Ty::S64, address, Operand::Immediate(constant as u64));
        }
        self.bind(id, &[address])
    }

    /// Whether it is a variable in constant memory.
    pub(crate) fn is_read_only_variable(&self, id: u32) -> bool {
        self.cx.definition(id).is_some_and(|variable| {
            variable.is(Op::Variable)
                && variable.operand(0) == Some(oclave_spirv::StorageClass::UniformConstant as u32)
        })
    }

    /// `address + index * step`. An index of 32 bits that was made wider is multiplied as it was.
    fn plus_scaled(&mut self, address: Operand, id: u32, kind: Kind, index: Operand, step: u64) -> Operand {
        let wide = if kind.bits() == 64 { self.narrow_source(id) } else { None };
        let offset = match (kind, wide) {
            _ if step == 0 => return address,
            (Kind::I64, Some((index, signed))) if step <= i32::MAX as u64 => {
                let name = if signed { "mul.wide.s32" } else { "mul.wide.u32" };
                self.op2(Class::B64, name, Ty::S32, index, Operand::Immediate(step))
            }
            (Kind::I32, _) if step <= i32::MAX as u64 => {
                self.op2(Class::B64, "mul.wide.s32", Ty::S32, index, Operand::Immediate(step))
            }
            _ => {
                let index = self.widen(kind, index, true);
                match step {
                    1 => index,
                    step if step.is_power_of_two() => {
                        let bits = Operand::Immediate(step.trailing_zeros().into());
                        self.op2(Class::B64, "shl.b64", Ty::B64, index, bits)
                    }
                    step => self.op2(Class::B64, "mul.lo.s64", Ty::S64, index, Operand::Immediate(step)),
                }
            }
        };
        self.op2(Class::B64, "add.s64", Ty::S64, address, offset)
    }

    /// The 32-bit number that a 64-bit one was extended from, and whether its sign was.
    fn narrow_source(&mut self, id: u32) -> Option<(Operand, bool)> {
        let definition = self.cx.definition(id)?;
        let signed = match definition.op()? {
            Op::SConvert => true,
            Op::UConvert => false,
            _ => return None,
        };
        let source = definition.operand(0)?;
        if self.kind_of(source).ok()? != Kind::I32 {
            return None;
        }
        let value = self.scalar(source).ok()?;
        matches!(value, Operand::Register(..)).then_some((value, signed))
    }

    /// A generic address of an address of `space`.
    pub(crate) fn generic_of(&mut self, space: Space, address: Operand) -> Operand {
        match space {
            Space::Generic => address,
            Space::Param => address,
            space => {
                let address = self.in_register(address, Class::B64);
                let d = self.register(Class::B64);
                ptx!(self, "cvta{}.u64 {d}, {address}", space.suffix());
                d
            }
        }
    }

    /// `OpPtrCastToGeneric`, `OpGenericCastToPtr`, `OpGenericCastToPtrExplicit`.
    pub(crate) fn cast_space(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let source = self.id(instruction, 0)?;
        let address = self.scalar(source)?;
        let from = self.space_of(source)?;
        let Kind::Pointer(to) = self.cx.shapes.kind(ty)? else {
            return Err(Stop::Broken("its result is no pointer"));
        };
        let result = match (from, to) {
            (from, to) if from == to => address,
            (from, Space::Generic) => self.generic_of(from, address),
            (Space::Generic, to) => {
                let address = self.in_register(address, Class::B64);
                let d = self.register(Class::B64);
                ptx!(self, "cvta.to{}.u64 {d}, {address}", to.suffix());
                if instruction.is(Op::GenericCastToPtrExplicit) {
                    let there = self.register(Class::Pred);
                    ptx!(self, "isspacep{} {there}, {address}", to.suffix());
                    self.pick(Kind::I64, there, d, Operand::Immediate(0))
                } else {
                    d
                }
            }
            _ => return Err(Stop::unsupported("a cast between two state spaces of which none is generic")),
        };
        self.bind(id, &[result])
    }

    /// `OpGenericPtrMemSemantics`: the memory that a generic pointer points to.
    pub(crate) fn space_semantics(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, _) = self.result(instruction)?;
        let source = self.id(instruction, 0)?;
        let address = self.scalar(source)?;
        let address = self.in_register(address, Class::B64);
        let (shared, global) = (self.register(Class::Pred), self.register(Class::Pred));
        ptx!(self, "isspacep.shared {shared}, {address}");
        ptx!(self, "isspacep.global {global}, {address}");
        let (workgroup, cross, subgroup) =
            (Operand::Immediate(0x100), Operand::Immediate(0x200), Operand::Immediate(0x80));
        let other = self.pick(Kind::I32, global, cross, subgroup);
        let result = self.pick(Kind::I32, shared, workgroup, other);
        self.bind(id, &[result])
    }

    /// `OpPtrDiff`: in elements.
    pub(crate) fn pointer_difference(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let (a, b) = (self.id(instruction, 0)?, self.id(instruction, 1)?);
        let pointer = need(self.cx.definitions.type_of(a))?;
        let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(pointer) else {
            return Err(Stop::Broken("it is not a pointer"));
        };
        let size = need(self.cx.shapes.size_bytes(pointee))?.max(1);
        let (a, b) = (self.scalar(a)?, self.scalar(b)?);
        let bytes = self.op2(Class::B64, "sub.s64", Ty::S64, a, b);
        let count = self.op2(Class::B64, "div.s64", Ty::S64, bytes, Operand::Immediate(size));
        let kind = self.cx.shapes.kind(ty)?;
        let result = self.resize(Kind::I64, kind, count, true);
        self.bind(id, &[result])
    }
}
