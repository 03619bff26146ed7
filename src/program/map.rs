//! The memory cache: programs by image, device and specialization; kernels by what launches name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::kernel_table::KernelTable;
use super::ready::{BuiltProgram, ReadyKernel};
use super::single_flight::SingleFlight;
use super::spec::SpecValue;
use crate::Result;
use crate::driver::sync::{Mutex, RwLock};
use crate::image::{LoadedImage, generation};
use crate::memory::Region;

/// Programs and kernels of a context, or of a kernel bundle, which takes them along when it goes.
#[derive(Debug, Default)]
pub(crate) struct ProgramMap {
    programs: Mutex<HashMap<ProgramKey, Vec<ProgramVariant>>>,
    /// Images that were linked for these programs, by hash.
    linked: Mutex<HashMap<[u8; 32], Arc<LoadedImage>>>,
    /// Where device globals lie: by the image's declaration and the device. Only what never moves.
    globals: RwLock<HashMap<GlobalKey, Region>>,
    /// The launch path: kernels that stay as they are.
    kernels: KernelTable<ReadyKernel>,
    /// Kernels with virtual calls, which are linked again when further images become known: by
    /// kernel and device, then the few specializations in use.
    linked_kernels: RwLock<HashMap<KernelKey, Vec<LinkedKernel>>>,
}

type ProgramVariant = (Box<[SpecValue]>, Arc<SingleFlight<Arc<BuiltProgram>>>);

/// A kernel with virtual calls, and what it was specialized to.
#[derive(Debug)]
struct LinkedKernel {
    specs: Box<[SpecValue]>,
    /// Which images were known when it was linked.
    generation: u64,
    kernel: Arc<ReadyKernel>,
}

/// The inputs of a program. Images are named by where they lie: they live as long as the map
/// does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProgramKey {
    pub(crate) image: usize,
    /// The images that it is linked with: the beginning of a hash, 0 for none.
    pub(crate) linked: u64,
    pub(crate) device: usize,
}

/// A device global as an image declares it, by where the declaration lies, and a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GlobalKey {
    pub(crate) declaration: usize,
    pub(crate) device: usize,
}

/// The key that a launch looks its kernel up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    pub(crate) kernel: usize,
    pub(crate) device: usize,
}

impl ProgramMap {
    /// The program of an image, built by `build` if nobody did. Builds of different programs run
    /// side by side.
    ///
    /// `specs` are sorted, and only those that the image has.
    pub(crate) fn program(
        &self,
        key: ProgramKey,
        specs: &[SpecValue],
        build: impl FnOnce() -> Result<Arc<BuiltProgram>>,
    ) -> Result<Arc<BuiltProgram>> {
        let flight = {
            let mut programs = self.programs.lock();
            let variants = programs.entry(key).or_default();
            match variants.iter().find(|(of, _)| **of == *specs) {
                Some((_, flight)) => Arc::clone(flight),
                None => {
                    let flight = Arc::<SingleFlight<Arc<BuiltProgram>>>::default();
                    variants.push((specs.into(), Arc::clone(&flight)));
                    flight
                }
            }
        };
        flight.get_or_make(build)
    }

    /// The programs of an image that there are, whatever their specialization and what they are
    /// linked with. Waits for those that are being built.
    pub(crate) fn programs_of(&self, key: ProgramKey) -> Vec<Arc<BuiltProgram>> {
        self.programs_where(|of| (of.image, of.device) == (key.image, key.device))
    }

    /// All programs for a device that there are. Waits for those that are being built.
    pub(crate) fn programs_on(&self, device: usize) -> Vec<Arc<BuiltProgram>> {
        self.programs_where(|of| of.device == device)
    }

    fn programs_where(&self, wanted: impl Fn(&ProgramKey) -> bool) -> Vec<Arc<BuiltProgram>> {
        let variants: Vec<_> = self
            .programs
            .lock()
            .iter()
            .filter(|(of, _)| wanted(of))
            .flat_map(|(_, variants)| variants)
            .map(|(_, flight)| Arc::clone(flight))
            .collect();
        variants.iter().filter_map(|flight| flight.get()).collect()
    }

    /// The image, or the one that was linked of the same before.
    pub(crate) fn linked(&self, image: LoadedImage) -> Arc<LoadedImage> {
        let mut linked = self.linked.lock();
        Arc::clone(linked.entry(*image.hash()).or_insert_with(|| Arc::new(image)))
    }

    /// The image that was linked, or made of another, under this hash.
    pub(crate) fn linked_as(&self, hash: &[u8; 32]) -> Option<Arc<LoadedImage>> {
        self.linked.lock().get(hash).cloned()
    }

    pub(crate) fn global(&self, key: GlobalKey) -> Option<Region> {
        self.globals.read().get(&key).cloned()
    }

    pub(crate) fn insert_global(&self, key: GlobalKey, memory: &Region) {
        self.globals.write().insert(key, memory.clone());
    }

    #[inline]
    pub(super) fn kernel(&self, key: KernelKey, specs: &[SpecValue]) -> Option<Cow<'_, Arc<ReadyKernel>>> {
        match self.kernels.get(key, specs) {
            Some(kernel) => Some(Cow::Borrowed(kernel)),
            None => self.linked_kernel(key, specs).map(Cow::Owned),
        }
    }

    fn linked_kernel(&self, key: KernelKey, specs: &[SpecValue]) -> Option<Arc<ReadyKernel>> {
        let kernels = self.linked_kernels.read();
        let found = kernels.get(&key)?.iter().find(|found| *found.specs == *specs)?;
        (found.generation == generation()).then(|| Arc::clone(&found.kernel))
    }

    /// Adds a kernel; one with virtual calls with the images that were known when it was linked.
    pub(super) fn insert_kernel(
        &self,
        key: KernelKey,
        specs: &[SpecValue],
        generation: Option<u64>,
        kernel: &Arc<ReadyKernel>,
    ) {
        let Some(generation) = generation else { return self.kernels.insert(key, specs, kernel) };
        let mut kernels = self.linked_kernels.write();
        let variants = kernels.entry(key).or_default();
        let new = LinkedKernel { specs: specs.into(), generation, kernel: Arc::clone(kernel) };
        match variants.iter_mut().find(|there| *there.specs == *specs) {
            // Of two threads that made it, the one that knew more counts.
            Some(there) if there.generation < generation => *there = new,
            Some(_) => {}
            None => variants.push(new),
        }
    }
}
