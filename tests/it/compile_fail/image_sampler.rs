//! An image is passed where the kernel takes a sampler.
use oclave::images::{D2, Rgba, Image};
use oclave::kernel::KernelCall;

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(picture: &Image<Rgba<f32>, D2>) -> KernelCall {
    kernels::images::sample(picture, picture, None, None)
}

fn main() {}
