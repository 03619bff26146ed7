//! From commands to prepared commands: everything about a command that needs a queue's context and device, but no place in
//! the queue's order.

use super::image::ImageCommand;
use super::prepared::PreparedCommand;
use super::{boxes, launch};
use crate::command::describe::argument::Value;
use crate::command::describe::command::CommandKind;
use crate::command::describe::compare::is_plain;
use crate::command::describe::native::NativeCommand;
use crate::command::describe::place::Place;
use crate::driver::copy;
use crate::driver::step::Step;
use crate::{Queue, Result};

impl CommandKind {
    /// Checks the command, and finds what it needs, for the context and device of a queue.
    pub(in crate::command) fn prepare(self, queue: &Queue) -> Result<PreparedCommand> {
        let prepared = self.look_up(queue)?;
        Ok(boxes::kernel(&prepared, queue).map_or(prepared, PreparedCommand::Kernel))
    }

    /// Checks the command, and finds what it needs, for the context and device of a queue, as
    /// [`Self::prepare`] does.
    ///
    /// # Errors
    /// As when the command is put on a queue. Host tasks and graphs are no steps.
    pub(crate) fn step(&self, queue: &Queue) -> Result<Step> {
        match self {
            Self::Kernel { range, call } if call.arguments().iter().all(is_plain) => {
                let (kernel, size) = launch::find(queue.context(), queue.device(), range, call)?;
                Ok(launch::step(&kernel, call.arguments(), size))
            }
            kind => kind.clone().prepare(queue)?.into_step(),
        }
    }

    /// As [`Self::prepare`], with boxes left as such.
    pub(super) fn look_up(self, queue: &Queue) -> Result<PreparedCommand> {
        Ok(match self {
            Self::Kernel { range, call } => PreparedCommand::Kernel(launch::prepare(queue, &range, call)?),
            Self::Copy { from: Place::Image(from), to: Place::Image(to) } => {
                from.check(queue.context())?;
                to.check(queue.context())?;
                PreparedCommand::Image(ImageCommand::copy(&from, &to)?)
            }
            Self::Copy { from: Place::Image(from), to } => {
                from.check(queue.context())?;
                PreparedCommand::Image(ImageCommand::store(&from, to.into_block(queue)?)?)
            }
            Self::Copy { from, to: Place::Image(to) } => {
                to.check(queue.context())?;
                PreparedCommand::Image(ImageCommand::load(from.into_block(queue)?, &to)?)
            }
            Self::Write { from, to: Place::Image(to) } => {
                to.check(queue.context())?;
                PreparedCommand::Image(ImageCommand::write(from, &to)?)
            }
            Self::Read { from: Place::Image(from), to } => {
                from.check(queue.context())?;
                PreparedCommand::Image(ImageCommand::read(&from, to)?)
            }
            Self::Fill { to: Place::Image(to), pattern } => {
                to.check(queue.context())?;
                PreparedCommand::Image(ImageCommand::fill(&to, &pattern)?)
            }
            Self::Memset { to: Place::Image(to), byte } => {
                to.check(queue.context())?;
                PreparedCommand::Image(ImageCommand::fill(&to, &Value::new(&byte))?)
            }
            // OpenCL knows neither for images.
            Self::Prefetch { memory: Place::Image(image) }
            | Self::Advise { memory: Place::Image(image), .. } => {
                image.check(queue.context())?;
                PreparedCommand::Empty
            }
            Self::Copy { from, to } => {
                let (from, to) = (from.into_block(queue)?, to.into_block(queue)?);
                from.check_copy(&to)?;
                PreparedCommand::Copy { from, to }
            }
            Self::Write { from, to } => {
                let to = to.into_block(queue)?;
                copy::same_size(from.size_bytes(), to.rows.size_bytes())?;
                PreparedCommand::Write { from, to }
            }
            Self::Read { from, to } => {
                let from = from.into_block(queue)?;
                copy::same_size(from.rows.size_bytes(), to.size_bytes())?;
                PreparedCommand::Read { from, to }
            }
            Self::Fill { to, pattern } => PreparedCommand::Fill { to: to.into_block(queue)?, pattern },
            Self::Memset { to, byte } => {
                PreparedCommand::Fill { to: to.into_block(queue)?, pattern: Value::new(&byte) }
            }
            // With what lies between the rows.
            Self::Prefetch { memory } => PreparedCommand::Prefetch(memory.into_block(queue)?.region),
            // No driver knows an advice, so which one is of no interest.
            Self::Advise { memory, advice: _ } => PreparedCommand::Advise(memory.into_block(queue)?.region),
            Self::Native(NativeCommand { enqueue, uses }) => {
                // With what lies between rows. Images are kept by OpenCL, and the host does not look
                // into them.
                let memory = uses.into_iter().filter(|place| !matches!(place, Place::Image(_)));
                let memory = memory.map(|place| Ok(place.into_block(queue)?.region));
                PreparedCommand::Native { enqueue, memory: memory.collect::<Result<_>>()? }
            }
            Self::HostTask(task) => {
                task.check()?;
                task.uses().iter().try_for_each(|part| part.make_in(queue.context()))?;
                PreparedCommand::HostTask(task)
            }
            Self::Graph(graph) => {
                graph.check(queue.context(), queue.device())?;
                PreparedCommand::Graph(graph)
            }
            Self::Control(flow) => {
                flow.check(queue.context(), queue.device())?;
                PreparedCommand::Graph((flow.alone)(*flow, queue)?)
            }
            Self::Marker => PreparedCommand::Marker,
            Self::Barrier => PreparedCommand::Barrier,
            Self::Empty | Self::External(_) => PreparedCommand::Empty,
        })
    }
}
