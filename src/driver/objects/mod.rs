//! OpenCL's objects: contexts, queues, events, programs, kernels and memory objects, and their
//! handles from and for outside.

mod abandon;
pub(crate) mod adopt;
mod blocking;
pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod image;
mod kept_queues;
pub(crate) mod kernel;
pub(crate) mod mem;
pub mod native;
#[cfg(feature = "opencl3")]
mod opencl3;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod user_event;
pub(crate) mod variable;
pub(crate) mod wait_list;
