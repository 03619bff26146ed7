//! Memory objects as contents of buffers, and the other way round.

use std::ptr::{null, null_mut};
use std::time::Duration;

use super::commands::{context_with_spirv, raw_bump_with};
use super::opencl::{launch, own};
use super::raw::{Raw, check};
use crate::common::{bundle, call, queues_and_eventless};
use oclave::kernel::KernelBundle;
use oclave::memory::HostTarget;
use oclave::native::{MemHandle, cl_command_queue, cl_context, cl_mem};
use oclave::record::Session;
use oclave::{Buffer, Context, ErrorKind, Queue};
use opencl_sys::{
    CL_MEM_COPY_HOST_PTR, CL_MEM_HOST_NO_ACCESS, CL_MEM_READ_WRITE, CL_MEM_REFERENCE_COUNT, CL_MEM_SIZE,
    cl_uint, cl_ulong,
};

/// A `cl_mem` of OpenCL's, with contents.
fn mem(raw: &Raw, context: cl_context, data: &mut [i32], flags: cl_ulong) -> cl_mem {
    let mut code = 0;
    let (flags, bytes) = (CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR | flags, size_of_val(data));
    // SAFETY: the context is alive, the data is copied.
    let mem = unsafe { (raw.cl.clCreateBuffer)(context, flags, bytes, data.as_mut_ptr().cast(), &mut code) };
    check(code);
    mem
}

/// Its elements.
fn elements<const N: usize>(raw: &Raw, queue: cl_command_queue, mem: cl_mem) -> [i32; N] {
    let mut data = [0_i32; N];
    let to = data.as_mut_ptr().cast();
    // SAFETY: both are alive, and have as many bytes; the call waits.
    check(unsafe { (raw.cl.clEnqueueReadBuffer)(queue, mem, 1, 0, N * 4, to, 0, null(), null_mut()) });
    data
}

fn mem_info<T: Default>(raw: &Raw, mem: cl_mem, name: cl_uint) -> T {
    let mut value = T::default();
    // SAFETY: the memory is alive, the value is of the size that is asked for.
    check(unsafe {
        (raw.cl.clGetMemObjectInfo)(mem, name, size_of::<T>(), (&raw mut value).cast(), null_mut())
    });
    value
}

/// The number of references, once it is the expected one, or after a while. Drivers release ended
/// commands late.
fn references(raw: &Raw, mem: cl_mem, expected: cl_uint) -> cl_uint {
    let count = || mem_info::<cl_uint>(raw, mem, CL_MEM_REFERENCE_COUNT);
    for _ in 0..200 {
        if count() == expected {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    count()
}

fn bump_first(bundle: &KernelBundle, buffer: &Buffer<i32>, step: i32) -> oclave::kernel::KernelCall {
    call(bundle, "bump_by").pointer_mut::<i32>(buffer.read_write()).value(step)
}

#[device_test]
fn buffers_of_memory_objects(context: Context) {
    let raw = Raw::new(context.device().name(), false);
    let bundle = bundle(&context);
    let side = Queue::new(&context).unwrap();
    let look = |memory| elements::<4>(&raw, side.native(), memory);
    for queue in queues_and_eventless(&context) {
        let memory = mem(&raw, context.native(), &mut [1, 2, 3, 4], 0);
        // SAFETY: the memory is alive.
        let handle = || unsafe { MemHandle::retain(memory) }.unwrap();
        let before = mem_info::<cl_uint>(&raw, memory, CL_MEM_REFERENCE_COUNT);
        // Nobody writes: nothing goes back.
        let session = Session::start();
        let buffer = Buffer::<i32>::from_native(&context, handle(), [2, 2]).unwrap();
        assert_eq!(references(&raw, memory, before + 1), before + 1);
        assert_eq!(*buffer.host_read().unwrap(), [1, 2, 3, 4]);
        drop(buffer);
        assert_eq!(session.count("clEnqueueWriteBuffer"), 0);
        assert_eq!(references(&raw, memory, before), before);
        // Commands, then the host; it goes back when that is asked for, and at the end.
        let buffer = Buffer::<i32>::from_native(&context, handle(), 4).unwrap();
        for _ in 0..3 {
            queue.single_task(bump_first(&bundle, &buffer, 10)).unwrap();
        }
        assert_eq!(look(memory), [1, 2, 3, 4]);
        buffer.write_back().unwrap();
        assert_eq!(look(memory), [31, 2, 3, 4]);
        buffer.host_write().unwrap()[3] = 40;
        let clone = buffer.clone();
        drop(buffer);
        assert_eq!(look(memory), [31, 2, 3, 4]);
        queue.single_task(bump_first(&bundle, &clone, 1)).unwrap();
        drop(clone);
        assert_eq!(look(memory), [32, 2, 3, 40]);
        // Not if it is not to, nor if there is another target.
        let buffer = Buffer::<i32>::from_native(&context, handle(), 2).unwrap();
        buffer.set_write_back(false);
        queue.fill(&buffer.write(), 7).unwrap();
        drop(buffer);
        let buffer = Buffer::<i32>::from_native(&context, handle(), 3).unwrap();
        let target = HostTarget::new(3).unwrap();
        queue.single_task(bump_first(&bundle, &buffer, 1)).unwrap();
        buffer.set_final_data(Some(&target)).unwrap();
        drop(buffer);
        assert_eq!(target.to_vec().unwrap(), [33, 2, 3]);
        assert_eq!(look(memory), [32, 2, 3, 40]);
        // Fewer elements than the memory has: the others stay.
        let buffer = Buffer::<i32>::from_native(&context, handle(), 2).unwrap();
        queue.fill(&buffer.write(), 9).unwrap();
        drop(buffer);
        assert_eq!(look(memory), [9, 9, 3, 40]);
        queue.wait().unwrap();
        assert_eq!(references(&raw, memory, before), before, "references of the memory");
        // The last reference may be the library's.
        let released = session.count("clReleaseMemObject");
        // SAFETY: the reference is given away, and the memory not used again.
        let last = unsafe { MemHandle::from_raw(memory) }.unwrap();
        let buffer = Buffer::<i32>::from_native(&context, last, 4).unwrap();
        assert_eq!(session.count("clReleaseMemObject"), released);
        drop(buffer);
        assert_eq!(session.count("clReleaseMemObject"), released + 1);
    }
}

/// A copy that failed may still run: the host's memory is borrowed until the queue has ended.
#[device_test]
fn copies_of_memory_objects_that_fail_return_when_they_have_ended(context: Context) {
    let raw = Raw::new(context.device().name(), false);
    let memory = mem(&raw, context.native(), &mut [1, 2, 3, 4], 0);
    // SAFETY: the memory is alive.
    let handle = || unsafe { MemHandle::retain(memory) }.unwrap();
    let failing = |call: &str| {
        let session = Session::start();
        session.fail(call, 1, -5);
        (1..=30).for_each(|nth| session.fail("clFinish", nth, -5));
        session
    };
    let session = failing("clEnqueueReadBuffer");
    assert_eq!(Buffer::<i32>::from_native(&context, handle(), 4).unwrap_err().code(), Some(-5));
    assert_eq!((session.count("clFinish"), session.pending_faults()), (31, 0));
    drop(session);
    let buffer = Buffer::<i32>::from_native(&context, handle(), 4).unwrap();
    buffer.write().host().unwrap().fill(9);
    let session = failing("clEnqueueWriteBuffer");
    assert_eq!(buffer.write_back().unwrap_err().code(), Some(-5));
    assert_eq!((session.count("clFinish"), session.pending_faults()), (31, 0));
    drop(session);
    buffer.write_back().unwrap();
    let side = Queue::new(&context).unwrap();
    assert_eq!(elements(&raw, side.native(), memory), [9; 4]);
    drop(buffer);
    // SAFETY: the reference is this function's.
    check(unsafe { (raw.cl.clReleaseMemObject)(memory) });
}

#[device_test]
fn memory_objects_that_are_no_buffers_of_the_context(context: Context) {
    let raw = Raw::new(context.device().name(), false);
    let other = Context::new(context.device()).unwrap();
    let memory = mem(&raw, context.native(), &mut [1, 2, 3, 4], 0);
    // SAFETY: the memory is alive.
    let handle = || unsafe { MemHandle::retain(memory) }.unwrap();
    for error in [
        Buffer::<i32>::from_native(&context, handle(), 5).unwrap_err(),
        Buffer::<i32>::from_native(&other, handle(), 4).unwrap_err(),
        // SAFETY: null is refused.
        unsafe { MemHandle::from_raw(null_mut()) }.unwrap_err(),
        Buffer::<i32>::new(0).unwrap().to_native(&context).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(references(&raw, memory, 1), 1, "it is released on failure");
    // SAFETY: the reference is given away.
    let last = unsafe { MemHandle::from_raw(memory) }.unwrap();
    assert!(Buffer::<i32>::from_native(&context, last, 0).unwrap().is_empty());
    let closed = mem(&raw, context.native(), &mut [1], CL_MEM_HOST_NO_ACCESS);
    // SAFETY: as above.
    let closed = unsafe { MemHandle::from_raw(closed) }.unwrap();
    let error = Buffer::<i32>::from_native(&context, closed, 1).unwrap_err();
    assert!(format!("{error:#}").contains("clEnqueueReadBuffer"), "{error}");
}

#[device_test(context_with_spirv)]
fn contents_go_out_as_memory_objects(context: Context) {
    let bundle = bundle(&context);
    let other = Context::new(context.device()).unwrap();
    for queue in queues_and_eventless(&context) {
        let session = Session::start();
        let buffer = Buffer::<i32>::from_vec(vec![1, 2, 3, 4]).unwrap();
        queue.single_task(bump_first(&bundle, &buffer, 100)).unwrap();
        let memory = buffer.to_native(&context).unwrap();
        let shared = raw_bump_with(
            &context,
            |raw, kernel| {
                let argument = memory.raw();
                assert_eq!(mem_info::<usize>(raw, argument, CL_MEM_SIZE), 16);
                let value = (&raw const argument).cast();
                // SAFETY: kernel and memory are alive, and the kernel takes a pointer first.
                check(unsafe { (raw.cl.clSetKernelArg)(kernel, 0, size_of::<cl_mem>(), value) });
            },
            5,
        );
        // A kernel that wants a `cl_mem` works on the copy, and the buffer keeps its contents.
        drop(own(launch(&shared.raw, queue.native(), shared.kernel, &[])));
        queue.wait().unwrap();
        assert_eq!(elements(&shared.raw, queue.native(), memory.raw()), [106, 2, 3, 4]);
        assert_eq!(*buffer.host_read().unwrap(), [101, 2, 3, 4]);
        // And back in.
        let back = Buffer::<i32>::from_native(&context, memory, 4).unwrap();
        queue.single_task(bump_first(&bundle, &back, 1)).unwrap();
        assert_eq!(*back.host_read().unwrap(), [107, 2, 3, 4]);
        // A part of it, in another context.
        let there = Queue::new(&other).unwrap();
        let part = buffer.sub_buffer(1, 2).unwrap().to_native(&other).unwrap();
        assert_eq!(mem_info::<usize>(&shared.raw, part.raw(), CL_MEM_SIZE), 8);
        assert_eq!(elements(&shared.raw, there.native(), part.raw()), [2, 3]);
        drop((part, back));
        assert_eq!(session.count("clCreateBuffer"), 2);
        assert_eq!(session.count("clReleaseMemObject"), 2);
    }
}
