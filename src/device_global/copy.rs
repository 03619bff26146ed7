//! Copies between the host or USM and device globals: the functions of [`Queue`] and [`After`].

use bytemuck::Pod;

use super::access::{Elements, GlobalVariable, HostReadable, HostWritable, Value, memory_of, place};
use super::place::size_of_elements;
use crate::memory::{AsyncSource, Readback, Region, UsmKind, UsmSlice};
use crate::{After, Command, Event, Queue, Result, usm};

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
        allowed.map_err(|error| place(of.id(), error))?;
        memory_of(of, self).map(UsmSlice::of_region)
    }
}

/// The copies of [`Queue`], after the events.
impl After<'_> {
    /// [`Queue::copy_to_global`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_global<T: Pod, G: HostWritable + Value<T>>(self, to: &G, value: &T) -> Result<()> {
        to.check_write().and_then(|()| to.check_value::<T>()).map_err(|error| place(to.id(), error))?;
        self.write_global(to, 0, bytemuck::bytes_of(value))
    }

    /// [`Queue::copy_from_global`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_global<T: Pod, G: HostReadable + Value<T>>(self, from: &G) -> Result<T> {
        from.check_read().and_then(|()| from.check_value::<T>()).map_err(|error| place(from.id(), error))?;
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
        to.check_write().and_then(|()| to.check_elements::<E>()).map_err(|error| place(to.id(), error))?;
        self.write_global(to, size_of_elements::<E>(start_index), bytemuck::cast_slice(elements))
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
        from.check_read()
            .and_then(|()| from.check_elements::<E>())
            .map_err(|error| place(from.id(), error))?;
        self.read_global(from, size_of_elements::<E>(start_index), bytemuck::cast_slice_mut(elements))
    }

    /// [`Queue::memcpy_to_global`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_to_global<G: HostWritable>(self, to: &G, offset_bytes: usize, bytes: &[u8]) -> Result<()> {
        to.check_write().map_err(|error| place(to.id(), error))?;
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
        from.check_read().map_err(|error| place(from.id(), error))?;
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
        let elements = elements.into();
        let count = elements.len();
        self.submit(Command::write(elements, &to.elements(start_index, count)))
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
        self.read_async(&from.elements(start_index, count))
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
        let bytes = bytes.into();
        let size_bytes = bytes.len();
        self.submit(Command::write(bytes, &to.bytes(offset_bytes, size_bytes)))
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
        self.read_async(&from.bytes(offset_bytes, size_bytes))
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
        self.submit(Command::copy(from, &to.elements(start_index, from.len())))
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
        self.submit(Command::copy(&from.elements(start_index, to.len()), to))
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
        let size_bytes = from.size_bytes();
        self.submit(Command::copy_bytes(from, &to.bytes(offset_bytes, size_bytes)))
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
        let size_bytes = to.size_bytes();
        self.submit(Command::copy_bytes(&from.bytes(offset_bytes, size_bytes), to))
    }

    fn write_global(self, to: &impl GlobalVariable, offset_bytes: usize, bytes: &[u8]) -> Result<()> {
        let region = region_of(to, self.queue(), offset_bytes, bytes.len())?;
        self.write_now(bytes, &region).map_err(|error| place(to.id(), error))
    }

    fn read_global(self, from: &impl GlobalVariable, offset_bytes: usize, bytes: &mut [u8]) -> Result<()> {
        let region = region_of(from, self.queue(), offset_bytes, bytes.len())?;
        self.read_now(&region, bytes).map_err(|error| place(from.id(), error))
    }
}

/// The memory of bytes of a variable.
fn region_of(
    global: &impl GlobalVariable,
    queue: &Queue,
    offset_bytes: usize,
    size_bytes: usize,
) -> Result<Region> {
    let part = memory_of(global, queue)?.part(offset_bytes, size_bytes);
    part.map_err(|error| place(global.id(), error))
}
