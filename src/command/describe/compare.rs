//! How two commands differ, and changes that keep the kernel: other arguments, another range.

use std::sync::Arc;

use super::argument::{Argument, Value};
use super::command::CommandKind;
use super::place::Place;
use crate::range::NdRange;

impl CommandKind {
    /// Whether the command prepared for this one can run the other, with the other's arguments and
    /// range.
    pub(crate) fn is_patched_by(&self, to: &Self) -> bool {
        let (Self::Kernel { call: from, .. }, Self::Kernel { call, .. }) = (self, to) else {
            return false;
        };
        // Kinds and sizes of arguments are the kernel's.
        from.same_kernel(call) && self.plain_arguments().is_some() && to.plain_arguments().is_some()
    }

    /// The arguments of a kernel that runs, unless a place in them must be looked up.
    pub(crate) fn plain_arguments(&self) -> Option<&[Argument]> {
        match self {
            Self::Kernel { range, call } if !range.global().is_empty() => {
                Some(call.arguments()).filter(|arguments| arguments.iter().all(is_plain))
            }
            _ => None,
        }
    }

    /// The arguments of a kernel.
    pub(crate) fn arguments(&self) -> &[Argument] {
        match self {
            Self::Kernel { call, .. } => call.arguments(),
            _ => &[],
        }
    }

    /// Whether the other command differs from this one in values and addresses at most: same
    /// kernel, range and sizes of local memory.
    pub(crate) fn differs_in_arguments(&self, to: &Self) -> bool {
        let (Self::Kernel { range: old, call: from }, Self::Kernel { range, call: to }) = (self, to) else {
            return false;
        };
        let mut pairs = from.arguments().iter().zip(to.arguments());
        old == range
            && from.same_kernel(to)
            && pairs.all(|pair| match pair {
                (Argument::Value(from), Argument::Value(to)) => from.bytes().len() == to.bytes().len(),
                (Argument::Pointer(_), Argument::Pointer(_)) if is_plain(pair.0) && is_plain(pair.1) => true,
                (from, to) => is_same(from, to),
            })
    }

    /// The arguments that are others in a command that [differs in
    /// them](Self::differs_in_arguments): each one's place, what it was, and what it is there.
    pub(crate) fn changed_arguments<'a>(
        &'a self,
        to: &'a Self,
    ) -> impl Iterator<Item = (usize, &'a Argument, &'a Argument)> {
        let pairs = self.arguments().iter().zip(to.arguments()).enumerate();
        pairs.filter_map(|(index, (from, to))| (!is_same(from, to)).then_some((index, from, to)))
    }

    /// Takes the range, and those arguments that are others, of a command that
    /// [patches](Self::is_patched_by) this one or [differs in
    /// arguments](Self::differs_in_arguments).
    pub(crate) fn patch(&mut self, to: &Self) {
        let (Self::Kernel { range: old, call: from }, Self::Kernel { range, call: to }) = (self, to) else {
            return;
        };
        for (index, argument) in to.arguments().iter().enumerate() {
            if from.arguments().get(index).is_some_and(|before| !is_same(before, argument)) {
                from.set_argument(index, argument);
            }
        }
        *old = *range;
    }

    /// Gives an argument by value other bytes.
    pub(crate) fn set_value(&mut self, index: usize, bytes: &[u8]) {
        if let Self::Kernel { call, .. } = self
            && let Some(Argument::Value(before)) = call.arguments().get(index)
        {
            let value = Argument::Value(Value::of_bytes(before.ty, bytes));
            call.set_argument(index, &value);
        }
    }

    /// The range of a kernel.
    pub(crate) fn range(&self) -> Option<&NdRange> {
        match self {
            Self::Kernel { range, .. } => Some(range),
            _ => None,
        }
    }
}

/// Whether an argument can be passed to the driver as it is, and changed in prepared commands.
pub(in crate::command) fn is_plain(argument: &Argument) -> bool {
    match argument {
        Argument::Value(_) | Argument::Local { .. } | Argument::Sampler(_) => true,
        // It has a place in the order.
        Argument::Image(_) => false,
        Argument::Pointer(pointer) => matches!(pointer.place(), Place::Null | Place::Usm(_)),
    }
}

/// Whether a kernel sees no difference. Of places that must be looked up that is not known.
pub(in crate::command) fn is_same(from: &Argument, to: &Argument) -> bool {
    match (from, to) {
        (Argument::Value(from), Argument::Value(to)) => from.bytes() == to.bytes(),
        (Argument::Local { size_bytes: from, .. }, Argument::Local { size_bytes: to, .. }) => from == to,
        (Argument::Pointer(from), Argument::Pointer(to)) => match (from.place(), to.place()) {
            (Place::Null, Place::Null) => true,
            // Both are alive, so an address is that of one allocation. Kernels in Rust get the size, too.
            (Place::Usm(from), Place::Usm(to)) => {
                from.address() == to.address() && from.size_bytes() == to.size_bytes()
            }
            (Place::Accessor(from), Place::Accessor(to)) => Arc::ptr_eq(from, to),
            _ => false,
        },
        (Argument::Image(from), Argument::Image(to)) => Arc::ptr_eq(from.image(), to.image()),
        (Argument::Sampler(from), Argument::Sampler(to)) => Arc::ptr_eq(from.driver(), to.driver()),
        _ => false,
    }
}
