//! An accessor that only reads is given where elements are written.
use oclave::{Buffer, Command, Result};

fn copy(from: &Buffer<f32>, to: &Buffer<f32>) -> Command {
    Command::copy(&from.read(), &to.read())
}

fn write(buffer: &Buffer<f32>) -> Result<()> {
    buffer.host_read()?[0] = 1.0;
    Ok(())
}

fn uninitialised(buffer: &Buffer<f32>) {
    let _ = buffer.read().no_init();
}

fn main() {}
