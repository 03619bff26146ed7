//! Kernels print numbers and string literals.
use oclave_kernel::{Item, device_println, kernel};

#[kernel]
pub fn report(_item: Item<1>, x: u32, limit: u32) {
    device_println!("{} is more than {limit}: {}", x, x > limit);
}

fn main() {}
