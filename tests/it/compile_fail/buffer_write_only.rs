//! An accessor that only writes is given where elements are read.
use oclave::{Buffer, Command};

fn copy(from: &Buffer<f32>, to: &Buffer<f32>) -> Command {
    Command::copy(&from.write(), &to.write())
}

fn main() {}
