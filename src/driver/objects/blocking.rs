//! Commands whose call blocks until they have ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::event::Event;
use super::queue::Queue;
use super::wait_list::WaitList;
use crate::driver::Api;
use crate::driver::sys::{cl_command_queue, cl_event};
use crate::error::Result;

impl Queue {
    /// Enqueues one command that `enqueue`'s call waits for (a blocking copy).
    pub(in crate::driver) fn submit_blocking(
        &self,
        after: &[&Event],
        enqueue: impl FnOnce(&Api, cl_command_queue, &[cl_event]) -> Result<()>,
    ) -> Result<()> {
        let core = &*self.core;
        let wait = WaitList::new(self, after)?;
        let before = core.submitted.load(Ordering::Acquire);
        enqueue(core.api, core.raw, wait.events()).inspect_err(|error| self.end_blocking(error))?;
        core.ended_behind(before);
        self.check_faults()
    }

    /// Whether a command that comes after these, and after all on the queue, could begin at once.
    /// Other threads may put more on the queue meanwhile. That delays the command and no more, as
    /// drivers never have what waits for the host.
    pub(in crate::driver) fn is_free(&self, after: &[&Event]) -> bool {
        let has_ended = |event: &&Event| std::ptr::eq(&**event.queue(), self) || event.is_behind();
        self.core.is_idle() && after.iter().all(has_ended)
    }

    /// As [`Queue::submit_blocking`], on a queue that [is free](Self::is_free), with the event of a
    /// command that has ended. It hands over no text of kernels, so it can be called under locks.
    pub(in crate::driver) fn submit_at_once(
        self: &Arc<Self>,
        enqueue: impl FnOnce(&Api, cl_command_queue) -> Result<()>,
    ) -> Result<Event> {
        let core = &*self.core;
        let before = core.submitted.load(Ordering::Acquire);
        enqueue(core.api, core.raw)?;
        core.ended_behind(before);
        Ok(Event::new(Arc::clone(self), None, before, before))
    }
}
