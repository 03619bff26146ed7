//! Parameters of kernels in Rust, as the host passes them.

use oclave_image::{KernelSignature, ParameterKind, PropertyValue, SLICES, SliceKind};

use crate::image::LoadedImage;

/// What launches of a kernel in Rust check.
#[derive(Debug)]
pub(crate) struct Slices {
    /// The dimensions of its `Item`. If a range has more, it has one work-item in each of them.
    pub(crate) dimensions: usize,
    pub(crate) parameters: Box<[SliceParameter]>,
}

/// A parameter of a kernel in Rust, as a launch checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceParameter {
    /// A value, local memory: nothing to compare.
    Other,
    /// An image, and as what the kernel takes the numbers of its pixels: bit 0 for
    /// `f32`, 1 for `i32`, 2 for `u32`.
    Image { pixels: u8 },
    /// A sampler, and the same of the pixels that it gives.
    Sampler { pixels: u8 },
    /// `&[T]`: nothing changes it while the kernel runs.
    Read,
    /// `Global<T>`, or a slice of atomics.
    Shared,
    /// Each work-item has the element of its number.
    Out { element_bytes: u64 },
    /// The number of elements of the parameter before it.
    Length { element_bytes: u64 },
}

impl SliceParameter {
    /// Whether both may be the same memory.
    pub(crate) fn may_share_with(self, other: Self) -> bool {
        let is_memory = |parameter| matches!(parameter, Self::Read | Self::Shared | Self::Out { .. });
        match (self, other) {
            (Self::Read, Self::Read) | (Self::Shared, Self::Shared) => true,
            _ => !is_memory(self) || !is_memory(other),
        }
    }
}

/// What launches of a kernel check, if it is one in Rust.
pub(super) fn of(image: &LoadedImage, kernel: &KernelSignature) -> Option<Slices> {
    let PropertyValue::Bytes(bytes) = image.image().properties.value(SLICES, &kernel.name)? else {
        return None;
    };
    let (dimensions, kinds) = bytes.split_first()?;
    let element_bytes = |index: usize| match &kernel.parameters.get(index).map(|parameter| &parameter.kind) {
        Some(ParameterKind::Pointer { pointee, .. } | ParameterKind::Local { pointee }) => {
            pointee.size_bytes()
        }
        _ => 1,
    };
    let parameter = |(index, kind): (usize, &u8)| match SliceKind::from_byte(*kind) {
        SliceKind::Other => SliceParameter::Other,
        SliceKind::Image => SliceParameter::Image { pixels: SliceKind::pixels(*kind) },
        SliceKind::Sampler => SliceParameter::Sampler { pixels: SliceKind::pixels(*kind) },
        SliceKind::Read => SliceParameter::Read,
        SliceKind::Shared => SliceParameter::Shared,
        SliceKind::Out => SliceParameter::Out { element_bytes: element_bytes(index) },
        SliceKind::Length => SliceParameter::Length { element_bytes: element_bytes(index.saturating_sub(1)) },
    };
    let parameters = kinds.iter().enumerate().map(parameter).collect();
    Some(Slices { dimensions: (*dimensions).into(), parameters })
}
