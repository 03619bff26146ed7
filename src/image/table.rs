//! Image tables and kernels as generated code declares them: constants until something is launched.

use std::fmt;
use std::sync::{Arc, OnceLock};

use oclave_image::DeviceImage;

use super::{LoadedImage, known};
use crate::MakeError as _;
use crate::{Error, Result};

/// The device images of one source, embedded in the program by the generated code.
///
/// A `static` costs nothing until a kernel or a device global of it is used: then the images that
/// have it are decoded, once.
pub struct ImageTable {
    name: &'static str,
    containers: &'static [&'static [u8]],
    entries: OnceLock<Result<Vec<Entry>>>,
}

/// An image of a table.
struct Entry {
    kernels: Vec<String>,
    container: &'static [u8],
    image: OnceLock<Result<Arc<LoadedImage>>>,
}

impl ImageTable {
    /// A table of the images of source `name`.
    ///
    /// # Safety
    /// As for [`KernelBundle::from_image`](crate::kernel::KernelBundle::from_image), for each of the
    /// images.
    #[expect(unsafe_code, reason = "the caller promises what nobody can check; nothing unsafe is done here")]
    pub const unsafe fn new(name: &'static str, containers: &'static [&'static [u8]]) -> Self {
        Self::generated(name, containers)
    }

    /// For generated code only, which stands for kernels that the author of the build script
    /// vouches for.
    #[doc(hidden)]
    pub const fn generated(name: &'static str, containers: &'static [&'static [u8]]) -> Self {
        Self { name, containers, entries: OnceLock::new() }
    }

    /// The stem of the source.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The images as they are embedded, for what has another copy of this library:
    /// [`KernelBundle::from_image`](crate::kernel::KernelBundle::from_image) takes each of them.
    pub const fn containers(&self) -> &'static [&'static [u8]] {
        self.containers
    }

    /// Makes the virtual functions of the table known to all kernels that call their sets.
    ///
    /// A table is known from when one of its kernels or device globals is first used. Only a table
    /// that provides functions, and nothing else that the program uses, needs this call. Kernels
    /// that were launched before see the functions at their next launch.
    pub fn register(&'static self) {
        known::enter(self);
    }

    /// All images of the table.
    ///
    /// # Errors
    /// [`ErrorKind::Image`](crate::ErrorKind::Image) when one of them is malformed. Every call
    /// returns the same error, because the images are embedded in the program.
    pub(crate) fn images(&'static self) -> Result<Vec<&'static Arc<LoadedImage>>> {
        self.load(|_| true)
    }

    /// The images that hold a kernel, the others not even decoded; all of them when none does.
    ///
    /// # Errors
    /// As [`ImageTable::images`].
    pub(crate) fn images_with(&'static self, kernel: &str) -> Result<Vec<&'static Arc<LoadedImage>>> {
        let found = self.load(|entry| entry.kernels.iter().any(|name| name == kernel))?;
        if found.is_empty() { self.images() } else { Ok(found) }
    }

    fn load(&'static self, wanted: impl Fn(&Entry) -> bool) -> Result<Vec<&'static Arc<LoadedImage>>> {
        let place = |error: &Error| {
            error
                .clone()
                .at(format!("images of `{}`", self.name))
                .remedy("build the program again with the oclave-build of the same version")
        };
        let entries = self.entries.get_or_init(|| self.glance()).as_ref().map_err(place)?;
        let images = entries.iter().filter(|entry| wanted(entry)).map(|entry| {
            let load = || LoadedImage::from_container(entry.container, self.name).map(Arc::new);
            entry.image.get_or_init(load).as_ref().map_err(place)
        });
        images.collect()
    }

    /// Which image has which kernels: that is soon read, while a whole image may hold thousands of
    /// properties.
    fn glance(&'static self) -> Result<Vec<Entry>> {
        known::enter(self);
        let entry = |container: &&'static [u8]| {
            let kernels = DeviceImage::kernel_names(container)?;
            Ok(Entry { kernels, container, image: OnceLock::new() })
        };
        self.containers.iter().map(entry).collect()
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
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn foreign_bytes_are_an_image_error() {
        static TABLE: ImageTable = ImageTable::generated("odd", &[b"not an image, but longer than a header"]);
        for _ in 0..2 {
            let error = TABLE.images().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Image);
            assert!(error.to_string().contains("`odd`"), "{error}");
        }
    }

    fn table(images: &[oclave_image::DeviceImage]) -> &'static ImageTable {
        let bytes: Vec<&'static [u8]> = images.iter().map(|image| &*image.to_bytes().leak()).collect();
        Box::leak(Box::new(ImageTable::generated("t", bytes.leak())))
    }

    fn image(name: &str, kernel: &str) -> oclave_image::DeviceImage {
        let kernel = oclave_image::KernelSignature {
            name: kernel.to_owned(),
            parameters: Vec::new(),
            required_work_group_size: None,
            uniform_work_groups: false,
            required_sub_group_size: None,
            aspects: oclave_image::Aspects::empty(),
            device_globals: Vec::new(),
        };
        oclave_image::DeviceImage { name: name.to_owned(), kernels: vec![kernel], ..Default::default() }
    }

    #[test]
    fn images_are_read_once() {
        let table = table(&[image("i", "k")]);
        let [first] = table.images().unwrap()[..] else { panic!("one image") };
        assert_eq!(first.name(), "i");
        let [again] = table.images_with("k").unwrap()[..] else { panic!("one image") };
        assert!(std::ptr::eq(first, again));
    }

    #[test]
    fn only_images_with_the_kernel_are_read() {
        let mut damaged = image("b", "b").to_bytes();
        *damaged.last_mut().unwrap() ^= 1;
        let bytes = [image("a", "a").to_bytes(), damaged].map(|bytes| &*bytes.leak());
        let table: &'static ImageTable =
            Box::leak(Box::new(ImageTable::generated("t", bytes.to_vec().leak())));
        assert_eq!(table.images_with("a").unwrap().len(), 1);
        for error in [table.images_with("b").unwrap_err(), table.images_with("c").unwrap_err()] {
            assert!(format!("{error:#}").contains("checksum"), "{error}");
        }
    }
}
