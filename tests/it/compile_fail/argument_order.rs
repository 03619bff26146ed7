//! A value and memory are swapped.
use oclave::UsmSlice;
use oclave::memory::usm;

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(x: &UsmSlice<f32, usm::DeviceOnly>) -> oclave::kernel::KernelCall {
    kernels::saxpy::saxpy(x, 2.0, x)
}

fn main() {}
