//! Property sets: named sets of named values attached to a device image, as in the DPC++ design
//! documents.

use std::collections::BTreeMap;

/// Set of the device globals: unique id → `{u32 size; u8 device_image_scope}`.
pub const DEVICE_GLOBALS: &str = "SYCL/device globals";
/// Set of what the image needs of a device: `aspects`, `reqd_work_group_size@kernel`, ….
pub const DEVICE_REQUIREMENTS: &str = "SYCL/device requirements";
/// Set of specialization constants: name → `{u32 id, u32 scalar kind, default bytes}`.
pub const SPEC_CONSTANTS: &str = "SYCL/specialization constants";
/// Set of initial values that are not all zero: unique id → bytes.
pub const DEVICE_GLOBAL_INITIALIZERS: &str = "oclave/device global initializers";
/// Set of the addresses in initial values: unique id → for each `{u32 offset; i64 addend; u32
/// length; target's unique id}`.
pub const DEVICE_GLOBAL_ADDRESSES: &str = "oclave/device global addresses";
/// Set of the `host_access` properties that are not the default: unique id → u32.
pub const DEVICE_GLOBAL_HOST_ACCESS: &str = "oclave/device global host access";
/// Set of the `init_mode` properties: unique id → u32, as `InitModeINTEL` numbers them.
pub const DEVICE_GLOBAL_INIT_MODE: &str = "oclave/device global init mode";
/// Set of the `implement_in_csr` properties: unique id → u32, 0 or 1.
pub const DEVICE_GLOBAL_IMPLEMENT_IN_CSR: &str = "oclave/device global implement in csr";

/// Set of what the specification wants to be known of virtual functions: `virtual-functions-set`,
/// `dummy-image`, `calls-virtual-functions-set`, `creates-virtual-functions-set`.
pub const VIRTUAL_FUNCTIONS: &str = "SYCL/virtual functions";
/// Set of what concerns all of an image's virtual calls: `abi`, `depth`, both u32.
pub const VIRTUAL_CALLS: &str = "oclave/virtual calls";
/// Set of the functions that a set image exports: name → `code wrapper signature calls`.
pub const VIRTUAL_FUNCTION_TABLE: &str = "oclave/virtual functions";
/// Set of the slots of vtables: code → `function slot classes`.
pub const VIRTUAL_SLOTS: &str = "oclave/virtual slots";
/// Set of the offsets in vtables: code → bytes as a decimal number.
pub const VIRTUAL_OFFSETS: &str = "oclave/virtual offsets";
/// Set of the imported dispatchers: name → `signature slot class`.
pub const VIRTUAL_DISPATCHERS: &str = "oclave/virtual dispatchers";
/// Set of the image's side, where it has one: `side` → u32, 0 for devices, 1 for the host.
pub const SIDES: &str = "oclave/if_device";

/// Set of what devices without fp64 load instead of the image: `image` → the bytes of an image.
pub const WITHOUT_FP64: &str = "oclave/without fp64";

/// Set of kernels in Rust that may panic: kernel → what [`encode_panics`](crate::encode_panics) writes. That is the kernel's id in
/// the note of a panic ([`VIRTUAL_FAULT`](crate::passes::VIRTUAL_FAULT)), and the places.
pub const PANICS: &str = "oclave/panics";

/// Set of what launches of kernels in Rust check: kernel → bytes. The first is the dimensions of its ranges. Each parameter has one, as
/// [`SliceKind::to_byte`] makes it.
pub const SLICES: &str = "oclave/slices";

/// What a parameter of a kernel in Rust is, as [`SLICES`] has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SliceKind {
    /// Anything else.
    Other = 0,
    /// `&[T]`: nothing changes the memory while the kernel runs.
    Read = 1,
    /// Memory that all work-items change.
    Shared = 2,
    /// Memory of which each work-item has one element.
    Out = 3,
    /// The number of elements of the parameter before it.
    Length = 4,
    /// An image.
    Image = 0x10,
    /// A sampler.
    Sampler = 0x20,
}

impl SliceKind {
    /// The byte of a kind. `pixels` has the types of pixels that the kernel reads or writes. Bit 0 stands for `f32`, bit 1 for
    /// `i32`, bit 2 for `u32`. It is 0 for all but images and samplers.
    pub fn to_byte(self, pixels: u8) -> u8 {
        self as u8 | pixels & 0xf
    }

    /// The types of pixels in the byte of an image or a sampler: see [`to_byte`](Self::to_byte).
    pub fn pixels(byte: u8) -> u8 {
        byte & 0xf
    }

    /// The kind of a byte.
    pub fn from_byte(byte: u8) -> Self {
        match byte & 0xf0 {
            0x10 => return Self::Image,
            0x20 => return Self::Sampler,
            _ => {}
        }
        [Self::Read, Self::Shared, Self::Out, Self::Length]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
            .unwrap_or(Self::Other)
    }
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyValue {
    /// `SYCL_PROPERTY_TYPE_UINT32`.
    U32(u32),
    /// `SYCL_PROPERTY_TYPE_BYTE_ARRAY`.
    Bytes(Vec<u8>),
}

/// All property sets of an image, by set name and property name; iteration is sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PropertySets {
    sets: BTreeMap<String, BTreeMap<String, PropertyValue>>,
}

impl PropertySets {
    /// The value of one property.
    pub fn value(&self, set: &str, property: &str) -> Option<&PropertyValue> {
        self.sets.get(set)?.get(property)
    }

    /// Sets one property, replacing an earlier value.
    pub fn insert(&mut self, set: &str, property: &str, value: PropertyValue) {
        self.sets.entry(set.to_owned()).or_default().insert(property.to_owned(), value);
    }

    /// Removes one property; a set that loses its last one goes with it.
    pub fn remove(&mut self, set: &str, property: &str) {
        if let Some(properties) = self.sets.get_mut(set) {
            properties.remove(property);
            if properties.is_empty() {
                self.sets.remove(set);
            }
        }
    }

    /// The properties of one set, sorted by name.
    pub fn set(&self, set: &str) -> impl Iterator<Item = (&str, &PropertyValue)> {
        self.sets.get(set).into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// The names of the sets, sorted.
    pub fn set_names(&self) -> impl Iterator<Item = &str> {
        self.sets.keys().map(String::as_str)
    }
}
