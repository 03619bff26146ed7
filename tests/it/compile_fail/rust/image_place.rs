//! A place of two numbers in an image of three dimensions.
use oclave_kernel::images::{D3, ReadImage};
use oclave_kernel::{Item, Out, Vec4, kernel};

#[kernel]
pub fn first(_item: Item<1>, image: ReadImage<D3>, mut out: Out<Vec4<f32>>) {
    *out = image.read([0, 0]);
}

fn main() {}
