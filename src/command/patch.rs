//! Changes of prepared commands that keep their kernel: other arguments, another range.

use super::step::is_plain;
use super::{Argument, CommandKind, launch};
use crate::driver::launch::{Arg, WorkSize};
use crate::{Context, Device, NdRange, Result};

impl CommandKind {
    /// Whether what was prepared for this serves for the other command, too, with its arguments and its range.
    pub(crate) fn is_patched_by(&self, to: &Self) -> bool {
        let (Self::Kernel { range: old, call: from }, Self::Kernel { range, call: to }) = (self, to) else {
            return false;
        };
        // Kinds and sizes of arguments are the kernel's.
        !old.global().is_empty()
            && !range.global().is_empty()
            && from.same_kernel(to)
            && from.arguments().iter().chain(to.arguments()).all(is_plain)
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

    /// Takes some arguments and the range of a command that [patches](Self::is_patched_by) this one.
    pub(crate) fn patch(&mut self, to: &Self, arguments: &[u32]) {
        let (Self::Kernel { range: old, call: from }, Self::Kernel { range, call: to }) = (self, to) else {
            return;
        };
        for index in arguments.iter().map(|index| *index as usize) {
            if let Some(argument) = to.arguments().get(index) {
                from.set_argument(index, argument);
            }
        }
        *old = *range;
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
