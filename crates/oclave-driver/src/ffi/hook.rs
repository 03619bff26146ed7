//! The one place that every OpenCL call passes: forwards to `record`, or compiles to nothing.

/// The type of a handle's object, for the balance of live objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(feature = "record"), allow(dead_code, unreachable_pub))]
#[non_exhaustive]
pub enum ObjectKind {
    /// `cl_device_id` of a sub-device.
    Device,
    /// `cl_context`.
    Context,
    /// `cl_command_queue`.
    Queue,
    /// `cl_mem`: buffers, images, pipes.
    Memory,
    /// `cl_sampler`.
    Sampler,
    /// `cl_program`.
    Program,
    /// `cl_kernel`.
    Kernel,
    /// `cl_event`.
    Event,
    /// An allocation of `clSVMAlloc` or `clSVMAllocWithPropertiesKHR`.
    Svm,
    /// An allocation of `cl_intel_unified_shared_memory`.
    Usm,
    /// `cl_command_buffer_khr`.
    CommandBuffer,
}

#[cfg(feature = "record")]
pub use super::record::hooks::before;
#[cfg(feature = "record")]
pub(crate) use super::record::hooks::{created, event_created, released, retained, waited};
#[cfg(feature = "record")]
pub use super::record::{Handle as Session, current as session};

#[cfg(not(feature = "record"))]
mod off {
    use super::ObjectKind;
    use crate::Result;

    /// The session of the calling thread, for another thread to join: none.
    #[derive(Debug)]
    pub enum Session {}

    impl Session {
        /// Joins it.
        pub fn enter(&self) -> Entered {
            Entered
        }
    }

    /// While it lives, the thread is in the session.
    #[derive(Debug)]
    pub struct Entered;

    /// The session of the calling thread: none.
    #[inline(always)]
    pub fn session() -> Option<Session> {
        None
    }

    /// Counts a call that is about to be made: does nothing.
    ///
    /// # Errors
    /// None.
    #[inline(always)]
    pub fn before(_: &'static str) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn created<T>(_: ObjectKind, _: *mut T) {}

    #[inline(always)]
    pub(crate) fn retained<T>(_: ObjectKind, _: *mut T) {}

    #[inline(always)]
    pub(crate) fn released<T>(_: ObjectKind, _: *mut T) {}

    #[inline(always)]
    pub(crate) fn event_created(_: *mut crate::sys::cl_event) {}

    #[inline(always)]
    pub(crate) fn waited(_: usize) {}
}
#[cfg(not(feature = "record"))]
pub use off::{Session, before, session};
#[cfg(not(feature = "record"))]
pub(crate) use off::{created, event_created, released, retained, waited};
