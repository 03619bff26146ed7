//! The types of memory of `cl_khr_unified_svm`, and which of them the library uses.

use super::capabilities::{MemoryKind, MemorySupport};
use super::version::Version;
use crate::sys::*;
use crate::usm::Kind;

bitflags::bitflags! {
    /// The features of a type of memory of `cl_khr_unified_svm` on a device. Empty for a type that the device lacks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct SvmCapabilities: u64 {
        /// A pointer is the same on the host and on devices.
        const SINGLE_ADDRESS_SPACE = CL_SVM_CAPABILITY_SINGLE_ADDRESS_SPACE_KHR;
        /// All memory of the process is of this type, without an allocation by OpenCL.
        const SYSTEM_ALLOCATED = CL_SVM_CAPABILITY_SYSTEM_ALLOCATED_KHR;
        /// It stays on the device that it is associated with.
        const DEVICE_OWNED = CL_SVM_CAPABILITY_DEVICE_OWNED_KHR;
        /// It need not be associated with a device.
        const DEVICE_UNASSOCIATED = CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR;
        /// Other devices of the context access it, too.
        const CONTEXT_ACCESS = CL_SVM_CAPABILITY_CONTEXT_ACCESS_KHR;
        /// It stays on the host.
        const HOST_OWNED = CL_SVM_CAPABILITY_HOST_OWNED_KHR;
        /// The host reads it without mapping it.
        const HOST_READ = CL_SVM_CAPABILITY_HOST_READ_KHR;
        /// The host writes it without mapping it.
        const HOST_WRITE = CL_SVM_CAPABILITY_HOST_WRITE_KHR;
        /// The host can map it.
        const HOST_MAP = CL_SVM_CAPABILITY_HOST_MAP_KHR;
        /// The device reads it.
        const DEVICE_READ = CL_SVM_CAPABILITY_DEVICE_READ_KHR;
        /// The device writes it.
        const DEVICE_WRITE = CL_SVM_CAPABILITY_DEVICE_WRITE_KHR;
        /// Kernels use atomic functions on it.
        const DEVICE_ATOMIC_ACCESS = CL_SVM_CAPABILITY_DEVICE_ATOMIC_ACCESS_KHR;
        /// Host and devices access it at the same time.
        const CONCURRENT_ACCESS = CL_SVM_CAPABILITY_CONCURRENT_ACCESS_KHR;
        /// Atomic functions of host and devices work on it at the same time.
        const CONCURRENT_ATOMIC_ACCESS = CL_SVM_CAPABILITY_CONCURRENT_ATOMIC_ACCESS_KHR;
        /// Kernels follow pointers to it without a list of the allocations that they may reach.
        const INDIRECT_ACCESS = CL_SVM_CAPABILITY_INDIRECT_ACCESS_KHR;
    }
}

impl SvmCapabilities {
    /// Without these, the library cannot use a type at all.
    const NEEDED: Self = Self::SINGLE_ADDRESS_SPACE.union(Self::DEVICE_READ).union(Self::DEVICE_WRITE);
    const HOST_ACCESS: Self = Self::HOST_READ.union(Self::HOST_WRITE);
    const FOR_ALL_DEVICES: Self = Self::DEVICE_UNASSOCIATED.union(Self::CONTEXT_ACCESS);

    /// Whether memory with these can be memory of a kind.
    pub(crate) fn serves(self, kind: Kind, mapped: bool) -> bool {
        let host = match (kind, mapped) {
            (Kind::Device, _) => Self::empty(),
            (_, false) => Self::HOST_ACCESS,
            (_, true) => Self::HOST_MAP,
        };
        self.contains(Self::NEEDED | host)
    }

    /// How well it serves; greater is better.
    fn rank(self, kind: Kind) -> impl Ord + use<> {
        let has = |capability| self.contains(capability);
        let owner = match kind {
            Kind::Device => [has(Self::DEVICE_OWNED), !has(Self::HOST_OWNED)],
            Kind::Host => [has(Self::HOST_OWNED), !has(Self::DEVICE_OWNED)],
            Kind::Shared => [!has(Self::HOST_OWNED), !has(Self::DEVICE_OWNED)],
        };
        (!has(Self::SYSTEM_ALLOCATED), owner, has(Self::INDIRECT_ACCESS), has(Self::CONCURRENT_ACCESS))
    }
}

/// The types of memory that a device has by `cl_khr_unified_svm`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnifiedSvmSupport {
    /// Version of the extension.
    pub version: Version,
    /// Each type. All devices of a platform have as many, in the same order.
    pub types: Vec<SvmCapabilities>,
}

impl UnifiedSvmSupport {
    /// The oldest version that is used. Before, functions and flags were others.
    pub(crate) const OLDEST: Version = Version::new(0, 9, 0);

    /// The features of each type that all these devices have.
    pub(crate) fn in_common<'a>(
        each: impl IntoIterator<Item = Option<&'a Self>>,
    ) -> Option<Vec<SvmCapabilities>> {
        let mut each = each.into_iter();
        let first = each.next()??.types.clone();
        each.try_fold(first, |common, one| {
            Some(common.into_iter().zip(&one?.types).map(|(all, one)| all & *one).collect())
        })
    }
}

/// Which types the library allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SvmTypes {
    device: Option<SvmType>,
    host: Option<SvmType>,
    shared: Option<SvmType>,
    /// Those of host and shared memory are mapped for the host.
    pub(crate) mapped: bool,
}

/// One type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SvmType {
    /// Its number for the driver.
    pub(crate) index: u32,
    pub(crate) capabilities: SvmCapabilities,
}

impl SvmTypes {
    /// Chooses among the types that all devices of a context have.
    pub(crate) fn choose(types: &[SvmCapabilities], several_devices: bool) -> Self {
        let best = |kind, mapped| {
            let reaches_all = |one: SvmCapabilities| {
                kind == Kind::Device || !several_devices || one.contains(SvmCapabilities::FOR_ALL_DEVICES)
            };
            let all = types.iter().enumerate();
            let all = all.map(|(at, one)| SvmType { index: at as u32, capabilities: *one });
            let fit =
                all.filter(|one| one.capabilities.serves(kind, mapped) && reaches_all(one.capabilities));
            // The first of the best.
            fit.rev().max_by_key(|one| one.capabilities.rank(kind))
        };
        let mapped = best(Kind::Shared, false).is_none();
        let [device, host, shared] = [Kind::Device, Kind::Host, Kind::Shared].map(|kind| best(kind, mapped));
        Self { device, host, shared, mapped: mapped && host.is_some() }
    }

    /// The type of memory of a kind.
    pub(crate) fn of(&self, kind: Kind) -> Option<SvmType> {
        match kind {
            Kind::Device => self.device,
            Kind::Host => self.host,
            Kind::Shared => self.shared,
        }
    }

    /// Whether one flag lets a kernel follow pointers to memory of all kinds.
    pub(crate) fn indirect(&self) -> bool {
        [self.device, self.host, self.shared]
            .into_iter()
            .flatten()
            .all(|one| one.capabilities.contains(SvmCapabilities::INDIRECT_ACCESS))
    }

    /// The memory that it gives, if it gives any.
    pub(crate) fn support(&self) -> Option<MemorySupport> {
        let [device, host, shared] = [self.device, self.host, self.shared].map(|one| one.is_some());
        let kind = MemoryKind::UnifiedSvm;
        (device || host || shared).then_some(MemorySupport {
            kind,
            device,
            host,
            shared,
            mapped: self.mapped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: u64 = CL_SVM_TYPE_MACRO_DEVICE_KHR;
    const HOST: u64 = CL_SVM_TYPE_MACRO_HOST_KHR;
    const SHARED: u64 = CL_SVM_TYPE_MACRO_SINGLE_DEVICE_SHARED_KHR;
    const COARSE: u64 = CL_SVM_TYPE_MACRO_COARSE_GRAIN_BUFFER_KHR;
    const FINE: u64 = CL_SVM_TYPE_MACRO_FINE_GRAIN_BUFFER_KHR;
    const SYSTEM: u64 = CL_SVM_TYPE_MACRO_SYSTEM_KHR;

    /// The numbers of device, host and shared memory, and whether the host maps it and one flag makes it reachable.
    fn chosen(types: &[u64], several_devices: bool) -> ([Option<u32>; 3], bool, bool) {
        let types: Vec<_> = types.iter().map(|bits| SvmCapabilities::from_bits_retain(*bits)).collect();
        let chosen = SvmTypes::choose(&types, several_devices);
        let kinds = [Kind::Device, Kind::Host, Kind::Shared];
        (kinds.map(|kind| chosen.of(kind).map(|one| one.index)), chosen.mapped, chosen.indirect())
    }

    #[test]
    fn each_kind_of_memory_has_the_type_that_is_made_for_it() {
        assert_eq!(
            chosen(&[SYSTEM, COARSE, FINE, SHARED, HOST, DEVICE], false),
            ([Some(5), Some(4), Some(3)], false, true)
        );
        assert_eq!(chosen(&[COARSE], false), ([Some(0); 3], true, false));
        assert_eq!(chosen(&[COARSE, FINE], false), ([Some(1); 3], false, false));
        assert_eq!(chosen(&[SYSTEM], false), ([Some(0); 3], false, true));
        // Types that the host need not map come first, whatever they are made for.
        assert_eq!(chosen(&[COARSE, HOST], false), ([Some(0), Some(1), Some(1)], false, false));
    }

    #[test]
    fn memory_of_several_devices_is_reached_by_all() {
        assert_eq!(chosen(&[DEVICE, SHARED], true), ([Some(0), None, None], false, true));
        assert_eq!(chosen(&[DEVICE, SHARED, HOST, FINE], true), ([Some(0), Some(2), Some(3)], false, false));
    }

    #[test]
    fn types_that_devices_lack_or_kernels_cannot_use_are_left_out() {
        let read_only = DEVICE & !CL_SVM_CAPABILITY_DEVICE_WRITE_KHR;
        let elsewhere = DEVICE & !CL_SVM_CAPABILITY_SINGLE_ADDRESS_SPACE_KHR;
        assert_eq!(chosen(&[0, read_only, elsewhere, DEVICE], false), ([Some(3), None, None], false, true));
        let none = SvmTypes::choose(&[SvmCapabilities::empty()], false);
        assert_eq!((none.support(), none.mapped), (None, false));
        let of = |bits: &[u64]| UnifiedSvmSupport {
            version: UnifiedSvmSupport::OLDEST,
            types: bits.iter().map(|bits| SvmCapabilities::from_bits_retain(*bits)).collect(),
        };
        let (rich, poor) = (of(&[DEVICE, HOST]), of(&[0, HOST]));
        assert_eq!(UnifiedSvmSupport::in_common([Some(&rich), Some(&poor)]).as_ref(), Some(&poor.types));
        assert_eq!(UnifiedSvmSupport::in_common([Some(&rich), None]), None);
    }
}
