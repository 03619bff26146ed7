//! Image tables and kernels as generated code declares them: constants until something is launched.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::{LoadedImage, known};
use crate::Result;

/// The device images of one source, embedded in the program by the generated code.
///
/// A `static` costs nothing until a kernel or a device global of it is used: then the images are decoded, once.
pub struct ImageTable {
    name: &'static str,
    containers: &'static [&'static [u8]],
    images: OnceLock<Result<Vec<Arc<LoadedImage>>>>,
}

impl ImageTable {
    /// A table of the images of source `name`, each as the build script wrote it.
    pub const fn new(name: &'static str, containers: &'static [&'static [u8]]) -> Self {
        Self { name, containers, images: OnceLock::new() }
    }

    /// The stem of the source.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Makes the virtual functions of the table known to all kernels that call their sets.
    ///
    /// A table is known from when one of its kernels or device globals is first used. Only a table that provides functions,
    /// and nothing else that the program uses, needs this call. Kernels that were launched before see the functions at
    /// their next launch.
    pub fn register(&'static self) {
        known::enter(self);
    }

    /// The images, read when first asked for.
    ///
    /// # Errors
    /// [`ErrorKind::Image`](crate::ErrorKind::Image), every time, when one of them is malformed: what is embedded in the
    /// program does not heal.
    pub(crate) fn images(&'static self) -> Result<&'static [Arc<LoadedImage>]> {
        let read = || {
            known::enter(self);
            let load = |container: &&'static [u8]| LoadedImage::from_container(container).map(Arc::new);
            self.containers.iter().map(load).collect()
        };
        match self.images.get_or_init(read) {
            Ok(images) => Ok(images),
            Err(error) => Err(error
                .clone()
                .at(format!("images of `{}`", self.name))
                .remedy("build the program anew with the oclave-build of the same version")),
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn foreign_bytes_are_an_image_error() {
        static TABLE: ImageTable = ImageTable::new("odd", &[b"not an image, but longer than a header"]);
        for _ in 0..2 {
            let error = TABLE.images().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Image);
            assert!(error.to_string().contains("`odd`"), "{error}");
        }
    }

    #[test]
    fn images_are_read_once() {
        static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
        let image = oclave_image::DeviceImage { name: "i".to_owned(), ..Default::default() };
        let bytes: &'static [u8] = BYTES.get_or_init(|| image.to_bytes());
        let table: &'static ImageTable =
            Box::leak(Box::new(ImageTable::new("t", Box::leak(Box::new([bytes])))));
        let first = table.images().unwrap();
        assert_eq!(first.first().map(|image| image.name()), Some("i"));
        assert!(std::ptr::eq(first, table.images().unwrap()));
    }
}
