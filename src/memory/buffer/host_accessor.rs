//! Host accessors: elements of a buffer on the host.
//!
//! They are copies. A reader needs nothing of the buffer after it was opened, so commands go on meanwhile; a writer keeps
//! commands from its part, and puts the elements back when it is dropped. So the host never sees memory that a device
//! may write, waits for exactly the commands that concern it, and works in the same way with every kind of memory.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;

use super::requirement::Requirement;
use crate::memory::zeroed;
use crate::{Range, Result};

/// Elements of a buffer on the host, as they were when it was opened; made by [`Accessor::host`](super::Accessor::host).
///
/// They lie side by side, the last dimension fastest.
pub struct HostReader<T> {
    data: Vec<T>,
    range: Range,
}

impl<T: Pod> HostReader<T> {
    pub(super) fn open(requirement: &Requirement, range: Range) -> Result<Self> {
        requirement.object().recorders().check()?;
        Ok(Self { data: read(requirement)?, range })
    }

    /// How many elements in each dimension.
    pub fn range(&self) -> Range {
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
    object.settled(area, false, |state| state.read(object, area, bytemuck::cast_slice_mut(&mut data)))?;
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

/// Elements of a buffer on the host, for writing; made by [`Accessor::host`](super::Accessor::host).
///
/// They lie side by side, the last dimension fastest. They are put back when this is dropped. A writer that is leaked keeps its part for ever.
#[must_use = "commands that use the part are refused until this is dropped"]
pub struct HostWriter<T: Pod> {
    data: Vec<T>,
    range: Range,
    requirement: Arc<Requirement>,
    open: bool,
}

impl<T: Pod> HostWriter<T> {
    pub(super) fn open(requirement: &Arc<Requirement>, range: Range) -> Result<Self> {
        let (object, area) = (requirement.object(), requirement.area());
        object.recorders().check()?;
        let mut data: Vec<T> = zeroed(area.len())?;
        object.settled(area, true, |state| {
            if !requirement.no_init {
                state.read(object, area, bytemuck::cast_slice_mut(&mut data))?;
            }
            state.host_writes.push(*area);
            Ok(())
        })?;
        Ok(Self { data, range, requirement: Arc::clone(requirement), open: true })
    }

    /// How many elements in each dimension.
    pub fn range(&self) -> Range {
        self.range
    }

    /// Puts the elements back, as dropping does, and says whether that went well.
    ///
    /// # Errors
    /// When the driver refuses. The buffer has its old contents then, or a part of the new ones.
    pub fn finish(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        let (object, area) = (self.requirement.object(), *self.requirement.area());
        let mut state = object.lock();
        // Parts of writers do not overlap, so any equal one, which is empty, will do.
        if let Some(index) = state.host_writes.iter().position(|other| *other == area) {
            state.host_writes.swap_remove(index);
        }
        if area.is_empty() {
            return Ok(());
        }
        state
            .write(&self.requirement, bytemuck::cast_slice(&self.data))
            .map_err(|error| error.at(object.to_string()))
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
