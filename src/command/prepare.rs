//! Preparing: everything about a command that needs a queue's context and device, but no place in the queue's order.

use std::sync::Arc;

use super::call::Value;
use super::task::HostTask;
use super::{Argument, Command, CommandKind, launch};
use crate::driver::copy;
use crate::driver::host::{HostSink, HostSource};
use crate::driver::launch::WorkSize;
use crate::graph::GraphPart;
use crate::memory::Region;
use crate::program::ReadyKernel;
use crate::{ExecutableGraph, Queue, Result};

/// A command that was checked and looked up for the context and device of a queue. It can be executed many times, and
/// keeps all that it uses alive.
#[derive(Debug)]
pub(crate) enum Prepared {
    Kernel(PreparedKernel),
    Copy {
        from: Region,
        to: Region,
    },
    Write {
        from: HostSource,
        to: Region,
    },
    Read {
        from: Region,
        to: HostSink,
    },
    /// The pattern divides the region.
    Fill {
        to: Region,
        pattern: Value,
    },
    Prefetch(Region),
    Advise(Region),
    HostTask(HostTask),
    /// Stands for its parts.
    Graph(ExecutableGraph),
    Part(GraphPart),
    /// Behind all parts of a graph.
    GraphEnd,
    Marker,
    Barrier,
    Empty,
}

/// A kernel with arguments that fit it.
#[derive(Debug)]
pub(crate) struct PreparedKernel {
    pub(super) kernel: Arc<ReadyKernel>,
    /// All places in them are resolved.
    pub(super) arguments: Vec<Argument>,
    /// `None`: nothing runs.
    pub(super) size: Option<WorkSize>,
}

impl Command {
    /// Checks the command, and finds what it needs, for the context and device of a queue. Its dependencies are left out.
    pub(crate) fn prepare(self, queue: &Queue) -> Result<Prepared> {
        self.kind.prepare(queue)
    }
}

impl CommandKind {
    pub(super) fn prepare(self, queue: &Queue) -> Result<Prepared> {
        Ok(match self {
            Self::Kernel { range, call } => Prepared::Kernel(launch::prepare(queue, &range, call)?),
            Self::Copy { from, to } => {
                let (from, to) = (from.into_region(queue)?, to.into_region(queue)?);
                copy::check(&from.span()?, &to.span()?)?;
                Prepared::Copy { from, to }
            }
            Self::Write { from, to } => {
                let to = to.into_region(queue)?;
                copy::same_size(from.bytes().len(), to.size_bytes())?;
                Prepared::Write { from, to }
            }
            Self::Read { from, to } => {
                let from = from.into_region(queue)?;
                copy::same_size(from.size_bytes(), to.size_bytes())?;
                Prepared::Read { from, to }
            }
            Self::Fill { to, pattern } => Prepared::Fill { to: to.into_region(queue)?, pattern },
            Self::Memset { to, byte } => {
                Prepared::Fill { to: to.into_region(queue)?, pattern: Value::new(&byte) }
            }
            Self::Prefetch { memory } => Prepared::Prefetch(memory.into_region(queue)?),
            // No driver knows an advice, so which one is of no interest.
            Self::Advise { memory, advice: _ } => Prepared::Advise(memory.into_region(queue)?),
            Self::HostTask(task) => Prepared::HostTask(task),
            Self::Graph(graph) => {
                graph.check(queue)?;
                Prepared::Graph(graph)
            }
            Self::Marker => Prepared::Marker,
            Self::Barrier => Prepared::Barrier,
            Self::Empty => Prepared::Empty,
        })
    }
}
