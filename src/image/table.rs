//! Image tables and kernels as generated code declares them: constants until something is launched.

use std::fmt;

/// The device images of one source, embedded in the program by the generated code.
///
/// A `static` costs nothing until a kernel or a device global of it is used: then the images are decoded, once.
pub struct ImageTable {
    name: &'static str,
    containers: &'static [&'static [u8]],
}

impl ImageTable {
    /// A table of the images of source `name`, each as the build script wrote it.
    pub const fn new(name: &'static str, containers: &'static [&'static [u8]]) -> Self {
        Self { name, containers }
    }

    /// The stem of the source.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for ImageTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageTable")
            .field("name", &self.name)
            .field("images", &self.containers.len())
            .finish()
    }
}

/// A kernel of an image table; generated code has one `static` for each.
#[derive(Debug)]
pub struct Kernel {
    images: &'static ImageTable,
    name: &'static str,
}

impl Kernel {
    /// The kernel `name` of a table. Whether the table has it is seen when it is first launched.
    pub const fn new(images: &'static ImageTable, name: &'static str) -> Self {
        Self { images, name }
    }

    /// The table that holds the kernel.
    pub const fn images(&self) -> &'static ImageTable {
        self.images
    }

    /// The kernel's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}
