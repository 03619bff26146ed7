//! Sequences: commands that are prepared once, and put on queues all together, again and again.
//!
//! A sequence is in topological order: its steps wait for earlier ones only. On a queue in order that is all there is to
//! it, and only the last step has an event. Out of order, each step has one, and waits for those that it names.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::context::Context;
use super::event::{Event, Measured, RawEvent, Several};
use super::kernel::Kernel;
use super::launch::{Arg, WorkSize};
use super::queue::{Queue, WaitList};
use super::sys::{CL_FALSE, cl_command_queue, cl_event};
use super::usm::{Allocation, Span};
use super::{Device, copy};
use crate::error::{Error, Result};

/// A command that was prepared: a kernel object with its arguments set, a copy, a fill.
pub(crate) struct Step {
    pub(super) work: Work,
    memory: Vec<Arc<Allocation>>,
}

pub(super) enum Work {
    Kernel { kernel: Kernel, size: WorkSize },
    Copy { from: *const c_void, to: *mut c_void, size_bytes: usize },
    Fill { to: *mut c_void, pattern: Box<[u8]>, size_bytes: usize },
    Join,
    Other(Enqueue),
}

/// Puts a command on a queue, after events; as [`Mode::held`] says.
pub(crate) type Enqueue = Box<dyn Fn(&Arc<Queue>, &[&Event], bool) -> Result<Event> + Send + Sync>;

/// How a sequence is run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mode {
    /// With an event for each step that is a command.
    pub(crate) measure: bool,
    /// The use of its memory has begun already, as it was held back.
    pub(crate) held: bool,
}

// SAFETY: the addresses are only handed to the driver, while the sequence keeps their allocations; the kernel object is not
// changed once it is in a step, and enqueueing one from several threads is safe then.
unsafe impl Send for Step {}
// SAFETY: as above.
unsafe impl Sync for Step {}

impl Step {
    /// A launch. The kernel object is the step's own; the arguments are as many as the kernel has, of its kinds and sizes.
    pub(crate) fn kernel<'a>(
        mut kernel: Kernel,
        arguments: impl Iterator<Item = Arg<'a>>,
        size: &WorkSize,
    ) -> Result<Self> {
        let mut memory = Vec::new();
        for (index, argument) in (0..).zip(arguments) {
            if let Arg::Memory(span) = argument {
                memory.push(Arc::clone(span.allocation()));
            }
            kernel.set_argument(index, argument)?;
        }
        Ok(Self { work: Work::Kernel { kernel, size: *size }, memory })
    }

    /// A copy within a context.
    pub(crate) fn copy(from: Span<'_>, to: Span<'_>) -> Result<Self> {
        copy::check(&from, &to)?;
        let memory = vec![Arc::clone(from.allocation()), Arc::clone(to.allocation())];
        let work = match to.size_bytes() {
            0 => Work::Join,
            size_bytes => Work::Copy { from: from.address(), to: to.address(), size_bytes },
        };
        Ok(Self { work, memory })
    }

    /// A fill with a pattern of 1, 2, 4, … 128 bytes that divides the span and to which the span is aligned.
    pub(crate) fn fill(to: Span<'_>, pattern: &[u8]) -> Result<Self> {
        copy::check_pattern(&to, pattern.len())?;
        let work = match to.size_bytes() {
            0 => Work::Join,
            size_bytes => Work::Fill { to: to.address(), pattern: pattern.into(), size_bytes },
        };
        Ok(Self { work, memory: vec![Arc::clone(to.allocation())] })
    }

    /// Nothing: complete when what it waits for is. On a queue in order it costs nothing.
    pub(crate) fn join() -> Self {
        Self { work: Work::Join, memory: Vec::new() }
    }

    /// Any other command, which no command buffer holds, with the memory that it uses.
    pub(crate) fn other(memory: Vec<Arc<Allocation>>, enqueue: Enqueue) -> Self {
        Self { work: Work::Other(enqueue), memory }
    }

    /// The memory that it uses.
    pub(crate) fn memory(&self) -> &[Arc<Allocation>] {
        &self.memory
    }

    /// Whether it is nothing.
    pub(crate) fn is_join(&self) -> bool {
        matches!(self.work, Work::Join)
    }

    /// Whether command buffers can hold it.
    pub(crate) fn is_recordable(&self) -> bool {
        !matches!(self.work, Work::Other(_))
    }
}

/// The label of a step that names itself.
pub(crate) const NO_LABEL: u32 = u32::MAX;

/// Steps of one context and device, each behind those that it waits for.
pub(crate) struct Sequence {
    id: u64,
    context: Arc<Context>,
    device: Device,
    entries: Vec<Entry>,
    /// For each step, one list behind the other, the steps that it waits for.
    waits: Vec<u32>,
    /// The allocations that the steps use, by id, with how many steps do.
    uses: HashMap<u64, (Arc<Allocation>, u32)>,
}

struct Entry {
    step: Step,
    /// The end of its list in `waits`.
    waits_end: u32,
    /// `u32::MAX`: none.
    first_successor: u32,
    /// For messages.
    label: u32,
}

impl Sequence {
    pub(crate) fn new(context: &Arc<Context>, device: &Device) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context: Arc::clone(context),
            device: device.clone(),
            entries: Vec::new(),
            waits: Vec::new(),
            uses: HashMap::new(),
        }
    }

    /// A number that no other sequence of the process has, or had.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many steps are commands for the device.
    pub(crate) fn commands(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.step.is_join()).count()
    }

    /// Adds a step that waits for earlier ones. The label names it in errors ("node 7").
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for memory or a kernel of another context, and beyond 2³² − 1 steps or waits.
    pub(crate) fn push(&mut self, step: Step, after: &[u32], label: u32) -> Result<u32> {
        let index = self.entries.len();
        let (Ok(id), Ok(waits_end)) = (u32::try_from(index), u32::try_from(self.waits.len() + after.len()))
        else {
            return Err(Error::invalid("more nodes or edges than 2³² − 1"));
        };
        self.check(&step)?;
        for wait in after {
            match self.entries.get_mut(*wait as usize) {
                Some(entry) => entry.first_successor = entry.first_successor.min(id),
                None => return Err(Error::invalid("a step that waits for a later one")),
            }
        }
        self.waits.extend_from_slice(after);
        self.begin(&step.memory);
        self.entries.push(Entry { step, waits_end, first_successor: u32::MAX, label });
        Ok(id)
    }

    /// Puts another step in the place of one. What was put on queues before is not changed.
    pub(crate) fn replace(&mut self, index: usize, step: Step) -> Result<()> {
        self.check(&step)?;
        self.begin(&step.memory);
        let Some(entry) = self.entries.get_mut(index) else {
            return Err(Error::invalid(format!("there is no step {index}")));
        };
        let before = std::mem::replace(&mut entry.step, step);
        before.memory.iter().for_each(|memory| self.release(memory));
        Ok(())
    }

    /// Sets the arguments of a step that is a kernel, as many as it has and of its kinds and sizes, and its index space. What was put on
    /// queues before is not changed.
    pub(crate) fn set_kernel<'a>(
        &mut self,
        index: usize,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        size: Option<&WorkSize>,
    ) -> Result<()> {
        self.set_memory(index, arguments.clone())?;
        let Some(Entry { step: Step { work: Work::Kernel { kernel, size: now }, .. }, .. }) =
            self.entries.get_mut(index)
        else {
            return Err(Error::invalid(format!("step {index} is no kernel")));
        };
        for (index, argument) in (0..).zip(arguments) {
            kernel.set_argument(index, argument)?;
        }
        if let Some(size) = size {
            *now = *size;
        }
        Ok(())
    }

    /// Says that a step uses the memory among these arguments, instead of what it did use.
    pub(crate) fn set_memory<'a>(
        &mut self,
        index: usize,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
    ) -> Result<()> {
        let Some(entry) = self.entries.get_mut(index) else {
            return Err(Error::invalid(format!("there is no step {index}")));
        };
        let new = arguments.filter_map(Arg::memory).map(|span| span.allocation());
        if new.clone().map(|memory| memory.id()).eq(entry.step.memory.iter().map(|memory| memory.id())) {
            return Ok(());
        }
        if new.clone().any(|memory| !Arc::ptr_eq(memory.context(), &self.context)) {
            return Err(of_another_context());
        }
        let new: Vec<Arc<Allocation>> = new.cloned().collect();
        let before = std::mem::replace(&mut entry.step.memory, new.clone());
        self.begin(&new);
        before.iter().for_each(|memory| self.release(memory));
        Ok(())
    }

    fn check(&self, step: &Step) -> Result<()> {
        let foreign = match &step.work {
            Work::Kernel { kernel, .. } => !Arc::ptr_eq(kernel.program().context(), &self.context),
            _ => false,
        };
        if foreign || step.memory.iter().any(|memory| !Arc::ptr_eq(memory.context(), &self.context)) {
            return Err(of_another_context());
        }
        Ok(())
    }

    fn begin(&mut self, memory: &[Arc<Allocation>]) {
        memory.iter().for_each(|memory| self.count_use(memory));
    }

    fn count_use(&mut self, memory: &Arc<Allocation>) {
        self.uses.entry(memory.id()).or_insert_with(|| (Arc::clone(memory), 0)).1 += 1;
    }

    /// Adds memory that a step uses without naming it, until it is released as often.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for memory of another context.
    pub(crate) fn keep(&mut self, memory: &Arc<Allocation>) -> Result<()> {
        if !Arc::ptr_eq(memory.context(), &self.context) {
            return Err(of_another_context());
        }
        self.count_use(memory);
        Ok(())
    }

    /// Ends one use.
    pub(crate) fn release(&mut self, memory: &Allocation) {
        if let Some((_, count)) = self.uses.get_mut(&memory.id()) {
            *count -= 1;
            if *count == 0 {
                self.uses.remove(&memory.id());
            }
        }
    }

    pub(crate) fn step(&self, index: usize) -> Option<&Step> {
        self.entries.get(index).map(|entry| &entry.step)
    }

    pub(crate) fn label(&self, index: usize) -> Option<u32> {
        self.entries.get(index).map(|entry| entry.label)
    }

    /// The steps that a step waits for.
    pub(crate) fn waits(&self, index: usize) -> &[u32] {
        let end = |index: usize| self.entries.get(index).map_or(0, |entry| entry.waits_end as usize);
        let start = index.checked_sub(1).map_or(0, end);
        self.waits.get(start..end(index)).unwrap_or(&[])
    }

    /// Whether each step waits for the one before it.
    pub(crate) fn is_linear(&self) -> bool {
        (1..self.len()).all(|index| self.waits(index).contains(&((index - 1) as u32)))
    }

    /// The device memory that the steps use.
    pub(super) fn spans(&self, held: bool) -> impl Iterator<Item = Span<'_>> + Clone {
        self.memory().map(move |memory| memory.tail(0).held(held))
    }

    /// The allocations that the steps use, each once.
    pub(crate) fn memory(&self) -> impl Iterator<Item = &Arc<Allocation>> + Clone {
        self.uses.values().map(|(memory, _)| memory)
    }

    /// Names the step in an error.
    pub(super) fn named(&self, index: usize, error: Error) -> Error {
        match self.label(index) {
            Some(NO_LABEL) => error,
            Some(label) => error.at(format!("node {label}")),
            None => error,
        }
    }

    fn is_leaf(&self, index: usize, end: usize) -> bool {
        self.entries.get(index).is_some_and(|entry| entry.first_successor as usize >= end)
    }
}

fn of_another_context() -> Error {
    Error::invalid("the kernel or its memory belongs to another context")
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequence of {} steps", self.len())
    }
}

impl Queue {
    /// Puts some steps of a sequence on the queue, after events. The event is complete when all of them are.
    ///
    /// # Errors
    /// When the host accesses memory that they use, or the driver refuses one; those before have ended then.
    pub(crate) fn run(
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
            let event = outcome.inspect_err(|_| {
                // Steps that were put on the queue are not counted, so nobody else would wait for them.
                if let Err(error) = self.finish_uncounted() {
                    self.context().keep_error(error);
                }
            })?;
            let several = match measured {
                Some(events) => Several::measured(Measured { sequence: sequence.id, events }),
                None => Several::Unmeasured,
            };
            Ok(event.of_several(several))
        })
    }

    pub(super) fn check_sequence(&self, sequence: &Sequence) -> Result<()> {
        if Arc::ptr_eq(&sequence.context, self.context()) && sequence.device == *self.device() {
            return Ok(());
        }
        Err(Error::invalid("the commands were prepared for another context or device"))
    }

    fn run_in_order(
        self: &Arc<Self>,
        sequence: &Sequence,
        steps: Range<usize>,
        after: &[&Event],
        mode: Mode,
        mut measured: Option<&mut Vec<Event>>,
    ) -> Result<Event> {
        let is_join = |index: &usize| sequence.step(*index).is_none_or(Step::is_join);
        let Some(last) = steps.clone().rev().find(|index| !is_join(index)) else {
            return self.marker(after);
        };
        let wait = WaitList::new(self, after)?;
        let (mut after, mut wait) = (after, wait.events());
        for (index, entry) in steps.clone().zip(sequence.entries.get(steps.start..last).unwrap_or(&[])) {
            let named = |error| sequence.named(index, error);
            match &entry.step.work {
                Work::Join => continue,
                Work::Other(enqueue) => {
                    let event = enqueue(self, after, mode.held).map_err(named)?;
                    if let Some(measured) = measured.as_deref_mut() {
                        measured.push(event);
                    }
                }
                work => {
                    let mut event: cl_event = std::ptr::null_mut();
                    let place = if measured.is_some() { &mut event } else { std::ptr::null_mut() };
                    self.enqueue(work, self.raw(), wait, place).map_err(named)?;
                    if let Some(measured) = measured.as_deref_mut() {
                        measured.push(self.uncounted(event));
                    }
                }
            }
            (after, wait) = (&[], &[]);
        }
        let event = self.run_counted(sequence, last, after, mode)?;
        if let Some(measured) = measured {
            measured.push(event.clone());
        }
        Ok(event)
    }

    fn run_out_of_order(
        self: &Arc<Self>,
        sequence: &Sequence,
        steps: Range<usize>,
        after: &[&Event],
        mode: Mode,
        measured: Option<&mut Vec<Event>>,
    ) -> Result<Event> {
        let Some(last) = steps.end.checked_sub(1).filter(|last| steps.contains(last)) else {
            return self.marker(after);
        };
        let given = WaitList::new(self, after)?;
        let mut events: Vec<Event> = Vec::with_capacity(steps.len());
        let (mut wait, mut leaves) = (Vec::new(), 0_usize);
        for index in steps.clone() {
            let waits = sequence.waits(index).iter();
            let own = waits
                .filter_map(|wait| (*wait as usize).checked_sub(steps.start))
                .filter_map(|at| events.get(at));
            leaves += usize::from(sequence.is_leaf(index, steps.end));
            let Some(step) = sequence.step(index) else { continue };
            let event = if index == last && leaves == 1 || matches!(step.work, Work::Other(_)) {
                let own: Vec<&Event> = own.collect();
                self.run_counted(sequence, index, if own.is_empty() { after } else { &own }, mode)?
            } else {
                wait.clear();
                for event in own {
                    wait.push(event.raw()?.raw());
                }
                let wait = if wait.is_empty() { given.events() } else { &wait };
                let mut event: cl_event = std::ptr::null_mut();
                self.enqueue(&step.work, self.raw(), wait, &mut event)
                    .map_err(|error| sequence.named(index, error))?;
                self.uncounted(event)
            };
            events.push(event);
        }
        let event = match (leaves, events.last()) {
            (1, Some(last)) => last.clone(),
            _ => {
                let leaves: Vec<&Event> = steps
                    .clone()
                    .zip(&events)
                    .filter(|(index, _)| sequence.is_leaf(*index, steps.end))
                    .map(|(_, event)| event)
                    .collect();
                self.marker(&leaves)?
            }
        };
        if let Some(measured) = measured {
            let is_join = |index: usize| sequence.step(index).is_none_or(Step::is_join);
            *measured =
                steps.zip(events).filter(|(index, _)| !is_join(*index)).map(|(_, event)| event).collect();
        }
        Ok(event)
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

    /// The event of a command that another one, which is counted, comes behind.
    fn uncounted(self: &Arc<Self>, event: cl_event) -> Event {
        // SAFETY: the enqueue gave a reference unless the event is null.
        let event = (!event.is_null()).then(|| unsafe { RawEvent::new(self.context().api(), event) });
        Event::new(Arc::clone(self), event, 0, 0)
    }

    /// Puts the work of a step on this queue; no event when its place is null. What it uses is in use, and stays so until
    /// a command that comes behind it is counted.
    fn enqueue(
        &self,
        work: &Work,
        queue: cl_command_queue,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        let api = self.context().api();
        // SAFETY: queue, kernel and events are alive, the kernel's arguments are set, the addresses are those of spans of so
        // many bytes in allocations that the sequence keeps and that are in use; the driver copies the pattern.
        unsafe {
            match work {
                Work::Kernel { kernel, size } => api.clEnqueueNDRangeKernel(
                    queue,
                    kernel.raw(),
                    size.dimensions,
                    size.offset_pointer(),
                    size.global.as_ptr(),
                    size.local_pointer(),
                    wait,
                    event,
                ),
                Work::Copy { from, to, size_bytes } => {
                    let usm = self.context().usm()?;
                    usm.clEnqueueMemcpyINTEL(queue, CL_FALSE, *to, *from, *size_bytes, wait, event)
                }
                Work::Fill { to, pattern, size_bytes } => {
                    let usm = self.context().usm()?;
                    let start = pattern.as_ptr().cast::<c_void>();
                    usm.clEnqueueMemFillINTEL(queue, *to, start, pattern.len(), *size_bytes, wait, event)
                }
                Work::Join => api.clEnqueueMarkerWithWaitList(queue, wait, event),
                Work::Other(_) => Err(Error::invalid("a command that puts itself on the queue")),
            }
        }
    }
}
