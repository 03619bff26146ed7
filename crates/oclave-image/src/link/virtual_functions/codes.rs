//! Codes: numbers that stand for the addresses of vtables and functions, the same in every program.

/// Code of a vtable's first byte; the low 16 bits are the offset within it.
pub(super) fn vtable_code(name: &str) -> u64 {
    hash(name) << 16
}

/// Code of a function whose address is taken without a vtable. Never that of a slot, which is a
/// multiple of 8.
pub(super) fn function_code(name: &str) -> u64 {
    (hash(name) << 16) | 0xffff
}

/// FNV-1a, then mixed so that the low bits, which survive, depend on all of it.
fn hash(name: &str) -> u64 {
    let fnv = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, fnv_step);
    let mut mixed = fnv ^ (fnv >> 30);
    mixed = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^= mixed >> 27;
    mixed = mixed.wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn fnv_step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// A hash of a module, for names that must not be those of another program.
pub(super) fn module_hash(name: &str, words: &[u32]) -> u64 {
    let bytes = name.bytes().chain(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, fnv_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_leave_room_for_offsets() {
        let (a, b) = (vtable_code("_ZTV5shape"), vtable_code("_ZTV6square"));
        assert_ne!(a, b);
        assert_eq!((a & 0xffff, b & 0xffff), (0, 0));
        assert_eq!(function_code("_ZN5shape4areaEi") & 0xffff, 0xffff);
    }

    /// Objects that one build of the library made must mean the same to another: a change needs a
    /// new `VIRTUAL_ABI`.
    #[test]
    fn codes_stay_what_they_are() {
        assert_eq!(vtable_code("_ZTV5shape"), 17_644_536_540_801_138_688);
    }
}
