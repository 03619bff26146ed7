//! Memory that kernels address by pointers. OpenCL has it in four kinds: USM, SVM, buffers with device
//! addresses, and the unified SVM of `cl_khr_unified_svm`.
//!
//! A context has the kind that was chosen for its devices, or else the first that all of them have.
//! Everything above calls [`Pointers`] and does not know which one it is. Four things differ between the kinds:
//!
//! - Drivers without USM must be told which allocations a kernel may reach by pointers in memory
//!   (but see Q31 and Q84). [`Live`] knows them. With unified SVM, it depends on the types of memory.
//! - Where memory is *mapped*, the host can only access it between [`Pointers::map`] and
//!   [`Pointers::unmap`].
//! - Copies of buffers name a handle and an offset, which [`Live`] finds by the address.
//! - Drivers are slow to allocate SVM. So freed memory rests ([`Pointers::free_delay`]), and
//!   [`Slabs`] cuts small device memory out of larger allocations.

mod live;
mod slabs;
mod transfer;
mod unified;

use oclave_faults::Fault;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::time::Duration;

use super::ext::device_address::DeviceAddress;
use super::ext::usm::Usm;
use super::sys::*;
use super::usm::Kind;
use super::{Api, Device, MemoryKind, MemorySupport, info};
use crate::MakeError as _;
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, ErrorKind, Result};
use live::{Block, Live};
use slabs::Slabs;
use unified::Unified;

/// The memory of a context.
pub(crate) struct Pointers {
    memory_api: MemoryApi,
    support: MemorySupport,
    /// Empty with USM, whose drivers know their allocations.
    live: Live,
    /// Whether kernels reach all memory of the context, though the driver is not told.
    reached_untold: bool,
    /// Whether kernels take addresses as numbers.
    are_numbers: bool,
    /// Whether SVM is copied to images and back by the buffers over it.
    images_by_buffers: bool,
    /// Whether SVM is filled by the buffers over it.
    fills_by_buffers: bool,
    /// Whether only one thread of the process may allocate or free SVM at a time.
    allocates_alone: bool,
    slabs: Slabs,
}

/// Held while SVM is allocated or freed, with drivers that fail otherwise (Q90).
static SVM_ALLOCATION: Mutex<()> = Mutex::new(());

/// How long freed SVM is kept, to be allocated again.
const SVM_REST: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
enum MemoryApi {
    Usm(&'static Usm),
    Svm(&'static Api),
    Buffers(&'static Api, &'static DeviceAddress),
    Unified(Unified),
}

impl Pointers {
    /// The kind of memory that was chosen for all these devices, or else the first that they have.
    pub(crate) fn of(devices: &[Device]) -> Option<Self> {
        let device = devices.first()?;
        let wish = device.capabilities().preferred_memory;
        let wish = wish.filter(|_| devices.iter().all(|one| one.capabilities().preferred_memory == wish));
        let support =
            wish.into_iter().chain(MemoryKind::UNASKED).find_map(|kind| in_common(devices, kind))?;
        let memory_api = match support.kind {
            MemoryKind::Usm => MemoryApi::Usm(&device.tables().usm),
            MemoryKind::Svm => MemoryApi::Svm(device.api()),
            MemoryKind::BufferAddress => MemoryApi::Buffers(device.api(), &device.tables().device_address),
            MemoryKind::UnifiedSvm => MemoryApi::Unified(Unified::of(devices)?),
        };
        let faults = device.driver_faults();
        // On a second device, the memory might be elsewhere. The devices with Q84 are CPUs.
        let reached_untold = devices.iter().all(|one| one.driver_faults().has(Fault::Q84))
            || (devices.len() == 1 && faults.has(Fault::Q31));
        let by_svm = matches!(memory_api, MemoryApi::Svm(_) | MemoryApi::Unified(_));
        let are_numbers = reached_untold && faults.has(Fault::Q34) && by_svm;
        Some(Self {
            memory_api,
            support,
            live: Live::new(),
            reached_untold,
            are_numbers,
            images_by_buffers: faults.has(Fault::Q41),
            fills_by_buffers: faults.has(Fault::Q89),
            allocates_alone: faults.has(Fault::Q90),
            slabs: Slabs::default(),
        })
    }

    /// Whether kernels take addresses as numbers of 64 bits.
    pub(crate) fn are_numbers(&self) -> bool {
        self.are_numbers
    }

    /// Whether copies between images and SVM may not go through host memory.
    pub(crate) fn images_by_buffers(&self) -> bool {
        self.images_by_buffers
    }

    /// The memory that all devices of the context have.
    pub(crate) fn support(&self) -> &MemorySupport {
        &self.support
    }

    /// How long freed memory is kept, to be allocated again, whatever the driver.
    pub(crate) fn free_delay(&self) -> Option<Duration> {
        matches!(self.memory_api, MemoryApi::Svm(_)).then_some(SVM_REST)
    }

    /// How many pieces of how many slabs there are.
    pub(crate) fn pieces(&self) -> (usize, usize) {
        self.slabs.counts()
    }

    /// Memory of a kind; an alignment of 0 is that of the largest type of OpenCL.
    ///
    /// # Safety
    /// The context is alive and has the device, which is null for memory of all devices.
    pub(crate) unsafe fn allocate(
        &self,
        context: cl_context,
        device: cl_device_id,
        kind: Kind,
        size_bytes: usize,
        alignment: u32,
    ) -> Result<Option<NonNull<c_void>>> {
        let none = std::ptr::null();
        // SAFETY: the caller's promise; no properties are given.
        let start = unsafe {
            match (self.memory_api, kind) {
                (MemoryApi::Usm(usm), Kind::Device) => {
                    usm.clDeviceMemAllocINTEL(context, device, none, size_bytes, alignment)
                }
                (MemoryApi::Usm(usm), Kind::Host) => {
                    usm.clHostMemAllocINTEL(context, none, size_bytes, alignment)
                }
                (MemoryApi::Usm(usm), Kind::Shared) => {
                    usm.clSharedMemAllocINTEL(context, device, none, size_bytes, alignment)
                }
                (MemoryApi::Svm(api), _) => {
                    return self.allocate_svm(api, context, kind, size_bytes, alignment);
                }
                (MemoryApi::Buffers(api, _), _) => {
                    return self.allocate_buffer(api, context, kind, size_bytes, alignment).map(Some);
                }
                (MemoryApi::Unified(unified), _) => {
                    let found = unified.allocate(context, device, kind, size_bytes, alignment)?;
                    return Ok(found.map(|(start, offset_bytes)| {
                        let block = Block { size_bytes, buffer: std::ptr::null_mut(), offset_bytes };
                        self.live.insert(start.addr().get(), block);
                        start
                    }));
                }
            }
        }?;
        Ok(NonNull::new(start))
    }

    /// # Safety
    /// As [`Pointers::allocate`].
    unsafe fn allocate_svm(
        &self,
        api: &Api,
        context: cl_context,
        kind: Kind,
        size_bytes: usize,
        alignment: u32,
    ) -> Result<Option<NonNull<c_void>>> {
        let is_fine = kind != Kind::Device && !self.support.mapped;
        let fine = if is_fine { CL_MEM_SVM_FINE_GRAIN_BUFFER } else { 0 };
        let allocate = |size_bytes: usize, alignment| {
            let start = {
                let _alone = self.lock_allocation();
                // SAFETY: the caller's promise.
                unsafe { api.clSVMAlloc(context, CL_MEM_READ_WRITE | fine, size_bytes, alignment) }?
            };
            let start = NonNull::new(start);
            if let Some(start) = start {
                let buffer = match self.support.mapped {
                    // SAFETY: the caller's promise; the memory is of the context and has this size.
                    true => unsafe { self.buffer_over(api, context, start, size_bytes) },
                    false => std::ptr::null_mut(),
                };
                self.live.insert(start.addr().get(), Block { size_bytes, buffer, offset_bytes: 0 });
            }
            Ok(start)
        };
        if kind == Kind::Device {
            let piece = self.slabs.allocate(size_bytes, alignment, |slab_bytes| allocate(slab_bytes, 0))?;
            if piece.is_some() {
                return Ok(piece);
            }
        }
        allocate(size_bytes, alignment)
    }

    /// A buffer over SVM, to read it by; null where the driver makes none, which only is slower.
    ///
    /// NVIDIA's driver reads 4 bytes to the host in 9.2 µs by `clEnqueueReadBuffer`, and in 17.2 µs
    /// by `clEnqueueSVMMemcpy`. It makes such a buffer in 1.3 µs, and copies no memory then. Copies
    /// from the host take as long either way.
    ///
    /// # Safety
    /// The context is alive; the memory is SVM of it, of this size, and outlives the buffer.
    unsafe fn buffer_over(
        &self,
        api: &Api,
        context: cl_context,
        start: NonNull<c_void>,
        size_bytes: usize,
    ) -> cl_mem {
        let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        // SAFETY: the caller's promise.
        unsafe { api.clCreateBuffer(context, flags, size_bytes, start.as_ptr()) }.unwrap_or_else(|error| {
            log::debug!("no buffer over SVM: {error:#}");
            std::ptr::null_mut()
        })
    }

    fn lock_allocation(&self) -> Option<MutexGuard<'static, ()>> {
        self.allocates_alone.then(|| SVM_ALLOCATION.lock())
    }

    /// Frees SVM, after the buffer over it was released.
    ///
    /// # Safety
    /// As [`Pointers::free`].
    unsafe fn free_svm(&self, api: &Api, context: cl_context, start: NonNull<c_void>) -> Result<()> {
        let buffer = self.live.remove(start.addr().get()).map(|block| block.buffer);
        if let Some(buffer) = buffer.filter(|buffer| !buffer.is_null()) {
            // SAFETY: the reference is that of the entry, which is gone.
            if let Err(error) = unsafe { api.clReleaseMemObject(buffer) } {
                log::error!("a buffer over SVM was not released: {error:#}");
            }
        }
        let _alone = self.lock_allocation();
        // SAFETY: the caller's promise.
        unsafe { api.clSVMFree(context, start.as_ptr()) }
    }

    /// # Safety
    /// As [`Pointers::allocate`].
    unsafe fn allocate_buffer(
        &self,
        api: &Api,
        context: cl_context,
        kind: Kind,
        size_bytes: usize,
        alignment: u32,
    ) -> Result<NonNull<c_void>> {
        let flags = match kind {
            Kind::Device => CL_MEM_READ_WRITE,
            Kind::Host | Kind::Shared => CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
        };
        let properties = [CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, 1, 0];
        let alignment = alignment as usize;
        let no_host = std::ptr::null_mut();
        // Buffers are aligned as OpenCL's largest type is; what is more is made by leaving bytes
        // out.
        let room = size_bytes.saturating_add(alignment);
        // SAFETY: the caller's promise; the list ends in 0; without host memory there is no
        // pointer.
        let buffer =
            unsafe { api.clCreateBufferWithProperties(context, properties.as_ptr(), flags, room, no_host) }?;
        let address = info::list::<u64>(|size, value, ret| {
            // SAFETY: the buffer is alive; `value` has room for `size` bytes.
            unsafe { api.clGetMemObjectInfo(buffer, CL_MEM_DEVICE_ADDRESS_EXT, size, value, ret) }
        })
        .and_then(|addresses| {
            let base = addresses.first().and_then(|address| usize::try_from(*address).ok());
            let base = base.filter(|base| *base != 0).ok_or_else(|| {
                Error::new(ErrorKind::MemoryAllocation, "the driver gave a buffer without an address")
            })?;
            Ok((base, base.next_multiple_of(alignment.max(1))))
        });
        let placed = address.and_then(|(base, start)| {
            let pointer = NonNull::new(std::ptr::without_provenance_mut::<c_void>(start));
            let pointer =
                pointer.ok_or_else(|| Error::new(ErrorKind::MemoryAllocation, "a buffer at address 0"))?;
            self.live.insert(start, Block { size_bytes, buffer, offset_bytes: start - base });
            Ok(pointer)
        });
        placed.inspect_err(|_| {
            // SAFETY: the reference is this function's own.
            if let Err(error) = unsafe { api.clReleaseMemObject(buffer) } {
                log::error!("a buffer was not released: {error:#}");
            }
        })
    }

    /// Notes memory that was allocated outside, where the driver must be told of it.
    pub(crate) fn adopt(&self, start: NonNull<c_void>, size_bytes: usize) {
        if matches!(self.memory_api, MemoryApi::Svm(_) | MemoryApi::Unified(_)) {
            let block = Block { size_bytes, buffer: std::ptr::null_mut(), offset_bytes: 0 };
            self.live.insert(start.addr().get(), block);
        }
    }

    /// Takes [`Pointers::adopt`] back: the memory is freed by somebody else.
    pub(crate) fn forget(&self, start: NonNull<c_void>) {
        if matches!(self.memory_api, MemoryApi::Svm(_) | MemoryApi::Unified(_)) {
            self.live.remove(start.addr().get());
        }
    }

    /// Frees memory.
    ///
    /// # Safety
    /// It is of the context, and neither a command nor the host uses it any more.
    pub(crate) unsafe fn free(&self, context: cl_context, start: NonNull<c_void>) -> Result<()> {
        // SAFETY: the caller's promise; the reference to the buffer goes with its entry.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(usm) => usm.clMemFreeINTEL(context, start.as_ptr()),
                MemoryApi::Svm(api) => {
                    let free = |start| self.free_svm(api, context, start);
                    if self.slabs.free(start, free)? { Ok(()) } else { free(start) }
                }
                MemoryApi::Buffers(api, _) => match self.live.remove(start.addr().get()) {
                    Some(block) => api.clReleaseMemObject(block.buffer),
                    None => Err(Error::invalid("memory that is freed twice")),
                },
                MemoryApi::Unified(unified) => match self.live.remove(start.addr().get()) {
                    Some(block) => unified.free(context, start, block.offset_bytes),
                    None => Err(Error::invalid("memory that is freed twice")),
                },
            }
        }
    }

    /// Frees what is left when the context ends.
    ///
    /// # Safety
    /// As [`Pointers::free`], for all memory of the context.
    pub(crate) unsafe fn free_all(&self, context: cl_context) -> Result<()> {
        let MemoryApi::Svm(api) = self.memory_api else { return Ok(()) };
        // SAFETY: the caller's promise.
        self.slabs.drain().into_iter().try_for_each(|slab| unsafe { self.free_svm(api, context, slab) })
    }

    /// As [`Pointers::free`], of memory that the driver may not know a command to use.
    ///
    /// # Safety
    /// As [`Pointers::free`].
    pub(crate) unsafe fn free_blocking(&self, context: cl_context, start: NonNull<c_void>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(usm) => usm.clMemBlockingFreeINTEL(context, start.as_ptr()),
                _ => self.free(context, start),
            }
        }
    }

    /// Gives a pointer argument an address, or null.
    ///
    /// # Safety
    /// The kernel is alive and of the context, and no other thread sets its arguments.
    pub(crate) unsafe fn set_argument(
        &self,
        kernel: cl_kernel,
        index: u32,
        address: *mut c_void,
    ) -> Result<()> {
        // SAFETY: the caller's promise; an address is only a value until the kernel runs. A null
        // value of the size of a handle is how the core sets a null pointer. A number lives through
        // the call, which copies it.
        unsafe {
            match self.memory_api {
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) if self.are_numbers => {
                    let number = address.addr() as u64;
                    api.clSetKernelArg(kernel, index, size_of::<u64>(), (&raw const number).cast())
                }
                MemoryApi::Usm(usm) => usm.clSetKernelArgMemPointerINTEL(kernel, index, address),
                MemoryApi::Svm(api)
                | MemoryApi::Buffers(api, _)
                | MemoryApi::Unified(Unified { api, .. })
                    if address.is_null() =>
                {
                    api.clSetKernelArg(kernel, index, size_of::<cl_mem>(), std::ptr::null())
                }
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => {
                    api.clSetKernelArgSVMPointer(kernel, index, address)
                }
                MemoryApi::Buffers(_, extension) => {
                    extension.clSetKernelArgDevicePointerEXT(kernel, index, address.addr() as u64)
                }
            }
        }
    }

    /// Says that a kernel follows pointers that are not among its arguments. Whether each launch
    /// must be told what there is: [`Pointers::with_live`].
    ///
    /// # Safety
    /// As [`Pointers::set_argument`].
    pub(crate) unsafe fn allow_indirect(&self, api: &Api, kernel: cl_kernel) -> Result<bool> {
        let flags: &[cl_kernel_exec_info] = match self.memory_api {
            MemoryApi::Usm(_) => &[
                CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
                CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
            ],
            MemoryApi::Unified(unified) if unified.types.indirect() => {
                &[CL_KERNEL_EXEC_INFO_SVM_INDIRECT_ACCESS_KHR]
            }
            _ => return Ok(!self.reached_untold),
        };
        let yes: cl_bool = CL_TRUE;
        for info in flags {
            let value = (&raw const yes).cast::<c_void>();
            // SAFETY: the caller's promise; the value is one cl_bool that lives through the call.
            unsafe { api.clSetKernelExecInfo(kernel, *info, size_of::<cl_bool>(), value) }?;
        }
        Ok(false)
    }

    /// Enqueues or records a kernel that follows pointers, while nothing is freed. `seen` belongs
    /// to the kernel and is 0 at first. If the allocations have changed since, the driver gets
    /// their whole list again.
    ///
    /// # Safety
    /// As [`Pointers::set_argument`].
    pub(crate) unsafe fn with_live<R>(
        &self,
        api: &Api,
        kernel: cl_kernel,
        seen: &mut u64,
        during: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let tell = |starts: &[usize]| {
            // SAFETY: the caller's promise; the values live through the call, which copies them.
            unsafe {
                match self.memory_api {
                    MemoryApi::Buffers(..) => {
                        let addresses: Vec<u64> = starts.iter().map(|start| *start as u64).collect();
                        let name = CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT;
                        api.clSetKernelExecInfo(
                            kernel,
                            name,
                            size_of_val(&*addresses),
                            addresses.as_ptr().cast(),
                        )
                    }
                    _ => {
                        let name = CL_KERNEL_EXEC_INFO_SVM_PTRS;
                        api.clSetKernelExecInfo(kernel, name, size_of_val(starts), starts.as_ptr().cast())
                    }
                }
            }
        };
        self.live.unchanged(seen, tell, during)
    }

    /// The number of the last change of what there is.
    pub(crate) fn generation(&self) -> u64 {
        self.live.generation()
    }

    /// Whether recorded kernels can be given other pointers in place.
    pub(crate) fn updates_recorded_pointers(&self) -> bool {
        !matches!(self.memory_api, MemoryApi::Buffers(..))
    }

    /// Checks memory from outside, and finds its device. Only USM and unified SVM can be asked.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is of another kind or context,
    /// [`ErrorKind::FeatureNotSupported`] where memory is buffers.
    pub(crate) fn check_outside(
        &self,
        context: cl_context,
        kind: Kind,
        start: NonNull<c_void>,
    ) -> Result<Option<cl_device_id>> {
        let usm = match self.memory_api {
            MemoryApi::Usm(usm) => usm,
            MemoryApi::Svm(_) => return Ok(None),
            MemoryApi::Unified(unified) => return unified.check_outside(context, kind, start),
            MemoryApi::Buffers(..) => {
                return Err(Error::new(
                    ErrorKind::FeatureNotSupported,
                    "memory from outside on a device whose memory is buffers with addresses",
                )
                .remedy("use a device with USM or SVM"));
            }
        };
        let ask = |name: cl_mem_info_intel, size, value: *mut c_void, ret| {
            // SAFETY: the context is alive, the pointer is only looked up; `value` has room for
            // `size` bytes.
            unsafe { usm.clGetMemAllocInfoINTEL(context, start.as_ptr(), name, size, value, ret) }
        };
        let found: cl_uint = info::value(|size, value, ret| ask(CL_MEM_ALLOC_TYPE_INTEL, size, value, ret))?;
        let expected = match kind {
            Kind::Device => CL_MEM_TYPE_DEVICE_INTEL,
            Kind::Host => CL_MEM_TYPE_HOST_INTEL,
            Kind::Shared => CL_MEM_TYPE_SHARED_INTEL,
        };
        if found != expected as cl_uint {
            return Err(not_of_the_kind());
        }
        info::value(|size, value, ret| ask(CL_MEM_ALLOC_DEVICE_INTEL, size, value, ret)).map(Some)
    }
}

/// The features of a kind of memory that all these devices have.
fn in_common(devices: &[Device], kind: MemoryKind) -> Option<MemorySupport> {
    match kind {
        // A buffer has another address on each device.
        MemoryKind::BufferAddress if devices.len() > 1 => None,
        MemoryKind::UnifiedSvm => Unified::of(devices)?.types.support(),
        _ => {
            let mut each = devices.iter().map(|device| device.capabilities().memory_of(kind));
            let first = each.next()??;
            each.try_fold(first, |all, one| Some(all.and(&one?)))
        }
    }
}

/// The error of memory from outside that is not what it was said to be.
fn not_of_the_kind() -> Error {
    Error::invalid("the memory is of another kind, or of another context")
        .remedy("give memory that was allocated as device, host or shared memory of this context")
}

/// The error where there is no kind of memory.
pub(crate) fn lacking(devices: &[Device]) -> Error {
    const KINDS: &str = "cl_intel_unified_shared_memory, SVM or cl_ext_buffer_device_address";
    match devices.iter().find(|device| device.capabilities().memory().is_none()) {
        Some(device) => device.lacks(
            &format!("memory that kernels address by pointers ({KINDS})"),
            "a device with one of them",
        ),
        None => Error::new(
            ErrorKind::FeatureNotSupported,
            format!("the devices of the context have no kind of memory in common ({KINDS})"),
        )
        .remedy("make a context for each device"),
    }
}
