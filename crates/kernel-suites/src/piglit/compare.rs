//! Compares what a kernel left behind with what piglit expects of it, in piglit's way.
//!
//! Piglit's arithmetic has holes: where NaN or infinity is expected, every number passes. They stay,
//! so that a verdict is piglit's.

use oclave_image::Scalar;

use super::values::Element;

/// Compares bytes with expected elements. `tolerance` counts steps of an integer, or ulps.
///
/// # Errors
/// The first component that differs by more.
pub(crate) fn compare(element: Element, got: &[u8], expected: &[u8], tolerance: u64) -> Result<(), String> {
    if got.len() < expected.len() {
        return Err(format!("{} bytes instead of {}", got.len(), expected.len()));
    }
    let (stride, size) = (element.stride_bytes(), element.scalar_bytes());
    for (at, (got, expected)) in got.chunks_exact(stride).zip(expected.chunks_exact(stride)).enumerate() {
        let lanes = got.chunks_exact(size).zip(expected.chunks_exact(size)).take(element.lanes);
        for (lane, (got, expected)) in lanes.enumerate() {
            let (got, expected) = (bits_of(got), bits_of(expected));
            if !is_close(element.scalar, got, expected, tolerance) {
                let at = at * element.lanes + lane;
                let [got, expected] = [got, expected].map(|bits| shown(element.scalar, bits));
                return Err(format!("[{at}] is {got}, not {expected} with tolerance {tolerance}"));
            }
        }
    }
    Ok(())
}

fn bits_of(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    for (to, from) in all.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(all)
}

fn low_half(bits: u64) -> u32 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn is_close(scalar: Scalar, got: u64, expected: u64, tolerance: u64) -> bool {
    match scalar {
        Scalar::F16 => {
            // The lowest 13 bits of a half as a float are zero.
            let ulps = low_half(tolerance).wrapping_mul(1 << 13);
            is_float_close(half_as_float(got), half_as_float(expected), ulps)
        }
        Scalar::F32 => is_float_close(
            f32::from_bits(low_half(got)),
            f32::from_bits(low_half(expected)),
            low_half(tolerance),
        ),
        Scalar::F64 => is_double_close(f64::from_bits(got), f64::from_bits(expected), tolerance),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => got.abs_diff(expected) <= tolerance,
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
            sign_extended(scalar, got).abs_diff(sign_extended(scalar, expected)) <= tolerance
        }
    }
}

fn sign_extended(scalar: Scalar, bits: u64) -> i64 {
    let shift = 64 - 8 * scalar.size_bytes();
    (bits << shift).cast_signed() >> shift
}

/// A half as piglit reads it: subnormal ones become subnormal floats, of another value.
fn half_as_float(bits: u64) -> f32 {
    let bits = low_half(bits);
    let exponent = match bits >> 10 & 0x1f {
        0 => 0,
        0x1f => 0xff,
        exponent => exponent + 112,
    };
    f32::from_bits((bits >> 15 & 1) << 31 | exponent << 23 | (bits & 0x3ff) << 13)
}

/// From here on, a tolerance in ulps of floats means any value.
const ANY_FLOAT: u32 = 1 << 24;
/// The same for doubles.
const ANY_DOUBLE: u64 = 1 << 53;

// One ulp is the distance to the next number away from zero. It is not a number next to infinity
// and NaN, and no difference is greater then.

fn is_float_close(got: f32, expected: f32, ulps: u32) -> bool {
    if got.is_nan() && expected.is_nan() || got.is_infinite() && got == expected || ulps >= ANY_FLOAT {
        return true;
    }
    let magnitude = expected.abs();
    let ulp = magnitude.next_up() - magnitude;
    let tolerance = ulps as f32 * ulp;
    let is_far = (got - expected).abs() > tolerance;
    !is_far && !got.is_nan()
}

fn is_double_close(got: f64, expected: f64, ulps: u64) -> bool {
    if got.is_nan() && expected.is_nan() || got.is_infinite() && got == expected || ulps >= ANY_DOUBLE {
        return true;
    }
    let magnitude = expected.abs();
    let ulp = magnitude.next_up() - magnitude;
    let tolerance = ulps as f64 * ulp;
    let is_far = (got - expected).abs() > tolerance;
    !is_far && !got.is_nan()
}

fn shown(scalar: Scalar, bits: u64) -> String {
    match scalar {
        Scalar::F16 => format!("{:e} (half {bits:#06x})", half_as_float(bits)),
        Scalar::F32 => format!("{:e} ({bits:#010x})", f32::from_bits(low_half(bits))),
        Scalar::F64 => format!("{:e} ({bits:#018x})", f64::from_bits(bits)),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => format!("{bits} ({bits:#x})"),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
            format!("{} ({bits:#x})", sign_extended(scalar, bits))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(name: &str, got: &[&str], expected: &[&str], tolerance: u64) -> bool {
        let element = Element::named(name).unwrap();
        let length = expected.len() / element.lanes;
        let [got, expected] = [got, expected].map(|words| element.bytes_of(words, length).unwrap());
        compare(element, &got, &expected, tolerance).is_ok()
    }

    #[test]
    fn integers_differ_by_their_tolerance() {
        assert!(is_same("char", &["-128"], &["-127"], 1));
        assert!(!is_same("char", &["-128"], &["127"], 254));
        assert!(!is_same("long", &["-9223372036854775808"], &["9223372036854775807"], 5));
        assert!(is_same("ulong", &["0"], &["5"], 5));
        assert!(!is_same("uint", &["0"], &["4294967295"], 1));
    }

    #[test]
    fn ulps_are_counted_away_from_zero() {
        assert!(is_same("float", &["0x1.000002p0"], &["1.0"], 1));
        assert!(!is_same("float", &["0x1.000004p0"], &["1.0"], 1));
        assert!(is_same("float", &["-0x1.000002p0"], &["-1.0"], 1));
        assert!(is_same("float", &["-0.0"], &["0.0"], 0));
        assert!(is_same("float", &["7"], &["1.0"], 1 << 24));
        assert!(!is_same("double", &["7"], &["1.0"], 1 << 24));
        assert!(is_same("half", &["0x1.004p0"], &["1.0"], 1));
        assert!(!is_same("half", &["0x1.008p0"], &["1.0"], 1));
    }

    #[test]
    fn what_is_no_number_is_compared_as_piglit_does() {
        assert!(is_same("float", &["nan"], &["nan"], 0));
        assert!(!is_same("float", &["nan"], &["1.0"], 4));
        assert!(is_same("float", &["1.0"], &["nan"], 0));
        assert!(is_same("double", &["-inf"], &["-inf"], 0));
        assert!(is_same("double", &["1.0"], &["inf"], 0));
        assert!(!is_same("double", &["nan"], &["inf"], 0));
        assert!(!is_same("double", &["inf"], &["1.0"], 9));
    }

    #[test]
    fn padding_counts_for_nothing() {
        let element = Element::named("uchar3").unwrap();
        assert_eq!(compare(element, &[1, 2, 3, 9, 7], &[1, 2, 3, 0], 0), Ok(()));
        let error = compare(element, &[1, 2, 4, 0], &[1, 2, 3, 0], 0).unwrap_err();
        assert!(error.starts_with("[2] is 4 (0x4), not 3"), "{error}");
        assert!(compare(element, &[1], &[1, 2, 3, 0], 0).is_err());
    }
}
