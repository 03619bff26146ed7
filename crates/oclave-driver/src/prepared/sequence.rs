//! Sequences: prepared commands, each behind those that it waits for.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::launch::{Arg, Bytes, Kept, WorkSize};
use super::mutable::Patches;
use super::step::{Launch, Step, Work};
use crate::Device;
use crate::MakeError as _;
use crate::context::Context;
use crate::usm::{Allocation, Span};
use crate::{Error, Result};

/// The label of a step that names itself.
pub const NO_LABEL: u32 = u32::MAX;

/// Steps of one context and device in topological order: they wait for earlier ones only.
pub struct Sequence {
    id: u64,
    context: Arc<Context>,
    device: Device,
    entries: Vec<Entry>,
    /// For each step, one list behind the other, the steps that it waits for.
    waits: Vec<u32>,
    uses: Uses,
}

/// The allocations that steps use, by id, with how many steps do.
#[derive(Default)]
struct Uses(BTreeMap<u64, (Arc<Allocation>, u32)>);

struct Entry {
    step: Step,
    /// The end of its list in `waits`.
    waits_end: u32,
    /// `u32::MAX`: none.
    first_successor: u32,
    /// For messages.
    label: u32,
}

impl Uses {
    fn begin(&mut self, memory: &Arc<Allocation>) {
        match self.0.entry(memory.id()) {
            btree_map::Entry::Occupied(mut entry) => entry.get_mut().1 += 1,
            btree_map::Entry::Vacant(entry) => drop(entry.insert((Arc::clone(memory), 1))),
        }
    }

    fn end(&mut self, memory: &Allocation) {
        if let btree_map::Entry::Occupied(mut entry) = self.0.entry(memory.id()) {
            entry.get_mut().1 -= 1;
            if entry.get().1 == 0 {
                entry.remove();
            }
        }
    }
}

impl Sequence {
    /// An empty sequence for a device.
    pub fn new(context: &Arc<Context>, device: &Device) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context: Arc::clone(context),
            device: device.clone(),
            entries: Vec::new(),
            waits: Vec::new(),
            uses: Uses::default(),
        }
    }

    /// A number that no other sequence of the process has, or had.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }

    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    #[inline]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// How many steps.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether a sequence is empty")]
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many steps are commands for the device.
    pub fn commands(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.step.is_join()).count()
    }

    /// Adds a step that waits for earlier ones. The label names it in errors ("node 7").
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for memory or a kernel of another context, and beyond
    /// 2³² − 1 steps or waits.
    pub fn push(&mut self, step: Step, after: &[u32], label: u32) -> Result<u32> {
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
        step.memory().for_each(|memory| self.uses.begin(memory));
        self.entries.push(Entry { step, waits_end, first_successor: u32::MAX, label });
        Ok(id)
    }

    /// Puts another step in the place of one. What was put on queues before is not changed.
    pub fn replace(&mut self, index: usize, step: Step) -> Result<()> {
        self.check(&step)?;
        let Some(entry) = self.entries.get_mut(index) else { return Err(no_step(index)) };
        step.memory().for_each(|memory| self.uses.begin(memory));
        let before = std::mem::replace(&mut entry.step, step);
        before.memory().for_each(|memory| self.uses.end(memory));
        Ok(())
    }

    /// Gives a step that is a kernel other arguments, as many as it has and of its kinds and sizes,
    /// and another index space. What changes is noted in `patches`. What was put on queues before
    /// is not changed.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for memory of another context; nothing has changed
    /// then.
    #[inline]
    pub fn set_kernel<'a>(
        &mut self,
        index: usize,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        size: Option<&WorkSize>,
        patches: &mut Patches,
    ) -> Result<()> {
        let is_foreign = |span: Span<'_>| !Arc::ptr_eq(span.allocation().context(), &self.context);
        if arguments.clone().filter_map(Arg::memory).any(is_foreign) {
            return Err(of_another_context());
        }
        let launch = launch_mut(&mut self.entries, index)?;
        for (number, (place, argument)) in (0..).zip(launch.arguments.iter_mut().zip(arguments)) {
            if place.is(argument) {
                continue;
            }
            let before = std::mem::replace(place, Kept::from(argument));
            place.memory().into_iter().for_each(|memory| self.uses.begin(memory));
            before.memory().into_iter().for_each(|memory| self.uses.end(memory));
            patches.add_argument(number);
        }
        let before = size.filter(|size| **size != launch.size);
        let before = before.map(|size| std::mem::replace(&mut launch.size, *size));
        patches.end_step(index as u32, before);
        Ok(())
    }

    /// Gives an argument by value of a step that is a kernel other bytes, as many as it has. If it
    /// changes, it is noted in `patches`, as one of the step that comes next. What was put on
    /// queues before is not changed.
    #[inline]
    pub fn set_value(
        &mut self,
        index: usize,
        argument: usize,
        value: &[u8],
        patches: &mut Patches,
    ) -> Result<()> {
        match launch_mut(&mut self.entries, index)?.arguments.get_mut(argument) {
            Some(Kept::Value(bytes)) if **bytes != *value => {
                *bytes = Bytes::new(value);
                patches.add_argument(argument as u32);
            }
            _ => {}
        }
        Ok(())
    }

    fn check(&self, step: &Step) -> Result<()> {
        let foreign = match &step.work {
            Work::Kernel(launch) => !Arc::ptr_eq(launch.kernel.program().context(), &self.context),
            _ => false,
        };
        if foreign || step.memory().any(|memory| !Arc::ptr_eq(memory.context(), &self.context)) {
            return Err(of_another_context());
        }
        Ok(())
    }

    /// Adds memory that a step uses without naming it, until it is released as often.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for memory of another context.
    #[inline]
    pub fn keep(&mut self, memory: &Arc<Allocation>) -> Result<()> {
        if !Arc::ptr_eq(memory.context(), &self.context) {
            return Err(of_another_context());
        }
        self.uses.begin(memory);
        Ok(())
    }

    /// Ends one use.
    #[inline]
    pub fn release(&mut self, memory: &Allocation) {
        self.uses.end(memory);
    }

    /// A step, if there are so many.
    #[inline]
    pub fn step(&self, index: usize) -> Option<&Step> {
        self.entries.get(index).map(|entry| &entry.step)
    }

    /// The kernel of a step.
    #[inline]
    pub(crate) fn launch(&self, index: usize) -> Option<&Launch> {
        match &self.entries.get(index)?.step.work {
            Work::Kernel(launch) => Some(launch),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn label(&self, index: usize) -> Option<u32> {
        self.entries.get(index).map(|entry| entry.label)
    }

    /// The steps that a step waits for.
    #[inline]
    pub(crate) fn waits(&self, index: usize) -> &[u32] {
        let end = |index: usize| self.entries.get(index).map_or(0, |entry| entry.waits_end as usize);
        let start = index.checked_sub(1).map_or(0, end);
        self.waits.get(start..end(index)).unwrap_or(&[])
    }

    /// Whether each step waits for the one before it.
    pub fn is_linear(&self) -> bool {
        (1..self.len()).all(|index| self.waits(index).contains(&((index - 1) as u32)))
    }

    /// The device memory that the steps use.
    pub(crate) fn spans(&self, held: bool) -> impl Iterator<Item = Span<'_>> + Clone {
        self.memory().map(move |memory| memory.tail(0).held(held))
    }

    /// The allocations that the steps use, each once.
    pub fn memory(&self) -> impl Iterator<Item = &Arc<Allocation>> + Clone {
        self.uses.0.values().map(|(memory, _)| memory)
    }

    /// Names the step in an error.
    pub(crate) fn named(&self, index: usize, error: Error) -> Error {
        match self.label(index) {
            Some(NO_LABEL) => error,
            Some(label) => error.at(format!("node {label}")),
            None => error,
        }
    }

    /// Whether no step before `end` waits for it.
    #[inline]
    pub(crate) fn is_leaf(&self, index: usize, end: usize) -> bool {
        self.entries.get(index).is_some_and(|entry| entry.first_successor as usize >= end)
    }
}

/// The launch of a step that is a kernel.
#[inline]
fn launch_mut(entries: &mut [Entry], index: usize) -> Result<&mut Launch> {
    match entries.get_mut(index) {
        Some(Entry { step: Step { work: Work::Kernel(launch), .. }, .. }) => Ok(launch),
        _ => Err(no_step(index)),
    }
}

#[cold]
fn no_step(index: usize) -> Error {
    Error::invalid(format!("there is no step {index} of this kind"))
}

fn of_another_context() -> Error {
    Error::invalid("the kernel or its memory belongs to another context")
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequence of {} steps", self.len())
    }
}
