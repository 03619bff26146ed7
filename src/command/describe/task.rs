//! Host tasks: closures as commands, with the parts of buffers that they use.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::name::{Name, node_place};
use crate::MakeError as _;
use crate::memory::buffer::{Requirement, TaskAccess};
use crate::{Context, Error, ErrorKind, Result};

/// A host task in errors.
pub(in crate::command) const TASK: &str = "the host task";

/// The closure of a host task, run in the queue's context, where its parts have their contents.
type Task = dyn Fn(&Context) -> Result<()> + Send + Sync;

/// A closure of a host task, with its outcome as a [`Result`].
#[derive(Clone)]
pub(crate) struct HostTask {
    task: Arc<Task>,
    uses: Vec<Arc<Requirement>>,
    /// The graph and the node whose command it is, for errors.
    node: Option<(u64, u32)>,
    /// Its name, for errors.
    name: Option<Name>,
}

/// A result of a host task's closure: `()`, or a `Result<(), E>`.
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
        Self::of(move || task().into_result())
    }

    /// A task that uses parts of buffers. What a task that fails has written is not put back.
    pub(crate) fn with<S: TaskAccess, R: TaskResult>(
        accessors: S,
        task: impl Fn(S::Views<'_>) -> R + Send + Sync + 'static,
    ) -> Self {
        let mut uses = Vec::new();
        accessors.requirements(&mut uses);
        let task = move |context: &Context| {
            let mut data = accessors.open(context)?;
            task(S::views(&mut data)).into_result()?;
            accessors.close(context, &data)
        };
        Self { task: Arc::new(task), uses, node: None, name: None }
    }

    /// A task of the library itself.
    pub(crate) fn of(task: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Self { task: Arc::new(move |_| task()), uses: Vec::new(), node: None, name: None }
    }

    /// The same, with the graph and node that its errors name.
    pub(crate) fn of_node(&self, graph: u64, node: u32, name: Option<&Name>) -> Self {
        Self { node: Some((graph, node)), name: name.cloned(), ..self.clone() }
    }

    /// The same, with the name that its errors show.
    pub(in crate::command) fn with_name(self, name: Option<Name>) -> Self {
        Self { name, ..self }
    }

    /// The parts of buffers that it uses.
    pub(crate) fn uses(&self) -> &[Arc<Requirement>] {
        &self.uses
    }

    /// Whether what it uses can be given to it.
    ///
    /// # Errors
    /// For parts that overlap, one of which is written: each is a copy.
    pub(in crate::command) fn check(&self) -> Result<()> {
        let mut rest = self.uses.as_slice();
        while let [first, others @ ..] = rest {
            if let Some(other) = others.iter().find(|other| first.conflicts(other)) {
                return Err(Error::invalid(format!(
                    "a host task with two accessors of the same elements, one of which writes: {first:?}, {other:?}"
                ))
                .remedy("give it one accessor that reads and writes"));
            }
            rest = others;
        }
        Ok(())
    }

    /// Calls the closure, with its parts as they are in a context. A panic is an error.
    pub(crate) fn run(&self, context: &Context) -> Result<()> {
        caught(TASK, || (self.task)(context)).map_err(|error| match self.node {
            Some((graph, node)) => {
                error.at(node_place(node, self.name.as_ref())).at(format!("graph {graph}"))
            }
            None => match &self.name {
                Some(name) => error.at(format!("command `{name}`")),
                None => error,
            },
        })
    }
}

/// Calls what a user wrote; a panic of `what` is an error.
pub(in crate::command) fn caught<R>(what: &str, task: impl FnOnce() -> Result<R>) -> Result<R> {
    // State that it leaves half done is its author's business, as it is with threads that panic.
    catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(|panic| {
        let error = Error::new(ErrorKind::HostTask, format!("{what} panicked: {}", message(&*panic)));
        // Dropping the payload may panic, too; the payload of that panic is leaked.
        catch_unwind(AssertUnwindSafe(|| drop(panic))).unwrap_or_else(std::mem::forget);
        Err(error)
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}

impl fmt::Debug for HostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTask").field("uses", &self.uses).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "panics are what is tested")]
mod tests {
    use super::*;

    #[test]
    fn errors_and_panics_are_the_outcome() {
        assert!(caught(TASK, || ().into_result()).is_ok());
        let error = caught(TASK, || Err::<(), _>("no luck").into_result()).unwrap_err();
        assert!(format!("{error:#}").contains("no luck"), "{error}");
        let error = caught::<()>(TASK, || panic!("number {}", 7)).unwrap_err();
        assert!(format!("{error:#}").contains("number 7"), "{error}");
        assert_eq!(error.kind(), ErrorKind::HostTask);
    }
}
