//! Kernels: their programs, arguments and ranges, device globals, specialization constants, and
//! code for one side.

pub use crate::command::{KernelCall, KernelLocal, KernelPointer, KernelPointerMut, KernelValue, Local};
pub use crate::device_global::{
    BundleGlobal, DeviceGlobal, Elements, GlobalElement, GlobalSlice, host_access,
};
pub use crate::if_device::{NotRun, Ran, if_device, if_host};
pub use crate::image::{ImageTable, Kernel};
#[cfg(feature = "compiler")]
pub use crate::program::KernelSource;
pub use crate::program::{
    BundleKernel, KernelBundle, Printed, ProgramCache, SpecConstant, SpecType, build_ahead_of_time,
};
pub use crate::range::{LaunchRange, NdRange, Range};
pub use oclave_image::{HostAccess, Side};
