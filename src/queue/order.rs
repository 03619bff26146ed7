//! The order of a queue, as far as the driver does not know it: deferred commands, and
//! what must stay behind them.
//!
//! A model runs its lock in every order, too (`crates/loom-model`). It replaces `sync` and `Promise`.

use std::collections::BTreeMap;

use super::sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering};
use crate::event::Promise;
use crate::{Error, Event};

/// The order that a command asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Only what in-order queues and barriers ask.
    Plain,
    /// It comes after everything before it.
    AfterAll,
    /// Later commands wait for it. It waits for everything before it, or for its own dependencies
    /// if `after_all` is `false`.
    Barrier { after_all: bool },
}

/// Deferred commands on one queue.
pub(crate) struct Order {
    in_order: bool,
    /// How many commands are deferred that others must stay behind: all on an in-order queue, else
    /// barriers.
    in_the_way: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    held: BTreeMap<u64, DeferredCommand>,
    /// The newest barrier that the driver has, on an out-of-order queue.
    barrier: Option<Event>,
    /// The first failure that no wait has told of.
    failure: Option<Error>,
}

struct DeferredCommand {
    promise: Arc<Promise>,
    in_the_way: bool,
}

/// The place of a deferred command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket(u64);

impl Order {
    pub(crate) fn new(in_order: bool) -> Self {
        Self { in_order, in_the_way: AtomicUsize::new(0), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether a command may go to the driver at once, if its dependencies let it. One load, but
    /// for those that come after all others of an out-of-order queue.
    #[inline]
    pub(crate) fn lets_pass(&self, rank: Rank) -> bool {
        self.in_the_way.load(Ordering::Acquire) == 0
            && (self.in_order || rank == Rank::Plain || self.lock().held.is_empty())
    }

    /// Enters a deferred command, and gives what it must come after, which its promise
    /// notes before others see it.
    pub(crate) fn enter(&self, rank: Rank, promise: &Arc<Promise>) -> (Ticket, Vec<Arc<Promise>>) {
        let mut state = self.lock();
        let ticket = state.next;
        state.next += 1;
        let promise_of = |held: &DeferredCommand| Arc::clone(&held.promise);
        let after_all = matches!(rank, Rank::AfterAll | Rank::Barrier { after_all: true });
        let before: Vec<_> = if self.in_order {
            state.held.values().next_back().map(promise_of).into_iter().collect()
        } else if after_all {
            state.held.values().map(promise_of).collect()
        } else {
            // A barrier that comes after its own dependencies only does not cover those before it.
            state.held.values().filter(|held| held.in_the_way).map(promise_of).collect()
        };
        before.iter().for_each(|before| promise.comes_after(before));
        let in_the_way = self.in_order || matches!(rank, Rank::Barrier { .. });
        if in_the_way {
            self.in_the_way.fetch_add(1, Ordering::AcqRel);
        }
        state.held.insert(ticket, DeferredCommand { promise: Arc::clone(promise), in_the_way });
        (Ticket(ticket), before)
    }

    /// Takes a command out that the driver has got, or that has ended.
    pub(crate) fn leave(&self, ticket: Ticket) {
        let mut state = self.lock();
        if state.held.remove(&ticket.0).is_some_and(|held| held.in_the_way) {
            self.in_the_way.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Commands that go to the driver from now on must wait for these first.
    pub(crate) fn in_the_way(&self) -> Vec<Arc<Promise>> {
        if self.in_the_way.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let state = self.lock();
        let in_the_way = state.held.values().rev().filter(|held| held.in_the_way);
        // On an in-order queue the last comes after all others.
        let count = if self.in_order { 1 } else { usize::MAX };
        in_the_way.take(count).map(|held| Arc::clone(&held.promise)).collect()
    }

    /// All commands that are deferred now.
    pub(crate) fn held(&self) -> Vec<Arc<Promise>> {
        self.lock().held.values().map(|held| Arc::clone(&held.promise)).collect()
    }

    /// Notes that the driver has got a barrier; of interest to host tasks on out-of-order queues.
    pub(crate) fn passed_barrier(&self, barrier: &Event) {
        if !self.in_order {
            self.lock().barrier = Some(barrier.clone());
        }
    }

    pub(crate) fn barrier(&self) -> Option<Event> {
        self.lock().barrier.clone()
    }

    /// Notes a failure of a deferred command.
    pub(crate) fn failed(&self, error: &Error) {
        self.lock().failure.get_or_insert_with(|| error.clone());
    }

    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.lock().failure.take()
    }
}
