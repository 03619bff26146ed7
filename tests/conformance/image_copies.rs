//! Copies and fills between images, USM, buffers and the host: IMG.

use half::f16;
use oclave::images::{
    Any, Bgra, D1, D1Array, D1Buffer, D2, D2Array, D3, Image, ImageKind, R, Rgba, Snorm8, Unorm8,
};
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, Context, ErrorKind, Queue};

use super::common::queues_and_eventless;
use super::images::{has_format, setting};

/// Every device has it.
type Numbers = Rgba<u32>;

fn pixel(i: u32) -> [u32; 4] {
    [i, !i, 7 * i, 5]
}

fn pixels<const N: usize>(numbers: [u32; N]) -> [[u32; 4]; N] {
    numbers.map(pixel)
}

fn counted(len: usize) -> Vec<[u32; 4]> {
    (0..len as u32).map(pixel).collect()
}

#[device_test(setting)]
fn img_009_host((context, _): (Context, Queue)) {
    for queue in queues_and_eventless(&context) {
        let image = context.alloc_image::<Numbers, D3>([3, 4, 5]).unwrap();
        queue.write(&image, &counted(60)).unwrap();
        let region = image.region([1, 2, 1], [2, 2, 3]).unwrap();
        let expected = [31, 32, 33, 36, 37, 38, 51, 52, 53, 56, 57, 58];
        assert_eq!(queue.read(&region).unwrap(), pixels(expected));
        queue.write(&region, &[pixel(100); 12]).unwrap();
        let mut all = queue.read(&image).unwrap();
        for index in expected {
            assert_eq!(std::mem::replace(&mut all[index as usize], pixel(index)), pixel(100));
        }
        assert_eq!(all, counted(60));
        let mut few = [[0; 4]; 12];
        queue.read_into(&region, &mut few).unwrap();
        assert_eq!(few, [pixel(100); 12]);
        assert_eq!(queue.read_async(&region).unwrap().wait().unwrap(), [pixel(100); 12]);
        let target = HostTarget::new(12).unwrap();
        queue.submit(Command::read(&region, &target)).unwrap().wait().unwrap();
        assert_eq!(target.to_vec().unwrap(), [pixel(100); 12]);
        queue.write_async(&region, vec![pixel(7); 12]).unwrap();
        assert_eq!(queue.read(&region).unwrap(), [pixel(7); 12]);
    }
}

#[device_test(setting)]
fn img_010_arrays_and_buffer_images((context, queue): (Context, Queue)) {
    let layers = context.alloc_image::<Numbers, D1Array>([3, 5]).unwrap();
    queue.write(&layers, &counted(15)).unwrap();
    assert_eq!(queue.read(&layers.region([1, 2], [2, 2]).unwrap()).unwrap(), pixels([7, 8, 12, 13]));
    let layers = context.alloc_image::<Numbers, D2Array>([2, 3, 4]).unwrap();
    queue.write(&layers, &counted(24)).unwrap();
    assert_eq!(queue.read(&layers.region([1, 1, 3], [1, 2, 1]).unwrap()).unwrap(), pixels([19, 23]));
    let row = context.alloc_image::<Numbers, D1>(9).unwrap();
    queue.write(&row, &counted(9)).unwrap();
    assert_eq!(queue.read(&row.region(3, 4).unwrap()).unwrap(), pixels([3, 4, 5, 6]));
    let row = context.alloc_image::<Numbers, D1Buffer>(9).unwrap();
    queue.write(&row, &counted(9)).unwrap();
    queue.fill(&row.region(0, 2).unwrap(), pixel(8)).unwrap();
    assert_eq!(queue.read(&row).unwrap(), pixels([8, 8, 2, 3, 4, 5, 6, 7, 8]));
}

#[device_test(setting)]
fn img_011_usm_and_buffers((context, _): (Context, Queue)) {
    for queue in queues_and_eventless(&context) {
        let image = context.alloc_image::<Numbers, D2>([4, 6]).unwrap();
        let all = counted(24);
        let (device, shared) = (context.alloc_device(24).unwrap(), context.alloc_shared(24).unwrap());
        let host = context.alloc_host(24).unwrap();
        queue.write(&device, &all).unwrap();
        queue.copy(&device, &image).unwrap();
        // USM has no place in the order but the queue's.
        let copied = queue.copy(&image, &shared).unwrap();
        queue.after(&copied).copy(&image, &host).unwrap().wait().unwrap();
        assert_eq!(queue.read(&shared).unwrap(), all);
        assert_eq!(queue.read(&host).unwrap(), all);
        // Rows of memory, which are not side by side.
        let inner = image.region([1, 2], [2, 3]).unwrap();
        let boxed = device.rect([4, 6]).unwrap().part([2, 1], [2, 3]).unwrap();
        let copied = queue.copy(&inner, &boxed).unwrap();
        assert_eq!(queue.after(&copied).read(&boxed).unwrap(), queue.read(&inner).unwrap());
        let copied = queue.after(&copied).copy(&boxed, &image.region([0, 0], [2, 3]).unwrap()).unwrap();
        let corner = queue.after(&copied).read(&image.region([0, 0], [2, 3]).unwrap()).unwrap();
        assert_eq!(corner, pixels([8, 9, 10, 14, 15, 16]));
        // Parts of buffers.
        let buffer = Buffer::<[u32; 4]>::new([4, 6]).unwrap();
        queue.copy(&image, &buffer.write()).unwrap();
        assert_eq!(queue.read(&buffer.read()).unwrap(), queue.read(&image).unwrap());
        let part = buffer.write().part([0, 0], [2, 3]).unwrap();
        queue.fill(&part, pixel(1)).unwrap();
        queue.copy(&buffer.read().part([0, 0], [2, 3]).unwrap(), &inner).unwrap();
        assert_eq!(queue.read(&inner).unwrap(), [pixel(1); 6]);
    }
}

#[device_test(setting)]
fn img_012_images((context, queue): (Context, Queue)) {
    let from = context.alloc_image::<Numbers, D2>([4, 6]).unwrap();
    let to = context.alloc_image::<Numbers, D2>([4, 6]).unwrap();
    queue.write(&from, &counted(24)).unwrap();
    queue.fill(&to, [0; 4]).unwrap();
    queue.copy(&from.region([1, 1], [2, 2]).unwrap(), &to.region([2, 4], [2, 2]).unwrap()).unwrap();
    let all = queue.read(&to).unwrap();
    assert_eq!([all[16], all[17], all[22], all[23]], pixels([7, 8, 13, 14]));
    assert_eq!(all.iter().filter(|value| **value != [0; 4]).count(), 4);
    // A slice of a volume, and pixels of other shapes.
    let volume = context.alloc_image::<Numbers, D3>([2, 4, 6]).unwrap();
    queue.fill(&volume, pixel(1)).unwrap();
    queue.copy(&from, &volume.region([1, 0, 0], [1, 4, 6]).unwrap()).unwrap();
    assert_eq!(queue.read(&volume).unwrap(), [vec![pixel(1); 24], counted(24)].concat());
    let row = context.alloc_image::<Numbers, D1>(24).unwrap();
    queue.copy(&from, &row).unwrap();
    assert_eq!(queue.read(&row).unwrap(), counted(24));
    // Within one image.
    queue.copy(&from.region([0, 0], [1, 6]).unwrap(), &from.region([3, 0], [1, 6]).unwrap()).unwrap();
    assert_eq!(queue.read(&from).unwrap()[18..], counted(6));
    let error = queue.copy(&from, &from.region([0, 0], [4, 6]).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
    // Bytes keep their values where formats differ.
    let colours = context.alloc_image::<Rgba<Unorm8>, D2>([1, 2]).unwrap();
    let numbers = context.alloc_image::<Rgba<u8>, D2>([1, 2]).unwrap();
    queue.write(&colours, &[[1, 2, 3, 4], [250, 251, 252, 253]]).unwrap();
    queue.copy(&colours, &numbers).unwrap();
    assert_eq!(queue.read(&numbers).unwrap(), [[1, 2, 3, 4], [250, 251, 252, 253]]);
}

#[device_test(setting)]
fn img_013_fills((context, queue): (Context, Queue)) {
    let image = context.alloc_image::<Rgba<Unorm8>, D2>([3, 3]).unwrap();
    for value in 0..=255 {
        let pixel = [value, 255 - value, value / 2, 7];
        queue.fill(&image, pixel).unwrap();
        assert_eq!(queue.read(&image).unwrap(), [pixel; 9]);
    }
    queue.fill(&image, [0; 4]).unwrap();
    queue.fill(&image.region([1, 1], [1, 2]).unwrap(), [9, 8, 7, 6]).unwrap();
    let all = queue.read(&image).unwrap();
    assert_eq!(all[4..6], [[9, 8, 7, 6]; 2]);
    assert_eq!(all.iter().filter(|pixel| **pixel != [0; 4]).count(), 2);
    queue.memset(&image, 0x81).unwrap();
    assert_eq!(queue.read(&image).unwrap(), [[0x81; 4]; 9]);
    let floats = context.alloc_image::<Rgba<f32>, D2>([2, 2]).unwrap();
    queue.fill(&floats, [1.5, -0.0, f32::INFINITY, 1e-30]).unwrap();
    assert_eq!(queue.read(&floats).unwrap(), [[1.5, -0.0, f32::INFINITY, 1e-30]; 4]);
    // A number that is none keeps its bits.
    let odd = f32::from_bits(0x7fc1_2345);
    queue.fill(&floats, [odd, 0.0, 0.0, 0.0]).unwrap();
    assert_eq!(queue.read(&floats).unwrap()[3][0].to_bits(), odd.to_bits());
    if has_format::<Bgra<Unorm8>>(&context, ImageKind::D2) {
        let image = context.alloc_image::<Bgra<Unorm8>, D2>([1, 2]).unwrap();
        queue.fill(&image, [1, 2, 3, 4]).unwrap();
        assert_eq!(queue.read(&image).unwrap(), [[1, 2, 3, 4]; 2]);
    }
    if has_format::<R<Snorm8>>(&context, ImageKind::D2) {
        let image = context.alloc_image::<R<Snorm8>, D2>([1, 2]).unwrap();
        for value in [-128, -127, -1, 0, 1, 127] {
            queue.fill(&image, value).unwrap();
            assert_eq!(queue.read(&image).unwrap(), [value; 2]);
        }
    }
    if has_format::<Rgba<f16>>(&context, ImageKind::D2) {
        let image = context.alloc_image::<Rgba<f16>, D2>([1, 2]).unwrap();
        let pixel = [0.5, -2.0, 65504.0, 0.0].map(f16::from_f32);
        queue.fill(&image, pixel).unwrap();
        assert_eq!(queue.read(&image).unwrap(), [pixel; 2]);
    }
}

#[device_test(setting)]
fn img_014_formats_at_run_time((context, queue): (Context, Queue)) {
    let formats = context.image_formats(ImageKind::D2).unwrap();
    assert!(!formats.is_empty());
    for support in formats.iter().filter(|support| support.read && support.write) {
        if support.format.order == oclave::images::ChannelOrder::Depth {
            continue;
        }
        let image: Image<Any, D2> = context.alloc_image_of(support.format, [2, 3]).unwrap();
        assert_eq!(image.format(), support.format);
        let bytes: Vec<u8> = (0..6 * support.format.pixel_bytes() as u32).map(|i| (i % 60) as u8).collect();
        queue.write(&image, &bytes).unwrap();
        assert_eq!(queue.read(&image).unwrap(), bytes, "{}", support.format);
    }
    let image: Image<Any, D2> = context.alloc_image::<Rgba<f32>, D2>([1, 1]).unwrap().into_any();
    let error = image.clone().typed::<Rgba<Unorm8>>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let typed = image.typed::<Rgba<f32>>().unwrap();
    queue.fill(&typed, [1.0; 4]).unwrap();
    assert_eq!(queue.read(&typed).unwrap(), [[1.0; 4]]);
}

#[device_test(setting)]
fn img_012_no_pixels((context, queue): (Context, Queue)) {
    let image = context.alloc_image::<Numbers, D2>([2, 2]).unwrap();
    queue.fill(&image, pixel(5)).unwrap();
    let nothing = image.region([1, 1], [0, 1]).unwrap();
    queue.fill(&nothing, pixel(6)).unwrap();
    queue.write(&nothing, &[]).unwrap();
    assert!(queue.read(&nothing).unwrap().is_empty());
    let memory = context.alloc_device::<[u32; 4]>(0).unwrap();
    queue.copy(&nothing, &memory).unwrap();
    queue.copy(&memory, &nothing).unwrap();
    queue.copy(&nothing, &image.region([0, 0], [1, 0]).unwrap()).unwrap();
    assert_eq!(queue.read(&image).unwrap(), [pixel(5); 4]);
}
