//! Changes of prepared kernels that need no other kernel object: other arguments of the same kinds, another range.

use super::step::is_plain;
use super::{Argument, CommandKind, Place, launch};
use crate::driver::launch::{Arg, WorkSize};
use crate::{Context, Device, NdRange, Result};

impl CommandKind {
    /// Whether a prepared kernel object for this serves for the other command, too, once its arguments are set.
    pub(crate) fn is_patched_by(&self, to: &Self) -> bool {
        let (Self::Kernel { range: old, call: from }, Self::Kernel { range, call: to }) = (self, to) else {
            return false;
        };
        let mut pairs = from.arguments().iter().zip(to.arguments());
        !old.global().is_empty()
            && !range.global().is_empty()
            && from.arguments().len() == to.arguments().len()
            && pairs.all(|(from, to)| is_plain(to) && same_kind(from, to))
            && from.same_kernel(to)
    }

    /// The arguments of a kernel.
    fn call_arguments(&self) -> &[Argument] {
        match self {
            Self::Kernel { call, .. } => call.arguments(),
            _ => &[],
        }
    }

    /// The arguments of a kernel as the driver takes them.
    pub(crate) fn driver_arguments(&self) -> impl Iterator<Item = Arg<'_>> + Clone {
        self.call_arguments().iter().map(|argument| launch::argument(argument, false))
    }

    /// Those that are others in a command that [patches](Self::is_patched_by) this one, with their indices.
    pub(crate) fn changed_arguments<'a>(&self, to: &'a Self) -> impl Iterator<Item = (u32, Arg<'a>)> {
        (0..)
            .zip(self.call_arguments().iter().zip(to.call_arguments()))
            .filter(|(_, (from, to))| !same_value(from, to))
            .map(|(index, (_, to))| (index, launch::argument(to, false)))
    }

    /// The range of a kernel.
    pub(crate) fn range(&self) -> Option<&NdRange> {
        match self {
            Self::Kernel { range, .. } => Some(range),
            _ => None,
        }
    }

    /// The index space of a kernel, checked; `None` when nothing runs.
    pub(crate) fn work_size(&self, context: &Context, device: &Device) -> Result<Option<WorkSize>> {
        match self {
            Self::Kernel { range, call } => launch::find(context, device, range, call).map(|(_, size)| size),
            _ => Ok(None),
        }
    }
}

fn same_kind(from: &Argument, to: &Argument) -> bool {
    match (from, to) {
        (Argument::Value(from), Argument::Value(to)) => from.bytes().len() == to.bytes().len(),
        (Argument::Pointer(_), Argument::Pointer(_)) | (Argument::Local { .. }, Argument::Local { .. }) => {
            true
        }
        _ => false,
    }
}

fn same_value(from: &Argument, to: &Argument) -> bool {
    match (from, to) {
        (Argument::Value(from), Argument::Value(to)) => from.bytes() == to.bytes(),
        (Argument::Local { size_bytes: from, .. }, Argument::Local { size_bytes: to, .. }) => from == to,
        (Argument::Pointer(from), Argument::Pointer(to)) => match (from.place(), to.place()) {
            (Place::Null, Place::Null) => true,
            // Allocations that are alive have addresses of their own.
            (Place::Usm(from), Place::Usm(to)) => from.address() == to.address(),
            _ => false,
        },
        _ => false,
    }
}
