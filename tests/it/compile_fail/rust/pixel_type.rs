//! Pixels have numbers of 32 bits.
use oclave_kernel::images::{D2, ReadImage};
use oclave_kernel::{Item, Out, Vec4, kernel};

#[kernel]
pub fn first(_item: Item<1>, image: ReadImage<D2>, mut out: Out<Vec4<u8>>) {
    *out = image.read([0, 0]);
}

fn main() {}
