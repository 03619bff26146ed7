//! What images are refused for, their order, and how long they live: IMG.

use oclave::device::mask::Mask;
use oclave::images::{
    ChannelOrder, ChannelType, D1Array, D2, D3, Depth, ImageFormat, ImageKind, Rgba, Unorm8,
};
use oclave::images::{Image, Sampler};
use oclave::kernel::KernelBundle;
use oclave::record::{ObjectKind, Session};
use oclave::{Command, Context, Error, ErrorKind, Queue};

use super::common::{gate, queues};
use super::images::setting;
use super::kernels::{images as kernels, saxpy};

fn refused(error: &Error, kind: ErrorKind, words: &[&str]) {
    let text = format!("{error:#}");
    assert_eq!(error.kind(), kind, "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[device_test(setting)]
fn img_015_a_device_without_images((context, queue): (Context, Queue)) {
    let masked = context.device().masked(Mask::IMAGE);
    assert_eq!(masked.capabilities().images, None);
    let poor = Context::new(&masked).unwrap();
    let words = ["aspect `image`"];
    let error = poor.alloc_image::<Rgba<f32>, D2>([2, 2]).unwrap_err();
    refused(&error, ErrorKind::FeatureNotSupported, &words);
    refused(&Sampler::builder(&poor).build().unwrap_err(), ErrorKind::FeatureNotSupported, &words);
    refused(&poor.image_formats(ImageKind::D2).unwrap_err(), ErrorKind::FeatureNotSupported, &words);
    // Kernels of the same program without images run on it.
    let queue_of_poor = Queue::new(&poor).unwrap();
    let (x, y) = (poor.alloc_device::<f32>(8).unwrap(), poor.alloc_device::<f32>(8).unwrap());
    queue_of_poor.fill(&x, 2.0).unwrap();
    queue_of_poor.fill(&y, 1.0).unwrap();
    queue_of_poor.parallel_for(8, saxpy::saxpy(3.0, &x, &y)).unwrap();
    assert_eq!(queue_of_poor.read(&y).unwrap(), [7.0; 8]);
    // One with images does not, whatever image it is given.
    let image = context.alloc_image::<Rgba<f32>, D2>([1, 1]).unwrap();
    let out = poor.alloc_device::<[f32; 4]>(1).unwrap();
    let error = queue_of_poor.single_task(kernels::read_2d(&image, out.cast().unwrap())).unwrap_err();
    refused(&error, ErrorKind::KernelNotSupported, &["image"]);
    drop(queue);
}

#[device_test(setting)]
fn img_016_bounds_and_formats((context, _): (Context, Queue)) {
    let limits = context.device().capabilities().images.unwrap();
    let error = context.alloc_image::<Rgba<f32>, D2>([0, 4]).unwrap_err();
    refused(&error, ErrorKind::Invalid, &["at least one pixel"]);
    let error = context.alloc_image::<Rgba<f32>, D2>([1, limits.max_2d[0] + 1]).unwrap_err();
    refused(&error, ErrorKind::Invalid, &["at most"]);
    let error = context.alloc_image::<Rgba<f32>, D1Array>([limits.max_layers + 1, 1]).unwrap_err();
    refused(&error, ErrorKind::Invalid, &["at most"]);
    let error = context.alloc_image::<Rgba<f32>, D3>([limits.max_3d[2] + 1, 1, 1]).unwrap_err();
    refused(&error, ErrorKind::Invalid, &["at most"]);
    let error = context.alloc_image::<Depth<f32>, D2>([1, 1]).unwrap_err();
    refused(&error, ErrorKind::Invalid, &["D2Depth"]);
    // OpenCL has none of these.
    let odd = ImageFormat::new(ChannelOrder::Srgba, ChannelType::F32);
    let error = context.alloc_image_of::<D2>(odd, [1, 1]).unwrap_err();
    refused(&error, ErrorKind::FeatureNotSupported, &["sRGBA f32", "image_formats"]);
}

#[device_test(setting)]
fn img_017_other_contexts_and_twice((context, queue): (Context, Queue)) {
    let image = context.alloc_image::<Rgba<f32>, D2>([2, 2]).unwrap();
    let error = queue.parallel_for([2, 2], kernels::brighten(&image, &image)).unwrap_err();
    refused(&error, ErrorKind::KernelArgument, &["arguments 0 and 1 are one image", "brighten"]);
    let foreign = Context::new(context.device()).unwrap();
    let other = foreign.alloc_image::<Rgba<f32>, D2>([2, 2]).unwrap();
    let error = queue.parallel_for([2, 2], kernels::brighten(&image, &other)).unwrap_err();
    refused(&error, ErrorKind::Invalid, &["another context", "argument 1"]);
    refused(&queue.copy(&image, &other).unwrap_err(), ErrorKind::Invalid, &["another context"]);
    refused(&queue.fill(&other, [0.0; 4]).unwrap_err(), ErrorKind::Invalid, &["another context"]);
    let sampler = Sampler::builder(&foreign).build().unwrap();
    let at = context.alloc_device::<[f32; 2]>(1).unwrap();
    let out = context.alloc_device::<[f32; 4]>(1).unwrap();
    let error = queue
        .single_task(kernels::sample(&image, &sampler, at.cast().unwrap(), out.cast().unwrap()))
        .unwrap_err();
    refused(&error, ErrorKind::Invalid, &["another context", "argument 1"]);
}

/// What rustc checks of generated functions is checked at launch for kernels of a bundle.
#[device_test(setting)]
fn img_018_bundles((context, queue): (Context, Queue)) {
    let module = include_bytes!("../../crates/oclave-spirv/tests/corpus/images.O2.spv");
    // SAFETY: the kernel stays within the images that it is given.
    #[allow(unsafe_code)]
    let bundle = unsafe { KernelBundle::from_spirv(&context, module) }.unwrap();
    let kernel = bundle.kernel("copy").unwrap();
    let from = context.alloc_image::<Rgba<Unorm8>, D2>([2, 2]).unwrap();
    let to = context.alloc_image::<Rgba<f32>, D2>([2, 2]).unwrap();
    let volume = context.alloc_image::<Rgba<f32>, D3>([1, 2, 2]).unwrap();
    let sampler = Sampler::builder(&context).build().unwrap();
    queue.fill(&from, [51, 0, 255, 102]).unwrap();
    let call = kernel.call().read_image(&from).write_image(&to).sampler(&sampler);
    queue.parallel_for([2, 2], call).unwrap();
    // Both reads of a pixel, times the width.
    for (value, expected) in queue.read(&to).unwrap()[0].iter().zip([0.8, 0.0, 4.0, 1.6]) {
        assert!((value - expected).abs() < 1e-5, "{value} instead of {expected}");
    }
    let run = |call| queue.parallel_for([2, 2], call).unwrap_err();
    let kind = ErrorKind::KernelArgument;
    let error = run(kernel.call().read_image(&from).write_image(&volume).sampler(&sampler));
    refused(&error, kind, &["image2d_t", "image3d_t", "argument 1"]);
    let error = run(kernel.call().write_image(&from).write_image(&to).sampler(&sampler));
    refused(&error, kind, &["read_only", "write_only", "argument 0"]);
    let error = run(kernel.call().read_image(&from).write_image(&to).read_image(&from));
    refused(&error, kind, &["the kernel takes a sampler, an image was given"]);
    let error = run(kernel.call().sampler(&sampler).write_image(&to).sampler(&sampler));
    refused(&error, kind, &["the kernel takes an image, a sampler was given"]);
}

#[device_test(setting)]
fn img_019_order((context, _): (Context, Queue)) {
    for queue in queues(&context) {
        let first = context.alloc_image::<Rgba<f32>, D2>([32, 32]).unwrap();
        let second = context.alloc_image::<Rgba<f32>, D2>([32, 32]).unwrap();
        for round in 0..8 {
            let value = [round as f32 + 1.0; 4];
            queue.fill(&first, value).unwrap();
            queue.parallel_for([32, 32], kernels::brighten(&first, &second)).unwrap();
            queue.parallel_for([32, 32], kernels::brighten(&second, &first)).unwrap();
            assert_eq!(queue.read(&first).unwrap(), vec![value.map(|x| 4.0 * x); 1024]);
        }
    }
}

#[device_test(setting)]
fn img_020_deferred((context, queue): (Context, Queue)) {
    let image = context.alloc_image::<Rgba<f32>, D2>([2, 2]).unwrap();
    let (shut, open) = gate(&queue);
    let filled = queue.after(&shut).fill(&image, [3.0; 4]).unwrap();
    let doubled: Image<Rgba<f32>, D2> = context.alloc_image([2, 2]).unwrap();
    queue.parallel_for([2, 2], kernels::brighten(&image, &doubled)).unwrap();
    // Nobody else has a handle of it.
    drop(image);
    assert!(!filled.is_complete().unwrap());
    open.send(()).unwrap();
    assert_eq!(queue.read(&doubled).unwrap(), [[6.0; 4]; 4]);
}

#[device_test(setting)]
fn img_008_released((context, queue): (Context, Queue)) {
    let out = context.alloc_device::<[f32; 4]>(4).unwrap();
    let session = Session::start();
    for _ in 0..10 {
        let image = context.alloc_image::<Rgba<f32>, D2>([2, 2]).unwrap();
        let sampler = Sampler::builder(&context).build().unwrap();
        queue.fill(&image, [1.0; 4]).unwrap();
        queue.parallel_for([2, 2], kernels::read_2d(&image, out.cast().unwrap())).unwrap();
        let at = queue.upload(&[[0.5_f32, 0.5]]).unwrap();
        queue
            .single_task(kernels::sample(&image, &sampler, at.cast().unwrap(), out.cast().unwrap()))
            .unwrap();
    }
    queue.wait().unwrap();
    // Retired objects are freed when the context is used again.
    for _ in 0..20 {
        queue.submit(Command::marker()).unwrap().wait().unwrap();
    }
    assert_eq!(session.live().get(&ObjectKind::Sampler).copied().unwrap_or(0), 0);
    assert_eq!(
        session.count("clReleaseMemObject"),
        session.count("clCreateImage") + session.count("clCreateBuffer")
    );
}
