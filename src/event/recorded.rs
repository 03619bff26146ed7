//! Events of commands that were recorded: they stand for nodes of a graph.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use crate::Result;

/// The recorder of commands, as their events know it.
pub(crate) trait NodeOwner: Send + Sync {
    /// Whether a queue records into it.
    fn is_recording(&self) -> bool;

    /// Records a wait, where waits are recorded.
    fn wait_recorded(self: Arc<Self>, waited: Waited) -> Option<Result<()>>;

    /// For a caller that knows the type of its owner.
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    /// The `Arc<dyn Recorder>` of the layer of commands, which this layer does not know.
    fn recorder(self: Arc<Self>) -> Box<dyn Any>;
}

/// The purpose of a wait.
pub(crate) enum Waited {
    Node(u32),
    /// All that the queue has recorded; the number of its recording.
    Queue(u64),
}

/// A node of what records. It has not run, and never will by itself.
#[derive(Clone)]
pub(crate) struct Recorded {
    owner: Weak<dyn NodeOwner>,
    node: u32,
}

impl Recorded {
    pub(crate) fn new(owner: Weak<dyn NodeOwner>, node: u32) -> Self {
        Self { owner, node }
    }

    /// `None` when it is gone.
    pub(crate) fn owner(&self) -> Option<Arc<dyn NodeOwner>> {
        self.owner.upgrade()
    }

    /// Whether it is a node of this.
    pub(crate) fn is_of<O: NodeOwner>(&self, owner: &O) -> bool {
        std::ptr::addr_eq(self.owner.as_ptr(), owner)
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
