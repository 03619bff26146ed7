//! Launching kernels.

use super::{KernelCall, NdRange, Queue};
use crate::driver::event::Event;
use crate::{Error, ErrorKind, Result};

/// Puts a call on a queue.
pub(super) fn launch(
    _queue: &Queue,
    _range: &NdRange,
    call: &KernelCall,
    _after: &[&Event],
) -> Result<Event> {
    Err(Error::new(ErrorKind::FeatureNotSupported, "launches wait for programs")
        .at(format!("kernel `{}`", call.kernel_name())))
}
