//! The dimensions of images, as types.

use crate::driver::ImageKind;
use crate::memory::Shape;

mod sealed {
    pub trait Sealed {}
}

/// The dimensions of an image: [`D1`], [`D1Buffer`], [`D1Array`], [`D2`], [`D2Array`], [`D3`],
/// [`D2Depth`], [`D2ArrayDepth`].
pub trait ImageDimension: sealed::Sealed + Send + Sync + 'static {
    /// How many pixels in each dimension, slowest first, as in [`Shape`]: layers or planes, rows,
    /// columns.
    type Size: Into<Shape> + Copy;

    /// The kind of image.
    const KIND: ImageKind;

    /// Whether it has depths for pixels. Its format is [`Depth`](super::Depth) then.
    const IS_DEPTH: bool = false;

    /// The type of OpenCL C.
    const TYPE_NAME: &'static str = Self::KIND.type_name();
}

macro_rules! dimensions {
    ($($(#[$doc:meta])* $name:ident = $kind:ident, $size:ty $(, $depth:literal)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl sealed::Sealed for $name {}
        impl ImageDimension for $name {
            type Size = $size;
            const KIND: ImageKind = ImageKind::$kind;
            $(
                const IS_DEPTH: bool = true;
                const TYPE_NAME: &'static str = $depth;
            )?
        }
    )*};
}

dimensions! {
    /// A row of pixels, `image1d_t`.
    D1 = D1, usize;
    /// A row of pixels, as many as a buffer can have, `image1d_buffer_t`. Kernels read it without a
    /// sampler.
    D1Buffer = D1Buffer, usize;
    /// Rows of one length, `image1d_array_t`: `[layers, columns]`.
    D1Array = D1Array, [usize; 2];
    /// `image2d_t`: `[rows, columns]`.
    D2 = D2, [usize; 2];
    /// Two-dimensional images of one size, `image2d_array_t`: `[layers, rows, columns]`.
    D2Array = D2Array, [usize; 3];
    /// `image3d_t`: `[planes, rows, columns]`.
    D3 = D3, [usize; 3];
    /// `image2d_depth_t`: `[rows, columns]`.
    D2Depth = D2, [usize; 2], "image2d_depth_t";
    /// `image2d_array_depth_t`: `[layers, rows, columns]`.
    D2ArrayDepth = D2Array, [usize; 3], "image2d_array_depth_t";
}
