//! Memory of a slice is not changed.
use oclave_kernel::{Item, kernel};

#[kernel]
fn written(item: Item<1>, x: &[f32]) {
    x[item.global_id()[0]] = 1.0;
}

fn main() {}
