//! Buffers: contents, order, host access, write-back, sub-buffers, contexts, lifetimes and errors, on the selected device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::{allocated, context};
use oclave::mask::Mask;
use oclave::record::Session;
use oclave::{Buffer, Command, Context, ErrorKind, HostTarget, NdRange, Queue, Range};

mod kernels {
    oclave::include_kernels!("tests");
}
use kernels::buffers::{advance, advance_late, advance_tile, combine, number};

/// Long enough to be still running when the next statements are executed.
const SLOW: u32 = 20_000_000;

fn out_of_order(context: &Context) -> Queue {
    Queue::builder(context).out_of_order().build().unwrap()
}

#[test]
fn contents_come_from_where_they_were_given() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let data: Vec<u32> = (0..1000).collect();
    let shared: Arc<[u32]> = data.clone().into();
    for buffer in [
        Buffer::from_vec(data.clone()).unwrap(),
        Buffer::with_data(1000, shared).unwrap(),
        Buffer::from_slice(1000, &data).unwrap(),
        Buffer::with_host_data(1000, &HostTarget::from_vec(data.clone())).unwrap(),
    ] {
        assert_eq!(*buffer.host_read().unwrap(), *data);
        queue.parallel_for(1000, advance(buffer.read_write(), 2, 1)).unwrap();
        let expected: Vec<u32> = data.iter().map(|x| x * 2 + 1).collect();
        assert_eq!(*buffer.host_read().unwrap(), *expected);
    }
    let error = Buffer::with_data(999, data).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("[999] `u32`"), "{error}");
}

#[test]
fn new_buffers_are_zero() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let buffer = Buffer::<u32>::new([10, 10]).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [0; 100]);
    // A part is written, the rest stays.
    queue.parallel_for(10, number(buffer.write().slice(5..6).unwrap().no_init(), 1)).unwrap();
    let data = buffer.host_read().unwrap();
    assert_eq!(data.iter().sum::<u32>(), 55);
    assert_eq!(data[50..60], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn commands_run_in_the_order_of_their_accesses() {
    let Some(context) = context() else { return };
    let queues = [out_of_order(&context), out_of_order(&context), Queue::new(&context).unwrap()];
    let x = Buffer::from_vec(vec![1_u32; 64]).unwrap();
    let y = Buffer::from_vec(vec![2_u32; 64]).unwrap();
    let (mut a, mut b) = (1_u32, 2_u32);
    for i in 0..300_u32 {
        let queue = &queues[i as usize % 3];
        if i % 7 < 4 {
            queue.parallel_for(64, combine(x.read(), y.read_write(), i)).unwrap();
            b = b.wrapping_mul(i).wrapping_add(a);
        } else {
            queue.parallel_for(64, combine(y.read(), x.read_write(), i)).unwrap();
            a = a.wrapping_mul(i).wrapping_add(b);
        }
    }
    assert_eq!(*x.host_read().unwrap(), [a; 64]);
    assert_eq!(*y.host_read().unwrap(), [b; 64]);
}

#[test]
fn parts_of_buffers_of_three_dimensions() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let (planes, rows, columns) = (3, 4, 5);
    let buffer = Buffer::<u32>::new([planes, rows, columns]).unwrap();
    let part = buffer.read_write().part([1, 1, 2], [2, 2, 3]).unwrap();
    assert_eq!((part.len(), part.range()), (12, Range::d3(2, 2, 3)));
    // The first dimension of a launch is the last one of a buffer.
    let range = NdRange::from([3, 2, 2]);
    for (factor, addend) in [(1, 7), (3, 1)] {
        let call = advance_tile(&part, columns as u64, (rows * columns) as u64, factor, addend);
        queue.parallel_for(range, call).unwrap();
    }
    let data = buffer.host_read().unwrap();
    for i in 0..planes {
        for j in 0..rows {
            for k in 0..columns {
                let inside = (1..3).contains(&i) && (1..3).contains(&j) && (2..5).contains(&k);
                assert_eq!(data[(i * rows + j) * columns + k], if inside { 22 } else { 0 }, "{i} {j} {k}");
            }
        }
    }
    assert_eq!(*part.host().unwrap(), [22; 12]);
    assert_eq!(
        buffer.read().part([0, 1, 1], [3, 1, 2]).unwrap().host().unwrap().into_vec(),
        [0, 0, 0, 22, 0, 22]
    );
}

#[test]
fn parts_know_their_bounds() {
    let buffer = Buffer::<f32>::new([4, 8]).unwrap();
    let whole = buffer.read();
    let part = whole.part([1, 2], [3, 6]).unwrap();
    assert!(part.part([2, 5], [1, 1]).is_ok());
    assert!(part.part([3, 6], [0, 0]).unwrap().is_empty());
    assert!(part.slice(3..).unwrap().is_empty());
    for bad in [
        part.part([3, 0], [1, 1]),
        part.part([0, 1], [1, 6]),
        part.part([0, 0], [usize::MAX, 1]),
        part.part([usize::MAX, 0], [2, 1]),
        part.part(0, 1),
        part.part([0, 0, 0], [1, 1, 1]),
        part.slice(2..4),
        #[allow(clippy::reversed_empty_ranges, reason = "that is the point")]
        part.slice(2..1),
        part.slice(..=usize::MAX),
    ] {
        let error = bad.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("[3, 6] elements of buffer"), "{error}");
        assert!(error.to_string().contains("[4, 8] `f32`"), "{error}");
    }
}

#[test]
fn copies_fills_and_reads() {
    let Some(context) = context() else { return };
    for queue in [Queue::new(&context).unwrap(), out_of_order(&context)] {
        let (a, b) = (Buffer::<u32>::new(100).unwrap(), Buffer::<u32>::new(100).unwrap());
        let memory = context.alloc_device::<u32>(50).unwrap();
        queue.fill(&a.write(), 7).unwrap();
        queue.copy(&a.read(), &b.write()).unwrap();
        let copied = queue.copy(&b.read().slice(..50).unwrap(), &memory).unwrap();
        assert_eq!(queue.after(&[&copied]).read(&memory).unwrap(), [7; 50]);
        queue.memset(&b.write().slice(10..20).unwrap(), 1).unwrap();
        queue.copy_to_device_async(vec![5; 10], &b.write().slice(20..30).unwrap()).unwrap();
        queue.copy_to_device(&[6; 10], &b.write().slice(30..40).unwrap()).unwrap();
        let mut expected = [7; 100];
        expected[10..20].fill(0x0101_0101);
        expected[20..30].fill(5);
        expected[30..40].fill(6);
        assert_eq!(queue.read(&b.read()).unwrap(), expected);
        assert_eq!(
            queue.read_async(&b.read().slice(25..35).unwrap()).unwrap().wait().unwrap(),
            expected[25..35]
        );
        let mut some = [0; 20];
        queue.copy_to_host(&b.read().slice(15..35).unwrap(), &mut some).unwrap();
        assert_eq!(some, expected[15..35]);
        let target = HostTarget::new(100).unwrap();
        queue.submit(Command::read(&b.read(), &target)).unwrap().wait().unwrap();
        assert_eq!(target.to_vec().unwrap(), expected);
        let error = queue.copy(&a.read(), &b.write().slice(1..).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let error = queue.copy_to_host(&a.read(), &mut some).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let error = queue.copy(&a.read(), &a.write()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "overlapping");
        queue.copy(&a.read().slice(..50).unwrap(), &a.write().slice(50..).unwrap()).unwrap().wait().unwrap();
    }
}

#[test]
fn host_writers_change_parts() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let buffer = Buffer::<u32>::new([4, 4]).unwrap();
    let inner = buffer.read_write().part([1, 1], [2, 2]).unwrap();
    // With the contents on the host, and then on the device.
    for base in [0, 100] {
        if base != 0 {
            queue.parallel_for(16, advance(buffer.read_write(), 0, base)).unwrap();
        }
        let mut writer = inner.host().unwrap();
        assert_eq!(*writer, [base; 4]);
        writer.copy_from_slice(&[1, 2, 3, 4]);
        writer.finish().unwrap();
        let b = base;
        assert_eq!(*buffer.host_read().unwrap(), [b, b, b, b, b, 1, 2, b, b, 3, 4, b, b, b, b, b]);
        let mut all = buffer.write().no_init().host().unwrap();
        assert_eq!(all.range(), Range::d2(4, 4));
        all.fill(9);
        drop(all);
        queue.parallel_for(16, advance(buffer.read_write(), 2, 1)).unwrap();
        assert_eq!(*buffer.host_read().unwrap(), [19; 16]);
        buffer.host_write().unwrap().fill(0);
    }
}

#[test]
fn host_readers_keep_what_they_saw() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec(vec![1_u32; 10]).unwrap();
    let (first, second) = (buffer.host_read().unwrap(), buffer.read().slice(..5).unwrap().host().unwrap());
    queue.parallel_for(10, advance(buffer.read_write(), 1, 1)).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [2; 10]);
    assert_eq!(*first, [1; 10]);
    assert_eq!(*second, [1; 5]);
}

#[test]
fn host_accessors_wait_for_what_concerns_them() {
    let Some(context) = context() else { return };
    let (slow, queue) = (Queue::new(&context).unwrap(), Queue::new(&context).unwrap());
    let (a, b) = (Buffer::from_vec(vec![1_u32; 2]).unwrap(), Buffer::from_vec(vec![1_u32; 2]).unwrap());
    let part = a.read_write().slice(1..).unwrap();
    // So that both kernels are compiled.
    queue.parallel_for(1, advance_late(&part, 1, 0)).unwrap().wait().unwrap();
    queue.parallel_for(2, advance(b.read_write(), 1, 0)).unwrap();
    b.host_read().unwrap();
    let event = slow.parallel_for(1, advance_late(&part, 10 * SLOW, 5)).unwrap();
    // A thread that waits for one of Intel's queues runs kernels of any; this one has begun elsewhere then.
    slow.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    queue.parallel_for(2, advance(b.read_write(), 2, 1)).unwrap();
    assert_eq!(*b.host_read().unwrap(), [3; 2]);
    assert_eq!(*a.read().slice(..1).unwrap().host().unwrap(), [1]);
    assert!(!event.is_complete().unwrap(), "too quick a device to see anything");
    assert_eq!(*a.host_read().unwrap(), [1, 6]);
    assert!(event.is_complete().unwrap());
}

#[test]
fn one_host_writer_at_a_time() {
    let buffer = Buffer::from_vec(vec![1_u32; 10]).unwrap();
    let halves = [buffer.read_write().slice(..5).unwrap(), buffer.read_write().slice(5..).unwrap()];
    let mut writers = halves.each_ref().map(|half| half.host().unwrap());
    for error in [buffer.host_read().map(drop), halves[0].host().map(drop)].map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("host"), "{error}");
    }
    writers[0].fill(2);
    drop(writers);
    assert_eq!(*buffer.host_read().unwrap(), [2, 2, 2, 2, 2, 1, 1, 1, 1, 1]);
}

#[test]
fn commands_wait_for_host_writers() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let other = Context::new(context.device()).unwrap();
    let elsewhere = Queue::new(&other).unwrap();
    // The contents are on the host, then on the device.
    for on_device in [false, true] {
        let buffer = Buffer::from_vec(vec![1_u32; 8]).unwrap();
        if on_device {
            queue.parallel_for(8, advance(buffer.read_write(), 1, 0)).unwrap();
        }
        let part = |from, to| buffer.read_write().slice(from..to).unwrap();
        let (mut low, mut high) = (part(0, 2).host().unwrap(), part(6, 8).host().unwrap());
        let waits = queue.parallel_for(4, advance(part(0, 4), 3, 1)).unwrap();
        let moved = elsewhere.parallel_for(8, advance(buffer.read_write(), 2, 0)).unwrap();
        if on_device {
            // Nobody writes these, and they were at hand.
            let passes = queue.parallel_for(2, advance(Buffer::<u32>::new(2).unwrap().read_write(), 3, 1));
            passes.unwrap().wait().unwrap();
        }
        let mut seen = [0; 8];
        for refused in [
            queue.read(&buffer.read()).map(drop),
            queue.copy_to_host(&buffer.read(), &mut seen),
            queue.copy_to_device(&seen, &buffer.write()),
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("drop the other host accessor"), "{error}");
        }
        low.fill(5);
        high.fill(6);
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(!waits.is_complete().unwrap() && !moved.is_complete().unwrap());
        low.finish().unwrap();
        drop(high);
        moved.wait().unwrap();
        assert!(waits.is_complete().unwrap());
        assert_eq!(*buffer.host_read().unwrap(), [32, 32, 8, 8, 2, 2, 12, 12]);
    }
}

#[test]
fn a_leaked_host_writer_keeps_its_part_only() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec(vec![1_u32; 8]).unwrap();
    queue.parallel_for(8, advance(buffer.read_write(), 1, 0)).unwrap();
    std::mem::forget(buffer.read_write().slice(..2).unwrap().host().unwrap());
    let rest = buffer.read_write().slice(2..).unwrap();
    queue.parallel_for(6, advance(&rest, 2, 1)).unwrap().wait().unwrap();
    assert_eq!(*buffer.read().slice(2..).unwrap().host().unwrap(), [3; 6]);
    assert_eq!(buffer.host_read().unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn memory_of_poorer_devices() {
    let Some(device) = common::device() else { return };
    for mask in [Mask::SHARED_USM, Mask::SHARED_USM | Mask::HOST_USM, Mask::USM] {
        let context = Context::new(&device.masked(mask)).unwrap();
        let queue = Queue::new(&context).unwrap();
        let buffer = Buffer::from_vec(vec![1_u32; 64]).unwrap();
        let launched = queue.parallel_for(64, advance(buffer.read_write(), 2, 1));
        if mask == Mask::USM {
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

#[test]
fn contents_go_back_to_the_host() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let target = HostTarget::from_vec(vec![1_u32; 4]);
    let run = |buffer: &Buffer<u32>| {
        queue.parallel_for(4, advance_late(buffer.read_write(), SLOW / 10, 1)).unwrap()
    };

    let buffer = Buffer::with_host_data(4, &target).unwrap();
    let clone = buffer.clone();
    run(&buffer);
    drop(buffer);
    assert_eq!(target.to_vec().unwrap(), [1; 4], "a clone lives");
    drop(clone);
    let late = target.to_vec().unwrap()[0];
    assert_ne!(late, 1);

    let buffer = Buffer::with_host_data(4, &target).unwrap();
    queue.parallel_for(4, advance(buffer.read_write(), 0, 5)).unwrap();
    buffer.set_write_back(false);
    drop(buffer);
    assert_ne!(target.to_vec().unwrap(), [5; 4]);

    let buffer = Buffer::with_host_data(4, &target).unwrap();
    queue.parallel_for(4, advance(buffer.read_write(), 0, 5)).unwrap();
    buffer.write_back().unwrap();
    assert_eq!(target.to_vec().unwrap(), [5; 4]);
    queue.parallel_for(4, advance(buffer.read_write(), 0, 6)).unwrap();
    buffer.set_final_data(None).unwrap();
    drop(buffer);
    assert_eq!(target.to_vec().unwrap(), [5; 4]);

    // Nothing wrote: the host may have changed its data meanwhile, and keeps them.
    let buffer = Buffer::from_vec(vec![3_u32; 4]).unwrap();
    buffer.set_final_data(Some(&target)).unwrap();
    queue.parallel_for(4, combine(buffer.read(), Buffer::<u32>::new(4).unwrap().read_write(), 1)).unwrap();
    drop(buffer);
    assert_eq!(target.to_vec().unwrap(), [5; 4]);

    // Host accessors write, too, and a sub-buffer keeps the buffer.
    let buffer = Buffer::<u32>::new(4).unwrap();
    buffer.set_final_data(Some(&target)).unwrap();
    let sub_buffer = buffer.sub_buffer(0, 2).unwrap();
    drop(buffer);
    sub_buffer.host_write().unwrap().fill(8);
    drop(sub_buffer);
    assert_eq!(target.to_vec().unwrap(), [8, 8, 0, 0]);

    let error = Buffer::<u32>::new(5).unwrap().set_final_data(Some(&target)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn contents_go_back_to_a_borrowed_slice() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let mut data = [1_u32; 4];
    let buffer = Buffer::from_slice(4, &data).unwrap();
    {
        let _back = buffer.write_back_to(&mut data).unwrap();
        queue.parallel_for(4, advance(buffer.read_write(), 2, 2)).unwrap();
    }
    assert_eq!(data, [4; 4]);
    buffer.write_back_to(&mut [0; 4]).unwrap().finish().unwrap();
    assert_eq!(buffer.write_back_to(&mut [0; 3]).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn sub_buffers_share_their_elements() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec((0..256).collect::<Vec<u32>>()).unwrap();
    let halves = [buffer.sub_buffer(0, 128).unwrap(), buffer.sub_buffer(128, 128).unwrap()];
    assert!(halves[1].is_sub_buffer() && !buffer.is_sub_buffer());
    assert_eq!((halves[1].len(), halves[1].size_bytes()), (128, 512));
    for step in 0..20 {
        queue.parallel_for(128, combine(halves[0].read(), halves[1].read_write(), step)).unwrap();
        queue.parallel_for(256, advance(buffer.read_write(), 3, step)).unwrap();
    }
    let mut expected: Vec<u32> = (0..256).collect();
    for step in 0..20 {
        for i in 0..128 {
            expected[128 + i] = expected[128 + i].wrapping_mul(step).wrapping_add(expected[i]);
        }
        expected.iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(step));
    }
    assert_eq!(*halves[1].host_read().unwrap(), expected[128..]);
    assert_eq!(*buffer.host_read().unwrap(), *expected);
}

#[test]
fn sub_buffers_have_rules() {
    let Some(context) = context() else { return };
    let buffer = Buffer::<u32>::new([8, 64]).unwrap();
    let rows = buffer.sub_buffer([2, 0], [3, 64]).unwrap();
    assert!(buffer.sub_buffer([2, 5], [1, 50]).is_ok());
    assert!(buffer.sub_buffer([8, 0], [0, 64]).is_ok());
    for (bad, why) in [
        (buffer.sub_buffer([2, 1], [2, 63]), "side by side"),
        (buffer.sub_buffer([6, 0], [3, 64]), "not within"),
        (buffer.sub_buffer(0, 64), "not within"),
        (rows.sub_buffer([0, 0], [1, 64]), "sub-buffer of a sub-buffer"),
    ] {
        let error = bad.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(why) && error.to_string().contains("[8, 64] `u32`"), "{error}");
    }
    // Devices want sub-buffers to begin at certain addresses.
    let queue = Queue::new(&context).unwrap();
    let alignment = context.device().capabilities().limits.buffer_alignment_bytes;
    let odd = buffer.sub_buffer([0, 1], [1, 8]).unwrap();
    let launched = queue.parallel_for(8, advance(odd.read_write(), 1, 1));
    if alignment > 4 {
        let error = launched.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(&format!("multiple of {alignment} bytes")), "{error}");
    } else {
        launched.unwrap();
    }
    odd.host_write().unwrap().fill(1);
    queue.parallel_for(8, advance(buffer.read_write().part([0, 1], [1, 8]).unwrap(), 1, 1)).unwrap();
    assert_eq!(*odd.host_read().unwrap(), [2; 8]);
}

#[test]
fn contents_follow_their_users_between_contexts() {
    let Some(context) = context() else { return };
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

#[test]
fn contents_that_nobody_needs_are_not_brought() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let session = Session::start();
    let buffer = Buffer::<u32>::new(1000).unwrap();
    queue.parallel_for(1000, number(buffer.write().no_init(), 1)).unwrap();
    let copied = Buffer::from_vec(vec![1_u32; 1000]).unwrap();
    queue.copy(&buffer.read(), &copied.write()).unwrap();
    let filled = Buffer::from_vec(vec![1_u32; 1000]).unwrap();
    queue.fill(&filled.write(), 3).unwrap();
    assert_eq!((session.count("clEnqueueMemFillINTEL"), session.count("clEnqueueMemcpyINTEL")), (1, 1));
    assert_eq!(allocated(&session, &context), 3);
    assert_eq!(copied.host_read().unwrap()[999], 1000);
    // Reads from the device that has them bring nothing; the first need of the old contents does.
    let before = session.count("clEnqueueMemFillINTEL");
    let fresh = Buffer::<u32>::new(1000).unwrap();
    queue.parallel_for(1000, number(fresh.write(), 1)).unwrap();
    queue.parallel_for(1000, advance(fresh.read_write(), 1, 1)).unwrap();
    assert_eq!(session.count("clEnqueueMemFillINTEL"), before + 1);
}

#[test]
fn buffers_without_elements() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    for buffer in [Buffer::<u32>::new(0).unwrap(), Buffer::from_vec(Vec::new()).unwrap()] {
        assert!(buffer.is_empty());
        queue.parallel_for(0, advance(buffer.read_write(), 1, 1)).unwrap();
        queue.copy(&buffer.read(), &Buffer::<u32>::new(0).unwrap().write()).unwrap();
        queue.fill(&buffer.write(), 1).unwrap().wait().unwrap();
        assert!(buffer.host_read().unwrap().is_empty());
        buffer.host_write().unwrap().fill(1);
        assert!(queue.read(&buffer.read()).unwrap().is_empty());
        assert!(buffer.sub_buffer(0, 0).unwrap().is_empty());
    }
    let flat = Buffer::<u32>::new([5, 0]).unwrap();
    assert!(flat.host_read().unwrap().is_empty());
    let buffer = Buffer::from_vec(vec![1_u32; 8]).unwrap();
    queue.parallel_for(0, advance(buffer.read_write().slice(8..).unwrap(), 1, 1)).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [1; 8]);
}

#[test]
fn errors_name_the_buffer_and_leave_nothing() {
    let Some(context) = context() else { return };
    assert_eq!(Buffer::<u64>::new([usize::MAX, 2]).unwrap_err().kind(), ErrorKind::MemoryAllocation);
    assert_eq!(Buffer::<u64>::new(usize::MAX / 16 + 1).unwrap_err().kind(), ErrorKind::MemoryAllocation);
    let queue = Queue::new(&context).unwrap();
    queue
        .parallel_for(1, advance(Buffer::<u32>::new(1).unwrap().read_write(), 1, 1))
        .unwrap()
        .wait()
        .unwrap();
    let session = Session::start();
    let huge = Buffer::<u32>::new(1 << 50).unwrap();
    let error = queue.parallel_for(1, advance(huge.read_write(), 1, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MemoryAllocation);
    assert!(error.to_string().contains(&format!("[{}] `u32`", 1_u64 << 50)), "{error}");
    assert_eq!(huge.host_read().unwrap_err().kind(), ErrorKind::MemoryAllocation);

    let buffer = Buffer::from_vec(vec![1_u32; 100]).unwrap();
    for call in ["clSharedMemAllocINTEL", "clEnqueueMemcpyINTEL", "clEnqueueNDRangeKernel"] {
        // Where freed memory is kept, the driver gets it back and is asked once more.
        let again = call == "clSharedMemAllocINTEL" && context.spare_memory().blocks > 0;
        (1..=1 + u64::from(again)).for_each(|nth| session.fail(call, nth, -5));
        let outcome = queue.parallel_for(100, advance(buffer.read_write(), 3, 1));
        assert_eq!(outcome.is_err(), session.pending_faults() == 0, "{call}");
        assert!(outcome.is_err() || call == "clSharedMemAllocINTEL", "{call}");
    }
    queue.parallel_for(100, advance(buffer.read_write(), 3, 1)).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [4; 100]);
    // A host accessor that cannot be opened does not keep commands away.
    session.fail("clEnqueueMemcpyINTEL", 1, -5);
    buffer.host_write().unwrap_err();
    queue.parallel_for(100, advance(buffer.read_write(), 2, 0)).unwrap();
    session.fail("clEnqueueMemcpyINTEL", 2, -5);
    buffer.host_write().unwrap().finish().unwrap_err();
    assert_eq!(*buffer.host_read().unwrap(), [8; 100]);
    drop(buffer);
    queue.wait().unwrap();
    assert_eq!(allocated(&session, &context), 0, "{:?}", session.live());
}

/// Contents on their way to another context, or from the host, while something is in the way; the copy fails.
#[test]
fn contents_that_do_not_arrive_are_where_they_were() {
    let Some(context) = context() else { return };
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
            // From a context they are read and written, and before that the writer puts back its own.
            let copies = if in_context { [2, 3] } else { [1, 1] };
            let fails = copies[usize::from(queue.is_out_of_order())];
            session.fail("clEnqueueMemcpyINTEL", fails, -5);
            writer.finish().unwrap();
            for event in [&lost, &behind] {
                let error = event.wait().unwrap_err().to_string();
                assert!(error.contains("clEnqueueMemcpyINTEL"), "{error}");
            }
            assert_eq!(session.pending_faults(), 0);
            let error = buffer.host_read().unwrap_err().to_string();
            assert!(error.contains("clEnqueueMemcpyINTEL"), "{error}");
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

#[test]
fn failures_of_drops_are_reported_later() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let target = HostTarget::from_vec(vec![1_u32; 4]);
    let buffer = Buffer::with_host_data(4, &target).unwrap();
    queue.parallel_for(4, advance(buffer.read_write(), 3, 1)).unwrap().wait().unwrap();
    let session = Session::start();
    session.fail("clEnqueueMemcpyINTEL", 1, -5);
    drop(buffer);
    assert_eq!(session.pending_faults(), 0);
    let error = queue.marker().unwrap_err();
    assert!(error.to_string().contains("writing a buffer back"), "{error}");
    assert_eq!(target.to_vec().unwrap(), [1; 4]);
    queue.marker().unwrap();
}

#[test]
fn an_accessor_that_only_writes_is_not_for_reading() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let (x, y) = (Buffer::<u32>::new(4).unwrap(), Buffer::<u32>::new(4).unwrap());
    let error = queue.parallel_for(4, combine(x.write(), y.read_write(), 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("argument 0") && error.to_string().contains("only writes"), "{error}");
}

#[test]
fn one_command_uses_a_buffer_several_times() {
    let Some(context) = context() else { return };
    let queue = out_of_order(&context);
    let x = Buffer::from_vec((0..64).collect::<Vec<u32>>()).unwrap();
    for _ in 0..10 {
        let (low, high) = (x.read().slice(..32).unwrap(), x.read_write().slice(32..).unwrap());
        queue.parallel_for(32, combine(&low, &high, 1)).unwrap();
        queue.parallel_for(64, combine(x.read(), x.read_write(), 1)).unwrap();
    }
    let mut expected: Vec<u32> = (0..64).collect();
    for _ in 0..10 {
        (0..32).for_each(|i| expected[32 + i] = expected[32 + i].wrapping_add(expected[i]));
        expected.iter_mut().for_each(|x| *x = x.wrapping_mul(2));
    }
    assert_eq!(*x.host_read().unwrap(), *expected);
}

#[test]
fn dropping_a_buffer_does_not_wait_and_leaves_nothing() {
    let Some(context) = context() else { return };
    let device = context.device().clone();
    drop(context);
    let session = Session::start();
    let context = Context::new(&device).unwrap();
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec(vec![1_u32; 1 << 16]).unwrap();
    let event = queue.parallel_for(1, advance_late(buffer.read_write(), SLOW, 1)).unwrap();
    drop(buffer);
    assert!(!event.is_complete().unwrap(), "too quick a device to see anything");
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
    assert!(session.live().is_empty(), "{:?}", session.live());
}
