//! Commands with their dependencies: what every submission goes through.

use bytemuck::Pod;

use super::{Event, KernelCall, NdRange, Queue, Range, fill, launch};
use crate::Result;
use crate::driver::event as driver;
use crate::memory::{AsyncSource, Readback, UsmKind, UsmSlice};

/// A queue and events that the next command waits for; from [`Queue::after`]. Its functions are those of [`Queue`].
#[must_use = "dependencies do nothing until a command is put on the queue"]
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    queue: &'a Queue,
    events: &'a [&'a Event],
}

/// How memory will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Mostly read.
    ReadMostly,
    /// Not mostly read after all.
    NotReadMostly,
    /// Best placed on the device.
    PreferDevice,
    /// Not best placed on the device after all.
    NotPreferDevice,
}

impl<'a> After<'a> {
    pub(super) fn new(queue: &'a Queue, events: &'a [&'a Event]) -> Self {
        Self { queue, events }
    }

    pub(crate) fn queue(&self) -> &'a Queue {
        self.queue
    }

    /// Calls with the events as the driver layer has them; on the stack when they are few.
    pub(crate) fn with<R>(self, submit: impl FnOnce(&[&driver::Event]) -> Result<R>) -> Result<R> {
        match self.events {
            [] => submit(&[]),
            [a] => submit(&[a.driver()]),
            [a, b] => submit(&[a.driver(), b.driver()]),
            many => submit(&many.iter().map(|event| event.driver()).collect::<Vec<_>>()),
        }
    }

    fn event(self, submit: impl FnOnce(&[&driver::Event]) -> Result<driver::Event>) -> Result<Event> {
        self.with(submit).map(Event::new)
    }

    /// [`Queue::parallel_for`].
    ///
    /// # Errors
    /// As there.
    pub fn parallel_for(self, range: impl Into<NdRange>, call: KernelCall) -> Result<Event> {
        let range = range.into();
        self.event(|after| launch::launch(self.queue, &range, &call, after))
    }

    /// [`Queue::single_task`].
    ///
    /// # Errors
    /// As there.
    pub fn single_task(self, call: KernelCall) -> Result<Event> {
        self.parallel_for(Range::d1(1), call)
    }

    /// [`Queue::copy_to_device`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_device<T: Pod, K: UsmKind>(self, from: &[T], to: &UsmSlice<T, K>) -> Result<()> {
        self.with(|after| self.queue.driver().write(bytemuck::cast_slice(from), to.span()?, after))
    }

    /// [`Queue::copy_to_host`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_host<T: Pod, K: UsmKind>(self, from: &UsmSlice<T, K>, to: &mut [T]) -> Result<()> {
        self.with(|after| self.queue.driver().read(from.span()?, bytemuck::cast_slice_mut(to), after))
    }

    /// [`Queue::read`].
    ///
    /// # Errors
    /// As there.
    pub fn read<T: Pod, K: UsmKind>(self, from: &UsmSlice<T, K>) -> Result<Vec<T>> {
        let mut data = crate::memory::zeroed(from.len())?;
        self.copy_to_host(from, &mut data)?;
        Ok(data)
    }

    /// [`Queue::copy_to_device_async`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_device_async<T: Pod, K: UsmKind>(
        self,
        from: impl Into<AsyncSource<T>>,
        to: &UsmSlice<T, K>,
    ) -> Result<Event> {
        self.event(|after| self.queue.driver().write_later(from.into().0, to.span()?, after))
    }

    /// [`Queue::read_async`].
    ///
    /// # Errors
    /// As there.
    pub fn read_async<T: Pod, K: UsmKind>(self, from: &UsmSlice<T, K>) -> Result<Readback<T>> {
        self.with(|after| self.queue.driver().read_later(from.span()?, after)).map(Readback::new)
    }

    /// [`Queue::copy`].
    ///
    /// # Errors
    /// As there.
    pub fn copy<T: Pod, K: UsmKind, L: UsmKind>(
        self,
        from: &UsmSlice<T, K>,
        to: &UsmSlice<T, L>,
    ) -> Result<Event> {
        self.event(|after| self.queue.driver().copy(from.span()?, to.span()?, after))
    }

    /// [`Queue::fill`].
    ///
    /// # Errors
    /// As there.
    pub fn fill<T: Pod, K: UsmKind>(self, to: &UsmSlice<T, K>, value: T) -> Result<Event> {
        self.event(|after| fill::fill(self.queue.driver(), to.span()?, bytemuck::bytes_of(&value), after))
    }

    /// [`Queue::memset`].
    ///
    /// # Errors
    /// As there.
    pub fn memset<T: Pod, K: UsmKind>(self, to: &UsmSlice<T, K>, byte: u8) -> Result<Event> {
        self.event(|after| self.queue.driver().fill(to.span()?, &[byte], after))
    }

    /// [`Queue::prefetch`].
    ///
    /// # Errors
    /// As there.
    pub fn prefetch<T: Pod, K: UsmKind>(self, memory: &UsmSlice<T, K>) -> Result<Event> {
        self.event(|after| self.queue.driver().prefetch(memory.span()?, after))
    }

    /// [`Queue::mem_advise`].
    ///
    /// # Errors
    /// As there.
    pub fn mem_advise<T: Pod, K: UsmKind>(self, memory: &UsmSlice<T, K>, advice: Advice) -> Result<Event> {
        let _ = advice;
        self.event(|after| self.queue.driver().advise(memory.span()?, after))
    }

    /// A command that does nothing, complete when the events are; without events, [`Queue::marker`].
    ///
    /// # Errors
    /// As there.
    pub fn marker(self) -> Result<Event> {
        self.event(|after| self.queue.driver().marker(after))
    }

    /// As [`After::marker`], and everything behind it on the queue waits for it.
    ///
    /// # Errors
    /// As there.
    pub fn barrier(self) -> Result<Event> {
        self.event(|after| self.queue.driver().barrier(after))
    }
}
