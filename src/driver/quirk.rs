//! Known faults of drivers that this layer works around. Each is found by platform and version, never by hope.

use super::{Device, DeviceKind};

/// Which work-arounds a context needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// Intel's CPU runtime (2026.2 and all before that were seen): when a thread waits (`clFinish`, `clWaitForEvents`)
    /// for an out-of-order queue, while another thread waits for any queue, both can hang for ever; and an out-of-order
    /// queue that two threads enqueue to can crash.
    ///
    /// Seen with two threads, a queue each, 20 dependent one-group kernels, a marker, `clFlush` and a wait, 1000 times:
    /// `clFinish` hangs in every run, `clWaitForEvents` in every second, one out-of-order and one in-order queue too.
    /// In-order queues alone never do. The waiting threads take part in the execution of commands, and steal work
    /// from each other that they then wait for.
    ///
    /// So: out-of-order queues are waited for by an event callback and a condition variable, with no thread inside the
    /// driver (40 runs with 2 to 4 threads, own and shared queues, mixed with plain waits for in-order queues: no
    /// hang, and faster than a lock around the waits); and enqueues to an out-of-order queue hold the queue's lock.
    pub(crate) out_of_order_waits: bool,
}

impl Quirks {
    pub(crate) fn of(device: &Device) -> Self {
        Self { out_of_order_waits: is_intel_cpu_runtime(device) }
    }
}

/// Every version that was seen has the fault; when one comes without it, compare the driver's version here.
fn is_intel_cpu_runtime(device: &Device) -> bool {
    device.kind() == DeviceKind::Cpu && device.platform().vendor().contains("Intel")
}
