//! Wait lists: the events that a command is given to wait for.

use oclave_faults::Fault;
use std::sync::Arc;

use super::event::Event;
use super::queue::Queue;
use crate::MakeError as _;
use crate::sys::cl_event;
use crate::{Error, Result};

/// The events of a wait list as handles; on the stack when they are few.
pub(crate) struct WaitList {
    few: [cl_event; Self::FEW],
    many: Vec<cl_event>,
    length: usize,
}

impl WaitList {
    const FEW: usize = 8;

    /// A list without events.
    #[inline]
    pub(crate) const fn empty() -> Self {
        Self { few: [std::ptr::null_mut(); Self::FEW], many: Vec::new(), length: 0 }
    }

    /// The list, filled with what a command of `queue` must wait for. Events of the same in-order
    /// queue are left out.
    ///
    /// The list stays where it is, as moving it out of a result costs a launch some percent.
    #[inline]
    pub(crate) fn fill(&mut self, queue: &Queue, after: &[&Event]) -> Result<&[cl_event]> {
        for event in after {
            self.add(queue, event)?;
        }
        Ok(self.events())
    }

    fn add(&mut self, queue: &Queue, event: &Event) -> Result<()> {
        let other = event.queue();
        if std::ptr::eq(&**other, queue) {
            if queue.is_in_order() {
                return Ok(());
            }
        } else if Arc::ptr_eq(other.context(), queue.context()) {
            // An event that another queue waits for must be flushed by its own (specification,
            // section 5.15).
            other.flush_once()?;
        } else {
            return Err(Error::invalid("a command cannot wait for an event of another context"));
        }
        let raw = event.raw()?;
        // Q37. One that failed stays, as it makes this command fail.
        if queue.context().driver_faults().has(Fault::Q37) && raw.has_succeeded() {
            return Ok(());
        }
        let raw = raw.raw();
        match self.few.get_mut(self.length).filter(|_| self.many.is_empty()) {
            Some(place) => *place = raw,
            None => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(&self.few);
                }
                self.many.push(raw);
            }
        }
        self.length += 1;
        Ok(())
    }

    #[inline]
    fn events(&self) -> &[cl_event] {
        if self.many.is_empty() { self.few.get(..self.length).unwrap_or(&[]) } else { &self.many }
    }
}
