//! Halves are converted from `f32`.
use oclave_kernel::{Item, Out, f16, kernel};

#[kernel]
pub fn store(_item: Item<1>, x: f64, mut out: Out<f16>) {
    *out = f16::from_f32(x);
}

fn main() {}
