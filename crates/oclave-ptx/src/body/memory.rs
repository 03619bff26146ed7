//! Loads, stores and copies.

use oclave_spirv::{ALIGNED, Instruction, Op, Type, VOLATILE};

use super::{Body, ptx};
use crate::error::{Step, Stop, need};
use crate::facts::is_access_chain;
use crate::operand::{Class, Kind, Operand, Space, Ty};
use crate::types::Shape;

/// How memory is accessed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Access {
    pub(crate) volatile: bool,
    /// Nothing writes there while the kernel runs.
    pub(crate) read_only: bool,
}

/// Larger copies are loops.
const MOST_BYTES: u64 = 1 << 40;

impl<'m> Body<'_, '_, 'm> {
    /// `OpLoad`.
    pub(crate) fn load(&mut self, instruction: &Instruction<'m>) -> Step {
        let (id, ty) = self.result(instruction)?;
        let pointer = self.id(instruction, 0)?;
        if self.promoted.contains(&pointer) {
            return self.read_variable(pointer, id, ty);
        }
        if let Some(built_in) = self.cx.facts.of(pointer).built_in {
            return self.load_builtin(id, ty, built_in);
        }
        let shape = self.cx.shapes.shape(ty)?;
        let (align, mut access) = self.access(instruction, 1, ty, pointer);
        let space = self.space_of(pointer)?;
        if space == Space::Param && !self.in_parameters.contains(&pointer) {
            return Err(Stop::unsupported("an input variable that is not a built-in one"));
        }
        access.read_only = self.read_only.contains(&pointer) || self.is_read_only_variable(pointer);
        let address = self.scalar(pointer)?;
        let parts = self.load_parts(space, address, &shape, align, access)?;
        self.bind(id, &parts)
    }

    /// `OpStore`.
    pub(crate) fn store(&mut self, instruction: &Instruction<'m>) -> Step {
        let (pointer, value) = (self.id(instruction, 0)?, self.id(instruction, 1)?);
        if self.promoted.contains(&pointer) {
            return self.write_variable(pointer, value);
        }
        let ty = need(self.cx.definitions.type_of(value))?;
        let shape = self.cx.shapes.shape(ty)?;
        let (align, access) = self.access(instruction, 2, ty, pointer);
        let space = self.space_of(pointer)?;
        if space == Space::Param {
            return Err(Stop::unsupported("input variables cannot be written"));
        }
        let address = self.scalar(pointer)?;
        let parts = self.value(value)?;
        self.store_parts_at(space, address, &shape, &parts, align, access)
    }

    /// Alignment and other memory operands, which begin at operand `at`.
    fn access(&self, instruction: &Instruction<'m>, at: usize, ty: u32, pointer: u32) -> (u64, Access) {
        let mask = instruction.operand(at).unwrap_or(0);
        let natural = u64::from(self.cx.shapes.table.align_bytes(ty));
        let align = match instruction.operand(at + 1) {
            Some(align) if mask & ALIGNED != 0 && align.is_power_of_two() => align.into(),
            // Members of packed structs are only as aligned as bytes are.
            _ if self.points_into_packed(pointer) => 1,
            _ => natural,
        };
        let volatile = mask & VOLATILE != 0 || self.cx.facts.of(pointer).volatile;
        (align, Access { volatile, read_only: false })
    }

    /// Whether a pointer was made by going into a packed struct.
    fn points_into_packed(&self, pointer: u32) -> bool {
        let Some(chain) = self.cx.definition(pointer) else { return false };
        let is_chain = is_access_chain(chain.op());
        let base = chain.operand(0).and_then(|base| self.cx.definitions.type_of(base));
        match base.and_then(|ty| self.cx.shapes.table.ty(ty)) {
            Some(Type::Pointer { pointee, .. }) if is_chain => self.cx.shapes.table.is_packed(pointee),
            _ => false,
        }
    }

    /// Loads all parts of a value. Neighbours go together where the alignment allows.
    pub(crate) fn load_parts(
        &mut self,
        space: Space,
        address: Operand,
        shape: &Shape,
        align: u64,
        access: Access,
    ) -> Step<Vec<Operand>> {
        let address = self.in_register(address, Class::B64);
        let mut parts = Vec::with_capacity(shape.kinds.len());
        while let Some((kind, at)) =
            shape.kinds.get(parts.len()).copied().zip(shape.offsets.get(parts.len()).copied())
        {
            let together = neighbours(shape, parts.len(), align);
            if together == 1 {
                parts.push(self.load_one(space, address, at, kind, align_at(align, at), access));
                continue;
            }
            let registers: Vec<Operand> = (0..together).map(|_| self.register(kind.class())).collect();
            let (how, ty) = (how_to_load(space, access), kind.memory());
            let list = list(&registers);
            ptx!(self, "ld{how}.v{together}.{ty} {{{list}}}, [{address}+{at}]");
            parts.extend(registers);
        }
        Ok(parts)
    }

    /// Stores all parts of a value.
    pub(crate) fn store_parts_at(
        &mut self,
        space: Space,
        address: Operand,
        shape: &Shape,
        parts: &[Operand],
        align: u64,
        access: Access,
    ) -> Step {
        let address = self.in_register(address, Class::B64);
        let mut done = 0;
        while let Some((kind, at)) = shape.kinds.get(done).copied().zip(shape.offsets.get(done).copied()) {
            let together = neighbours(shape, done, align);
            let values = need(parts.get(done..done + together))?;
            if let &[value] = values {
                self.store_one(space, address, at, kind, value, align_at(align, at), access);
            } else {
                let registers: Vec<Operand> =
                    values.iter().map(|value| self.in_register(*value, kind.class())).collect();
                let volatile = volatile(space, access);
                let (space, ty, list) = (space.suffix(), kind.memory(), list(&registers));
                ptx!(self, "st{volatile}{space}.v{together}.{ty} [{address}+{at}], {{{list}}}");
            }
            done += together;
        }
        Ok(())
    }

    /// Loads one scalar, in pieces where it is not aligned.
    pub(crate) fn load_one(
        &mut self,
        space: Space,
        address: Operand,
        at: u64,
        kind: Kind,
        align: u64,
        access: Access,
    ) -> Operand {
        let address = self.in_register(address, Class::B64);
        let how = how_to_load(space, access);
        if align >= kind.bytes() {
            let (class, ty) = match kind {
                Kind::Bool => (Class::B32, Ty::U8),
                kind => (kind.class(), kind.memory()),
            };
            let d = self.register(class);
            ptx!(self, "ld{how}.{ty} {d}, [{address}+{at}]");
            return match kind {
                Kind::Bool => self.compare("ne", Ty::S32, d, Operand::Immediate(0)),
                _ => d,
            };
        }
        let (piece, bytes) = piece(align);
        let wide = in_whole_register(kind);
        let mut all = Operand::Immediate(0);
        for offset in (0..kind.bytes()).step_by(bytes) {
            let part = self.register(wide.0);
            ptx!(self, "ld{how}.{piece} {part}, [{address}+{}]", at + offset);
            let shifted = self.op2(wide.0, shift_left(wide.1), Ty::B32, part, Operand::Immediate(offset * 8));
            all = self.op2(wide.0, or(wide.1), wide.1, shifted, all);
        }
        match kind {
            Kind::F16 => self.half_of_bits(all),
            _ => all,
        }
    }

    /// Stores one scalar, in pieces where it is not aligned.
    #[allow(clippy::too_many_arguments, reason = "what, where and how are all needed")]
    pub(crate) fn store_one(
        &mut self,
        space: Space,
        address: Operand,
        at: u64,
        kind: Kind,
        value: Operand,
        align: u64,
        access: Access,
    ) {
        let address = self.in_register(address, Class::B64);
        let volatile = volatile(space, access);
        let space = space.suffix();
        let value = match kind {
            Kind::Bool => self.bool_as(value, 1),
            _ => value,
        };
        let class = if kind == Kind::Bool { Class::B32 } else { kind.class() };
        let value = self.in_register(value, class);
        if align >= kind.bytes() {
            ptx!(self, "st{volatile}{space}.{} [{address}+{at}], {value}", kind.memory());
            return;
        }
        let (piece, bytes) = piece(align);
        let value = if kind == Kind::F16 { self.half_bits(value) } else { value };
        let wide = in_whole_register(kind);
        for offset in (0..kind.bytes()).step_by(bytes) {
            let part = match offset {
                // The assembler of CUDA 12 and 13 stores the low byte of what a number was
                // converted from.
                0 if kind.is_float() => {
                    let mask = if bytes == 4 { u64::from(u32::MAX) } else { (1 << (8 * bytes)) - 1 };
                    self.op2(wide.0, and(wide.1), wide.1, value, Operand::Immediate(mask))
                }
                0 => value,
                _ => self.op2(wide.0, shift_right(wide.1), Ty::B32, value, Operand::Immediate(offset * 8)),
            };
            ptx!(self, "st{volatile}{space}.{piece} [{address}+{}], {part}", at + offset);
        }
    }

    /// `OpCopyMemory` and `OpCopyMemorySized`.
    pub(crate) fn copy_memory(&mut self, instruction: &Instruction<'m>) -> Step {
        let (target, source) = (self.id(instruction, 0)?, self.id(instruction, 1)?);
        let (to, from) = (self.space_of(target)?, self.space_of(source)?);
        let sized = instruction.is(Op::CopyMemorySized);
        let operands_at = if sized { 3 } else { 2 };
        let mask = instruction.operand(operands_at).unwrap_or(0);
        let said = instruction
            .operand(operands_at + 1)
            .filter(|align| mask & ALIGNED != 0 && align.is_power_of_two());
        let (d, s) = (self.scalar(target)?, self.scalar(source)?);
        if !sized {
            let ty = need(self.cx.definitions.type_of(target))?;
            let Some(Type::Pointer { pointee, .. }) = self.cx.shapes.table.ty(ty) else {
                return Err(Stop::Broken("its target is not a pointer"));
            };
            let bytes = need(self.cx.shapes.size_bytes(pointee))?;
            let align = said.unwrap_or(self.cx.shapes.table.align_bytes(pointee));
            return self.copy_bytes(to, d, from, s, bytes.min(MOST_BYTES), align.into());
        }
        let align = u64::from(said.unwrap_or(1));
        let count = self.id(instruction, 2)?;
        let kind = self.kind_of(count)?;
        match self.scalar(count)? {
            Operand::Immediate(bytes) => self.copy_bytes(to, d, from, s, bytes.min(MOST_BYTES), align),
            bytes => {
                let bytes = self.widen(kind, bytes, false);
                let (zero, one) = (Operand::Immediate(0), Operand::Immediate(1));
                self.counted(zero, bytes, one, |body, at| {
                    let s = body.op2(Class::B64, "add.s64", Ty::S64, s, at);
                    let d = body.op2(Class::B64, "add.s64", Ty::S64, d, at);
                    let value = body.load_one(from, s, 0, Kind::I8, 1, Access::default());
                    body.store_one(to, d, 0, Kind::I8, value, 1, Access::default());
                    Ok(())
                })
            }
        }
    }
}

/// The largest number that can be accessed at this alignment, and its bytes.
fn piece(align: u64) -> (Ty, usize) {
    match align {
        1 => (Ty::U8, 1),
        2 => (Ty::U16, 2),
        _ => (Ty::U32, 4),
    }
}

/// The registers in which pieces of a scalar are put together.
fn in_whole_register(kind: Kind) -> (Class, Ty) {
    if kind.bits() == 64 { (Class::B64, Ty::B64) } else { (Class::B32, Ty::B32) }
}

fn shift_left(ty: Ty) -> &'static str {
    if ty == Ty::B64 { "shl.b64" } else { "shl.b32" }
}

fn shift_right(ty: Ty) -> &'static str {
    if ty == Ty::B64 { "shr.u64" } else { "shr.u32" }
}

fn or(ty: Ty) -> &'static str {
    if ty == Ty::B64 { "or.b64" } else { "or.b32" }
}

fn and(ty: Ty) -> &'static str {
    if ty == Ty::B64 { "and.b64" } else { "and.b32" }
}

fn how_to_load(space: Space, access: Access) -> &'static str {
    match (space, access.volatile, access.read_only) {
        (Space::Param, ..) => ".param",
        (Space::Generic, true, _) => ".volatile",
        (Space::Global | Space::Constant, true, _) => ".volatile.global",
        (Space::Shared, true, _) => ".volatile.shared",
        (Space::Global | Space::Constant, false, true) => ".global.nc",
        (Space::Local, true, _) | (_, false, _) => space.suffix(),
    }
}

/// How a store says that it is volatile. Private memory has no such stores: nobody else sees it.
fn volatile(space: Space, access: Access) -> &'static str {
    if access.volatile && !matches!(space, Space::Local) { ".volatile" } else { "" }
}

fn list(registers: &[Operand]) -> String {
    registers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What is known of the alignment `at` bytes behind an address.
fn align_at(align: u64, at: u64) -> u64 {
    match at {
        0 => align,
        at => align.min(1 << at.trailing_zeros()),
    }
}

/// How many parts from `first` on can be accessed at once: 1, 2 or 4.
fn neighbours(shape: &Shape, first: usize, align: u64) -> usize {
    let (Some(&kind), Some(&start)) = (shape.kinds.get(first), shape.offsets.get(first)) else { return 1 };
    if kind == Kind::Bool {
        return 1;
    }
    let size = kind.bytes();
    for together in [4, 2] {
        let whole = size * together as u64;
        let kinds = shape.kinds.get(first..first + together);
        let offsets = shape.offsets.get(first..first + together);
        let (Some(kinds), Some(offsets)) = (kinds, offsets) else { continue };
        let in_a_row = offsets.iter().enumerate().all(|(i, at)| *at == start.saturating_add(i as u64 * size));
        if whole <= 16 && align_at(align, start) >= whole && in_a_row && kinds.iter().all(|k| *k == kind) {
            return together;
        }
    }
    1
}
