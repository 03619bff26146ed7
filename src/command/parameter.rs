//! Parameters of graphs, as calls know them: values that arguments follow.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Argument, CommandKind};
use crate::{Error, Result};

/// A value that arguments of kernels follow in one graph.
pub(crate) struct Parameter {
    id: u64,
    graph: u64,
    current: Mutex<Argument>,
}

/// An argument of a call that follows a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) argument: usize,
    pub(crate) parameter: Arc<Parameter>,
}

/// What a call is given for a parameter of its kernel.
#[derive(Debug)]
pub struct Given {
    pub(super) argument: Argument,
    pub(super) parameter: Option<Arc<Parameter>>,
}

impl Parameter {
    pub(crate) fn new(graph: u64, value: Argument) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), graph, current: Mutex::new(value) }
    }

    /// Tells it from all others of the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The value that it has now.
    pub(crate) fn current(&self) -> MutexGuard<'_, Argument> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It as an argument.
    pub(crate) fn given(self: &Arc<Self>) -> Given {
        Given { argument: self.current().clone(), parameter: Some(Arc::clone(self)) }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameter {} of graph {}", self.id, self.graph)
    }
}

impl CommandKind {
    /// The arguments that follow a parameter.
    pub(crate) fn bindings(&self) -> &[Binding] {
        match self {
            Self::Kernel { call, .. } => call.bindings(),
            _ => &[],
        }
    }

    /// Refuses arguments that follow a parameter of anything but this graph; `None`: the command is for a queue.
    pub(crate) fn check_bindings(&self, graph: Option<u64>) -> Result<()> {
        let Some(foreign) = self.bindings().iter().find(|binding| Some(binding.parameter.graph) != graph)
        else {
            return Ok(());
        };
        let owner = foreign.parameter.graph;
        let error = match graph {
            Some(_) => {
                Error::invalid(format!("a dynamic parameter of graph {owner} was given to another graph"))
                    .remedy("make a parameter for each graph")
            }
            None => Error::invalid(format!(
                "a dynamic parameter of graph {owner} was given to a command that is run at once"
            ))
            .remedy("give it a value, or add the command to the graph"),
        };
        Err(error.at(format!("argument {}", foreign.argument)))
    }

    /// Gives all arguments that follow a parameter its value.
    pub(crate) fn follow(&mut self) {
        if let Self::Kernel { call, .. } = self {
            let bindings: Vec<Binding> = call.bindings().to_vec();
            for Binding { argument, parameter } in bindings {
                call.set_argument(argument, &parameter.current());
            }
        }
    }
}
