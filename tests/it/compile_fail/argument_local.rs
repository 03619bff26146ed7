//! Memory is passed where the kernel wants local memory, which has no contents on the host.
use oclave::UsmSlice;
use oclave::memory::usm;

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(x: &UsmSlice<i32, usm::DeviceOnly>) -> oclave::kernel::KernelCall {
    kernels::arguments::group_sum(x, x, x)
}

fn main() {}
