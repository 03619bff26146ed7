//! From and to the buffers of the crate `image`.

use std::fmt::Debug;

use image::{GrayImage, ImageBuffer, Luma, LumaA, Rgba32FImage, RgbaImage};
use oclave::images::{BufferFormat, BufferOf, D2, Image, R, Rg, Rgba, Unorm8, Unorm16};
use oclave::{ErrorKind, Queue};

use super::queue;

/// Copies a buffer to a device and back. A format that the device lacks must be an error that says
/// so.
fn there_and_back<F: BufferFormat>(queue: &Queue, buffer: &BufferOf<F>) -> bool
where
    F::BufferPixel: PartialEq + Debug,
    F::Subpixel: PartialEq + Debug,
{
    match Image::<F, D2>::from_buffer(queue, buffer) {
        Ok(image) => {
            assert_eq!(image.to_buffer(queue).unwrap(), *buffer);
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{error}");
            false
        }
    }
}

#[device_test(queue)]
fn buffers_of_every_format_arrive(queue: Queue) {
    let number = |x: u32, y: u32| x * 7 + y * 31;
    let byte = |x, y| number(x, y) as u8;
    let wide = |x, y| (number(x, y) as u16).wrapping_mul(251);
    let there = [
        there_and_back::<Rgba<Unorm8>>(
            &queue,
            &RgbaImage::from_fn(13, 5, |x, y| image::Rgba([byte(x, y), 1, 2, byte(y, x)])),
        ),
        there_and_back::<Rgba<f32>>(
            &queue,
            &Rgba32FImage::from_fn(3, 11, |x, y| image::Rgba([x as f32, y as f32, -0.5, 1e-30])),
        ),
        there_and_back::<Rgba<Unorm16>>(
            &queue,
            &ImageBuffer::from_fn(4, 4, |x, y| image::Rgba([wide(x, y), 1, wide(y, x), 65535])),
        ),
    ];
    // OpenCL requires these of all devices with images.
    assert_eq!(there, [true; 3]);
    there_and_back::<R<Unorm8>>(&queue, &GrayImage::from_fn(7, 9, |x, y| Luma([byte(x, y)])));
    there_and_back::<R<Unorm16>>(&queue, &ImageBuffer::from_fn(7, 9, |x, y| Luma([wide(x, y)])));
    there_and_back::<Rg<Unorm8>>(&queue, &ImageBuffer::from_fn(9, 2, |x, y| LumaA([byte(x, y), 3])));
    there_and_back::<Rg<Unorm16>>(&queue, &ImageBuffer::from_fn(9, 2, |x, y| LumaA([wide(x, y), 3])));
}

#[device_test(queue)]
fn containers_may_be_borrowed_and_larger_than_their_pixels(queue: Queue) {
    let samples: Vec<u8> = (0..100).collect();
    let buffer = ImageBuffer::<image::Rgba<u8>, &[u8]>::from_raw(4, 5, &samples[..]).unwrap();
    let image = Image::<Rgba<Unorm8>, D2>::from_buffer(&queue, &buffer).unwrap();
    assert_eq!(image.to_buffer(&queue).unwrap().as_raw()[..], samples[..80]);
    let other = RgbaImage::from_pixel(4, 5, image::Rgba([9, 8, 7, 6]));
    image.write_buffer(&queue, &other).unwrap();
    assert_eq!(image.to_buffer(&queue).unwrap(), other);
}

#[device_test(queue)]
fn sizes_that_do_not_fit_are_refused(queue: Queue) {
    let empty = RgbaImage::new(0, 3);
    let error = Image::<Rgba<Unorm8>, D2>::from_buffer(&queue, &empty).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let image = Image::<Rgba<Unorm8>, D2>::from_buffer(&queue, &RgbaImage::new(4, 5)).unwrap();
    let error = image.write_buffer(&queue, &RgbaImage::new(5, 4)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("5 x 4") && error.to_string().contains("4 x 5"), "{error}");
}
