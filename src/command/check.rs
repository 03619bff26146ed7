//! Checking a command before there is a queue for it: what a graph does when a node is added.

use super::{Argument, CommandKind, Place, launch};
use crate::driver::copy;
use crate::{Context, Device, Error, Result};

impl CommandKind {
    /// Whether it copies from or to a device global.
    pub(crate) fn copies_device_globals(&self) -> bool {
        self.places().into_iter().flatten().any(|place| matches!(place, Place::Global(_)))
    }

    /// Checks what can be told without looking up the memory of device globals and buffers, and without asking whether the
    /// host is accessing memory: that changes until the command runs.
    pub(crate) fn check(&self, context: &Context, device: &Device) -> Result<()> {
        if let Self::Kernel { range, call } = self {
            launch::find(context, device, range, call)?;
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
        for place in self.places().into_iter().flatten() {
            place.check(context, device)?;
            if matches!(place, Place::Null) {
                return Err(Error::invalid("a null pointer is no memory"));
            }
        }
        match self {
            Self::Copy { from: Place::Usm(from), to: Place::Usm(to) } => {
                copy::check(&from.span()?, &to.span()?)
            }
            Self::Write { from, to: Place::Usm(to) } => copy::same_size(from.bytes().len(), to.size_bytes()),
            Self::Read { from: Place::Usm(from), to } => copy::same_size(from.size_bytes(), to.size_bytes()),
            _ => Ok(()),
        }
    }
}

impl Place {
    fn check(&self, context: &Context, device: &Device) -> Result<()> {
        match self {
            Self::Usm(region) => region.allocation().check(context.driver(), device),
            Self::Refused(error) => Err(error.clone()),
            Self::Null | Self::Global(_) | Self::Accessor(_) => Ok(()),
        }
    }
}
