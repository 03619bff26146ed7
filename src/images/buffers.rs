//! From and to the buffers of the crate `image`.

use std::ops::Deref;

use ::image::{ImageBuffer, Luma, LumaA, Rgba as RgbaPixel};
use bytemuck::Pod;

use super::{D2, Image, PixelFormat, R, Rg, Rgba, Unorm8, Unorm16};
use crate::MakeError as _;
use crate::{Error, Queue, Result};

/// A format whose pixels are those of a buffer of the crate [`image`](::image).
///
/// | here | there |
/// |---|---|
/// | [`R<Unorm8>`](R), [`R<Unorm16>`](R) | `GrayImage`, `ImageBuffer<Luma<u16>, _>` |
/// | [`Rg<Unorm8>`](Rg), [`Rg<Unorm16>`](Rg) | `GrayAlphaImage`, `ImageBuffer<LumaA<u16>, _>` |
/// | [`Rgba<Unorm8>`](Rgba), [`Rgba<Unorm16>`](Rgba), [`Rgba<f32>`](Rgba) | `RgbaImage`, `ImageBuffer<Rgba<u16>, _>`, `Rgba32FImage` |
///
/// Kernels see the alpha of `LumaA` as green. OpenCL has no images of three bytes a pixel: convert
/// a `DynamicImage` with `to_rgba8` first.
pub trait BufferFormat: PixelFormat {
    /// The pixel there.
    type BufferPixel: ::image::Pixel<Subpixel = Self::Subpixel>;
    /// Its channel.
    type Subpixel: Pod + ::image::Primitive;
}

macro_rules! formats {
    ($($format:ty: $pixel:ident<$channel:ty>;)*) => {$(
        impl BufferFormat for $format {
            type BufferPixel = $pixel<$channel>;
            type Subpixel = $channel;
        }
    )*};
}

formats! {
    R<Unorm8>: Luma<u8>;
    R<Unorm16>: Luma<u16>;
    Rg<Unorm8>: LumaA<u8>;
    Rg<Unorm16>: LumaA<u16>;
    Rgba<Unorm8>: RgbaPixel<u8>;
    Rgba<Unorm16>: RgbaPixel<u16>;
    Rgba<f32>: RgbaPixel<f32>;
}

/// The owned buffer with the pixels of a format.
pub type BufferOf<F> = ImageBuffer<<F as BufferFormat>::BufferPixel, Vec<<F as BufferFormat>::Subpixel>>;

impl<F: BufferFormat> Image<F, D2> {
    /// An image in the queue's context with the pixels of a buffer.
    ///
    /// ```
    /// use oclave::images::{D2, Rgba, Unorm8};
    /// use oclave::images::Image;
    /// use oclave::{Context, Device, Queue};
    ///
    /// # fn main() -> oclave::Result<()> {
    /// # let device = match Device::select() { Ok(device) => device, Err(_) => return Ok(()) };
    /// # if device.capabilities().images.is_none() { return Ok(()) }
    /// let queue = Queue::new(&Context::new(&device)?)?;
    /// let photo = image::RgbaImage::from_pixel(640, 480, image::Rgba([200, 100, 50, 255]));
    /// let image: Image<Rgba<Unorm8>, D2> = Image::from_buffer(&queue, &photo)?;
    /// assert_eq!(image.to_buffer(&queue)?, photo);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Context::alloc_image`](crate::Context::alloc_image) and [`Queue::write`].
    pub fn from_buffer<C>(queue: &Queue, buffer: &ImageBuffer<F::BufferPixel, C>) -> Result<Self>
    where
        C: Deref<Target = [F::Subpixel]>,
    {
        let image = queue.context().alloc_image(size_of_buffer(buffer)?)?;
        image.write_buffer(queue, buffer)?;
        Ok(image)
    }

    /// Replaces the pixels by those of a buffer of the same size.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the sizes differ; as [`Queue::write`].
    pub fn write_buffer<C>(&self, queue: &Queue, buffer: &ImageBuffer<F::BufferPixel, C>) -> Result<()>
    where
        C: Deref<Target = [F::Subpixel]>,
    {
        let [rows, columns] = size_of_buffer(buffer)?;
        let [_, own_rows, own_columns] = self.shape().triple(1);
        if [rows, columns] != [own_rows, own_columns] {
            return Err(Error::invalid(format!(
                "the buffer has {columns} x {rows} pixels, the image {own_columns} x {own_rows}"
            )));
        }
        // The container may have more room than pixels.
        let samples = buffer.as_raw().get(..samples_of(buffer)).unwrap_or_default();
        let pixels = bytemuck::try_cast_slice(samples).map_err(Error::bug)?;
        queue.write(self, pixels)
    }

    /// The pixels as a buffer, when everything before has run.
    ///
    /// # Errors
    /// As [`Queue::read`].
    pub fn to_buffer(&self, queue: &Queue) -> Result<BufferOf<F>> {
        let [_, rows, columns] = self.shape().triple(1);
        let pixels = queue.read(self)?;
        let samples = bytemuck::allocation::try_cast_vec(pixels).map_err(|(error, _)| Error::bug(error))?;
        u32::try_from(columns)
            .ok()
            .zip(u32::try_from(rows).ok())
            .and_then(|(width, height)| ImageBuffer::from_raw(width, height, samples))
            .ok_or_else(|| Error::bug("an image is not as large as its pixels"))
    }
}

fn samples_of<P: ::image::Pixel, C: Deref<Target = [P::Subpixel]>>(buffer: &ImageBuffer<P, C>) -> usize {
    let channels = usize::from(P::CHANNEL_COUNT);
    buffer.width() as usize * buffer.height() as usize * channels
}

fn size_of_buffer<P: ::image::Pixel, C: Deref<Target = [P::Subpixel]>>(
    buffer: &ImageBuffer<P, C>,
) -> Result<[usize; 2]> {
    match (buffer.height() as usize, buffer.width() as usize) {
        (0, _) | (_, 0) => Err(Error::invalid("the buffer has no pixels")),
        (rows, columns) => Ok([rows, columns]),
    }
}
