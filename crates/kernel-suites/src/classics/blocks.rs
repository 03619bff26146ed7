//! Kernels whose groups have a fixed size.

use super::common::{Parts, Random, case, close, int, launch, local, mem};
use super::matrix;
use crate::case::{Argument, Case, Memory, Space};

/// The edge of a block.
const BLOCK: usize = 16;
/// Particles of a cell, and work-items for them.
const PER_CELL: usize = 50;
const GROUP: usize = 64;
/// Cells that act on a cell, by their distance in a row of cells.
const NEIGHBOURS: [i64; 5] = [-2, -1, 0, 1, 2];

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("product", product(48)),
        case("one step of heat", heat([60, 45], 1)),
        case("three steps of heat", heat([60, 45], 3)),
        case("lu", lu(64)),
        case("cells", cells(7)),
        case("sobel", sobel([40, 24])),
    ]
}

/// Of matrices with `width` rows and columns.
pub(super) fn product(width: usize) -> Parts {
    let mut random = Random::new(300);
    let mut matrix = || random.floats(width * width, 0.1, 2.0);
    let (a, b) = (matrix(), matrix());
    let element = |at: usize| {
        let (y, x) = (at / width, at % width);
        (0..width).map(|k| f64::from(a[y * width + k]) * f64::from(b[k * width + x])).sum::<f64>() as f32
    };
    let expected = (0..width * width).map(element).collect();
    let tile = local::<f32>(BLOCK * BLOCK);
    let arguments = [mem(2), mem(0), mem(1), tile.clone(), tile, int(width)];
    let launches = vec![launch("product", Space::d2([width; 2], [BLOCK; 2]), arguments)];
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<f32>(width * width)];
    // All terms are positive.
    (memory, launches, close(2, expected, 1e-5, 0.0))
}

pub(super) fn heat([width, height]: [usize; 2], steps: usize) -> Parts {
    let mut random = Random::new(301);
    let power = random.floats(width * height, 0.0, 3.0);
    let before = random.floats(width * height, 40.0, 80.0);
    let mut now: Vec<f64> = before.iter().map(|t| f64::from(*t)).collect();
    for _ in 0..steps {
        let at = |x: usize, y: usize| now[y * width + x];
        let next = |i: usize| {
            let (x, y) = (i % width, i / width);
            let around = at(x, y.saturating_sub(1)) + at(x, (y + 1).min(height - 1));
            let around = around + at(x.saturating_sub(1), y) + at((x + 1).min(width - 1), y);
            now[i] + 0.1 * (f64::from(power[i]) + around - 4.0 * now[i])
        };
        now = (0..width * height).map(next).collect();
    }
    let inner = BLOCK - 2 * steps;
    let groups = [width, height].map(|size| size.div_ceil(inner) * BLOCK);
    let arguments = [int(steps), mem(0), mem(1), mem(2), int(width), int(height)];
    let launches = vec![launch("heat", Space::d2(groups, [BLOCK; 2]), arguments)];
    let memory = vec![Memory::of(&power), Memory::of(&before), Memory::unset::<f32>(width * height)];
    // Intermediate values reach 400, whose half ulp is 1.5e-5; a tenth of a few of those remains.
    (memory, launches, close(2, now.iter().map(|t| *t as f32).collect(), 1e-6, 1e-4))
}

/// Of a matrix with `n` rows, a multiple of [`BLOCK`].
pub(super) fn lu(n: usize) -> Parts {
    let a = matrix::dominant(302, n);
    let mut launches = Vec::new();
    for offset in (0..n).step_by(BLOCK) {
        let arguments = [mem(0), int(n), int(offset)];
        launches.push(launch("lu_diagonal", Space::d1(BLOCK, BLOCK), arguments.clone()));
        let left = (n - offset) / BLOCK - 1;
        if left > 0 {
            let edge = Space::d1(left * 2 * BLOCK, 2 * BLOCK);
            launches.push(launch("lu_perimeter", edge, arguments.clone()));
            launches.push(launch("lu_inner", Space::d2([left * BLOCK; 2], [BLOCK; 2]), arguments));
        }
    }
    (vec![Memory::of(&a)], launches, close(0, matrix::lu_of(&a, n), 1e-4, 1e-4))
}

/// A row of cells.
pub(super) fn cells(count: usize) -> Parts {
    let alpha = 0.5f32;
    let mut random = Random::new(303);
    let places: Vec<[f32; 4]> =
        (0..count * PER_CELL).map(|_| [random.unit(), random.unit(), random.unit(), 0.0]).collect();
    let charges = random.floats(count * PER_CELL, 0.1, 1.0);
    let neighbour = |cell: usize, by: i64| (cell as i64 + by).rem_euclid(count as i64) as usize;
    let mut expected = Vec::new();
    for (i, me) in places.iter().enumerate() {
        let mut sums = [0f64; 4];
        for by in NEIGHBOURS {
            let first = neighbour(i / PER_CELL, by) * PER_CELL;
            for j in first..first + PER_CELL {
                let d = [0, 1, 2].map(|axis| f64::from(me[axis]) - f64::from(places[j][axis]));
                let u = (-f64::from(alpha) * d.iter().map(|d| d * d).sum::<f64>()).exp();
                let u = f64::from(charges[j]) * u;
                (0..3).for_each(|axis| sums[axis] += 2.0 * u * d[axis]);
                sums[3] += u;
            }
        }
        expected.extend(sums.map(|sum| sum as f32));
    }
    let of_cell = |cell: usize| NEIGHBOURS.map(|by| neighbour(cell, by) as i32);
    let neighbours: Vec<i32> = (0..count).flat_map(of_cell).collect();
    let memory = vec![
        Memory::of(&neighbours),
        Memory::of(&places),
        Memory::of(&charges),
        Memory::of(&vec![0f32; expected.len()]),
    ];
    let arguments = [Argument::value(alpha), mem(0), int(NEIGHBOURS.len()), mem(1), mem(2), mem(3)];
    let launches = vec![launch("cells", Space::d1(count * GROUP, GROUP), arguments)];
    // 250 terms of at most 1 for each sum.
    (memory, launches, close(3, expected, 1e-4, 1e-3))
}

pub(super) fn sobel([width, height]: [usize; 2]) -> Parts {
    let input = Random::new(304).bytes(4 * width * height);
    let pixel = |x: usize, y: usize, lane: usize| f64::from(input[4 * (y * width + x) + lane]);
    let result = |at: usize| {
        let (x, y, lane) = (at / 4 % width, at / 4 / width, at % 4);
        if x < 1 || x >= width - 1 || y < 1 || y >= height - 1 {
            return 0xCD_u8;
        }
        let (mut gx, mut gy) = (0.0, 0.0);
        for (k, weight) in [1.0, 2.0, 1.0].into_iter().enumerate() {
            gx += weight * (pixel(x + k - 1, y - 1, lane) - pixel(x + k - 1, y + 1, lane));
            gy += weight * (pixel(x - 1, y + k - 1, lane) - pixel(x + 1, y + k - 1, lane));
        }
        (gx.hypot(gy) / 8.0) as u8
    };
    let expected: Vec<u8> = (0..input.len()).map(result).collect();
    // A length just below a whole number may be rounded up to it.
    let check = Box::new(move |memory: &[Vec<u8>]| {
        let wrong = memory[1].iter().zip(&expected).position(|(got, wanted)| got.abs_diff(*wanted) > 1);
        wrong.map_or(Ok(()), |at| Err(format!("memory 1[{at}] is {}, not {}", memory[1][at], expected[at])))
    });
    let launches = vec![launch("sobel", Space::d2([width, height], [8, 8]), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::unset::<u8>(4 * width * height)], launches, check)
}
