//! A list of tasks with their argument blocks, in memory that can be changed while launches read
//! it.

use std::ops::Range;
use std::sync::Arc;

use oclave_image::passes::interpreter::{FlowEnd, FlowTask, InterpreterKernel, LocalCopy, TaskRecord};

use super::{FlowGroup, InterpreterProgram, Segment, list_bytes};
use crate::MakeError as _;
use crate::driver::Device;
use crate::driver::context::Context;
use crate::driver::event::Event;
use crate::driver::queue::Queue;
use crate::driver::task_memory::TaskMemory;
use crate::driver::usm::Span;
use crate::{Error, Result};

/// A list of tasks: their records, and behind them their argument blocks.
///
/// Changes go to a copy of the host. There are two pieces of device memory. A launch takes one that
/// is up to date, or updates one that no launch reads any more. So a launch in flight keeps the
/// values that it began with.
#[derive(Debug)]
pub(crate) struct TaskList {
    /// The contents of the device memory: words of 64 bits.
    words: Vec<u64>,
    count: usize,
    /// The second one comes when the first is in use.
    halves: Vec<Half>,
    current: usize,
}

#[derive(Debug)]
struct Half {
    memory: TaskMemory,
    /// The bytes that are not as in `words`; from `start` to `end` where there are some.
    stale: Range<usize>,
}

impl TaskList {
    /// A list of tasks that do nothing yet, with the memory to come.
    pub(crate) fn new(count: usize) -> Self {
        let mut idle = TaskRecord::default().to_words();
        if let Some(kernel) = idle.first_mut() {
            // No layout has so many kernels.
            *kernel = u32::MAX.into();
        }
        Self { words: idle.repeat(count), count, halves: Vec::new(), current: 0 }
    }

    /// Adds an argument block, all zero, and gives its offset for [`TaskRecord::arguments`] and
    /// [`TaskList::write`].
    pub(crate) fn add_block(&mut self, kernel: &InterpreterKernel) -> usize {
        self.halves.clear();
        let align = (kernel.block_align as usize).div_ceil(8).max(1);
        self.words.resize(self.words.len().next_multiple_of(align), 0);
        let offset = self.words.len() * 8;
        self.words.resize(self.words.len() + (kernel.block_bytes as usize).div_ceil(8), 0);
        offset
    }

    /// Sets a task.
    ///
    /// # Errors
    /// When there is no such task.
    pub(crate) fn set(&mut self, index: usize, record: &TaskRecord) -> Result<()> {
        if index >= self.count {
            return Err(Error::invalid(format!("task {index} of {}", self.count)));
        }
        self.write(list_bytes(index), bytemuck::cast_slice(&record.to_words()))
    }

    /// Sets a task that decides which one is next.
    ///
    /// # Errors
    /// When there is no such task.
    pub(crate) fn set_flow(&mut self, index: usize, words: &[u64; TaskRecord::WORDS]) -> Result<()> {
        if index >= self.count {
            return Err(Error::invalid(format!("task {index} of {}", self.count)));
        }
        self.write(list_bytes(index), bytemuck::cast_slice(words))
    }

    /// Sets [`TaskRecord::level`] of a task.
    ///
    /// # Errors
    /// When there is no such task.
    pub(crate) fn set_level(&mut self, index: usize, level: u32) -> Result<()> {
        if index >= self.count {
            return Err(Error::invalid(format!("task {index} of {}", self.count)));
        }
        self.write(list_bytes(index) + TaskRecord::LEVEL_AT, &level.to_ne_bytes())
    }

    /// Changes bytes, of an argument block for example, for launches to come.
    ///
    /// # Errors
    /// When the list has no such bytes.
    pub(crate) fn write(&mut self, offset_bytes: usize, bytes: &[u8]) -> Result<()> {
        let end = offset_bytes.saturating_add(bytes.len());
        let all: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        let length = all.len();
        let room = all.get_mut(offset_bytes..end).ok_or_else(|| {
            Error::invalid(format!("bytes {offset_bytes} to {end} of a list of {length} bytes"))
        })?;
        if *room == *bytes {
            return Ok(());
        }
        room.copy_from_slice(bytes);
        for half in &mut self.halves {
            half.stale = match half.stale.is_empty() {
                true => offset_bytes..end,
                false => half.stale.start.min(offset_bytes)..half.stale.end.max(end),
            };
        }
        Ok(())
    }

    /// Brings the device's memory up to date: then all launches until the next change see the same.
    ///
    /// # Errors
    /// When there is no memory, or the driver refuses.
    pub(crate) fn prepare(&mut self, context: &Arc<Context>, device: &Device) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        let half = || -> Result<Half> {
            let size_bytes = bytes.len() + LocalCopy::READ_BYTES;
            Ok(Half { memory: TaskMemory::new(context, device, size_bytes)?, stale: 0..bytes.len() })
        };
        if self.halves.is_empty() {
            self.current = 0;
            self.halves.push(half()?);
        }
        let now = self.halves.get_mut(self.current).ok_or_else(not_prepared)?;
        if now.stale.is_empty() {
            return Ok(());
        }
        // The other one waits if need be: two replays may be on their way, no more.
        if !now.memory.is_idle()? {
            if self.halves.len() == 1 {
                self.halves.push(half()?);
            }
            self.current = 1 - self.current;
        }
        let half = self.halves.get_mut(self.current).ok_or_else(not_prepared)?;
        let stale = std::mem::take(&mut half.stale);
        let new = bytes.get(stale.clone()).ok_or_else(not_prepared)?;
        half.memory.write(stale.start, new).inspect_err(|_| half.stale = stale)
    }

    /// Runs tasks of the list as it was last prepared. `memory` is what they use through their
    /// arguments.
    ///
    /// # Errors
    /// As [`InterpreterProgram::launch`]; also when the list was never prepared.
    pub(crate) fn launch<'a>(
        &mut self,
        program: &InterpreterProgram,
        queue: &Arc<Queue>,
        segment: &Segment,
        memory: impl Iterator<Item = Span<'a>> + Clone,
        after: &[&Event],
    ) -> Result<Event> {
        if segment.first.saturating_add(segment.count) > self.count as u64 {
            return Err(Error::invalid(format!("{segment:?} of a list of {} tasks", self.count)));
        }
        let half = self.halves.get_mut(self.current).ok_or_else(not_prepared)?;
        half.memory.launch(|list| program.launch(queue, list, segment, memory, after))
    }

    /// Runs the list from a task on, with jumps, up to its last task, which the launch writes. The
    /// list must not be prepared again before the launch has ended and [`Self::end`] was asked.
    ///
    /// # Errors
    /// As [`InterpreterProgram::launch_flow`]; also when the list was never prepared.
    pub(crate) fn launch_flow(
        &mut self,
        program: &InterpreterProgram,
        queue: &Arc<Queue>,
        [first, budget]: [u64; 2],
        group: FlowGroup,
        after: &[&Event],
    ) -> Result<Event> {
        let end = (self.count as u64).saturating_sub(1);
        let half = self.halves.get_mut(self.current).ok_or_else(not_prepared)?;
        half.memory.launch(|list| program.launch_flow(queue, list, [first, end, budget], group, after))
    }

    /// How the last launch with jumps has ended.
    ///
    /// # Errors
    /// While it runs.
    pub(crate) fn end(&mut self) -> Result<FlowEnd> {
        let end = self.count.saturating_sub(1);
        let half = self.halves.get_mut(self.current).ok_or_else(not_prepared)?;
        let mut bytes = [0; FlowEnd::BYTES];
        half.memory.read(list_bytes(end), &mut bytes)?;
        Ok(FlowEnd::of(bytes, end as u64))
    }
}

impl TaskList {
    /// The iterations of the loop that ends with a task ([`FlowTask::iterations`]).
    ///
    /// # Errors
    /// While a launch runs.
    pub(crate) fn iterations(&mut self, task: usize) -> Result<u64> {
        let half = self.halves.get_mut(self.current).ok_or_else(not_prepared)?;
        let mut record = [0_u64; TaskRecord::WORDS];
        half.memory.read(list_bytes(task), bytemuck::cast_slice_mut(&mut record))?;
        Ok(FlowTask::iterations(&record))
    }
}

fn not_prepared() -> Error {
    Error::invalid("a list of tasks that was not prepared")
}
