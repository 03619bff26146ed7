//! One build for many askers: the first makes the value, the others wait for it and share the
//! outcome.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::sync::Mutex;
use crate::{Error, Result};

/// A value that is made once, on demand.
///
/// A failure is returned to everyone who waited for that attempt, and is then forgotten: who asks
/// later tries again.
#[derive(Debug)]
pub(crate) struct SingleFlight<T> {
    /// Attempts that failed so far. Read before waiting: a waiter shares a failure that happened
    /// after it came.
    failures: AtomicU64,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    last_error: Option<Error>,
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self { failures: AtomicU64::new(0), state: Mutex::new(State { value: None, last_error: None }) }
    }
}

impl<T: Clone> SingleFlight<T> {
    /// The value, made by `make` if it is not there yet.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let failures_before = self.failures.load(Ordering::Acquire);
        let mut state = self.state.lock();
        if let Some(value) = &state.value {
            return Ok(value.clone());
        }
        if self.failures.load(Ordering::Acquire) != failures_before
            && let Some(error) = &state.last_error
        {
            return Err(error.clone());
        }
        match make() {
            Ok(value) => {
                state.last_error = None;
                Ok(state.value.insert(value).clone())
            }
            Err(error) => {
                state.last_error = Some(error.clone());
                self.failures.fetch_add(1, Ordering::Release);
                Err(error)
            }
        }
    }

    /// The value if it was made; waits for who is making it.
    pub(crate) fn get(&self) -> Option<T> {
        self.state.lock().value.clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::MakeError as _;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    #[test]
    fn many_askers_one_make() {
        let flight = SingleFlight::default();
        let makes = AtomicUsize::new(0);
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    let value = flight.get_or_make(|| {
                        makes.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(20));
                        Ok(7)
                    });
                    assert_eq!(value.unwrap(), 7);
                });
            }
        });
        assert_eq!(makes.load(Ordering::Relaxed), 1);
        assert_eq!(flight.get(), Some(7));
    }

    #[test]
    fn a_failure_is_not_kept() {
        let flight = SingleFlight::<u8>::default();
        assert_eq!(
            flight.get_or_make(|| Err(Error::invalid("no"))).unwrap_err().kind(),
            crate::ErrorKind::Invalid
        );
        assert_eq!(flight.get(), None);
        assert_eq!(flight.get_or_make(|| Ok(1)).unwrap(), 1);
    }

    #[test]
    fn who_waited_shares_the_failure() {
        let flight = SingleFlight::<u8>::default();
        let makes = AtomicUsize::new(0);
        let started = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let error = flight.get_or_make(|| {
                    makes.fetch_add(1, Ordering::Relaxed);
                    started.wait();
                    std::thread::sleep(Duration::from_millis(100));
                    Err(Error::invalid("no"))
                });
                error.unwrap_err();
            });
            started.wait();
            flight
                .get_or_make(|| {
                    makes.fetch_add(1, Ordering::Relaxed);
                    Ok(1)
                })
                .unwrap_err();
        });
        assert_eq!(makes.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_panic_while_making_leaves_it_usable() {
        let flight = SingleFlight::<u8>::default();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            flight.get_or_make(|| panic!("for the test"))
        }));
        outcome.unwrap_err();
        assert_eq!(flight.get_or_make(|| Ok(2)).unwrap(), 2);
    }
}
