//! The types of a module as registers and as memory.

use std::collections::HashMap;
use std::rc::Rc;

use oclave_spirv::{Op, StorageClass, Type, TypeTable};

use crate::error::{Step, Stop};
use crate::operand::{Kind, Space};

/// A value of more parts is refused: it belongs into memory.
const MOST_PARTS: usize = 4096;

/// A type as registers: one for each scalar in it.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub(crate) kinds: Vec<Kind>,
    /// Where each part is in memory, in bytes.
    pub(crate) offsets: Vec<u64>,
    /// How many types were visited: arrays of arrays of nothing have no parts, but take time.
    visited: usize,
}

/// The shapes of a module's types, made when they are asked for.
#[derive(Debug)]
pub(crate) struct Shapes<'a, 'm> {
    pub(crate) table: &'a TypeTable<'m>,
    definitions: &'a oclave_spirv::Definitions<'m>,
    made: HashMap<u32, Rc<Shape>>,
}

impl<'a, 'm> Shapes<'a, 'm> {
    pub(crate) fn new(definitions: &'a oclave_spirv::Definitions<'m>, table: &'a TypeTable<'m>) -> Self {
        Self { table, definitions, made: HashMap::new() }
    }

    /// The type `id` as registers.
    pub(crate) fn shape(&mut self, id: u32) -> Step<Rc<Shape>> {
        if let Some(shape) = self.made.get(&id) {
            return Ok(shape.clone());
        }
        let mut shape = Shape::default();
        self.add(id, 0, &mut shape)?;
        let shape = Rc::new(shape);
        self.made.insert(id, shape.clone());
        Ok(shape)
    }

    /// Bytes of a type in memory. Events, images and samplers have 8: private variables may hold
    /// them.
    pub(crate) fn size_bytes(&self, id: u32) -> Option<u64> {
        if let Some(bytes) = self.table.size_bytes(id) {
            return Some(bytes);
        }
        match self.table.ty(id) {
            Some(Type::Array { element, length: Some(length) }) if self.is(element, Op::TypeEvent) => {
                length.checked_mul(8)
            }
            Some(Type::Image | Type::Sampler) => Some(8),
            _ => self.is(id, Op::TypeEvent).then_some(8),
        }
    }

    /// The type of a scalar or of the lanes of a vector.
    pub(crate) fn kind(&mut self, id: u32) -> Step<Kind> {
        let shape = self.shape(id)?;
        shape.kinds.first().copied().ok_or(Stop::Broken("a value without parts"))
    }

    fn add(&mut self, id: u32, at: u64, shape: &mut Shape) -> Step {
        shape.visited += 1;
        if shape.kinds.len() >= MOST_PARTS || shape.visited > 4 * MOST_PARTS {
            return Err(Stop::unsupported(format!(
                "a value of more than {MOST_PARTS} parts; keep it in memory"
            )));
        }
        let mut one = |kind| {
            shape.kinds.push(kind);
            shape.offsets.push(at);
        };
        match self.table.ty(id) {
            Some(Type::Void) => {}
            Some(Type::Bool) => one(Kind::Bool),
            Some(Type::Int { width: 8 }) => one(Kind::I8),
            Some(Type::Int { width: 16 }) => one(Kind::I16),
            Some(Type::Int { width: 32 }) => one(Kind::I32),
            Some(Type::Int { width: 64 }) => one(Kind::I64),
            Some(Type::Float { width: 16 }) => one(Kind::F16),
            Some(Type::Float { width: 32 }) => one(Kind::F32),
            Some(Type::Float { width: 64 }) => one(Kind::F64),
            Some(Type::Pointer { class, .. }) => one(Kind::Pointer(space(class)?)),
            Some(Type::Vector { component, count }) => {
                let size = self.size_bytes(component).unwrap_or(0);
                for lane in 0..u64::from(count) {
                    self.add(component, at.saturating_add(lane.saturating_mul(size)), shape)?;
                }
            }
            Some(Type::Array { element, length: Some(length) }) => {
                let size = self.size_bytes(element).unwrap_or(0);
                if length > MOST_PARTS as u64 {
                    return Err(Stop::unsupported(format!(
                        "a value of more than {MOST_PARTS} parts; keep it in memory"
                    )));
                }
                for index in 0..length {
                    self.add(element, at.saturating_add(index.saturating_mul(size)), shape)?;
                }
            }
            Some(Type::Struct { members }) => {
                let Some(offsets) = self.table.member_offsets(id) else {
                    return Err(self.refused(id));
                };
                for (&member, offset) in members.iter().zip(offsets) {
                    self.add(member, at.saturating_add(offset), shape)?;
                }
            }
            // The number of the kernel's image or sampler (`body/image.rs`).
            Some(Type::Image | Type::Sampler) => one(Kind::I64),
            Some(Type::SampledImage) => {
                one(Kind::I64);
                one(Kind::I64);
            }
            _ if self.is(id, Op::TypeEvent) => one(Kind::I64),
            _ => return Err(self.refused(id)),
        }
        Ok(())
    }

    fn is(&self, id: u32, op: Op) -> bool {
        self.definitions.instruction(id).is_some_and(|ty| ty.is(op))
    }

    /// Why there is no such value in PTX.
    fn refused(&self, id: u32) -> Stop {
        let what = match self.table.ty(id) {
            Some(Type::Int { .. } | Type::Float { .. }) => {
                "there are registers for 8, 16, 32 and 64 bits only"
            }
            Some(Type::Function { .. }) => "pointers to functions are not supported",
            _ => "pipes, device queues and other opaque types are not supported; use buffers",
        };
        Stop::unsupported(what)
    }

    /// How many parts come before part `index` of a struct, array or vector, and the type of that
    /// part.
    pub(crate) fn part(&mut self, id: u32, index: u32) -> Step<(usize, u32)> {
        let index = index as usize;
        match self.table.ty(id) {
            Some(Type::Vector { component, .. }) => Ok((index, component)),
            Some(Type::Array { element, .. }) => {
                let each = self.shape(element)?.kinds.len();
                Ok((each.saturating_mul(index), element))
            }
            Some(Type::Struct { members }) => {
                let mut before = 0;
                for &member in members.get(..index).unwrap_or_default() {
                    before += self.shape(member)?.kinds.len();
                }
                let member = members.get(index).ok_or(Stop::Broken("no such member"))?;
                Ok((before, *member))
            }
            _ => Err(Stop::Broken("a scalar has no parts")),
        }
    }
}

/// The state space of a storage class.
pub(crate) fn space(class: u32) -> Step<Space> {
    match StorageClass::from_u32(class) {
        Some(StorageClass::UniformConstant) => Ok(Space::Constant),
        Some(StorageClass::CrossWorkgroup | StorageClass::DeviceOnlyINTEL | StorageClass::HostOnlyINTEL) => {
            Ok(Space::Global)
        }
        Some(StorageClass::Workgroup) => Ok(Space::Shared),
        Some(StorageClass::Function | StorageClass::Private) => Ok(Space::Local),
        Some(StorageClass::Generic) => Ok(Space::Generic),
        Some(StorageClass::Input) => Ok(Space::Param),
        Some(StorageClass::CodeSectionINTEL) => {
            Err(Stop::unsupported("pointers to functions are not supported"))
        }
        _ => Err(Stop::unsupported(format!("storage class {class} is not one of OpenCL"))),
    }
}

impl Shape {
    /// Scalars in a row.
    pub(crate) fn of_lanes(kind: Kind, lanes: usize) -> Self {
        let offsets = (0..lanes as u64).map(|lane| lane * kind.bytes()).collect();
        Self { kinds: vec![kind; lanes], offsets, visited: 0 }
    }
}
