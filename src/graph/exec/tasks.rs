//! The tasks of a partition: its lists' one piece of memory, and what nodes are in it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use oclave_image::passes::interpreter::TaskRecord;

use super::draft::{Draft, address, lost, memory_of};
use crate::MakeError as _;
use crate::command::{Argument, CommandKind};
use crate::driver::sequence::Sequence;
use crate::driver::step::Step;
use crate::driver::sync::{Mutex, MutexGuard};
use crate::graph::plan::unit::Run;
use crate::program::{InterpreterProgram, InterpreterSegment, Load, TaskList};
use crate::{Error, Queue, Result};

/// The nodes of a partition that became tasks, in segments that are steps of its sequence.
pub(crate) struct Tasks {
    list: Arc<Mutex<TaskList>>,
    programs: Vec<Arc<InterpreterProgram>>,
    segments: Vec<PlannedSegment>,
    entries: Vec<Entry>,
    /// For blocks that are being made.
    scratch: Vec<u8>,
    /// Nodes that are estimated to cost more are launched.
    cap_ns: f64,
}

/// A segment, and what it was planned with.
#[derive(Debug, Clone)]
pub(in crate::graph) struct PlannedSegment {
    /// Into the programs.
    program: u32,
    pub(in crate::graph) launch: InterpreterSegment,
    /// As estimated.
    pub(in crate::graph) cost_ns: f64,
}

/// The surroundings of a task.
pub(in crate::graph) struct TaskLimits<'a> {
    pub(in crate::graph) program: &'a Arc<InterpreterProgram>,
    pub(in crate::graph) launch: &'a InterpreterSegment,
    /// Nodes that are estimated to cost more are launched.
    pub(in crate::graph) cap_ns: f64,
}

/// A task's place.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Of its argument block, in bytes.
    block: u64,
    capacity: u32,
    kernel: u32,
    segment: u32,
    /// Tasks that are left of its level.
    level: u32,
}

impl Tasks {
    /// Space for `count` tasks. Nodes that are estimated to cost more than `cap_ns` are launched.
    pub(in crate::graph) fn new(programs: Vec<Arc<InterpreterProgram>>, count: usize, cap_ns: f64) -> Self {
        Self {
            list: Arc::new(Mutex::new(TaskList::new(count))),
            programs,
            segments: Vec::new(),
            entries: Vec::with_capacity(count),
            scratch: Vec::new(),
            cap_ns,
        }
    }

    pub(in crate::graph) fn segments(&self) -> &[PlannedSegment] {
        &self.segments
    }

    /// A task's segment, and its place there.
    pub(in crate::graph) fn find(&self, task: u32) -> Option<(usize, usize)> {
        let segment = self.entries.get(task as usize)?.segment as usize;
        Some((segment, task as usize - self.segments.get(segment)?.launch.first as usize))
    }

    /// Writes the nodes of a run, and puts what they use into the sequence. Gives the step, and for
    /// each node its task; those that do nothing have none.
    pub(crate) fn add<'c>(
        &mut self,
        run: &Run,
        commands: impl Iterator<Item = Result<(u32, Cow<'c, Arc<CommandKind>>)>>,
        queue: &Queue,
        sequence: &mut Sequence,
    ) -> Result<(Step, Vec<Option<u32>>)> {
        let number = self.segments.len() as u32;
        let index = run.program.unwrap_or(0);
        let program = self.program(index)?;
        let first = self.entries.len();
        let (mut origins, mut steps, mut all_items, mut local_bytes) = (Vec::new(), 0.0, 0.0, 0);
        let mut is_straight = true;
        let mut tasks = Vec::with_capacity(run.nodes.len());
        let mut numbering = run.numbering();
        for command in commands {
            let (origin, command) = command?;
            let named = |error: Error| error.at(format!("node {origin}"));
            let draft = Draft::of(&program, &command, queue, &mut self.scratch).map_err(named)?;
            let place = numbering.place(draft.is_some());
            tasks.push(place.map(|place| first as u32 + place));
            let (Some(draft), Some(place)) = (draft, place) else { continue };
            let kernel = program.layout().kernel(draft.record.kernel).ok_or_else(lost)?;
            let entry = Entry {
                block: self.list.lock().add_block(kernel) as u64,
                capacity: kernel.block_bytes,
                kernel: draft.record.kernel,
                segment: number,
                level: 1,
            };
            let index = first + place as usize;
            self.write(index, &entry, &draft)?;
            if self.entries.len() <= index {
                let none = Entry { block: 0, capacity: 0, kernel: 0, segment: number, level: 1 };
                self.entries.resize(index + 1, none);
            }
            *self.entries.get_mut(index).ok_or_else(lost)? = entry;
            draft.memory.iter().try_for_each(|memory| sequence.keep(memory)).map_err(named)?;
            let items: u64 = draft.record.global_size.iter().product();
            all_items += items as f64;
            steps += items as f64 * f64::from(kernel.cost.steps.max(1));
            is_straight &= kernel.is_straight;
            local_bytes = local_bytes.max(draft.local_bytes);
            origins.push(origin);
        }
        let count = numbering.count();
        let widest = self.set_levels(run, &tasks)?;
        let (local, groups) = (run.local, run.groups);
        let load = Load { local, tasks: count, items: all_items, steps, is_straight, groups, widest };
        let shape = program.shape(&load);
        let groups = match run.lanes.is_empty() {
            true => run.groups.min(count.div_ceil(shape.teams()) as u32).max(1),
            false => run.groups.min(count as u32).max(1),
        };
        let launch = InterpreterSegment {
            first: first as u64,
            count: count as u64,
            groups: groups as usize,
            shape,
            local_bytes,
        };
        self.segments.push(PlannedSegment { program: index, launch, cost_ns: run.cost_ns });
        Ok((step(&self.list, &program, launch, names(&origins)), tasks))
    }

    /// Tells the tasks of a run what is left of their levels, and gives the tasks of the largest
    /// level that one group runs.
    fn set_levels(&mut self, run: &Run, tasks: &[Option<u32>]) -> Result<usize> {
        let mut widest = 1;
        let mut list = self.list.lock();
        for (task, left) in run.left_of_levels(tasks) {
            let entry = self.entries.get_mut(task as usize).ok_or_else(lost)?;
            entry.level = left;
            list.set_level(task as usize, left)?;
            widest = widest.max(left as usize);
        }
        Ok(widest.div_ceil(run.groups.max(1) as usize))
    }

    /// The limits that decide whether another command can replace that of a task.
    pub(in crate::graph) fn limits(&self, task: u32) -> Result<TaskLimits<'_>> {
        let entry = self.entries.get(task as usize).ok_or_else(lost)?;
        let segment = self.segments.get(entry.segment as usize).ok_or_else(lost)?;
        let program = self.programs.get(segment.program as usize).ok_or_else(lost)?;
        Ok(TaskLimits { program, launch: &segment.launch, cap_ns: self.cap_ns })
    }

    /// To change values of several tasks.
    pub(crate) fn values(&self) -> TaskValues<'_> {
        TaskValues { tasks: self, list: self.list.lock() }
    }

    /// Where the block of a task has an argument, in bytes of the list.
    fn argument(&self, task: u32, argument: usize) -> Option<Range<usize>> {
        let entry = self.entries.get(task as usize)?;
        let segment = self.segments.get(entry.segment as usize)?;
        let kernel = self.programs.get(segment.program as usize)?.layout().kernel(entry.kernel)?;
        let place = kernel.arguments.get(argument)?;
        let start = entry.block as usize + place.offset_bytes as usize;
        Some(start..start + place.kind.size_bytes() as usize)
    }

    /// Puts another command that fits there in the place of a task's. Replays that run keep
    /// what they began with.
    ///
    /// # Errors
    /// When there is no memory. Nothing is changed then.
    pub(crate) fn update(
        &mut self,
        task: u32,
        before: &CommandKind,
        command: &CommandKind,
        queue: &Queue,
        sequence: &mut Sequence,
    ) -> Result<()> {
        let entry = self.entries.get(task as usize).copied().ok_or_else(lost)?;
        let segment = self.segments.get(entry.segment as usize).ok_or_else(lost)?;
        if before.differs_in_arguments(command) {
            return self.set_arguments(task, before, command, sequence);
        }
        let program = self.program(segment.program)?;
        let draft = Draft::of(&program, command, queue, &mut self.scratch)?.ok_or_else(lost)?;
        let kernel = program.layout().kernel(draft.record.kernel).ok_or_else(lost)?;
        let released = memory_of(before, queue)?;
        draft.memory.iter().try_for_each(|memory| sequence.keep(memory))?;
        released.iter().for_each(|memory| sequence.release(memory));
        let mut entry = Entry { kernel: draft.record.kernel, ..entry };
        let align = u64::from(kernel.block_align).max(8);
        if kernel.block_bytes > entry.capacity || !entry.block.is_multiple_of(align) {
            entry.block = self.list.lock().add_block(kernel) as u64;
            entry.capacity = kernel.block_bytes;
        }
        self.write(task as usize, &entry, &draft)?;
        *self.entries.get_mut(task as usize).ok_or_else(lost)? = entry;
        Ok(())
    }

    /// Writes what [differs](CommandKind::differs_in_arguments) into the block of a task. Replays
    /// on their way keep what they began with.
    pub(crate) fn set_arguments(
        &self,
        task: u32,
        before: &CommandKind,
        command: &CommandKind,
        sequence: &mut Sequence,
    ) -> Result<()> {
        let mut values = self.values();
        for changed in before.changed_arguments(command) {
            match changed {
                (index, _, Argument::Value(value)) => values.set(task, index, value.bytes())?,
                (index, from, to @ Argument::Pointer(_)) => {
                    to.region().map_or(Ok(()), |region| sequence.keep(region.allocation()))?;
                    values.set(task, index, &address(to))?;
                    from.region().into_iter().for_each(|region| sequence.release(region.allocation()));
                }
                (_, _, Argument::Local { .. }) => {}
                // The interpreter runs no kernel with images.
                (_, _, Argument::Image(_) | Argument::Sampler(_)) => return Err(lost()),
            }
        }
        Ok(())
    }

    fn program(&self, index: u32) -> Result<Arc<InterpreterProgram>> {
        self.programs.get(index as usize).cloned().ok_or_else(lost)
    }

    fn write(&mut self, index: usize, entry: &Entry, draft: &Draft) -> Result<()> {
        let record = TaskRecord { arguments: entry.block, level: entry.level, ..draft.record };
        let mut list = self.list.lock();
        list.write(entry.block as usize, &self.scratch)?;
        list.set(index, &record)
    }
}

pub(crate) struct TaskValues<'a> {
    tasks: &'a Tasks,
    list: MutexGuard<'a, TaskList>,
}

impl TaskValues<'_> {
    /// Changes a value. Replays that run keep what they began with.
    pub(crate) fn set(&mut self, task: u32, argument: usize, value: &[u8]) -> Result<()> {
        let place = self.tasks.argument(task, argument).ok_or_else(lost)?;
        self.list.write(place.start, value)
    }
}

fn step(
    list: &Arc<Mutex<TaskList>>,
    program: &Arc<InterpreterProgram>,
    segment: InterpreterSegment,
    names: String,
) -> Step {
    let (list, program) = (Arc::clone(list), Arc::clone(program));
    // The sequence keeps what the tasks use, and has begun its use.
    Step::other(
        Vec::new(),
        Box::new(move |queue, after, _| {
            let mut list = list.lock();
            list.prepare(queue.context(), queue.device())
                .and_then(|()| list.launch(&program, queue, &segment, std::iter::empty(), after))
                .map_err(|error| error.at(names.clone()))
        }),
    )
}

/// Nodes in messages: the first ones, and how many more.
fn names(nodes: &[u32]) -> String {
    const SHOWN: usize = 8;
    let first: Vec<String> = nodes.iter().take(SHOWN).map(u32::to_string).collect();
    let more = nodes.len() - first.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("nodes {}{more}", first.join(", "))
}
