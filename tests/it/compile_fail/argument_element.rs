//! Memory of another element type is passed for a `global float *`.
use oclave::UsmSlice;
use oclave::memory::usm;

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(x: &UsmSlice<f32, usm::DeviceOnly>, y: &UsmSlice<u32, usm::DeviceOnly>) -> oclave::kernel::KernelCall {
    kernels::saxpy::saxpy(2.0, x, y)
}

fn main() {}
