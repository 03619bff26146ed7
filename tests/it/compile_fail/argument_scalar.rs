//! A `float` parameter is given an integer.
use oclave::UsmSlice;
use oclave::memory::usm;

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(x: &UsmSlice<f32, usm::DeviceOnly>) -> oclave::kernel::KernelCall {
    kernels::saxpy::saxpy(2, x, x)
}

fn main() {}
