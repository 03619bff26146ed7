//! Values of LLVM as scalars of SPIR-V.
//!
//! Every value is a list of scalars. Structs, arrays and vectors are taken apart. An integer of more than
//! 64 bits has a scalar for each 64. An integer of another width than 8, 16, 32 or 64 lies in the next of
//! these, and its upper bits are zero.

use oclave_spirv::StorageClass;

use super::Output;
use super::builder::TypeId;
use crate::llvm::layout;
use crate::llvm::tree::Type;
use crate::spaces::Storage;

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Bool,
    /// 1 to 64 bits. One bit is the upper half of a number of 65.
    Int(u32),
    Float(u32),
    Pointer,
}

/// A scalar and its place in memory, in bytes from the begin of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) scalar: Scalar,
    pub(super) offset: u64,
}

/// Values of more scalars are not taken apart.
const MOST: usize = 4096;
/// Integers of more bits are not taken apart. rustc 1.100 moves structs of 64 bytes as one of 512 bits.
pub(super) const WIDEST: u32 = 4096;

/// The scalars of a type, in order.
pub(super) fn leaves(ty: &Type) -> Result<Vec<Leaf>, String> {
    let mut found = Vec::new();
    collect(ty, 0, &mut found)?;
    Ok(found)
}

fn collect(ty: &Type, at: u64, found: &mut Vec<Leaf>) -> Result<(), String> {
    let mut push = |scalar, offset| found.push(Leaf { scalar, offset });
    match ty {
        Type::Void => {}
        Type::Int(1) => push(Scalar::Bool, at),
        Type::Int(width @ 2..=64) => push(Scalar::Int(*width), at),
        Type::Int(width @ 65..=WIDEST) => {
            let others = (width - 1) / 64;
            for index in 0..others {
                push(Scalar::Int(64), at.saturating_add(u64::from(index) * 8));
            }
            push(Scalar::Int(width - others * 64), at.saturating_add(u64::from(others) * 8));
        }
        Type::Half => push(Scalar::Float(16), at),
        Type::Float => push(Scalar::Float(32), at),
        Type::Double => push(Scalar::Float(64), at),
        Type::Pointer => push(Scalar::Pointer, at),
        Type::Array(..) | Type::Vector(..) | Type::Struct { .. } => {
            let count = ty.elements().unwrap_or(0);
            if count > MOST as u64 || found.len() > MOST {
                return Err(format!("a value of the type {ty}, which is too large"));
            }
            for index in 0..count {
                if let Some(element) = ty.element(index) {
                    collect(element, at.saturating_add(layout::offset(ty, index)), found)?;
                }
            }
        }
        Type::Int(_) | Type::Other(_) => return Err(format!("a value of the type {ty}")),
    }
    Ok(())
}

/// How many scalars of a value stand before an element, and how many the element has.
pub(super) fn range(ty: &Type, path: &[u64]) -> Result<std::ops::Range<usize>, String> {
    let mut start = 0;
    let mut ty = ty;
    for index in path {
        for before in 0..*index {
            start += leaves(ty.element(before).ok_or("an element that is not there")?)?.len();
        }
        ty = ty.element(*index).ok_or("an element that is not there")?;
    }
    Ok(start..start + leaves(ty)?.len())
}

/// The width of the integer type that an integer lies in.
pub(super) fn storage_width(width: u32) -> u32 {
    width.next_power_of_two().clamp(8, 64)
}

/// The storage class of a kind of memory.
pub(super) fn class(storage: Storage) -> StorageClass {
    match storage {
        Storage::Function => StorageClass::Function,
        Storage::Global => StorageClass::CrossWorkgroup,
        Storage::Local => StorageClass::Workgroup,
        Storage::Constant => StorageClass::UniformConstant,
        Storage::Generic => StorageClass::Generic,
    }
}

impl Output<'_> {
    /// The type of a scalar. Pointers point to bytes.
    pub(super) fn scalar_type(&mut self, scalar: Scalar, storage: Storage) -> TypeId {
        match scalar {
            Scalar::Bool => self.builder.bool_type(),
            Scalar::Int(width) => self.builder.int_type(storage_width(width)),
            Scalar::Float(width) => self.builder.float_type(width),
            Scalar::Pointer => self.byte_pointer(storage),
        }
    }

    pub(super) fn byte_pointer(&mut self, storage: Storage) -> TypeId {
        let byte = self.builder.int_type(8);
        self.builder.pointer_type(class(storage), byte)
    }
}
