//! OpenCL's objects: contexts, queues, events, programs, kernels and memory objects, and their
//! handles from and for outside.

mod abandon;
pub(crate) mod adopt;
mod blocking;
pub mod context;
pub mod event;
pub mod image;
mod kept_queues;
pub mod kernel;
pub mod mem;
pub mod native;
#[cfg(feature = "opencl3")]
mod opencl3;
pub mod program;
pub mod queue;
pub(crate) mod user_event;
pub(crate) mod variable;
pub mod wait_list;
