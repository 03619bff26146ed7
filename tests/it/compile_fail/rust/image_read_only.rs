//! A kernel writes an image that it declares for reading.
use oclave_kernel::images::{D2, ReadImage};
use oclave_kernel::{Item, Vec4, kernel};

#[kernel]
pub fn blank(item: Item<2>, image: ReadImage<D2>) {
    image.write(item.global_id().map(|id| id as i32), Vec4::splat(0.0_f32));
}

fn main() {}
