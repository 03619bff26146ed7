//! An image of three dimensions is passed where the kernel takes one of two.
use oclave::images::{D3, Rgba, Image};
use oclave::kernel::KernelCall;

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(volume: &Image<Rgba<f32>, D3>) -> KernelCall {
    kernels::images::write_2d(volume, 1.0)
}

fn main() {}
