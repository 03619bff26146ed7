//! A photograph turned, scaled and sharpened, by images and samplers.

use image::RgbaImage;
use oclave::images::{Addressing, D2, Filter, Image, Rgba, Sampler, Unorm8};
use oclave::{Queue, UsmSlice};

use super::kernels::pictures::{convolve, resize, rotate_about_middle};
use super::{Outcome, Setting, both_ways};

type Picture = Image<Rgba<Unorm8>, D2>;
/// A pixel of the reference, from 0 to 1.
type Colour = [f32; 4];

/// In the program, which may run where the repository is not.
const PHOTOGRAPH: &[u8] = include_bytes!("../../filters/data/grace_hopper.png");
/// A sixth of a right angle.
const ANGLE: f32 = 0.2618;
/// Weights that sharpen; they add up to one.
const WEIGHTS: [f32; 9] = [0.0, -0.5, 0.0, -0.5, 3.0, -0.5, 0.0, -0.5, 0.0];
const RADIUS: i32 = 1;
/// How much a byte may differ from plain Rust: rounding, at each step.
const TOLERANCE: u8 = 2;

/// The pictures on the device.
struct Pictures {
    photograph: Picture,
    turned: Picture,
    small: Picture,
    sharp: Picture,
}

pub(crate) fn run(setting: &Setting) -> Outcome {
    let queue = &setting.queue;
    let context = queue.context();
    if context.device().capabilities().images.is_none() {
        println!("pictures   left out: the device has no images");
        return Ok(());
    }
    let photograph = image::load_from_memory(PHOTOGRAPH)?.to_rgba8();
    let (width, height) = photograph.dimensions();
    let (rows, columns) = (height as usize, width as usize);
    let pictures = Pictures {
        photograph: Image::from_buffer(queue, &photograph)?,
        turned: context.alloc_image([rows, columns])?,
        small: context.alloc_image([rows / 3, columns / 3])?,
        sharp: context.alloc_image([rows / 3, columns / 3])?,
    };
    let outside_is_black =
        Sampler::builder(context).filter(Filter::Linear).addressing(Addressing::Clamp).build()?;
    let scaling = Sampler::builder(context)
        .normalized()
        .filter(Filter::Linear)
        .addressing(Addressing::ClampToEdge)
        .build()?;
    let weights = queue.upload(&WEIGHTS)?;
    both_ways(
        queue,
        "pictures",
        |queue| process(queue, &pictures, [&outside_is_black, &scaling], &weights),
        |queue| check(queue, &pictures, &photograph),
    )?;
    if let Some(out) = &setting.out {
        std::fs::create_dir_all(out)?;
        for (name, picture) in
            [("turned", &pictures.turned), ("small", &pictures.small), ("sharp", &pictures.sharp)]
        {
            picture.to_buffer(queue)?.save(out.join(format!("{name}.png")))?;
        }
    }
    Ok(())
}

fn process(
    queue: &Queue,
    pictures: &Pictures,
    [outside_is_black, scaling]: [&Sampler; 2],
    weights: &UsmSlice<f32>,
) -> oclave::Result<()> {
    let Pictures { photograph, turned, small, sharp } = pictures;
    let (sine, cosine) = ANGLE.sin_cos();
    let call = rotate_about_middle(photograph, outside_is_black, turned, cosine, sine);
    queue.parallel_for(turned.shape().work_items(), call)?;
    queue.parallel_for(small.shape().work_items(), resize(turned, scaling, small))?;
    queue.parallel_for(sharp.shape().work_items(), convolve(small, sharp, weights, RADIUS))?;
    Ok(())
}

/// Compares each step with plain Rust, which starts from what the device made in the step before.
fn check(queue: &Queue, pictures: &Pictures, photograph: &RgbaImage) -> Outcome<String> {
    let turned = pictures.turned.to_buffer(queue)?;
    let small = pictures.small.to_buffer(queue)?;
    let sharp = pictures.sharp.to_buffer(queue)?;
    let (sine, cosine) = ANGLE.sin_cos();
    let middle = [photograph.width() as f32 / 2.0, photograph.height() as f32 / 2.0];
    compare("rotation", &turned, |x, y| {
        let (x, y) = (x as f32 + 0.5 - middle[0], y as f32 + 0.5 - middle[1]);
        let source = [cosine * x + sine * y + middle[0], cosine * y - sine * x + middle[1]];
        between(source, |x, y| pixel(photograph, x, y).unwrap_or_default())
    })?;
    let scale =
        [turned.width() as f32 / small.width() as f32, turned.height() as f32 / small.height() as f32];
    compare("scaling", &small, |x, y| {
        let source = [(x as f32 + 0.5) * scale[0], (y as f32 + 0.5) * scale[1]];
        between(source, |x, y| at_edge(&turned, x, y))
    })?;
    compare("convolution", &sharp, |x, y| {
        let mut sum = [0.0; 4];
        for (weight, place) in WEIGHTS.iter().zip(0..) {
            let near = at_edge(&small, x as i32 + place % 3 - RADIUS, y as i32 + place / 3 - RADIUS);
            sum.iter_mut().zip(near).for_each(|(sum, channel)| *sum += weight * channel);
        }
        [sum[0], sum[1], sum[2], 1.0]
    })?;
    let (width, height) = photograph.dimensions();
    Ok(format!("{width} x {height} pixels, three steps within {TOLERANCE} of 255"))
}

fn compare(step: &str, found: &RgbaImage, wanted: impl Fn(u32, u32) -> Colour) -> Outcome {
    for (x, y, pixel) in found.enumerate_pixels() {
        let wanted = wanted(x, y).map(|channel| (channel.clamp(0.0, 1.0) * 255.0).round() as u8);
        if pixel.0.iter().zip(wanted).any(|(found, wanted)| found.abs_diff(wanted) > TOLERANCE) {
            return Err(format!("{step}: pixel ({x}, {y}) is {:?}, not {wanted:?}", pixel.0).into());
        }
    }
    Ok(())
}

/// The mean of the four pixels around a place, weighted by how near they are. Pixels have their
/// places at their middles.
fn between([x, y]: [f32; 2], pixel: impl Fn(i32, i32) -> Colour) -> Colour {
    let (left, top) = ((x - 0.5).floor(), (y - 0.5).floor());
    let (right_part, lower_part) = (x - 0.5 - left, y - 0.5 - top);
    let (left, top) = (left as i32, top as i32);
    let corners = [
        (pixel(left, top), (1.0 - right_part) * (1.0 - lower_part)),
        (pixel(left + 1, top), right_part * (1.0 - lower_part)),
        (pixel(left, top + 1), (1.0 - right_part) * lower_part),
        (pixel(left + 1, top + 1), right_part * lower_part),
    ];
    std::array::from_fn(|channel| corners.iter().map(|(colour, weight)| colour[channel] * weight).sum())
}

fn pixel(picture: &RgbaImage, x: i32, y: i32) -> Option<Colour> {
    let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
    Some(picture.get_pixel_checked(x, y)?.0.map(|byte| f32::from(byte) / 255.0))
}

/// As [`pixel`], with the nearest pixel for places outside.
fn at_edge(picture: &RgbaImage, x: i32, y: i32) -> Colour {
    let inside = |at: i32, size: u32| at.clamp(0, size as i32 - 1);
    pixel(picture, inside(x, picture.width()), inside(y, picture.height())).unwrap_or_default()
}
