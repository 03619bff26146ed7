//! The formats of pixels, as types.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use half::f16;

use crate::driver::{ChannelOrder, ChannelType, ImageFormat};

mod sealed {
    pub trait Sealed {}
}

/// The type of a channel: an integer, a float, or one of [`Unorm8`], [`Unorm16`], [`Snorm8`] and
/// [`Snorm16`].
pub trait Channel: sealed::Sealed + Send + Sync + 'static {
    /// The host's type.
    type Host: Pod;

    /// OpenCL's type.
    const TYPE: ChannelType;
}

/// The format of an image's pixels: [`Rgba<Unorm8>`](Rgba), [`R<f32>`](R), …, or [`Any`].
///
/// A device has some formats and not others
/// ([`Context::image_formats`](crate::Context::image_formats)).
pub trait PixelFormat: sealed::Sealed + Send + Sync + 'static {
    /// The elements of copies: a channel, or an array of channels in the order of the
    /// format; bytes for [`Any`].
    type Pixel: Pod;

    /// The format; `None`: known at run time only.
    const FORMAT: Option<ImageFormat>;
}

macro_rules! channels {
    ($($(#[$doc:meta])* $name:ident: $host:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl sealed::Sealed for $name {}
        impl Channel for $name {
            type Host = $host;
            const TYPE: ChannelType = ChannelType::$name;
        }
    )*};
}

channels! {
    /// A byte that kernels read as 0.0 to 1.0.
    Unorm8: u8;
    /// 16 bits that kernels read as 0.0 to 1.0.
    Unorm16: u16;
    /// A byte that kernels read as -1.0 to 1.0.
    Snorm8: i8;
    /// 16 bits that kernels read as -1.0 to 1.0.
    Snorm16: i16;
}

macro_rules! plain {
    ($($host:ident: $ty:ident;)*) => {$(
        impl sealed::Sealed for $host {}
        impl Channel for $host {
            type Host = Self;
            const TYPE: ChannelType = ChannelType::$ty;
        }
    )*};
}

plain! {
    i8: I8;
    i16: I16;
    i32: I32;
    u8: U8;
    u16: U16;
    u32: U32;
    f16: F16;
    f32: F32;
}

macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident: $pixel:ty;)*) => {$(
        $(#[$doc])*
        pub struct $name<C>(PhantomData<fn() -> C>);

        impl<C> fmt::Debug for $name<C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl<C: Channel> sealed::Sealed for $name<C> {}
        impl<C: Channel> PixelFormat for $name<C> {
            type Pixel = $pixel;
            const FORMAT: Option<ImageFormat> = Some(ImageFormat::new(ChannelOrder::$name, C::TYPE));
        }
    )*};
}

orders! {
    /// Red.
    R: C::Host;
    /// Alpha.
    A: C::Host;
    /// Red, green.
    Rg: [C::Host; 2];
    /// Red, alpha.
    Ra: [C::Host; 2];
    /// Red, green, blue, alpha.
    Rgba: [C::Host; 4];
    /// Blue, green, red, alpha.
    Bgra: [C::Host; 4];
    /// Alpha, red, green, blue.
    Argb: [C::Host; 4];
    /// Alpha, blue, green, red.
    Abgr: [C::Host; 4];
    /// One channel, which kernels read as all four.
    Intensity: C::Host;
    /// One channel, which kernels read as red, green and blue.
    Luminance: C::Host;
    /// Depths, of [`D2Depth`](super::D2Depth) and [`D2ArrayDepth`](super::D2ArrayDepth).
    Depth: C::Host;
    /// As [`Rgba`], in the colour space sRGB. Kernels read linear values.
    Srgba: [C::Host; 4];
    /// As [`Bgra`], in the colour space sRGB. Kernels read linear values.
    Sbgra: [C::Host; 4];
}

/// A format that is known at run time only ([`Image::format`](super::Image::format)). Copies have
/// bytes for elements.
#[derive(Debug)]
pub enum Any {}

impl sealed::Sealed for Any {}
impl PixelFormat for Any {
    type Pixel = u8;
    const FORMAT: Option<ImageFormat> = None;
}
