//! A device global is given a value of another type.
use oclave::{Queue, Result};
use oclave::kernel::DeviceGlobal;

fn write(queue: &Queue, global: &DeviceGlobal<i32>) -> Result<()> {
    queue.write(global, &1.0f32)
}

fn main() {}
