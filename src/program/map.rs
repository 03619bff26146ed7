//! The memory cache: programs by image, device and specialization; kernels by what launches name.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::flight::{Flight, lock};
use super::ready::{BuiltProgram, ReadyKernel};
use super::spec::SpecValue;
use crate::Result;

/// Programs and kernels of a context, or of a kernel bundle, which takes them along when it goes.
#[derive(Debug, Default)]
pub(crate) struct ProgramMap {
    programs: Mutex<HashMap<ProgramKey, Arc<Flight<Arc<BuiltProgram>>>>>,
    /// The launch path: by kernel and device, then the few specializations in use.
    kernels: RwLock<HashMap<KernelKey, Vec<Specialized>, BuildHasherDefault<KeyHasher>>>,
}

type Specialized = (Box<[SpecValue]>, Arc<ReadyKernel>);

/// What a program is built from. Images are named by where they lie: they live as long as the map does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ProgramKey {
    pub(crate) image: usize,
    pub(crate) device: usize,
    /// Sorted, and only those that the image has.
    pub(crate) specs: Box<[SpecValue]>,
}

/// What a launch names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    pub(crate) kernel: usize,
    pub(crate) device: usize,
}

/// Hashes a [`KernelKey`]: an address and a small number, which nobody chooses to collide. Launches ask often.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, value: usize) {
        // Multiplication by an odd number carries low bits up; the map looks at the high bits too.
        self.0 = (self.0.rotate_left(5) ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl ProgramMap {
    /// The program of a key, built by `build` if nobody did. Builds of different keys run side by side.
    pub(crate) fn program(
        &self,
        key: ProgramKey,
        build: impl FnOnce() -> Result<Arc<BuiltProgram>>,
    ) -> Result<Arc<BuiltProgram>> {
        let flight = Arc::clone(lock(&self.programs).entry(key).or_default());
        flight.get_or_make(build)
    }

    pub(crate) fn kernel(&self, key: KernelKey, specs: &[SpecValue]) -> Option<Arc<ReadyKernel>> {
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        let (_, kernel) = kernels.get(&key)?.iter().find(|(of, _)| **of == *specs)?;
        Some(Arc::clone(kernel))
    }

    pub(crate) fn insert_kernel(&self, key: KernelKey, specs: &[SpecValue], kernel: &Arc<ReadyKernel>) {
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        let variants = kernels.entry(key).or_default();
        if !variants.iter().any(|(of, _)| **of == *specs) {
            variants.push((specs.into(), Arc::clone(kernel)));
        }
    }
}
