//! Copies between the host and memory of every kind.

use bytemuck::Pod;

use super::{Queue, Rank};
use crate::MakeError as _;
use crate::command::{self, Contents, CopyFrom, CopyTo, HostData, Place};
use crate::driver::borrowed_host::{lend, lend_mut};
use crate::driver::copy::same_size;
use crate::driver::event as driver;
use crate::driver::host::HostBytes;
use crate::driver::images::Pixels;
use crate::driver::queue::Queue as DriverQueue;
use crate::memory::{AsyncSource, FromElements, HostTarget, Readback, Region, buffer};
use crate::{Command, Event, Result, UsmSlice, runtime, trace};

/// Copies, fills and hints.
///
/// Each takes memory of any kind: USM ([`UsmSlice`](crate::UsmSlice)), boxes of it
/// ([`UsmRect`](crate::memory::UsmRect)), parts of buffers ([`Accessor`](crate::memory::Accessor)), images
/// ([`Image`](crate::images::Image)) and their regions, device globals
/// ([`DeviceGlobal`](crate::kernel::DeviceGlobal)) and their elements
/// ([`GlobalSlice`](crate::kernel::GlobalSlice)).
///
/// [`write`](Queue::write), [`read`](Queue::read) and [`read_into`](Queue::read_into) borrow host
/// memory, so they wait. Those that end in `_async` own their host memory and return at once.
///
/// ```no_run
/// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
/// # use kernels::globals::{COUNTER, HISTOGRAM};
/// # fn f(queue: &oclave::Queue) -> oclave::Result<()> {
/// let x = queue.upload(&[1, 2, 3])?;
/// queue.write(&x.slice(1..)?, &[5, 6])?;
/// queue.write(&COUNTER, &5)?; // a device global holds one value of its type
/// queue.copy(&x, &HISTOGRAM.slice(2..5)?)?;
/// assert_eq!(queue.read(&HISTOGRAM)?[2..5], [1, 5, 6]);
/// let later = queue.read_async(&x)?;
/// assert_eq!(later.wait()?, [1, 5, 6]);
/// # Ok(())
/// # }
/// ```
impl Queue {
    /// Copies host data to memory of the same length, and waits.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for other lengths, memory of another context, or
    /// memory that the host accesses. For device globals also when images declare the variable
    /// differently, or when it has `device_image_scope` and several programs have an instance;
    /// [`KernelNotSupported`](crate::ErrorKind::KernelNotSupported) when no kernel uses it;
    /// [`MemoryAllocation`](crate::ErrorKind::MemoryAllocation) when the device has no room for it.
    pub fn write<M: CopyTo>(&self, to: &M, data: &M::Data) -> Result<()> {
        let place = to.place(true);
        if place.needs_command()? {
            self.refuse_recording("a copy that is waited for")?;
            let data = data.bytes();
            if self.pixels_at_once(&place, |queue, pixels| queue.write_image_at_once(data, pixels))? {
                return Ok(());
            }
            if runtime::in_host_task() {
                return self.submit(Command::write_place(HostBytes::owned(data.to_vec()), place))?.wait();
            }
            return lend(data, |source| self.submit(Command::write_place(source, place))?.wait());
        }
        let region = place.into_region(self)?;
        self.now(&region, |events| self.driver().write(data.bytes(), region.span()?, events))
            .map_err(|error| to.name(error))
    }

    /// Device memory with a copy of host data, on the queue's device.
    ///
    /// # Errors
    /// As [`Context::alloc_device_on`](crate::Context::alloc_device_on) and [`Queue::write`].
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<UsmSlice<T>> {
        let memory = self.context().alloc_device_on(self.device(), data.len())?;
        self.write(&memory, data)?;
        Ok(memory)
    }

    /// The contents of memory, when everything before has run: a vector, or the value of a device
    /// global.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn read<M: CopyFrom>(&self, from: &M) -> Result<M::Owned> {
        let place = from.place(false);
        let zeroed = |size_bytes| crate::memory::zeroed::<M::Element>(len_of::<M>(size_bytes));
        let elements = if place.needs_command()? {
            let mut elements = zeroed(place.clone().copied_bytes(self)?)?;
            self.read_by_command(place, bytemuck::cast_slice_mut(&mut elements))?;
            elements
        } else {
            let region = place.into_region(self)?;
            let mut elements = zeroed(region.size_bytes())?;
            self.read_now(&region, bytemuck::cast_slice_mut(&mut elements))
                .map_err(|error| from.name(error))?;
            elements
        };
        M::Owned::from_elements(elements)
    }

    /// Copies memory to host memory of the same length, and waits.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn read_into<M: CopyFrom>(&self, from: &M, to: &mut M::Data) -> Result<()> {
        let place = from.place(false);
        let to = to.bytes_mut();
        if place.needs_command()? {
            return self.read_by_command(place, to);
        }
        self.read_now(&place.into_region(self)?, to).map_err(|error| from.name(error))
    }

    /// As [`Queue::write`], later: the data is a `Vec<T>`, an `Arc<[T]>`, a single value, or a copy of
    /// a slice or array.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn write_async<M: CopyTo>(&self, to: &M, data: impl Into<AsyncSource<M::Element>>) -> Result<Event> {
        self.submit(Command::write(to, data)).map_err(|error| to.name(error))
    }

    /// As [`Queue::read`], later.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn read_async<M: CopyFrom>(&self, from: &M) -> Result<Readback<M::Element, M::Owned>> {
        self.refuse_recording("data that is given to the host")?;
        let size_bytes = from.place(false).copied_bytes(self)?;
        let target = HostTarget::new(len_of::<M>(size_bytes))?;
        let event = self.submit(Command::read(from, &target))?;
        Ok(Readback::new(target, event))
    }

    /// Copies memory to memory of the same length, of the same context.
    ///
    /// # Errors
    /// As [`Queue::write`]; also [`Invalid`](crate::ErrorKind::Invalid) where the two overlap.
    pub fn copy<M: CopyFrom>(&self, from: &M, to: &impl CopyTo<Element = M::Element>) -> Result<Event> {
        self.submit(Command::copy(from, to)).map_err(|error| to.name(from.name(error)))
    }

    /// Sets every element to a value.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn fill<M: CopyTo>(&self, to: &M, value: M::Element) -> Result<Event> {
        self.submit(Command::fill(to, value))
    }

    /// Sets every byte to a value.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn memset(&self, to: &impl CopyTo, byte: u8) -> Result<Event> {
        self.submit(Command::memset(to, byte))
    }

    /// Moves memory to the device ahead of its use. Does nothing but keep its place in the order
    /// where the device cannot.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn prefetch(&self, memory: &impl CopyFrom) -> Result<Event> {
        self.submit(Command::prefetch(memory))
    }

    /// A task cannot wait for what comes after it, and gets an error. The copy runs on then, so that
    /// it needs memory of its own.
    fn read_by_command(&self, from: Place, to: &mut [u8]) -> Result<()> {
        self.refuse_recording("data that is given to the host")?;
        if self.pixels_at_once(&from, |queue, pixels| queue.read_image_at_once(pixels, to))? {
            return Ok(());
        }
        if runtime::in_host_task() {
            let target = HostTarget::<u8>::new(from.clone().copied_bytes(self)?)?;
            self.submit(Command::read_place(from, target.sink()))?.wait()?;
            return target.with(|data| {
                same_size(data.len(), to.len())?;
                to.copy_from_slice(data);
                Ok(())
            })?;
        }
        lend_mut(to, |sink| self.submit(Command::read_place(from, sink))?.wait())
    }

    /// Copies pixels of an image with one blocking call; returns whether it did. It does so only if
    /// all commands that must end before have ended. For a few pixels, [`lend`] and the events of a
    /// command would cost more than the copy.
    fn pixels_at_once(
        &self,
        place: &Place,
        copy: impl FnOnce(&DriverQueue, &Pixels) -> Result<bool>,
    ) -> Result<bool> {
        let Place::Image(part) = place else { return Ok(false) };
        if !self.order().lets_pass(Rank::Plain) || !self.dependencies().iter().all(Event::is_behind) {
            return Ok(false);
        }
        let copied = buffer::at_once(part.requirement(), || copy(self.driver(), &part.pixels()));
        let was_copied = copied.transpose()?.unwrap_or(false);
        if was_copied {
            self.driver().check_faults()?;
        }
        Ok(was_copied)
    }

    fn read_now(&self, from: &Region, to: &mut [u8]) -> Result<()> {
        self.now(from, |events| self.driver().read(from.span()?, to, events))
    }

    /// Copies from or to borrowed host memory, and waits: what no command can do.
    fn now(&self, memory: &Region, mut run: impl FnMut(&[&driver::Event]) -> Result<()>) -> Result<()> {
        self.refuse_recording("a copy that is waited for")?;
        trace::wait("copy", || {
            loop {
                match command::with_driver_events(self, self.dependencies().iter(), &mut run) {
                    // A host task that waited here for a guard might wait for its own.
                    Err(error) if error.is_busy_in_task() && !runtime::in_host_task() => {
                        memory.allocation().wait_for_tasks();
                    }
                    outcome => return outcome,
                }
            }
        })
    }
}

/// How many elements there is room for.
fn len_of<M: Contents>(size_bytes: usize) -> usize {
    size_bytes.checked_div(size_of::<M::Element>()).unwrap_or(0)
}
