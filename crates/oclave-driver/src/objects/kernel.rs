//! Kernel objects: arguments, indirect access, and what the device says about launching them.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use super::image::{Image, Sampler};
use super::program::Program;
use crate::MakeError as _;
use crate::sync::{Mutex, MutexGuard};
use crate::sys::{
    CL_KERNEL_NUM_ARGS, CL_KERNEL_WORK_GROUP_SIZE, cl_kernel, cl_kernel_work_group_info, cl_mem, cl_sampler,
};
use crate::usm::{Allocation, Span};
use crate::{Api, Error, Result, info};

/// A `cl_kernel`. Owns one reference, and keeps its program.
///
/// Setting arguments takes `&mut self`: OpenCL does not let two threads set arguments of one kernel
/// object at once.
#[derive(Debug)]
pub struct Kernel {
    raw: cl_kernel,
    program: Arc<Program>,
    /// Memory that the kernel points to by an argument that launches do not name.
    held: Option<Arc<Allocation>>,
    /// For a kernel that follows pointers in memory, where the driver is told which there are: what
    /// it was told last.
    told: Option<u64>,
    /// By index, what each argument was last set to; it stays that until it is set again
    /// (specification, clSetKernelArg).
    set: Vec<Set>,
}

/// A kernel object whose arguments several set, and which they enqueue, in turns.
#[derive(Debug)]
pub struct SharedKernel {
    program: Arc<Program>,
    kernel: Mutex<Kernel>,
}

impl SharedKernel {
    /// Shares a kernel object.
    pub fn new(kernel: Kernel) -> Self {
        Self { program: Arc::clone(kernel.program()), kernel: Mutex::new(kernel) }
    }

    /// The program.
    #[inline]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The object, for setting arguments and enqueueing as one step.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, Kernel> {
        self.kernel.lock()
    }
}

/// The value of a kernel argument, as far as setting it again would change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Unknown,
    /// So many bytes of the array, the others zero.
    Value([u8; REMEMBERED_BYTES], usize),
    Local(usize),
    /// An address in an allocation of this id. Ids are not used again, so the memory was not freed
    /// in between. That matters: a driver may have looked up more than the address when the
    /// argument was set.
    Memory(u64, usize),
    /// An image or a sampler of this id. Ids are not used again.
    Object(u64),
    Null,
}

/// Larger values are set each time.
const REMEMBERED_BYTES: usize = 16;

// SAFETY: functions that are not thread-safe on one kernel (setting arguments, enqueueing in
// between) need `&mut self`.
unsafe impl Send for Kernel {}
// SAFETY: the functions on `&self` only query, which is thread-safe.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// The kernel `name` of a built program.
    pub fn new(program: &Arc<Program>, name: &str) -> Result<Self> {
        let c_name = CString::new(name).map_err(|_| {
            Error::invalid(format!("kernel name `{}` has a NUL in it", name.escape_default()))
        })?;
        // SAFETY: the program is alive, the name ends in NUL.
        let raw = unsafe { program.context().api().clCreateKernel(program.raw(), c_name.as_ptr()) }?;
        Ok(Self { raw, program: Arc::clone(program), held: None, told: None, set: Vec::new() })
    }

    /// Keeps memory as long as the kernel.
    pub fn hold(&mut self, memory: &Arc<Allocation>) {
        self.held = Some(Arc::clone(memory));
    }

    #[inline]
    fn api(&self) -> &'static Api {
        self.program.context().api()
    }

    /// Sets an argument, unless it is set to the same already.
    #[inline]
    fn set(&mut self, index: u32, to: Set, set: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        let place = index as usize;
        if to != Set::Unknown && self.set.get(place) == Some(&to) {
            return Ok(());
        }
        if self.set.len() <= place {
            self.set.resize(place + 1, Set::Unknown);
        }
        let outcome = set(self);
        if let Some(last) = self.set.get_mut(place) {
            *last = if outcome.is_ok() { to } else { Set::Unknown };
        }
        outcome
    }

    /// Sets an argument by value.
    #[inline]
    pub(crate) fn set_value(&mut self, index: u32, value: &[u8]) -> Result<()> {
        let mut bytes = [0; REMEMBERED_BYTES];
        let to = match bytes.get_mut(..value.len()) {
            Some(room) => {
                room.copy_from_slice(value);
                Set::Value(bytes, value.len())
            }
            None => Set::Unknown,
        };
        // SAFETY: the kernel is alive, the driver copies as many bytes as `value` has; `&mut` keeps
        // other threads off.
        self.set(index, to, |kernel| unsafe {
            kernel.api().clSetKernelArg(kernel.raw, index, value.len(), value.as_ptr().cast::<c_void>())
        })
    }

    /// Gives a local-memory argument its size in bytes.
    pub(crate) fn set_local(&mut self, index: u32, size_bytes: usize) -> Result<()> {
        // Before OpenCL 3.1, local memory of no bytes is an error.
        let size_bytes = size_bytes.max(1);
        // SAFETY: the kernel is alive; a null value with a size is how local memory is asked for.
        self.set(index, Set::Local(size_bytes), |kernel| unsafe {
            kernel.api().clSetKernelArg(kernel.raw, index, size_bytes, std::ptr::null())
        })
    }

    /// Gives a pointer argument the start of a span of USM, or null.
    #[inline]
    pub(crate) fn set_pointer(&mut self, index: u32, to: Option<Span<'_>>) -> Result<()> {
        let address = to.map_or(std::ptr::null_mut(), |span| span.address());
        let to = to.map_or(Set::Null, |span| Set::Memory(span.allocation().id(), address.addr()));
        self.set(index, to, |kernel| {
            let pointers = kernel.program.context().pointers()?;
            // SAFETY: the kernel is alive, and `&mut` keeps other threads off; `Queue::launch`
            // keeps the memory in use from before this until the kernel has run.
            unsafe { pointers.set_argument(kernel.raw, index, address) }
        })
    }

    /// Gives an image argument an image.
    pub(crate) fn set_image(&mut self, index: u32, image: &Image) -> Result<()> {
        let handle: cl_mem = image.used();
        self.set_handle(index, image.id(), (&raw const handle).cast(), size_of::<cl_mem>())
    }

    /// Gives a sampler argument a sampler.
    pub(crate) fn set_sampler(&mut self, index: u32, sampler: &Sampler) -> Result<()> {
        let handle: cl_sampler = sampler.used();
        self.set_handle(index, sampler.id(), (&raw const handle).cast(), size_of::<cl_sampler>())
    }

    /// `handle` points to a handle of so many bytes, of an object that is alive.
    fn set_handle(&mut self, index: u32, id: u64, handle: *const c_void, size: usize) -> Result<()> {
        // SAFETY: the kernel is alive, and `&mut` keeps other threads off; the driver copies the
        // handle.
        self.set(index, Set::Object(id), |kernel| unsafe {
            kernel.api().clSetKernelArg(kernel.raw, index, size, handle)
        })
    }

    /// Says that the kernel follows pointers that are not among its arguments.
    pub fn set_indirect_access(&mut self) -> Result<()> {
        // Without memory that has addresses there is nothing to reach.
        let Ok(pointers) = self.program.context().pointers() else { return Ok(()) };
        // SAFETY: the kernel is alive, and `&mut` keeps other threads off.
        let tell = unsafe { pointers.allow_indirect(self.api(), self.raw) }?;
        self.told = tell.then_some(0);
        Ok(())
    }

    /// Enqueues or records the kernel. The driver knows before which memory it may reach.
    #[inline(always)]
    pub(crate) fn with_memory<R>(&mut self, enqueue: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        let Some(mut told) = self.told else { return enqueue(self) };
        let pointers = self.program.context().pointers()?;
        // SAFETY: the kernel is alive, and `&mut` keeps other threads off.
        let outcome = unsafe { pointers.with_live(self.api(), self.raw, &mut told, || enqueue(self)) };
        self.told = Some(told);
        outcome
    }

    /// The memory that the driver was told last that a kernel may reach, if it must be told.
    pub(crate) fn told(&self) -> Option<u64> {
        self.told
    }

    /// How many arguments the driver knows, hidden ones included.
    pub fn argument_count(&self) -> Result<u32> {
        let api = self.api();
        info::value(|size, value, ret| {
            // SAFETY: the kernel is alive; `value` has room for `size` bytes.
            unsafe { api.clGetKernelInfo(self.raw, CL_KERNEL_NUM_ARGS, size, value, ret) }
        })
    }

    /// Work-items that one work-group of this kernel may have on its device.
    pub fn max_work_group_size(&self) -> Result<usize> {
        self.work_group_info(CL_KERNEL_WORK_GROUP_SIZE)
    }

    fn work_group_info(&self, name: cl_kernel_work_group_info) -> Result<usize> {
        let api = self.api();
        info::value(|size, value, ret| {
            // SAFETY: kernel and device are alive; `value` has room for `size` bytes.
            unsafe {
                api.clGetKernelWorkGroupInfo(self.raw, self.program.device().id(), name, size, value, ret)
            }
        })
    }

    /// The handle.
    #[inline]
    pub fn raw(&self) -> cl_kernel {
        self.raw
    }

    #[inline]
    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.program
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: the reference is this object's own.
        if let Err(error) = unsafe { self.api().clReleaseKernel(self.raw) } {
            self.program.context().keep_error(error.at("dropping a kernel"));
        }
    }
}
