//! What a kernel looks like from the host: its parameters, their types, and what it demands of a
//! launch.

use std::fmt;

use crate::Aspects;

/// A kernel of a device image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSignature {
    /// Entry-point name.
    pub name: String,
    /// Parameters in order, hidden ones not included.
    pub parameters: Vec<Parameter>,
    /// `reqd_work_group_size`, work-items per dimension.
    pub required_work_group_size: Option<[u32; 3]>,
    /// Whether all work-groups of a launch must have the same size, which OpenCL C 1.2 promises to drivers.
    pub uniform_work_groups: bool,
    /// `intel_reqd_sub_group_size`, work-items.
    pub required_sub_group_size: Option<u32>,
    /// Optional device features that the kernel, or anything it calls, uses.
    pub aspects: Aspects,
    /// Unique ids of the device globals that the kernel, or anything it calls, uses; sorted.
    pub device_globals: Vec<String>,
}

/// One kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The source name; `arg0`, `arg1`, … where the module does not tell.
    pub name: String,
    /// What is passed.
    pub kind: ParameterKind,
}

/// What a kernel parameter takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterKind {
    /// A value copied at launch: scalar, vector, or struct (SPIR-V `ByVal`).
    Value(ValueType),
    /// A pointer to memory that the host provides.
    Pointer {
        /// Where the pointee lives: [`AddressSpace::Global`] or [`AddressSpace::Constant`].
        address_space: AddressSpace,
        /// What the kernel does with it.
        access: Access,
        /// The pointee's type.
        pointee: ValueType,
    },
    /// A pointer to local memory; the host gives its size at launch.
    Local {
        /// The pointee's type.
        pointee: ValueType,
    },
    /// An image object, named as in OpenCL C (`image2d_t`).
    Image {
        /// OpenCL C type name.
        type_name: String,
        /// The declared access qualifier.
        access: Access,
    },
    /// A sampler object.
    Sampler,
}

/// Address space of a pointer parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressSpace {
    /// `__global`, SPIR-V CrossWorkgroup.
    Global,
    /// `__constant`, SPIR-V UniformConstant.
    Constant,
}

/// How a kernel accesses what a parameter refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Declared `const` or `read_only`.
    Read,
    /// Declared `write_only` (images only).
    Write,
    /// Anything else.
    ReadWrite,
}

/// A scalar of OpenCL C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Scalar {
    /// All of them. A scalar's place here is its number in files and property sets, and never
    /// changes.
    pub const ALL: [Self; 11] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// Size in bytes; also the alignment.
    pub const fn size_bytes(self) -> u32 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The OpenCL C name (`uchar`, `float`).
    pub const fn opencl_name(self) -> &'static str {
        match self {
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::I64 => "long",
            Self::U64 => "ulong",
            Self::F16 => "half",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }
}

/// The type of a value, of a pointee, or of a device global.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// One scalar.
    Scalar(Scalar),
    /// An OpenCL vector of 2, 3, 4, 8 or 16 lanes. A vector of 3 occupies and aligns as one of 4.
    Vector(Scalar, u8),
    /// An array, outermost dimension first.
    Array(Box<ValueType>, u64),
    /// A struct whose fields are known.
    Struct(StructType),
    /// Anything else of known layout: unions, pointers inside structs, packed structs. Passed as
    /// bytes.
    Opaque {
        /// The name in the source, as far as it is known.
        name: String,
        /// Size in bytes.
        size_bytes: u64,
        /// Alignment in bytes.
        align_bytes: u32,
    },
    /// `void`, or a pointee of which nothing is known.
    Void,
}

/// A struct type with its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructType {
    /// The name in the source, without `struct`.
    pub name: String,
    /// Fields in order.
    pub fields: Vec<Field>,
    /// Size in bytes, trailing padding included.
    pub size_bytes: u64,
    /// Alignment in bytes.
    pub align_bytes: u32,
}

/// One field of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name in the source; `field0`, … where the module does not tell.
    pub name: String,
    /// Its type.
    pub ty: ValueType,
    /// Offset in bytes from the start of the struct.
    pub offset_bytes: u64,
}

impl ValueType {
    /// Size in bytes, padding included; 0 for [`ValueType::Void`].
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Scalar(s) => s.size_bytes().into(),
            Self::Vector(s, lanes) => u64::from(s.size_bytes()) * u64::from(storage_lanes(*lanes)),
            Self::Array(element, count) => element.size_bytes().saturating_mul(*count),
            Self::Struct(s) => s.size_bytes,
            Self::Opaque { size_bytes, .. } => *size_bytes,
            Self::Void => 0,
        }
    }

    /// Alignment in bytes, at least 1.
    pub fn align_bytes(&self) -> u32 {
        match self {
            Self::Scalar(s) => s.size_bytes(),
            Self::Vector(s, lanes) => s.size_bytes() * u32::from(storage_lanes(*lanes)),
            Self::Array(element, _) => element.align_bytes(),
            Self::Struct(s) => s.align_bytes,
            Self::Opaque { align_bytes, .. } => *align_bytes,
            Self::Void => 1,
        }
    }
}

const fn storage_lanes(lanes: u8) -> u8 {
    if lanes == 3 { 4 } else { lanes }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(s) => f.write_str(s.opencl_name()),
            Self::Vector(s, lanes) => write!(f, "{}{lanes}", s.opencl_name()),
            Self::Array(element, count) => {
                // As in C: the outermost dimension first, after the element's type.
                let (mut element, mut dimensions) = (element, format!("[{count}]"));
                while let Self::Array(inner, count) = &**element {
                    dimensions += &format!("[{count}]");
                    element = inner;
                }
                write!(f, "{element}{dimensions}")
            }
            Self::Struct(s) => write!(f, "struct {}", s.name),
            Self::Opaque { name, size_bytes, .. } => write!(f, "{name} ({size_bytes} bytes)"),
            Self::Void => f.write_str("void"),
        }
    }
}
