//! Parameters of graphs, as calls know them: values that arguments follow.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::argument::{Argument, Pointer};
use super::place::Place;
use crate::Error;
use crate::MakeError as _;
use crate::driver::sync::{Mutex, MutexGuard};

/// A value that arguments of kernels follow in one graph.
pub(crate) struct Parameter {
    id: u64,
    pub(super) graph: u64,
    current: Mutex<Argument>,
    /// Greater than that of all parameters whose values are older.
    changed: AtomicU64,
}

/// An argument of a call that follows a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) argument: usize,
    pub(crate) parameter: Arc<Parameter>,
}

/// The argument of a call for a parameter of its kernel.
#[derive(Debug)]
pub struct Given {
    pub(in crate::command) argument: Argument,
    pub(in crate::command) parameters: Vec<Arc<Parameter>>,
}

impl Parameter {
    pub(crate) fn new(graph: u64, value: Argument) -> Self {
        Self { id: next(), graph, current: Mutex::new(value), changed: AtomicU64::new(next()) }
    }

    /// Tells it from all others of the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The value that it has now.
    pub(crate) fn current(&self) -> MutexGuard<'_, Argument> {
        self.current.lock()
    }

    /// Gives it a value, and gives the one before.
    pub(crate) fn set(&self, value: Argument) -> Argument {
        self.changed.store(next(), Ordering::Relaxed);
        std::mem::replace(&mut *self.current(), value)
    }

    fn is_newer(&self, than: &Self) -> bool {
        self.changed.load(Ordering::Relaxed) > than.changed.load(Ordering::Relaxed)
    }
}

/// A number greater than all before.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Given {
    /// A value that follows no parameter.
    pub(crate) fn fixed(argument: Argument) -> Self {
        Self { argument, parameters: Vec::new() }
    }

    /// Values that follow parameters.
    pub(crate) fn following(parameters: Vec<Arc<Parameter>>) -> Self {
        Self { argument: newest(&parameters), parameters }
    }
}

/// The value of the parameter that was changed last.
pub(crate) fn newest(parameters: &[Arc<Parameter>]) -> Argument {
    let newest = parameters.iter().reduce(|a, b| if b.is_newer(a) { b } else { a });
    newest.map_or_else(
        || Argument::Pointer(Pointer::new(Place::Refused(Error::invalid("no parameter to follow")))),
        |parameter| parameter.current().clone(),
    )
}

/// Of the bindings of each argument the one whose parameter was changed last.
pub(crate) fn newest_of(bindings: &[Binding]) -> impl Iterator<Item = &Binding> {
    bindings.iter().filter(|binding| {
        let is_newer = |other: &Binding| {
            other.argument == binding.argument && other.parameter.is_newer(&binding.parameter)
        };
        !bindings.iter().any(is_newer)
    })
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameter {} of graph {}", self.id, self.graph)
    }
}
