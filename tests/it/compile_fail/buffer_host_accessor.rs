//! A reference to elements outlives the host accessor that they are of.
use oclave::{Buffer, Result};

fn leak(buffer: &Buffer<f32>) -> Result<&'static mut [f32]> {
    let mut writer = buffer.host_write()?;
    Ok(&mut writer[..])
}

fn main() {}
