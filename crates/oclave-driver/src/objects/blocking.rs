//! Commands whose call blocks until they have ended.

use std::sync::atomic::Ordering;

use super::event::Event;
use super::queue::Queue;
use super::wait_list::WaitList;
use crate::sys::{cl_command_queue, cl_event};
use crate::{Api, Result};

impl Queue {
    /// Enqueues one command that `enqueue`'s call waits for (a blocking copy).
    pub(crate) fn submit_blocking(
        &self,
        after: &[&Event],
        enqueue: impl FnOnce(&Api, cl_command_queue, &[cl_event]) -> Result<()>,
    ) -> Result<()> {
        let mut list = WaitList::empty();
        let wait = list.fill(self, after)?;
        self.submit_at_once(|api, queue| enqueue(api, queue, wait))?;
        self.check_faults()
    }

    /// Whether all commands that were counted have ended, so that the next one could begin at once.
    /// Other threads may put more on the queue meanwhile. That delays the command and no more, as
    /// drivers never have what waits for the host.
    pub(crate) fn is_idle(&self) -> bool {
        self.core.is_idle()
    }

    /// As [`Queue::submit_blocking`], without a look at what kernels left
    /// ([`Queue::check_faults`]). So it can be called under locks.
    pub(crate) fn submit_at_once(
        &self,
        enqueue: impl FnOnce(&Api, cl_command_queue) -> Result<()>,
    ) -> Result<()> {
        let core = &*self.core;
        let before = core.submitted.load(Ordering::Acquire);
        enqueue(core.api, core.raw).inspect_err(|error| self.end_blocking(error))?;
        core.ended_behind(before);
        Ok(())
    }
}
