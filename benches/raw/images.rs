//! Images of raw OpenCL: two dimensions, four bytes a pixel.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr::{null, null_mut};

use opencl_sys::{
    CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_WRITE, CL_RGBA, CL_UNORM_INT8, cl_command_queue, cl_event,
    cl_image_desc, cl_image_format, cl_int, cl_kernel, cl_mem,
};

use super::{Raw, check};

/// An image and its size.
pub(crate) struct RawImage<'a> {
    raw: &'a Raw,
    memory: cl_mem,
    region: [usize; 3],
}

const ORIGIN: [usize; 3] = [0; 3];

impl<'a> RawImage<'a> {
    pub(crate) fn new(raw: &'a Raw, width: usize, height: usize) -> Self {
        let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNORM_INT8 };
        // SAFETY: a structure of numbers and a handle that may be null.
        let mut shape: cl_image_desc = unsafe { zeroed() };
        shape.image_type = CL_MEM_OBJECT_IMAGE2D;
        shape.image_width = width;
        shape.image_height = height;
        let mut code = 0;
        // SAFETY: the context is alive, format and shape are complete.
        let memory = unsafe {
            (raw.cl.clCreateImage)(raw.context, CL_MEM_READ_WRITE, &format, &shape, null_mut(), &mut code)
        };
        check(code);
        Self { raw, memory, region: [width, height, 1] }
    }

    /// Copies pixels to the image, and waits.
    pub(crate) fn write(&self, pixels: &[[u8; 4]]) {
        let from = pixels.as_ptr().cast();
        self.transfer(pixels.len(), |queue, image, origin, region| {
            let write = self.raw.cl.clEnqueueWriteImage;
            // SAFETY: `from` has as many pixels as the image.
            unsafe { write(queue, image, 1, origin, region, 0, 0, from, 0, null(), null_mut()) }
        });
    }

    /// Copies the pixels to `pixels`, and waits.
    pub(crate) fn read(&self, pixels: &mut [[u8; 4]]) {
        let to = pixels.as_mut_ptr().cast();
        self.transfer(pixels.len(), |queue, image, origin, region| {
            let read = self.raw.cl.clEnqueueReadImage;
            // SAFETY: `to` has room for as many pixels as the image has.
            unsafe { read(queue, image, 1, origin, region, 0, 0, to, 0, null(), null_mut()) }
        });
    }

    /// Copies so many pixels, which must be all of the image.
    fn transfer(
        &self,
        pixels: usize,
        copy: impl FnOnce(cl_command_queue, cl_mem, *const usize, *const usize) -> cl_int,
    ) {
        assert_eq!(pixels, self.region.iter().product::<usize>());
        check(copy(self.raw.queue, self.memory, ORIGIN.as_ptr(), self.region.as_ptr()));
    }

    /// Copies all pixels to an image of the same size, and waits.
    pub(crate) fn copy_to(&self, other: &Self) {
        assert_eq!(self.region, other.region);
        let (origin, region) = (ORIGIN.as_ptr(), self.region.as_ptr());
        let (queue, from, to) = (self.raw.queue, self.memory, other.memory);
        let mut event = null_mut();
        let copy = self.raw.cl.clEnqueueCopyImage;
        // SAFETY: both images are alive and of this size.
        check(unsafe { copy(queue, from, to, origin, origin, region, 0, null(), &mut event) });
        self.raw.finish_and_release(event);
    }

    /// Sets all pixels, and waits.
    pub(crate) fn fill(&self, colour: [f32; 4]) {
        let (origin, region) = (ORIGIN.as_ptr(), self.region.as_ptr());
        let (queue, colour) = (self.raw.queue, colour.as_ptr().cast::<c_void>());
        let mut event = null_mut();
        let fill = self.raw.cl.clEnqueueFillImage;
        // SAFETY: the image is alive and of this size; a colour has four channels.
        check(unsafe { fill(queue, self.memory, colour, origin, region, 0, null(), &mut event) });
        self.raw.finish_and_release(event);
    }

    /// Makes it an argument of a kernel.
    pub(crate) fn set(&self, kernel: cl_kernel, index: u32) {
        let size = size_of::<cl_mem>();
        // SAFETY: kernel and image are alive.
        check(unsafe { (self.raw.cl.clSetKernelArg)(kernel, index, size, (&raw const self.memory).cast()) });
    }

    /// Launches a kernel with a work-item for each pixel.
    pub(crate) fn launch(&self, kernel: cl_kernel) {
        self.raw.release(self.enqueue(kernel));
    }

    /// As [`RawImage::launch`], and waits.
    pub(crate) fn run(&self, kernel: cl_kernel) {
        self.raw.finish_and_release(self.enqueue(kernel));
    }

    fn enqueue(&self, kernel: cl_kernel) -> cl_event {
        let (queue, range) = (self.raw.queue, self.region.as_ptr());
        let mut event = null_mut();
        let launch = self.raw.cl.clEnqueueNDRangeKernel;
        // SAFETY: the kernel is alive and has its arguments.
        check(unsafe { launch(queue, kernel, 2, null(), range, null(), 0, null(), &mut event) });
        event
    }
}
