//! Images as devices know them: kinds, formats, bounds.

use std::fmt;

use crate::sys::{self, cl_addressing_mode, cl_channel_order, cl_channel_type, cl_filter_mode};

/// The kinds of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// A row of pixels, `image1d_t`.
    D1,
    /// A row of pixels, as many as a buffer can have, `image1d_buffer_t`. Kernels read it without a
    /// sampler.
    D1Buffer,
    /// Rows of one length, `image1d_array_t`.
    D1Array,
    /// Rows and columns, `image2d_t`.
    D2,
    /// Two-dimensional images of one size, `image2d_array_t`.
    D2Array,
    /// Planes, rows and columns, `image3d_t`.
    D3,
}

impl ImageKind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::D1, Self::D1Buffer, Self::D1Array, Self::D2, Self::D2Array, Self::D3];

    /// The type in OpenCL C; of images with depth it has another name.
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::D1 => "image1d_t",
            Self::D1Buffer => "image1d_buffer_t",
            Self::D1Array => "image1d_array_t",
            Self::D2 => "image2d_t",
            Self::D2Array => "image2d_array_t",
            Self::D3 => "image3d_t",
        }
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident: $number:ty { $($(#[$variant_doc:meta])* $variant:ident = $code:expr, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// OpenCL's number.
            pub(crate) const fn number(self) -> $number {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $text,)*
                })
            }
        }
    };
}

numbered! {
    /// Which channels a pixel has, in their order in memory.
    ChannelOrder: cl_channel_order {
        /// Red.
        R = sys::CL_R, "R";
        /// Alpha.
        A = sys::CL_A, "A";
        /// Red, green.
        Rg = sys::CL_RG, "RG";
        /// Red, alpha.
        Ra = sys::CL_RA, "RA";
        /// Red, green, blue, alpha.
        Rgba = sys::CL_RGBA, "RGBA";
        /// Blue, green, red, alpha.
        Bgra = sys::CL_BGRA, "BGRA";
        /// Alpha, red, green, blue.
        Argb = sys::CL_ARGB, "ARGB";
        /// Alpha, blue, green, red.
        Abgr = sys::CL_ABGR, "ABGR";
        /// One channel, which kernels read as all four.
        Intensity = sys::CL_INTENSITY, "INTENSITY";
        /// One channel, which kernels read as red, green and blue.
        Luminance = sys::CL_LUMINANCE, "LUMINANCE";
        /// One channel, of `image2d_depth_t` and `image2d_array_depth_t`.
        Depth = sys::CL_DEPTH, "DEPTH";
        /// As [`Rgba`](Self::Rgba), in the colour space sRGB. Kernels read linear values.
        Srgba = sys::CL_sRGBA, "sRGBA";
        /// As [`Bgra`](Self::Bgra), in the colour space sRGB. Kernels read linear values.
        Sbgra = sys::CL_sBGRA, "sBGRA";
    }
}

numbered! {
    /// The type of a channel.
    ChannelType: cl_channel_type {
        /// 8 bits, which kernels read as -1.0 to 1.0.
        Snorm8 = sys::CL_SNORM_INT8, "snorm8";
        /// 16 bits, which kernels read as -1.0 to 1.0.
        Snorm16 = sys::CL_SNORM_INT16, "snorm16";
        /// 8 bits, which kernels read as 0.0 to 1.0.
        Unorm8 = sys::CL_UNORM_INT8, "unorm8";
        /// 16 bits, which kernels read as 0.0 to 1.0.
        Unorm16 = sys::CL_UNORM_INT16, "unorm16";
        /// A signed integer of 8 bits.
        I8 = sys::CL_SIGNED_INT8, "i8";
        /// A signed integer of 16 bits.
        I16 = sys::CL_SIGNED_INT16, "i16";
        /// A signed integer of 32 bits.
        I32 = sys::CL_SIGNED_INT32, "i32";
        /// An unsigned integer of 8 bits.
        U8 = sys::CL_UNSIGNED_INT8, "u8";
        /// An unsigned integer of 16 bits.
        U16 = sys::CL_UNSIGNED_INT16, "u16";
        /// An unsigned integer of 32 bits.
        U32 = sys::CL_UNSIGNED_INT32, "u32";
        /// A floating-point number of 16 bits.
        F16 = sys::CL_HALF_FLOAT, "f16";
        /// A floating-point number of 32 bits.
        F32 = sys::CL_FLOAT, "f32";
    }
}

numbered! {
    /// The pixels that a sampler reads outside of an image.
    Addressing: cl_addressing_mode {
        /// Nothing: the kernel stays within the image.
        None = sys::CL_ADDRESS_NONE, "nothing outside";
        /// The pixel at the edge.
        ClampToEdge = sys::CL_ADDRESS_CLAMP_TO_EDGE, "clamped to the edge";
        /// The border colour: zero, with an alpha of one where the format has no alpha.
        Clamp = sys::CL_ADDRESS_CLAMP, "clamped to a border";
        /// The image again.
        Repeat = sys::CL_ADDRESS_REPEAT, "repeated";
        /// The image again, mirrored every other time.
        MirroredRepeat = sys::CL_ADDRESS_MIRRORED_REPEAT, "repeated and mirrored";
    }
}

numbered! {
    /// The values that a sampler reads between pixels.
    Filter: cl_filter_mode {
        /// The nearest pixel.
        Nearest = sys::CL_FILTER_NEAREST, "nearest pixel";
        /// The neighbours, weighted by their distance.
        Linear = sys::CL_FILTER_LINEAR, "linear";
    }
}

impl ChannelOrder {
    fn of_number(number: cl_channel_order) -> Option<Self> {
        Self::ALL.iter().copied().find(|order| order.number() == number)
    }

    /// How many channels.
    pub const fn channels(self) -> usize {
        match self {
            Self::R | Self::A | Self::Intensity | Self::Luminance | Self::Depth => 1,
            Self::Rg | Self::Ra => 2,
            Self::Rgba | Self::Bgra | Self::Argb | Self::Abgr | Self::Srgba | Self::Sbgra => 4,
        }
    }
}

impl ChannelType {
    fn of_number(number: cl_channel_type) -> Option<Self> {
        Self::ALL.iter().copied().find(|channel| channel.number() == number)
    }

    /// Size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Snorm8 | Self::Unorm8 | Self::I8 | Self::U8 => 1,
            Self::Snorm16 | Self::Unorm16 | Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
        }
    }
}

/// The format of an image's pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageFormat {
    /// Which channels, in which order.
    pub order: ChannelOrder,
    /// The kind of each of them.
    pub channel: ChannelType,
}

impl ImageFormat {
    /// A format.
    pub const fn new(order: ChannelOrder, channel: ChannelType) -> Self {
        Self { order, channel }
    }

    /// Size of a pixel in bytes.
    pub const fn pixel_bytes(self) -> usize {
        self.order.channels() * self.channel.bytes()
    }

    pub(crate) fn of_numbers(order: cl_channel_order, channel: cl_channel_type) -> Option<Self> {
        Some(Self { order: ChannelOrder::of_number(order)?, channel: ChannelType::of_number(channel)? })
    }
}

/// `RGBA unorm8`.
impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.order, self.channel)
    }
}

/// The accesses of kernels to images of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatSupport {
    /// The format.
    pub format: ImageFormat,
    /// Kernels can read it.
    pub read: bool,
    /// Kernels can write it.
    pub write: bool,
    /// One kernel can both read and write it.
    pub read_write: bool,
}

impl FormatSupport {
    pub(crate) const fn nothing(format: ImageFormat) -> Self {
        Self { format, read: false, write: false, read_write: false }
    }
}

/// Bounds of a device's images. Which formats they can have, a context tells
/// (`Context::image_formats`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageLimits {
    /// Width and height of images of two dimensions. Those of one dimension have the same width.
    pub max_2d: [usize; 2],
    /// Width, height and depth of images of three dimensions.
    pub max_3d: [usize; 3],
    /// Layers of an array.
    pub max_layers: usize,
    /// Pixels of a one-dimensional image of a buffer.
    pub max_buffer_pixels: usize,
    /// Images that one kernel can read.
    pub read_arguments: u32,
    /// Images that one kernel can write.
    pub write_arguments: u32,
    /// Images that one kernel can both read and write; 0: none.
    pub read_write_arguments: u32,
    /// Samplers of one kernel.
    pub samplers: u32,
}

impl ImageLimits {
    /// The largest width, height and depth of a kind, with layers in the dimension behind those of
    /// the kind.
    #[doc(hidden)]
    pub fn largest(&self, kind: ImageKind) -> [usize; 3] {
        let [width, height] = self.max_2d;
        match kind {
            ImageKind::D1 => [width, 1, 1],
            ImageKind::D1Buffer => [self.max_buffer_pixels, 1, 1],
            ImageKind::D1Array => [width, self.max_layers, 1],
            ImageKind::D2 => [width, height, 1],
            ImageKind::D2Array => [width, height, self.max_layers],
            ImageKind::D3 => self.max_3d,
        }
    }
}
