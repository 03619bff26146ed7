//! Numbers as piglit's tests write them, and their bytes in memory.

use oclave_image::Scalar;

/// More bytes than any argument of a test has. Larger ones are errors, not allocations.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// The type of an argument, or of a buffer's or image's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    /// The type of its components.
    pub(crate) scalar: Scalar,
    /// How many components it has; 1, 2, 3, 4, 8 or 16.
    pub(crate) lanes: usize,
}

impl Element {
    /// The type that OpenCL C calls `name`: `uchar`, `float3`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        let (scalar, lanes) = name.split_at(digits);
        let lanes = if lanes.is_empty() {
            1
        } else {
            *[2, 3, 4, 8, 16].iter().find(|count| count.to_string() == lanes)?
        };
        let scalar = Scalar::ALL.into_iter().find(|known| known.opencl_name() == scalar)?;
        Some(Self { scalar, lanes })
    }

    /// The size of a component.
    pub(crate) fn scalar_bytes(self) -> usize {
        self.scalar.size_bytes() as usize
    }

    /// How far elements are apart. A vector of three takes the room of four.
    pub(crate) fn stride_bytes(self) -> usize {
        self.scalar_bytes() * if self.lanes == 3 { 4 } else { self.lanes }
    }

    /// The size of `length` elements, unless it is absurd.
    pub(crate) fn total_bytes(self, length: usize) -> Option<usize> {
        length.checked_mul(self.stride_bytes()).filter(|bytes| *bytes <= MAX_BYTES)
    }

    /// Writes `length` elements, and begins again with the first word after the last one.
    ///
    /// # Errors
    /// A word that is no number of this type, no words at all, or too many elements.
    pub(crate) fn bytes_of(self, words: &[&str], length: usize) -> Result<Vec<u8>, String> {
        if words.is_empty() {
            return Err("no values".to_owned());
        }
        let total = self.total_bytes(length).ok_or_else(|| format!("{length} elements are too many"))?;
        let mut bytes = vec![0; total];
        let mut words = words.iter().cycle();
        for element in bytes.chunks_exact_mut(self.stride_bytes()) {
            for lane in element.chunks_exact_mut(self.scalar_bytes()).take(self.lanes) {
                if let Some(word) = words.next() {
                    put(self.scalar, word, lane)?;
                }
            }
        }
        Ok(bytes)
    }
}

fn put(scalar: Scalar, word: &str, out: &mut [u8]) -> Result<(), String> {
    let bits = match scalar {
        Scalar::F16 => u64::from(half_bits(float(word)?)),
        #[allow(clippy::cast_possible_truncation, reason = "piglit converts the double, too")]
        Scalar::F32 => u64::from((float(word)? as f32).to_bits()),
        Scalar::F64 => float(word)?.to_bits(),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => unsigned(word)?,
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => signed(word)?.cast_unsigned(),
    };
    for (to, from) in out.iter_mut().zip(bits.to_le_bytes()) {
        *to = from;
    }
    Ok(())
}

/// An unsigned number, decimal, hexadecimal or octal by its prefix.
///
/// # Errors
/// Anything else.
pub(crate) fn unsigned(word: &str) -> Result<u64, String> {
    magnitude(word.strip_prefix('+').unwrap_or(word))
        .ok_or_else(|| format!("`{word}` is not an unsigned number"))
}

/// A number with or without a sign. Without a minus, it may be as large as an unsigned one.
///
/// # Errors
/// Anything else.
pub(crate) fn signed(word: &str) -> Result<i64, String> {
    if let Ok(value) = unsigned(word) {
        return Ok(value.cast_signed());
    }
    let magnitude = word.strip_prefix('-').and_then(magnitude);
    let magnitude = magnitude.ok_or_else(|| format!("`{word}` is not a number"))?;
    Ok(0_i64.checked_sub_unsigned(magnitude).unwrap_or(i64::MIN))
}

/// Like C's `strtoull` with the base 0: too large numbers become the largest one, and an octal
/// number ends before the first digit that is not octal.
fn magnitude(digits: &str) -> Option<u64> {
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = match hexadecimal {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let is_octal = radix == 10 && digits.starts_with('0');
    let radix = if is_octal { 8 } else { radix };
    let mut values = digits.chars().map_while(|c| c.to_digit(radix)).map(u64::from);
    let sum = values
        .try_fold(0_u64, |sum, digit| sum.checked_mul(radix.into()).and_then(|sum| sum.checked_add(digit)));
    Some(sum.unwrap_or(u64::MAX))
}

/// A floating-point number: decimal, hexadecimal, `nan` or `inf`, with or without a sign.
///
/// # Errors
/// Anything else.
pub(crate) fn float(word: &str) -> Result<f64, String> {
    let (is_negative, body) = match word.as_bytes().first() {
        Some(b'-') => (true, &word[1..]),
        Some(b'+') => (false, &word[1..]),
        _ => (false, word),
    };
    let magnitude = match body {
        "nan" | "NAN" | "NaN" => Some(f64::NAN),
        "inf" | "INF" | "Inf" | "infinity" | "INFINITY" | "Infinity" => Some(f64::INFINITY),
        _ => match body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
            Some(digits) => hexadecimal_float(digits),
            None => decimal_float(body),
        },
    };
    let magnitude = magnitude.ok_or_else(|| format!("`{word}` is not a floating-point number"))?;
    Ok(if is_negative { -magnitude } else { magnitude })
}

/// A number that begins with a digit, as piglit demands.
fn decimal_float(body: &str) -> Option<f64> {
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '+' | '-');
    let begins_well = body.starts_with(|c: char| c.is_ascii_digit());
    if begins_well && body.chars().all(is_plain) { body.parse().ok() } else { None }
}

/// Hexadecimal digits with an optional point, and an optional exponent of 2 behind `p`.
fn hexadecimal_float(body: &str) -> Option<f64> {
    let (mantissa, exponent) = body.split_once(['p', 'P']).unwrap_or((body, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut exponent: i64 = i64::from(exponent.parse::<i32>().ok()?);
    let mut value = 0_u128;
    for (at, c) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u128::from(c.to_digit(16)?);
        let is_fraction = at >= whole.len();
        if value >> 120 == 0 {
            value = value << 4 | digit;
            exponent -= if is_fraction { 4 } else { 0 };
        } else {
            // The lowest bit stands for all that follows, so that rounding sees it.
            value |= u128::from(digit != 0);
            exponent += if is_fraction { 0 } else { 4 };
        }
    }
    let mut result = value as f64;
    // At most one of these steps rounds.
    for step in [1000, 1000, 1000] {
        let scale = exponent.clamp(-step, step);
        result *= 2_f64.powi(i32::try_from(scale).unwrap_or(0));
        exponent -= scale;
    }
    Some(result)
}

/// The bits of a half, as piglit makes them: excess bits of the mantissa are dropped.
fn half_bits(value: f64) -> u16 {
    let bits = value.to_bits();
    let exponent = bits >> 52 & 0x7ff;
    let exponent = match exponent {
        0 | 0x7ff => exponent & 0x3ff,
        _ => exponent.wrapping_sub(1008),
    };
    let [low, high, ..] = (bits >> 63 << 15 | exponent << 10 | bits >> 42 & 0x3ff).to_le_bytes();
    u16::from_le_bytes([low, high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_c() {
        assert_eq!(unsigned("017"), Ok(15));
        assert_eq!(unsigned("08"), Ok(0));
        assert_eq!(unsigned("+0xfF"), Ok(255));
        assert_eq!(unsigned("99999999999999999999"), Ok(u64::MAX));
        assert_eq!(signed("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(signed("-99999999999999999999"), Ok(i64::MIN));
        assert_eq!(signed("18446744073709551615"), Ok(-1));
        for bad in ["", "-", "0x", "1.0", "f", "--1", "0x-1"] {
            assert!(signed(bad).is_err(), "{bad}");
        }
        assert!(unsigned("-1").is_err());
    }

    #[test]
    fn floats_have_many_forms() {
        assert_eq!(float("1.5"), Ok(1.5));
        assert_eq!(float("-2e-3"), Ok(-0.002));
        assert_eq!(float("0x1.8p+1"), Ok(3.0));
        assert_eq!(float("-0X.8p0"), Ok(-0.5));
        assert_eq!(float("0x1p-1074"), Ok(5e-324));
        assert_eq!(float("0x1p-2000"), Ok(0.0));
        assert_eq!(float("0x1p2000000000"), Ok(f64::INFINITY));
        assert_eq!(float("0x1000000000000000000000000000000000000001"), Ok(2_f64.powi(156)));
        assert_eq!(float("-inf"), Ok(f64::NEG_INFINITY));
        assert!(float("+nan").is_ok_and(f64::is_nan));
        for bad in ["", "-", ".5", "1.0f", "0x", "0xp1", "infinite", "1e", "ä"] {
            assert!(float(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn halves_are_cut_off() {
        assert_eq!(half_bits(1.0), 0x3c00);
        assert_eq!(half_bits(-2.0), 0xc000);
        // Piglit's infinity overflows into the sign.
        assert_eq!(half_bits(f64::INFINITY), 0xfc00);
        assert_eq!(half_bits(0.0), 0);
        assert_eq!(half_bits(1.0 + 1.0 / 1024.0 + 1.0 / 2048.0), 0x3c01);
    }

    #[test]
    fn vectors_of_three_take_the_room_of_four() {
        let element = Element::named("short3").unwrap();
        assert_eq!(element.stride_bytes(), 8);
        assert_eq!(
            element.bytes_of(&["1", "-1", "2", "3"], 2).unwrap(),
            [1, 0, 255, 255, 2, 0, 0, 0, 3, 0, 1, 0, 255, 255, 0, 0]
        );
        assert_eq!(Element::named("float16").map(|element| element.lanes), Some(16));
        for bad in ["float5", "float02", "bool", "", "3", "int 2"] {
            assert_eq!(Element::named(bad), None, "{bad}");
        }
        assert!(element.bytes_of(&["1"], usize::MAX).is_err());
        assert!(element.bytes_of(&[], 1).is_err());
    }
}
