//! Others may write an element of a `Global` meanwhile: there are no references to it.
use oclave_kernel::{Global, Item, kernel};

#[kernel]
fn borrowed(_item: Item<1>, y: Global<u32>) {
    let first: &mut u32 = &mut y[0];
    *first = 1;
}

fn main() {}
