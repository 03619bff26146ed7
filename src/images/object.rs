//! The state that all handles, regions and commands of an image share.

use std::fmt;
use std::sync::Arc;

use oclave_image::Access;

use crate::MakeError as _;
use crate::driver::images::Pixels;
use crate::driver::{FormatSupport, ImageFormat, image as driver};
use crate::memory::Shape;
use crate::memory::buffer::{AccessMode, Area, Object, Requirement};
use crate::{Context, Error, Result};

/// An image, without its type.
pub(crate) struct ImageObject {
    pub(super) driver: Arc<driver::Image>,
    pub(super) context: Context,
    /// The accesses of commands to it.
    pub(super) uses: Arc<Object>,
    pub(super) support: FormatSupport,
    /// The type in OpenCL C.
    pub(super) type_name: &'static str,
    pub(super) shape: Shape,
    /// Each use of all pixels, so that commands need not make theirs.
    pub(super) whole: Whole,
}

/// Accesses of commands to all pixels of an image.
pub(super) struct Whole([Arc<Requirement>; 3]);

impl Whole {
    pub(super) fn new(uses: &Arc<Object>) -> Self {
        let area = Area::whole(uses.shape());
        Self(MODES.map(|mode| Arc::new(Requirement::of_image(uses, area, mode))))
    }

    fn get(&self, mode: AccessMode) -> &Arc<Requirement> {
        let Self([read, write, read_write]) = self;
        match mode {
            AccessMode::Read => read,
            AccessMode::Write => write,
            AccessMode::ReadWrite => read_write,
        }
    }
}

const MODES: [AccessMode; 3] = [AccessMode::Read, AccessMode::Write, AccessMode::ReadWrite];

impl ImageObject {
    pub(crate) fn format(&self) -> ImageFormat {
        self.support.format
    }
}

/// Pixels of an image, and what a command does with them.
#[derive(Clone)]
pub struct ImagePart {
    image: Arc<ImageObject>,
    requirement: Arc<Requirement>,
}

impl ImagePart {
    pub(super) fn new(image: &Arc<ImageObject>, area: Area, mode: AccessMode) -> Self {
        let requirement = Arc::new(Requirement::of_image(&image.uses, area, mode));
        Self { image: Arc::clone(image), requirement }
    }

    /// All of an image.
    pub(super) fn whole(image: &Arc<ImageObject>, mode: AccessMode) -> Self {
        Self { image: Arc::clone(image), requirement: Arc::clone(image.whole.get(mode)) }
    }

    /// The same pixels, with what a kernel does that has them as an argument.
    pub(crate) fn accessed(mut self, access: Access) -> Self {
        let mode = match access {
            Access::Read => AccessMode::Read,
            Access::Write => AccessMode::Write,
            Access::ReadWrite => AccessMode::ReadWrite,
        };
        if self.requirement.is_whole() {
            self.requirement = Arc::clone(self.image.whole.get(mode));
        } else {
            Arc::make_mut(&mut self.requirement).set_access(mode);
        }
        self
    }

    /// The same access to another image.
    pub(crate) fn follow(&mut self, to: &Self) {
        *self = to.clone().accessed(self.access());
    }

    pub(crate) fn image(&self) -> &Arc<ImageObject> {
        &self.image
    }

    pub(crate) fn driver(&self) -> &Arc<driver::Image> {
        &self.image.driver
    }

    pub(crate) fn requirement(&self) -> &Arc<Requirement> {
        &self.requirement
    }

    pub(crate) fn access(&self) -> Access {
        match (self.requirement.reads(), self.requirement.writes()) {
            (true, true) => Access::ReadWrite,
            (false, _) => Access::Write,
            _ => Access::Read,
        }
    }

    /// The type in OpenCL C.
    pub(crate) fn type_name(&self) -> &'static str {
        self.image.type_name
    }

    /// Why no kernel can use it like that, if so.
    pub(crate) fn refusal(&self) -> Option<String> {
        let FormatSupport { format, read, write, read_write, .. } = self.image.support;
        let (can, what) = match self.access() {
            Access::Read => (read, "reads"),
            Access::Write => (write, "writes"),
            Access::ReadWrite => (read_write, "reads and writes"),
        };
        (!can).then(|| {
            format!(
                "the kernel {what} the image, and the device has no images of the format {format} for that"
            )
        })
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.requirement.area().len() * self.image.format().pixel_bytes()
    }

    /// As the driver takes it.
    pub(crate) fn pixels(&self) -> Pixels {
        let reversed = |[a, b, c]: [usize; 3]| [c, b, a];
        let Area { offset, extent } = *self.requirement.area();
        Pixels { image: Arc::clone(&self.image.driver), origin: reversed(offset), extent: reversed(extent) }
    }

    /// Refuses another context than the image's.
    pub(crate) fn check(&self, context: &Context) -> Result<()> {
        if *context == self.image.context {
            return Ok(());
        }
        Err(Error::invalid("the image belongs to another context")
            .at(self.image.uses.to_string())
            .remedy("make it in the context of the queue"))
    }
}

impl fmt::Debug for ImagePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.requirement, f)
    }
}
