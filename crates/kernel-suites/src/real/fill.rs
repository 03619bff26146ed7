//! Values for arguments and buffers: the same each time, and small enough that kernels mostly stay
//! within their buffers.

use oclave_image::Scalar;

use super::layout::{Layout, Leaf};

/// The size of buffers for what kernels are to touch.
const BODY_BYTES: usize = 64 << 10;
/// How many elements there are at least, unless they are huge.
const BODY_ELEMENTS: usize = 2048;
/// The size of buffers of huge elements.
const LARGEST_BODY_BYTES: usize = 1 << 20;
/// How many bytes follow, for kernels that go on a little.
const GUARD_BYTES: usize = 16 << 10;
/// The size of buffers in constant memory, of which devices may have 64 KiB only.
pub(crate) const CONSTANT_BYTES: usize = 32 << 10;

/// The size of a buffer in global memory, by that of its elements.
pub(crate) fn global_bytes(stride: usize) -> usize {
    BODY_BYTES.max(stride.saturating_mul(BODY_ELEMENTS).min(LARGEST_BODY_BYTES)) + GUARD_BYTES
}

/// What a parameter gets that seems to be a width.
const WIDTH: u32 = 16;
/// As [`WIDTH`]. Another number shows what mixes them up.
const HEIGHT: u32 = 12;

/// The bytes of an argument that is a value.
pub(crate) fn value(layout: &Layout) -> Vec<u8> {
    let mut bytes = vec![0; layout.stride];
    for leaf in &layout.leaves {
        let number = if is_float(leaf.scalar) {
            Number::Float(0.5 + 0.25 * (leaf.lane % 8) as f64)
        } else {
            Number::Integer(scalar_integer(leaf))
        };
        put(leaf, number, &mut bytes);
    }
    bytes
}

/// The bytes of a buffer of about `size` bytes, and at least one element. Buffers of different
/// `seed`s differ.
pub(crate) fn buffer(layout: &Layout, size: usize, seed: u32) -> Vec<u8> {
    let length = (size / layout.stride).max(1);
    let mut bytes = vec![0; length * layout.stride];
    let mut state = seed.wrapping_mul(0x9E37_79B9).wrapping_add(1);
    for element in bytes.chunks_exact_mut(layout.stride) {
        for leaf in &layout.leaves {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            put(leaf, element_number(leaf, state), element);
        }
    }
    bytes
}

enum Number {
    Integer(u32),
    Float(f64),
}

fn is_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F16 | Scalar::F32 | Scalar::F64)
}

fn element_number(leaf: &Leaf, random: u32) -> Number {
    match leaf.scalar {
        // Often a pixel or a character.
        Scalar::U8 | Scalar::I8 => Number::Integer(random % 100),
        // Neither zero nor negative, and exact in a half.
        Scalar::F16 | Scalar::F32 | Scalar::F64 => Number::Float(f64::from(1 + random % 64) / 16.0),
        // Often an index into another buffer.
        _ => Number::Integer(random % 16),
    }
}

/// What an integer parameter seems to mean by its name, and a number that fits.
fn scalar_integer(leaf: &Leaf) -> u32 {
    let name = leaf.name.to_ascii_lowercase();
    let words: Vec<&str> = name.split('_').collect();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let is = |whole: &[&str]| words.iter().any(|word| whole.contains(word));
    let is_just = |whole: &[&str]| whole.contains(&name.as_str());
    if has(&["offset", "start", "begin", "first", "_lo", "shift"])
        || is(&["off", "lo"])
        || is_just(&["x", "y", "z"])
    {
        0
    } else if has(&["stride", "pitch"]) || is(&["lda", "ldb", "ldc", "ld", "step"]) {
        WIDTH
    } else if has(&["inc", "flag", "mode", "type"]) || is(&["is", "use", "do", "has", "dir"]) {
        1
    } else if has(&["radius", "half", "order", "level", "border", "margin", "log"]) || is(&["r"]) {
        2
    } else if has(&["iter", "loop", "pass", "channel"]) {
        3
    } else if has(&["width", "cols", "columns", "size"]) || is(&["w", "nx", "sx", "m"]) {
        // Components of a size: width, height, depth.
        [WIDTH, HEIGHT, 4, 1][leaf.lane % 4]
    } else if has(&["height", "rows"]) || is(&["h", "ny", "sy"]) {
        HEIGHT
    } else if has(&["depth", "dim"]) || is(&["d", "nz", "k"]) {
        4
    } else if has(&["count", "num", "len", "total", "elem", "max", "end"]) || is(&["n", "nb", "nr"]) {
        // Not all work-items of a launch, so that some have nothing to do.
        100
    } else {
        4
    }
}

fn put(leaf: &Leaf, number: Number, element: &mut [u8]) {
    let integer_bits = |value: u32| u64::from(value).to_le_bytes();
    let bits = match (leaf.scalar, number) {
        (Scalar::F64, Number::Float(value)) => value.to_le_bytes(),
        #[allow(clippy::cast_possible_truncation, reason = "the values are exact")]
        (Scalar::F32, Number::Float(value)) => u64::from((value as f32).to_bits()).to_le_bytes(),
        (_, Number::Float(value)) => u64::from(half_bits(value)).to_le_bytes(),
        (_, Number::Integer(value)) => integer_bits(value),
    };
    let to = element.iter_mut().skip(leaf.offset).take(leaf.scalar.size_bytes() as usize);
    to.zip(bits).for_each(|(to, from)| *to = from);
}

/// The bits of a positive half. Only normal numbers with few bits occur here.
fn half_bits(value: f64) -> u32 {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff).saturating_sub(1008);
    u32::try_from(exponent << 10 | bits >> 42 & 0x3ff).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oclave_image::ValueType;

    fn integer(name: &str) -> u32 {
        let bytes = value(&Layout::of(&ValueType::Scalar(Scalar::U32), name).unwrap());
        u32::from_le_bytes(bytes.try_into().unwrap())
    }

    #[test]
    fn integers_fit_their_names() {
        assert_eq!((integer("width"), integer("imageHeight"), integer("n_elements")), (16, 12, 100));
        assert_eq!((integer("src_offset"), integer("incx"), integer("x_inc"), integer("foo")), (0, 1, 1, 4));
        let size = value(&Layout::of(&ValueType::Vector(Scalar::U16, 4), "size").unwrap());
        assert_eq!(size, [16, 0, 12, 0, 4, 0, 1, 0]);
    }

    #[test]
    fn buffers_are_the_same_each_time() {
        let layout = Layout::of(&ValueType::Scalar(Scalar::I32), "p").unwrap();
        let bytes = buffer(&layout, 400, 1);
        assert_eq!((bytes.len(), &bytes), (400, &buffer(&layout, 400, 1)));
        assert_ne!(bytes, buffer(&layout, 400, 2));
        assert!(bytes.chunks_exact(4).all(|bytes| bytes[0] < 16 && bytes[1..] == [0, 0, 0]));
        let halves = Layout::of(&ValueType::Scalar(Scalar::F16), "p").unwrap();
        assert_eq!(value(&halves), 0x3800_u16.to_le_bytes());
        let large =
            Layout::of(&ValueType::Array(Box::new(ValueType::Scalar(Scalar::F64)), 100), "p").unwrap();
        assert_eq!(buffer(&large, 400, 1).len(), 800);
    }
}
