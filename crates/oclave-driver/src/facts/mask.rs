//! Capability masks: make a device look poorer than it is, so that every fallback runs on a rich
//! device.
//!
//! A mask belongs to a [`Device`](crate::Device) value and to all that is made from it. It
//! comes from three places, which add up. The environment variable `OCLAVE_MASK` is a
//! comma-separated list of names. A [`scope`] counts for the thread that asks for devices.
//! [`Device::masked`](crate::Device::masked) makes another device.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use oclave_image::Aspects;

use crate::MakeError as _;
use crate::{Error, Result};

/// Environment variable with the names to mask.
pub(crate) const VARIABLE: &str = "OCLAVE_MASK";

bitflags::bitflags! {
    /// A set of capabilities to hide.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub struct Mask: u32 {
        /// SPIR-V itself, and PTX in its place: the device becomes one that the library cannot use.
        const SPIRV = 1 << 0;
        /// SPIR-V later than 1.2.
        const SPIRV_1_3 = 1 << 1;
        /// `cl_khr_spirv_queries`.
        const SPIRV_QUERIES = 1 << 2;
        /// `cl_intel_unified_shared_memory`, all kinds. SVM takes its place where the device has
        /// it.
        const USM = 1 << 3;
        /// Device USM.
        const DEVICE_USM = 1 << 4;
        /// Shared USM.
        const SHARED_USM = 1 << 5;
        /// Host USM.
        const HOST_USM = 1 << 6;
        /// Shared virtual memory.
        const SVM = 1 << 7;
        /// `cl_khr_command_buffer` (and with it mutable dispatch).
        const COMMAND_BUFFER = 1 << 8;
        /// `cl_khr_command_buffer_mutable_dispatch`.
        const MUTABLE_DISPATCH = 1 << 9;
        /// Re-enqueueing a command buffer while it is pending, whether or not an event orders the two.
        const SIMULTANEOUS_USE = 1 << 10;
        /// Reading and writing program-scope variables by name.
        const GLOBAL_VARIABLE_ACCESS = 1 << 11;
        /// The address of program-scope variables.
        const GLOBAL_VARIABLE_POINTER = 1 << 12;
        /// Out-of-order queues.
        const OUT_OF_ORDER = 1 << 13;
        /// Sub-devices.
        const SUB_DEVICES = 1 << 14;
        /// Module-scope variables in global memory.
        const PROGRAM_SCOPE_VARIABLES = 1 << 15;
        /// 64-bit floating point.
        const FP64 = 1 << 16;
        /// 16-bit floating point.
        const FP16 = 1 << 17;
        /// 64-bit integer atomics.
        const ATOMIC64 = 1 << 18;
        /// Image objects.
        const IMAGE = 1 << 19;
        /// Sub-groups.
        const SUB_GROUPS = 1 << 20;
        /// The generic address space.
        const GENERIC_POINTER = 1 << 21;
        /// Work-group collectives.
        const WORK_GROUP_COLLECTIVES = 1 << 22;
        /// Floating-point atomics.
        const ATOMIC_FLOAT = 1 << 23;
        /// Function pointers.
        const FUNCTION_POINTERS = 1 << 24;
        /// SVM that the host accesses without mapping it.
        const SVM_FINE = 1 << 25;
        /// `cl_ext_buffer_device_address`.
        const BUFFER_DEVICE_ADDRESS = 1 << 26;
        /// Work-groups that do not divide the range. Launches with such groups are refused.
        const NON_UNIFORM_WORK_GROUPS = 1 << 27;
        /// Re-enqueueing a command buffer while it is pending without an event that orders the two: the
        /// rule of `cl_khr_command_buffer` 1.0.
        const UNORDERED_USE = 1 << 28;
        /// `cl_khr_suggested_local_work_size`.
        const SUGGESTED_GROUP_SIZES = 1 << 29;
        /// `cl_khr_unified_svm`.
        const UNIFIED_SVM = 1 << 30;
    }
}

impl Mask {
    /// Parses a comma-separated list of names, as `OCLAVE_MASK` has it. Blanks and empty items are
    /// ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for an unknown name; the message lists the
    /// known ones.
    pub fn parse(list: &str) -> Result<Self> {
        let mut mask = Self::empty();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = Self::all().iter_names().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let Some((_, flag)) = known else {
                return Err(Error::invalid(format!("no capability `{name}` to mask"))
                    .remedy(format!("known are: {}", Self::all())));
            };
            mask |= flag;
        }
        Ok(mask)
    }

    /// The mask of the environment; an error each time it does not parse, so that a typing error
    /// cannot go unnoticed.
    pub(crate) fn from_environment() -> Result<Self> {
        match std::env::var_os(VARIABLE) {
            None => Ok(Self::empty()),
            Some(list) => Self::parse(&list.to_string_lossy()).map_err(|error| error.at(VARIABLE)),
        }
    }

    /// The aspects that the mask hides.
    pub(crate) fn aspects(self) -> Aspects {
        [
            (Self::PROGRAM_SCOPE_VARIABLES, Aspects::PROGRAM_SCOPE_VARIABLES),
            (Self::FP64, Aspects::FP64),
            (Self::FP16, Aspects::FP16),
            (Self::ATOMIC64, Aspects::ATOMIC64),
            (Self::IMAGE, Aspects::IMAGE | Aspects::IMAGE_3D_WRITE | Aspects::IMAGE_READ_WRITE),
            (Self::SUB_GROUPS, Aspects::SUB_GROUPS),
            (Self::GENERIC_POINTER, Aspects::GENERIC_POINTER),
            (Self::WORK_GROUP_COLLECTIVES, Aspects::WORK_GROUP_COLLECTIVES),
            (Self::ATOMIC_FLOAT, Aspects::ATOMIC_FLOAT),
            (Self::FUNCTION_POINTERS, Aspects::FUNCTION_POINTERS),
        ]
        .into_iter()
        .filter(|(mask, _)| self.contains(*mask))
        .fold(Aspects::empty(), |hidden, (_, aspects)| hidden | aspects)
    }
}

impl fmt::Display for Mask {
    /// The names in lower case, separated by commas: what [`Mask::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, _)) in self.iter_names().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            f.write_str(&name.to_ascii_lowercase())?;
        }
        Ok(())
    }
}

thread_local! {
    static SCOPE: Cell<Mask> = const { Cell::new(Mask::empty()) };
}

/// Adds a mask to the devices that this thread asks for, until the guard is dropped. Devices that
/// it has already keep what they had.
pub fn scope(mask: Mask) -> MaskScope {
    let before = SCOPE.get();
    SCOPE.set(before | mask);
    MaskScope { before, not_send: PhantomData }
}

/// The mask of this thread's scopes.
pub(crate) fn scoped() -> Mask {
    SCOPE.try_with(Cell::get).unwrap_or_default()
}

/// Guard of [`scope`].
#[derive(Debug)]
#[must_use = "the mask holds until this is dropped"]
pub struct MaskScope {
    before: Mask,
    not_send: PhantomData<*const ()>,
}

impl Drop for MaskScope {
    fn drop(&mut self) {
        let _ = SCOPE.try_with(|scope| scope.set(self.before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_print() {
        let mask = Mask::parse(" usm, Command_Buffer ,,fp64,").unwrap();
        assert_eq!(mask, Mask::USM | Mask::COMMAND_BUFFER | Mask::FP64);
        assert_eq!(mask.to_string(), "usm,command_buffer,fp64");
        assert_eq!(Mask::parse(&Mask::all().to_string()).unwrap(), Mask::all());
        assert!(Mask::parse("").unwrap().is_empty());
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known() {
        let error = Mask::parse("usm,comand_buffer").unwrap_err().to_string();
        assert!(
            error.contains("`comand_buffer`") && error.contains("command_buffer,mutable_dispatch"),
            "{error}"
        );
    }

    #[test]
    fn scopes_nest() {
        {
            let _outer = scope(Mask::USM);
            {
                let _inner = scope(Mask::FP64);
                assert_eq!(scoped(), Mask::USM | Mask::FP64);
            }
            assert_eq!(scoped(), Mask::USM);
        }
        assert!(scoped().is_empty());
    }
}
