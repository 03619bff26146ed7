//! Vectors, numbers of 16 bits, and text.

use oclave_kernel::{Item, Out, Vec3, Vec4, device_println, f16, kernel};

/// Points turned by a quaternion. Their weights are stored in 16 bits.
#[kernel]
pub fn turn(item: Item<1>, by: Vec4<f32>, points: &[Vec3<f32>], weights: &[f16], mut out: Out<Vec4<f32>>) {
    let [i] = item.global_id();
    let (point, axis) = (points[i], by.xyz());
    let twice = axis.cross(point) * 2.0;
    let turned = point + twice * by.w + axis.cross(twice);
    *out = (turned * weights[i].to_f32()).extend(1.0);
}

/// Numbers that are too large, one a line.
#[kernel]
pub fn report(item: Item<1>, x: &[u32], limit: u32) {
    let [i] = item.global_id();
    if x[i] > limit {
        device_println!("x[{i}] is {} = {:#x}, {:.2} of the limit", x[i], x[i], x[i] as f32 / limit as f32);
    }
}
