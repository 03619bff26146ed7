//! Kernels with images of depths, and with more images than a device takes.

use oclave::images::{
    Any, Channel, ChannelOrder, D2, D2ArrayDepth, D2Depth, Depth, ImageDimension, ImageKind, Rgba, Unorm8,
    Unorm16,
};
use oclave::images::{Image, Sampler};
use oclave::kernel::KernelSource;
use oclave::vector::Float4;
use oclave::{Command, ErrorKind, Graph, Queue};

use super::queue;
use crate::common::{self, load};
use crate::kernels::{images, images_depth as kernels};

/// An image of depths, if the device has some. A device that has none must say so.
fn depths<C: Channel, D: ImageDimension>(queue: &Queue, size: D::Size) -> Option<Image<Depth<C>, D>> {
    match queue.context().alloc_image(size) {
        Ok(image) => Some(image),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{error}");
            println!("the device has none: {error}");
            None
        }
    }
}

#[device_test(queue)]
fn kernels_write_and_read_depths(queue: Queue) {
    let context = queue.context();
    let out = context.alloc_device::<f32>(12).unwrap();
    if let Some(image) = depths::<f32, D2Depth>(&queue, [3, 4]) {
        let range = image.shape().work_items();
        let written: Vec<f32> = (0..12).map(|at| at as f32 * 0.0625).collect();
        let formats = context.image_formats(ImageKind::D2).unwrap();
        let writes = kernels::write_depth(&image, 0.0625);
        if formats.iter().any(|support| support.format == image.format() && support.write) {
            queue.parallel_for(range, writes).unwrap();
            assert_eq!(queue.read(&image).unwrap(), written);
        } else {
            let error = queue.parallel_for(range, writes).unwrap_err();
            assert!(error.to_string().contains("writes the image"), "{error}");
        }
        queue.write(&image, &written.iter().map(|depth| 1.0 - depth).collect::<Vec<_>>()).unwrap();
        queue.parallel_for(range, kernels::read_depth(&image, &out)).unwrap();
        let read: Vec<f32> = written.iter().map(|depth| 1.0 - depth).collect();
        assert_eq!(queue.read(&out).unwrap(), read);
    }
    if let Some(image) = depths::<Unorm16, D2Depth>(&queue, [3, 4]) {
        queue.fill(&image, 0).unwrap();
        queue.write(&image.region([1, 1], [1, 2]).unwrap(), &[65535; 2]).unwrap();
        queue.parallel_for(image.shape().work_items(), kernels::read_depth(&image, &out)).unwrap();
        let expected: Vec<f32> = (0..12).map(|at| f32::from(u8::from(at == 5 || at == 6))).collect();
        assert_eq!(queue.read(&out).unwrap(), expected);
    }
    if let Some(image) = depths::<f32, D2ArrayDepth>(&queue, [2, 3, 2]) {
        let written: Vec<f32> = (0..12).map(|at| at as f32 * 0.0625).collect();
        queue.write(&image, &written).unwrap();
        queue.parallel_for(image.shape().work_items(), kernels::read_depth_array(&image, &out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), written);
    }
}

#[device_test(queue)]
fn formats_that_kernels_cannot_use_like_that_are_refused_at_the_launch(queue: Queue) {
    let context = queue.context();
    let out = context.alloc_device::<[f32; 4]>(4).unwrap();
    let formats = context.image_formats(ImageKind::D2).unwrap();
    // Otherwise the kernel is refused whatever the format is.
    let both = formats.iter().any(|support| support.read_write);
    let mut refusals = [0_u32; 3];
    for support in formats {
        let format = support.format;
        if format.order == ChannelOrder::Depth {
            continue;
        }
        let image: Image<Any, D2> = context.alloc_image_of(format, [2, 2]).unwrap();
        let uses = [
            (support.read, "reads", images::read_2d(&image, out.cast().unwrap())),
            (support.write, "writes", images::write_2d(&image, 0.5)),
            (support.read_write || !both, "reads and writes", images::add_to(&image, Float4::from([1.0; 4]))),
        ];
        for ((can, what, call), refusals) in uses.into_iter().zip(&mut refusals) {
            if can {
                continue;
            }
            let error = queue.parallel_for([2, 2], call).unwrap_err();
            let why =
                format!("{what} the image, and the device has no images of the format {format} for that");
            assert!(error.to_string().contains(&why), "{error}");
            *refusals += 1;
        }
    }
    println!("refused to read, write, and both: {refusals:?} formats");
}

/// A kernel with so many arguments of a type.
fn source(ty: &str, count: u32) -> KernelSource {
    let parameters: Vec<String> = (0..count).map(|index| format!("{ty} a{index}")).collect();
    KernelSource::new("many.cl", format!("kernel void many({}) {{}}", parameters.join(", ")))
}

#[test]
fn a_kernel_with_more_images_or_samplers_than_the_device_takes_is_refused() {
    let Some(queue) = queue().filter(|_| load::has_compiler()) else { return };
    let context = queue.context();
    let limits = context.device().capabilities().images.unwrap();
    println!("{limits:?}");
    let image: Image<Rgba<Unorm8>, D2> = context.alloc_image([1, 1]).unwrap();
    let sampler = Sampler::builder(context).build().unwrap();
    for (ty, limit, words) in [
        ("read_only image2d_t", limits.read_arguments, "images to read"),
        ("write_only image2d_t", limits.write_arguments, "images to write"),
        ("sampler_t", limits.samplers, "samplers"),
    ] {
        // Drivers that state thousands are not tried: the compiler would take long.
        if limit == 0 || limit > 1000 {
            println!("{words}: the device states {limit}");
            continue;
        }
        let bundle = load::source(context, &source(ty, limit + 1)).unwrap();
        let mut call = bundle.kernel("many").unwrap().call();
        for _ in 0..=limit {
            call = match ty {
                "read_only image2d_t" => call.read_image(&image),
                "write_only image2d_t" => call.write_image(&image),
                _ => call.sampler(&sampler),
            };
        }
        let error = queue.single_task(call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error}");
        let stated = format!("the kernel has {} {words}, the device allows {limit}", limit + 1);
        assert!(error.to_string().contains(&stated), "{error}");
    }
}

/// Nobody knows what a kernel object does with an image, so that it counts as written.
#[device_test(queue)]
fn kernel_objects_may_write_images(queue: Queue) {
    let image: Image<Rgba<Unorm8>, D2> = queue.context().alloc_image([8, 8]).unwrap();
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let bundle = common::bundle(queue.context());
    let call = common::call(&bundle, "bump_by").pointer_mut::<i32>(&out).value(1_i32);
    let kernel = queue.native_kernel(&call).unwrap();
    let graph = Graph::from_queue(&queue);
    // SAFETY: nobody sets its arguments, and it uses `out` only.
    let command = || unsafe { Command::native_kernel(kernel.handle().unwrap(), 1, &[&image, &out]) };
    let first = graph.add(command()).unwrap();
    let second = graph.add(command()).unwrap();
    assert_eq!(second.predecessors(), [first]);
}
