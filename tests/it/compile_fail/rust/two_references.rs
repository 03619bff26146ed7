//! A work-item has one `&mut` to its element.
use oclave_kernel::{Item, Out, kernel};

#[kernel]
fn twice(_item: Item<1>, mut y: Out<[f32; 2]>) {
    let first = &mut *y;
    let second = &mut *y;
    first[0] = 1.0;
    second[1] = 2.0;
}

fn main() {}
