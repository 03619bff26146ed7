//! Compares what a kernel left behind on two paths.

use oclave_image::Scalar;

use super::layout::Layout;

/// How two results relate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Comparison {
    /// Bit by bit the same. Two values that are not a number count as the same.
    Equal,
    /// Only floating-point numbers differ, and by little.
    Close {
        /// The largest difference in numbers between the two, of any width.
        ulps: u64,
        /// The largest difference, relative to the largest finite magnitude in its buffer.
        relative: f64,
    },
    /// Anything else.
    Different(String),
}

/// Differences up to this, relative to the number, may come from rounding alone.
fn rounding(scalar: Scalar) -> f64 {
    2_f64.powi(match scalar {
        Scalar::F16 => -8,
        Scalar::F32 => -12,
        _ => -30,
    })
}

/// By how much smaller the difference must be, relative to the largest finite magnitude in the
/// buffer. Sums of numbers of that magnitude may cancel.
const CANCELLATION: f64 = 1.0 / 16.0;

/// Compares all buffers. A layout says what a buffer's elements are; without one, it is compared by
/// bits.
pub(crate) fn compare(layouts: &[Option<Layout>], one: &[Vec<u8>], other: &[Vec<u8>]) -> Comparison {
    if one.len() != other.len() || one.len() != layouts.len() {
        return Comparison::Different(format!("{} and {} buffers", one.len(), other.len()));
    }
    let mut worst: Option<(u64, f64)> = None;
    for (at, ((layout, one), other)) in layouts.iter().zip(one).zip(other).enumerate() {
        if one == other {
            continue;
        }
        if one.len() != other.len() {
            return Comparison::Different(format!("memory {at} has {} and {} bytes", one.len(), other.len()));
        }
        let Some(layout) = layout else {
            let byte = one.iter().zip(other).position(|(one, other)| one != other).unwrap_or(0);
            return Comparison::Different(format!("memory {at} differs from byte {byte} on"));
        };
        match compare_buffer(layout, one, other) {
            Ok((0, _)) => {}
            Ok((ulps, relative)) => {
                let (most, greatest) = worst.unwrap_or_default();
                worst = Some((most.max(ulps), greatest.max(relative)));
            }
            Err(text) => return Comparison::Different(format!("memory {at}{text}")),
        }
    }
    worst.map_or(Comparison::Equal, |(ulps, relative)| Comparison::Close { ulps, relative })
}

/// The largest differences in ulps, and relative to the largest magnitude; or the first scalar that
/// differs too much.
fn compare_buffer(layout: &Layout, one: &[u8], other: &[u8]) -> Result<(u64, f64), String> {
    let largest = [one, other].into_iter().flat_map(|bytes| scalars(layout, bytes));
    let largest = largest.filter_map(|(_, scalar, bits)| float(scalar, bits)).map(f64::abs);
    let largest = largest.filter(|magnitude| magnitude.is_finite()).fold(0.0, f64::max);
    let (mut ulps, mut relative) = (0, 0.0);
    let mut first: Option<String> = None;
    let mut count = 0_usize;
    let pairs = scalars(layout, one).zip(scalars(layout, other));
    for ((offset, scalar, one), (_, _, other)) in pairs.filter(|((_, _, one), (_, _, other))| one != other) {
        let is_close = match (float(scalar, one), float(scalar, other)) {
            (Some(one), Some(other)) if one.is_nan() && other.is_nan() => continue,
            (Some(value), Some(other_value)) => {
                let difference = (value - other_value).abs();
                let magnitude = value.abs().max(other_value.abs());
                let allowed = rounding(scalar) * magnitude.max(largest * CANCELLATION);
                let is_close = difference.is_finite() && difference <= allowed;
                if is_close {
                    ulps = ulps.max(ordered(scalar, one).abs_diff(ordered(scalar, other)));
                    relative = f64::max(relative, if largest > 0.0 { difference / largest } else { 0.0 });
                }
                is_close
            }
            _ => false,
        };
        if !is_close {
            count += 1;
            first.get_or_insert_with(|| {
                let [one, other] = [one, other].map(|bits| shown(scalar, bits));
                format!(" at byte {offset}: {one} and {other} ({})", scalar.opencl_name())
            });
        }
    }
    match first {
        Some(first) => Err(format!("{first}, and {} more", count - 1)),
        None => Ok((ulps, relative)),
    }
}

/// All scalars of a buffer: offset, type and bits.
fn scalars<'a>(layout: &'a Layout, bytes: &'a [u8]) -> impl Iterator<Item = (usize, Scalar, u64)> + 'a {
    bytes.chunks_exact(layout.stride).enumerate().flat_map(move |(at, element)| {
        layout.leaves.iter().map(move |leaf| {
            let mut bits = [0; 8];
            let from = element.iter().skip(leaf.offset).take(leaf.scalar.size_bytes() as usize);
            bits.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            (at * layout.stride + leaf.offset, leaf.scalar, u64::from_le_bytes(bits))
        })
    })
}

fn float(scalar: Scalar, bits: u64) -> Option<f64> {
    let low = || u32::try_from(bits & 0xFFFF_FFFF).unwrap_or(0);
    match scalar {
        Scalar::F16 => Some(half(low())),
        Scalar::F32 => Some(f64::from(f32::from_bits(low()))),
        Scalar::F64 => Some(f64::from_bits(bits)),
        _ => None,
    }
}

fn half(bits: u32) -> f64 {
    let (exponent, mantissa) = (bits >> 10 & 0x1f, f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => mantissa * 2_f64.powi(-24),
        0x1f if bits & 0x3ff == 0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + mantissa) * 2_f64.powi(i32::try_from(exponent).unwrap_or(0) - 25),
    };
    if bits >> 15 & 1 == 1 { -magnitude } else { magnitude }
}

/// The place of a float among all floats of its type.
fn ordered(scalar: Scalar, bits: u64) -> i64 {
    let sign = 1_u64 << (8 * scalar.size_bytes() - 1);
    let magnitude = (bits & (sign - 1)).cast_signed();
    if bits & sign == 0 { magnitude } else { -magnitude }
}

fn shown(scalar: Scalar, bits: u64) -> String {
    match float(scalar, bits) {
        Some(value) => format!("{value:e} ({bits:#x})"),
        None => format!("{bits:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oclave_image::ValueType;

    fn of(scalar: Scalar, one: &[u8], other: &[u8]) -> Comparison {
        let layout = Layout::of(&ValueType::Scalar(scalar), "p").unwrap();
        compare(&[Some(layout)], &[one.to_vec()], &[other.to_vec()])
    }

    fn floats(one: &[f32], other: &[f32]) -> Comparison {
        of(Scalar::F32, bytemuck::cast_slice(one), bytemuck::cast_slice(other))
    }

    #[test]
    fn integers_are_equal_or_not() {
        assert_eq!(of(Scalar::I32, &[1, 0, 0, 0], &[1, 0, 0, 0]), Comparison::Equal);
        let different = of(Scalar::I16, &[1, 0, 5, 0], &[1, 0, 4, 0]);
        let text = "memory 0 at byte 2: 0x5 and 0x4 (short), and 0 more".to_owned();
        assert_eq!(different, Comparison::Different(text));
    }

    #[test]
    fn floats_may_be_close() {
        let next = f32::from_bits(1.0_f32.to_bits() + 1);
        assert!(matches!(floats(&[1.0], &[next]), Comparison::Close { ulps: 1, .. }));
        assert!(matches!(floats(&[1.0], &[1.1]), Comparison::Different(_)));
        // A sum that cancels to almost nothing.
        assert!(matches!(floats(&[100.0, 1e-5], &[100.0, -1e-5]), Comparison::Close { .. }));
        assert!(matches!(floats(&[f32::INFINITY], &[1.0]), Comparison::Different(_)));
        assert!(matches!(floats(&[f32::NAN], &[1.0]), Comparison::Different(_)));
        assert_eq!(floats(&[f32::NAN], &[-f32::NAN]), Comparison::Equal);
        assert_eq!(floats(&[0.0], &[-0.0]), Comparison::Equal);
        assert!(matches!(of(Scalar::F16, &[0, 0x3c], &[1, 0x3c]), Comparison::Close { ulps: 1, .. }));
        assert!(matches!(of(Scalar::F16, &[0, 0x3c], &[0, 0x3d]), Comparison::Different(_)));
    }

    #[test]
    fn what_has_no_layout_is_compared_by_bits() {
        assert_eq!(compare(&[None], &[vec![1]], &[vec![1]]), Comparison::Equal);
        assert!(matches!(compare(&[None], &[vec![1]], &[vec![2]]), Comparison::Different(_)));
        assert!(matches!(compare(&[None], &[vec![1]], &[]), Comparison::Different(_)));
    }
}
