//! Optional device features, after the aspects of SYCL 2020 (section 4.6.4.5).

use std::fmt;

bitflags::bitflags! {
    /// A set of optional features that code needs or that a device has.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub struct Aspects: u64 {
        /// 64-bit floating point (`Float64`).
        const FP64 = 1 << 0;
        /// 16-bit floating point arithmetic (`Float16`).
        const FP16 = 1 << 1;
        /// 64-bit integer atomics (`Int64Atomics`).
        const ATOMIC64 = 1 << 2;
        /// Image objects (`ImageBasic`).
        const IMAGE = 1 << 3;
        /// Writable 3-D images.
        const IMAGE_3D_WRITE = 1 << 4;
        /// Images read and written in one kernel (`ImageReadWrite`).
        const IMAGE_READ_WRITE = 1 << 5;
        /// Sub-groups (`Groups`, `SubgroupDispatch`, the cl_intel_subgroups capabilities).
        const SUB_GROUPS = 1 << 6;
        /// The generic address space (`GenericPointer`).
        const GENERIC_POINTER = 1 << 7;
        /// Pipes (`Pipes`).
        const PIPES = 1 << 8;
        /// Kernels that enqueue kernels (`DeviceEnqueue`).
        const DEVICE_ENQUEUE = 1 << 9;
        /// Module-scope variables in global memory.
        const PROGRAM_SCOPE_VARIABLES = 1 << 10;
        /// Work-group collectives (`Groups` with scope Workgroup).
        const WORK_GROUP_COLLECTIVES = 1 << 11;
        /// Floating-point atomic addition and min/max.
        const ATOMIC_FLOAT = 1 << 12;
        /// Function pointers (`FunctionPointersINTEL`).
        const FUNCTION_POINTERS = 1 << 13;
    }
}

const NAMES: [(Aspects, &str); 14] = [
    (Aspects::FP64, "fp64"),
    (Aspects::FP16, "fp16"),
    (Aspects::ATOMIC64, "atomic64"),
    (Aspects::IMAGE, "image"),
    (Aspects::IMAGE_3D_WRITE, "image_3d_write"),
    (Aspects::IMAGE_READ_WRITE, "image_read_write"),
    (Aspects::SUB_GROUPS, "sub_groups"),
    (Aspects::GENERIC_POINTER, "generic_pointer"),
    (Aspects::PIPES, "pipes"),
    (Aspects::DEVICE_ENQUEUE, "device_enqueue"),
    (Aspects::PROGRAM_SCOPE_VARIABLES, "program_scope_variables"),
    (Aspects::WORK_GROUP_COLLECTIVES, "work_group_collectives"),
    (Aspects::ATOMIC_FLOAT, "atomic_float"),
    (Aspects::FUNCTION_POINTERS, "function_pointers"),
];

impl Aspects {
    /// The names of the aspects in the set, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().filter(move |(aspect, _)| self.contains(*aspect)).map(|(_, name)| name)
    }

    /// The aspect of a name as [`Aspects::names`] gives it.
    pub fn from_aspect_name(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|(_, n)| *n == name).map(|(aspect, _)| aspect)
    }
}

impl fmt::Display for Aspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}
