//! An `Out` has the element of its work-item, and no other.
use oclave_kernel::{Item, Out, kernel};

#[kernel]
fn other(item: Item<1>, mut y: Out<u32>) {
    y[item.global_id()[0] + 1] = 1;
}

fn main() {}
