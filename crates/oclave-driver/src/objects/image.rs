//! Image objects and samplers.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use oclave_faults::Fault;

use super::context::Context;
use crate::MakeError as _;
use crate::deferred_free::{DeferredResource, leak};
use crate::sys::{
    CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, CL_SAMPLER_ADDRESSING_MODE,
    CL_SAMPLER_FILTER_MODE, CL_SAMPLER_NORMALIZED_COORDS, cl_image_format, cl_mem, cl_mem_flags,
    cl_mem_object_type, cl_sampler, cl_sampler_properties, cl_uint,
};
use crate::{Addressing, Error, ErrorKind, Filter, FormatSupport, ImageFormat, ImageKind, Result, sys};

/// Which queues may have used an object: none, or any. It is released behind their commands.
#[derive(Debug, Default)]
struct Uses(AtomicBool);

impl Uses {
    fn note(&self) {
        // The load spares a write for each launch.
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// Releases what nobody has a handle of any more, when all commands now on queues have ended.
    fn release(&mut self, context: &Context, keep: DeferredResource) {
        if !*self.0.get_mut() {
            return context.free(keep);
        }
        match context.queue_bits().markers(u64::MAX) {
            Ok(events) if events.is_empty() => context.free(keep),
            Ok(events) => context.deferred().push(events, keep),
            Err(error) => {
                context.keep_error(error.at("dropping an image or a sampler that commands may still use"));
                leak(keep);
            }
        }
    }
}

/// A number that no image or sampler had before.
fn next_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    IDS.fetch_add(1, Ordering::Relaxed)
}

/// A `cl_mem` that is an image. Owns one reference.
#[derive(Debug)]
pub struct Image {
    context: Arc<Context>,
    id: u64,
    raw: cl_mem,
    pixel_bytes: usize,
    uses: Uses,
}

// SAFETY: OpenCL's functions on memory objects are thread-safe; the handle is only read.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    /// An image of so many pixels: width, height, depth, with layers in the dimension behind those
    /// of the kind. What the device supports was checked.
    pub fn new(
        context: &Arc<Context>,
        kind: ImageKind,
        support: &FormatSupport,
        size: [usize; 3],
    ) -> Result<Arc<Self>> {
        context.check()?;
        context.sweep();
        let api = context.api();
        let pixel_bytes = support.format.pixel_bytes();
        let flags = flags(support);
        let kind = match kind {
            ImageKind::D1Buffer if context.driver_faults().has(Fault::Q19) => ImageKind::D1,
            kind => kind,
        };
        let buffer = match kind {
            ImageKind::D1Buffer => {
                let bytes = size[0].saturating_mul(pixel_bytes);
                // SAFETY: the context is alive.
                unsafe { api.clCreateBuffer(context.raw(), flags, bytes, std::ptr::null_mut()) }
                    .map_err(|error| error.with_kind(ErrorKind::MemoryAllocation))?
            }
            _ => std::ptr::null_mut(),
        };
        let description = Description::new(kind, size, buffer);
        let format = raw_format(support.format);
        let place = (&raw const description).cast();
        // SAFETY: the context is alive, and so is the buffer; format and description live through
        // the call.
        let image = unsafe { api.clCreateImage(context.raw(), flags, &format, place, std::ptr::null_mut()) };
        if !buffer.is_null() {
            // SAFETY: the reference is this function's own. The image has one.
            if let Err(error) = unsafe { api.clReleaseMemObject(buffer) } {
                context.keep_error(error.at("making an image of a buffer"));
            }
        }
        let raw = image.map_err(|error| error.with_kind(ErrorKind::MemoryAllocation))?;
        let context = Arc::clone(context);
        Ok(Arc::new(Self { context, id: next_id(), raw, pixel_bytes, uses: Uses::default() }))
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Tells images and samplers of the process apart, those that are gone included.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The handle, good as long as this lives.
    pub fn raw(&self) -> cl_mem {
        self.raw
    }

    /// The handle, for commands that use it from now on.
    pub(crate) fn used(&self) -> cl_mem {
        self.uses.note();
        self.raw
    }

    /// Where the handle is, which stays as long as this lives.
    pub(crate) fn place(&self) -> *const c_void {
        (&raw const self.raw).cast()
    }

    pub(crate) fn pixel_bytes(&self) -> usize {
        self.pixel_bytes
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.uses.release(&self.context, DeferredResource::Memory(self.raw));
    }
}

fn flags(support: &FormatSupport) -> cl_mem_flags {
    match (support.read, support.write) {
        (true, false) => CL_MEM_READ_ONLY,
        (false, true) => CL_MEM_WRITE_ONLY,
        _ => CL_MEM_READ_WRITE,
    }
}

fn raw_format(format: ImageFormat) -> cl_image_format {
    cl_image_format {
        image_channel_order: format.order.number(),
        image_channel_data_type: format.channel.number(),
    }
}

/// `cl_image_desc`. Whether the last field of that of `opencl-sys` is a union depends on a feature,
/// which any crate of a program may choose.
#[repr(C)]
struct Description {
    kind: cl_mem_object_type,
    width: usize,
    height: usize,
    depth: usize,
    layers: usize,
    row_pitch: usize,
    slice_pitch: usize,
    mip_levels: cl_uint,
    samples: cl_uint,
    buffer: cl_mem,
}

const _: () = assert!(size_of::<Description>() == size_of::<sys::cl_image_desc>());

impl Description {
    fn new(kind: ImageKind, [width, second, third]: [usize; 3], buffer: cl_mem) -> Self {
        let (height, depth, layers) = match kind {
            ImageKind::D1 | ImageKind::D1Buffer => (0, 0, 0),
            ImageKind::D1Array => (0, 0, second),
            ImageKind::D2 => (second, 0, 0),
            ImageKind::D2Array => (second, 0, third),
            ImageKind::D3 => (second, third, 0),
        };
        let kind = object_type(kind);
        let (row_pitch, slice_pitch, mip_levels, samples) = (0, 0, 0, 0);
        Self { kind, width, height, depth, layers, row_pitch, slice_pitch, mip_levels, samples, buffer }
    }
}

fn object_type(kind: ImageKind) -> cl_mem_object_type {
    match kind {
        ImageKind::D1 => sys::CL_MEM_OBJECT_IMAGE1D,
        ImageKind::D1Buffer => sys::CL_MEM_OBJECT_IMAGE1D_BUFFER,
        ImageKind::D1Array => sys::CL_MEM_OBJECT_IMAGE1D_ARRAY,
        ImageKind::D2 => sys::CL_MEM_OBJECT_IMAGE2D,
        ImageKind::D2Array => sys::CL_MEM_OBJECT_IMAGE2D_ARRAY,
        ImageKind::D3 => sys::CL_MEM_OBJECT_IMAGE3D,
    }
}

/// More formats than these no driver has.
const MOST_FORMATS: cl_uint = 1 << 12;

impl Context {
    /// The formats that images of a kind can have, and what kernels can do with them. Formats that
    /// the library has no name for are left out.
    pub fn image_formats(&self, kind: ImageKind) -> Result<Vec<FormatSupport>> {
        let mut all: Vec<FormatSupport> = Vec::new();
        let mut note = |flags, set: fn(&mut FormatSupport)| -> Result<()> {
            for format in self.formats_for(flags, kind)? {
                let known = all.iter().position(|support| support.format == format);
                let index = known.unwrap_or_else(|| {
                    all.push(FormatSupport::nothing(format));
                    all.len() - 1
                });
                all.get_mut(index).into_iter().for_each(set);
            }
            Ok(())
        };
        note(CL_MEM_READ_ONLY, |support| support.read = true)?;
        note(CL_MEM_WRITE_ONLY, |support| support.write = true)?;
        // Read by some kernels, and written by others.
        note(CL_MEM_READ_WRITE, |support| (support.read, support.write) = (true, true))?;
        note(sys::CL_MEM_KERNEL_READ_AND_WRITE, |support| support.read_write = true)?;
        Ok(all)
    }

    fn formats_for(&self, flags: cl_mem_flags, kind: ImageKind) -> Result<Vec<ImageFormat>> {
        let api = self.api();
        let ask = |entries, formats, found: *mut cl_uint| {
            // SAFETY: the context is alive; there is room for so many formats.
            unsafe {
                api.clGetSupportedImageFormats(self.raw(), flags, object_type(kind), entries, formats, found)
            }
        };
        let mut count = 0;
        ask(0, std::ptr::null_mut(), &mut count)?;
        if count > MOST_FORMATS {
            return Err(Error::new(
                ErrorKind::Platform,
                format!("the driver claims to have {count} image formats, more than there are"),
            ));
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let none = cl_image_format { image_channel_order: 0, image_channel_data_type: 0 };
        let mut formats = vec![none; count as usize];
        ask(count, formats.as_mut_ptr(), std::ptr::null_mut())?;
        let known = |raw: cl_image_format| {
            ImageFormat::of_numbers(raw.image_channel_order, raw.image_channel_data_type)
        };
        Ok(formats.into_iter().filter_map(known).collect())
    }
}

/// A `cl_sampler`. Owns one reference.
#[derive(Debug)]
pub struct Sampler {
    context: Arc<Context>,
    id: u64,
    raw: cl_sampler,
    uses: Uses,
}

// SAFETY: OpenCL's functions on samplers are thread-safe; the handle is only read.
unsafe impl Send for Sampler {}
// SAFETY: as above.
unsafe impl Sync for Sampler {}

impl Sampler {
    /// A sampler.
    pub fn new(
        context: &Arc<Context>,
        normalized: bool,
        addressing: Addressing,
        filter: Filter,
    ) -> Result<Arc<Self>> {
        context.check()?;
        let properties: [cl_sampler_properties; 7] = [
            CL_SAMPLER_NORMALIZED_COORDS.into(),
            u64::from(normalized),
            CL_SAMPLER_ADDRESSING_MODE.into(),
            addressing.number().into(),
            CL_SAMPLER_FILTER_MODE.into(),
            filter.number().into(),
            0,
        ];
        // SAFETY: the context is alive; the list ends in 0.
        let raw = unsafe { context.api().clCreateSamplerWithProperties(context.raw(), properties.as_ptr()) }?;
        let context = Arc::clone(context);
        Ok(Arc::new(Self { context, id: next_id(), raw, uses: Uses::default() }))
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The handle, for commands that use it from now on.
    pub(crate) fn used(&self) -> cl_sampler {
        self.uses.note();
        self.raw
    }

    /// Where the handle is, which stays as long as this lives.
    pub(crate) fn place(&self) -> *const c_void {
        (&raw const self.raw).cast()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.uses.release(&self.context, DeferredResource::Sampler(self.raw));
    }
}
