//! One way to run a sequence of steps.

use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;

use crate::Result;
use crate::driver::event::Event;
use crate::driver::mutable::Patches;
use crate::driver::queue::Queue;
use crate::driver::run::Mode;
use crate::driver::sequence::Sequence;
use crate::graph::exec::options::ReplayStrategy;

/// One way to run a sequence again and again. Calls come one at a time.
pub(crate) trait Replay: Debug + Send {
    /// Puts the sequence on a queue of its context and device. When it is measured, the event tells
    /// the times: for each step, or from begin to end.
    fn replay(
        &mut self,
        sequence: &Sequence,
        queue: &Arc<Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event>;

    /// Steps of the sequence were replaced.
    fn changed(&mut self, steps: &[usize]);

    /// Kernels of the sequence have got other arguments or sizes.
    fn patch(&mut self, sequence: &Sequence, patches: &mut Patches);

    fn strategy(&self) -> ReplayStrategy;

    /// Handles of the driver's command buffers, made if need be.
    fn native(&mut self, _sequence: &Sequence, _queue: &Arc<Queue>) -> Result<Vec<*mut c_void>> {
        Ok(Vec::new())
    }
}
