//! Checking a command before there is a queue for it: what a graph does when a node is added.

use super::launch;
use crate::MakeError as _;
use crate::command::describe::argument::Argument;
use crate::command::describe::command::CommandKind;
use crate::command::describe::place::Place;
use crate::driver::copy;
use crate::{Context, Device, Error, Result};

impl CommandKind {
    /// Whether it copies from or to a device global.
    pub(crate) fn copies_device_globals(&self) -> bool {
        self.places().into_iter().flatten().any(|place| matches!(place, Place::Global(_)))
    }

    /// Checks everything that does not change until the command runs.
    ///
    /// It does not look up the memory of device globals and buffers, nor whether the host is
    /// accessing memory.
    pub(crate) fn check(&self, context: &Context, device: &Device) -> Result<()> {
        if let Self::Kernel { range, call } = self {
            launch::find(context, device, range, call)?;
        }
        self.check_objects(context, device)
    }

    /// As [`Self::check`], for a command some of whose parameters may still change. So two images
    /// can change places.
    pub(crate) fn check_parameters(&self, context: &Context, device: &Device) -> Result<()> {
        if let Self::Kernel { range, call } = self {
            launch::check_parameters(context, device, range, call)?;
        }
        self.check_objects(context, device)
    }

    /// Whether it is a kernel in Rust.
    pub(crate) fn is_kernel_in_rust(&self, context: &Context, device: &Device) -> bool {
        matches!(self, Self::Kernel { call, .. } if launch::is_in_rust(context, device, call))
    }

    /// Checks memory, sub-graphs and host tasks.
    fn check_objects(&self, context: &Context, device: &Device) -> Result<()> {
        if let Self::Kernel { call, .. } = self {
            let places = call.arguments().iter().enumerate().filter_map(|(index, argument)| match argument {
                Argument::Pointer(pointer) => Some((index, pointer.place())),
                _ => None,
            });
            for (index, place) in places {
                place.check(context, device).map_err(|error| {
                    launch::named(error.at(format!("argument {index}")), call.kernel_name())
                })?;
            }
            return Ok(());
        }
        if let Self::Native(native) = self {
            return native.places().iter().try_for_each(|place| place.check(context, device));
        }
        for place in self.places().into_iter().flatten() {
            place.check(context, device)?;
            if let Place::Null = place {
                return Err(Error::invalid("a null pointer is no memory"));
            }
        }
        match self {
            Self::Graph(graph) => graph.check(context, device),
            Self::Control(flow) => flow.check(context, device),
            Self::HostTask(task) => task.check(),
            Self::Copy { from, to } => match (from.block(), to.block()) {
                (Some(from), Some(to)) => from.check_copy(&to),
                _ => same_size(from.size_bytes(), to.size_bytes()),
            },
            Self::Write { from, to } => same_size(Some(from.size_bytes()), to.size_bytes()),
            Self::Read { from, to } => same_size(from.size_bytes(), Some(to.size_bytes())),
            _ => Ok(()),
        }
    }
}

/// Sizes that are not known yet are compared when the command is prepared.
fn same_size(from: Option<usize>, to: Option<usize>) -> Result<()> {
    from.zip(to).map_or(Ok(()), |(from, to)| copy::same_size(from, to))
}
