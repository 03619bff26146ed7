//! Contexts: devices of one platform that share memory and programs. A context also keeps what its
//! objects have in common. These are the slots of its queues, memory that waits to be freed, and
//! the first error of a `Drop`.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use oclave_faults::FaultSet;

use super::native::{ContextHandle, QueueHandle};
use super::user_event;
use crate::MakeError as _;
use crate::deferred_free::{DeferredFree, DeferredResource, leak};
use crate::facts::faults::usm_free_delay;
use crate::fault::Faults;
use crate::free_pool::{Class, FreePool, SpareMemory};
use crate::pointers::{self, Pointers};
use crate::prints::Prints;
use crate::queue_bits::QueueBits;
use crate::sync::Mutex;
use crate::sys::{CL_CONTEXT_PLATFORM, CL_TRUE, cl_command_queue, cl_context, cl_context_properties};
use crate::{Api, Device, Error, ErrorKind, MemorySupport, Result, api, exit};

/// A `cl_context`. Owns one reference.
pub struct Context {
    api: &'static Api,
    raw: cl_context,
    devices: Vec<Device>,
    first: Device,
    /// Absent where the devices have no memory for it in common.
    pointers: Option<Pointers>,
    /// For what the host does with memory: never for commands that wait for others.
    host_queue: OnceLock<QueueHandle>,
    queue_bits: QueueBits,
    deferred: DeferredFree,
    /// Where freed memory does not go back to the driver at once.
    free_pool: Option<FreePool>,
    /// The fast path to `first_error`.
    has_error: AtomicBool,
    first_error: Mutex<Option<Error>>,
    /// The process exits.
    closed: AtomicBool,
    faults: Faults,
    prints: Prints,
}

// SAFETY: OpenCL's functions on contexts are thread-safe (specification, appendix A.2); the handle
// is only read.
unsafe impl Send for Context {}
// SAFETY: as above; everything else in it is Sync by itself.
unsafe impl Sync for Context {}

impl Context {
    /// A context of these devices, which must be of one platform.
    pub fn new(devices: &[Device]) -> Result<Arc<Self>> {
        let Some(first) = devices.first() else {
            return Err(Error::invalid("a context needs a device"));
        };
        let platform = first.platform();
        if let Some(foreign) = devices.iter().find(|device| device.platform() != platform) {
            return Err(Error::invalid(format!(
                "devices of two platforms in one context: `{}` and `{}`",
                first.name(),
                foreign.name()
            ))
            .remedy("make a context for each platform"));
        }
        let api = api()?;
        let raw_devices: Vec<_> = devices.iter().map(Device::id).collect();
        let properties: [cl_context_properties; 3] =
            [CL_CONTEXT_PLATFORM as cl_context_properties, platform.id() as cl_context_properties, 0];
        // SAFETY: the devices are alive, the list of properties ends in 0, and there is no
        // callback.
        let raw =
            unsafe { api.clCreateContext(properties.as_ptr(), &raw_devices, None, std::ptr::null_mut()) }?;
        // SAFETY: the call gave a reference.
        let handle = unsafe { ContextHandle::from_raw(raw) }?;
        Self::own(api, handle, devices)
    }

    /// The context of a handle, which has these devices.
    pub(crate) fn own(api: &'static Api, handle: ContextHandle, devices: &[Device]) -> Result<Arc<Self>> {
        let Some(first) = devices.first() else {
            return Err(Error::invalid("a context without devices"));
        };
        let pointers = Pointers::of(devices);
        let free_delay =
            usm_free_delay(first.driver_faults()).or(pointers.as_ref().and_then(Pointers::free_delay));
        let context = Arc::new(Self {
            api,
            raw: handle.into_raw(),
            devices: devices.to_vec(),
            first: first.clone(),
            pointers,
            host_queue: OnceLock::new(),
            queue_bits: QueueBits::default(),
            deferred: DeferredFree::default(),
            free_pool: free_delay.map(FreePool::new),
            has_error: AtomicBool::new(false),
            first_error: Mutex::new(None),
            closed: AtomicBool::new(false),
            faults: Faults::default(),
            prints: Prints::default(),
        });
        exit::enter(&context);
        exit::register();
        Ok(context)
    }

    #[inline]
    pub(crate) fn api(&self) -> &'static Api {
        self.api
    }

    /// The handle.
    pub fn raw(&self) -> cl_context {
        self.raw
    }

    /// The devices.
    #[inline]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The first of the devices, of which there is at least one.
    #[inline]
    pub fn first_device(&self) -> &Device {
        &self.first
    }

    /// The faults of its devices' driver that are worked around.
    #[inline]
    pub fn driver_faults(&self) -> FaultSet {
        self.first.driver_faults()
    }

    #[inline]
    pub(crate) fn queue_bits(&self) -> &QueueBits {
        &self.queue_bits
    }

    /// The memory that kernels address by pointers.
    ///
    /// # Errors
    /// [`ErrorKind::FeatureNotSupported`] where the devices have none in common.
    pub(crate) fn pointers(&self) -> Result<&Pointers> {
        self.pointers.as_ref().ok_or_else(|| pointers::lacking(&self.devices))
    }

    /// The features of that memory that all devices have.
    ///
    /// # Errors
    /// [`ErrorKind::FeatureNotSupported`] where they have none in common.
    pub fn memory_support(&self) -> Result<MemorySupport> {
        self.pointers().map(|pointers| *pointers.support())
    }

    /// Whether kernels must be built so that their pointers are numbers of 64 bits (Q34).
    pub fn pointers_are_numbers(&self) -> bool {
        self.pointers.as_ref().is_some_and(Pointers::are_numbers)
    }

    /// A queue for commands by which the host accesses memory, and for which it waits at once.
    fn host_queue(&self) -> Result<cl_command_queue> {
        if let Some(queue) = self.host_queue.get() {
            return Ok(queue.raw());
        }
        // SAFETY: context and device are alive; without a list there are no properties; the call
        // gives a reference.
        let queue = unsafe {
            let raw =
                self.api.clCreateCommandQueueWithProperties(self.raw, self.first.id(), std::ptr::null())?;
            QueueHandle::from_raw(raw)
        }?;
        Ok(self.host_queue.get_or_init(|| queue).raw())
    }

    /// Writes bytes to memory of the context, and waits.
    ///
    /// # Safety
    /// The memory has as many bytes there, which no command uses.
    pub(crate) unsafe fn write_now(&self, to: *mut c_void, bytes: &[u8]) -> Result<()> {
        let (queue, from, no_event) = (self.host_queue()?, bytes.as_ptr().cast(), std::ptr::null_mut());
        // SAFETY: the caller's promise; the queue is alive; the bytes are borrowed until the call
        // has waited.
        unsafe { self.pointers()?.write(queue, CL_TRUE, to, from, bytes.len(), &[], no_event) }
    }

    /// Reads bytes of memory of the context, and waits.
    ///
    /// # Safety
    /// The memory has as many bytes there. Commands that write them make them any values.
    pub(crate) unsafe fn read_now(&self, from: *const c_void, bytes: &mut [u8]) -> Result<()> {
        let (queue, to, no_event) = (self.host_queue()?, bytes.as_mut_ptr().cast(), std::ptr::null_mut());
        // SAFETY: the caller's promise; the queue is alive; the bytes are borrowed until the call
        // has waited.
        unsafe { self.pointers()?.read(queue, CL_TRUE, to, from, bytes.len(), &[], no_event) }
    }

    /// Gives the host access to mapped memory, and says where it is for the host.
    ///
    /// # Safety
    /// The memory is of the context and has so many bytes there. No command uses it until
    /// [`Context::unmap`].
    pub(crate) unsafe fn map(
        &self,
        start: NonNull<c_void>,
        size_bytes: usize,
        write: bool,
    ) -> Result<NonNull<c_void>> {
        // SAFETY: the caller's promise; the queue is alive.
        unsafe { self.pointers()?.map(self.host_queue()?, start, size_bytes, write) }
    }

    /// Ends [`Context::map`], which gave `mapped`.
    ///
    /// # Safety
    /// The host does not use the memory any more.
    pub(crate) unsafe fn unmap(&self, start: NonNull<c_void>, mapped: NonNull<c_void>) -> Result<()> {
        // SAFETY: the caller's promise; the queue is alive.
        unsafe { self.pointers()?.unmap(self.host_queue()?, start, mapped) }
    }

    /// Stores the first error of something that cannot return it.
    pub fn keep_error(&self, error: Error) {
        log::error!("{error:#}");
        let mut first = self.first_error.lock();
        first.get_or_insert(error);
        self.has_error.store(true, Ordering::Release);
    }

    /// Gives a stored error, once.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.has_error.load(Ordering::Relaxed) { self.take_error() } else { Ok(()) }
    }

    #[cold]
    fn take_error(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Runtime, "the process exits, and takes no more commands"));
        }
        let mut first = self.first_error.lock();
        self.has_error.store(false, Ordering::Relaxed);
        match first.take() {
            Some(error) => Err(error.at("an earlier operation that could not report it")),
            None => Ok(()),
        }
    }

    /// Refuses commands from now on, as the process exits.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.has_error.store(true, Ordering::Release);
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    pub(crate) fn printing(&self) -> &Prints {
        &self.prints
    }

    pub(crate) fn deferred(&self) -> &DeferredFree {
        &self.deferred
    }

    /// Frees some of what waits for commands that are complete by now.
    #[inline]
    pub(crate) fn sweep(&self) {
        self.deferred.sweep(|keep| self.free(keep));
    }

    /// Frees all of what waits for commands that are complete by now.
    pub(crate) fn sweep_all(&self) {
        self.deferred.sweep_all(|keep| self.free(keep));
    }

    /// Memory: of the bytes with which `allocate` asks the driver, or freed before.
    pub(crate) fn allocate(
        &self,
        wanted: Class,
        allocate: impl Fn(usize) -> Result<Option<NonNull<c_void>>>,
    ) -> Result<Option<NonNull<c_void>>> {
        match &self.free_pool {
            Some(pool) => pool.allocate(wanted, allocate, |pointer| self.give_back(pointer)),
            None => allocate(wanted.size_bytes),
        }
    }

    /// Memory that was freed and is kept.
    pub fn spare_memory(&self) -> SpareMemory {
        let (pieces, slabs) = self.pointers.as_ref().map(Pointers::pieces).unwrap_or_default();
        SpareMemory { pieces, slabs, ..self.free_pool.as_ref().map(FreePool::memory).unwrap_or_default() }
    }

    /// Frees memory that no command uses any more.
    pub(crate) fn free(&self, keep: DeferredResource) {
        match keep {
            DeferredResource::Usm(pointer) => match &self.free_pool {
                Some(pool) => pool.free(pointer, |pointer| self.give_back(pointer)),
                None => self.give_back(pointer),
            },
            DeferredResource::Host(buffer) => drop(buffer),
            DeferredResource::CommandBuffer(table, buffer) => {
                // SAFETY: the reference is the `DeferredResource`'s own.
                if let Err(error) = unsafe { table.clReleaseCommandBufferKHR(buffer) } {
                    self.keep_error(error);
                }
            }
            DeferredResource::Memory(object) => {
                // SAFETY: the reference is the `DeferredResource`'s own.
                if let Err(error) = unsafe { self.api.clReleaseMemObject(object) } {
                    self.keep_error(error);
                }
            }
            DeferredResource::Sampler(sampler) => {
                // SAFETY: the reference is the `DeferredResource`'s own.
                if let Err(error) = unsafe { self.api.clReleaseSampler(sampler) } {
                    self.keep_error(error);
                }
            }
            DeferredResource::Program(program) => {
                // SAFETY: the reference is the `DeferredResource`'s own.
                if let Err(error) = unsafe { self.api.clReleaseProgram(program) } {
                    self.keep_error(error);
                }
            }
        }
    }

    /// Gives the driver a pointer back.
    fn give_back(&self, pointer: NonNull<c_void>) {
        let Some(pointers) = &self.pointers else { return leak(DeferredResource::Usm(pointer)) };
        // SAFETY: the pointer is an allocation of this context. Its last handle is gone, and its
        // commands are complete. It came out of its only `DeferredResource`, and out of the spare
        // memory if it was there.
        if let Err(error) = unsafe { pointers.free(self.raw, pointer) } {
            self.keep_error(error);
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Queues and allocations hold the context, so what is left are commands of queues that are
        // gone.
        self.deferred.drain(|keep| self.free(keep));
        self.free_pool.iter().flat_map(FreePool::drain).for_each(|pointer| self.give_back(pointer));
        self.stop_printing();
        self.stop_watching();
        self.queue_bits.clear();
        user_event::forget();
        drop(self.host_queue.take());
        // SAFETY: the allocations and queues of this context are gone, and their commands complete.
        if let Some(Err(error)) = self.pointers.as_ref().map(|all| unsafe { all.free_all(self.raw) }) {
            log::error!("memory of a context was not freed: {error:#}");
        }
        // SAFETY: the reference is this object's own.
        if let Err(error) = unsafe { self.api.clReleaseContext(self.raw) } {
            log::error!("a context was not released: {error:#}");
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("devices", &self.devices).finish_non_exhaustive()
    }
}
