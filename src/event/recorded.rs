//! Events of commands that were recorded: they stand for nodes of a graph.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::command::Recorder;

/// A node of what records. It has not run, and never will by itself.
#[derive(Clone)]
pub(crate) struct Recorded {
    recorder: Weak<dyn Recorder>,
    node: u64,
}

#[allow(dead_code, reason = "graphs are being built")]
impl Recorded {
    pub(crate) fn new(recorder: Weak<dyn Recorder>, node: u64) -> Self {
        Self { recorder, node }
    }

    /// `None` when it is gone.
    pub(crate) fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        self.recorder.upgrade()
    }

    /// Whether it is a node of this.
    pub(crate) fn is_of(&self, recorder: &Weak<dyn Recorder>) -> bool {
        self.recorder.ptr_eq(recorder)
    }

    pub(crate) fn node(&self) -> u64 {
        self.node
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "recorded node {}", self.node)
    }
}
