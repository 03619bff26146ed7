//! Copies between the host or USM and device globals: the functions of [`Queue`] and [`After`].

use bytemuck::Pod;

use super::access::{Elements, GlobalVariable, HostReadable, HostWritable, Value, memory_of, place};
use crate::driver::event::Event as DriverEvent;
use crate::driver::usm::Span;
use crate::memory::{AsyncSource, Readback, UsmKind, UsmSlice};
use crate::queue::{After, Event};
use crate::{Queue, Result, usm};

/// Copies to and from device globals ("Add new copy and memcpy members to the queue class").
///
/// They come after all commands before them on an in-order queue, and after the events of [`Queue::after`]. A variable
/// that no kernel and no copy has touched yet is made and initialised first. Those that end in `async` or `usm` return at
/// once, the others when the copy is done.
impl Queue {
    /// Copies a value to a device global.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the variable has another size than `T`, when images declare it differently, or when it has
    /// `device_image_scope` and several programs have an instance; [`ErrorKind::KernelNotSupported`](crate::ErrorKind::KernelNotSupported) when no kernel uses it;
    /// [`ErrorKind::MemoryAllocation`](crate::ErrorKind::MemoryAllocation) when the device has no room for it; others when its program is built for it.
    pub fn copy_to_global<T: Pod, G: HostWritable + Value<T>>(&self, to: &G, value: &T) -> Result<()> {
        self.after(&[]).copy_to_global(to, value)
    }

    /// The value of a device global.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`].
    pub fn copy_from_global<T: Pod, G: HostReadable + Value<T>>(&self, from: &G) -> Result<T> {
        self.after(&[]).copy_from_global(from)
    }

    /// Copies elements to an array, from its element `start_index` on. Elements of arrays of arrays are rows, or what rows
    /// consist of; a variable that is no array is one element.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`], and [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) beyond the variable's end.
    pub fn copy_to_global_at<E: Pod, G: HostWritable + Elements<E>>(
        &self,
        to: &G,
        start_index: usize,
        elements: &[E],
    ) -> Result<()> {
        self.after(&[]).copy_to_global_at(to, start_index, elements)
    }

    /// Copies elements of an array, from its element `start_index` on, as many as `elements` has room for.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_at`].
    pub fn copy_from_global_at<E: Pod, G: HostReadable + Elements<E>>(
        &self,
        from: &G,
        start_index: usize,
        elements: &mut [E],
    ) -> Result<()> {
        self.after(&[]).copy_from_global_at(from, start_index, elements)
    }

    /// Copies bytes to a device global, from byte `offset_bytes` of it on.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`], and [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) beyond the variable's end.
    pub fn memcpy_to_global<G: HostWritable>(&self, to: &G, offset_bytes: usize, bytes: &[u8]) -> Result<()> {
        self.after(&[]).memcpy_to_global(to, offset_bytes, bytes)
    }

    /// Copies bytes of a device global, from byte `offset_bytes` of it on, as many as `bytes` has room for.
    ///
    /// # Errors
    /// As [`Queue::memcpy_to_global`].
    pub fn memcpy_from_global<G: HostReadable>(
        &self,
        from: &G,
        offset_bytes: usize,
        bytes: &mut [u8],
    ) -> Result<()> {
        self.after(&[]).memcpy_from_global(from, offset_bytes, bytes)
    }

    /// As [`Queue::copy_to_global_at`], later: the elements are a `Vec<E>` or an `Arc<[E]>`.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_at`].
    pub fn copy_to_global_async<E: Pod, G: HostWritable + Elements<E>>(
        &self,
        to: &G,
        start_index: usize,
        elements: impl Into<AsyncSource<E>>,
    ) -> Result<Event> {
        self.after(&[]).copy_to_global_async(to, start_index, elements)
    }

    /// As [`Queue::copy_from_global_at`], later: `count` elements.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_at`].
    pub fn copy_from_global_async<E: Pod, G: HostReadable + Elements<E>>(
        &self,
        from: &G,
        start_index: usize,
        count: usize,
    ) -> Result<Readback<E>> {
        self.after(&[]).copy_from_global_async(from, start_index, count)
    }

    /// As [`Queue::memcpy_to_global`], later.
    ///
    /// # Errors
    /// As [`Queue::memcpy_to_global`].
    pub fn memcpy_to_global_async<G: HostWritable>(
        &self,
        to: &G,
        offset_bytes: usize,
        bytes: impl Into<AsyncSource<u8>>,
    ) -> Result<Event> {
        self.after(&[]).memcpy_to_global_async(to, offset_bytes, bytes)
    }

    /// As [`Queue::memcpy_from_global`], later: `size_bytes` bytes.
    ///
    /// # Errors
    /// As [`Queue::memcpy_to_global`].
    pub fn memcpy_from_global_async<G: HostReadable>(
        &self,
        from: &G,
        offset_bytes: usize,
        size_bytes: usize,
    ) -> Result<Readback<u8>> {
        self.after(&[]).memcpy_from_global_async(from, offset_bytes, size_bytes)
    }

    /// Copies USM of any kind to an array, from its element `start_index` on.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_at`], and as [`Queue::copy`].
    pub fn copy_to_global_usm<E: Pod, K: UsmKind, G: HostWritable + Elements<E>>(
        &self,
        to: &G,
        start_index: usize,
        from: &UsmSlice<E, K>,
    ) -> Result<Event> {
        self.after(&[]).copy_to_global_usm(to, start_index, from)
    }

    /// Copies elements of an array to USM of any kind, from its element `start_index` on, as many as the USM has.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_at`], and as [`Queue::copy`].
    pub fn copy_from_global_usm<E: Pod, K: UsmKind, G: HostReadable + Elements<E>>(
        &self,
        from: &G,
        start_index: usize,
        to: &UsmSlice<E, K>,
    ) -> Result<Event> {
        self.after(&[]).copy_from_global_usm(from, start_index, to)
    }

    /// Copies the bytes of USM of any kind to a device global, from byte `offset_bytes` of it on.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_usm`].
    pub fn memcpy_to_global_usm<E: Pod, K: UsmKind, G: HostWritable>(
        &self,
        to: &G,
        offset_bytes: usize,
        from: &UsmSlice<E, K>,
    ) -> Result<Event> {
        self.after(&[]).memcpy_to_global_usm(to, offset_bytes, from)
    }

    /// Copies bytes of a device global to USM of any kind, from byte `offset_bytes` on, as many as the USM has.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_usm`].
    pub fn memcpy_from_global_usm<E: Pod, K: UsmKind, G: HostReadable>(
        &self,
        from: &G,
        offset_bytes: usize,
        to: &UsmSlice<E, K>,
    ) -> Result<Event> {
        self.after(&[]).memcpy_from_global_usm(from, offset_bytes, to)
    }

    /// The memory of a device global on the queue's device, to be used like any other: in copies, fills, as an argument of
    /// kernels. It keeps a variable with `device_image_scope` alive, with its program.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`].
    pub fn global_memory<E: Pod, G: HostReadable + HostWritable + Elements<E>>(
        &self,
        of: &G,
    ) -> Result<UsmSlice<E, usm::Device>> {
        let allowed = of.check_read().and_then(|()| of.check_write()).and_then(|()| of.check_elements::<E>());
        allowed.map_err(|error| place(of, error))?;
        memory_of(of, self).map(|memory| UsmSlice::of_global(&memory))
    }
}

/// The copies of [`Queue`], after the events.
impl After<'_> {
    /// [`Queue::copy_to_global`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_global<T: Pod, G: HostWritable + Value<T>>(self, to: &G, value: &T) -> Result<()> {
        to.check_write().and_then(|()| to.check_value::<T>()).map_err(|error| place(to, error))?;
        self.write_global(to, 0, bytemuck::bytes_of(value))
    }

    /// [`Queue::copy_from_global`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_global<T: Pod, G: HostReadable + Value<T>>(self, from: &G) -> Result<T> {
        from.check_read().and_then(|()| from.check_value::<T>()).map_err(|error| place(from, error))?;
        let mut value = T::zeroed();
        self.read_global(from, 0, bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// [`Queue::copy_to_global_at`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_global_at<E: Pod, G: HostWritable + Elements<E>>(
        self,
        to: &G,
        start_index: usize,
        elements: &[E],
    ) -> Result<()> {
        to.check_write().and_then(|()| to.check_elements::<E>()).map_err(|error| place(to, error))?;
        self.write_global(to, offset_of::<E>(start_index), bytemuck::cast_slice(elements))
    }

    /// [`Queue::copy_from_global_at`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_global_at<E: Pod, G: HostReadable + Elements<E>>(
        self,
        from: &G,
        start_index: usize,
        elements: &mut [E],
    ) -> Result<()> {
        from.check_read().and_then(|()| from.check_elements::<E>()).map_err(|error| place(from, error))?;
        self.read_global(from, offset_of::<E>(start_index), bytemuck::cast_slice_mut(elements))
    }

    /// [`Queue::memcpy_to_global`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_to_global<G: HostWritable>(self, to: &G, offset_bytes: usize, bytes: &[u8]) -> Result<()> {
        to.check_write().map_err(|error| place(to, error))?;
        self.write_global(to, offset_bytes, bytes)
    }

    /// [`Queue::memcpy_from_global`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_from_global<G: HostReadable>(
        self,
        from: &G,
        offset_bytes: usize,
        bytes: &mut [u8],
    ) -> Result<()> {
        from.check_read().map_err(|error| place(from, error))?;
        self.read_global(from, offset_bytes, bytes)
    }

    /// [`Queue::copy_to_global_async`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_global_async<E: Pod, G: HostWritable + Elements<E>>(
        self,
        to: &G,
        start_index: usize,
        elements: impl Into<AsyncSource<E>>,
    ) -> Result<Event> {
        to.check_write().and_then(|()| to.check_elements::<E>()).map_err(|error| place(to, error))?;
        self.write_global_later(to, offset_of::<E>(start_index), elements.into())
    }

    /// [`Queue::copy_from_global_async`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_global_async<E: Pod, G: HostReadable + Elements<E>>(
        self,
        from: &G,
        start_index: usize,
        count: usize,
    ) -> Result<Readback<E>> {
        from.check_read().and_then(|()| from.check_elements::<E>()).map_err(|error| place(from, error))?;
        self.read_global_later(from, offset_of::<E>(start_index), size_of_elements::<E>(count))
    }

    /// [`Queue::memcpy_to_global_async`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_to_global_async<G: HostWritable>(
        self,
        to: &G,
        offset_bytes: usize,
        bytes: impl Into<AsyncSource<u8>>,
    ) -> Result<Event> {
        to.check_write().map_err(|error| place(to, error))?;
        self.write_global_later(to, offset_bytes, bytes.into())
    }

    /// [`Queue::memcpy_from_global_async`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_from_global_async<G: HostReadable>(
        self,
        from: &G,
        offset_bytes: usize,
        size_bytes: usize,
    ) -> Result<Readback<u8>> {
        from.check_read().map_err(|error| place(from, error))?;
        self.read_global_later(from, offset_bytes, size_bytes)
    }

    /// [`Queue::copy_to_global_usm`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_global_usm<E: Pod, K: UsmKind, G: HostWritable + Elements<E>>(
        self,
        to: &G,
        start_index: usize,
        from: &UsmSlice<E, K>,
    ) -> Result<Event> {
        to.check_write().and_then(|()| to.check_elements::<E>()).map_err(|error| place(to, error))?;
        self.usm_to_global(to, offset_of::<E>(start_index), from)
    }

    /// [`Queue::copy_from_global_usm`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_global_usm<E: Pod, K: UsmKind, G: HostReadable + Elements<E>>(
        self,
        from: &G,
        start_index: usize,
        to: &UsmSlice<E, K>,
    ) -> Result<Event> {
        from.check_read().and_then(|()| from.check_elements::<E>()).map_err(|error| place(from, error))?;
        self.global_to_usm(from, offset_of::<E>(start_index), to)
    }

    /// [`Queue::memcpy_to_global_usm`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_to_global_usm<E: Pod, K: UsmKind, G: HostWritable>(
        self,
        to: &G,
        offset_bytes: usize,
        from: &UsmSlice<E, K>,
    ) -> Result<Event> {
        to.check_write().map_err(|error| place(to, error))?;
        self.usm_to_global(to, offset_bytes, from)
    }

    /// [`Queue::memcpy_from_global_usm`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_from_global_usm<E: Pod, K: UsmKind, G: HostReadable>(
        self,
        from: &G,
        offset_bytes: usize,
        to: &UsmSlice<E, K>,
    ) -> Result<Event> {
        from.check_read().map_err(|error| place(from, error))?;
        self.global_to_usm(from, offset_bytes, to)
    }

    /// Calls with bytes of the variable.
    fn with_global<R>(
        self,
        global: &impl GlobalVariable,
        offset_bytes: usize,
        size_bytes: usize,
        copy: impl FnOnce(Span<'_>, &[&DriverEvent]) -> Result<R>,
    ) -> Result<R> {
        let memory = memory_of(global, self.queue())?;
        let span = memory.span(offset_bytes, size_bytes);
        span.and_then(|span| self.with(|events| copy(span, events))).map_err(|error| place(global, error))
    }

    fn write_global(self, to: &impl GlobalVariable, offset_bytes: usize, bytes: &[u8]) -> Result<()> {
        let queue = self.queue().driver();
        self.with_global(to, offset_bytes, bytes.len(), |span, events| queue.write(bytes, span, events))
    }

    fn read_global(self, from: &impl GlobalVariable, offset_bytes: usize, bytes: &mut [u8]) -> Result<()> {
        let queue = self.queue().driver();
        self.with_global(from, offset_bytes, bytes.len(), |span, events| queue.read(span, bytes, events))
    }

    fn write_global_later<E: Pod>(
        self,
        to: &impl GlobalVariable,
        offset_bytes: usize,
        from: AsyncSource<E>,
    ) -> Result<Event> {
        let queue = self.queue().driver();
        let size_bytes = size_of_val(from.0.as_slice());
        self.with_global(to, offset_bytes, size_bytes, |span, events| queue.write_later(from.0, span, events))
            .map(Event::new)
    }

    fn read_global_later<E: Pod>(
        self,
        from: &impl GlobalVariable,
        offset_bytes: usize,
        size_bytes: usize,
    ) -> Result<Readback<E>> {
        let queue = self.queue().driver();
        self.with_global(from, offset_bytes, size_bytes, |span, events| queue.read_later(span, events))
            .map(Readback::new)
    }

    fn usm_to_global<E: Pod, K: UsmKind>(
        self,
        to: &impl GlobalVariable,
        offset_bytes: usize,
        from: &UsmSlice<E, K>,
    ) -> Result<Event> {
        let queue = self.queue().driver();
        self.with_global(to, offset_bytes, from.size_bytes(), |span, events| {
            queue.copy(from.span()?, span, events)
        })
        .map(Event::new)
    }

    fn global_to_usm<E: Pod, K: UsmKind>(
        self,
        from: &impl GlobalVariable,
        offset_bytes: usize,
        to: &UsmSlice<E, K>,
    ) -> Result<Event> {
        let queue = self.queue().driver();
        self.with_global(from, offset_bytes, to.size_bytes(), |span, events| {
            queue.copy(span, to.span()?, events)
        })
        .map(Event::new)
    }
}

/// Where an element begins; beyond the address space it saturates, which no variable reaches.
fn offset_of<E>(index: usize) -> usize {
    size_of_elements::<E>(index)
}

fn size_of_elements<E>(count: usize) -> usize {
    count.saturating_mul(size_of::<E>())
}
