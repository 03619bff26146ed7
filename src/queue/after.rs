//! Commands with their dependencies: what every submission goes through.

use bytemuck::Pod;

use super::Queue;
use crate::command::{self, Advice, CopyFrom, CopyTo, Handler, TaskResult};
use crate::driver::event as driver;
use crate::memory::{AsyncSource, HostTarget, Readback, Region};
use crate::{Command, Event, ExecutableGraph, KernelCall, NdRange, Result, TaskAccess, runtime};

/// A queue and events that the next command waits for; from [`Queue::after`]. Its functions are those of [`Queue`].
#[must_use = "dependencies do nothing until a command is put on the queue"]
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    queue: &'a Queue,
    events: &'a [&'a Event],
}

impl<'a> After<'a> {
    pub(super) fn new(queue: &'a Queue, events: &'a [&'a Event]) -> Self {
        Self { queue, events }
    }

    pub(crate) fn queue(&self) -> &'a Queue {
        self.queue
    }

    /// [`Queue::submit`].
    ///
    /// # Errors
    /// As there.
    pub fn submit(self, command: Command) -> Result<Event> {
        let event = command::submit(self.queue, command, self.events)?;
        if self.queue.context().blocking_submissions() && event.recorded().is_none() {
            event.wait()?;
        }
        Ok(event)
    }

    /// [`Queue::submit_with`].
    ///
    /// # Errors
    /// As there.
    pub fn submit_with(self, describe: impl FnOnce(&mut Handler)) -> Result<Event> {
        let mut handler = Handler::default();
        describe(&mut handler);
        self.submit(handler.into_command()?)
    }

    /// [`Queue::host_task`].
    ///
    /// # Errors
    /// As there.
    pub fn host_task<R: TaskResult>(self, task: impl Fn() -> R + Send + Sync + 'static) -> Result<Event> {
        self.submit(Command::host_task(task))
    }

    /// [`Queue::host_task_with`].
    ///
    /// # Errors
    /// As there.
    pub fn host_task_with<S: TaskAccess, R: TaskResult>(
        self,
        accessors: S,
        task: impl Fn(S::Views<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Event> {
        self.submit(Command::host_task_with(accessors, task))
    }

    /// [`Queue::parallel_for`].
    ///
    /// # Errors
    /// As there.
    pub fn parallel_for(self, range: impl Into<NdRange>, call: KernelCall) -> Result<Event> {
        self.submit(Command::parallel_for(range, call))
    }

    /// [`Queue::single_task`].
    ///
    /// # Errors
    /// As there.
    pub fn single_task(self, call: KernelCall) -> Result<Event> {
        self.submit(Command::single_task(call))
    }

    /// [`Queue::copy_to_device`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_device<T: Pod>(self, from: &[T], to: &impl CopyTo<T>) -> Result<()> {
        let to = to.place(true);
        if to.needs_command()? {
            self.queue.refuse_recording("a copy that is waited for")?;
            return self.submit(Command::write_place(from.to_vec(), to))?.wait();
        }
        self.write_now(bytemuck::cast_slice(from), &to.into_region(self.queue)?)
    }

    /// [`Queue::copy_to_host`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_host<T: Pod>(self, from: &impl CopyFrom<T>, to: &mut [T]) -> Result<()> {
        let place = from.place(false);
        if place.needs_command()? {
            let data = self.read_async(from)?.wait()?;
            crate::driver::copy::same_size(size_of_val(data.as_slice()), size_of_val(to))?;
            to.copy_from_slice(&data);
            return Ok(());
        }
        self.read_now(&place.into_region(self.queue)?, bytemuck::cast_slice_mut(to))
    }

    /// [`Queue::read`].
    ///
    /// # Errors
    /// As there.
    pub fn read<T: Pod>(self, from: &impl CopyFrom<T>) -> Result<Vec<T>> {
        let place = from.place(false);
        if place.needs_command()? {
            return self.read_async(from)?.wait();
        }
        let from = place.into_region(self.queue)?;
        let mut data = crate::memory::zeroed(elements::<T>(&from))?;
        self.read_now(&from, bytemuck::cast_slice_mut(&mut data))?;
        Ok(data)
    }

    /// Copies from borrowed host memory, and waits: what no command can do.
    pub(crate) fn write_now(self, from: &[u8], to: &Region) -> Result<()> {
        self.now(to, |events| self.queue.driver().write(from, to.span()?, events))
    }

    /// Copies to borrowed host memory, and waits.
    pub(crate) fn read_now(self, from: &Region, to: &mut [u8]) -> Result<()> {
        self.now(from, |events| self.queue.driver().read(from.span()?, to, events))
    }

    fn now(self, memory: &Region, mut run: impl FnMut(&[&driver::Event]) -> Result<()>) -> Result<()> {
        self.queue.refuse_recording("a copy that is waited for")?;
        loop {
            match command::settled(self.queue, self.events.iter().copied(), &mut run) {
                // A host task that waited here for a guard might wait for its own.
                Err(error) if error.is_busy_in_task() && !runtime::in_host_task() => {
                    memory.allocation().wait_for_tasks();
                }
                outcome => return outcome,
            }
        }
    }

    /// [`Queue::copy_to_device_async`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_device_async<T: Pod>(
        self,
        from: impl Into<AsyncSource<T>>,
        to: &impl CopyTo<T>,
    ) -> Result<Event> {
        self.submit(Command::write(from, to))
    }

    /// [`Queue::read_async`].
    ///
    /// # Errors
    /// As there.
    pub fn read_async<T: Pod>(self, from: &impl CopyFrom<T>) -> Result<Readback<T>> {
        self.queue.refuse_recording("data that is given to the host")?;
        let size_bytes = from.place(false).into_block(self.queue)?.rows.size_bytes();
        let len = size_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        let target = HostTarget::new(len)?;
        let event = self.submit(Command::read(from, &target))?;
        Ok(Readback::new(target, event))
    }

    /// [`Queue::copy`].
    ///
    /// # Errors
    /// As there.
    pub fn copy<T: Pod>(self, from: &impl CopyFrom<T>, to: &impl CopyTo<T>) -> Result<Event> {
        self.submit(Command::copy(from, to))
    }

    /// [`Queue::fill`].
    ///
    /// # Errors
    /// As there.
    pub fn fill<T: Pod>(self, to: &impl CopyTo<T>, value: T) -> Result<Event> {
        self.submit(Command::fill(to, value))
    }

    /// [`Queue::memset`].
    ///
    /// # Errors
    /// As there.
    pub fn memset<T: Pod>(self, to: &impl CopyTo<T>, byte: u8) -> Result<Event> {
        self.submit(Command::memset(to, byte))
    }

    /// [`Queue::prefetch`].
    ///
    /// # Errors
    /// As there.
    pub fn prefetch<T: Pod>(self, memory: &impl CopyFrom<T>) -> Result<Event> {
        self.submit(Command::prefetch(memory))
    }

    /// [`Queue::mem_advise`].
    ///
    /// # Errors
    /// As there.
    pub fn mem_advise<T: Pod>(self, memory: &impl CopyFrom<T>, advice: Advice) -> Result<Event> {
        self.submit(Command::mem_advise(memory, advice))
    }

    /// [`Queue::submit_graph`].
    ///
    /// # Errors
    /// As there.
    pub fn submit_graph(self, graph: &ExecutableGraph) -> Result<Event> {
        self.submit(Command::graph(graph))
    }

    /// A command that does nothing, complete when the events are; without events, [`Queue::marker`].
    ///
    /// # Errors
    /// As there.
    pub fn marker(self) -> Result<Event> {
        self.submit(Command::marker())
    }

    /// As [`After::marker`], and everything behind it on the queue waits for it.
    ///
    /// # Errors
    /// As there.
    pub fn barrier(self) -> Result<Event> {
        self.submit(Command::barrier())
    }
}

/// How many elements there is room for.
fn elements<T>(region: &Region) -> usize {
    region.size_bytes().checked_div(size_of::<T>()).unwrap_or(0)
}
