//! Kernels that use crates of others: vectors of `glam`, and functions of `libm`.
#![no_std]

mod scene;

use glam::Vec3;
use oclave_kernel::{Item, Out, kernel};
use scene::Ball;

/// Where a ray through each pixel hits, as a shade.
#[kernel]
pub fn render(item: Item<2>, balls: &[[f32; 4]], mut shade: Out<f32>) {
    let [column, row] = item.global_id();
    let [width, height] = item.global_size();
    let place = |at: usize, count: usize| (at as f32 + 0.5) / count as f32 * 2.0 - 1.0;
    let ray = Vec3::new(place(column, width), place(row, height), 1.5).normalize();
    let light = Vec3::new(1.0, -1.0, -1.0).normalize();
    let hit = balls
        .iter()
        .filter_map(|ball| Ball::new(ball).hit(ray))
        .min_by(|a, b| a.distance.total_cmp(&b.distance));
    *shade = hit.map_or(0.1, |hit| 0.2 + 0.8 * hit.normal.dot(light).max(0.0));
}

/// Functions that come from `libm`, not from the device.
#[kernel]
pub fn functions(item: Item<1>, x: &[f32], mut out: Out<[f32; 4]>) {
    let x = x[item.global_id()[0]];
    *out = [libm::sinf(x), libm::expf(-x), libm::atan2f(x, 2.0), libm::cbrtf(x)];
}
