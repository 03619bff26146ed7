//! Specialization constants: values that are fixed when a program is built, not when its source is
//! compiled.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::MakeError as _;
use crate::image::LoadedImage;
use crate::{Error, Result};

mod sealed {
    pub trait Sealed {}
}

/// A type that a specialization constant can have: the integers and floating-point types of Rust,
/// and `bool`.
pub trait SpecType: sealed::Sealed + Copy + 'static {
    /// The bytes as the driver takes them, in the low end of the array, and how many they are.
    #[doc(hidden)]
    fn spec_bytes(self) -> ([u8; 8], usize);
}

macro_rules! spec_types {
    ($($ty:ty),*) => {$(
        impl sealed::Sealed for $ty {}
        impl SpecType for $ty {
            fn spec_bytes(self) -> ([u8; 8], usize) {
                let bytes = self.to_ne_bytes();
                let mut out = [0; 8];
                out[..bytes.len()].copy_from_slice(&bytes);
                (out, bytes.len())
            }
        }
    )*};
}

spec_types!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl sealed::Sealed for bool {}
impl SpecType for bool {
    fn spec_bytes(self) -> ([u8; 8], usize) {
        u8::from(self).spec_bytes()
    }
}

/// A specialization constant of a source, declared by the generated code and set on a launch:
/// `kernels::blur::blur(..).spec(&kernels::blur::RADIUS, 3)`.
///
/// Launches with different values run different programs; each is built once.
pub struct SpecConstant<T> {
    name: &'static str,
    id: u32,
    ty: PhantomData<fn() -> T>,
}

impl<T: SpecType> SpecConstant<T> {
    /// The constant `name` with SPIR-V SpecId `id`.
    pub const fn new(name: &'static str, id: u32) -> Self {
        Self { name, id, ty: PhantomData }
    }

    /// The name in the source.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The SPIR-V SpecId.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// This constant with a value, as launches carry it.
    pub(crate) fn with_value(&self, value: T) -> SpecValue {
        SpecValue::new(self.id, value)
    }
}

impl<T> fmt::Debug for SpecConstant<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpecConstant").field("name", &self.name).field("id", &self.id).finish()
    }
}

/// A value for one specialization constant. Equality is of bits, so that `NaN` finds its own
/// program again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SpecValue {
    id: u32,
    bytes: [u8; 8],
    size: u8,
}

impl SpecValue {
    pub(crate) fn new<T: SpecType>(id: u32, value: T) -> Self {
        let (bytes, size) = value.spec_bytes();
        Self { id, bytes, size: size as u8 }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.size)).unwrap_or(&self.bytes)
    }
}

/// Sets one value in a launch's list, which stays sorted by id with one value an id.
pub(crate) fn set_spec(values: &mut Vec<SpecValue>, value: SpecValue) {
    match values.binary_search_by_key(&value.id, |v| v.id) {
        Ok(at) => {
            if let Some(old) = values.get_mut(at) {
                *old = value;
            }
        }
        Err(at) => values.insert(at, value),
    }
}

/// Checks that the values are for constants of the images of a source, and of the right size.
pub(crate) fn check(values: &[SpecValue], images: &[&Arc<LoadedImage>]) -> Result<()> {
    for value in values {
        let mut known =
            images.iter().flat_map(|image| image.spec_constants()).filter(|constant| constant.id == value.id);
        let Some(constant) = known.next() else {
            let mut names: Vec<String> = images
                .iter()
                .flat_map(|image| image.spec_constants())
                .map(|constant| format!("{} (`{}`)", constant.id, constant.name))
                .collect();
            names.sort_unstable();
            names.dedup();
            let there_are = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Error::invalid(format!(
                "there is no specialization constant with the id {}; there is {there_are}",
                value.id
            )));
        };
        let sizes = [constant].into_iter().chain(known).map(|constant| constant.ty.size_bytes());
        if sizes.into_iter().any(|size_bytes| size_bytes != u32::from(value.size)) {
            return Err(Error::invalid(format!(
                "specialization constant `{}` has {} bytes ({}), {} were given",
                constant.name,
                constant.ty.size_bytes(),
                constant.ty.opencl_name(),
                value.size
            )));
        }
    }
    Ok(())
}

/// The values for constants that an image has, and that are not what they are anyway: others do not
/// change its program.
pub(crate) fn of_image(values: &[SpecValue], image: &LoadedImage) -> Vec<SpecValue> {
    let changes = |value: &&SpecValue| {
        image
            .spec_constants()
            .iter()
            .any(|constant| constant.id == value.id && constant.default != value.bytes())
    };
    values.iter().filter(changes).copied().collect()
}
