//! A range has at most three dimensions, and a kernel those of its `Item`.
use oclave_kernel::{Item, Out, kernel};

#[kernel]
fn flat(item: Item<1>, mut y: Out<u32>) {
    let [column, row] = item.global_id();
    *y = (column + row) as u32;
}

fn main() {}
