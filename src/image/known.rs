//! Which images there are: kernels find the virtual functions that they call in all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ImageTable, LoadedImage};
use crate::driver::sync::Mutex;

/// The tables of the process, in the order in which they became known.
static TABLES: Mutex<Vec<&'static ImageTable>> = Mutex::new(Vec::new());

/// Counts what becomes known.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Grows when images with virtual functions become known: kernels that were linked before may lack
/// some.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// Makes a table known.
pub(super) fn enter(table: &'static ImageTable) {
    let mut tables = TABLES.lock();
    if !tables.iter().any(|known| std::ptr::eq(*known, table)) {
        tables.push(table);
        GENERATION.fetch_add(1, Ordering::AcqRel);
    }
}

/// The images of bundles that a context knows.
///
/// They stay known after the bundle is gone, because objects may still need their functions.
#[derive(Debug, Default)]
pub(crate) struct Known {
    bundles: Mutex<Vec<Vec<Arc<LoadedImage>>>>,
}

impl Known {
    /// Makes the images of a bundle known, if they have virtual functions.
    pub(crate) fn enter(&self, images: &[Arc<LoadedImage>]) {
        if images.iter().all(|image| image.virtual_functions().is_empty()) {
            return;
        }
        let mut bundles = self.bundles.lock();
        let is_known = |image: &Arc<LoadedImage>| bundles.iter().any(|bundle| holds(bundle, image));
        if !images.iter().all(is_known) {
            bundles.push(images.to_vec());
            GENERATION.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// All images with virtual functions, each once; those of the table or bundle of `image` first.
    pub(crate) fn all(&self, image: &LoadedImage) -> Vec<Arc<LoadedImage>> {
        let tables = TABLES.lock().clone();
        let of_tables = tables.into_iter().map(|table| match table.images() {
            Ok(images) => images.into_iter().cloned().collect(),
            Err(error) => {
                log::warn!("virtual functions of a table are left out: {error:#}");
                Vec::new()
            }
        });
        let mut groups: Vec<Vec<Arc<LoadedImage>>> = of_tables.collect();
        groups.extend(self.bundles.lock().iter().cloned());
        // The sort is stable.
        groups.sort_by_key(|group| !holds(group, image));
        let mut all: Vec<Arc<LoadedImage>> = Vec::new();
        for image in groups.into_iter().flatten() {
            if !image.virtual_functions().is_empty() && !holds(&all, &image) {
                all.push(image);
            }
        }
        all
    }
}

fn holds(images: &[Arc<LoadedImage>], image: &LoadedImage) -> bool {
    images.iter().any(|there| there.hash() == image.hash())
}
