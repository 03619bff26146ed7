//! Transposes, products of matrices, and steps of solvers.

use super::common::{
    Parts, Random, SHAPES, SIZES, all, case, close, equal, in_groups, in_shapes, int, launch, local, mem,
    uint,
};
use crate::case::{Argument, Case, Memory, Space};

/// The square ones of [`SHAPES`].
const SQUARES: [[usize; 2]; 5] = [[1, 1], [3, 3], [8, 8], [10, 10], [16, 16]];

/// As many groups of a shape as cover `width` by `height` work-items.
pub(super) fn covering([width, height]: [usize; 2], [x, y]: [usize; 2]) -> Space {
    Space::d2([width.div_ceil(x) * x, height.div_ceil(y) * y], [x, y])
}

fn transposed<T: Copy>(values: &[T], width: usize) -> Vec<T> {
    (0..width).flat_map(|x| values.iter().skip(x).step_by(width).copied()).collect()
}

pub(super) fn transposes() -> Vec<Case> {
    let mut cases = in_shapes("naive", &SHAPES, |shape| transpose("naive", shape, [37, 29], 0));
    cases.extend(in_shapes("tiled", &SHAPES, |shape| {
        transpose("tiled", shape, [37, 50], shape[0] * shape[1])
    }));
    cases.extend(in_shapes("padded", &SQUARES, |shape| {
        transpose("padded", shape, [51, 33], (shape[0] + 1) * shape[1])
    }));
    for rows in [1, 4, 8, 16] {
        let [width, height] = [40, 53];
        let mut parts = transpose("several_rows", [16, rows], [width, height], 0);
        parts.1[0].space = Space::d2([48, height.div_ceil(16) * rows], [16, rows]);
        cases.push(case(format!("several_rows in groups of 16x{rows}"), parts));
    }
    cases.extend(in_shapes("vectors", &SHAPES, |[x, y]| {
        let [blocks_x, blocks_y] = [3 * x, 3 * y];
        let mut parts = transpose("vectors", [x, y], [4 * blocks_x, 4 * blocks_y], 0);
        let arguments = [mem(0), mem(1), int(blocks_x), int(blocks_y)];
        parts.1[0] = launch("vectors", Space::d2([blocks_x, blocks_y], [x, y]), arguments);
        parts
    }));
    cases.extend(in_shapes("in_place", &SQUARES, |[n, _]| {
        let width = 3 * n;
        let input = Random::new(110).words(width * width);
        let arguments = [mem(0), uint(width), local::<u32>(n * n), local::<u32>(n * n)];
        let launches = vec![launch("in_place", Space::d2([width, width], [n, n]), arguments)];
        (vec![Memory::of(&input)], launches, equal(0, transposed(&input, width)))
    }));
    cases
}

/// Small whole numbers serve both as words and, in their bits, as floats.
fn transpose(kernel: &str, shape: [usize; 2], [width, height]: [usize; 2], locals: usize) -> Parts {
    let input: Vec<u32> =
        Random::new(111).floats(width * height, 1.0, 9.0).iter().map(|x| x.to_bits()).collect();
    let mut arguments = vec![mem(0), mem(1), int(width), int(height)];
    if locals > 0 {
        arguments.push(local::<u32>(locals));
    }
    let launches = vec![launch(kernel, covering([width, height], shape), arguments)];
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(width * height)];
    (memory, launches, equal(1, transposed(&input, width)))
}

fn product<T: Copy + Default>(a: &[T], b: &[T], [m, n, k]: [usize; 3], add: fn(T, T, T) -> T) -> Vec<T> {
    let element =
        |y: usize, x: usize| (0..k).fold(T::default(), |sum, i| add(sum, a[y * k + i], b[i * n + x]));
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

/// Positive factors, so that nothing cancels; k additions have an error below k half ulps.
fn float_product(
    kernel: &str,
    space: Space,
    sizes: [usize; 3],
    more: impl Fn([usize; 3]) -> Vec<Argument>,
) -> Parts {
    let [m, n, k] = sizes;
    let mut random = Random::new(112);
    let (a, b) = (random.floats(m * k, 0.1, 2.0), random.floats(k * n, 0.1, 2.0));
    let wide = |floats: &[f32]| floats.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let exact = product(&wide(&a), &wide(&b), sizes, |sum, a, b| sum + a * b);
    let expected = exact.iter().map(|x| *x as f32).collect();
    let mut arguments = vec![mem(0), mem(1), mem(2)];
    arguments.extend(more(sizes));
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<f32>(m * n)];
    (memory, vec![launch(kernel, space, arguments)], close(2, expected, 1e-5, 0.0))
}

pub(super) fn products() -> Vec<Case> {
    let sizes = [23, 31, 19];
    let of_sizes = |sizes: [usize; 3]| sizes.map(int).to_vec();
    let mut cases = in_shapes("naive", &SHAPES, |shape| {
        float_product("naive", covering([31, 23], shape), sizes, of_sizes)
    });
    cases.extend(in_shapes("tiled", &SQUARES, |shape| {
        float_product("tiled", covering([31, 23], shape), sizes, |sizes| {
            let tile = local::<f32>(shape[0] * shape[1]);
            [of_sizes(sizes), vec![tile.clone(), tile]].concat()
        })
    }));
    cases.extend(in_shapes("tiled_any_shape", &SHAPES, |[x, y]| {
        let [m, n, k] = sizes;
        let mut random = Random::new(113);
        let ints = |words: Vec<u32>| words.iter().map(|word| word.cast_signed()).collect::<Vec<i32>>();
        let (a, b) = (ints(random.words(m * k)), ints(random.words(k * n)));
        let expected = product(&a, &b, sizes, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)));
        let mut arguments = vec![mem(0), mem(1), mem(2)];
        arguments.extend(of_sizes(sizes));
        arguments.extend([local::<i32>(8 * y), local::<i32>(8 * x)]);
        let launches = vec![launch("tiled_any_shape", covering([n, m], [x, y]), arguments)];
        (vec![Memory::of(&a), Memory::of(&b), Memory::unset::<i32>(m * n)], launches, equal(2, expected))
    }));
    let blocked = Space::d2([3 * 8, 3 * 4], [8, 4]);
    cases.push(case("register_blocked", float_product("register_blocked", blocked, [48, 48, 32], of_sizes)));
    cases.push(case("register_blocked with rests", {
        float_product("register_blocked", blocked, [35, 41, 27], of_sizes)
    }));
    cases.extend(in_shapes("vectors", &SHAPES, |[x, y]| {
        let [m, n, k] = [3 * y, 4 * 3 * x, 24];
        float_product("vectors", Space::d2([3 * x, 3 * y], [x, y]), [m, n, k], |[_, n, k]| {
            vec![int(n / 4), int(k / 4)]
        })
    }));
    cases.extend(in_groups("times_vector", &SIZES, |size| {
        let (rows, k) = (7, 301);
        float_product("times_vector", Space::d1(rows * size, size), [rows, 1, k], |[_, _, k]| {
            vec![int(k), local::<f32>(size)]
        })
    }));
    cases
}

/// A matrix with a strong diagonal, which needs no pivoting.
pub(super) fn dominant(seed: u64, n: usize) -> Vec<f32> {
    let mut a = Random::new(seed).floats(n * n, -1.0, 1.0);
    for i in 0..n {
        a[i * n + i] += n as f32;
    }
    a
}

pub(super) fn lu() -> Vec<Case> {
    let mut cases = in_groups("lu in global memory", &SIZES, |size| lu_launches(24, size));
    cases.extend(in_groups("lu_local", &SIZES, lu_local));
    cases
}

pub(super) fn lu_of(a: &[f32], n: usize) -> Vec<f32> {
    let mut a: Vec<f64> = a.iter().map(|x| f64::from(*x)).collect();
    for k in 0..n {
        for i in k + 1..n {
            a[i * n + k] /= a[k * n + k];
            for j in k + 1..n {
                a[i * n + j] -= a[i * n + k] * a[k * n + j];
            }
        }
    }
    a.iter().map(|x| *x as f32).collect()
}

fn lu_launches(n: usize, size: usize) -> Parts {
    let a = dominant(114, n);
    let mut launches = Vec::new();
    for k in 0..n - 1 {
        let left = n - k - 1;
        let column = Space::d1(left.div_ceil(size) * size, size);
        launches.push(launch("lu_column", column, [mem(0), int(n), int(k)]));
        let rest = Space::d1((left * left).div_ceil(size) * size, size);
        launches.push(launch("lu_rest", rest, [mem(0), int(n), int(k)]));
    }
    // Multipliers are below 1/10, so errors do not grow; single precision leaves about 1e-6 of n.
    (vec![Memory::of(&a)], launches, close(0, lu_of(&a, n), 1e-5, 1e-5))
}

fn lu_local(size: usize) -> Parts {
    let (n, groups) = (13, 3);
    let matrices: Vec<Vec<f32>> = (0..groups).map(|group| dominant(115 + group as u64, n)).collect();
    let expected = matrices.iter().flat_map(|a| lu_of(a, n)).collect();
    let arguments = [mem(0), int(n), local::<f32>(n * n)];
    let launches = vec![launch("lu_local", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&matrices.concat())], launches, close(0, expected, 1e-5, 1e-5))
}

/// Solves the systems by Gauss and Jordan in double precision.
fn solved(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let mut rows: Vec<Vec<f64>> =
        (0..n).map(|i| a[i * n..][..n].iter().chain([&b[i]]).map(|x| f64::from(*x)).collect()).collect();
    for k in 0..n {
        let best = (k..n).max_by(|i, j| rows[*i][k].abs().total_cmp(&rows[*j][k].abs()));
        rows.swap(k, best.unwrap_or(k));
        let pivot = rows[k].clone();
        for (i, row) in rows.iter_mut().enumerate() {
            let factor = if i == k { 0.0 } else { row[k] / pivot[k] };
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    (0..n).map(|i| (rows[i][n] / rows[i][i]) as f32).collect()
}

pub(super) fn gauss() -> Vec<Case> {
    let mut cases = in_groups("gauss in several launches", &SIZES, |size| {
        let n = 20;
        let (a, b) = (dominant(120, n), Random::new(121).floats(n, -5.0, 5.0));
        let mut launches = Vec::new();
        for k in 0..n - 1 {
            let left = n - k - 1;
            let factors = Space::d1(left.div_ceil(size) * size, size);
            launches.push(launch("factors", factors, [mem(0), mem(2), int(n), int(k)]));
            let items = left * (n - k);
            let space = Space::d1(items.div_ceil(size) * size, size);
            launches.push(launch("eliminate", space, [mem(0), mem(1), mem(2), int(n), int(k)]));
        }
        launches.push(launch("substitute", Space::d1(1, 1), [mem(0), mem(1), mem(3), int(n)]));
        let memory =
            vec![Memory::of(&a), Memory::of(&b), Memory::unset::<f32>(n * n), Memory::unset::<f32>(n)];
        (memory, launches, close(3, solved(&a, &b, n), 1e-4, 1e-5))
    });
    cases.extend(in_groups("jordan_with_pivots", &SIZES, |size| {
        let (n, groups) = (9, 3);
        let (mut systems, mut expected) = (Vec::new(), Vec::new());
        for group in 0..groups {
            let (mut a, b) =
                (dominant(122 + group as u64, n), Random::new(group as u64).floats(n, -5.0, 5.0));
            // The rows change places, so that the pivots are not on the diagonal.
            a.rotate_left(4 * n);
            expected.extend(solved(&a, &b, n));
            for i in 0..n {
                systems.extend_from_slice(&a[i * n..][..n]);
                systems.push(b[i]);
            }
        }
        let arguments = [mem(0), mem(1), int(n), local::<f32>(n * (n + 1))];
        let launches = vec![launch("jordan_with_pivots", Space::d1(groups * size, size), arguments)];
        let memory = vec![Memory::of(&systems), Memory::unset::<f32>(groups * n)];
        (memory, launches, all(vec![close(1, expected, 1e-4, 1e-5)]))
    }));
    cases
}
