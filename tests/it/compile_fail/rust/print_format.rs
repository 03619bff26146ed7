//! A format that `printf` does not have.
use oclave_kernel::{Item, device_println, kernel};

#[kernel]
pub fn report(_item: Item<1>, x: f32) {
    device_println!("{x:e}");
    device_println!("{x} {}");
    device_println!("{x}", x);
}

fn main() {}
