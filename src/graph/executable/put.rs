//! Parts of a graph on their way to queues.

use crate::command::PreparedCommand;
use crate::{Event, Queue};

/// A part of a graph, as it is put on a queue.
pub(super) struct Put<'q> {
    pub(super) command: PreparedCommand,
    /// A command on another queue that it comes after.
    pub(super) launch: Option<(&'q Queue, PreparedCommand)>,
    /// An event from outside that it waits for.
    pub(super) outside: Option<Event>,
}

impl Put<'_> {
    /// A command that comes after the parts before it only.
    pub(super) fn one(command: PreparedCommand) -> Self {
        Self { command, launch: None, outside: None }
    }
}
