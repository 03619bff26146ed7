//! Events that each submission of a graph may bind: the inputs of a graph that are no memory.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Event;

/// An event from outside of a graph, as a node of it.
#[derive(Clone)]
pub(crate) struct Outside {
    id: u64,
    recorded: Option<Event>,
}

impl Outside {
    /// A new one, with the event that submissions wait for which bind no other.
    pub(crate) fn new(recorded: Option<Event>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), recorded }
    }

    /// A number that no other one of the process has, or had.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn recorded(&self) -> Option<&Event> {
        self.recorded.as_ref()
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.recorded {
            Some(_) => f.write_str("an event that was recorded"),
            None => f.write_str("bound by each submission"),
        }
    }
}
