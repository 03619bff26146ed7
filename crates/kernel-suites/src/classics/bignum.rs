//! Natural numbers of any size as limbs of 32 bits, the least significant first.

use std::cmp::Ordering;

/// By schoolbook; as many limbs as both together.
pub(super) fn product(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut all = vec![0u32; a.len() + b.len()];
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0u64;
        for (k, y) in b.iter().enumerate() {
            let sum = u64::from(*x) * u64::from(*y) + u64::from(all[i + k]) + carry;
            all[i + k] = sum as u32;
            carry = sum >> 32;
        }
        all[i + b.len()] = carry as u32;
    }
    all
}

/// As many limbs as the longer one, and the carry.
pub(super) fn sum(a: &[u32], b: &[u32]) -> (Vec<u32>, bool) {
    let mut carry = 0u64;
    let limb = |i: usize| {
        let both = [a, b].map(|limbs| u64::from(limbs.get(i).copied().unwrap_or_default()));
        let sum = both[0] + both[1] + carry;
        carry = sum >> 32;
        sum as u32
    };
    let limbs = (0..a.len().max(b.len())).map(limb).collect();
    (limbs, carry == 1)
}

/// `a - b` modulo the power of two of `a`'s limbs, and whether `b` was larger.
pub(super) fn difference(a: &[u32], b: &[u32]) -> (Vec<u32>, bool) {
    let mut borrow = 0i64;
    let limb = |i: usize| {
        let difference = i64::from(a[i]) - i64::from(b.get(i).copied().unwrap_or_default()) - borrow;
        borrow = i64::from(difference < 0);
        difference as u32
    };
    let limbs = (0..a.len()).map(limb).collect();
    (limbs, borrow == 1)
}

pub(super) fn compare(a: &[u32], b: &[u32]) -> Ordering {
    let limb = |limbs: &[u32], i: usize| limbs.get(i).copied().unwrap_or_default();
    let at = (0..a.len().max(b.len())).rev().find(|i| limb(a, *i) != limb(b, *i));
    at.map_or(Ordering::Equal, |i| limb(a, i).cmp(&limb(b, i)))
}

/// Bit by bit. The modulus is not zero.
pub(super) fn remainder(a: &[u32], modulus: &[u32]) -> Vec<u32> {
    let mut rest = vec![0u32; modulus.len() + 1];
    for bit in (0..32 * a.len()).rev() {
        rest = sum(&rest, &rest).0;
        rest[0] |= a[bit / 32] >> (bit % 32) & 1;
        if compare(&rest, modulus).is_ge() {
            rest = difference(&rest, modulus).0;
        }
    }
    rest.truncate(modulus.len());
    rest
}

#[cfg(test)]
mod tests {
    use super::{compare, difference, product, remainder, sum};

    fn limbs(x: u128) -> Vec<u32> {
        (0..4).map(|i| (x >> (32 * i)) as u32).collect()
    }

    #[test]
    fn arithmetic_agrees_with_128_bits() {
        let (a, b) = (0xFEDC_BA98_7654_3210_FFFF_FFFF_0000_0001u128, 0x0123_4567_89AB_CDEFu128);
        assert_eq!(product(&limbs(a >> 64)[..2], &limbs(b)[..2]), limbs((a >> 64) * b));
        assert_eq!(sum(&limbs(a), &limbs(b)).0, limbs(a + b));
        assert!(sum(&limbs(u128::MAX), &limbs(1)).1);
        assert_eq!(difference(&limbs(a), &limbs(b)).0, limbs(a - b));
        assert!(difference(&limbs(b), &limbs(a)).1);
        assert_eq!(remainder(&limbs(a), &limbs(b)), limbs(a % b));
        assert!(compare(&limbs(a), &limbs(b)).is_gt());
    }
}
