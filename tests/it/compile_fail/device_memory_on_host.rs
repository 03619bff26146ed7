//! The host looks into device memory.
use oclave::{Result, UsmSlice};
use oclave::memory::usm;

fn peek(x: &UsmSlice<f32, usm::DeviceOnly>) -> Result<f32> {
    Ok(x.read()?[0])
}

fn main() {}
