//! Two values of one `Out` would give two `&mut`.
use oclave_kernel::{Item, Out, kernel};

fn both(mut a: Out<u32>, mut b: Out<u32>) {
    std::mem::swap(&mut *a, &mut *b);
}

#[kernel]
fn copied(_item: Item<1>, y: Out<u32>) {
    both(y, y);
}

fn main() {}
