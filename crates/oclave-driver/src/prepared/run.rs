//! Putting sequences on queues. On an in-order queue the order of the steps suffices. The last step
//! has an event. So has the first, which tells when the steps begin. Out of order, each step has
//! one, and waits for those that it names.

use std::ops::Range;
use std::sync::Arc;

use super::launch::Kept;
use super::sequence::Sequence;
use super::step::{Launch, Step, Work};
use crate::MakeError as _;
use crate::event::{Event, Measured, RawEvent, Several};
use crate::queue::Queue;
use crate::sys::{cl_command_queue, cl_event};
use crate::wait_list::WaitList;
use crate::{Error, Result};

/// So many events are kept for those who ask; more get a marker behind them at once.
const FEW_LEAVES: usize = 64;

/// How a sequence is run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mode {
    /// With an event for each step that is a command.
    pub measure: bool,
    /// The use of its memory has begun already, as it was deferred.
    pub held: bool,
}

impl Queue {
    /// Puts some steps of a sequence on the queue, after events. The event is complete when all of
    /// them are.
    ///
    /// # Errors
    /// When the host accesses memory that they use, or the driver refuses one. The commands before
    /// it have ended then, unless the driver does not wait for them ([`Queue::abandoned`]).
    pub fn run(
        self: &Arc<Self>,
        sequence: &Sequence,
        steps: Range<usize>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        self.check_sequence(sequence)?;
        self.using(sequence.spans(mode.held), || {
            let mut measured = mode.measure.then(Vec::new);
            let outcome = match self.is_in_order() {
                true => self.run_in_order(sequence, steps, after, mode, measured.as_mut()),
                false => self.run_out_of_order(sequence, steps, after, mode, measured.as_mut()),
            };
            // Steps that were put on the queue are not counted, so nobody else would wait for them.
            let (event, first) = outcome.inspect_err(|_| self.abandon())?;
            let several = match measured {
                Some(events) => Several::Measured(Measured { sequence: sequence.id(), events }),
                None => Several::Unmeasured(first),
            };
            Ok(event.of_several(several))
        })
    }

    pub(crate) fn check_sequence(&self, sequence: &Sequence) -> Result<()> {
        if Arc::ptr_eq(sequence.context(), self.context()) && sequence.device() == self.device() {
            return Ok(());
        }
        Err(Error::invalid("the commands were prepared for another context or device"))
    }

    /// The event, and that of the first step, where another one is the last.
    fn run_in_order(
        self: &Arc<Self>,
        sequence: &Sequence,
        steps: Range<usize>,
        after: &[&Event],
        mode: Mode,
        mut measured: Option<&mut Vec<Event>>,
    ) -> Result<(Event, Option<Event>)> {
        let is_join = |index: &usize| sequence.step(*index).is_none_or(Step::is_join);
        let Some(last) = steps.clone().rev().find(|index| !is_join(index)) else {
            return Ok((self.marker(after)?, None));
        };
        let mut list = WaitList::empty();
        let (mut after, mut wait) = (after, list.fill(self, after)?);
        let mut first = None;
        for index in steps.start..last {
            match sequence.step(index).map(|step| &step.work) {
                None | Some(Work::Join) => continue,
                Some(Work::Other(enqueue)) => {
                    let event =
                        enqueue(self, after, mode.held).map_err(|error| sequence.named(index, error))?;
                    if let Some(measured) = measured.as_deref_mut() {
                        measured.push(event);
                    }
                }
                Some(work) => {
                    let mut event: cl_event = std::ptr::null_mut();
                    let wanted = measured.is_some() || first.is_none();
                    let place = if wanted { &mut event } else { std::ptr::null_mut() };
                    self.enqueue(work, self.raw(), wait, place)
                        .map_err(|error| sequence.named(index, error))?;
                    let event = self.own_event(event).map(|event| self.uncounted(event));
                    match measured.as_deref_mut() {
                        Some(measured) => measured.extend(event),
                        None => first = first.or(event),
                    }
                }
            }
            (after, wait) = (&[], &[]);
        }
        let event = self.run_counted(sequence, last, after, mode)?;
        if let Some(measured) = measured {
            measured.push(event.clone());
        }
        Ok((event, first))
    }

    /// As [`Self::run_in_order`].
    fn run_out_of_order(
        self: &Arc<Self>,
        sequence: &Sequence,
        steps: Range<usize>,
        after: &[&Event],
        mode: Mode,
        measured: Option<&mut Vec<Event>>,
    ) -> Result<(Event, Option<Event>)> {
        let mut list = WaitList::empty();
        let given = list.fill(self, after)?;
        let mut events: Vec<RawEvent> = Vec::with_capacity(steps.len());
        let mut wait = Vec::new();
        for index in steps.clone() {
            let named = |error| sequence.named(index, error);
            let waits = sequence.waits(index).iter();
            let own = waits.filter_map(|wait| (*wait as usize).checked_sub(steps.start)).map(|at| {
                events.get(at).ok_or_else(|| Error::bug(format!("step {index} waits for a later one")))
            });
            let step = sequence.step(index).ok_or_else(|| Error::bug(format!("there is no step {index}")))?;
            let event = match &step.work {
                Work::Other(enqueue) => {
                    let own: Vec<Event> =
                        own.map(|event| Ok(self.uncounted(event?.try_clone()?))).collect::<Result<_>>()?;
                    let own: Vec<&Event> = own.iter().collect();
                    let after = if own.is_empty() { after } else { &own };
                    enqueue(self, after, mode.held)
                        .and_then(|event| event.raw()?.try_clone())
                        .map_err(named)?
                }
                work => {
                    wait.clear();
                    for event in own {
                        wait.push(event?.raw());
                    }
                    let wait = if wait.is_empty() { given } else { &wait };
                    let mut event: cl_event = std::ptr::null_mut();
                    self.enqueue(work, self.raw(), wait, &mut event).map_err(named)?;
                    self.own_event(event)
                        .ok_or_else(|| named(Error::invalid("a command without an event")))?
                }
            };
            events.push(event);
        }
        if let Some(measured) = measured {
            for (index, event) in steps.clone().zip(&events) {
                if sequence.step(index).is_some_and(|step| !step.is_join()) {
                    measured.push(self.uncounted(event.try_clone()?));
                }
            }
        }
        if events.is_empty() {
            return Ok((self.marker(after)?, None));
        }
        let first = events.first().filter(|_| !sequence.is_leaf(steps.start, steps.end));
        let first = first.map(RawEvent::try_clone).transpose()?.map(|first| self.uncounted(first));
        let mut at = steps.clone();
        events.retain(|_| at.next().is_some_and(|index| sequence.is_leaf(index, steps.end)));
        if events.len() <= FEW_LEAVES {
            return Ok((self.joined(events), first));
        }
        let leaves: Vec<cl_event> = events.iter().map(RawEvent::raw).collect();
        // SAFETY: queue and events are alive.
        let event = self.submit(&[], mode.measure, |api, queue, _, event| unsafe {
            api.clEnqueueMarkerWithWaitList(queue, &leaves, event)
        })?;
        Ok((event, first))
    }

    /// Puts a step on the queue as a command of its own.
    fn run_counted(
        self: &Arc<Self>,
        sequence: &Sequence,
        index: usize,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        match sequence.step(index).map(|step| &step.work) {
            None => self.marker(after),
            Some(Work::Other(enqueue)) => enqueue(self, after, mode.held),
            Some(work) => self
                .submit(after, mode.measure, |_, queue, wait, event| self.enqueue(work, queue, wait, event)),
        }
        .map_err(|error| sequence.named(index, error))
    }

    /// The event that an enqueue gave, if it did.
    fn own_event(&self, event: cl_event) -> Option<RawEvent> {
        // SAFETY: the enqueue gave a reference unless the event is null.
        (!event.is_null()).then(|| unsafe { RawEvent::new(self.context().api(), event) })
    }

    /// The event of an uncounted command that precedes a counted one.
    fn uncounted(self: &Arc<Self>, event: RawEvent) -> Event {
        Event::new(Arc::clone(self), Some(event), 0, 0)
    }

    /// Enqueues the work of a step, without an event if its place is null. The memory of the step
    /// must be in use, and stay so until a later command is counted.
    fn enqueue(
        &self,
        work: &Work,
        queue: cl_command_queue,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        let api = self.context().api();
        // SAFETY: queue and events are alive. The addresses are those of spans of so many bytes in
        // allocations that the sequence keeps and that are in use. The driver copies the pattern.
        unsafe {
            match work {
                Work::Kernel(launch) => {
                    let Launch { kernel, arguments, size } = &**launch;
                    let mut kernel = kernel.lock();
                    kernel.set_all(arguments.iter().map(Kept::arg))?;
                    kernel.enqueue(size, queue, wait, event)
                }
                Work::Copy { from, to, size_bytes } => {
                    self.context().pointers()?.copy(queue, *to, *from, *size_bytes, wait, event)
                }
                Work::Fill { to, pattern, size_bytes } => {
                    self.context().pointers()?.fill(queue, *to, pattern, *size_bytes, wait, event)
                }
                Work::Join => api.clEnqueueMarkerWithWaitList(queue, wait, event),
                Work::Other(_) => Err(Error::invalid("a command that puts itself on the queue")),
            }
        }
    }
}
