//! The pipeline in plain Rust: what the device must compute, byte for byte.

use super::settings::Settings;

/// Every picture and number that the pipeline makes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outputs {
    pub(crate) luminance: Vec<u8>,
    pub(crate) toned: Vec<u8>,
    pub(crate) blurred: Vec<u8>,
    pub(crate) gradient: Vec<u8>,
    pub(crate) histogram: Vec<u32>,
    pub(crate) threshold: u8,
    pub(crate) mask: Vec<u8>,
    pub(crate) edge_count: u32,
}

/// Runs the pipeline over `rgb`, three bytes a pixel, row by row.
pub(crate) fn run(rgb: &[u8], width: usize, settings: &Settings) -> Outputs {
    let luminance: Vec<u8> = rgb.chunks_exact(3).map(|pixel| luma(pixel, settings)).collect();
    let toned: Vec<u8> = luminance.iter().map(|&value| tone(value, settings)).collect();
    let rows = blur(&toned, width, settings, (1, 0));
    let blurred = blur(&rows, width, settings, (0, 1));
    let gradient = sobel(&blurred, width, settings);
    let mut histogram = vec![0u32; 256];
    for &value in &gradient {
        histogram[usize::from(value)] += 1;
    }
    let threshold = settings.threshold(&histogram);
    let mask: Vec<u8> = gradient.iter().map(|&value| if value >= threshold { 255 } else { 0 }).collect();
    let edge_count = mask.iter().filter(|&&value| value != 0).count() as u32;
    Outputs { luminance, toned, blurred, gradient, histogram, threshold, mask, edge_count }
}

fn luma(pixel: &[u8], settings: &Settings) -> u8 {
    let sum: i32 =
        settings.luma_weights.iter().zip(pixel).map(|(&weight, &value)| weight * i32::from(value)).sum();
    ((sum + 128) / 256).clamp(0, 255) as u8
}

fn tone(value: u8, settings: &Settings) -> u8 {
    let value = settings.tones.iter().fold(i32::from(value), |value, tone| tone.apply(value));
    value.clamp(0, 255) as u8
}

fn blur(from: &[u8], width: usize, settings: &Settings, (dx, dy): (i32, i32)) -> Vec<u8> {
    let weights = settings.blur_weights();
    let radius = settings.blur_radius;
    by_pixel(from, width, |at, x, y| {
        let taps = (-radius..=radius).zip(weights);
        let sum: i32 = taps.map(|(tap, weight)| weight * at(x + tap * dx, y + tap * dy)).sum();
        (sum + 32768) / 65536
    })
}

fn sobel(from: &[u8], width: usize, settings: &Settings) -> Vec<u8> {
    by_pixel(from, width, |at, x, y| {
        let column = |dx| at(x + dx, y - 1) + 2 * at(x + dx, y) + at(x + dx, y + 1);
        let row = |dy| at(x - 1, y + dy) + 2 * at(x, y + dy) + at(x + 1, y + dy);
        let magnitude = (column(1) - column(-1)).abs() + (row(1) - row(-1)).abs();
        magnitude * settings.edge_strength / 256
    })
}

/// A picture of the same size, each pixel made by `pixel(at, x, y)`; `at` reads `from`, clamped to
/// its border.
fn by_pixel(from: &[u8], width: usize, pixel: impl Fn(&dyn Fn(i32, i32) -> i32, i32, i32) -> i32) -> Vec<u8> {
    let (width, height) = (width as i32, (from.len() / width) as i32);
    let at =
        |x: i32, y: i32| i32::from(from[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize]);
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    places.map(|(x, y)| pixel(&at, x, y).clamp(0, 255) as u8).collect()
}
