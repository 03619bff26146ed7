//! Copies and fills of images.
//!
//! OpenCL copies images from and to host memory, buffers and other images, not USM. Where the host
//! can address the USM, the copy uses it as host memory. Memory in a buffer is copied as that. Elsewhere
//! the bytes go through host memory of their own, which is wrong on NVIDIA's driver (Q41). There, SVM
//! has buffers over it.
//!
//! A small copy from or to the caller's own memory is one call that blocks, where the caller waits
//! and nothing has to end before. This saves an event and the calls that wait for it.

use oclave_faults::Fault;
use std::ffi::c_void;
use std::sync::Arc;

use crate::MakeError as _;
use crate::event::Event;
use crate::host::{HostBuffer, HostSink, HostSource};
use crate::image::Image;
use crate::queue::Queue;
use crate::sys::{CL_FALSE, CL_TRUE, cl_command_queue};
use crate::usm::{Allocation, Kind, Span};
use crate::{Api, DeviceKind, Error, ErrorKind, Result};

use super::copy::same_size;

/// A box of pixels within an image: width, height, depth, with layers in the dimension behind those
/// of the image's kind.
#[derive(Debug, Clone)]
pub struct Pixels {
    /// The image.
    pub image: Arc<Image>,
    /// The first pixel: column, row, plane.
    pub origin: [usize; 3],
    /// How many columns, rows and planes.
    pub extent: [usize; 3],
}

impl Pixels {
    /// How many bytes.
    pub fn size_bytes(&self) -> usize {
        self.extent.iter().product::<usize>() * self.image.pixel_bytes()
    }

    fn overlaps(&self, other: &Self) -> bool {
        let mut sides = self.origin.iter().zip(self.extent).zip(other.origin.iter().zip(other.extent));
        Arc::ptr_eq(&self.image, &other.image)
            && sides.all(|((a, a_size), (b, b_size))| *a < b + b_size && *b < a + a_size)
    }

    /// Whether a copy to others is one command: the same box.
    pub fn is_like(&self, other: &Self) -> bool {
        self.extent == other.extent
    }

    /// Checks a copy to others.
    pub fn check_copy(&self, to: &Self) -> Result<()> {
        same_size(self.size_bytes(), to.size_bytes())?;
        if self.overlaps(to) {
            return Err(Error::invalid("a copy between overlapping parts of one image")
                .remedy("copy through another image"));
        }
        Ok(())
    }
}

impl Queue {
    /// Begins a command on images, which uses no other memory that the library counts.
    fn with_pixels(
        self: &Arc<Self>,
        pixels: &[&Pixels],
        after: &[&Event],
        submit: impl FnOnce() -> Result<Event>,
    ) -> Result<Event> {
        if pixels.iter().any(|pixels| !Arc::ptr_eq(pixels.image.context(), self.context())) {
            return Err(Error::invalid("the image belongs to another context")
                .remedy("make it in the context of the queue"));
        }
        self.using(std::iter::empty(), || match pixels.iter().any(|pixels| pixels.size_bytes() == 0) {
            true => self.marker(after),
            false => submit(),
        })
    }

    /// Copies from host memory, which stays until the copy has ended.
    pub fn write_image(self: &Arc<Self>, from: &HostSource, to: &Pixels, after: &[&Event]) -> Result<Event> {
        same_size(from.size_bytes(), to.size_bytes())?;
        from.read(self, |source| {
            // SAFETY: the memory has as many bytes as the pixels; it lives until the event is
            // complete (`HostSource::read`).
            self.with_pixels(&[to], after, || unsafe { self.write_pixels(source, to, after) })
        })
    }

    /// Copies to host memory, which stays, and out of the host's reach, until the copy has ended.
    pub fn read_image(self: &Arc<Self>, from: &Pixels, to: &HostSink, after: &[&Event]) -> Result<Event> {
        same_size(from.size_bytes(), to.size_bytes())?;
        if to.size_bytes() == 0 {
            return self.with_pixels(&[from], after, || self.marker(after));
        }
        to.write(self, |target| {
            // SAFETY: the memory has as many bytes as the pixels; it lives, and nobody looks at it,
            // until the event is complete (`HostSink::write`).
            self.with_pixels(&[from], after, || unsafe { self.read_pixels(from, target, after) })
        })
    }

    /// Copies from USM.
    pub fn copy_to_image(self: &Arc<Self>, from: Span<'_>, to: &Pixels, after: &[&Event]) -> Result<Event> {
        same_size(from.size_bytes(), to.size_bytes())?;
        self.with_pixels(&[to], after, || {
            if self.host_reaches(&from)? {
                // SAFETY: the span is memory that the host can address, of as many bytes as the
                // pixels, and in use.
                return self
                    .using([from].into_iter(), || unsafe { self.write_pixels(from.address(), to, after) });
            }
            let pointers = self.context().pointers()?;
            if let Some((buffer, offset)) = pointers.buffer_around(from.address()) {
                return self.using([from].into_iter(), || {
                    let (image, origin, extent) = (to.image.used(), to.origin.as_ptr(), to.extent.as_ptr());
                    // SAFETY: queue, events, buffer and image are alive, the box is within the image,
                    // and the span, which is in use, has as many bytes.
                    self.submit(after, false, |api, queue, wait, event| unsafe {
                        api.clEnqueueCopyBufferToImage(
                            queue, buffer, image, offset, origin, extent, wait, event,
                        )
                    })
                });
            }
            if let Some(between) = self.between(&from)? {
                let copied = self.copy(from, between.tail(0), after)?;
                let stored = self.copy_to_image(between.tail(0), to, &[&copied]);
                return stored.inspect_err(|_| self.abandon());
            }
            let staging = staging(from.size_bytes())?;
            let read = self.read_later(from, &staging, after)?;
            // SAFETY: the memory has as many bytes as the pixels, and lives until the event is
            // complete (`HostSink::write`).
            let written = staging.write(self, |source| unsafe { self.write_pixels(source, to, &[&read]) });
            written.inspect_err(|_| self.abandon())
        })
    }

    /// Copies to USM.
    pub fn copy_from_image(self: &Arc<Self>, from: &Pixels, to: Span<'_>, after: &[&Event]) -> Result<Event> {
        same_size(from.size_bytes(), to.size_bytes())?;
        self.with_pixels(&[from], after, || {
            if self.host_reaches(&to)? {
                // SAFETY: the span is memory that the host can address, of as many bytes as the
                // pixels, and in use.
                return self
                    .using([to].into_iter(), || unsafe { self.read_pixels(from, to.address(), after) });
            }
            let pointers = self.context().pointers()?;
            if let Some((buffer, offset)) = pointers.buffer_around(to.address()) {
                return self.using([to].into_iter(), || {
                    let (image, origin) = (from.image.used(), from.origin.as_ptr());
                    // SAFETY: queue, events, buffer and image are alive, the box is within the image,
                    // and the span, which is in use, has as many bytes.
                    self.submit(after, false, |api, queue, wait, event| unsafe {
                        api.clEnqueueCopyImageToBuffer(
                            queue,
                            image,
                            buffer,
                            origin,
                            from.extent.as_ptr(),
                            offset,
                            wait,
                            event,
                        )
                    })
                });
            }
            if let Some(between) = self.between(&to)? {
                let copied = self.copy_from_image(from, between.tail(0), after)?;
                return self.copy(between.tail(0), to, &[&copied]).inspect_err(|_| self.abandon());
            }
            let staging = staging(to.size_bytes())?;
            // SAFETY: the memory has as many bytes as the pixels, and lives until the event is
            // complete (`HostSink::write`).
            let read = staging.write(self, |target| unsafe { self.read_pixels(from, target, after) })?;
            let written = staging.write(self, |source| {
                self.using([to].into_iter(), || {
                    // SAFETY: queue and event are alive, both ends have `size_bytes` bytes; the
                    // host's live until the event is complete (`HostSink::write`).
                    self.submit(&[&read], true, |_, queue, wait, event| unsafe {
                        pointers.write(queue, CL_FALSE, to.address(), source, to.size_bytes(), wait, event)
                    })
                })
            });
            written.inspect_err(|_| self.abandon())
        })
    }

    /// Copies between images of one format, in boxes of one shape.
    pub fn copy_image(self: &Arc<Self>, from: &Pixels, to: &Pixels, after: &[&Event]) -> Result<Event> {
        from.check_copy(to)?;
        self.with_pixels(&[from, to], after, || {
            // SAFETY: queue, events and images are alive, the boxes are within the images and do
            // not overlap.
            self.submit(after, false, |api, queue, wait, event| unsafe {
                api.clEnqueueCopyImage(
                    queue,
                    from.image.used(),
                    to.image.used(),
                    from.origin.as_ptr(),
                    to.origin.as_ptr(),
                    to.extent.as_ptr(),
                    wait,
                    event,
                )
            })
        })
    }

    /// Sets all pixels to a colour: red, green, blue, alpha, as kernels write them, each the 32
    /// bits of a float or an integer.
    pub fn fill_image(self: &Arc<Self>, to: &Pixels, colour: &[u32; 4], after: &[&Event]) -> Result<Event> {
        self.with_pixels(&[to], after, || {
            let (origin, extent) = (to.origin.as_ptr(), to.extent.as_ptr());
            // SAFETY: queue, events and image are alive, the box is within the image; the driver
            // copies the colour in the call.
            self.submit(after, false, |api, queue, wait, event| unsafe {
                let colour = colour.as_ptr().cast();
                api.clEnqueueFillImage(queue, to.image.used(), colour, origin, extent, wait, event)
            })
        })
    }

    /// Copies from host memory with one blocking call; returns whether it did. It copies on an idle
    /// queue only, and only boxes that are small enough for this to be faster.
    pub fn write_image_at_once(&self, from: &[u8], to: &Pixels) -> Result<bool> {
        let largest = if self.context().driver_faults().has(Fault::Q28) { MOST_SLOW } else { MOST };
        let (image, origin, extent) = (to.image.used(), to.origin.as_ptr(), to.extent.as_ptr());
        // SAFETY: the image is alive, the box is within it and has as many bytes as `from`, which
        // outlives the call.
        self.copy_at_once((to, largest), from.len(), |api, queue| unsafe {
            let (from, none) = (from.as_ptr().cast(), std::ptr::null_mut());
            api.clEnqueueWriteImage(queue, image, CL_TRUE, origin, extent, 0, 0, from, &[], none)
        })
    }

    /// Copies to host memory in the same way; returns whether it did.
    pub fn read_image_at_once(&self, from: &Pixels, to: &mut [u8]) -> Result<bool> {
        let (image, origin, extent) = (from.image.used(), from.origin.as_ptr(), from.extent.as_ptr());
        // SAFETY: the image is alive, the box is within it and has as many bytes as `to`, which
        // outlives the call.
        self.copy_at_once((from, MOST), to.len(), |api, queue| unsafe {
            let (to, none) = (to.as_mut_ptr().cast(), std::ptr::null_mut());
            api.clEnqueueReadImage(queue, image, CL_TRUE, origin, extent, 0, 0, to, &[], none)
        })
    }

    /// Enqueues a blocking copy if the queue is idle. Others cannot use the image meanwhile, so it
    /// copies `largest` bytes at most. Copies that cannot be made are left to
    /// [`Queue::write_image`] and [`Queue::read_image`], which return the reason.
    fn copy_at_once(
        &self,
        (pixels, largest): (&Pixels, usize),
        host_bytes: usize,
        enqueue: impl FnOnce(&Api, cl_command_queue) -> Result<()>,
    ) -> Result<bool> {
        let fits = (1..=largest).contains(&host_bytes) && pixels.size_bytes() == host_bytes;
        if !fits || !self.is_idle() || !Arc::ptr_eq(pixels.image.context(), self.context()) {
            return Ok(false);
        }
        self.using(std::iter::empty(), || self.submit_at_once(enqueue)).map(|()| true)
    }

    /// # Safety
    /// `from` has as many bytes as the pixels, and keeps them until the event is complete.
    unsafe fn write_pixels(
        self: &Arc<Self>,
        from: *const c_void,
        to: &Pixels,
        after: &[&Event],
    ) -> Result<Event> {
        let (image, origin, extent) = (to.image.used(), to.origin.as_ptr(), to.extent.as_ptr());
        // SAFETY: queue, events and image are alive, the box is within the image; the rest is the
        // caller's promise.
        self.submit(after, true, |api, queue, wait, event| unsafe {
            api.clEnqueueWriteImage(queue, image, CL_FALSE, origin, extent, 0, 0, from, wait, event)
        })
    }

    /// # Safety
    /// `to` has room for the bytes of the pixels until the event is complete, and nobody looks at
    /// it before.
    unsafe fn read_pixels(
        self: &Arc<Self>,
        from: &Pixels,
        to: *mut c_void,
        after: &[&Event],
    ) -> Result<Event> {
        let (image, origin, extent) = (from.image.used(), from.origin.as_ptr(), from.extent.as_ptr());
        // SAFETY: queue, events and image are alive, the box is within the image; the rest is the
        // caller's promise.
        self.submit(after, true, |api, queue, wait, event| unsafe {
            api.clEnqueueReadImage(queue, image, CL_FALSE, origin, extent, 0, 0, to, wait, event)
        })
    }

    /// Memory as large as SVM from outside, which is in no buffer; itself is in one.
    fn between(&self, span: &Span<'_>) -> Result<Option<Arc<Allocation>>> {
        let pointers = self.context().pointers()?;
        if !pointers.images_by_buffers() {
            return Ok(None);
        }
        let size_bytes = span.size_bytes();
        let memory = Allocation::new(self.context(), Some(self.device()), Kind::Device, size_bytes, 1)?;
        Ok(pointers.buffer_around(memory.tail(0).address()).is_some().then_some(memory))
    }

    /// Whether an address of the memory is one of the host's, too.
    fn host_reaches(&self, span: &Span<'_>) -> Result<bool> {
        let mapped = self.context().pointers()?.support().mapped;
        let is_host = span.allocation().kind() != Kind::Device || self.device().kind() == DeviceKind::Cpu;
        Ok(!mapped && is_host)
    }
}

/// The most bytes that a call copies at once.
const MOST: usize = 256 << 10;
/// The same for writes where these are slow (Q28).
const MOST_SLOW: usize = 8 << 10;

/// Host memory that bytes go through. It lives until the commands that use it have ended.
fn staging(size_bytes: usize) -> Result<HostSink> {
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(size_bytes).map_err(|error| {
        let what = format!("no host memory for a copy of {size_bytes} bytes");
        Error::new(ErrorKind::MemoryAllocation, what).with_source(error)
    })?;
    bytes.resize(size_bytes, 0);
    Ok(HostBuffer::new(bytes).sink())
}
