//! Host tasks: closures as commands.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::{Error, ErrorKind, Result};

/// A closure of a host task, with its outcome as a [`Result`].
#[derive(Clone)]
pub(crate) struct HostTask(Arc<dyn Fn() -> Result<()> + Send + Sync>);

/// What the closure of a host task may return: `()`, or a `Result<(), E>`.
pub trait TaskResult: sealed::Sealed {
    #[doc(hidden)]
    fn into_result(self) -> Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E> Sealed for std::result::Result<(), E> {}
}

impl TaskResult for () {
    fn into_result(self) -> Result<()> {
        Ok(())
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> TaskResult for std::result::Result<(), E> {
    fn into_result(self) -> Result<()> {
        self.map_err(|error| Error::new(ErrorKind::HostTask, "the host task failed").with_source(error))
    }
}

impl HostTask {
    pub(crate) fn new<R: TaskResult>(task: impl Fn() -> R + Send + Sync + 'static) -> Self {
        Self(Arc::new(move || task().into_result()))
    }

    /// A task of the library itself.
    pub(crate) fn of(task: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(task))
    }

    /// Calls the closure. A panic is an error.
    pub(crate) fn run(&self) -> Result<()> {
        // What the closure leaves half done is its author's business, as it is with threads that panic.
        catch_unwind(AssertUnwindSafe(|| (self.0)())).unwrap_or_else(|panic| {
            Err(Error::new(ErrorKind::HostTask, format!("the host task panicked: {}", message(&*panic))))
        })
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}

impl fmt::Debug for HostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostTask")
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "panics are what is tested")]
mod tests {
    use super::*;

    #[test]
    fn errors_and_panics_are_the_outcome() {
        assert!(HostTask::new(|| ()).run().is_ok());
        let error = HostTask::new(|| Err::<(), _>("no luck")).run().unwrap_err();
        assert!(error.to_string().contains("no luck"), "{error}");
        let error = HostTask::new(|| -> () { panic!("number {}", 7) }).run().unwrap_err();
        assert!(error.to_string().contains("number 7"), "{error}");
        assert_eq!(error.kind(), ErrorKind::HostTask);
    }
}
