//! Waiting without sleeping at once, where sleeping is what takes longest
//! ([`Quirks::spin_before_block`](crate::driver::quirk::Quirks)).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Threads of the process that wait.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A thread that waits.
struct Waiting;

impl Waiting {
    fn begin() -> Self {
        WAITING.fetch_add(1, Ordering::Relaxed);
        Self
    }

    fn is_alone(&self) -> bool {
        WAITING.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits by `sleep`, which blocks. With a limit, it polls `ended` first, for as long at most, and
/// lets other threads run in between. It only polls while no other thread of the process waits.
/// Threads that poll take cores from each other and from kernels.
pub(in crate::driver) fn wait<R>(
    limit: Option<Duration>,
    ended: impl Fn() -> Option<R>,
    sleep: impl FnOnce() -> R,
) -> R {
    let Some(limit) = limit else { return sleep() };
    let waiting = Waiting::begin();
    let start = Instant::now();
    while waiting.is_alone() && start.elapsed() < limit {
        if let Some(outcome) = ended() {
            return outcome;
        }
        std::thread::yield_now();
    }
    sleep()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn spinning_ends() {
        let asked = Cell::new(0_u32);
        let never = || {
            asked.set(asked.get() + 1);
            None
        };
        assert_eq!(wait(Some(Duration::from_millis(1)), never, || 7), 7);
        asked.set(0);
        assert_eq!(wait(None, never, || 8), 8);
        assert_eq!(asked.get(), 0);
    }

    #[test]
    fn who_does_not_wait_alone_sleeps_at_once() {
        let other = Waiting::begin();
        assert_eq!(wait(Some(Duration::from_secs(3600)), || Some("asked"), || "slept"), "slept");
        drop(other);
    }
}
