//! Images and samplers.

use oclave_kernel::images::{D2, ReadImage, Sampler, WriteImage};
use oclave_kernel::{Item, Vec4, kernel};

/// Half the size: each pixel is the mean of four.
#[kernel]
pub fn halve(item: Item<2>, from: ReadImage<D2>, linear: Sampler, to: WriteImage<D2>) {
    let [x, y] = item.global_id().map(|id| id as i32);
    let mean: Vec4<f32> = from.sample(linear, [2.0 * x as f32 + 1.0, 2.0 * y as f32 + 1.0]);
    to.write([x, y], mean);
}

/// How much each pixel differs from the one to its left and the one above.
#[kernel]
pub fn edges(item: Item<2>, from: ReadImage<D2>, to: WriteImage<D2>) {
    let [x, y] = item.global_id().map(|id| id as i32);
    let here: Vec4<f32> = from.read([x, y]);
    let (left, above) = (from.read([(x - 1).max(0), y]), from.read([x, (y - 1).max(0)]));
    let difference = (here - left).map(f32::abs) + (here - above).map(f32::abs);
    to.write([x, y], difference.xyz().extend(1.0));
}
