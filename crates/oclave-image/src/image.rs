//! A device image: one SPIR-V module with what the runtime must know about it.

use crate::{Aspects, KernelSignature, PropertySets};

/// SPIR-V with its property sets and kernel signatures, as the build script writes it and the
/// runtime loads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceImage {
    /// Where it comes from: the source's stem and, when the source was split, the part (`blur`,
    /// `blur.fp64`).
    pub name: String,
    /// The module, header included, in host byte order.
    pub spirv: Vec<u32>,
    /// Its kernels, in the module's order.
    pub kernels: Vec<KernelSignature>,
    /// Its property sets.
    pub properties: PropertySets,
}

/// A device global as an image tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceGlobalInfo {
    /// Unique id; equal ids in different images are one variable.
    pub id: String,
    /// Size of the underlying type in bytes.
    pub size_bytes: u32,
    /// Whether each program has an instance of its own.
    pub device_image_scope: bool,
    /// What the host may do; from the `host_access` property.
    pub host_access: HostAccess,
    /// The `init_mode` property, for FPGAs; `None` where the source does not say.
    pub init_mode: Option<InitMode>,
    /// The `implement_in_csr` property, for FPGAs; `None` where the source does not say.
    pub implement_in_csr: Option<bool>,
    /// What it begins with. Image-scope variables keep that in the module.
    pub initial: InitialValue,
}

/// What a variable begins with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InitialValue {
    /// As many bytes as the variable has; none means all zero.
    pub bytes: Vec<u8>,
    /// Addresses in it; only the device knows them. Sorted by offset.
    pub addresses: Vec<InitialAddress>,
}

impl InitialValue {
    /// Whether all of it is zero.
    pub fn is_zero(&self) -> bool {
        self.addresses.is_empty() && self.bytes.iter().all(|&byte| byte == 0)
    }
}

impl From<Vec<u8>> for InitialValue {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, addresses: Vec::new() }
    }
}

/// The address of a device global, or of a part of one, in the initial value of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitialAddress {
    /// Where in the value it stands: 8 bytes, or 4 on devices with addresses of 32 bits.
    pub offset_bytes: u32,
    /// The variable's unique id.
    pub target: String,
    /// How far behind the start of the variable it points.
    pub addend_bytes: i64,
}

/// The `host_access` property of a device global.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostAccess {
    /// The host only reads.
    Read,
    /// The host only writes.
    Write,
    /// The host reads and writes; the default.
    #[default]
    ReadWrite,
    /// The host does neither.
    None,
}

/// The `init_mode` property of a device global.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitMode {
    /// Reprogramming the device initializes the variable.
    Reprogram,
    /// A reset signal initializes the variable.
    Reset,
}

/// A specialization constant of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecConstantInfo {
    /// SPIR-V SpecId.
    pub id: u32,
    /// The name given in the source, or `spec<id>`.
    pub name: String,
    /// Its type.
    pub ty: crate::Scalar,
    /// Default value, little-endian, as many bytes as the type has.
    pub default: Vec<u8>,
}

/// Where code runs: `if_device` and `if_host` tell the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Side {
    /// On devices.
    #[default]
    Device,
    /// On the host, or on a device that serves as the host.
    Host,
}

/// What the image as a whole needs of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements {
    /// Union of the aspects of everything in the module.
    pub aspects: Aspects,
}
