//! Images and samplers: formats and dimensions as types.
//!
//! An [`Image`] is memory of pixels. Kernels read and write it through OpenCL's image functions
//! (`read_imagef`, `write_imagei`, …). These convert formats, filter, and handle places outside.
//! Its format and its dimensions are part of its type: `Image<Rgba<Unorm8>, D2>`. rustc checks the
//! dimensions where an image is given to a kernel. The format only matters for copies: a kernel
//! takes images of every format, and a pixel of `Rgba<Unorm8>` is `[u8; 4]` for the host.
//!
//! ```no_run
//! use oclave::images::{D2, Rgba, Unorm8};
//! use oclave::images::Image;
//! use oclave::{Context, Device, Queue};
//! # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
//!
//! # fn main() -> oclave::Result<()> {
//! let context = Context::new(&Device::select()?)?;
//! let queue = Queue::new(&context)?;
//! let from: Image<Rgba<Unorm8>, D2> = context.alloc_image([480, 640])?; // 480 rows of 640 pixels
//! let to: Image<Rgba<Unorm8>, D2> = context.alloc_image([480, 640])?;
//! queue.fill(&from, [100, 50, 25, 255])?;
//! queue.parallel_for(from.shape().work_items(), kernels::images::brighten(&from, &to))?;
//! assert_eq!(queue.read(&to)?[0], [200, 100, 50, 255]);
//! # Ok(())
//! # }
//! ```
//!
//! # Order
//! Commands that use an image are ordered like those of buffers, by what they do. A kernel reads an
//! image that it declares `read_only`, and writes the others. Copies use the pixels of their
//! region. Commands that only read do not wait for each other. This holds on every queue, and gives
//! the edges of graphs.
//!
//! # What a device must have
//! [`Capabilities::images`](crate::device::Capabilities::images) has the bounds of a device, and
//! [`Context::image_formats`](crate::Context::image_formats) the formats. A device without images
//! lacks the aspect `image`; allocating an image is then
//! [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported).

mod argument;
#[cfg(feature = "image")]
mod buffers;
mod colour;
mod dimension;
mod format;
mod image;
mod object;
mod sampler;

pub use argument::{KernelImage, KernelSampler};
#[cfg(feature = "image")]
pub use buffers::{BufferFormat, BufferOf};
pub(crate) use colour::colour;
pub use dimension::{D1, D1Array, D1Buffer, D2, D2Array, D2ArrayDepth, D2Depth, D3, ImageDimension};
pub use format::{
    A, Abgr, Any, Argb, Bgra, Channel, Depth, Intensity, Luminance, PixelFormat, R, Ra, Rg, Rgba, Sbgra,
    Snorm8, Snorm16, Srgba, Unorm8, Unorm16,
};
pub use image::{Image, ImageRegion};
pub(crate) use object::ImagePart;
pub use sampler::{Sampler, SamplerBuilder};

pub use crate::driver::{
    Addressing, ChannelOrder, ChannelType, Filter, FormatSupport, ImageFormat, ImageKind, ImageLimits,
};
