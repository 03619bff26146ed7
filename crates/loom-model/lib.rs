//! A model of the locks of promises (`src/event/latch.rs`), queues (`src/queue/order.rs`) and host
//! targets (`crates/oclave-driver/src/lifetime/host_target_lock.rs`), run by loom in every order.
//!
//! Each test is a small program that went wrong once, or would without one of the locks. A hang is a
//! failure: loom reports threads that wait forever.
#![cfg(test)]
#![allow(dead_code, unreachable_pub, reason = "the library uses more of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../src/event/latch.rs"]
mod latch;
#[path = "../../src/queue/order.rs"]
mod order;
#[path = "../oclave-driver/src/lifetime/host_target_lock.rs"]
mod host_target_lock;

/// What `order` uses of promises.
mod event {
    use crate::latch::Latch;
    use crate::sync::Arc;

    pub(crate) struct Promise(pub(crate) Arc<Latch<()>>);

    impl Promise {
        pub(crate) fn new() -> Arc<Self> {
            Arc::new(Self(Latch::new()))
        }

        pub(crate) fn comes_after(&self, other: &Self) {
            self.0.comes_after(&other.0);
        }
    }
}

/// Of no interest to the locks.
#[derive(Clone)]
struct Event;

#[derive(Clone)]
struct Error;

/// What `latch`, `order` and `host_target_lock` use, of loom.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
    pub(crate) use loom::sync::{Arc, MutexGuard};

    /// As `oclave_driver::sync::Mutex`.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    /// As `oclave_driver::sync::Condvar`.
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap()
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// A value that is set once. It is leaked, as loom has no such type.
    pub(crate) struct OnceLock<T: 'static>(Mutex<Option<&'static T>>);

    impl<T> OnceLock<T> {
        pub(crate) fn new() -> Self {
            Self(Mutex::new(None))
        }

        pub(crate) fn get(&self) -> Option<&T> {
            *self.0.lock()
        }

        pub(crate) fn set(&self, value: T) -> Result<(), T> {
            let mut place = self.0.lock();
            if place.is_some() {
                return Err(value);
            }
            *place = Some(Box::leak(Box::new(value)));
            Ok(())
        }
    }
}

use event::Promise;
use latch::Latch;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use order::{Order, Rank, Ticket};
use host_target_lock::{HostTargetLock, NotReady, Writer};

/// Ends a command as `DeferredCommand::finish` does.
fn finish(order: &Order, promise: &Promise, ticket: Ticket) {
    promise.0.set(());
    order.leave(ticket);
    promise.0.tell();
}

/// Each waiting thread sees the outcome, and each callback is called once, whenever it is set.
#[test]
fn a_wait_ends_and_callbacks_are_called_once() {
    loom::model(|| {
        let latch = Latch::<u32, ()>::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let setter = thread::spawn({
            let latch = Arc::clone(&latch);
            move || {
                latch.set(7);
                latch.tell();
            }
        });
        let waiter = thread::spawn({
            let latch = Arc::clone(&latch);
            move || {
                latch.wait();
                assert_eq!(latch.outcome(), Some(&7));
            }
        });
        let counted = Arc::clone(&calls);
        latch.when_known(move |outcome| {
            assert_eq!(*outcome, 7);
            counted.fetch_add(1, Ordering::SeqCst);
        });
        setter.join().unwrap();
        waiter.join().unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    });
}

/// Of two tasks that wait for each other one is told at least, and the other one's wait ends when that has.
#[test]
fn tasks_that_wait_for_each_other_are_told() {
    loom::model(|| {
        let (a, b) = (Latch::<()>::new(), Latch::<()>::new());
        let told = Arc::new(AtomicUsize::new(0));
        let task = |own: &Arc<Latch<()>>, other: &Arc<Latch<()>>| {
            let (own, other, told) = (Arc::clone(own), Arc::clone(other), Arc::clone(&told));
            thread::spawn(move || {
                if Latch::wait_in(&other, &own, Latch::wait).is_err() {
                    told.fetch_add(1, Ordering::SeqCst);
                }
                own.set(());
                own.tell();
            })
        };
        let tasks = [task(&a, &b), task(&b, &a)];
        for task in tasks {
            task.join().unwrap();
        }
        assert!(told.load(Ordering::SeqCst) >= 1);
    });
}

/// A task waits for a queue, while a thread puts a command there that waits for the task. The task
/// sees the command together with what it waits for, or not at all.
#[test]
fn a_command_is_seen_with_all_that_it_waits_for() {
    for in_order in [true, false] {
        loom::model(move || {
            let task = Promise::new();
            let order = Arc::new(Order::new(in_order));
            let runs = thread::spawn({
                let (task, order) = (Arc::clone(&task), Arc::clone(&order));
                move || {
                    for held in order.held() {
                        assert!(Latch::wait_in(&held.0, &task.0, Latch::wait).is_err());
                    }
                    task.0.set(());
                    task.0.tell();
                }
            });
            // As `defer` does: noted first, and then published.
            let behind = Promise::new();
            if task.0.outcome().is_none() {
                behind.comes_after(&task);
            }
            let (ticket, before) = order.enter(Rank::Plain, &behind);
            assert!(before.is_empty());
            let (ends, of) = (Arc::clone(&behind), Arc::clone(&order));
            task.0.when_known(move |()| finish(&of, &ends, ticket));
            behind.0.wait();
            runs.join().unwrap();
            assert!(order.lets_pass(Rank::AfterAll) && order.held().is_empty());
        });
    }
}

/// A thread that puts a command on an in-order queue finds those before it, or they have ended. A
/// task on the queue that waits for it is told.
#[test]
fn commands_of_an_in_order_queue_stay_behind_those_before() {
    loom::model(|| {
        let order = Arc::new(Order::new(true));
        let task = Promise::new();
        let (first, _) = order.enter(Rank::Plain, &task);
        let runs = thread::spawn({
            let (task, order) = (Arc::clone(&task), Arc::clone(&order));
            move || {
                for held in order.held() {
                    assert!(Latch::wait_in(&held.0, &task.0, Latch::wait).is_err());
                }
                finish(&order, &task, first);
            }
        });
        if order.lets_pass(Rank::Plain) {
            assert!(task.0.outcome().is_some());
        } else {
            let behind = Promise::new();
            let (ticket, before) = order.enter(Rank::Plain, &behind);
            let (ends, of) = (Arc::clone(&behind), Arc::clone(&order));
            match before.first() {
                Some(before) => before.0.when_known(move |()| finish(&of, &ends, ticket)),
                None => {
                    assert!(task.0.outcome().is_some());
                    finish(&of, &ends, ticket);
                }
            }
            // As a wait for the queue.
            for held in order.held() {
                held.0.wait();
            }
            assert!(behind.0.outcome().is_some() && task.0.outcome().is_some());
        }
        runs.join().unwrap();
        assert!(order.lets_pass(Rank::Plain) && order.held().is_empty());
    });
}

/// A command that writes, until its latch is set.
struct Command(Arc<Latch<()>>);

impl Writer for Command {
    type Error = ();

    fn try_clone(&self) -> Result<Self, ()> {
        Ok(Self(Arc::clone(&self.0)))
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn has_ended(&self) -> bool {
        self.0.outcome().is_some()
    }

    fn wait_for_end(&self) -> Result<(), ()> {
        self.0.wait();
        Ok(())
    }
}

/// What commands write and threads look at. Loom finds it out if one reads while another writes.
type Data = UnsafeCell<u32>;
type Target = HostTargetLock<Data, Command>;

fn value(data: &Data) -> u32 {
    // SAFETY: loom checks that nobody writes meanwhile.
    data.with(|value| unsafe { *value })
}

/// Submits a command that writes a value. It runs on the thread of the device that the result is for.
fn submit(target: &Target, to: u32) -> impl FnOnce() + use<> {
    let command = Latch::new();
    let mut state = target.lock();
    let copy = |data: &Data| Ok::<_, ()>(UnsafeCell::new(value(data)));
    let place: *mut Data = state.writable(copy).unwrap().unwrap();
    state.is_written_until(Ok(Command(Arc::clone(&command))));
    // Only the device uses it, as the command's memory.
    let place = place.expose_provenance();
    move || {
        let place = std::ptr::with_exposed_provenance::<Data>(place);
        // SAFETY: the target keeps the data until the command has ended; loom checks that nobody
        // looks at it meanwhile.
        unsafe { (*place).with_mut(|value| *value = to) };
        command.set(());
        command.tell();
    }
}

fn look(target: &Target) -> Arc<Data> {
    target.look().unwrap_or_else(|unsettled| match unsettled {
        NotReady::Refused(()) | NotReady::Lost(()) => panic!("no wait is refused"),
    })
}

/// What somebody looks at stays as it is, while commands on another thread write.
#[test]
fn host_data_that_is_looked_at_stays_as_it_is() {
    loom::model(|| {
        let target = Arc::new(Target::new(UnsafeCell::new(0)));
        let device = thread::spawn({
            let target = Arc::clone(&target);
            move || submit(&target, 1)()
        });
        let seen = look(&target);
        let before = value(&seen);
        assert!(before <= 1);
        device.join().unwrap();
        assert_eq!(value(&seen), before);
        assert_eq!(value(&look(&target)), 1);
    });
}

/// A thread that looks may submit a command that writes, and wait for it. What it sees stays.
#[test]
fn commands_are_submitted_and_waited_for_while_somebody_looks() {
    loom::model(|| {
        let target = Target::new(UnsafeCell::new(0));
        let seen = look(&target);
        let device = thread::spawn(submit(&target, 1));
        assert_eq!(value(&look(&target)), 1);
        assert_eq!(value(&seen), 0);
        device.join().unwrap();
    });
}

/// The owner replaces the data when no command writes it any more.
#[test]
fn data_is_replaced_behind_the_commands_that_write_it() {
    loom::model(|| {
        let target = Arc::new(Target::new(UnsafeCell::new(0)));
        let device = thread::spawn(submit(&target, 1));
        let may = |data: &Data| if value(data) == 1 { Ok(()) } else { Err(Early) };
        let old = target.replace(UnsafeCell::new(2), may).unwrap();
        assert_eq!((value(&old), value(&look(&target))), (1, 2));
        device.join().unwrap();
    });
}

/// The data was seen before the command had written it.
#[derive(Debug)]
struct Early;

impl From<NotReady<()>> for Early {
    fn from(_: NotReady<()>) -> Self {
        Self
    }
}
