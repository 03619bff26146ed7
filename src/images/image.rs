//! Images: memory of pixels.

use oclave_faults::Fault;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::object::{ImageObject, ImagePart, Whole};
use super::{Any, ImageDimension, PixelFormat};
use crate::MakeError as _;
use crate::command::{Contents, CopyFrom, CopyTo, Place, Placed};
use crate::driver::native::cl_mem;
use crate::driver::{ChannelOrder, FormatSupport, ImageFormat, ImageKind, image as driver};
use crate::memory::Shape;
use crate::memory::buffer::{AccessMode, Area, Object};
use crate::{Context, Error, Result};

/// Pixels of the format `F` in the dimensions `D`, which kernels use through OpenCL's image
/// functions; made by [`Context::alloc_image`].
///
/// Clones are handles of one image. It is released when the last of them is gone and no command
/// uses it any more. Copies and fills take it as other memory ([`Queue`](crate::Queue)); the host
/// has its pixels row by row. [The module](super) tells how commands are ordered.
///
/// ```no_run
/// # fn main() -> oclave::Result<()> {
/// use oclave::images::{D2, Rgba, Unorm8};
/// use oclave::images::Image;
/// use oclave::{Context, Device, Queue};
///
/// let context = Context::new(&Device::select()?)?;
/// let queue = Queue::new(&context)?;
/// let image: Image<Rgba<Unorm8>, D2> = context.alloc_image([480, 640])?; // 480 rows of 640 pixels
/// queue.fill(&image, [0, 0, 0, 255])?;
/// queue.fill(&image.region([0, 0], [240, 640])?, [255; 4])?; // the upper half
/// assert_eq!(queue.read(&image)?[0], [255; 4]);
/// # Ok(())
/// # }
/// ```
pub struct Image<F, D> {
    object: Arc<ImageObject>,
    ty: PhantomData<fn() -> (F, D)>,
}

/// A box of pixels of an image, for copies and fills; made by [`Image::region`].
#[must_use = "a region does nothing until a command is given it"]
pub struct ImageRegion<F, D> {
    object: Arc<ImageObject>,
    area: Area,
    ty: PhantomData<fn() -> (F, D)>,
}

impl Context {
    /// An image of so many pixels: `[rows, columns]`, `[planes, rows, columns]`, or columns alone.
    /// Layers of an array come first. The contents are undefined, not uninitialised: any bytes are
    /// pixels.
    ///
    /// # Errors
    /// [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when the device has no images, or
    /// none of the format; [`Invalid`](crate::ErrorKind::Invalid) for no pixel, or for more than the
    /// device's bounds; [`MemoryAllocation`](crate::ErrorKind::MemoryAllocation) when there is no room.
    pub fn alloc_image<F: PixelFormat, D: ImageDimension>(&self, size: D::Size) -> Result<Image<F, D>> {
        let format = F::FORMAT.ok_or_else(|| {
            Error::invalid("an image of a format that is known at run time only")
                .remedy("allocate it with `alloc_image_of`")
        })?;
        Image::new(self, format, size.into())
    }

    /// As [`Context::alloc_image`], of a format that is known at run time only.
    ///
    /// # Errors
    /// As there.
    pub fn alloc_image_of<D: ImageDimension>(
        &self,
        format: ImageFormat,
        size: D::Size,
    ) -> Result<Image<Any, D>> {
        Image::new(self, format, size.into())
    }

    /// The formats that images of a kind can have. A format that the library has no name for is
    /// left out.
    ///
    /// # Errors
    /// [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) when a device of the context has no
    /// images; when the driver does not tell.
    pub fn image_formats(&self, kind: ImageKind) -> Result<Vec<FormatSupport>> {
        self.require_images()?;
        self.driver().image_formats(kind)
    }

    pub(super) fn require_images(&self) -> Result<()> {
        match self.devices().iter().find(|device| device.capabilities().images.is_none()) {
            None => Ok(()),
            Some(device) => Err(device.lacks("images (aspect `image`)", "buffers or USM, or another device")),
        }
    }
}

impl<F: PixelFormat, D: ImageDimension> Image<F, D> {
    fn new(context: &Context, format: ImageFormat, shape: Shape) -> Result<Self> {
        let named = |error: Error| error.at(format!("{} of {shape} pixels, {format}", D::TYPE_NAME));
        context.require_images()?;
        check_size(context, D::KIND, shape).map_err(named)?;
        if D::IS_DEPTH != (format.order == ChannelOrder::Depth) {
            return Err(named(
                Error::invalid("only images with depths for pixels have the channel order `Depth`").remedy(
                    "use `Depth<f32>` with `D2Depth` or `D2ArrayDepth`, and other formats with the others",
                ),
            ));
        }
        let formats = context.driver().image_formats(D::KIND).map_err(named)?;
        let support = formats.into_iter().find(|support| support.format == format).ok_or_else(|| {
            named(context.device().lacks(
                &format!("images of the format {format}"),
                "a format that `Context::image_formats` tells",
            ))
        })?;
        let [depth, height, width] = shape.triple(1);
        let driver =
            driver::Image::new(context.driver(), D::KIND, &support, [width, height, depth]).map_err(named)?;
        let uses = Arc::new(Object::of_image(shape, format!("{} {format}", D::TYPE_NAME)));
        let (context, type_name) = (context.clone(), D::TYPE_NAME);
        let object = Arc::new(ImageObject {
            driver,
            context,
            whole: Whole::new(&uses),
            uses,
            support,
            type_name,
            shape,
        });
        Ok(Self { object, ty: PhantomData })
    }

    /// The pixels from `offset` on, as many in each dimension as `extent` says.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when they are not within the image.
    pub fn region(&self, offset: D::Size, extent: D::Size) -> Result<ImageRegion<F, D>> {
        let (offset, extent): (Shape, Shape) = (offset.into(), extent.into());
        let whole = Area::whole(self.object.uses.shape());
        match whole.part(offset.triple(0), extent.triple(1)) {
            Some(area) => Ok(ImageRegion { object: Arc::clone(&self.object), area, ty: PhantomData }),
            None => Err(Error::invalid(format!(
                "{extent} pixels from {offset} on are not within {}",
                self.object.uses
            ))),
        }
    }

    /// The same image, whose format rustc does not know.
    pub fn into_any(self) -> Image<Any, D> {
        Image { object: self.object, ty: PhantomData }
    }
}

impl<D: ImageDimension> Image<Any, D> {
    /// The same image with its format in its type.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it has another format.
    pub fn typed<F: PixelFormat>(self) -> Result<Image<F, D>> {
        match F::FORMAT {
            Some(format) if format != self.format() => {
                Err(Error::invalid(format!("the image has the format {}, not {format}", self.format())))
            }
            _ => Ok(Image { object: self.object, ty: PhantomData }),
        }
    }
}

impl<F, D> Image<F, D> {
    /// How many pixels in each dimension, slowest first.
    pub fn shape(&self) -> Shape {
        self.object.shape
    }

    /// The format of the pixels.
    pub fn format(&self) -> ImageFormat {
        self.object.format()
    }

    /// The accesses that kernels may make to the image.
    pub fn support(&self) -> FormatSupport {
        self.object.support
    }

    /// OpenCL's handle, good as long as the image or a clone lives. Name the image in
    /// [`Command::native`](crate::Command::native) when raw commands use it.
    pub fn native(&self) -> cl_mem {
        self.object.driver.raw()
    }

    /// All pixels, to be used in some way.
    pub(crate) fn part(&self, mode: AccessMode) -> ImagePart {
        ImagePart::whole(&self.object, mode)
    }
}

/// The size of the largest pixel.
const MOST_PIXEL_BYTES: usize = 16;

/// Refuses what the devices of a context do not take.
fn check_size(context: &Context, kind: ImageKind, shape: Shape) -> Result<()> {
    if shape.is_empty() {
        return Err(Error::invalid("an image has at least one pixel"));
    }
    let [depth, height, width] = shape.triple(1);
    let bytes = [depth, height, width].iter().try_fold(MOST_PIXEL_BYTES, |all, size| all.checked_mul(*size));
    if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Error::new(crate::ErrorKind::MemoryAllocation, "more pixels than can be addressed"));
    }
    for device in context.devices() {
        let Some(limits) = device.capabilities().images else { continue };
        let largest = limits.largest(match kind {
            ImageKind::D1Buffer if context.driver().driver_faults().has(Fault::Q19) => ImageKind::D1,
            kind => kind,
        });
        if [width, height, depth].iter().zip(largest).any(|(size, largest)| *size > largest) {
            let [x, y, z] = largest;
            return Err(Error::invalid(format!(
                "device `{}` takes at most {x} × {y} × {z} pixels (width, height or layers, depth or layers)",
                device.name()
            )));
        }
    }
    Ok(())
}

impl<F, D> Clone for Image<F, D> {
    fn clone(&self) -> Self {
        Self { object: Arc::clone(&self.object), ty: PhantomData }
    }
}

impl<F, D> fmt::Debug for Image<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.object.uses, f)
    }
}

impl<F, D> Clone for ImageRegion<F, D> {
    fn clone(&self) -> Self {
        Self { object: Arc::clone(&self.object), ..*self }
    }
}

impl<F, D> fmt::Debug for ImageRegion<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} pixels from {:?} on in {}", self.area.extent, self.area.offset, self.object.uses)
    }
}

fn mode(write: bool) -> AccessMode {
    if write { AccessMode::Write } else { AccessMode::Read }
}

impl<F, D> Placed for Image<F, D> {
    fn place(&self, write: bool) -> Place {
        Place::Image(self.part(mode(write)))
    }
}
impl<F: PixelFormat, D: ImageDimension> Contents for Image<F, D> {
    type Element = F::Pixel;
    type Data = [F::Pixel];
    type Owned = Vec<F::Pixel>;
}
impl<F: PixelFormat, D: ImageDimension> CopyFrom for Image<F, D> {}
impl<F: PixelFormat, D: ImageDimension> CopyTo for Image<F, D> {}

impl<F, D> Placed for ImageRegion<F, D> {
    fn place(&self, write: bool) -> Place {
        Place::Image(ImagePart::new(&self.object, self.area, mode(write)))
    }
}
impl<F: PixelFormat, D: ImageDimension> Contents for ImageRegion<F, D> {
    type Element = F::Pixel;
    type Data = [F::Pixel];
    type Owned = Vec<F::Pixel>;
}
impl<F: PixelFormat, D: ImageDimension> CopyFrom for ImageRegion<F, D> {}
impl<F: PixelFormat, D: ImageDimension> CopyTo for ImageRegion<F, D> {}
