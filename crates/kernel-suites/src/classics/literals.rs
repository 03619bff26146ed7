//! Float kernels with literals that have no suffix.
//!
//! Devices without fp64 compute them in floats, others in doubles. The tolerances cover both.

use super::common::{Parts, Random, SIZES, close, equal, groups_of, in_groups, launch, local, mem};
use crate::case::{Case, Memory, Space};

/// For results that are rounded a few times.
const RELATIVE: f32 = 2e-6;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = in_groups("arithmetic", &SIZES, |size| {
        // Sixteenths up to 64: all results are exact.
        let sixteenths = |_, word: u32| (word % 1024) as f32 / 16.0;
        of_floats("arithmetic", size, sixteenths, |_, x| (x * 0.5 + 2.0) / 2.0, 0.0)
    });
    cases.extend(in_groups("rounding", &SIZES, |size| {
        let value = |_, x: f64| (0..10).fold(x, |x, _| 0.9 * x + 0.1) - 1e-3;
        of_floats("rounding", size, between_0_and_1, value, 4.0 * RELATIVE)
    }));
    cases.extend(in_groups("comparisons", &SIZES, comparisons));
    cases.extend(in_groups("calls", &SIZES, |size| {
        let value = |_, x: f64| {
            let (root, angle) = ((x * 0.25 + 1.0).sqrt(), (0.5 * x).sin() + (-x).exp());
            x * x * 0.3 + 0.125 + root.max(1.0) + angle
        };
        of_floats("calls", size, between_0_and_1, value, 4.0 * RELATIVE)
    }));
    cases.extend(in_groups("tables", &SIZES, |size| {
        let (table, own) = ([0.1, 0.2, 0.3, 1.0 / 3.0, 0.25], [0.7, 1.5, -0.25, 3.0 / 7.0]);
        // From 4 on, so that no sum is near zero.
        let from_4 = |at, word| 4.0 + between_0_and_1(at, word);
        let value = move |i: usize, x: f64| x * table[i % 5] + own[(i / 5) % 4];
        of_floats("tables", size, from_4, value, 2.0 * RELATIVE)
    }));
    cases.extend(in_groups("vectors", &SIZES, vectors));
    cases
}

fn between_0_and_1(_: usize, word: u32) -> f32 {
    (word >> 8) as f32 / 16_777_216.0
}

/// A kernel that makes a float of each float.
fn of_floats(
    kernel: &str,
    size: usize,
    input: impl Fn(usize, u32) -> f32,
    value: impl Fn(usize, f64) -> f64,
    relative: f32,
) -> Parts {
    let n = groups_of(size) * size;
    let words = Random::new(700).words(n);
    let input: Vec<f32> = words.into_iter().enumerate().map(|(at, word)| input(at, word)).collect();
    let expected = input.iter().enumerate().map(|(at, x)| value(at, f64::from(*x)) as f32).collect();
    let launches = vec![launch(kernel, Space::d1(n, size), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::unset::<f32>(n)], launches, close(1, expected, relative, 0.0))
}

fn comparisons(size: usize) -> Parts {
    let n = groups_of(size) * size;
    // Odd multiples of a fortieth: none of them is near a literal.
    let input: Vec<f32> =
        Random::new(701).words_below(n, 20).iter().map(|at| (2 * at + 1) as f32 / 40.0 + 0.01).collect();
    let value = |x: &f32| {
        let mut kind = i32::from(*x < 0.3) + 2 * i32::from(*x >= 0.7) + 4 * i32::from(*x > 0.1 && *x < 0.9);
        kind |= if *x < 0.55 { 16 } else { 48 };
        kind
    };
    let expected = input.iter().map(value).collect();
    let launches = vec![launch("comparisons", Space::d1(n, size), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::unset::<i32>(n)], launches, equal(1, expected))
}

fn vectors(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(702).floats(4 * groups * size, 0.0, 1.0);
    let of_item = |v: &[f32]| {
        let lanes = v.iter().zip([0.5, 1.5, 2.0, 0.1]);
        lanes.map(|(x, by)| f64::from(*x) * by + 0.2).sum::<f64>() / 8.0
    };
    let of_group = |group: &[f32]| group.chunks_exact(4).map(of_item).sum::<f64>() as f32;
    let expected = input.chunks_exact(4 * size).map(of_group).collect();
    let arguments = [mem(0), mem(1), local::<f32>(size)];
    let launches = vec![launch("vectors", Space::d1(groups * size, size), arguments)];
    // At most 256 positive terms are added.
    (vec![Memory::of(&input), Memory::unset::<f32>(groups)], launches, close(1, expected, 3e-5, 0.0))
}
