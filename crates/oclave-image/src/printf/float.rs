//! The conversions of floating-point numbers, without sign and field.

/// The number, which has no sign, as the conversion `letter` writes it, in small letters.
pub(super) fn digits(value: f64, letter: u8, precision: Option<usize>, alternative: bool) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return "inf".to_owned();
    }
    match letter.to_ascii_lowercase() {
        b'a' => hexadecimal(value, precision, alternative),
        b'e' => exponential(value, precision.unwrap_or(6), alternative),
        b'g' => general(value, precision.unwrap_or(6).max(1), alternative),
        _ => fixed(value, precision.unwrap_or(6), alternative),
    }
}

fn fixed(value: f64, precision: usize, alternative: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if alternative && precision == 0 {
        text.push('.');
    }
    text
}

/// Digits and exponent of a number, rounded to a digit before the point and `precision` behind it.
fn parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => (digits.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn exponential(value: f64, precision: usize, alternative: bool) -> String {
    let (mut digits, exponent) = parts(value, precision);
    if alternative && precision == 0 {
        digits.push('.');
    }
    with_exponent(&digits, exponent)
}

fn general(value: f64, precision: usize, alternative: bool) -> String {
    let (digits, exponent) = parts(value, precision - 1);
    let is_fixed = exponent >= -4 && usize::try_from(exponent).is_ok_and(|e| e < precision) || {
        (-4..0).contains(&exponent)
    };
    let mut text = match is_fixed {
        true => {
            let behind = precision as i64 - 1 - i64::from(exponent);
            fixed(value, usize::try_from(behind).unwrap_or(0), alternative)
        }
        false if alternative && precision == 1 => format!("{digits}."),
        false => digits,
    };
    if !alternative && text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if is_fixed { text } else { with_exponent(&text, exponent) }
}

/// Bits of the fraction of a double.
const FRACTION: u32 = 52;
/// Hexadecimal digits of the fraction.
const DIGITS: usize = 13;

fn hexadecimal(value: f64, precision: Option<usize>, alternative: bool) -> String {
    let bits = value.to_bits();
    let (biased, fraction) = ((bits >> FRACTION & 0x7ff) as i32, bits & ((1 << FRACTION) - 1));
    let (mut all, exponent) = match biased {
        0 if fraction == 0 => (0, 0),
        0 => (fraction, -1022),
        _ => (fraction | 1 << FRACTION, biased - 1023),
    };
    let kept = precision.unwrap_or(DIGITS).min(DIGITS);
    let dropped = 4 * (DIGITS - kept) as u32;
    if dropped > 0 {
        // To the nearest, and to the even one of two.
        let (half, rest) = (1_u64 << (dropped - 1), all & ((1 << dropped) - 1));
        all >>= dropped;
        all += u64::from(rest > half || rest == half && all & 1 == 1);
    }
    let kept_bits = 4 * kept as u32;
    let (leading, behind) = (all >> kept_bits, all & ((1 << kept_bits) - 1));
    let mut digits = if kept == 0 { String::new() } else { format!("{behind:0kept$x}") };
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => digits.extend(std::iter::repeat_n('0', precision.saturating_sub(DIGITS))),
    }
    let point = if digits.is_empty() && !alternative { "" } else { "." };
    format!("0x{leading}{point}{digits}p{exponent:+}")
}
