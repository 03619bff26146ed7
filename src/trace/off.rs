//! The feature `tracing` is off: each function only does the work.

use super::Measured;
use crate::Result;

/// The measured commands of a queue.
#[derive(Default)]
pub(crate) struct Track;

impl Track {
    #[inline(always)]
    pub(crate) fn report(&self) {}
}

#[inline(always)]
pub(crate) fn build<T>(_image: &str, _device: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    run()
}

#[inline(always)]
pub(crate) fn compile<T>(_image: &str, _device: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    run()
}

#[inline(always)]
pub(crate) fn finalize<T>(_graph: u64, run: impl FnOnce() -> Result<T>) -> Result<T> {
    run()
}

#[inline(always)]
pub(crate) fn wait<T>(_what: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    run()
}

#[inline(always)]
pub(crate) fn submit<C, D, E>(
    (_track, _queue): (&Track, u64),
    command: C,
    _describe: impl FnOnce(&C) -> (String, D),
    run: impl FnOnce(C) -> Result<E>,
    _measured: impl FnOnce(String, D, &E) -> Option<Measured>,
) -> Result<E> {
    run(command)
}
