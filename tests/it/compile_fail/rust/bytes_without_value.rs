//! What has values for some bytes only cannot be memory of a kernel.
use oclave_kernel::{Global, Item, kernel};

#[kernel]
fn flags(_item: Item<1>, y: Global<bool>) {
    y.set(0, true);
}

fn main() {}
