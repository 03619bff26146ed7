//! A `float` parameter follows one of integers.
use oclave::{DynamicParameter, UsmSlice, usm};

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(alpha: &DynamicParameter<u32>, x: &UsmSlice<f32, usm::DeviceOnly>) -> oclave::KernelCall {
    kernels::saxpy::saxpy(alpha, x, x)
}

fn main() {}
