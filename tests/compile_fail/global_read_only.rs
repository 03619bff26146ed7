//! The host writes a device global that it may only read.
use oclave::host_access::Read;
use oclave::{DeviceGlobal, Queue, Result};

fn write(queue: &Queue, global: &DeviceGlobal<i32, Read>) -> Result<()> {
    queue.write(global, &1)
}

fn main() {}
