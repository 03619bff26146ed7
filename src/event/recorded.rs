//! Events of commands that were recorded: they stand for nodes of a graph.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::command::Recorder;

/// A node of what records. It has not run, and never will by itself.
#[derive(Clone)]
pub(crate) struct Recorded {
    recorder: Weak<dyn Recorder>,
    node: u32,
}

impl Recorded {
    pub(crate) fn new(recorder: Weak<dyn Recorder>, node: u32) -> Self {
        Self { recorder, node }
    }

    /// `None` when it is gone.
    pub(crate) fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        self.recorder.upgrade()
    }

    /// Whether it is a node of this.
    pub(crate) fn is_of<R: Recorder>(&self, recorder: &R) -> bool {
        std::ptr::addr_eq(self.recorder.as_ptr(), recorder)
    }

    pub(crate) fn node(&self) -> u32 {
        self.node
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "recorded node {}", self.node)
    }
}
