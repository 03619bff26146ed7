//! SPIR-V device images: the flat SPIR-V view, the passes over it, property sets, kernel signatures
//! and the container. Build scripts write the container, and the `oclave` runtime loads it. No
//! OpenCL here.
//!
//! The modules `passes` and `spirv` are internal: they are hidden from the documentation and not
//! part of the semver promise.
#![forbid(unsafe_code)]

mod analysis;
mod aspects;
mod build;
mod container;
mod disassemble;
mod dump;
mod error;
mod image;
mod interpreter;
mod link;
mod lowering;
mod panics;
#[doc(hidden)]
pub mod passes;
mod post_link;
mod printf;
mod profile;
mod properties;
mod signature;
mod typed_properties;
mod unit;
mod virtual_functions;

pub use aspects::Aspects;
pub use container::{FILE_EXTENSION, FORMAT_VERSION};
pub use disassemble::disassemble;
pub use error::ImageError;
pub use image::{
    DeviceGlobalInfo, DeviceImage, HostAccess, InitMode, InitialAddress, InitialValue, Requirements, Side,
    SpecConstantInfo,
};
#[doc(hidden)]
pub use link::virtual_functions::{CLASS_MARKER, FUNCTION_PLACEHOLDER};
pub use panics::{PANIC_FACTOR, PANIC_VALUES, PanicSite, decode_panics, encode_panics, panic_checksum};
pub use passes::{DeviceTarget, legalize, legalize_with};
pub use post_link::{PostLinkOptions, SplitMode, forms_without_fp64, post_link};
pub use profile::{DeviceProfile, Needs};
pub use properties::{
    DEVICE_GLOBAL_ADDRESSES, DEVICE_GLOBAL_HOST_ACCESS, DEVICE_GLOBAL_IMPLEMENT_IN_CSR,
    DEVICE_GLOBAL_INIT_MODE, DEVICE_GLOBAL_INITIALIZERS, DEVICE_GLOBALS, DEVICE_REQUIREMENTS, PANICS,
    PropertySets, PropertyValue, SIDES, SLICES, SPEC_CONSTANTS, SliceKind, VIRTUAL_CALLS,
    VIRTUAL_DISPATCHERS, VIRTUAL_FUNCTION_TABLE, VIRTUAL_FUNCTIONS, VIRTUAL_OFFSETS, VIRTUAL_SLOTS,
    WITHOUT_FP64,
};
pub use signature::{
    Access, AddressSpace, Field, KernelSignature, Parameter, ParameterKind, Scalar, StructType, ValueType,
};
pub use unit::TranslationUnit;
pub use virtual_functions::{
    CallSignature, CallType, DEFAULT_SET, Dispatcher, MAX_VIRTUAL_CALL_DEPTH, OFFSET_DISPATCHER, SlotKey,
    VIRTUAL_ABI, VirtualFunction, VirtualFunctions, VirtualOffset, VirtualSlot, find_cycle,
};

/// Tells one build of this crate's sources from another: the passes of equal fingerprints make
/// equal modules.
///
/// Part of the key under which binaries of adapted modules are cached.
pub const SOURCES_FINGERPRINT: &str = env!("OCLAVE_SOURCES");

/// Result with an [`ImageError`].
pub type Result<T, E = ImageError> = std::result::Result<T, E>;
