//! Host accessors: elements of a buffer on the host.
//!
//! They are copies. A reader needs nothing of the buffer after it was opened, so commands continue.
//! A writer defers the commands on its part, and puts the elements back when it is dropped. So the
//! host never sees memory that a device may write. It waits only for the commands on its part, and
//! works with every kind of memory.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;

use super::object::Storage;
use super::requirement::Requirement;
use crate::MakeError as _;
use crate::event::{Outcome, Promise};
use crate::memory::shape::Shape;
use crate::memory::zeroed;
use crate::{Event, Result};

/// Elements of a buffer on the host, as they were when it was opened; made by
/// [`Accessor::host`](super::Accessor::host).
///
/// They lie side by side, the last dimension fastest.
pub struct HostReader<T> {
    data: Vec<T>,
    range: Shape,
}

impl<T: Pod> HostReader<T> {
    pub(super) fn open(requirement: &Requirement, range: Shape) -> Result<Self> {
        requirement.object().recorders().check()?;
        Ok(Self { data: read(requirement)?, range })
    }

    /// How many elements in each dimension.
    pub fn shape(&self) -> Shape {
        self.range
    }

    /// The elements.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

/// A copy of the elements of a part, when nobody writes them.
fn read<T: Pod>(requirement: &Requirement) -> Result<Vec<T>> {
    let (object, area) = (requirement.object(), requirement.area());
    let mut data: Vec<T> = zeroed(area.len())?;
    object.when_idle(area, false, |state| {
        state.contents.read(object, area, bytemuck::cast_slice_mut(&mut data))
    })?;
    Ok(data)
}

impl<T> Deref for HostReader<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T: fmt::Debug> fmt::Debug for HostReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.data, f)
    }
}

/// Elements of a buffer on the host, for writing; made by
/// [`Accessor::host`](super::Accessor::host).
///
/// They lie side by side, the last dimension fastest. They are put back when this is dropped.
/// Commands that use one of them and are submitted meanwhile wait for that; do not wait for such a
/// command before. A writer that is leaked keeps its part for ever.
#[must_use = "commands that use the part wait until this is dropped"]
pub struct HostWriter<T: Pod> {
    data: Vec<T>,
    range: Shape,
    requirement: Arc<Requirement>,
    /// Where the elements go; `None`: with contents that are on the host.
    home: Option<Storage>,
    /// The event that commands with the part wait for; `None` when it was kept.
    promise: Option<Arc<Promise>>,
}

impl<T: Pod> HostWriter<T> {
    pub(super) fn open(requirement: &Arc<Requirement>, range: Shape) -> Result<Self> {
        let (object, area) = (requirement.object(), requirement.area());
        object.recorders().check()?;
        let mut data: Vec<T> = zeroed(area.len())?;
        let promise = Promise::new(false);
        // A task that waits for what waits for its own accessor would wait for ever.
        promise.comes_after_this_task();
        let home = object.when_idle(area, true, |state| {
            if !requirement.no_init {
                state.contents.read(object, area, bytemuck::cast_slice_mut(&mut data))?;
            }
            Ok(state.begin_host_write(requirement, Event::promised(Arc::clone(&promise))))
        })?;
        Ok(Self { data, range, requirement: Arc::clone(requirement), home, promise: Some(promise) })
    }

    /// How many elements in each dimension.
    pub fn shape(&self) -> Shape {
        self.range
    }

    /// Puts the elements back, as dropping does, and says whether that went well.
    ///
    /// # Errors
    /// When the driver refuses. The elements are undefined then. Commands that waited for this run.
    pub fn finish(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        let Some(promise) = self.promise.take() else { return Ok(()) };
        let object = self.requirement.object();
        let source = bytemuck::cast_slice(&self.data);
        let outcome = object
            .lock()
            .end_host_write(&self.requirement, self.home.as_ref(), source)
            .map_err(|error| error.at(object.to_string()));
        promise.resolve(match &outcome {
            Ok(()) => Outcome::done_now(),
            Err(error) => Outcome::Failed(error.clone()),
        });
        if outcome.is_err() {
            // It is reported here, and not again by the next host accessor.
            object.lock().tracker.forget_completed();
        }
        promise.notify();
        object.host_writer_closed();
        outcome
    }
}

impl<T: Pod> Drop for HostWriter<T> {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            self.requirement.object().keep_error(error.at("dropping a host accessor"));
        }
    }
}

impl<T: Pod> Deref for HostWriter<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T: Pod> DerefMut for HostWriter<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for HostWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.data, f)
    }
}
