//! Arguments for image and sampler parameters of kernels.

use super::{Image, ImageDimension, PixelFormat, Sampler};
use crate::command::{Argument, Given};
use crate::memory::buffer::AccessMode;

/// An argument for an image parameter of dimensions `D`: `&Image<F, D>` of any format, or in
/// graphs a [`DynamicParameter`](crate::graph::DynamicParameter) of one, or
/// [several](crate::graph::DynamicParameters).
#[diagnostic::on_unimplemented(
    message = "a kernel's image parameter of dimensions `{D}` cannot be given `{Self}`",
    label = "the kernel takes an image of dimensions `{D}` here"
)]
pub trait KernelImage<D> {
    #[doc(hidden)]
    fn given(self) -> Given;
}

/// An argument for a `sampler_t` parameter: `&Sampler`, or in graphs a
/// [`DynamicParameter`](crate::graph::DynamicParameter) of one, or [several](crate::graph::DynamicParameters).
#[diagnostic::on_unimplemented(
    message = "a kernel's sampler parameter cannot be given `{Self}`",
    label = "the kernel takes a sampler here"
)]
pub trait KernelSampler {
    #[doc(hidden)]
    fn given(self) -> Given;
}

impl<F, D> Image<F, D> {
    /// The image for a kernel; the call says what the kernel does with it.
    pub(crate) fn argument(&self) -> Argument {
        Argument::Image(self.part(AccessMode::ReadWrite))
    }
}

impl<F: PixelFormat, D: ImageDimension> KernelImage<D> for &Image<F, D> {
    fn given(self) -> Given {
        Given::fixed(self.argument())
    }
}

impl<F: PixelFormat, D: ImageDimension> KernelImage<D> for Image<F, D> {
    fn given(self) -> Given {
        Given::fixed(self.argument())
    }
}

impl KernelSampler for &Sampler {
    fn given(self) -> Given {
        Given::fixed(Argument::Sampler(self.clone()))
    }
}

impl KernelSampler for Sampler {
    fn given(self) -> Given {
        Given::fixed(Argument::Sampler(self))
    }
}
