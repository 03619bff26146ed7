//! A struct parameter is given another struct of the same size.
use oclave::UsmSlice;
use oclave::memory::usm;

mod kernels {
    oclave::include_kernels!("tests");
}
use kernels::arguments;

#[repr(C)]
#[derive(Clone, Copy)]
struct Other {
    first: f32,
    second: f32,
}

fn call(samples: &UsmSlice<arguments::Sample, usm::Host>, out: &UsmSlice<f32, usm::Host>) -> oclave::kernel::KernelCall {
    arguments::structs(Other { first: 1.0, second: 2.0 }, samples, out)
}

fn main() {}
