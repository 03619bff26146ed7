//! OpenCL's own handles, for programs that also use OpenCL directly.
//!
//! # Ownership
//! - Functions that *show* a handle (`Context::native`, `Queue::native`, …) give no reference: the
//!   handle is good while the object, or a clone, lives. A caller that wants to keep it longer
//!   retains it.
//! - Types of this module *own* one reference, and release it when they are dropped. Those that the
//!   library makes (`Event::to_native`) belong to the caller;
//!   [`into_raw`](EventHandle::into_raw) gives the reference away.
//! - Objects that are *given* to the library go through one of these types. `from_raw` takes over
//!   the caller's reference, and `retain` adds a reference. The library's object releases it when
//!   it is dropped.
//!
//! All handles must come from the OpenCL loader that the library uses
//! ([`loader_name`](crate::loader_name)). The types of the raw handles are those of `opencl-sys`,
//! and so of `opencl3`.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

pub use opencl_sys::{
    cl_command_queue, cl_context, cl_device_id, cl_event, cl_kernel, cl_mem, cl_platform_id, cl_program,
};

use crate::MakeError as _;
use crate::{Api, Error, Result, api};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $raw:ident, $retain:ident, $release:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name {
            api: &'static Api,
            raw: $raw,
        }

        // SAFETY: OpenCL's functions that retain, release and query are thread-safe; the handle is
        // only read.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// Takes over one reference of the caller's.
            ///
            /// # Errors
            /// [`Invalid`](crate::ErrorKind::Invalid) for a null handle;
            /// [`Platform`](crate::ErrorKind::Platform) without an OpenCL loader.
            ///
            /// # Safety
            /// The handle is alive, is one of the loader's, and the caller owns a reference to it,
            /// and gives that away.
            pub unsafe fn from_raw(raw: $raw) -> Result<Self> {
                if raw.is_null() {
                    return Err(Error::invalid(concat!("a null `", stringify!($raw), "`")));
                }
                Ok(Self { api: api()?, raw })
            }

            /// Takes a reference of its own.
            ///
            /// # Errors
            /// As [`Self::from_raw`]; when the driver refuses.
            ///
            /// # Safety
            /// The handle is alive, and is one of the loader's.
            pub unsafe fn retain(raw: $raw) -> Result<Self> {
                if raw.is_null() {
                    return Err(Error::invalid(concat!("a null `", stringify!($raw), "`")));
                }
                let api = api()?;
                // SAFETY: the caller says that it is alive.
                unsafe { api.$retain(raw) }?;
                Ok(Self { api, raw })
            }

            /// The handle, good as long as this lives.
            pub fn raw(&self) -> $raw {
                self.raw
            }

            /// The handle, with its reference: the caller releases it.
            #[must_use = "nobody else releases it"]
            pub fn into_raw(self) -> $raw {
                std::mem::ManuallyDrop::new(self).raw
            }

            /// Another reference.
            ///
            /// # Errors
            /// When the driver refuses.
            pub fn try_clone(&self) -> Result<Self> {
                // SAFETY: this owns a reference, so it is alive.
                unsafe { Self::retain(self.raw) }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the reference is this object's own.
                if let Err(error) = unsafe { self.api.$release(self.raw) } {
                    log::error!("a handle was not released: {error:#}");
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:p})"), self.raw)
            }
        }
    )*};
}

handles! {
    /// A reference to a `cl_device_id`. Of platforms' own devices, nothing is counted.
    DeviceHandle: cl_device_id, clRetainDevice, clReleaseDevice;
    /// A reference to a `cl_context`.
    ContextHandle: cl_context, clRetainContext, clReleaseContext;
    /// A reference to a `cl_command_queue`.
    QueueHandle: cl_command_queue, clRetainCommandQueue, clReleaseCommandQueue;
    /// A reference to a `cl_event`.
    EventHandle: cl_event, clRetainEvent, clReleaseEvent;
    /// A reference to a `cl_program`.
    ProgramHandle: cl_program, clRetainProgram, clReleaseProgram;
    /// A reference to a `cl_kernel`.
    KernelHandle: cl_kernel, clRetainKernel, clReleaseKernel;
    /// A reference to a `cl_mem` that is a buffer.
    MemHandle: cl_mem, clRetainMemObject, clReleaseMemObject;
}

impl KernelHandle {
    /// Enqueues it with the arguments that are set. Sizes have as many entries as `dimensions`.
    #[doc(hidden)]
    pub fn enqueue(
        &self,
        to: &Submission<'_>,
        dimensions: usize,
        [offset, global, local]: [Option<[usize; 3]>; 3],
    ) -> Result<EventHandle> {
        let sizes =
            |sizes: &Option<[usize; 3]>| sizes.as_ref().map_or(std::ptr::null(), |list| list.as_ptr());
        let mut event = std::ptr::null_mut();
        // SAFETY: kernel, queue and events are alive; OpenCL has at most three dimensions, and
        // refuses others before it reads the sizes. The command's author has promised the rest.
        unsafe {
            let (offset, global, local) = (sizes(&offset), sizes(&global), sizes(&local));
            let dimensions = dimensions as u32;
            let (queue, wait) = (to.queue, to.wait);
            self.api.clEnqueueNDRangeKernel(
                queue, self.raw, dimensions, offset, global, local, wait, &mut event,
            )?;
            EventHandle::from_raw(event)
        }
    }
}

/// Unified shared memory that the caller allocated, with functions of
/// `cl_intel_unified_shared_memory`.
#[derive(Debug)]
pub struct UsmHandle {
    pub(crate) pointer: *mut c_void,
    pub(crate) size_bytes: usize,
    pub(crate) owned: bool,
}

// SAFETY: an address; what is there is only used by the driver, or through the guards of `usm`.
unsafe impl Send for UsmHandle {}
// SAFETY: as above.
unsafe impl Sync for UsmHandle {}

impl UsmHandle {
    /// Memory that stays the caller's. The caller frees it after all objects that the library made
    /// of it are gone and all commands that use it have ended.
    ///
    /// # Safety
    /// The allocation has that many bytes from there on, and is freed no earlier. Nobody else uses
    /// it while commands of the library may, or while the library's guards give access to it.
    pub unsafe fn borrow(pointer: *mut c_void, size_bytes: usize) -> Self {
        Self { pointer, size_bytes, owned: false }
    }

    /// Memory that becomes the library's, which frees it when nothing uses it any more.
    ///
    /// # Safety
    /// The pointer is the start of an allocation of that many bytes, which nobody else frees or
    /// uses from now on.
    pub unsafe fn from_raw(pointer: *mut c_void, size_bytes: usize) -> Self {
        Self { pointer, size_bytes, owned: true }
    }
}

/// Where the raw commands of a `Command::native` go.
#[derive(Debug)]
pub struct Submission<'a> {
    pub(crate) queue: cl_command_queue,
    pub(crate) wait: &'a [cl_event],
}

impl Submission<'_> {
    /// The queue to put them on.
    pub fn queue(&self) -> cl_command_queue {
        self.queue
    }

    /// The events that they must wait for. What is on an in-order queue already is left out.
    pub fn wait_list(&self) -> &[cl_event] {
        self.wait
    }
}

/// Puts raw commands on a queue, and gives the event after which all of them have ended.
pub type Enqueue = Arc<dyn Fn(&Submission<'_>) -> Result<EventHandle> + Send + Sync>;
