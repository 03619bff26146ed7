//! Division of numbers of 128 bits, which devices lack. `oclave-rust` calls these functions in its place.

#[cfg_attr(oclave_device, unsafe(no_mangle))]
extern "C" fn oclave_kernel_udiv(number: u128, by: u128) -> u128 {
    divided(number, by).0
}

#[cfg_attr(oclave_device, unsafe(no_mangle))]
extern "C" fn oclave_kernel_urem(number: u128, by: u128) -> u128 {
    divided(number, by).1
}

#[cfg_attr(oclave_device, unsafe(no_mangle))]
extern "C" fn oclave_kernel_sdiv(number: i128, by: i128) -> i128 {
    let quotient = divided(number.unsigned_abs(), by.unsigned_abs()).0.cast_signed();
    if (number < 0) == (by < 0) { quotient } else { quotient.wrapping_neg() }
}

#[cfg_attr(oclave_device, unsafe(no_mangle))]
extern "C" fn oclave_kernel_srem(number: i128, by: i128) -> i128 {
    let rest = divided(number.unsigned_abs(), by.unsigned_abs()).1.cast_signed();
    if number < 0 { rest.wrapping_neg() } else { rest }
}

const fn high(number: u128) -> u64 {
    (number >> 64) as u64
}

const fn of_halves(high: u64, low: u64) -> u128 {
    (high as u128) << 64 | low as u128
}

/// Quotient and remainder. rustc has checked that the divisor is not 0.
#[inline(never)]
fn divided(number: u128, by: u128) -> (u128, u128) {
    if high(by) == 0 {
        let by = by as u64;
        let first = high(number).checked_div(by).unwrap_or(0);
        let rest = high(number).wrapping_sub(first.wrapping_mul(by));
        let (second, rest) = divided_by_half(rest, number as u64, by);
        return (of_halves(first, second), rest.into());
    }
    // The quotient has 64 bits. The upper half of the divisor gives it, or one more.
    let shift = high(by).leading_zeros();
    let (half, divisor) = (number >> 1, high(by << shift));
    let (estimate, _) = divided_by_half(high(half), half as u64, divisor);
    let quotient = (estimate >> (63 - shift)).saturating_sub(1);
    let rest = number.wrapping_sub(by.wrapping_mul(quotient.into()));
    if rest < by { (quotient.into(), rest) } else { (quotient.wrapping_add(1).into(), rest.wrapping_sub(by)) }
}

/// Quotient and remainder of a number of 128 bits, whose upper half is less than the divisor: long division by digits
/// of 32 bits.
fn divided_by_half(high: u64, low: u64, by: u64) -> (u64, u64) {
    if high == 0 {
        let quotient = low.checked_div(by).unwrap_or(0);
        return (quotient, low.wrapping_sub(quotient.wrapping_mul(by)));
    }
    let shift = by.leading_zeros();
    let by = by << shift;
    let number = of_halves(high, low) << shift;
    let (quotient_high, rest) = digit((number >> 64) as u64, (number as u64) >> 32, by);
    let (quotient_low, rest) = digit(rest, number as u64 & 0xffff_ffff, by);
    (quotient_high << 32 | quotient_low, rest >> shift)
}

/// A digit of a quotient, and what is left: of `number` with `next` as one digit more. The highest bit of the divisor is set.
fn digit(number: u64, next: u64, by: u64) -> (u64, u64) {
    let (by_high, by_low) = (by >> 32, by & 0xffff_ffff);
    let mut quotient = number.checked_div(by_high).unwrap_or(0);
    let mut rest = number.wrapping_sub(quotient.wrapping_mul(by_high));
    // The estimate is at most two too large.
    for _ in 0..2 {
        let is_small = quotient >> 32 == 0 && quotient.wrapping_mul(by_low) <= (rest << 32 | next);
        if is_small || rest >> 32 != 0 {
            break;
        }
        quotient = quotient.wrapping_sub(1);
        rest = rest.wrapping_add(by_high);
    }
    (quotient, (number << 32 | next).wrapping_sub(quotient.wrapping_mul(by)))
}

#[cfg(test)]
mod tests {
    use super::{oclave_kernel_sdiv, oclave_kernel_srem, oclave_kernel_udiv, oclave_kernel_urem};

    #[test]
    fn quotients_are_those_of_the_host() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        let mut number = || {
            let bits = u128::from(next()) << 64 | u128::from(next());
            // Few bits, many bits, and bits that are all the same.
            match next() % 4 {
                0 => bits >> (next() % 128),
                1 => u128::MAX << (next() % 128),
                2 => u128::MAX >> (next() % 128),
                _ => bits | u128::MAX << 96,
            }
        };
        for _ in 0..100_000 {
            let (a, b) = (number(), number().max(1));
            assert_eq!(oclave_kernel_udiv(a, b), a / b, "{a} / {b}");
            assert_eq!(oclave_kernel_urem(a, b), a % b, "{a} % {b}");
            let (a, b) = (a.cast_signed(), b.cast_signed());
            assert_eq!(oclave_kernel_sdiv(a, b), a.wrapping_div(b), "{a} / {b}");
            assert_eq!(oclave_kernel_srem(a, b), a.wrapping_rem(b), "{a} % {b}");
        }
    }
}
