//! RK: images and samplers in kernels in Rust.

use oclave::device::Aspects;
use oclave::images::{Addressing, Filter, Image, ImageDimension, Rgba, Sampler};
use oclave::kernel::Range;
use oclave::vector::Float4;
use oclave::{Context, ErrorKind, Queue, images as of_host};
use oclave_kernel::images::{D1, D1Array, D2, D2Array, D3, HostAddressing, HostImage, HostSampler};
use oclave_kernel::{HostRange, Lane, Vec4};

use super::images::setting;
use super::rust_support::on_device::images as kernels;
use super::rust_support::{images, memory, panics, run};

/// Pixels that differ.
fn pixels(count: usize) -> Vec<Vec4<f32>> {
    (0..count).map(|i| Vec4::new(i as f32, 0.5, -1.0, i as f32 / 4.0)).collect()
}

fn upload<D: ImageDimension>(
    context: &Context,
    queue: &Queue,
    size: D::Size,
    pixels: &[Vec4<f32>],
) -> Image<Rgba<f32>, D> {
    let image = context.alloc_image::<Rgba<f32>, D>(size).unwrap();
    let pixels: Vec<[f32; 4]> = pixels.iter().map(|pixel| pixel.to_array()).collect();
    queue.write(&image, &pixels).unwrap();
    image
}

fn arrays<T: Lane>(vectors: &[Vec4<T>]) -> Vec<[T; 4]> {
    vectors.iter().map(|vector| vector.to_array()).collect()
}

#[device_test(setting)]
fn rk_img_001_images_of_all_dimensions((context, queue): (Context, Queue)) {
    let all = pixels(24);
    let (a, b) = (
        upload::<of_host::D1>(&context, &queue, 4, &all[..4]),
        upload::<of_host::D2>(&context, &queue, [3, 4], &all[..12]),
    );
    let c = upload::<of_host::D3>(&context, &queue, [2, 3, 4], &all);
    let d = upload::<of_host::D1Array>(&context, &queue, [3, 4], &all[12..]);
    let e = upload::<of_host::D2Array>(&context, &queue, [2, 3, 4], &all);
    let out = memory::<[Float4; 5]>(&queue, 24);
    run(&queue, Range::from([4, 3, 2]), kernels::read_images(&a, &b, &c, &d, &e, &out));
    let sizes = memory::<[u32; 11]>(&queue, 1);
    run(&queue, 1, kernels::sizes(&a, &b, &c, &d, &e, &sizes));

    let a = HostImage::<D1>::from_pixels([4], &all[..4]);
    let mut b = HostImage::<D2>::from_pixels([4, 3], &all[..12]);
    let c = HostImage::<D3>::from_pixels([4, 3, 2], &all);
    let d = HostImage::<D1Array>::from_pixels([4, 3], &all[12..]);
    let e = HostImage::<D2Array>::from_pixels([4, 3, 2], &all);
    let mut wanted = vec![[Vec4::default(); 5]; 24];
    images::read_images::run_on_host(HostRange::new([4, 3, 2]), &a, &b, &c, &d, &e, &mut wanted);
    assert_eq!(wanted[23][2], all[23]);
    let found: Vec<[[f32; 4]; 5]> =
        queue.read(&out).unwrap().iter().map(|pixels| pixels.map(|pixel| *pixel.lanes())).collect();
    assert_eq!(found, wanted.iter().map(|pixels| pixels.map(Vec4::to_array)).collect::<Vec<_>>());
    let mut wanted = vec![[0; 11]];
    images::sizes::run_on_host(HostRange::new([1]), &a, &mut b, &c, &d, &e, &mut wanted);
    assert_eq!(wanted, [[4, 4, 3, 4, 3, 2, 4, 3, 4, 3, 2]]);
    assert_eq!(queue.read(&sizes).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_img_002_images_that_are_written((context, queue): (Context, Queue)) {
    let blank = pixels(24);
    let a = upload::<of_host::D1>(&context, &queue, 4, &blank[..4]);
    let b = upload::<of_host::D2>(&context, &queue, [3, 4], &blank[..12]);
    let c = upload::<of_host::D2Array>(&context, &queue, [2, 3, 4], &blank);
    run(&queue, Range::from([4, 3]), kernels::write_images(0.25, &a, &b, &c));
    let mut wanted = (
        HostImage::<D1>::from_pixels([4], &blank[..4]),
        HostImage::<D2>::from_pixels([4, 3], &blank[..12]),
        HostImage::<D2Array>::from_pixels([4, 3, 2], &blank),
    );
    let range = HostRange::new([4, 3]);
    images::write_images::run_on_host(range, 0.25, &mut wanted.0, &mut wanted.1, &mut wanted.2);
    assert_eq!(queue.read(&a).unwrap(), arrays(&wanted.0.pixels::<f32>()));
    assert_eq!(queue.read(&b).unwrap(), arrays(&wanted.1.pixels::<f32>()));
    assert_eq!(queue.read(&c).unwrap(), arrays(&wanted.2.pixels::<f32>()));

    let to = upload::<of_host::D3>(&context, &queue, [2, 3, 4], &blank);
    let call = kernels::write_planes(&to);
    if context.device().capabilities().aspects.contains(Aspects::IMAGE_3D_WRITE) {
        run(&queue, Range::from([4, 3, 2]), call);
        let mut wanted = HostImage::<D3>::from_pixels([4, 3, 2], &blank);
        images::write_planes::run_on_host(HostRange::new([4, 3, 2]), &mut wanted);
        assert_eq!(queue.read(&to).unwrap(), arrays(&wanted.pixels::<f32>()));
    } else {
        let error = queue.parallel_for(Range::from([4, 3, 2]), call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    }
    let call = kernels::change_image(&b, 3.0);
    if context.device().capabilities().aspects.contains(Aspects::IMAGE_READ_WRITE) {
        run(&queue, Range::from([4, 3]), call);
        images::change_image::run_on_host(range, &mut wanted.1, 3.0);
        assert_eq!(queue.read(&b).unwrap(), arrays(&wanted.1.pixels::<f32>()));
    } else {
        let error = queue.parallel_for(Range::from([4, 3]), call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    }
}

#[device_test(setting)]
fn rk_img_003_images_of_integers((context, queue): (Context, Queue)) {
    let signed: Vec<Vec4<i32>> = (0..12).map(|i| Vec4::new(i, -i, i * 1_000_000, i32::MIN + 1 + i)).collect();
    let plain: Vec<Vec4<u32>> = (0..12).map(|i| Vec4::new(i, u32::MAX - i, i << 28, 7)).collect();
    let a = context.alloc_image::<Rgba<i32>, of_host::D2>([3, 4]).unwrap();
    let b = context.alloc_image::<Rgba<u32>, of_host::D2>([3, 4]).unwrap();
    let c = context.alloc_image::<Rgba<i32>, of_host::D2>([3, 4]).unwrap();
    let d = context.alloc_image::<Rgba<u32>, of_host::D2>([3, 4]).unwrap();
    queue.write(&a, &arrays(&signed)).unwrap();
    queue.write(&b, &arrays(&plain)).unwrap();
    run(&queue, Range::from([4, 3]), kernels::whole_numbers(&a, &b, &c, &d));
    let (a, b) =
        (HostImage::<D2>::from_pixels([4, 3], &signed), HostImage::<D2>::from_pixels([4, 3], &plain));
    let (mut own_c, mut own_d) = (a.clone(), b.clone());
    images::whole_numbers::run_on_host(HostRange::new([4, 3]), &a, &b, &mut own_c, &mut own_d);
    assert_eq!(queue.read(&c).unwrap(), arrays(&own_c.pixels::<i32>()));
    assert_eq!(queue.read(&d).unwrap(), arrays(&own_d.pixels::<u32>()));
}

#[device_test(setting)]
fn rk_img_004_samplers((context, queue): (Context, Queue)) {
    let all = pixels(12);
    let image = upload::<of_host::D2>(&context, &queue, [3, 4], &all);
    let own = HostImage::<D2>::from_pixels([4, 3], &all);
    let host = HostSampler::new();
    let builder = || Sampler::builder(&context);
    for (sampler, own_sampler, scale, offset) in [
        (builder(), host, 0.7, -1.2),
        (builder().filter(Filter::Linear), host.linear(), 0.5, -1.0),
        (builder().addressing(Addressing::Clamp), host.addressing(HostAddressing::Clamp), 0.7, -1.2),
        (builder().normalized(), host.normalized(), 0.13, -0.2),
        (
            builder().normalized().addressing(Addressing::Repeat),
            host.normalized().addressing(HostAddressing::Repeat),
            0.32,
            -0.9,
        ),
    ] {
        let sampler = sampler.build().unwrap();
        let out = memory::<Float4>(&queue, 100);
        run(&queue, Range::from([10, 10]), kernels::sampled(&image, &sampler, scale, offset, &out));
        let mut wanted = vec![Vec4::default(); 100];
        images::sampled::run_on_host(HostRange::new([10, 10]), &own, own_sampler, scale, offset, &mut wanted);
        for (at, (found, wanted)) in queue.read(&out).unwrap().iter().zip(&wanted).enumerate() {
            for (found, wanted) in found.lanes().iter().zip(wanted.to_array()) {
                // Devices may mix pixels with few bits.
                assert!((found - wanted).abs() <= 0.05, "{own_sampler:?} at {at}: {found} is not {wanted}");
            }
        }
    }
}

#[device_test(setting)]
fn rk_img_005_places_outside_panic((context, queue): (Context, Queue)) {
    let all = pixels(12);
    let from = upload::<of_host::D2>(&context, &queue, [3, 4], &all);
    let to = upload::<of_host::D2>(&context, &queue, [3, 4], &all);
    let parts = ["a place outside of the image", "images.rs"];
    panics(&queue, 5, kernels::beyond(&from, &to, 0), &parts);
    panics(&queue, 1, kernels::beyond(&from, &to, 1), &parts);
    run(&queue, 4, kernels::beyond(&from, &to, 0));
    let wanted: Vec<[f32; 4]> = queue.read(&to).unwrap().split_off(1);
    assert_eq!(wanted, arrays(&all[1..]));
    // The host refuses one image for two parameters if the kernel writes it.
    assert!(queue.parallel_for(1, kernels::beyond(&from, &from, 0)).is_err());
}

#[test]
fn rk_img_006_pixels_and_samplers_without_a_defined_result_are_refused() {
    let Some((context, queue)) = setting() else { return };
    let floats = upload::<of_host::D2>(&context, &queue, [3, 4], &pixels(12));
    let signed = context.alloc_image::<Rgba<i32>, of_host::D2>([3, 4]).unwrap();
    let plain = context.alloc_image::<Rgba<u32>, of_host::D2>([3, 4]).unwrap();
    let refused = |call: oclave::kernel::KernelCall, part: &str| {
        let error = queue.parallel_for(1, call.clone()).expect_err("the launch is refused");
        assert_eq!(error.kind(), ErrorKind::KernelArgument);
        assert!(error.to_string().contains(part), "{error}");
        let graph = oclave::Graph::from_queue(&queue);
        assert!(graph.add(oclave::Command::parallel_for(1, call)).is_err());
    };
    let c = context.alloc_image::<Rgba<i32>, of_host::D2>([3, 4]).unwrap();
    let d = context.alloc_image::<Rgba<u32>, of_host::D2>([3, 4]).unwrap();
    refused(kernels::whole_numbers(&floats, &plain, &c, &d), "argument 0 (`a`)");
    refused(kernels::whole_numbers(&signed, &floats, &c, &d), "takes the numbers of pixels as u32");
    refused(kernels::beyond(&floats, &signed, 0), "are i32");

    let sampler = |builder: oclave::images::SamplerBuilder| builder.build().unwrap();
    let builder = || Sampler::builder(&context);
    let out = queue.upload(&[Float4::default(); 100]).unwrap();
    let call = |sampler: &Sampler| kernels::sampled(&floats, sampler, 0.5, 0.0, &out);
    refused(call(&sampler(builder().addressing(Addressing::None))), "Addressing::None");
    let out = memory::<oclave::vector::Uint4>(&queue, 1);
    queue.write(&plain, &[[7_u32, 8, 9, 10]; 12]).unwrap();
    let call = |sampler: &Sampler| kernels::sampled_whole(&plain, sampler, &out);
    refused(call(&sampler(builder().filter(Filter::Linear))), "mixes no integers");
    run(&queue, 1, call(&sampler(builder())));
    assert_eq!(queue.read(&out).unwrap()[0].lanes(), &[7, 8, 9, 10]);
}
