//! A partition for the device: its prepared steps, and the way that they are put on queues.

use std::sync::Arc;

use super::finalize::Options;
use super::finalize::flatten::Flat;
use super::finalize::steps::{self, Place};
use super::interpreter::{self, Tasks, Wish};
use super::replay::{self, Replay, ReplayStrategy};
use super::update::Pending;
use crate::driver::event::Event;
use crate::driver::queue;
use crate::driver::sequence::{Mode, Sequence};
use crate::{Queue, Result};

/// A partition for the device.
pub(super) struct DevicePart {
    pub(super) sequence: Sequence,
    pub(super) replay: Box<dyn Replay>,
    /// The nodes that are in lists of tasks, if there are any.
    pub(super) tasks: Option<Tasks>,
    /// Why nodes are in no list: all of them, or those that the interpreter could not have.
    pub(super) not_listed: NotListed,
    /// The event of its last run.
    last: Option<Event>,
    pub(super) pending: Pending,
}

/// Why nodes are in no list of tasks.
#[derive(Debug, Clone)]
pub(super) enum NotListed {
    /// None is, for this reason.
    All(String),
    /// These are not, by number.
    Some(Vec<(u32, String)>),
}

impl DevicePart {
    /// Prepares the nodes; `places` tells where they went.
    ///
    /// # Errors
    /// What a queue would refuse a command for, with the node.
    pub(super) fn new(
        flat: &Flat,
        nodes: &[u32],
        partition: u32,
        queue: &Queue,
        options: Options,
        places: &mut [Option<Place>],
    ) -> Result<Self> {
        let (context, device) = (queue.context(), queue.device());
        let replay = replay::choose(context, device, options);
        let updatable = options.updatable;
        let wish = match (options.strategy, context.graph_interpreter()) {
            (_, Some(false)) => Wish::Never("it is switched off"),
            (ReplayStrategy::Interpreter, _) | (ReplayStrategy::Auto, Some(true)) => Wish::Always,
            (ReplayStrategy::Auto, None) => Wish::Faster,
            (ReplayStrategy::Enqueue | ReplayStrategy::CommandBuffer, _) => {
                Wish::Never("another strategy was asked for")
            }
        };
        let (sequence, tasks, not_listed) = match interpreter::plan(flat, nodes, queue, wish)? {
            Ok(mut plan) => {
                let refused = NotListed::Some(std::mem::take(&mut plan.refused));
                let (sequence, tasks) =
                    steps::planned(flat, nodes, partition, queue, updatable, places, plan)?;
                (sequence, Some(tasks), refused)
            }
            Err(reason) => (
                steps::sequence(flat, nodes, partition, queue, updatable, places)?,
                None,
                NotListed::All(reason),
            ),
        };
        Ok(Self { sequence, replay, tasks, not_listed, last: None, pending: Pending::default() })
    }

    /// Takes the steps of another one that was made for the same nodes.
    pub(super) fn replace_steps(&mut self, new: Self) {
        let Self { sequence, replay, tasks, not_listed, .. } = new;
        (self.sequence, self.replay, self.tasks, self.not_listed) = (sequence, replay, tasks, not_listed);
    }

    /// How it is put on queues.
    pub(super) fn strategy(&self) -> ReplayStrategy {
        if self.tasks.is_some() { ReplayStrategy::Interpreter } else { self.replay.strategy() }
    }

    /// Puts it on a queue, behind events and its last run.
    pub(super) fn run(&mut self, queue: &Arc<queue::Queue>, after: &[&Event], mode: Mode) -> Result<Event> {
        let last = self.last.take();
        let all: Vec<&Event> = after.iter().copied().chain(&last).collect();
        match self.replay.replay(&self.sequence, queue, &all, mode) {
            Ok(event) => {
                self.last = Some(event.clone());
                Ok(event)
            }
            Err(error) => {
                self.last = last;
                Err(error)
            }
        }
    }
}
