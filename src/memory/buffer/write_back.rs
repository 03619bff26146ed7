//! Contents that go back to the host, or to a `cl_mem`.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use super::area::Area;
use super::buffer::Buffer;
use super::native::NativeTarget;
use super::object::Object;
use crate::MakeError as _;
use crate::driver::sync::{Mutex, MutexGuard};
use crate::memory::{HostTarget, zeroed};
use crate::{Error, Result};

/// The state that the handles of a buffer share. With the last of them the contents go back, if they are to;
/// accessors and commands keep the [`Object`] only.
pub(super) struct Final<T: Pod> {
    object: Arc<Object>,
    plan: Mutex<Plan<T>>,
}

struct Plan<T: Pod> {
    target: Option<Target<T>>,
    enabled: bool,
}

/// Where contents go back to.
enum Target<T: Pod> {
    Host(HostTarget<T>),
    Native(Arc<NativeTarget>),
}

impl<T: Pod> Target<T> {
    /// Puts the elements there.
    fn replace(&self, data: Vec<T>) -> Result<()> {
        match self {
            Self::Host(target) => target.replace(data),
            Self::Native(target) => target.replace(&data),
        }
    }
}

impl<T: Pod> Clone for Target<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Host(target) => Self::Host(target.clone()),
            Self::Native(target) => Self::Native(Arc::clone(target)),
        }
    }
}

impl<T: Pod> Final<T> {
    pub(super) fn new(object: Object) -> Self {
        Self { object: Arc::new(object), plan: Mutex::new(Plan { target: None, enabled: true }) }
    }

    pub(super) fn object(&self) -> &Arc<Object> {
        &self.object
    }

    fn plan(&self) -> MutexGuard<'_, Plan<T>> {
        self.plan.lock()
    }

    fn change(&self, change: impl FnOnce(&mut Plan<T>)) {
        let mut plan = self.plan();
        change(&mut plan);
        self.object.set_writes_back(plan.enabled && plan.target.is_some());
    }

    pub(super) fn set_target(&self, target: Option<&HostTarget<T>>) -> Result<()> {
        if let Some(target) = target {
            let (own, len) = (Area::whole(self.object.shape()).len(), target.with(<[T]>::len)?);
            if own != len {
                return Err(Error::invalid(format!(
                    "host memory of {len} elements for the contents of {}",
                    self.object
                )));
            }
        }
        self.change(|plan| plan.target = target.cloned().map(Target::Host));
        Ok(())
    }

    /// The same with a `cl_mem` that has room for the contents.
    pub(super) fn set_native_target(&self, target: Arc<NativeTarget>) {
        self.change(|plan| plan.target = Some(Target::Native(target)));
    }

    pub(super) fn set_enabled(&self, enabled: bool) {
        self.change(|plan| plan.enabled = enabled);
    }

    /// Copies the contents to the target, if there is one and something has written to the buffer.
    pub(super) fn write_back(&self) -> Result<()> {
        match self.plan().target.clone() {
            Some(target) => copy_back(&self.object, &target),
            None => Ok(()),
        }
    }
}

/// Copies the contents to a target, if something has written to the buffer.
fn copy_back<T: Pod>(object: &Object, target: &Target<T>) -> Result<()> {
    if !object.lock().written {
        return Ok(());
    }
    let whole = Area::whole(object.shape());
    let mut data: Vec<T> = zeroed(whole.len())?;
    object.when_idle(&whole, false, |state| {
        state.contents.read(object, &whole, bytemuck::cast_slice_mut(&mut data))
    })?;
    target.replace(data)
}

impl<T: Pod> Drop for Final<T> {
    fn drop(&mut self) {
        if !self.object.writes_back() {
            return;
        }
        let plan = self.plan.get_mut();
        let Some(target) = plan.target.take() else { return };
        let write_back = move |object: &Object| {
            // A failed command is reported. What the others wrote goes back nevertheless.
            let whole = Area::whole(object.shape());
            let idle = object.when_idle(&whole, false, |_| Ok(()));
            for error in [idle, copy_back(object, &target)].into_iter().filter_map(Result::err) {
                object.keep_error(error.at("writing a buffer back"));
            }
        };
        // A host writer that is still open has the newest elements: the last one writes back as it
        // closes.
        if let Some(write_back) = self.object.after_host_writers(Box::new(write_back)) {
            write_back(&self.object);
        }
    }
}

/// A slice to which the contents of a buffer are copied when this is dropped; made by
/// [`Buffer::write_back_to`].
#[must_use = "the contents are copied when this is dropped"]
pub struct WriteBack<'a, T: Pod> {
    buffer: Buffer<T>,
    target: &'a mut [T],
    done: bool,
}

impl<'a, T: Pod> WriteBack<'a, T> {
    /// `target` has as many elements as the buffer.
    pub(super) fn new(buffer: Buffer<T>, target: &'a mut [T]) -> Self {
        Self { buffer, target, done: false }
    }

    /// Copies the contents, as dropping does, and says whether that went well.
    ///
    /// # Errors
    /// As [`Accessor::host`](super::Accessor::host).
    pub fn finish(mut self) -> Result<()> {
        self.copy()
    }

    fn copy(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        let contents = self.buffer.host_read()?;
        self.target.copy_from_slice(&contents);
        Ok(())
    }
}

impl<T: Pod> Drop for WriteBack<'_, T> {
    fn drop(&mut self) {
        if let Err(error) = self.copy() {
            self.buffer.object().keep_error(error.at("writing a buffer back to the host"));
        }
    }
}

impl<T: Pod> fmt::Debug for WriteBack<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBack").field("buffer", &self.buffer).finish_non_exhaustive()
    }
}
