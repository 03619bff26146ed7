//! A `float` parameter follows one of integers.
use oclave::UsmSlice;
use oclave::graph::DynamicParameter;
use oclave::memory::usm;

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(alpha: &DynamicParameter<u32>, x: &UsmSlice<f32, usm::DeviceOnly>) -> oclave::kernel::KernelCall {
    kernels::saxpy::saxpy(alpha, x, x)
}

fn main() {}
