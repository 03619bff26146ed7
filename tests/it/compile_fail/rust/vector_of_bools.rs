//! A vector of what is no number.
use oclave_kernel::{Item, Out, Vec4, kernel};

#[kernel]
pub fn compare(_item: Item<1>, x: Vec4<f32>, mut out: Out<u32>) {
    let is_less: Vec4<bool> = x.map(|x| x < 0.0);
    *out = u32::from(is_less.x);
}

fn main() {}
