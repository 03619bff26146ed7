//! Commands: what is put on a queue, recorded, or added to a graph, described once.
//!
//! A [`Command`] is a plain value. Submitting one goes through these folders, each of which uses
//! those before it:
//! ```text
//! describe/  Command, KernelCall: plain values
//! prepare/   --> PreparedCommand: kernel found, arguments, ranges and sizes checked, places looked up
//! submit/    recorded by a graph (recording.rs), enqueued at once (submit.rs), or deferred (deferred.rs)
//! ```
//! A graph prepares its commands once, and executes them many times.

mod describe;
mod prepare;
mod submit;

pub(crate) use describe::argument::{Argument, Pointer, Value};
pub use describe::argument::{Local, RawArgument};
pub use describe::call::KernelCall;
pub(crate) use describe::command::CommandKind;
pub use describe::command::{Advice, Command};
pub(crate) use describe::control::{
    ControlBody, ControlFlow, ControlKind, ControlValue, Scalar, SealedCount, of_body,
};
pub use describe::control::{ControlInteger, ControlScalar, Count};
pub use describe::fold::{Fold, FoldScalar};
pub(crate) use describe::follow::Follows;
pub(crate) use describe::graph::{GraphCommand, RunOn};
pub(crate) use describe::name::{Labelled, Name, full_name, labelled, node_place, within};
pub(crate) use describe::outside::Outside;
pub(crate) use describe::parameter::{Binding, Given, Parameter, newest, newest_of};
pub(crate) use describe::passed::sealed;
pub use describe::passed::{KernelLocal, KernelPointer, KernelPointerMut, KernelValue};
pub use describe::place::{Contents, CopyFrom, CopyTo, Memory};
pub(crate) use describe::place::{HostData, Place, Placed};
pub(crate) use describe::task::HostTask;
pub use describe::task::TaskResult;
pub(crate) use prepare::control::{RunControl, Then};
pub(crate) use prepare::form::{Form, KernelForm};
pub(crate) use prepare::graph_part::GraphPart;
pub(crate) use prepare::launch::{prepare_kernel as prepare, suggested_group_size};
pub use prepare::native_kernel::NativeKernel;
pub(crate) use prepare::prepared::PreparedCommand;
pub(crate) use submit::recording::{Recorder, Recording};
pub(crate) use submit::submit::{is_direct, submit, submit_direct, submit_prepared, with_driver_events};
