//! Where contents are: contexts that take turns, contents that do not arrive, memory that is given
//! back.

use super::{SLOW, out_of_order};
use crate::common::{NO_POINTERS, allocated, host_copy_calls, memory_call};
use crate::kernels::buffers::{advance, advance_late, combine, number};
use oclave::device::mask::Mask;
use oclave::memory::HostTarget;
use oclave::record::Session;
use oclave::{Buffer, Context, Device, ErrorKind, Queue};

#[device_test]
fn memory_of_poorer_devices(device: Device) {
    let poorer = [Mask::SHARED_USM, Mask::SHARED_USM | Mask::HOST_USM, Mask::USM];
    let poorest = [Mask::USM | Mask::SVM_FINE, Mask::USM | Mask::SVM, NO_POINTERS];
    for mask in poorer.into_iter().chain(poorest) {
        let device = device.masked(mask);
        println!("without {mask}: {:?}", device.capabilities().memory());
        let context = Context::new(&device).unwrap();
        let queue = Queue::new(&context).unwrap();
        let buffer = Buffer::from_vec(vec![1_u32; 64]).unwrap();
        let launched = queue.parallel_for(64, advance(buffer.read_write(), 2, 1));
        if device.capabilities().memory().is_none() {
            let error = launched.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{error}");
            assert_eq!(*buffer.host_read().unwrap(), [1; 64], "the host has them still");
            continue;
        }
        launched.unwrap();
        buffer.read_write().slice(32..).unwrap().host().unwrap().fill(7);
        queue.parallel_for(64, advance(buffer.read_write(), 2, 1)).unwrap();
        let data = buffer.host_read().unwrap();
        assert_eq!((&data[..32], &data[32..]), (&[7; 32][..], &[15; 32][..]));
    }
}

#[device_test]
fn contents_follow_their_users_between_contexts(context: Context) {
    let contexts = [context.clone(), Context::new(context.device()).unwrap()];
    let queues = contexts.each_ref().map(|context| (Queue::new(context).unwrap(), out_of_order(context)));
    let x = Buffer::from_vec(vec![1_u32; 64]).unwrap();
    let y = Buffer::<u32>::new(64).unwrap();
    let (mut a, mut b) = (1_u32, 0_u32);
    for i in 0..40 {
        let (in_order, out_of_order) = &queues[(i / 3) % 2];
        let queue = if i % 2 == 0 { in_order } else { out_of_order };
        match i % 5 {
            0 => {
                queue.parallel_for(64, combine(x.read(), y.read_write(), 3)).unwrap();
                b = b.wrapping_mul(3).wrapping_add(a);
            }
            1 => {
                queue.parallel_for(64, advance(x.read_write(), 5, 1)).unwrap();
                a = a.wrapping_mul(5).wrapping_add(1);
            }
            2 => {
                queue.copy(&y.read(), &x.write()).unwrap();
                a = b;
            }
            3 => {
                queue.parallel_for(64, advance(y.read_write().no_init(), 0, 7)).unwrap();
                b = 7;
            }
            _ => {
                x.host_write().unwrap().iter_mut().for_each(|x| *x ^= 0x55);
                a ^= 0x55;
            }
        }
    }
    assert_eq!(*x.host_read().unwrap(), [a; 64]);
    assert_eq!(*y.host_read().unwrap(), [b; 64]);
}

#[device_test]
fn contents_that_nobody_needs_are_not_brought(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let session = Session::start();
    let buffer = Buffer::<u32>::new(1000).unwrap();
    queue.parallel_for(1000, number(buffer.write().no_init(), 1)).unwrap();
    let copied = Buffer::from_vec(vec![1_u32; 1000]).unwrap();
    queue.copy(&buffer.read(), &copied.write()).unwrap();
    let filled = Buffer::from_vec(vec![1_u32; 1000]).unwrap();
    queue.fill(&filled.write(), 3).unwrap();
    assert_eq!(
        (
            session.count(memory_call("clEnqueueMemFillINTEL")),
            session.count(memory_call("clEnqueueMemcpyINTEL"))
        ),
        (1, 1)
    );
    assert_eq!(allocated(&session, &context), 3);
    assert_eq!(copied.host_read().unwrap()[999], 1000);
    // Reads from the device that has them bring nothing; the first need of the old contents does.
    let before = session.count(memory_call("clEnqueueMemFillINTEL"));
    let fresh = Buffer::<u32>::new(1000).unwrap();
    queue.parallel_for(1000, number(fresh.write(), 1)).unwrap();
    queue.parallel_for(1000, advance(fresh.read_write(), 1, 1)).unwrap();
    assert_eq!(session.count(memory_call("clEnqueueMemFillINTEL")), before + 1);
}

/// Contents on their way to another context, or from the host, while something is in the way; the
/// copy fails.
#[device_test]
fn contents_that_do_not_arrive_are_where_they_were(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let queues = [Queue::new(&context).unwrap(), Queue::new(&other).unwrap()];
    let session = Session::start();
    for queue in [&queues[1], &out_of_order(&other)] {
        for in_context in [true, false] {
            let buffer = Buffer::with_data(100, vec![1_u32; 100]).unwrap();
            if in_context {
                queues[0].parallel_for(100, advance(buffer.read_write(), 3, 1)).unwrap().wait().unwrap();
            }
            let first = if in_context { 4 } else { 1 };
            let mut writer = buffer.write().slice(3..4).unwrap().host().unwrap();
            writer[0] = 9;
            let lost = queue.parallel_for(100, advance(buffer.read_write(), 2, 0)).unwrap();
            let behind = queues[0].parallel_for(100, advance(buffer.read_write(), 2, 0)).unwrap();
            // From a context they are read and written, and before that the writer puts back its
            // own.
            let [read, write] = host_copy_calls();
            let (call, nth) = match (in_context, queue.is_out_of_order()) {
                (true, false) => (read, 1),
                (true, true) => (write, 2),
                (false, _) => (write, 1),
            };
            // With one name for both, the other copy before it counts, too.
            session.fail(call, nth + u64::from(read == write && in_context), -5);
            writer.finish().unwrap();
            for event in [&lost, &behind] {
                let error = format!("{:#}", event.wait().unwrap_err());
                assert!(error.contains(call), "{error}");
            }
            assert_eq!(session.pending_faults(), 0);
            let error = format!("{:#}", buffer.host_read().unwrap_err());
            assert!(error.contains(call), "{error}");
            let mut expected = [first; 100];
            expected[3] = 9;
            assert_eq!(*buffer.host_read().unwrap(), expected);
            // And all goes on from there.
            queue.parallel_for(100, advance(buffer.read_write(), 2, 0)).unwrap();
            queues[0].parallel_for(100, advance(buffer.read_write(), 1, 1)).unwrap();
            assert_eq!(*buffer.host_read().unwrap(), expected.map(|x| 2 * x + 1));
            assert!(queue.wait().is_err());
            queues[0].wait().unwrap();
        }
    }
}

#[device_test]
fn failures_of_drops_are_reported_later(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let target = HostTarget::from_vec(vec![1_u32; 4]);
    let buffer = Buffer::with_host_data(4, &target).unwrap();
    queue.parallel_for(4, advance(buffer.read_write(), 3, 1)).unwrap().wait().unwrap();
    let session = Session::start();
    session.fail(host_copy_calls()[0], 1, -5);
    drop(buffer);
    assert_eq!(session.pending_faults(), 0);
    let error = queue.marker().unwrap_err();
    assert!(format!("{error:#}").contains("writing a buffer back"), "{error}");
    assert_eq!(target.to_vec().unwrap(), [1; 4]);
    queue.marker().unwrap();
}

#[device_test]
fn dropping_a_buffer_does_not_wait_and_leaves_nothing(context: Context) {
    let device = context.device().clone();
    drop(context);
    let session = Session::start();
    let context = Context::new(&device).unwrap();
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec(vec![1_u32; 1 << 16]).unwrap();
    let event = queue.parallel_for(1, advance_late(buffer.read_write(), SLOW, 1)).unwrap();
    drop(buffer);
    if event.is_complete().unwrap() {
        println!("skipped: the kernel ended before the test could look");
        return;
    }
    event.wait().unwrap();
    let other = Context::new(&device).unwrap();
    let elsewhere = Queue::new(&other).unwrap();
    let buffer = Buffer::from_vec(vec![1_u32; 64]).unwrap();
    for queue in [&queue, &elsewhere, &queue] {
        queue.parallel_for(64, advance(buffer.read_write(), 2, 1)).unwrap();
    }
    let sub_buffer = buffer.sub_buffer(0, 32).unwrap();
    let accessor = sub_buffer.read();
    drop((buffer, sub_buffer));
    assert_eq!(*accessor.host().unwrap(), [15; 32]);
    drop((queue, elsewhere, context, other, accessor, event));
    crate::common::settle(&session);
    assert!(session.live().is_empty(), "{:?}", session.live());
}
