//! A model of the locks of promises (`src/event/latch.rs`), run by loom in every order.
//!
//! Each test is a small program that went wrong once, or would without one of the locks. A hang is a
//! failure: loom reports threads that wait forever.
#![cfg(test)]
#![allow(dead_code, unreachable_pub, reason = "the library uses more of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../src/event/latch.rs"]
mod latch;

/// What `latch` uses, of loom.
mod sync {
    pub(crate) use std::sync::PoisonError;

    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};

    /// A value that is set once. It is leaked, as loom has no such type.
    pub(crate) struct OnceLock<T: 'static>(Mutex<Option<&'static T>>);

    impl<T> OnceLock<T> {
        pub(crate) fn new() -> Self {
            Self(Mutex::new(None))
        }

        pub(crate) fn get(&self) -> Option<&T> {
            *self.0.lock().unwrap()
        }

        pub(crate) fn set(&self, value: T) -> Result<(), T> {
            let mut place = self.0.lock().unwrap();
            if place.is_some() {
                return Err(value);
            }
            *place = Some(Box::leak(Box::new(value)));
            Ok(())
        }
    }
}

use latch::Latch;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// Each waiting thread sees the outcome, and each callback is called once, whenever it is set.
#[test]
fn a_wait_ends_and_callbacks_are_called_once() {
    loom::model(|| {
        let latch = Latch::<u32>::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let setter = thread::spawn({
            let latch = Arc::clone(&latch);
            move || {
                latch.settle(7);
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
                own.settle(());
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

/// A task waits for its own queue, while a thread puts a command there that waits for the task. The
/// task sees the command together with what it waits for, or not at all.
#[test]
fn a_command_is_seen_with_all_that_it_waits_for() {
    loom::model(|| {
        let task = Latch::<()>::new();
        let queue: Arc<Mutex<Option<Arc<Latch<()>>>>> = Arc::new(Mutex::new(None));
        let runs = thread::spawn({
            let (task, queue) = (Arc::clone(&task), Arc::clone(&queue));
            move || {
                let held = queue.lock().unwrap().clone();
                if let Some(held) = held {
                    assert!(Latch::wait_in(&held, &task, Latch::wait).is_err());
                }
                task.settle(());
                task.tell();
            }
        });
        // As `hold_back` does: noted first, and then published.
        let behind = Latch::<()>::new();
        if task.outcome().is_none() {
            behind.comes_after(&task);
        }
        *queue.lock().unwrap() = Some(Arc::clone(&behind));
        let ends = Arc::clone(&behind);
        task.when_known(move |()| {
            ends.settle(());
            ends.tell();
        });
        behind.wait();
        runs.join().unwrap();
    });
}
