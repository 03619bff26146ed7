//! Buffers: contents, order, host access, write-back, sub-buffers, contexts, lifetimes and errors,
//! on the selected device.

mod host;
mod parts;
mod places;

use std::sync::Arc;

use crate::common::{allocated, host_copy_calls, memory_call};
use crate::kernels::buffers::{advance, combine, number};
use oclave::memory::HostTarget;
use oclave::record::Session;
use oclave::{Buffer, Command, Context, ErrorKind, Queue};
/// Long enough to be still running when the next statements are executed.
const SLOW: u32 = 20_000_000;

fn out_of_order(context: &Context) -> Queue {
    Queue::builder(context).out_of_order().build().unwrap()
}

#[device_test]
fn contents_come_from_where_they_were_given(context: Context) {
    let queue = out_of_order(&context);
    let data: Vec<u32> = (0..1000).collect();
    let shared: Arc<[u32]> = data.clone().into();
    for buffer in [
        Buffer::from_vec(data.clone()).unwrap(),
        Buffer::with_data(1000, shared).unwrap(),
        Buffer::with_data(1000, data.to_vec()).unwrap(),
        Buffer::with_host_data(1000, &HostTarget::from_vec(data.clone())).unwrap(),
    ] {
        assert_eq!(*buffer.host_read().unwrap(), *data);
        queue.parallel_for(1000, advance(buffer.read_write(), 2, 1)).unwrap();
        let expected: Vec<u32> = data.iter().map(|x| x * 2 + 1).collect();
        assert_eq!(*buffer.host_read().unwrap(), *expected);
    }
    let error = Buffer::with_data(999, data).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(format!("{error:#}").contains("[999] `u32`"), "{error}");
}

#[device_test]
fn new_buffers_are_zero(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let buffer = Buffer::<u32>::new([10, 10]).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [0; 100]);
    // A part is written, the rest stays.
    queue.parallel_for(10, number(buffer.write().slice(5..6).unwrap().no_init(), 1)).unwrap();
    let data = buffer.host_read().unwrap();
    assert_eq!(data.iter().sum::<u32>(), 55);
    assert_eq!(data[50..60], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

#[device_test]
fn commands_run_in_the_order_of_their_accesses(context: Context) {
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

#[device_test]
fn copies_fills_and_reads(context: Context) {
    for queue in [Queue::new(&context).unwrap(), out_of_order(&context)] {
        let (a, b) = (Buffer::<u32>::new(100).unwrap(), Buffer::<u32>::new(100).unwrap());
        let memory = context.alloc_device::<u32>(50).unwrap();
        queue.fill(&a.write(), 7).unwrap();
        queue.copy(&a.read(), &b.write()).unwrap();
        let copied = queue.copy(&b.read().slice(..50).unwrap(), &memory).unwrap();
        assert_eq!(queue.after(&[&copied]).read(&memory).unwrap(), [7; 50]);
        queue.memset(&b.write().slice(10..20).unwrap(), 1).unwrap();
        queue.write_async(&b.write().slice(20..30).unwrap(), vec![5; 10]).unwrap();
        queue.write(&b.write().slice(30..40).unwrap(), &[6; 10]).unwrap();
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
        queue.read_into(&b.read().slice(15..35).unwrap(), &mut some).unwrap();
        assert_eq!(some, expected[15..35]);
        let target = HostTarget::new(100).unwrap();
        queue.submit(Command::read(&b.read(), &target)).unwrap().wait().unwrap();
        assert_eq!(target.to_vec().unwrap(), expected);
        let error = queue.copy(&a.read(), &b.write().slice(1..).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let error = queue.read_into(&a.read(), &mut some).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let error = queue.copy(&a.read(), &a.write()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "overlapping");
        queue.copy(&a.read().slice(..50).unwrap(), &a.write().slice(50..).unwrap()).unwrap().wait().unwrap();
    }
}

#[device_test]
fn errors_name_the_buffer_and_leave_nothing(context: Context) {
    let session = Session::start();
    assert_eq!(Buffer::<u64>::new([usize::MAX, 2]).unwrap_err().kind(), ErrorKind::MemoryAllocation);
    assert_eq!(Buffer::<u64>::new(usize::MAX / 16 + 1).unwrap_err().kind(), ErrorKind::MemoryAllocation);
    let queue = Queue::new(&context).unwrap();
    queue
        .parallel_for(1, advance(Buffer::<u32>::new(1).unwrap().read_write(), 1, 1))
        .unwrap()
        .wait()
        .unwrap();
    let huge = Buffer::<u32>::new(1 << 50).unwrap();
    let error = queue.parallel_for(1, advance(huge.read_write(), 1, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MemoryAllocation);
    assert!(format!("{error:#}").contains(&format!("[{}] `u32`", 1_u64 << 50)), "{error}");
    assert_eq!(huge.host_read().unwrap_err().kind(), ErrorKind::MemoryAllocation);

    // Smaller memory may be a piece of what the driver has allocated before.
    const LEN: usize = 1 << 15;
    let buffer = Buffer::from_vec(vec![1_u32; LEN]).unwrap();
    let allocate = memory_call("clSharedMemAllocINTEL");
    let [read, write] = host_copy_calls();
    for call in [allocate, write, "clEnqueueNDRangeKernel"] {
        // Where freed memory is kept, the driver gets it back and is asked once more.
        let again = call == allocate && context.spare_memory().blocks > 0;
        (1..=1 + u64::from(again)).for_each(|nth| session.fail(call, nth, -5));
        let outcome = queue.parallel_for(LEN, advance(buffer.read_write(), 3, 1));
        assert_eq!(outcome.is_err(), session.pending_faults() == 0, "{call}");
        assert!(outcome.is_err() || call == allocate, "{call}");
    }
    queue.parallel_for(LEN, advance(buffer.read_write(), 3, 1)).unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [4; LEN]);
    // A host accessor that cannot be opened does not keep commands away.
    session.fail(read, 1, -5);
    buffer.host_write().unwrap_err();
    queue.parallel_for(LEN, advance(buffer.read_write(), 2, 0)).unwrap();
    // The contents come before they go back.
    session.fail(write, 1 + u64::from(read == write), -5);
    buffer.host_write().unwrap().finish().unwrap_err();
    assert_eq!(*buffer.host_read().unwrap(), [8; LEN]);
    drop(buffer);
    queue.wait().unwrap();
    assert_eq!(allocated(&session, &context), 0, "{:?}", session.live());
}

#[device_test]
fn an_accessor_that_only_writes_is_not_for_reading(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let (x, y) = (Buffer::<u32>::new(4).unwrap(), Buffer::<u32>::new(4).unwrap());
    let error = queue.parallel_for(4, combine(x.write(), y.read_write(), 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        format!("{error:#}").contains("argument 0") && format!("{error:#}").contains("only writes"),
        "{error}"
    );
}

#[device_test]
fn one_command_uses_a_buffer_several_times(context: Context) {
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
