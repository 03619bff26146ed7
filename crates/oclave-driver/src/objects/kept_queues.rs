//! The warning of drivers that keep memory of queues that were released.

use std::sync::atomic::{AtomicU32, Ordering};

use oclave_faults::Fault;

use super::context::Context;
use crate::Device;

/// Queues that the process has made of such devices.
static QUEUES: AtomicU32 = AtomicU32::new(0);

/// From so many on it is worth a warning.
const MANY: u32 = 100;

/// Counts a queue that was made, and warns once.
pub(super) fn count(context: &Context, device: &Device) {
    if context.driver_faults().has(Fault::Q38) && QUEUES.fetch_add(1, Ordering::Relaxed) + 1 == MANY {
        // Q38
        log::warn!(
            "device `{}` keeps memory of queues that were released, and the process has made {MANY} of them; \
             keep queues, and use them again",
            device.name()
        );
    }
}
