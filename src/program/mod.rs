//! Programs: from the images of a kernel to a driver kernel that can be launched.

mod ahead;
mod attach;
mod build;
mod bundle;
mod device;
mod disk;
mod globals;
mod interpreter;
mod kernel_table;
mod map;
mod prints;
mod programs;
mod ptx;
mod ready;
mod signature;
mod single_flight;
mod slices;
#[cfg(feature = "compiler")]
mod source;
mod spec;
mod target;
mod virtual_faults;

pub use ahead::build_ahead_of_time;
pub use bundle::{BundleKernel, KernelBundle};
pub use disk::ProgramCache;
pub(crate) use interpreter::{
    FlowGroup, FlowLoad, GroupLimits, INTERPRETER_FLOW, InterpreterPart, InterpreterProgram, InterpreterSlot,
    Load, PendingProgram, Segment as InterpreterSegment, Shape, TaskList, joined_kernels,
};
pub(crate) use prints::PrintSink;
pub use prints::Printed;
pub(crate) use programs::Programs;
pub(crate) use ready::ReadyKernel;
pub(crate) use signature::declaration;
pub(crate) use slices::{SliceParameter, Slices};
#[cfg(feature = "compiler")]
pub use source::KernelSource;
pub use spec::{SpecConstant, SpecType};
pub(crate) use spec::{SpecValue, set_spec};
pub(crate) use target::CallTarget;
