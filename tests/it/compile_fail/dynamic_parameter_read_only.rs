//! A parameter that only reads a buffer is given for memory that the kernel writes.
use oclave::graph::DynamicParameter;
use oclave::memory::{Accessor, access};

mod kernels {
    oclave::include_kernels!("tests");
}

fn call(values: &DynamicParameter<Accessor<u32, access::Read>>) -> oclave::kernel::KernelCall {
    kernels::buffers::advance(values, 1, 2)
}

fn main() {}
