//! The host reads a device global that it may only write.
use oclave::host_access::Write;
use oclave::{DeviceGlobal, Queue, Result};

fn read(queue: &Queue, global: &DeviceGlobal<i32, Write>) -> Result<i32> {
    queue.read(global)
}

fn main() {}
