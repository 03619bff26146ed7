//! The host reads a device global that it may only write.
use oclave::kernel::host_access::Write;
use oclave::{Queue, Result};
use oclave::kernel::DeviceGlobal;

fn read(queue: &Queue, global: &DeviceGlobal<i32, Write>) -> Result<i32> {
    queue.read(global)
}

fn main() {}
