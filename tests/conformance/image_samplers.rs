//! Samplers as arguments of kernels: IMG.

use oclave::images::{Addressing, D2, Filter, Image, Rgba, Sampler};
use oclave::{Context, ErrorKind, Queue};

use super::images::setting;
use super::kernels::images as kernels;

/// Reads the picture at places.
fn sample(queue: &Queue, picture: &Image<Rgba<f32>, D2>, sampler: &Sampler, at: &[[f32; 2]]) -> Vec<f32> {
    let context = queue.context();
    let places = queue.upload(at).unwrap();
    let out = context.alloc_device::<[f32; 4]>(at.len()).unwrap();
    queue
        .parallel_for(
            at.len(),
            kernels::sample(picture, sampler, places.cast().unwrap(), out.cast().unwrap()),
        )
        .unwrap();
    queue.read(&out).unwrap().iter().map(|[red, ..]| *red).collect()
}

/// Two rows: 0, 1, 2, 3 and 10, 11, 12, 13.
fn picture(context: &Context, queue: &Queue) -> Image<Rgba<f32>, D2> {
    let image = context.alloc_image([2, 4]).unwrap();
    queue
        .write(&image, &[0.0_f32, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0].map(|red| [red, 0.0, 0.0, 1.0]))
        .unwrap();
    image
}

#[device_test(setting)]
fn img_007_samplers((context, queue): (Context, Queue)) {
    let picture = picture(&context, &queue);
    let nearest = Sampler::builder(&context).build().unwrap();
    let at = [[0.5, 0.5], [2.9, 1.1], [-5.0, 0.5], [9.0, 9.0]];
    assert_eq!(sample(&queue, &picture, &nearest, &at), [0.0, 12.0, 0.0, 13.0]);
    let linear = Sampler::builder(&context).filter(Filter::Linear).build().unwrap();
    let values = sample(&queue, &picture, &linear, &[[1.0, 0.5], [1.5, 1.0], [2.0, 1.0]]);
    for (value, expected) in values.iter().zip([0.5, 6.0, 6.5]) {
        assert!((value - expected).abs() < 0.05, "{value} instead of {expected}");
    }
    let border = Sampler::builder(&context).addressing(Addressing::Clamp).build().unwrap();
    assert_eq!(sample(&queue, &picture, &border, &[[-5.0, 0.5], [1.5, 1.5]]), [0.0, 11.0]);
    let normalized = Sampler::builder(&context).normalized().build().unwrap();
    assert_eq!(sample(&queue, &picture, &normalized, &[[0.9, 0.9], [0.3, 0.1]]), [13.0, 1.0]);
    let repeated = Sampler::builder(&context).normalized().addressing(Addressing::Repeat).build().unwrap();
    assert_eq!(sample(&queue, &picture, &repeated, &[[1.375, 0.25], [-0.125, 0.75]]), [1.0, 13.0]);
    let mirrored = Sampler::builder(&context).normalized().addressing(Addressing::MirroredRepeat);
    let mirrored = mirrored.build().unwrap();
    assert_eq!(sample(&queue, &picture, &mirrored, &[[1.125, 0.25], [-0.375, 0.75]]), [3.0, 11.0]);
}

#[device_test(setting)]
fn img_007_refused_samplers((context, _): (Context, Queue)) {
    for addressing in [Addressing::Repeat, Addressing::MirroredRepeat] {
        let error = Sampler::builder(&context).addressing(addressing).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
        assert!(error.to_string().contains("in pixels"), "{error}");
    }
}

#[device_test(setting)]
fn img_008_dropped_samplers((context, queue): (Context, Queue)) {
    let picture = picture(&context, &queue);
    let places = queue.upload(&[[1.5_f32, 0.5]; 64]).unwrap();
    let out = context.alloc_device::<[f32; 4]>(64).unwrap();
    for _ in 0..20 {
        let sampler = Sampler::builder(&context).build().unwrap();
        queue
            .parallel_for(
                64,
                kernels::sample(&picture, &sampler, places.cast().unwrap(), out.cast().unwrap()),
            )
            .unwrap();
    }
    assert!(queue.read(&out).unwrap().iter().all(|[red, ..]| *red == 1.0));
}
