//! The host writes a device global that it may only read.
use oclave::kernel::host_access::Read;
use oclave::{Queue, Result};
use oclave::kernel::DeviceGlobal;

fn write(queue: &Queue, global: &DeviceGlobal<i32, Read>) -> Result<()> {
    queue.write(global, &1)
}

fn main() {}
