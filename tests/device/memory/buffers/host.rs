//! What the host reads and writes, while commands run and when a buffer goes.

use super::{SLOW, out_of_order};
use crate::kernels::buffers::{advance, advance_late, combine};
use oclave::memory::{HostTarget, Shape};
use oclave::{Buffer, Context, ErrorKind, Queue};

#[device_test]
fn host_writers_change_parts(context: Context) {
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
        assert_eq!(all.shape(), Shape::from([4, 4]));
        all.fill(9);
        drop(all);
        queue.parallel_for(16, advance(buffer.read_write(), 2, 1)).unwrap();
        assert_eq!(*buffer.host_read().unwrap(), [19; 16]);
        buffer.host_write().unwrap().fill(0);
    }
}

#[device_test]
fn host_readers_keep_what_they_saw(context: Context) {
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec(vec![1_u32; 10]).unwrap();
    let (first, second) = (buffer.host_read().unwrap(), buffer.read().slice(..5).unwrap().host().unwrap());
    queue.parallel_for(10, advance(buffer.read_write(), 1, 1)).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [2; 10]);
    assert_eq!(*first, [1; 10]);
    assert_eq!(*second, [1; 5]);
}

#[device_test]
fn host_accessors_wait_for_what_concerns_them(context: Context) {
    let (slow, queue) = (Queue::new(&context).unwrap(), Queue::new(&context).unwrap());
    let (a, b) = (Buffer::from_vec(vec![1_u32; 2]).unwrap(), Buffer::from_vec(vec![1_u32; 2]).unwrap());
    let part = a.read_write().slice(1..).unwrap();
    // So that both kernels are compiled.
    queue.parallel_for(1, advance_late(&part, 1, 0)).unwrap().wait().unwrap();
    queue.parallel_for(2, advance(b.read_write(), 1, 0)).unwrap();
    b.host_read().unwrap();
    let event = slow.parallel_for(1, advance_late(&part, 10 * SLOW, 5)).unwrap();
    // A thread that waits for one of Intel's queues runs kernels of any; this one has begun
    // elsewhere then.
    slow.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    queue.parallel_for(2, advance(b.read_write(), 2, 1)).unwrap();
    assert_eq!(*b.host_read().unwrap(), [3; 2]);
    assert_eq!(*a.read().slice(..1).unwrap().host().unwrap(), [1]);
    if event.is_complete().unwrap() {
        println!("skipped: the kernel ended before the test could look");
        return;
    }
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
        assert!(format!("{error:#}").contains("host"), "{error}");
    }
    writers[0].fill(2);
    drop(writers);
    assert_eq!(*buffer.host_read().unwrap(), [2, 2, 2, 2, 2, 1, 1, 1, 1, 1]);
}

#[device_test]
fn commands_wait_for_host_writers(context: Context) {
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
            queue.read_into(&buffer.read(), &mut seen),
            queue.write(&buffer.write(), &seen),
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(format!("{error:#}").contains("drop the other host accessor"), "{error}");
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

#[device_test]
fn a_leaked_host_writer_keeps_its_part_only(context: Context) {
    let queue = out_of_order(&context);
    let buffer = Buffer::from_vec(vec![1_u32; 8]).unwrap();
    queue.parallel_for(8, advance(buffer.read_write(), 1, 0)).unwrap();
    std::mem::forget(buffer.read_write().slice(..2).unwrap().host().unwrap());
    let rest = buffer.read_write().slice(2..).unwrap();
    queue.parallel_for(6, advance(&rest, 2, 1)).unwrap().wait().unwrap();
    assert_eq!(*buffer.read().slice(2..).unwrap().host().unwrap(), [3; 6]);
    assert_eq!(buffer.host_read().unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn contents_go_back_to_the_host(context: Context) {
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

#[device_test]
fn contents_go_back_to_a_borrowed_slice(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let mut data = [1_u32; 4];
    let buffer = Buffer::with_data(4, data.to_vec()).unwrap();
    {
        let _back = buffer.write_back_to(&mut data).unwrap();
        queue.parallel_for(4, advance(buffer.read_write(), 2, 2)).unwrap();
    }
    assert_eq!(data, [4; 4]);
    buffer.write_back_to(&mut [0; 4]).unwrap().finish().unwrap();
    assert_eq!(buffer.write_back_to(&mut [0; 3]).unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn slices_and_arrays_are_copied(context: Context) {
    let queue = out_of_order(&context);
    let data = [1_u32, 2, 3, 4];
    for buffer in [
        Buffer::with_data([2, 2], &data),
        Buffer::with_data([2, 2], data.as_slice()),
        Buffer::with_data([2, 2], std::sync::Arc::<[u32]>::from(data)),
    ] {
        let buffer = buffer.unwrap();
        assert_eq!(*buffer.host_read().unwrap(), data);
        queue.write_async(&buffer.write().slice(1..).unwrap(), &data[..2]).unwrap();
        assert_eq!(*buffer.host_read().unwrap(), [1, 2, 1, 2]);
    }
    assert_eq!(Buffer::with_data(3, &data).unwrap_err().kind(), ErrorKind::Invalid);
}
