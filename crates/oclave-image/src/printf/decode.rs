//! From a record to text.

use super::convert::{Conversion, Piece};
use super::{PrintArgument, PrintSite};

/// The text of a `printf`, from the words of its arguments. Missing words count as zero, and
/// conversions without argument stand for nothing.
pub fn decode(site: &PrintSite, words: &[u32]) -> Vec<u8> {
    let mut text = Vec::new();
    let (mut arguments, mut words) = (site.arguments.iter(), words);
    for piece in Piece::all(&site.format) {
        match piece {
            Piece::Text(piece) => text.extend_from_slice(piece),
            Piece::Conversion(conversion) => {
                let Some(argument) = arguments.next() else { continue };
                let (own, rest) = words.split_at(argument.words().min(words.len()));
                words = rest;
                text.extend(converted(&conversion, argument, own));
            }
        }
    }
    text
}

fn converted(conversion: &Conversion, argument: &PrintArgument, words: &[u32]) -> Vec<u8> {
    let lanes = |lanes: u32| conversion.lanes.unwrap_or(1).clamp(1, lanes.max(1) as usize);
    let joined = |count: u32, width: u32, one: &dyn Fn(u64) -> Vec<u8>| {
        (0..lanes(count)).map(|lane| one(bits(words, lane, width))).collect::<Vec<_>>().join(&b',')
    };
    match argument {
        PrintArgument::Text(text) => conversion.text(text),
        PrintArgument::Pointer if conversion.letter == b'p' => conversion.pointer(bits(words, 0, 64)),
        PrintArgument::Pointer => conversion.integer(bits(words, 0, 64), 64),
        PrintArgument::Integer { width, lanes } => {
            joined(*lanes, *width, &|bits| conversion.integer(bits, *width))
        }
        PrintArgument::Float { width, lanes } => {
            joined(*lanes, *width, &|bits| conversion.float(float(bits, *width)))
        }
    }
}

/// The bits of a lane.
fn bits(words: &[u32], lane: usize, width: u32) -> u64 {
    let word = |at: usize| u64::from(words.get(at).copied().unwrap_or(0));
    if width > 32 { word(2 * lane) | word(2 * lane + 1) << 32 } else { word(lane) }
}

fn float(bits: u64, width: u32) -> f64 {
    match width {
        64 => f64::from_bits(bits),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => half(bits as u16),
    }
}

/// The value of a number of 16 bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let value = match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    };
    value.copysign(if bits >> 15 == 0 { 1.0 } else { -1.0 })
}
