//! A kernel reads an image that it declares for writing.
use oclave_kernel::images::{D2, WriteImage};
use oclave_kernel::{Item, Out, Vec4, kernel};

#[kernel]
pub fn first(_item: Item<1>, image: WriteImage<D2>, mut out: Out<Vec4<f32>>) {
    *out = image.read([0, 0]);
}

fn main() {}
