//! Loops in loops without barriers.

use super::common::{
    Parts, Random, SHAPES, SIZES, case, equal, groups_of, in_groups, in_shapes, int, launch, mem,
};
use crate::case::{Case, Memory, Space};

/// Iterations of the inner and the outer loop.
const COILS: usize = 3;
const SCANS: usize = 2;

/// Shapes of groups in three dimensions.
const BOXES: [[usize; 3]; 7] = [[1, 1, 1], [2, 1, 1], [1, 3, 1], [1, 1, 2], [4, 1, 2], [4, 3, 2], [8, 4, 4]];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = in_groups("coils_1d", &SIZES, |size| of_lines("coils_1d", size));
    cases.extend(in_groups("after_barrier", &SIZES, |size| of_lines("after_barrier", size)));
    cases.extend(in_shapes("coils_2d", &SHAPES, of_planes));
    cases.extend(
        BOXES.map(|[x, y, z]| case(format!("coils_3d in groups of {x}x{y}x{z}"), of_boxes([x, y, z]))),
    );
    cases.extend(in_groups("hinted", &SIZES, with_hints));
    cases
}

fn with_hints(size: usize) -> Parts {
    let n = groups_of(size) * size;
    let of = |id: u32| {
        let mut a: [u32; 8] = std::array::from_fn(|k| id * 7 + (k * k) as u32);
        (0..7).for_each(|k| a[k + 1] += a[k] * 3);
        (1..8).rev().for_each(|k| a[k - 1] ^= a[k] << 1);
        a[0].wrapping_add(a[7])
    };
    let expected: Vec<u32> = (0..n as u32).map(of).collect();
    let launches = vec![launch("hinted", Space::d1(n, size), [mem(0)])];
    (vec![Memory::unset::<u32>(n)], launches, equal(0, expected))
}

/// Each plane of the output is `plane`.
fn repeated(plane: &[f32]) -> Vec<f32> {
    (0..COILS * SCANS).flat_map(|_| plane.iter().copied()).collect()
}

fn of_lines(kernel: &str, size: usize) -> Parts {
    let n = groups_of(size) * size;
    let plane: Vec<f32> = (0..n).map(|id| (id * 3 + 1) as f32).collect();
    let launches = vec![launch(kernel, Space::d1(n, size), [mem(0), int(COILS), int(SCANS)])];
    (vec![Memory::unset::<f32>(n * COILS * SCANS)], launches, equal(0, repeated(&plane)))
}

fn of_planes([x, y]: [usize; 2]) -> Parts {
    let n = 2 * x * 3 * y;
    let input = Random::new(401).floats(n * SCANS, -1.0, 1.0);
    let planes = input.chunks(n).map(|plane| plane.iter().map(|value| value * 3.0).collect::<Vec<f32>>());
    let expected: Vec<f32> = planes.flat_map(|plane| plane.repeat(COILS)).collect();
    let space = Space::d2([2 * x, 3 * y], [x, y]);
    let launches = vec![launch("coils_2d", space, [mem(0), mem(1), int(COILS), int(SCANS)])];
    (vec![Memory::unset::<f32>(expected.len()), Memory::of(&input)], launches, equal(0, expected))
}

fn of_boxes([x, y, z]: [usize; 3]) -> Parts {
    let n = 2 * x * 3 * y * 2 * z;
    let plane: Vec<f32> = (0..n).map(|id| id as f32).collect();
    let space = Space::d3([2 * x, 3 * y, 2 * z], [x, y, z]);
    let launches = vec![launch("coils_3d", space, [mem(0), int(COILS), int(SCANS)])];
    (vec![Memory::unset::<f32>(n * COILS * SCANS)], launches, equal(0, repeated(&plane)))
}
