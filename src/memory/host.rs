//! Host memory of commands that return at once: data on its way to the device, and data on its way
//! back.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use bytemuck::Pod;

use crate::MakeError as _;
use crate::driver::host::{HostBuffer, HostBytes, HostSink};
use crate::event::EventFuture;
use crate::{Error, Event, Result};

/// Host data that commands read: made from a `Vec<T>`, an `Arc<[T]>`, or a single value. Slices and
/// references to arrays are copied at once.
pub struct AsyncSource<T> {
    bytes: HostBytes,
    ty: PhantomData<fn() -> T>,
}

impl<T> AsyncSource<T> {
    pub(crate) fn into_bytes(self) -> HostBytes {
        self.bytes
    }
}

impl<T: Pod> From<Vec<T>> for AsyncSource<T> {
    fn from(data: Vec<T>) -> Self {
        Self { bytes: HostBytes::owned(data), ty: PhantomData }
    }
}

impl<T: Pod> From<Arc<[T]>> for AsyncSource<T> {
    fn from(data: Arc<[T]>) -> Self {
        Self { bytes: HostBytes::shared(data), ty: PhantomData }
    }
}

impl<T: Pod> From<&[T]> for AsyncSource<T> {
    fn from(data: &[T]) -> Self {
        data.to_vec().into()
    }
}

impl<T: Pod, const N: usize> From<&[T; N]> for AsyncSource<T> {
    fn from(data: &[T; N]) -> Self {
        data.to_vec().into()
    }
}

impl<T: Pod> From<T> for AsyncSource<T> {
    fn from(value: T) -> Self {
        vec![value].into()
    }
}

impl<T> Clone for AsyncSource<T> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), ty: PhantomData }
    }
}

impl<T> fmt::Debug for AsyncSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.bytes, f)
    }
}

/// Host memory that commands write ([`Command::read`](crate::Command::read)), once or again and
/// again. Clones share it.
///
/// The elements can be looked at when no command writes them: those that the device was given are
/// waited for. Wait for the command's event to see what a command that was submitted has read.
/// While somebody looks, commands go on, and write to other memory, which takes the place of the
/// old.
///
/// ```no_run
/// # use oclave::memory::HostTarget;
/// # use oclave::{Command, Queue, Result, UsmSlice};
/// # fn f(queue: &Queue, x: &UsmSlice<f32>) -> Result<()> {
/// let target = HostTarget::<f32>::new(x.len())?;
/// let read = queue.submit(Command::read(x, &target))?;
/// read.wait()?;
/// let sum: f32 = target.with(|elements| elements.iter().sum())?;
/// # let _ = sum;
/// # Ok(())
/// # }
/// ```
pub struct HostTarget<T: Pod>(HostBuffer<T>);

impl<T: Pod> HostTarget<T> {
    /// `len` elements, zero at first.
    ///
    /// # Errors
    /// [`MemoryAllocation`](crate::ErrorKind::MemoryAllocation) when the host has no room.
    pub fn new(len: usize) -> Result<Self> {
        super::zeroed(len).map(|data| Self(HostBuffer::new(data)))
    }

    /// These elements.
    pub fn from_vec(data: Vec<T>) -> Self {
        Self(HostBuffer::new(data))
    }

    /// A copy of the elements.
    ///
    /// # Errors
    /// When the driver does not say whether a command still writes them.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.0.look().map(|data| data.to_vec())
    }

    /// Calls a closure with the current elements. It may submit commands that write them, read
    /// clones and wait. It still sees the same elements.
    ///
    /// # Errors
    /// As [`HostTarget::to_vec`].
    pub fn with<R>(&self, look: impl FnOnce(&[T]) -> R) -> Result<R> {
        self.0.look().map(|data| look(&data))
    }

    /// Replaces the elements by as many others, when no command that was given to the device may
    /// write them.
    pub(super) fn replace(&self, data: Vec<T>) -> Result<()> {
        let len = data.len();
        let may = |old: &[T]| match old.len() == len {
            true => Ok(()),
            false => Err(Error::invalid("the host memory was taken away meanwhile")),
        };
        self.0.replace(data, may).map(drop)
    }

    /// Takes the elements out. Commands that would write them fail from then on.
    fn take(&self) -> Result<Vec<T>> {
        let data = self.0.replace(Vec::new(), |_| Ok(()))?;
        Ok(Arc::try_unwrap(data).unwrap_or_else(|data| data.to_vec()))
    }

    pub(crate) fn sink(&self) -> HostSink {
        self.0.sink()
    }
}

impl<T: Pod> Clone for HostTarget<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Pod> fmt::Debug for HostTarget<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostTarget<{}>", std::any::type_name::<T>())
    }
}

/// Data on its way from the device: a vector, or the value of a device global. Dropping it lets the
/// copy end by itself. It can be awaited: `queue.read_async(&x)?.await?`.
#[must_use = "the data is in the result of `wait`"]
pub struct Readback<T: Pod, O = Vec<T>> {
    target: HostTarget<T>,
    event: Event,
    ty: PhantomData<fn() -> O>,
}

impl<T: Pod, O> Readback<T, O> {
    pub(crate) fn new(target: HostTarget<T>, event: Event) -> Self {
        Self { target, event, ty: PhantomData }
    }

    /// The event of the copy.
    pub fn event(&self) -> &Event {
        &self.event
    }
}

mod sealed {
    /// The host's form of the elements of a copy: a vector, or the only one.
    pub trait FromElements<T>: Sized {
        fn from_elements(elements: Vec<T>) -> crate::Result<Self>;
    }
}
pub(crate) use sealed::FromElements;

impl<T> FromElements<T> for Vec<T> {
    fn from_elements(elements: Self) -> Result<Self> {
        Ok(elements)
    }
}

impl<T: Pod> FromElements<T> for T {
    fn from_elements(elements: Vec<T>) -> Result<T> {
        elements.into_iter().next().ok_or_else(|| Error::invalid("a value was read, and nothing came back"))
    }
}

#[allow(private_bounds, reason = "of a sealed trait")]
impl<T: Pod, O: FromElements<T>> Readback<T, O> {
    /// Waits for the copy and gives the data.
    ///
    /// # Errors
    /// As [`Event::wait`].
    pub fn wait(self) -> Result<O> {
        self.event.wait()?;
        O::from_elements(self.target.take()?)
    }
}

/// Data on its way from the device, as a future of the data. From [`IntoFuture`] of [`Readback`]; see
/// [`EventFuture`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct ReadbackFuture<T: Pod, O = Vec<T>> {
    target: HostTarget<T>,
    event: EventFuture,
    ty: PhantomData<fn() -> O>,
}

#[allow(private_bounds, reason = "of a sealed trait")]
impl<T: Pod, O: FromElements<T>> IntoFuture for Readback<T, O> {
    type Output = Result<O>;
    type IntoFuture = ReadbackFuture<T, O>;

    fn into_future(self) -> ReadbackFuture<T, O> {
        ReadbackFuture { target: self.target, event: self.event.into_future(), ty: PhantomData }
    }
}

#[allow(private_bounds, reason = "of a sealed trait")]
impl<T: Pod, O: FromElements<T>> Future for ReadbackFuture<T, O> {
    type Output = Result<O>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Result<O>> {
        Pin::new(&mut self.event).poll(context).map(|outcome| {
            outcome?;
            O::from_elements(self.target.take()?)
        })
    }
}

impl<T: Pod, O> fmt::Debug for ReadbackFuture<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadbackFuture").field("event", &self.event).finish_non_exhaustive()
    }
}

impl<T: Pod, O> fmt::Debug for Readback<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readback").field("event", &self.event).finish_non_exhaustive()
    }
}
