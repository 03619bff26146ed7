//! What raw commands can make the library believe: nothing about commands that are not theirs.

use std::sync::Arc;

use super::opencl::{launch, own};
use super::raw::Raw;
use crate::common::{bundle, call, queues_and_eventless};
use oclave::command::NativeKernel;
use oclave::kernel::{KernelBundle, KernelCall};
use oclave::memory::usm;
use oclave::native::{EventHandle, Submission};
use oclave::{Command, Context, Queue, UsmSlice};

/// Long enough to be still running when the next statements are executed.
const SLOW: u32 = 20_000_000;

/// Adds 1 after a while.
fn slow(bundle: &KernelBundle, value: &UsmSlice<u32, usm::Shared>) -> KernelCall {
    call(bundle, "slow").pointer_mut(value).value(SLOW)
}

fn zero(context: &Context) -> UsmSlice<u32, usm::Shared> {
    let value = context.alloc_shared::<u32>(1).unwrap();
    value.write().unwrap().fill(0);
    value
}

/// Raw OpenCL and a kernel for it.
struct Side {
    raw: Raw,
    kernel: NativeKernel,
}

// SAFETY: function pointers and handles; the arguments of the kernel are set once.
unsafe impl Send for Side {}
// SAFETY: as above.
unsafe impl Sync for Side {}

impl Side {
    fn new(queue: &Queue, call: &KernelCall) -> Arc<Self> {
        let raw = Raw::new(queue.device().name(), false);
        Arc::new(Self { raw, kernel: queue.native_kernel(call).unwrap() })
    }
}

/// An event that ended before the commands of the queue proves nothing about them.
#[device_test]
fn an_old_event_does_not_end_the_commands_of_its_queue(context: Context) {
    let bundle = bundle(&context);
    for queue in queues_and_eventless(&context) {
        let done = queue.marker().unwrap();
        done.wait().unwrap();
        let stale = Arc::new(done.to_native(&context).unwrap());
        let value = zero(&context);
        queue.single_task(slow(&bundle, &value)).unwrap();
        // SAFETY: it puts nothing on the queue.
        let nothing = unsafe { Command::native(&[], move |_| stale.try_clone()) };
        queue.submit(nothing).unwrap().wait().unwrap();
        assert_eq!(*value.read().unwrap(), [1]);
    }
}

/// Raw commands on a queue of their own: later commands of the library's queue come after them.
#[device_test]
fn raw_commands_on_another_queue_take_their_place(context: Context) {
    let bundle = bundle(&context);
    for queue in queues_and_eventless(&context) {
        let value = zero(&context);
        let side = Side::new(&queue, &slow(&bundle, &value));
        let other = Queue::new(&context).unwrap();
        let enqueue = move |to: &Submission<'_>| -> oclave::Result<EventHandle> {
            Ok(own(launch(&side.raw, other.native(), side.kernel.raw(), to.wait_list())))
        };
        // SAFETY: the kernel uses the value only, waits for the list, and the event is its own.
        let native = unsafe { Command::native(&[&value], enqueue) };
        let event = queue.submit(native).unwrap();
        let behind = queue.after(&[&event]).marker().unwrap();
        behind.wait().unwrap();
        assert_eq!(event.status().unwrap(), oclave::event::EventStatus::Complete);
        assert_eq!(*value.read().unwrap(), [1]);
    }
}

/// What was put on the queue before the closure failed goes on, and the memory that it uses is not
/// the host's meanwhile.
#[device_test]
fn memory_outlives_raw_commands_whose_closure_failed(context: Context) {
    let bundle = bundle(&context);
    for queue in queues_and_eventless(&context) {
        let value = zero(&context);
        let side = Side::new(&queue, &slow(&bundle, &value));
        let enqueue = move |to: &Submission<'_>| -> Result<EventHandle, &str> {
            drop(own(launch(&side.raw, to.queue(), side.kernel.raw(), to.wait_list())));
            Err("no more of this")
        };
        // SAFETY: the kernel uses the value only and waits for the list.
        let native = unsafe { Command::native(&[&value], enqueue) };
        let error = queue.submit(native).unwrap_err();
        assert!(format!("{error:#}").contains("no more of this"), "{error:#}");
        assert_eq!(*value.read().unwrap(), [1]);
    }
}
