//! Preparing: everything about a command that needs a queue's context and device, but no place in
//! the queue's order.

use std::sync::Arc;

use super::call::Value;
use super::image_command::ImageCommand;
use super::rect_command::RectCommand;
use super::task::HostTask;
use super::{Argument, CommandKind, GraphCommand, GraphPart, NativeCommand, Place, boxes, launch};
use crate::driver::copy;
use crate::driver::host::{HostSink, HostSource};
use crate::driver::launch::WorkSize;
use crate::driver::native::Enqueue;
use crate::memory::{Block, Region};
use crate::program::ReadyKernel;
use crate::{Queue, Result};

/// A command that was checked and looked up for the context and device of a queue. It can be
/// executed many times, and keeps all that it uses alive.
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
    Rect(RectCommand),
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

impl CommandKind {
    /// Checks the command, and finds what it needs, for the context and device of a queue.
    pub(super) fn prepare(self, queue: &Queue) -> Result<Prepared> {
        Ok(match self.look_up(queue)? {
            Prepared::Rect(rows) => boxes::prepare(rows, queue),
            prepared => prepared,
        })
    }

    /// As [`Self::prepare`], with boxes left as such.
    pub(super) fn look_up(self, queue: &Queue) -> Result<Prepared> {
        Ok(match self {
            Self::Kernel { range, call } => Prepared::Kernel(launch::prepare(queue, &range, call)?),
            Self::Copy { from: Place::Image(from), to: Place::Image(to) } => {
                from.check(queue.context())?;
                to.check(queue.context())?;
                Prepared::Image(ImageCommand::copy(&from, &to)?)
            }
            Self::Copy { from: Place::Image(from), to } => {
                from.check(queue.context())?;
                Prepared::Image(ImageCommand::store(&from, to.into_block(queue)?)?)
            }
            Self::Copy { from, to: Place::Image(to) } => {
                to.check(queue.context())?;
                Prepared::Image(ImageCommand::load(from.into_block(queue)?, &to)?)
            }
            Self::Write { from, to: Place::Image(to) } => {
                to.check(queue.context())?;
                Prepared::Image(ImageCommand::write(from, &to)?)
            }
            Self::Read { from: Place::Image(from), to } => {
                from.check(queue.context())?;
                Prepared::Image(ImageCommand::read(&from, to)?)
            }
            Self::Fill { to: Place::Image(to), pattern } => {
                to.check(queue.context())?;
                Prepared::Image(ImageCommand::fill(&to, &pattern)?)
            }
            Self::Memset { to: Place::Image(to), byte } => {
                to.check(queue.context())?;
                Prepared::Image(ImageCommand::fill(&to, &Value::new(&byte))?)
            }
            // OpenCL knows neither for images.
            Self::Prefetch { memory: Place::Image(image) }
            | Self::Advise { memory: Place::Image(image), .. } => {
                image.check(queue.context())?;
                Prepared::Empty
            }
            Self::Copy { from, to } => {
                let (from, to) = (from.into_block(queue)?, to.into_block(queue)?);
                from.check_copy(&to)?;
                match from.rows.is_one() && to.rows.is_one() {
                    true => Prepared::Copy { from: from.region, to: to.region },
                    false => Prepared::Rect(RectCommand::Copy { from, to }),
                }
            }
            Self::Write { from, to } => {
                let to = to.into_block(queue)?;
                copy::same_size(from.size_bytes(), to.rows.size_bytes())?;
                match to.rows.is_one() {
                    true => Prepared::Write { from, to: to.region },
                    false => Prepared::Rect(RectCommand::Write { from, to }),
                }
            }
            Self::Read { from, to } => {
                let from = from.into_block(queue)?;
                copy::same_size(from.rows.size_bytes(), to.size_bytes())?;
                match from.rows.is_one() {
                    true => Prepared::Read { from: from.region, to },
                    false => Prepared::Rect(RectCommand::Read { from, to }),
                }
            }
            Self::Fill { to, pattern } => fill(to.into_block(queue)?, pattern),
            Self::Memset { to, byte } => fill(to.into_block(queue)?, Value::new(&byte)),
            // With what lies between the rows.
            Self::Prefetch { memory } => Prepared::Prefetch(memory.into_block(queue)?.region),
            // No driver knows an advice, so which one is of no interest.
            Self::Advise { memory, advice: _ } => Prepared::Advise(memory.into_block(queue)?.region),
            Self::Native(NativeCommand { enqueue, uses }) => {
                // With what lies between rows. Images are kept by OpenCL, and the host does not look
                // into them.
                let memory = uses.into_iter().filter(|place| !matches!(place, Place::Image(_)));
                let memory = memory.map(|place| Ok(place.into_block(queue)?.region));
                Prepared::Native { enqueue, memory: memory.collect::<Result<_>>()? }
            }
            Self::HostTask(task) => {
                task.check()?;
                task.uses().iter().try_for_each(|part| part.make_in(queue.context()))?;
                Prepared::HostTask(task)
            }
            Self::Graph(graph) => {
                graph.check(queue.context(), queue.device())?;
                Prepared::Graph(graph)
            }
            Self::Marker => Prepared::Marker,
            Self::Barrier => Prepared::Barrier,
            Self::Empty => Prepared::Empty,
        })
    }
}

fn fill(to: Block, pattern: Value) -> Prepared {
    match to.rows.is_one() {
        true => Prepared::Fill { to: to.region, pattern },
        false => Prepared::Rect(RectCommand::Fill { to, pattern }),
    }
}
