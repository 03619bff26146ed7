//! Objects of the crate `opencl3`, into the library and out of it.

use std::ptr::null_mut;

use super::opencl::bump;
use crate::common::{bundle, call, context};
use oclave::native::KernelHandle;
use oclave::{Buffer, Command, Context, Device, ErrorKind, Event, Graph, Queue};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context as ClContext;
use opencl3::device::Device as ClDevice;
use opencl3::event::Event as ClEvent;
use opencl3::kernel::Kernel as ClKernel;
use opencl3::memory::{Buffer as ClBuffer, CL_MEM_READ_WRITE};
use opencl3::types::CL_BLOCKING;

/// Their context and queue on the selected device, and ours around them.
fn theirs() -> Option<(ClContext, CommandQueue, Context, Queue)> {
    let device = ClDevice::from(context()?.device());
    let cl_context = ClContext::from_device(&device).unwrap();
    // SAFETY: the device is the context's.
    let cl_queue = unsafe { CommandQueue::create_with_properties(&cl_context, device.id(), 0, 0) }.unwrap();
    let context = Context::try_from(&cl_context).unwrap();
    let queue = Queue::try_from((&context, &cl_queue)).unwrap();
    Some((cl_context, cl_queue, context, queue))
}

#[device_test(theirs)]
fn opencl3_devices_contexts_and_queues(
    (cl_context, cl_queue, context, queue): (ClContext, CommandQueue, Context, Queue),
) {
    let device = Device::try_from(&ClDevice::new(cl_context.default_device())).unwrap();
    assert_eq!(context.devices(), std::slice::from_ref(&device));
    assert_eq!((context.native(), queue.native()), (cl_context.get(), cl_queue.get()));
    // Theirs go first, ours work on.
    drop((cl_queue, cl_context));
    let values = context.alloc_device::<i32>(10).unwrap();
    queue.fill(&values, 3).unwrap();
    assert_eq!(queue.read(&values).unwrap(), [3; 10]);
    // And the other way round.
    let (cl_context, cl_queue) =
        (ClContext::try_from(&context).unwrap(), CommandQueue::try_from(&queue).unwrap());
    drop((values, queue, context));
    assert_eq!(cl_context.devices(), [device.native()]);
    assert!(cl_queue.max_work_item_dimensions() >= 3);
    assert_eq!(cl_queue.context().unwrap(), cl_context.get());
    cl_queue.finish().unwrap();
}

#[device_test(theirs)]
fn opencl3_queues_of_other_contexts_are_refused(
    (_, cl_queue, context, _): (ClContext, CommandQueue, Context, Queue),
) {
    let other = Context::new(context.device()).unwrap();
    assert_eq!(Queue::try_from((&other, &cl_queue)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test(theirs)]
fn opencl3_events((_cl_context, cl_queue, context, queue): (ClContext, CommandQueue, Context, Queue)) {
    let values = context.alloc_device::<i32>(1).unwrap();
    let filled = queue.fill(&values, 5).unwrap();
    // Their command waits for ours, ours for theirs.
    let cl_filled = ClEvent::from(filled.to_native(&context).unwrap());
    // SAFETY: the event is alive.
    let cl_marker = unsafe { cl_queue.enqueue_marker_with_wait_list(&[cl_filled.get()]) }.unwrap();
    let marker = Event::try_from(&cl_marker).unwrap();
    assert_eq!(queue.after(&marker).read(&values).unwrap(), [5]);
    cl_marker.wait().unwrap();
}

#[device_test(theirs)]
fn opencl3_buffers((cl_context, cl_queue, context, queue): (ClContext, CommandQueue, Context, Queue)) {
    // SAFETY: no host memory is given.
    let mut cl_buffer =
        unsafe { ClBuffer::<i32>::create(&cl_context, CL_MEM_READ_WRITE, 100, null_mut()) }.unwrap();
    // SAFETY: the data lives until the event has ended.
    let written = unsafe { cl_queue.enqueue_write_buffer(&mut cl_buffer, CL_BLOCKING, 0, &[7; 100], &[]) };
    // A blocking write ends early on Intel's CPU runtime: see `MemObject::write`.
    written.unwrap().wait().unwrap();
    let buffer = Buffer::<i32>::try_from((&context, &cl_buffer)).unwrap();
    assert_eq!(buffer.host_read().unwrap()[..], [7; 100]);
    queue.fill(&buffer.write(), 8).unwrap();
    let copy = ClBuffer::<i32>::from(buffer.to_native(&context).unwrap());
    drop(buffer);
    for buffer in [&cl_buffer, &copy] {
        let mut data = [0; 100];
        // SAFETY: the read is blocking.
        unsafe { cl_queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut data, &[]) }.unwrap();
        assert_eq!(data, [8; 100]);
    }
}

#[device_test(theirs)]
fn opencl3_launches_our_kernels(
    (_cl_context, cl_queue, context, queue): (ClContext, CommandQueue, Context, Queue),
) {
    let value = context.alloc_device::<i32>(1).unwrap();
    queue.fill(&value, 1).unwrap().wait().unwrap();
    let kernel = queue.native_kernel(&bump(&bundle(&context), &value, 4)).unwrap();
    let cl_kernel = ClKernel::from(kernel.handle().unwrap());
    let (no_offset, no_group) = (std::ptr::null(), std::ptr::null());
    // SAFETY: the arguments are set, and their memory lives until the event has ended.
    let event = unsafe { cl_queue.enqueue_nd_range_kernel(cl_kernel.get(), 1, no_offset, &1, no_group, &[]) };
    event.unwrap().wait().unwrap();
    assert_eq!(queue.read(&value).unwrap(), [5]);
}

#[device_test(theirs)]
fn kernel_objects_run_as_commands_and_in_graphs(
    (_cl_context, _, context, queue): (ClContext, CommandQueue, Context, Queue),
) {
    let value = context.alloc_device::<i32>(1).unwrap();
    let filled = queue.fill(&value, 1).unwrap();
    let kernel = queue.native_kernel(&bump(&bundle(&context), &value, 2)).unwrap();
    let cl_kernel = ClKernel::from(kernel.handle().unwrap());
    // SAFETY: nobody sets arguments of the kernel, which uses this value only.
    let command =
        || unsafe { Command::native_kernel(KernelHandle::try_from(&cl_kernel).unwrap(), 1, &[&value]) };
    queue.submit(command().after(&filled)).unwrap();
    let graph = Graph::new(&context, context.device()).unwrap();
    let first = graph.add(command()).unwrap();
    graph
        .after(&first)
        .add(Command::single_task(
            call(&bundle(&context), "bump_by").pointer_mut::<i32>(&value).value(10_i32),
        ))
        .unwrap();
    let executable = graph.finalize().unwrap();
    for _ in 0..2 {
        queue.submit_graph(&executable).unwrap();
    }
    assert_eq!(queue.read(&value).unwrap(), [1 + 2 + 2 * 12]);
    // A rejected call is the command's error.
    // SAFETY: as above; a wrong range is refused before the driver has it.
    let command = unsafe {
        Command::native_kernel(kernel.handle().unwrap(), oclave::kernel::NdRange::new(1, 0), &[&value])
    };
    let error = queue.submit(command).and_then(|event| event.wait()).unwrap_err();
    assert!(format!("{error:#}").contains("have no work-item"), "{error:#}");
}
