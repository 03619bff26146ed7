//! Kernels that read and write images of every kind: IMG.

use bytemuck::Pod;
use half::f16;
use oclave::device::Aspects;
use oclave::images::Image;
use oclave::images::{
    Bgra, Channel, D1, D1Array, D1Buffer, D2, D2Array, D3, ImageDimension, ImageKind, PixelFormat, R, Rg,
    Rgba, Snorm8, Unorm8, Unorm16,
};
use oclave::kernel::KernelCall;
use oclave::vector::Float4;
use oclave::{Context, Queue, UsmSlice};

use super::common;
use super::kernels::images as kernels;

type Pixels = Rgba<f32>;

/// A context of a device with images, and an in-order queue; or `None` after saying why.
pub(super) fn setting() -> Option<(Context, Queue)> {
    let (context, queue) = common::setting()?;
    if context.device().capabilities().images.is_none() {
        println!("skipped: the device has no images");
        return None;
    }
    Some((context, queue))
}

/// Whether kernels of the context's device can read and write images of the format; says so if not.
pub(super) fn has_format<F: PixelFormat>(context: &Context, kind: ImageKind) -> bool {
    let format = F::FORMAT.unwrap();
    let formats = context.image_formats(kind).unwrap();
    let has = formats.iter().any(|support| support.format == format && support.read && support.write);
    if !has {
        println!("the device has no images of the format {format}");
    }
    has
}

/// Writes `[column, row, plane] * 1.0` by one kernel, and reads it by another.
fn round_trip<D: ImageDimension>(
    (context, queue): &(Context, Queue),
    size: D::Size,
    write: impl Fn(&Image<Pixels, D>) -> KernelCall,
    read: impl Fn(&Image<Pixels, D>, &UsmSlice<[f32; 4]>) -> KernelCall,
) {
    let image = context.alloc_image::<Pixels, D>(size).unwrap();
    let shape = image.shape();
    let len = shape.sizes().iter().product();
    let out = context.alloc_device::<[f32; 4]>(len).unwrap();
    queue.parallel_for(shape.work_items(), write(&image)).unwrap();
    queue.parallel_for(shape.work_items(), read(&image, &out)).unwrap();
    let [width, height, _] = shape.work_items().sizes();
    let expected: Vec<[f32; 4]> = (0..len)
        .map(|i| [i % width, i / width % height, i / width / height].map(|i| i as f32))
        .map(|[x, y, z]| [x, y, z, 1.0])
        .collect();
    assert_eq!(queue.read(&out).unwrap(), expected, "{}", D::TYPE_NAME);
    assert_eq!(queue.read(&image).unwrap(), expected, "{}", D::TYPE_NAME);
}

#[device_test(setting)]
fn img_001_each_kind(setting: (Context, Queue)) {
    round_trip::<D1>(
        &setting,
        7,
        |i| kernels::write_1d(i, 1.0),
        |i, out| kernels::read_1d(i, out.cast().unwrap()),
    );
    round_trip::<D1Buffer>(
        &setting,
        9,
        |i| kernels::write_1d_buffer(i, 1.0),
        |i, out| kernels::read_1d_buffer(i, out.cast().unwrap()),
    );
    round_trip::<D1Array>(
        &setting,
        [3, 5],
        |i| kernels::write_1d_array(i, 1.0),
        |i, out| kernels::read_1d_array(i, out.cast().unwrap()),
    );
    round_trip::<D2>(
        &setting,
        [4, 6],
        |i| kernels::write_2d(i, 1.0),
        |i, out| kernels::read_2d(i, out.cast().unwrap()),
    );
    round_trip::<D2Array>(
        &setting,
        [2, 3, 5],
        |i| kernels::write_2d_array(i, 1.0),
        |i, out| kernels::read_2d_array(i, out.cast().unwrap()),
    );
    if setting.0.device().capabilities().aspects.contains(Aspects::IMAGE_3D_WRITE) {
        round_trip::<D3>(
            &setting,
            [3, 2, 4],
            |i| kernels::write_3d(i, 1.0),
            |i, out| kernels::read_3d(i, out.cast().unwrap()),
        );
    }
}

#[device_test(setting)]
fn img_002_a_volume_from_the_host((context, queue): (Context, Queue)) {
    let image = context.alloc_image::<Pixels, D3>([2, 3, 4]).unwrap();
    let values: Vec<[f32; 4]> = (0..24).map(|i| [i as f32, 0.5, -1.0, 0.0]).collect();
    queue.write(&image, &values).unwrap();
    let out = context.alloc_device::<[f32; 4]>(24).unwrap();
    queue.parallel_for(image.shape().work_items(), kernels::read_3d(&image, out.cast().unwrap())).unwrap();
    assert_eq!(queue.read(&out).unwrap(), values);
    let facts = context.alloc_device::<i32>(5).unwrap();
    queue.single_task(kernels::describe(&image, &facts)).unwrap();
    // CL_FLOAT, CL_RGBA.
    assert_eq!(queue.read(&facts).unwrap(), [4, 3, 2, 0x10DE, 0x10B5]);
}

/// Kernels read these floats of a pixel.
fn reads<F: PixelFormat>((context, queue): &(Context, Queue), pixels: &[F::Pixel], expected: &[[f32; 4]]) {
    if !has_format::<F>(context, ImageKind::D2) {
        return;
    }
    let image = context.alloc_image::<F, D2>([1, pixels.len()]).unwrap();
    queue.write(&image, pixels).unwrap();
    let out = context.alloc_device::<[f32; 4]>(pixels.len()).unwrap();
    queue.parallel_for(image.shape().work_items(), kernels::read_2d(&image, out.cast().unwrap())).unwrap();
    for (read, expected) in queue.read(&out).unwrap().iter().zip(expected) {
        let is_near = read.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(is_near, "{}: {read:?} instead of {expected:?}", image.format());
    }
}

#[device_test(setting)]
fn img_003_formats(setting: (Context, Queue)) {
    reads::<Rgba<Unorm8>>(
        &setting,
        &[[0, 51, 255, 102], [255, 0, 0, 0]],
        &[[0.0, 0.2, 1.0, 0.4], [1.0, 0.0, 0.0, 0.0]],
    );
    reads::<Bgra<Unorm8>>(&setting, &[[0, 51, 255, 102]], &[[1.0, 0.2, 0.0, 0.4]]);
    reads::<R<Unorm16>>(
        &setting,
        &[0, 65535, 13107],
        &[[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.2, 0.0, 0.0, 1.0]],
    );
    reads::<Rgba<Snorm8>>(&setting, &[[127, -127, 0, -128]], &[[1.0, -1.0, 0.0, -1.0]]);
    reads::<R<f32>>(&setting, &[1.5, -2.5], &[[1.5, 0.0, 0.0, 1.0], [-2.5, 0.0, 0.0, 1.0]]);
    let halves = [1.5, -0.25, 0.0, 65504.0];
    reads::<Rgba<f16>>(&setting, &[halves.map(f16::from_f32)], &[halves]);
    reads::<Rg<f32>>(&setting, &[[0.5, 0.75]], &[[0.5, 0.75, 0.0, 1.0]]);
}

/// Kernels read these integers of a pixel.
fn reads_integers<C: Channel, T: Pod + PartialEq + std::fmt::Debug>(
    (context, queue): &(Context, Queue),
    pixel: [C::Host; 4],
    expected: [T; 4],
    call: impl Fn(&Image<Rgba<C>, D2>, &UsmSlice<[T; 4]>) -> KernelCall,
) {
    if !has_format::<Rgba<C>>(context, ImageKind::D2) {
        return;
    }
    let image = context.alloc_image::<Rgba<C>, D2>([1, 1]).unwrap();
    queue.write(&image, &[pixel]).unwrap();
    let out = context.alloc_device::<[T; 4]>(1).unwrap();
    queue.single_task(call(&image, &out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [expected], "{}", image.format());
}

#[device_test(setting)]
fn img_004_integers(setting: (Context, Queue)) {
    reads_integers::<i8, _>(&setting, [1, -2, 127, -128], [1, -2, 127, -128], |i, out| {
        kernels::read_signed(i, out.cast().unwrap())
    });
    reads_integers::<i32, _>(&setting, [1, -2, i32::MAX, i32::MIN], [1, -2, i32::MAX, i32::MIN], |i, out| {
        kernels::read_signed(i, out.cast().unwrap())
    });
    reads_integers::<u16, _>(&setting, [0, 1, 2, 65535], [0, 1, 2, 65535], |i, out| {
        kernels::read_unsigned(i, out.cast().unwrap())
    });
    reads_integers::<u32, _>(&setting, [0, 1, 2, u32::MAX], [0, 1, 2, u32::MAX], |i, out| {
        kernels::read_unsigned(i, out.cast().unwrap())
    });
}

#[device_test(setting)]
fn img_005_read_write((context, queue): (Context, Queue)) {
    if !context.device().capabilities().aspects.contains(Aspects::IMAGE_READ_WRITE) {
        println!("no kernel of the device reads and writes one image");
        let image = context.alloc_image::<Rgba<f32>, D2>([2, 3]).unwrap();
        let error = queue.parallel_for([3, 2], kernels::add_to(&image, Float4::splat(1.0))).unwrap_err();
        assert_eq!(error.kind(), oclave::ErrorKind::KernelNotSupported, "{error:#}");
        return;
    }
    let image = context.alloc_image::<Rgba<f32>, D2>([2, 3]).unwrap();
    queue.fill(&image, [1.0, 2.0, 3.0, 4.0]).unwrap();
    for _ in 0..3 {
        queue.parallel_for([3, 2], kernels::add_to(&image, Float4::new([1.0, 0.5, 0.0, -1.0]))).unwrap();
    }
    assert_eq!(queue.read(&image).unwrap(), [[4.0, 3.5, 3.0, 1.0]; 6]);
}

#[device_test(setting)]
fn img_006_writes((context, queue): (Context, Queue)) {
    let from = context.alloc_image::<Rgba<Unorm8>, D2>([2, 2]).unwrap();
    let to = context.alloc_image::<Rgba<Unorm8>, D2>([2, 2]).unwrap();
    queue.write(&from, &[[10, 20, 30, 40], [127, 128, 200, 255], [0; 4], [1, 2, 3, 4]]).unwrap();
    queue.parallel_for(from.shape().work_items(), kernels::brighten(&from, &to)).unwrap();
    let expected = [[20, 40, 60, 80], [254, 255, 255, 255], [0; 4], [2, 4, 6, 8]];
    assert_eq!(queue.read(&to).unwrap(), expected);
}
