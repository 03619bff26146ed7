//! Raw commands in the place of one of the library's.

use std::fmt;
use std::sync::Arc;

use super::place::Place;
use super::task::caught;
use crate::MakeError as _;
use crate::driver::native::{Enqueue, EventHandle, KernelHandle, Submission};
use crate::range::NdRange;

/// Raw commands, with the memory that they use.
#[derive(Clone)]
pub(crate) struct NativeCommand {
    pub(in crate::command) enqueue: Enqueue,
    pub(in crate::command) uses: Vec<Place>,
}

impl NativeCommand {
    pub(in crate::command) fn new<E>(
        uses: Vec<Place>,
        enqueue: impl Fn(&Submission<'_>) -> std::result::Result<EventHandle, E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let refused =
            || crate::Error::new(crate::ErrorKind::Runtime, "raw commands were not put on the queue");
        // The thread that calls it may be the library's. The conversion of the error is the user's
        // code, too.
        let enqueue = move |to: &Submission<'_>| {
            let outcome = caught("what puts them there", || {
                Ok(enqueue(to).map_err(|error| refused().with_source(error)))
            });
            outcome.unwrap_or_else(|panic| Err(refused().with_source(panic)))
        };
        Self { enqueue: Arc::new(enqueue), uses }
    }

    /// A kernel with its arguments set.
    pub(in crate::command) fn of_kernel(uses: Vec<Place>, kernel: KernelHandle, range: NdRange) -> Self {
        let [offset, local] = [range.offset(), range.local()].map(|sizes| sizes.map(|sizes| sizes.sizes()));
        let sizes = [offset, Some(range.global().sizes()), local];
        // A driver divides by a group size without a check.
        Self::new(uses, move |to| {
            range.check()?;
            kernel.enqueue(to, range.global().dimensions(), sizes)
        })
    }

    /// The places that it uses.
    pub(crate) fn places(&self) -> &[Place] {
        &self.uses
    }
}

impl fmt::Debug for NativeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeCommand").field("uses", &self.uses).finish_non_exhaustive()
    }
}
