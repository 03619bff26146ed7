//! What `oclave-build` reads about kernels, from constants of the compiled crate.
//!
//! `crates/oclave-rust/src/kernels.rs` reads these by their offsets: a change here is a new
//! `VERSION`.

use crate::parameter::Launches;

/// Version of the descriptions.
const VERSION: u32 = 3;

/// A kernel.
#[derive(Debug)]
#[repr(C)]
pub struct KernelDescription {
    version: u32,
    line: u32,
    launches: Launches,
    file: &'static str,
    documentation: &'static str,
    parameters: &'static [ParameterDescription],
}

impl KernelDescription {
    /// All of it.
    pub const fn new(
        line: u32,
        launches: Launches,
        file: &'static str,
        documentation: &'static str,
        parameters: &'static [ParameterDescription],
    ) -> Self {
        Self { version: VERSION, line, launches, file, documentation, parameters }
    }
}

/// A device global or a specialization constant.
#[derive(Debug)]
#[repr(C)]
pub struct VariableDescription {
    version: u32,
    line: u32,
    /// Of a device global 1 if another language defines it; the id of a specialization constant.
    number: u32,
    reserved: u32,
    file: &'static str,
    documentation: &'static str,
    /// As in the markers of C.
    properties: &'static str,
    ty: &'static TypeDescription,
    /// The default of a specialization constant.
    bits: u64,
}

impl VariableDescription {
    /// All of it.
    pub const fn new(
        (line, number): (u32, u32),
        file: &'static str,
        documentation: &'static str,
        properties: &'static str,
        ty: &'static TypeDescription,
        bits: u64,
    ) -> Self {
        Self { version: VERSION, line, number, reserved: 0, file, documentation, properties, ty, bits }
    }
}

/// A class of objects: a type whose implementation of a trait is marked.
#[derive(Debug)]
#[repr(C)]
pub struct ClassDescription<D: ?Sized> {
    version: u32,
    line: u32,
    number: u64,
    size: u64,
    file: &'static str,
    /// As in the source.
    name: &'static str,
    /// What the classes of a trait have in common.
    set: &'static str,
    /// A pointer with the trait's table of functions for the type. There is no object.
    table: *const D,
}

// SAFETY: nothing is read through the pointer.
unsafe impl<D: ?Sized> Sync for ClassDescription<D> {}

impl<D: ?Sized> ClassDescription<D> {
    /// All of it.
    pub const fn new(
        (line, number, size): (u32, u64, usize),
        file: &'static str,
        name: &'static str,
        set: &'static str,
        table: *const D,
    ) -> Self {
        Self { version: VERSION, line, number, size: size as u64, file, name, set, table }
    }
}

/// A parameter.
#[derive(Debug)]
#[repr(C)]
pub struct ParameterDescription {
    kind: u32,
    reserved: u32,
    name: &'static str,
    text: &'static str,
    ty: &'static TypeDescription,
    more: [u64; 2],
}

impl ParameterDescription {
    /// All of it.
    pub const fn new(
        kind: u32,
        name: &'static str,
        text: &'static str,
        ty: &'static TypeDescription,
    ) -> Self {
        Self { kind, reserved: 0, name, text, ty, more: [0; 2] }
    }
}

/// A type.
#[derive(Debug)]
#[repr(C)]
pub struct TypeDescription {
    kind: u32,
    scalar: u32,
    count: u64,
    size: u64,
    align: u64,
    name: &'static str,
    element: Option<&'static TypeDescription>,
    reserved: u64,
    fields: &'static [FieldDescription],
}

impl TypeDescription {
    const fn of<T>(kind: u32, scalar: u32, count: u64) -> Self {
        Self {
            kind,
            scalar,
            count,
            size: size_of::<T>() as u64,
            align: align_of::<T>() as u64,
            name: "",
            element: None,
            reserved: 0,
            fields: &[],
        }
    }

    /// A scalar, by its number.
    pub const fn scalar<T>(number: u32) -> Self {
        Self::of::<T>(0, number, 0)
    }

    /// An array.
    pub const fn array<T>(element: &'static Self, count: usize) -> Self {
        Self { element: Some(element), ..Self::of::<T>(1, 0, count as u64) }
    }

    /// A vector of scalars.
    pub const fn vector<T>(lane: &'static Self, count: usize) -> Self {
        Self::of::<T>(3, lane.scalar, count as u64)
    }

    /// A struct.
    pub const fn structure<T>(name: &'static str, fields: &'static [FieldDescription]) -> Self {
        Self { name, fields, ..Self::of::<T>(2, 0, 0) }
    }
}

/// A field of a struct.
#[derive(Debug)]
#[repr(C)]
pub struct FieldDescription {
    name: &'static str,
    offset: u64,
    ty: &'static TypeDescription,
    reserved: u64,
}

impl FieldDescription {
    /// All of it.
    pub const fn new(name: &'static str, offset: usize, ty: &'static TypeDescription) -> Self {
        Self { name, offset: offset as u64, ty, reserved: 0 }
    }
}
