//! Sizes and places in memory, which are those of every 64-bit target of rustc.

use super::tree::Type;

/// Alignment in bytes.
pub(crate) fn align(ty: &Type) -> u64 {
    match ty {
        Type::Int(width) => u64::from(*width).div_ceil(8).next_power_of_two().min(16),
        Type::Half => 2,
        Type::Float => 4,
        Type::Double | Type::Pointer => 8,
        Type::Array(_, element) => align(element),
        Type::Vector(..) => store_size(ty).checked_next_power_of_two().unwrap_or(1),
        Type::Struct { packed: true, .. } => 1,
        Type::Struct { fields, .. } => fields.iter().map(align).max().unwrap_or(1),
        Type::Void | Type::Other(_) => 1,
    }
}

/// Bytes that a store writes.
pub(crate) fn store_size(ty: &Type) -> u64 {
    match ty {
        Type::Int(width) => u64::from(*width).div_ceil(8),
        Type::Half => 2,
        Type::Float => 4,
        Type::Double | Type::Pointer => 8,
        Type::Array(count, element) => size(element).saturating_mul(*count),
        Type::Vector(count, element) => store_size(element).saturating_mul(*count),
        Type::Struct { fields, packed } => {
            let end = fields.iter().fold(0_u64, |at, field| {
                round_up(at, if *packed { 1 } else { align(field) }).saturating_add(size(field))
            });
            round_up(end, align(ty))
        }
        Type::Void | Type::Other(_) => 0,
    }
}

/// Bytes from one element of an array to the next.
pub(crate) fn size(ty: &Type) -> u64 {
    round_up(store_size(ty), align(ty))
}

/// Offset in bytes of an element.
pub(crate) fn offset(ty: &Type, index: u64) -> u64 {
    match ty {
        Type::Struct { fields, packed } => {
            let mut at = 0_u64;
            for (position, field) in (0_u64..).zip(fields.iter()) {
                at = round_up(at, if *packed { 1 } else { align(field) });
                if position == index {
                    break;
                }
                at = at.saturating_add(size(field));
            }
            at
        }
        Type::Array(_, element) => size(element).saturating_mul(index),
        Type::Vector(_, element) => store_size(element).saturating_mul(index),
        _ => 0,
    }
}

/// The next multiple of `align`; `at` itself beyond the largest.
pub(crate) fn round_up(at: u64, align: u64) -> u64 {
    at.checked_next_multiple_of(align.max(1)).unwrap_or(at)
}
