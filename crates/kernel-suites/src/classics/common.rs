//! What all families share: input data, launches and checks in few words.

use crate::case::{Argument, Case, Check, Launch, Memory, Space, expect_close, expect_equal};

/// Group sizes of kernels that work in groups of any size.
pub(super) const SIZES: [usize; 7] = [1, 2, 9, 32, 64, 100, 256];

/// Group sizes of kernels that need powers of two.
pub(super) const POWERS: [usize; 5] = [1, 2, 32, 64, 256];

/// The same sizes in two dimensions: x, y.
pub(super) const SHAPES: [[usize; 2]; 8] =
    [[1, 1], [2, 1], [1, 8], [3, 3], [8, 4], [8, 8], [10, 10], [16, 16]];

/// Groups of a launch with groups of `size`: at least three.
pub(super) fn groups_of(size: usize) -> usize {
    match size {
        0..16 => 7,
        16..200 => 5,
        _ => 3,
    }
}

/// At least three groups, and enough work-items for `n`.
pub(super) fn enough(n: usize, size: usize) -> Space {
    Space::d1(n.div_ceil(size).max(3) * size, size)
}

/// Deterministic numbers for inputs (SplitMix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF0)
    }

    pub(super) fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(super) fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    /// From 0 to `bound - 1`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.u64() % bound as u64) as usize
    }

    /// From 0 to below 1, with 24 bits.
    pub(super) fn unit(&mut self) -> f32 {
        (self.u32() >> 8) as f32 / 16_777_216.0
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.u32() as u8).collect()
    }

    pub(super) fn words(&mut self, len: usize) -> Vec<u32> {
        (0..len).map(|_| self.u32()).collect()
    }

    pub(super) fn longs(&mut self, len: usize) -> Vec<u64> {
        (0..len).map(|_| self.u64()).collect()
    }

    /// Each from 0 to `bound - 1`.
    pub(super) fn words_below(&mut self, len: usize, bound: usize) -> Vec<u32> {
        (0..len).map(|_| self.below(bound) as u32).collect()
    }

    /// Each from `low` to below `high`.
    pub(super) fn floats(&mut self, len: usize, low: f32, high: f32) -> Vec<f32> {
        (0..len).map(|_| low + self.unit() * (high - low)).collect()
    }
}

/// Memory, launches and check of a case.
pub(super) type Parts = (Vec<Memory>, Vec<Launch>, Check);

/// A case without a group size in its name.
pub(super) fn case(name: impl Into<String>, (memory, launches, check): Parts) -> Case {
    Case { name: name.into(), memory, launches, check }
}

/// A case per group size.
pub(super) fn in_groups(name: &str, sizes: &[usize], parts: impl Fn(usize) -> Parts) -> Vec<Case> {
    sizes.iter().map(|&size| case(format!("{name} in groups of {size}"), parts(size))).collect()
}

/// A case per shape of groups.
pub(super) fn in_shapes(name: &str, shapes: &[[usize; 2]], parts: impl Fn([usize; 2]) -> Parts) -> Vec<Case> {
    let named = |&[x, y]: &[usize; 2]| case(format!("{name} in groups of {x}x{y}"), parts([x, y]));
    shapes.iter().map(named).collect()
}

pub(super) fn launch(kernel: &str, space: Space, arguments: impl Into<Vec<Argument>>) -> Launch {
    Launch { kernel: kernel.to_owned(), arguments: arguments.into(), space }
}

/// Memory as an argument.
pub(super) fn mem(index: usize) -> Argument {
    Argument::Memory(index)
}

/// An `int`.
pub(super) fn int(value: usize) -> Argument {
    Argument::value(value as i32)
}

/// A `uint`.
pub(super) fn uint(value: usize) -> Argument {
    Argument::value(value as u32)
}

/// Local memory for `len` elements.
pub(super) fn local<T>(len: usize) -> Argument {
    Argument::Local(len * size_of::<T>())
}

/// Memory `index` must start with these elements.
pub(super) fn equal<T>(index: usize, expected: Vec<T>) -> Check
where
    T: bytemuck::Pod + PartialEq + std::fmt::Debug,
{
    Box::new(move |memory| expect_equal(&format!("memory {index}"), &memory[index], &expected))
}

/// Memory `index` must start with about these floats.
pub(super) fn close(index: usize, expected: Vec<f32>, relative: f32, absolute: f32) -> Check {
    Box::new(move |memory| {
        expect_close(&format!("memory {index}"), &memory[index], &expected, relative, absolute)
    })
}

/// All of these checks.
pub(super) fn all(checks: Vec<Check>) -> Check {
    Box::new(move |memory| checks.iter().try_for_each(|check| check(memory)))
}
