//! Host memory is used while the contents of a buffer may still go back to it, and is freed before they do.
use oclave::{Buffer, Result};
use oclave::memory::WriteBack;

fn used(buffer: &Buffer<f32>) -> Result<f32> {
    let mut data = [0.0; 8];
    let back = buffer.write_back_to(&mut data)?;
    let first = data[0];
    back.finish()?;
    Ok(first)
}

fn freed(buffer: &Buffer<f32>) -> Result<WriteBack<'_, f32>> {
    let mut data = [0.0; 8];
    buffer.write_back_to(&mut data)
}

fn main() {}
