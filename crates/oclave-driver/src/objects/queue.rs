//! Queues: putting commands on them, in order or not, and knowing what has been completed.
//!
//! # What is complete
//! A queue counts its commands. `submitted` grows *after* a command is enqueued, while the caller
//! still holds all memory that the command uses. `completed` grows when a wait has proven that all
//! commands up to that count have ended. A queue is idle if the two are equal. So one comparison,
//! without an OpenCL call, shows that an idle queue does not use memory whose last handle is gone.
//!
//! A command learns its place by comparing and exchanging the count that it saw before it was
//! enqueued. When that succeeds, it alone is counted in between, and on an in-order queue its end
//! proves all counts up to its own. When another thread came in between, it proves only what it saw
//! before.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oclave_faults::Fault;

use super::context::Context;
use super::event::{Event, RawEvent};
use super::kept_queues;
use super::wait_list::WaitList;
use crate::MakeError as _;
use crate::queue_bits::Left;
use crate::sys::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_PROPERTIES, cl_command_queue,
    cl_event, cl_queue_properties,
};
use crate::usm::Span;
use crate::{Api, Device, Error, Result, exit};

/// How a queue works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Properties {
    /// Commands wait for their events only.
    pub out_of_order: bool,
    /// Commands are measured.
    pub profiling: bool,
    /// Commands get no event of their own.
    pub discard_events: bool,
    /// The library's own: its waits do not tell of kernels that are not its own.
    pub internal: bool,
}

/// A `cl_command_queue` with its counts. Owns one reference. Shared by the handle and its context's
/// slots, so that memory can be freed by queues that go at the same time.
pub(crate) struct QueueCore {
    pub(super) api: &'static Api,
    pub(super) raw: cl_command_queue,
    slot: u32,
    in_order: bool,
    pub(super) submitted: AtomicU64,
    completed: AtomicU64,
    /// Everything counted up to here was flushed.
    flushed: AtomicU64,
    /// The last count of commands that were given up half-way, and that the driver did not wait
    /// for.
    pub(super) abandoned: AtomicU64,
}

// SAFETY: OpenCL's functions on queues are thread-safe (specification, appendix A.2), or else
// `Quirks` keeps off such queues; the handle is only read.
unsafe impl Send for QueueCore {}
// SAFETY: as above.
unsafe impl Sync for QueueCore {}

impl QueueCore {
    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }

    pub(crate) fn is_idle(&self) -> bool {
        let submitted = self.submitted.load(Ordering::Acquire);
        self.completed.load(Ordering::Acquire) >= submitted
    }

    /// An event that is complete when these are, or without any when all commands now on the queue
    /// are; flushed.
    pub(crate) fn marker(&self, after: &[RawEvent]) -> Result<RawEvent> {
        let after: Vec<cl_event> = after.iter().map(RawEvent::raw).collect();
        let mut event: cl_event = std::ptr::null_mut();
        // SAFETY: queue and events are alive, `event` lives through the call.
        unsafe { self.api.clEnqueueMarkerWithWaitList(self.raw, &after, &mut event) }?;
        // SAFETY: the call gave a reference.
        let event = unsafe { RawEvent::new(self.api, event) };
        // SAFETY: the queue is alive.
        unsafe { self.api.clFlush(self.raw) }?;
        Ok(event)
    }

    fn flush(&self) -> Result<()> {
        let submitted = self.submitted.load(Ordering::Acquire);
        // SAFETY: the queue is alive.
        unsafe { self.api.clFlush(self.raw) }?;
        self.flushed.fetch_max(submitted, Ordering::Release);
        Ok(())
    }

    /// Notes the end of a command that was enqueued behind so many.
    pub(super) fn ended_behind(&self, before: u64) {
        if self.in_order {
            self.flushed.fetch_max(before, Ordering::Release);
            self.completed.fetch_max(before, Ordering::Release);
        }
    }

    /// Waits for all commands now on the queue.
    pub(crate) fn finish(&self) -> Result<()> {
        let submitted = self.submitted.load(Ordering::Acquire);
        // SAFETY: the queue is alive.
        unsafe { self.api.clFinish(self.raw) }?;
        self.flushed.fetch_max(submitted, Ordering::Release);
        self.completed.fetch_max(submitted, Ordering::Release);
        Ok(())
    }
}

impl Drop for QueueCore {
    fn drop(&mut self) {
        // SAFETY: the reference is this object's own. Commands still on the queue keep what the
        // driver needs of it.
        if let Err(error) = unsafe { self.api.clReleaseCommandQueue(self.raw) } {
            log::error!("a queue was not released: {error:#}");
        }
    }
}

/// A queue of a device of a context.
pub struct Queue {
    context: Arc<Context>,
    device: Device,
    properties: Properties,
    pub(super) core: Arc<QueueCore>,
}

impl Queue {
    /// A queue of a device of a context.
    ///
    /// # Errors
    /// When the device is of another context, or the driver refuses.
    pub fn new(context: &Arc<Context>, device: &Device, properties: Properties) -> Result<Arc<Self>> {
        if !context.devices().contains(device) {
            return Err(Error::invalid(format!("device `{}` is not in the context", device.name()))
                .remedy("make the context with `Context::builder`"));
        }
        if properties.out_of_order && !device.capabilities().out_of_order_queues {
            return Err(device.lacks("out-of-order queues", "an in-order queue"));
        }
        let in_order = !properties.out_of_order || context.driver_faults().has(Fault::Q1);
        let mut flags = 0;
        if !in_order {
            flags |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        }
        if properties.profiling {
            flags |= CL_QUEUE_PROFILING_ENABLE;
        }
        let list = [cl_queue_properties::from(CL_QUEUE_PROPERTIES), flags, 0];
        // Without properties there is no list: some drivers do not take an empty one.
        let list = if flags == 0 { std::ptr::null() } else { list.as_ptr() };
        let api = context.api();
        // SAFETY: context and device are alive; the list is null or ends in 0.
        let raw = unsafe { api.clCreateCommandQueueWithProperties(context.raw(), device.id(), list) }?;
        kept_queues::count(context, device);
        Ok(Self::own(context, device, properties, in_order, raw))
    }

    /// The queue of a handle, a reference to which passes to the result.
    pub(crate) fn own(
        context: &Arc<Context>,
        device: &Device,
        properties: Properties,
        in_order: bool,
        raw: cl_command_queue,
    ) -> Arc<Self> {
        let api = context.api();
        let core = context.queue_bits().open(|slot| {
            Arc::new(QueueCore {
                api,
                raw,
                slot,
                in_order,
                submitted: AtomicU64::new(0),
                completed: AtomicU64::new(0),
                flushed: AtomicU64::new(0),
                abandoned: AtomicU64::new(0),
            })
        });
        exit::register();
        Arc::new(Self { context: Arc::clone(context), device: device.clone(), properties, core })
    }

    /// The context.
    #[inline]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The device.
    #[inline]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How it works.
    #[inline]
    pub fn properties(&self) -> Properties {
        self.properties
    }

    /// The handle.
    #[inline]
    pub fn raw(&self) -> cl_command_queue {
        self.core.raw
    }

    /// Whether its commands run one after the other, whatever was asked for.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.core.in_order
    }

    #[inline]
    pub(crate) fn bit(&self) -> u64 {
        1 << (self.core.slot % u64::BITS)
    }

    /// Whether all commands counted up to `count` are known to have ended.
    #[inline]
    pub(crate) fn is_complete(&self, count: u64) -> bool {
        self.core.completed.load(Ordering::Acquire) >= count
    }

    /// Whether nothing was counted after the command that is counted `count`.
    pub(super) fn is_last(&self, count: u64) -> bool {
        self.core.submitted.load(Ordering::Acquire) == count
    }

    /// Notes that all commands counted up to `count` have ended.
    pub(crate) fn completed(&self, count: u64) {
        self.core.completed.fetch_max(count, Ordering::Release);
    }

    pub(crate) fn marker_event(&self, after: &[RawEvent]) -> Result<RawEvent> {
        self.core.marker(after)
    }

    /// Hands everything on the queue to the device.
    pub fn flush(&self) -> Result<()> {
        self.core.flush()
    }

    /// Flushes unless everything counted was flushed already.
    pub(crate) fn flush_once(&self) -> Result<()> {
        if self.core.flushed.load(Ordering::Acquire) < self.core.submitted.load(Ordering::Acquire) {
            self.core.flush()?;
        }
        Ok(())
    }

    /// Waits for all commands now on the queue.
    pub fn finish(&self) -> Result<()> {
        let outcome = self.core.finish();
        self.context.sweep_all();
        self.check_faults_after(outcome)
    }

    /// For a caller that has waited: hands over what kernels of the device printed, and gives the
    /// error that they left.
    pub fn check_faults(&self) -> Result<()> {
        if self.properties.internal {
            return Ok(());
        }
        self.context.look_for_prints(&self.device);
        self.context.check_faults(&self.device)
    }

    /// As [`Queue::check_faults`], after a wait that may have failed: its error comes first.
    pub(crate) fn check_faults_after(&self, outcome: Result<()>) -> Result<()> {
        let faults = self.check_faults();
        outcome.and(faults)
    }

    /// Enqueues one command. `enqueue` gets the wait list and where to put the event (null: no
    /// event). It must keep the command's memory in use (see [`Span::begin_use`]) until this
    /// returns.
    ///
    /// The event is there when `want_event`, or else unless the queue discards events.
    #[inline(always)]
    pub(crate) fn submit(
        self: &Arc<Self>,
        after: &[&Event],
        want_event: bool,
        enqueue: impl FnOnce(&Api, cl_command_queue, &[cl_event], *mut cl_event) -> Result<()>,
    ) -> Result<Event> {
        self.submit_with(after, want_event || !self.properties.discard_events, enqueue)
    }

    /// As [`Queue::submit`], without an event: one of several commands, the last of which has one.
    pub(crate) fn submit_eventless(
        self: &Arc<Self>,
        after: &[&Event],
        enqueue: impl FnOnce(&Api, cl_command_queue, &[cl_event], *mut cl_event) -> Result<()>,
    ) -> Result<Event> {
        self.submit_with(after, false, enqueue)
    }

    #[inline(always)]
    fn submit_with(
        self: &Arc<Self>,
        after: &[&Event],
        want_event: bool,
        enqueue: impl FnOnce(&Api, cl_command_queue, &[cl_event], *mut cl_event) -> Result<()>,
    ) -> Result<Event> {
        let core = &*self.core;
        let mut list = WaitList::empty();
        let wait = list.fill(self, after)?;
        let mut event: cl_event = std::ptr::null_mut();
        let before = core.submitted.load(Ordering::Acquire);
        enqueue(core.api, core.raw, wait, if want_event { &mut event } else { std::ptr::null_mut() })?;
        let alone =
            core.submitted.compare_exchange(before, before + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let count = if alone { before + 1 } else { core.submitted.fetch_add(1, Ordering::AcqRel) + 1 };
        // SAFETY: the enqueue gave a reference unless the event is null.
        let event = (!event.is_null()).then(|| unsafe { RawEvent::new(core.api, event) });
        let covers = match (&event, core.in_order) {
            // A marker made later comes after everything counted here.
            (None, _) => count,
            (Some(_), true) => {
                if alone {
                    count
                } else {
                    before
                }
            }
            (Some(_), false) => 0,
        };
        Ok(Event::new(Arc::clone(self), event, count, covers))
    }

    /// Counts commands that were enqueued without, as one that is complete when these are. The
    /// memory that they use must be in use until this returns.
    pub(crate) fn joined(self: &Arc<Self>, events: Vec<RawEvent>) -> Event {
        let count = self.core.submitted.fetch_add(1, Ordering::AcqRel) + 1;
        match <[RawEvent; 1]>::try_from(events) {
            Ok([event]) => Event::new(Arc::clone(self), Some(event), count, 0),
            Err(events) => Event::joined(Arc::clone(self), events, count),
        }
    }

    /// Counts commands that may have been enqueued although an error came back: the queue is not
    /// idle until a wait proves it.
    pub(crate) fn count_unknown(&self) {
        self.core.submitted.fetch_add(1, Ordering::AcqRel);
    }

    /// A command that does nothing. It waits for `after`. On an in-order queue, or if `after` is
    /// empty, it waits for everything before it.
    pub fn marker(self: &Arc<Self>, after: &[&Event]) -> Result<Event> {
        self.context.check()?;
        // SAFETY: queue and events are alive.
        self.submit(after, false, |api, queue, wait, event| unsafe {
            api.clEnqueueMarkerWithWaitList(queue, wait, event)
        })
    }

    /// A marker behind everything on the queue; `None` when it has all ended.
    pub fn marker_of_all(self: &Arc<Self>) -> Result<Option<Event>> {
        if self.core.is_idle() { Ok(None) } else { self.marker(&[]).map(Some) }
    }

    /// As [`Queue::marker`], and what comes after it waits for it.
    pub fn barrier(self: &Arc<Self>, after: &[&Event]) -> Result<Event> {
        self.context.check()?;
        // SAFETY: queue and events are alive.
        self.submit(after, false, |api, queue, wait, event| unsafe {
            api.clEnqueueBarrierWithWaitList(queue, wait, event)
        })
    }

    /// Begins the use of memory by commands of this queue, for as long as `during` runs.
    #[inline(always)]
    pub(crate) fn using<'a, R>(
        &self,
        spans: impl Iterator<Item = Span<'a>> + Clone,
        during: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let spans = spans.map(Some);
        self.begin_uses(spans.clone())?;
        let outcome = during();
        end_uses(spans);
        outcome
    }

    /// Begins the use of memory by commands of this queue. Items without memory are left out. The
    /// caller calls [`end_uses`] when the commands are enqueued. After an error there is no use to
    /// end.
    #[inline(always)]
    pub(crate) fn begin_uses<'a>(&self, spans: impl Iterator<Item = Option<Span<'a>>> + Clone) -> Result<()> {
        self.context.check()?;
        self.context.sweep();
        for (begun, span) in spans.clone().enumerate() {
            let Some(span) = span else { continue };
            if let Err(error) = span.begin_use(self) {
                end_uses(spans.take(begun));
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Ends what [`Queue::begin_uses`] began.
#[inline(always)]
pub(crate) fn end_uses<'a>(spans: impl Iterator<Item = Option<Span<'a>>>) {
    for span in spans {
        let Some(span) = span else { continue };
        span.end_use();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let core = &self.core;
        self.context.queue_bits().close(core, || {
            if core.is_idle() {
                return Left::Idle;
            }
            match core.marker(&[]) {
                Ok(event) => Left::Running(event),
                Err(error) => {
                    self.context.keep_error(error.at("dropping a queue"));
                    if core.finish().is_ok() { Left::Idle } else { Left::Unknown }
                }
            }
        });
        self.context.sweep();
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("device", &self.device)
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}
