//! Images of all dimensions, and samplers.

use oclave_kernel::images::{D1, D1Array, D2, D2Array, D3, ReadImage, ReadWriteImage, Sampler, WriteImage};
use oclave_kernel::{Item, Out, Vec4, kernel};

/// The place of a work-item.
#[inline(always)]
fn place<const D: usize>(item: Item<D>) -> [i32; D] {
    item.global_id().map(|id| id as i32)
}

/// Pixels of images of all dimensions.
#[kernel]
pub fn read_images(
    item: Item<3>,
    a: ReadImage<D1>,
    b: ReadImage<D2>,
    c: ReadImage<D3>,
    d: ReadImage<D1Array>,
    e: ReadImage<D2Array>,
    mut out: Out<[Vec4<f32>; 5]>,
) {
    let [x, y, z] = place(item);
    *out = [a.read([x]), b.read([x, y]), c.read([x, y, z]), d.read([x, y]), e.read([x, y, z])];
}

/// Their sizes.
#[kernel]
pub fn sizes(
    _item: Item<1>,
    a: ReadImage<D1>,
    b: WriteImage<D2>,
    c: ReadImage<D3>,
    d: ReadImage<D1Array>,
    e: ReadImage<D2Array>,
    mut out: Out<[u32; 11]>,
) {
    let ([a], [b, c], [d, e, f], [g, h], [i, j, k]) = (a.size(), b.size(), c.size(), d.size(), e.size());
    *out = [a, b, c, d, e, f, g, h, i, j, k].map(|size| size as u32);
}

/// Integers with and without a sign.
#[kernel]
pub fn whole_numbers(
    item: Item<2>,
    a: ReadImage<D2>,
    b: ReadImage<D2>,
    c: WriteImage<D2>,
    d: WriteImage<D2>,
) {
    let at = place(item);
    let (a, b): (Vec4<i32>, Vec4<u32>) = (a.read(at), b.read(at));
    c.write(at, -a);
    d.write(at, b / 3 + 1);
}

/// Whole numbers by a sampler.
#[kernel]
pub fn sampled_whole(item: Item<1>, image: ReadImage<D2>, sampler: Sampler, mut out: Out<Vec4<u32>>) {
    *out = image.sample(sampler, [item.global_id()[0] as f32 + 0.5, 0.5]);
}

/// One and two dimensions that are written.
#[kernel]
pub fn write_images(item: Item<2>, step: f32, a: WriteImage<D1>, b: WriteImage<D2>, c: WriteImage<D2Array>) {
    let [x, y] = place(item);
    let value = Vec4::new(x as f32, y as f32, 0.5, 1.0) * step;
    if y == 0 {
        a.write([x], value);
    }
    b.write([x, y], value);
    for layer in 0..c.size()[2] {
        c.write([x, y, layer as i32], value + layer as f32);
    }
}

/// Planes that are written, which not all devices can.
#[kernel]
pub fn write_planes(item: Item<3>, to: WriteImage<D3>) {
    let [x, y, z] = place(item);
    to.write([x, y, z], Vec4::new(x as f32, y as f32, z as f32, 1.0));
}

/// An image that is read and written, which not all devices can.
#[kernel]
pub fn change_image(item: Item<2>, image: ReadWriteImage<D2>, by: f32) {
    let at = place(item);
    let before: Vec4<f32> = image.read(at);
    image.write(at, before * by);
}

/// Points between and outside of pixels.
#[kernel]
pub fn sampled(
    item: Item<2>,
    from: ReadImage<D2>,
    sampler: Sampler,
    scale: f32,
    offset: f32,
    mut out: Out<Vec4<f32>>,
) {
    let [x, y] = item.global_id().map(|id| id as f32 * scale + offset);
    *out = from.sample(sampler, [x, y]);
}

/// A place outside of the image is a panic.
#[kernel]
pub fn beyond(item: Item<1>, from: ReadImage<D2>, to: WriteImage<D2>, writes: u32) {
    let [x] = place(item);
    if writes != 0 {
        to.write([0, x - 4], Vec4::splat(1.0_f32));
    } else {
        to.write([0, 0], from.read::<f32>([x, 0]));
    }
}
