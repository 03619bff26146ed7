//! Types of a module, with sizes, alignments and field offsets as OpenCL C has them.
//!
//! Scalars and vectors align to their size, and a vector of three lanes counts as one of four. The
//! addressing model determines the width of pointers. Structs have C's layout unless they are
//! decorated `CPacked` (OpenCL C specification, section 6.3.5 "Alignment of Types"). Sizes
//! saturate. A type whose parts are not declared before it is [`Type::Other`], except for pointers.
//! So a walk from a type to its parts ends on any input, if it does not follow pointers.

use std::collections::{HashMap, HashSet};

use ::spirv::{AddressingModel, Decoration, Op};

use super::definitions::Definitions;
use super::id_map::IdMap;
use super::instruction::Instruction;
use super::module::Module;

/// A type. Operands are ids of other types unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type<'m> {
    /// `OpTypeVoid`.
    Void,
    /// `OpTypeBool`.
    Bool,
    /// `OpTypeInt`; kernels' integers have no sign.
    Int {
        /// Bits.
        width: u32,
    },
    /// `OpTypeFloat`.
    Float {
        /// Bits.
        width: u32,
    },
    /// `OpTypeVector`.
    Vector {
        /// Type of a lane.
        component: u32,
        /// Number of lanes.
        count: u32,
    },
    /// `OpTypeArray`.
    Array {
        /// Type of an element.
        element: u32,
        /// Number of elements; `None` where it depends on a specialization constant or is no
        /// integer constant.
        length: Option<u64>,
    },
    /// `OpTypeRuntimeArray`.
    RuntimeArray {
        /// Type of an element.
        element: u32,
    },
    /// `OpTypeStruct`.
    Struct {
        /// Types of the members.
        members: &'m [u32],
    },
    /// `OpTypePointer`, or `OpTypeUntypedPointerKHR` with a pointee of 0.
    Pointer {
        /// A [`StorageClass`](super::StorageClass) as a number.
        class: u32,
        /// Type pointed to.
        pointee: u32,
    },
    /// `OpTypeFunction`.
    Function {
        /// Type of the result.
        returns: u32,
        /// Types of the parameters.
        parameters: &'m [u32],
    },
    /// `OpTypeImage`; look at the instruction for more.
    Image,
    /// `OpTypeSampler`.
    Sampler,
    /// `OpTypeSampledImage`.
    SampledImage,
    /// `OpTypeOpaque`: a struct without a body.
    Opaque,
    /// Events, queues, pipes and other types without a layout.
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Entry<'m> {
    ty: Type<'m>,
    /// Bytes, padding included; `None` where there is no layout.
    size: Option<u64>,
    align: u32,
    packed: bool,
}

/// The types of a module.
#[derive(Debug, Clone)]
pub struct TypeTable<'m> {
    entries: Vec<Entry<'m>>,
    /// Index into `entries` plus one; 0 for ids that are no types.
    index: IdMap<u32>,
    pointer_bytes: u32,
}

impl<'m> TypeTable<'m> {
    /// Reads the types of the module of `definitions`.
    pub fn new(definitions: &Definitions<'m>) -> Self {
        let module = definitions.module();
        let (pointer_bytes, packed) = before_types(module);
        let mut table = Self { entries: Vec::new(), index: IdMap::new(module, 0), pointer_bytes };
        for instruction in module.global_instructions() {
            let (Some(ty), Some(id)) = (read(&instruction, definitions), instruction.result_id()) else {
                continue;
            };
            if table.index.value(id) != 0 {
                continue;
            }
            let packed = packed.contains_key(&id);
            let ty = if table.is_sound(ty, definitions) { ty } else { Type::Other };
            let (size, align) = table.layout(ty, packed, definitions);
            table.entries.push(Entry { ty, size, align, packed });
            table.index.insert(id, table.entries.len() as u32);
        }
        table
    }

    /// The type `id`; `None` where `id` is not a type.
    #[inline]
    pub fn ty(&self, id: u32) -> Option<Type<'m>> {
        Some(self.entry(id)?.ty)
    }

    /// The storage class and the pointee of a pointer type; `None` for other types.
    #[inline]
    pub fn pointer(&self, id: u32) -> Option<(u32, u32)> {
        match self.ty(id)? {
            Type::Pointer { class, pointee } => Some((class, pointee)),
            _ => None,
        }
    }

    /// Size of a value of the type in bytes, padding included; `None` for types without a known
    /// layout. Saturates.
    pub fn size_bytes(&self, id: u32) -> Option<u64> {
        self.entry(id)?.size
    }

    /// Alignment of the type in bytes, at least 1.
    pub fn align_bytes(&self, id: u32) -> u32 {
        self.entry(id).map_or(1, |e| e.align)
    }

    /// Offsets in bytes of the members of a struct; `None` where the type is no struct or a member
    /// has no layout.
    pub fn member_offsets(&self, id: u32) -> Option<Vec<u64>> {
        let entry = self.entry(id)?;
        let Type::Struct { members } = entry.ty else { return None };
        let mut end = 0_u64;
        members
            .iter()
            .map(|&member| {
                let start = if entry.packed { end } else { align_up(end, self.align_bytes(member)) };
                end = start.saturating_add(self.size_bytes(member)?);
                Some(start)
            })
            .collect()
    }

    /// Whether a struct is decorated `CPacked`.
    pub fn is_packed(&self, id: u32) -> bool {
        self.entry(id).is_some_and(|e| e.packed)
    }

    /// The type of a vector's lanes. Other types have one lane.
    pub fn lane(&self, id: u32) -> u32 {
        match self.ty(id) {
            Some(Type::Vector { component, .. }) => component,
            _ => id,
        }
    }

    /// The type itself and all that a value of it consists of, each once: elements, components and members,
    /// and theirs. What pointers lead to is not part of it.
    pub fn parts(&self, id: u32) -> Vec<u32> {
        let mut found = vec![id];
        let mut seen = HashSet::from([id]);
        let mut next = 0;
        while let Some(&id) = found.get(next) {
            next += 1;
            let inner = match self.ty(id) {
                Some(Type::Vector { component: inner, .. }) => &[inner][..],
                Some(Type::Array { element, .. } | Type::RuntimeArray { element }) => &[element],
                Some(Type::Struct { members }) => members,
                _ => &[],
            };
            found.extend(inner.iter().filter(|id| seen.insert(**id)));
        }
        found
    }

    /// Size of a pointer in bytes: 4 for `Physical32`, else 8.
    pub fn pointer_bytes(&self) -> u32 {
        self.pointer_bytes
    }

    #[inline]
    fn entry(&self, id: u32) -> Option<&Entry<'m>> {
        let index = self.index.value(id).checked_sub(1)?;
        self.entries.get(index as usize)
    }

    /// Whether all parts of a type are in the table, or pointers that are declared later.
    fn is_sound(&self, ty: Type<'_>, definitions: &Definitions<'_>) -> bool {
        let known = |id: &u32| self.entry(*id).is_some() || is_pointer(*id, definitions);
        match ty {
            Type::Vector { component: part, .. } | Type::Array { element: part, .. } => known(&part),
            Type::RuntimeArray { element } => known(&element),
            Type::Struct { members } => members.iter().all(known),
            Type::Function { returns, parameters } => known(&returns) && parameters.iter().all(known),
            _ => true,
        }
    }

    /// Size and alignment of a type whose parts are in the table.
    fn layout(&self, ty: Type<'_>, packed: bool, definitions: &Definitions<'_>) -> (Option<u64>, u32) {
        match ty {
            Type::Bool => (Some(1), 1),
            Type::Int { width } | Type::Float { width } if (8..=64).contains(&width) => {
                let bytes = width.div_ceil(8).next_power_of_two();
                (Some(bytes.into()), bytes)
            }
            Type::Vector { component, count } if (1..=16).contains(&count) => {
                let lanes = count.next_power_of_two();
                let is_scalar = matches!(
                    self.ty(component),
                    Some(Type::Bool | Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. })
                );
                match self.size_bytes(component) {
                    Some(size @ 1..=8) if is_scalar => (Some(size * u64::from(lanes)), size as u32 * lanes),
                    _ => (None, 1),
                }
            }
            Type::Array { element, length } => {
                let size =
                    self.size_bytes(element).zip(length).map(|(size, length)| size.saturating_mul(length));
                (size, self.align_bytes(element))
            }
            Type::RuntimeArray { element } => (None, self.align_bytes(element)),
            Type::Struct { members } => {
                let mut end = Some(0_u64);
                let mut align = 1;
                for &member in members {
                    let (size, natural) = match self.entry(member) {
                        Some(entry) => (entry.size, entry.align),
                        None if is_pointer(member, definitions) => {
                            (Some(self.pointer_bytes.into()), self.pointer_bytes)
                        }
                        None => (None, 1),
                    };
                    let member_align = if packed { 1 } else { natural };
                    align = align.max(member_align);
                    end = end.zip(size).map(|(end, size)| align_up(end, member_align).saturating_add(size));
                }
                (end.map(|end| align_up(end, align)), align)
            }
            Type::Pointer { .. } => (Some(self.pointer_bytes.into()), self.pointer_bytes),
            _ => (None, 1),
        }
    }
}

fn is_pointer(id: u32, definitions: &Definitions<'_>) -> bool {
    definitions.instruction(id).is_some_and(|i| i.is(Op::TypePointer))
}

/// Rounds up to a multiple of `align`, a power of two; saturates.
fn align_up(offset: u64, align: u32) -> u64 {
    let mask = u64::from(align.max(1)) - 1;
    offset.saturating_add(mask) & !mask
}

/// Size of pointers, and the structs that are packed.
fn before_types(module: &Module) -> (u32, HashMap<u32, ()>) {
    let mut pointer_bytes = 8;
    let mut packed = HashMap::new();
    for instruction in module.global_instructions() {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::MemoryModel), &[addressing, ..])
                if addressing == AddressingModel::Physical32 as u32 =>
            {
                pointer_bytes = 4;
            }
            (Some(Op::Decorate), &[id, decoration, ..]) if decoration == Decoration::CPacked as u32 => {
                packed.insert(id, ());
            }
            _ => {}
        }
    }
    (pointer_bytes, packed)
}

fn read<'m>(instruction: &Instruction<'m>, definitions: &Definitions<'m>) -> Option<Type<'m>> {
    let operands = instruction.operands();
    Some(match (instruction.op()?, operands) {
        (Op::TypeVoid, _) => Type::Void,
        (Op::TypeBool, _) => Type::Bool,
        (Op::TypeInt, &[width, ..]) => Type::Int { width },
        (Op::TypeFloat, &[width, ..]) => Type::Float { width },
        (Op::TypeVector, &[component, count, ..]) => Type::Vector { component, count },
        (Op::TypeArray, &[element, length, ..]) => {
            Type::Array { element, length: definitions.int_constant(length) }
        }
        (Op::TypeRuntimeArray, &[element, ..]) => Type::RuntimeArray { element },
        (Op::TypeStruct, members) => Type::Struct { members },
        (Op::TypePointer, &[class, pointee, ..]) => Type::Pointer { class, pointee },
        (Op::TypeUntypedPointerKHR, &[class, ..]) => Type::Pointer { class, pointee: 0 },
        (Op::TypeFunction, &[returns, ref parameters @ ..]) => Type::Function { returns, parameters },
        (Op::TypeImage, _) => Type::Image,
        (Op::TypeSampler, _) => Type::Sampler,
        (Op::TypeSampledImage, _) => Type::SampledImage,
        (Op::TypeOpaque, _) => Type::Opaque,
        (Op::TypeForwardPointer, _) => return None,
        (op, _) if super::section::is_type(op) => Type::Other,
        _ => return None,
    })
}
