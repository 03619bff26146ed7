//! Host access to host and shared USM: references that commands cannot touch.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

use super::slice::{HostAddressable, UsmSlice};
use crate::driver::usm::HostAccess;
use crate::{Result, runtime};

impl<T: Pod, K: HostAddressable> UsmSlice<T, K> {
    /// The elements, for reading. Waits for the commands that were given the memory, on all queues.
    /// While the guard lives, submitting commands that use it is an error of kind
    /// [`Invalid`](crate::ErrorKind::Invalid).
    ///
    /// Inside a host task, the guard does not wait for deferred commands, since they may wait for
    /// the task. Commands that use the memory are not refused there, but wait until the guard is
    /// dropped. Commands that the task is ordered after have ended anyway.
    ///
    /// Guards are for the whole allocation: there are many readers or one writer of it, whatever
    /// the parts.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) while a [`WriteGuard`] of the memory lives.
    pub fn read(&self) -> Result<ReadGuard<T>> {
        let access = self.access(false)?;
        access.check::<T>(self.offset_bytes(), self.len())?;
        Ok(ReadGuard { access, offset_bytes: self.offset_bytes(), len: self.len(), ty: PhantomData })
    }

    /// The elements, for reading and writing; as [`UsmSlice::read`].
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) while another guard of the memory lives.
    pub fn write(&self) -> Result<WriteGuard<T>> {
        let access = self.access(true)?;
        access.check::<T>(self.offset_bytes(), self.len())?;
        Ok(WriteGuard { access, offset_bytes: self.offset_bytes(), len: self.len(), ty: PhantomData })
    }

    fn access(&self, write: bool) -> Result<HostAccess> {
        runtime::blocking(|| HostAccess::begin(self.allocation(), write, runtime::in_host_task()))
    }
}

/// Read access of the host, until it is dropped. Made by [`UsmSlice::read`].
#[must_use = "commands that use the memory are refused until this is dropped"]
pub struct ReadGuard<T> {
    access: HostAccess,
    offset_bytes: usize,
    len: usize,
    ty: PhantomData<T>,
}

impl<T: Pod> Deref for ReadGuard<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.access.slice(self.offset_bytes, self.len)
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for ReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Read and write access of the host, until it is dropped. Made by [`UsmSlice::write`].
#[must_use = "commands that use the memory are refused until this is dropped"]
pub struct WriteGuard<T> {
    access: HostAccess,
    offset_bytes: usize,
    len: usize,
    ty: PhantomData<T>,
}

impl<T: Pod> Deref for WriteGuard<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.access.slice(self.offset_bytes, self.len)
    }
}

impl<T: Pod> DerefMut for WriteGuard<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.access.slice_mut(self.offset_bytes, self.len)
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for WriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
