//! Prepared commands: what they use, and how they become calls of the driver or steps of a graph.

use std::sync::Arc;

use super::control::RunControl;
use super::fill;
use super::graph_part::GraphPart;
use super::image::ImageCommand;
use super::launch::{self, PreparedKernel};
use crate::MakeError as _;
use crate::command::describe::argument::{Argument, Value};
use crate::command::describe::graph::{GraphCommand, RunOn};
use crate::command::describe::task::HostTask;
use crate::driver::event::Event;
use crate::driver::host::{HostSink, HostSource};
use crate::driver::native::Enqueue;
use crate::driver::queue::Queue;
use crate::driver::step::Step;
use crate::driver::usm::Allocation;
use crate::memory::{Block, Region};
use crate::queue::Rank;
use crate::{Error, Result};

/// A command that was checked and looked up for the context and device of a queue. It can be
/// executed many times, and keeps all that it uses alive.
pub(crate) enum PreparedCommand {
    Kernel(PreparedKernel),
    Copy {
        from: Block,
        to: Block,
    },
    Write {
        from: HostSource,
        to: Block,
    },
    Read {
        from: Block,
        to: HostSink,
    },
    /// The pattern divides the rows.
    Fill {
        to: Block,
        pattern: Value,
    },
    Image(ImageCommand),
    Prefetch(Region),
    Advise(Region),
    Native {
        enqueue: Enqueue,
        memory: Vec<Region>,
    },
    HostTask(HostTask),
    /// Stands for its parts.
    Graph(Arc<dyn GraphCommand>),
    Part(GraphPart),
    /// The part of a graph that has the event of the graph.
    LastPart(GraphPart),
    /// A loop or a condition of a graph, which the host decides.
    Control(Arc<dyn RunControl>),
    /// Behind all parts of a graph, where no part comes after all others.
    GraphEnd,
    Marker,
    Barrier,
    Empty,
}

impl PreparedCommand {
    /// Puts the command on a queue, after events of the queue's context. The command was prepared
    /// for this context and device. A deferred command has begun to use its memory (`held`).
    ///
    /// # Errors
    /// When the host accesses the memory, or the driver refuses. Host tasks are not for the driver.
    pub(crate) fn execute(&self, queue: &Arc<Queue>, after: &[&Event], held: bool) -> Result<Event> {
        match self {
            Self::Kernel(PreparedKernel { kernel, arguments, size }) => {
                launch::execute(queue, kernel, arguments, size.as_ref(), after, held)
            }
            Self::Copy { from, to } => match (side_by_side(from), side_by_side(to)) {
                (Some(from), Some(to)) => queue.copy(from.held_span(held)?, to.held_span(held)?, after),
                _ => queue.copy_rows(from.span(held)?, to.span(held)?, after),
            },
            Self::Write { from, to } => match side_by_side(to) {
                Some(to) => queue.write_later(from, to.held_span(held)?, after),
                None => queue.write_rows(from, to.span(held)?, after),
            },
            Self::Read { from, to } => match side_by_side(from) {
                Some(from) => queue.read_later(from.held_span(held)?, to, after),
                None => queue.read_rows(from.span(held)?, to, after),
            },
            Self::Fill { to, pattern } => match side_by_side(to) {
                Some(to) => fill::fill(queue, to.held_span(held)?, pattern.bytes(), after),
                None => fill::fill_rows(queue, to.span(held)?, pattern.bytes(), after),
            },
            Self::Image(command) => command.execute(queue, after, held),
            Self::Native { enqueue, memory } => {
                let memory = memory.iter().map(|region| region.tail().held(held));
                queue.native(enqueue, memory, after)
            }
            Self::Prefetch(memory) => queue.prefetch(memory.held_span(held)?, after),
            Self::Advise(memory) => queue.advise(memory.held_span(held)?, after),
            Self::Marker | Self::Empty | Self::GraphEnd => queue.marker(after),
            Self::Barrier => queue.barrier(after),
            Self::Part(part) | Self::LastPart(part) => part.run(RunOn { queue, after, held }),
            Self::HostTask(_) | Self::Graph(_) | Self::Control(_) => {
                Err(Error::invalid("host tasks and graphs are no commands of a device"))
            }
        }
    }

    /// The memory that it names; once for each time.
    pub(in crate::command) fn allocations(&self) -> Vec<&Arc<Allocation>> {
        match self {
            Self::Kernel(kernel) => {
                kernel.arguments.iter().filter_map(Argument::region).map(Region::allocation).collect()
            }
            Self::Copy { from, to } => vec![from.region.allocation(), to.region.allocation()],
            Self::Write { to: memory, .. }
            | Self::Read { from: memory, .. }
            | Self::Fill { to: memory, .. } => vec![memory.region.allocation()],
            Self::Prefetch(memory) | Self::Advise(memory) => vec![memory.allocation()],
            Self::Image(command) => command.allocations(),
            Self::Native { memory, .. } => memory.iter().map(Region::allocation).collect(),
            Self::Part(part) | Self::LastPart(part) => part.memory().iter().collect(),
            Self::Control(control) => control.memory().iter().collect(),
            Self::HostTask(_)
            | Self::Graph(_)
            | Self::GraphEnd
            | Self::Marker
            | Self::Barrier
            | Self::Empty => Vec::new(),
        }
    }

    /// A step of a sequence that does it.
    ///
    /// # Errors
    /// When the host accesses the memory.
    pub(super) fn into_step(self) -> Result<Step> {
        match self {
            Self::Kernel(PreparedKernel { kernel, arguments, size }) => {
                Ok(launch::step(&kernel, &arguments, size))
            }
            Self::Copy { from, to } if from.rows.is_one() && to.rows.is_one() => {
                Step::copy(from.region.span()?, to.region.span()?)
            }
            Self::Fill { to, pattern }
                if to.rows.is_one() && fill::is_simple(&to.region.span()?, pattern.bytes()) =>
            {
                Step::fill(to.region.span()?, pattern.bytes())
            }
            // Without effect on any device.
            Self::Advise(_) | Self::Marker | Self::Barrier | Self::Empty => Ok(Step::join()),
            other => {
                let memory = other.allocations().into_iter().cloned().collect();
                Ok(Step::other(memory, Box::new(move |queue, after, held| other.execute(queue, after, held))))
            }
        }
    }

    /// The order that it asks for; `alone`: it names no dependencies.
    pub(in crate::command) fn rank(&self, alone: bool) -> Rank {
        match self {
            Self::Barrier => Rank::Barrier { after_all: alone },
            Self::Marker if alone => Rank::AfterAll,
            _ => Rank::Plain,
        }
    }
}

/// The memory of a block without gaps.
fn side_by_side(block: &Block) -> Option<&Region> {
    block.rows.is_one().then_some(&block.region)
}
