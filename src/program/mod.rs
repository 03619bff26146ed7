//! Programs: from the images of a kernel to a driver kernel that can be launched.

mod ahead;
mod arguments;
mod attach;
mod build;
mod bundle;
mod device;
mod disk;
mod flight;
mod globals;
mod map;
mod programs;
mod ready;
mod replay;
mod spec;
mod virtual_faults;

pub use ahead::build_ahead_of_time;
pub(crate) use arguments::check as check_arguments;
pub use bundle::{BundleKernel, KernelBundle};
pub use disk::ProgramCache;
pub(crate) use programs::Programs;
pub(crate) use ready::ReadyKernel;
pub(crate) use replay::{ReplayProgram, Segment as ReplaySegment, Shape, Source, TaskList, Work};
pub use spec::{SpecConstant, SpecType};
pub(crate) use spec::{SpecValue, set_spec};
