//! Replay by enqueueing prepared commands.

use std::sync::Arc;

use super::replay::Replay;
use crate::Result;
use crate::driver::event::Event;
use crate::driver::mutable::Patches;
use crate::driver::queue::Queue;
use crate::driver::run::Mode;
use crate::driver::sequence::Sequence;
use crate::graph::exec::options::ReplayStrategy;

/// The steps are put on the queue as they are. They live in the sequence, so there is nothing to
/// keep here.
#[derive(Debug)]
pub(super) struct Enqueue;

impl Replay for Enqueue {
    fn replay(
        &mut self,
        sequence: &Sequence,
        queue: &Arc<Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        queue.run(sequence, 0..sequence.len(), after, mode)
    }

    fn changed(&mut self, _: &[usize]) {}

    fn patch(&mut self, _: &Sequence, _: &mut Patches) {}

    fn strategy(&self) -> ReplayStrategy {
        ReplayStrategy::Enqueue
    }
}
