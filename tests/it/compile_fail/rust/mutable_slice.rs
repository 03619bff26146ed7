//! All work-items would have a `&mut` to the same elements.
use oclave_kernel::{Item, kernel};

#[kernel]
fn shared(item: Item<1>, y: &mut [u32]) {
    y[item.global_id()[0]] = 1;
}

fn main() {}
