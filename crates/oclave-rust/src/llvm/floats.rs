//! Floating-point numbers in LLVM's text form.
//!
//! | version | bits | infinities and NaNs |
//! |---|---|---|
//! | before 23 | `0xH3C00`, `0xR3F80`; `float` as the `double` of the same value: `0x3FF921FB60000000` | bits |
//! | from 23 on | of the type's own width: `f0x3FC90FDB` | `+inf`, `-qnan`, `+nan(0x1)`, `+snan(0x1)` |
//!
//! Both write decimals where six digits tell the number.

use super::tree::Type;

/// How numbers of a type are made of bits: those of the exponent, and those of the fraction behind it.
#[derive(Debug, Clone, Copy)]
struct Format {
    exponent: u32,
    fraction: u32,
}

impl Format {
    fn of(ty: &Type) -> Option<Self> {
        let (exponent, fraction) = match ty {
            Type::Half => (5, 10),
            Type::Float => (8, 23),
            Type::Double => (11, 52),
            Type::Other(name) if **name == *"bfloat" => (8, 7),
            _ => return None,
        };
        Some(Self { exponent, fraction })
    }

    /// A number without sign whose exponent has all bits.
    fn special(self, fraction: u64) -> u64 {
        mask(self.exponent) << self.fraction | fraction & mask(self.fraction)
    }

    /// A number of this format that has the value of a double. Payloads of NaNs keep their upper bits.
    fn of_double(self, bits: u64) -> u64 {
        let (sign, fraction) = (bits >> 63, bits & mask(52));
        let sign = sign << (self.exponent + self.fraction);
        let dropped = 52 - self.fraction;
        let exponent = (bits >> 52 & 0x7ff) as i64 - 1023 + mask(self.exponent - 1) as i64;
        let size = if bits >> 52 & 0x7ff == 0x7ff {
            self.special(fraction >> dropped)
        } else if exponent >= mask(self.exponent) as i64 {
            self.special(0)
        } else if exponent > 0 {
            (exponent as u64) << self.fraction | fraction >> dropped
        } else {
            // Below the smallest normal number. That of a double is 0 in all others.
            let below = u64::from(dropped) + exponent.unsigned_abs() + 1;
            (1 << 52 | fraction).checked_shr(below.try_into().unwrap_or(u32::MAX)).unwrap_or(0)
        };
        sign | size
    }
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The bits of a token in the format of its type.
pub(crate) fn bits(ty: &Type, text: &str) -> Option<u64> {
    let format = Format::of(ty)?;
    let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).ok();
    if let Some(digits) = text.strip_prefix("f0x") {
        return hexadecimal(digits)
            .filter(|bits| bits.checked_shr(1 + format.exponent + format.fraction).unwrap_or(0) == 0);
    }
    let special = text.strip_prefix('+').map(|name| (0, name));
    let special = special.or_else(|| text.strip_prefix('-').map(|name| (1_u64, name)));
    if let Some((sign, name)) = special
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
    {
        let payload = |prefix: &str| hexadecimal(name.strip_prefix(prefix)?.strip_suffix(')')?);
        let quiet = 1 << (format.fraction - 1);
        let fraction = match name {
            "inf" => 0,
            "qnan" => quiet,
            _ => payload("nan(0x").map(|payload| quiet | payload).or_else(|| payload("snan(0x"))?,
        };
        return Some(sign << (format.exponent + format.fraction) | format.special(fraction));
    }
    match (text.strip_prefix("0x"), ty) {
        (Some(digits), Type::Half) => hexadecimal(digits.strip_prefix('H')?),
        (Some(digits), Type::Other(_)) => hexadecimal(digits.strip_prefix('R')?),
        (Some(digits), Type::Double) => hexadecimal(digits),
        (Some(digits), _) => hexadecimal(digits).map(|bits| format.of_double(bits)),
        (None, Type::Double) => text.parse::<f64>().ok().map(f64::to_bits),
        // Which rounds once.
        (None, Type::Float) => text.parse::<f32>().ok().map(|value| value.to_bits().into()),
        (None, _) => text.parse::<f64>().ok().map(|value| format.of_double(value.to_bits())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> [Option<u64>; 4] {
        [Type::Half, Type::Other("bfloat".into()), Type::Float, Type::Double].map(|ty| bits(&ty, text))
    }

    #[test]
    fn numbers_of_llvm_23() {
        let inf = [0x7c00, 0x7f80, 0x7f80_0000, 0x7ff0_0000_0000_0000];
        let signs = [0x8000, 0x8000, 0x8000_0000, 1 << 63];
        let quiet = [0x200, 0x40, 0x40_0000, 1 << 51];
        for at in 0..4 {
            let is = |text: &str, wanted: u64| assert_eq!(all(text)[at], Some(wanted), "{text} {at}");
            is("+inf", inf[at]);
            is("-inf", inf[at] | signs[at]);
            is("+qnan", inf[at] | quiet[at]);
            is("-qnan", inf[at] | quiet[at] | signs[at]);
            is("+nan(0x1)", inf[at] | quiet[at] | 1);
            is("-snan(0x1)", inf[at] | signs[at] | 1);
        }
        assert_eq!(all("f0x3FC90FDB"), [None, None, Some(0x3fc9_0fdb), Some(0x3fc9_0fdb)]);
        assert_eq!(bits(&Type::Double, "f0x3FF921FB54442D18"), Some(0x3ff9_21fb_5444_2d18));
        assert_eq!(bits(&Type::Half, "f0x3555"), Some(0x3555));
        for wrong in ["f0x", "+infinity", "+nan(1)", "+snan(0x", "-nan", "0xK3", "1.0.0"] {
            assert_eq!(all(wrong), [None; 4], "{wrong}");
        }
    }

    #[test]
    fn numbers_of_older_versions() {
        assert_eq!(bits(&Type::Half, "0xH3C00"), Some(0x3c00));
        assert_eq!(bits(&Type::Other("bfloat".into()), "0xR3F80"), Some(0x3f80));
        for value in [0.1_f32, -7.25, f32::MAX, f32::MIN_POSITIVE, 1e-40, 1e-45, -0.0, f32::INFINITY] {
            let text = format!("0x{:016X}", f64::from(value).to_bits());
            assert_eq!(bits(&Type::Float, &text), Some(value.to_bits().into()), "{value}");
            assert_eq!(bits(&Type::Double, &text), Some(f64::from(value).to_bits()));
        }
        // A signalling NaN stays one.
        assert_eq!(bits(&Type::Float, "0x7FF0000020000000"), Some(0x7f80_0001));
    }

    #[test]
    fn decimals() {
        let one_and_a_half = [0x3e00, 0x3fc0, 0x3fc0_0000, 0x3ff8_0000_0000_0000];
        assert_eq!(all("1.500000e+00"), one_and_a_half.map(Some));
        assert_eq!(all("-0.000000e+00"), [0x8000, 0x8000, 0x8000_0000, 1 << 63].map(Some));
        // The smallest numbers of half, normal and not.
        assert_eq!(bits(&Type::Half, "6.10351562e-05"), Some(0x3ff));
        assert_eq!(bits(&Type::Half, "6.103515625e-05"), Some(0x400));
        assert_eq!(bits(&Type::Half, "5.9604644775390625e-08"), Some(1));
    }
}
