//! Accesses to local memory that are less aligned than the numbers they access, in parts.
//!
//! Fields of packed structs may lie at any address. On Mesa's llvmpipe, accesses to local memory take the
//! number of an element, so they fall on the aligned address before. Here, they access as many bytes at a
//! time as the alignment allows.

mod address;

use crate::Fault;
use crate::passes::error::{Error, Result, unsupported};
use crate::passes::{Pass, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{
    ALIGNED, Cursor, Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable, VOLATILE,
    first_chain_index, is_access_chain,
};

fault! {
    /// **Q56. Mesa's rusticl 26.1.6 on llvmpipe.** Fields of packed structs are read and written at the
    /// wrong place in local memory. In structs by value, kernels read them at the wrong place. An access
    /// falls on the address before that its type would be aligned to. From source, `int b` at offset 1
    /// is read at offset 0. Copies of such structs are wrong, too. Private, constant and global memory is
    /// right. Such accesses are split (decision 128).
    Q56 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "Fields of packed structs are read and written at the wrong place.",
        remedy: "Accesses are split (`unaligned`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q56, "unaligned", |on| split(on.analyses));

/// Accesses of more parts are refused: each part is a load or a store.
const MOST_PARTS: u64 = 4096;
/// Types that nest deeper are refused; keeps the stack bounded.
const MAX_DEPTH: u32 = 64;

/// The module with these accesses in parts; `None` where it has none.
///
/// # Errors
/// [`Unsupported`](oclave_spirv::Error::Unsupported) for accesses of more than 4096 parts or of an unknown number of bytes. Also
/// for numbers whose width is not 8, 16, 32 or 64 bits.
pub(crate) fn split(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let finder = Finder { definitions, types: &types, bits: types.pointer_bytes() * 8 };
    let mut edit = Editor::new(definitions);
    for instruction in analyses.module().instructions() {
        if let Some(access) = finder.access(&instruction) {
            let at = edit.instead_of(&instruction);
            Splitter { finder, access, at }.write(&instruction)?;
        }
    }
    Ok(edit.finish()?)
}

/// An access that is split.
#[derive(Clone, Copy)]
struct Access {
    /// Bytes of a part.
    unit: u32,
    /// The bits of `MemoryAccess` that parts have, too.
    flags: u32,
}

impl Access {
    /// Checks that an access to so many bytes has no more parts than may be written.
    fn check_parts(self, bytes: u64) -> Result<()> {
        match bytes / u64::from(self.unit) {
            0..=MOST_PARTS => Ok(()),
            parts => Err(unsupported(format!(
                "an access of {parts} parts to local memory that is aligned to {} bytes; at most {MOST_PARTS} \
                 parts are supported, so copy in a loop",
                self.unit
            ))),
        }
    }
}

fn unsupported_type() -> Error {
    let what = "an unaligned access to local memory, of a type that has other parts than numbers of 8, 16, 32 or \
                64 bits and pointers";
    unsupported(what.to_owned())
}

/// Finds accesses that are split.
#[derive(Clone, Copy)]
struct Finder<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    /// The width of an address.
    bits: u32,
}

impl Finder<'_, '_> {
    /// How an instruction is split, if it must be.
    fn access(&self, instruction: &Instruction<'_>) -> Option<Access> {
        let (pointers, ty, rest) = match (instruction.op()?, instruction.operands()) {
            (Op::Load, [from, rest @ ..]) => (vec![*from], instruction.result_type(), rest),
            (Op::Store, [to, value, rest @ ..]) => (vec![*to], self.definitions.type_of(*value), rest),
            (Op::CopyMemory, [to, from, rest @ ..]) => (vec![*to, *from], self.pointee(*to), rest),
            (Op::CopyMemorySized, [to, from, _, rest @ ..]) => (vec![*to, *from], None, rest),
            _ => return None,
        };
        let numbers = ty.and_then(|ty| self.bytes_of_numbers(ty));
        let (flags, aligned) = match (rest, numbers) {
            (&[flags, aligned], _) if flags & ALIGNED != 0 => (flags, aligned),
            // Of a copy: of what is written, and of what is read.
            (&[flags, aligned, others, other], _) if flags & others & ALIGNED != 0 => {
                (flags | others, aligned.min(other))
            }
            ([] | [_], Some((_, widest))) => (rest.first().copied().unwrap_or(0), widest),
            _ => return None,
        };
        let is_less = numbers.map_or(aligned < 8, |(_, widest)| widest > aligned);
        let is_local = |pointer: &&u32| self.class(**pointer) == Some(StorageClass::Workgroup as u32);
        let is_wrong =
            pointers.iter().filter(is_local).any(|pointer| is_less || self.is_cast_field(*pointer));
        let unit = numbers.map_or(aligned, |(narrowest, _)| aligned.min(narrowest));
        let is_split = is_wrong && unit.is_power_of_two() && unit <= 8;
        is_split.then_some(Access { unit, flags: flags & VOLATILE })
    }

    /// Whether a pointer is a field of a packed struct, cast to another type. Mesa takes the fields of a
    /// struct in local memory for each other where they are cast.
    fn is_cast_field(&self, pointer: u32) -> bool {
        let (mut id, mut is_cast) = (pointer, false);
        for _ in 0..MAX_DEPTH {
            let Some(instruction) = self.definitions.instruction(id) else { return false };
            id = match (instruction.op(), instruction.operands()) {
                (Some(Op::Bitcast), &[base]) => {
                    is_cast = true;
                    base
                }
                (Some(op), operands @ &[base, ..]) if is_access_chain(op) => {
                    let fields =
                        first_chain_index(op).and_then(|first| operands.get(first..)).unwrap_or_default();
                    if is_cast && self.passes_packed(base, fields) {
                        return true;
                    }
                    base
                }
                _ => return false,
            };
        }
        false
    }

    /// Whether indices lead to a field of a packed struct.
    fn passes_packed(&self, base: u32, indices: &[u32]) -> bool {
        let mut ty = self.pointee(base);
        for index in indices {
            if ty.is_some_and(|ty| self.types.is_packed(ty)) {
                return true;
            }
            ty = ty.and_then(|ty| self.types.part(self.definitions, ty, *index));
        }
        false
    }

    fn pointee(&self, pointer: u32) -> Option<u32> {
        Some(self.types.pointer(self.definitions.type_of(pointer)?)?.1)
    }

    fn class(&self, pointer: u32) -> Option<u32> {
        Some(self.types.pointer(self.definitions.type_of(pointer)?)?.0)
    }

    /// Bytes of the narrowest and of the widest number in a type; `None` if it has other parts.
    fn bytes_of_numbers(&self, ty: u32) -> Option<(u32, u32)> {
        let mut range: Option<(u32, u32)> = None;
        for part in self.types.parts(ty) {
            let bytes = match self.types.ty(part)? {
                Type::Int { width: width @ (8 | 16 | 32 | 64) }
                | Type::Float { width: width @ (16 | 32 | 64) } => width / 8,
                Type::Pointer { .. } => self.types.pointer_bytes(),
                Type::Struct { members: [] } => continue,
                Type::Vector { .. } | Type::Array { .. } | Type::Struct { .. }
                    if self.types.size_bytes(part) > Some(0) =>
                {
                    continue;
                }
                _ => return None,
            };
            range = Some(range.map_or((bytes, bytes), |(least, most)| (least.min(bytes), most.max(bytes))));
        }
        range
    }

    fn bytes_of_number(&self, ty: u32) -> u32 {
        self.bytes_of_numbers(ty).map_or(0, |(_, widest)| widest)
    }

    /// The parts of a composite type and where they lie.
    fn members(&self, ty: u32, depth: u32) -> Result<Option<Vec<(u32, u64)>>> {
        if depth > MAX_DEPTH {
            return Err(unsupported_type());
        }
        let all = |element: u32, count: u64| {
            let stride = self.types.size_bytes(element).ok_or_else(unsupported_type)?;
            Ok(Some((0..count).map(|i| (element, i * stride)).collect()))
        };
        match self.types.ty(ty) {
            Some(Type::Vector { component, count }) => all(component, u64::from(count)),
            Some(Type::Array { element, length: Some(length) }) => all(element, length),
            Some(Type::Struct { members }) => {
                let offsets = self.types.member_offsets(ty).ok_or_else(unsupported_type)?;
                Ok(Some(members.iter().copied().zip(offsets).collect()))
            }
            Some(Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. }) => Ok(None),
            _ => Err(unsupported_type()),
        }
    }
}

/// Writes the parts of an access.
struct Splitter<'a, 'e, 'm> {
    finder: Finder<'a, 'm>,
    access: Access,
    at: Cursor<'e, 'm>,
}

impl Splitter<'_, '_, '_> {
    fn write(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Load), &[from, ..]) => {
                let Some((ty, result)) = instruction.result_type().zip(instruction.result_id()) else {
                    return Ok(());
                };
                self.check_type(ty)?;
                let bytes = self.bytes(from);
                let value = self.load(bytes, ty, 0, 0)?;
                self.at.push(Op::CopyObject, &[ty, result, value]);
            }
            (Some(Op::Store), &[to, value, ..]) => {
                let ty = self.finder.definitions.type_of(value).ok_or_else(unsupported_type)?;
                self.check_type(ty)?;
                let bytes = self.bytes(to);
                self.store(bytes, [value, ty], 0, 0)?;
            }
            (Some(Op::CopyMemory), &[to, from, ..]) => {
                let ty = self.finder.pointee(to).ok_or_else(unsupported_type)?;
                self.check_type(ty)?;
                let (to, from) = (self.bytes(to), self.bytes(from));
                let value = self.load(from, ty, 0, 0)?;
                self.store(to, [value, ty], 0, 0)?;
            }
            (_, &[to, from, size, ..]) => self.copy(to, from, size)?,
            _ => {}
        }
        Ok(())
    }

    /// Checks that a type consists of numbers, and has no more parts than may be written.
    fn check_type(&self, ty: u32) -> Result<()> {
        let Finder { types, .. } = self.finder;
        let numbers = self.finder.bytes_of_numbers(ty);
        let bytes = numbers.and_then(|_| types.size_bytes(ty)).ok_or_else(unsupported_type)?;
        self.access.check_parts(bytes)
    }

    fn copy(&mut self, to: u32, from: u32, size: u32) -> Result<()> {
        let bytes = self.finder.definitions.int_constant(size).ok_or_else(|| {
            let what = "a copy of an unknown number of bytes, from or to local memory that is aligned to less than 8 \
                        bytes; copy in a loop";
            unsupported(what.to_owned())
        })?;
        self.access.unit = self.access.unit.min(1 << bytes.trailing_zeros().min(2));
        self.access.check_parts(bytes)?;
        let (to, from) = (self.bytes(to), self.bytes(from));
        for offset in (0..bytes).step_by(self.access.unit as usize) {
            let value = self.load_part(from, offset);
            self.store_part(to, offset, value);
        }
        Ok(())
    }

    /// The address of a pointer, and the type of pointers to its parts.
    fn bytes(&mut self, pointer: u32) -> [u32; 2] {
        let class = self.finder.class(pointer).and_then(StorageClass::from_u32);
        let part = self.part_type();
        let ty = self.at.pointer_type(class.unwrap_or(StorageClass::Workgroup), part);
        [self.address(pointer, 0), ty]
    }

    fn part_type(&mut self) -> u32 {
        self.at.int_type(self.access.unit * 8)
    }

    /// A pointer to a part.
    fn part(&mut self, [start, ty]: [u32; 2], offset: u64) -> u32 {
        let bits = self.finder.bits;
        let (number, offset) = (self.at.int_type(bits), self.at.int_constant(bits, offset));
        let sum = self.at.emit(Op::IAdd, number, &[start, offset]);
        self.at.emit(Op::ConvertUToPtr, ty, &[sum])
    }

    fn load_part(&mut self, from: [u32; 2], offset: u64) -> u32 {
        let (part, ty) = (self.part(from, offset), self.part_type());
        self.at.emit(Op::Load, ty, &[part, self.access.flags | ALIGNED, self.access.unit])
    }

    fn store_part(&mut self, to: [u32; 2], offset: u64, value: u32) {
        let part = self.part(to, offset);
        self.at.push(Op::Store, &[part, value, self.access.flags | ALIGNED, self.access.unit]);
    }

    fn load(&mut self, from: [u32; 2], ty: u32, offset: u64, depth: u32) -> Result<u32> {
        if let Some(members) = self.finder.members(ty, depth)? {
            let mut parts = Vec::with_capacity(members.len());
            for (member, behind) in members {
                parts.push(self.load(from, member, offset + behind, depth + 1)?);
            }
            return Ok(self.at.emit(Op::CompositeConstruct, ty, &parts));
        }
        let bytes = self.finder.bytes_of_number(ty);
        let part_of = |at: u32| offset + u64::from(at);
        let offsets = (0..bytes).step_by(self.access.unit as usize);
        let parts: Vec<u32> = offsets.map(|at| self.load_part(from, part_of(at))).collect();
        let value = match *parts.as_slice() {
            [only] => only,
            _ => {
                let vector = self.vector_type(parts.len());
                self.at.emit(Op::CompositeConstruct, vector, &parts)
            }
        };
        Ok(match self.finder.types.ty(ty) {
            Some(Type::Pointer { .. }) => {
                let number = self.at.int_type(bytes * 8);
                let value = self.at.emit(Op::Bitcast, number, &[value]);
                self.at.emit(Op::ConvertUToPtr, ty, &[value])
            }
            Some(Type::Int { .. }) if parts.len() == 1 => value,
            _ => self.at.emit(Op::Bitcast, ty, &[value]),
        })
    }

    /// The type of all parts of a number.
    fn vector_type(&mut self, count: usize) -> u32 {
        let part = self.part_type();
        self.at.vector_type(part, count as u32)
    }

    fn store(&mut self, to: [u32; 2], [value, ty]: [u32; 2], offset: u64, depth: u32) -> Result<()> {
        if let Some(members) = self.finder.members(ty, depth)? {
            for (number, (member, behind)) in (0..).zip(members) {
                let part = self.at.emit(Op::CompositeExtract, member, &[value, number]);
                self.store(to, [part, member], offset + behind, depth + 1)?;
            }
            return Ok(());
        }
        let bytes = self.finder.bytes_of_number(ty);
        let kind = self.finder.types.ty(ty);
        let value = match kind {
            Some(Type::Pointer { .. }) => {
                let number = self.at.int_type(bytes * 8);
                self.at.emit(Op::ConvertPtrToU, number, &[value])
            }
            _ => value,
        };
        let (part, count) = (self.part_type(), bytes / self.access.unit);
        if count <= 1 {
            let is_float = matches!(kind, Some(Type::Float { .. }));
            let value = if is_float { self.at.emit(Op::Bitcast, part, &[value]) } else { value };
            self.store_part(to, offset, value);
            return Ok(());
        }
        let vector = self.vector_type(count as usize);
        let parts = self.at.emit(Op::Bitcast, vector, &[value]);
        for number in 0..count {
            let value = self.at.emit(Op::CompositeExtract, part, &[parts, number]);
            self.store_part(to, offset + u64::from(number * self.access.unit), value);
        }
        Ok(())
    }
}
