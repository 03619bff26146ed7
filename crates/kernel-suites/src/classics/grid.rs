//! Stencils and convolutions.

use super::common::{
    Parts, Random, SHAPES, SIZES, case, close, equal, groups_of, in_groups, in_shapes, int, launch, local,
    mem,
};
use super::matrix::covering;
use crate::case::{Argument, Case, Memory, Space};

/// Values of a plane, which repeat those at the edge outside of it.
struct Plane<'a, T> {
    values: &'a [T],
    width: usize,
    height: usize,
}

impl<T: Copy> Plane<'_, T> {
    fn at(&self, x: i64, y: i64) -> T {
        let x = x.clamp(0, self.width as i64 - 1) as usize;
        let y = y.clamp(0, self.height as i64 - 1) as usize;
        self.values[y * self.width + x]
    }

    fn contains(&self, x: i64, y: i64) -> bool {
        (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y)
    }

    fn map<U>(&self, of: impl Fn(i64, i64) -> U) -> Vec<U> {
        let width = self.width as i64;
        (0..self.values.len() as i64).map(|i| of(i % width, i / width)).collect()
    }
}

fn small_ints(seed: u64, len: usize) -> Vec<i32> {
    Random::new(seed).words_below(len, 2001).iter().map(|word| word.cast_signed() - 1000).collect()
}

pub(super) fn stencil_1d() -> Vec<Case> {
    let mut cases = in_groups("sum_of_neighbours", &SIZES, |size| {
        let n = groups_of(size) * size - size / 4;
        let input = small_ints(130, n);
        let expected = (0..n).map(|i| input[i.saturating_sub(3)..n.min(i + 4)].iter().sum()).collect();
        let arguments = [mem(0), mem(1), int(n), local::<i32>(size + 6)];
        let launches = vec![launch("sum_of_neighbours", covering_1d(n, size), arguments)];
        (vec![Memory::of(&input), Memory::unset::<i32>(n)], launches, equal::<i32>(1, expected))
    });
    for steps in [1, 4] {
        cases.extend(in_groups(&format!("{steps} of several_steps"), &SIZES, |size| {
            several_steps(size, steps)
        }));
    }
    cases.extend(in_groups("walking", &SIZES, walking));
    cases
}

fn covering_1d(n: usize, size: usize) -> Space {
    Space::d1(n.div_ceil(size) * size, size)
}

fn several_steps(size: usize, steps: usize) -> Parts {
    let n = groups_of(size) * size - size / 4;
    let input = small_ints(131, n);
    let mut expected = input.clone();
    for _ in 0..steps {
        let a = expected.clone();
        for i in 0..n {
            expected[i] = a[i.saturating_sub(1)] + 2 * a[i] - a[(i + 1).min(n - 1)];
        }
    }
    let room = local::<i32>(size + 2 * steps);
    let arguments = [mem(0), mem(1), int(n), int(steps), room.clone(), room];
    let launches = vec![launch("several_steps", covering_1d(n, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<i32>(n)], launches, equal(1, expected))
}

fn walking(size: usize) -> Parts {
    let (width, height) = (groups_of(size) * size - size / 4, 9);
    let input = small_ints(132, width * height);
    let plane = Plane { values: &input, width, height };
    let or_zero = |x, y| if plane.contains(x, y) { plane.at(x, y) } else { 0 };
    let expected = plane.map(|x, y| or_zero(x, y - 1) - 2 * plane.at(x, y) + or_zero(x, y + 1));
    let launches =
        vec![launch("walking", covering_1d(width, size), [mem(0), mem(1), int(width), int(height)])];
    (vec![Memory::of(&input), Memory::unset::<i32>(width * height)], launches, equal(1, expected))
}

const WIDTH: usize = 45;
const HEIGHT: usize = 38;

/// A launch `(in, out, width, height, local)` on a plane of [`WIDTH`] by [`HEIGHT`].
fn on_plane(kernel: &str, shape: [usize; 2], locals: Option<Argument>) -> Vec<crate::case::Launch> {
    let mut arguments = vec![mem(0), mem(1), int(WIDTH), int(HEIGHT)];
    arguments.extend(locals);
    vec![launch(kernel, covering([WIDTH, HEIGHT], shape), arguments)]
}

pub(super) fn stencil_2d() -> Vec<Case> {
    let mut cases = in_shapes("jacobi", &SHAPES, jacobi);
    cases.extend(in_shapes("blur_tiled", &SHAPES, |[x, y]| {
        let input = Random::new(134).bytes(WIDTH * HEIGHT);
        let plane = Plane { values: &input, width: WIDTH, height: HEIGHT };
        let weight = |d: i64| 2 - d.abs();
        let expected = plane.map(|x, y| {
            let all = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
            let sum: i64 =
                all.map(|(dx, dy)| weight(dx) * weight(dy) * i64::from(plane.at(x + dx, y + dy))).sum();
            ((sum + 8) / 16) as u8
        });
        let launches = on_plane("blur_tiled", [x, y], Some(local::<u8>((x + 2) * (y + 2))));
        (vec![Memory::of(&input), Memory::unset::<u8>(WIDTH * HEIGHT)], launches, equal(1, expected))
    }));
    cases.extend(in_shapes("edges_load", &SHAPES, |[x, y]| {
        let input = small_ints(135, WIDTH * HEIGHT);
        let plane = Plane { values: &input, width: WIDTH, height: HEIGHT };
        let or_zero = |x, y| if plane.contains(x, y) { plane.at(x, y) } else { 0 };
        let expected = plane.map(|x, y| {
            4 * or_zero(x, y) - or_zero(x - 1, y) - or_zero(x + 1, y) - or_zero(x, y - 1) - or_zero(x, y + 1)
        });
        let launches = on_plane("edges_load", [x, y], Some(local::<i32>((x + 2) * (y + 2))));
        (vec![Memory::of(&input), Memory::unset::<i32>(WIDTH * HEIGHT)], launches, equal(1, expected))
    }));
    cases.extend(in_shapes("sobel", &SHAPES, sobel));
    cases.extend(in_shapes("median", &SHAPES, |shape| {
        let input = Random::new(137).bytes(WIDTH * HEIGHT);
        let plane = Plane { values: &input, width: WIDTH, height: HEIGHT };
        let expected = plane.map(|x, y| {
            let mut nine: Vec<u8> = (0..9).map(|k| plane.at(x + k % 3 - 1, y + k / 3 - 1)).collect();
            nine.sort_unstable();
            nine[4]
        });
        let launches = on_plane("median", shape, None);
        (vec![Memory::of(&input), Memory::unset::<u8>(WIDTH * HEIGHT)], launches, equal(1, expected))
    }));
    cases
}

fn jacobi(shape: [usize; 2]) -> Parts {
    let input = Random::new(133).floats(WIDTH * HEIGHT, 1.0, 2.0);
    let mut expected = input.clone();
    for _ in 0..2 {
        let plane = Plane { values: &expected, width: WIDTH, height: HEIGHT };
        let is_border = |x, y| !plane.contains(x - 1, y - 1) || !plane.contains(x + 1, y + 1);
        expected = plane.map(|x, y| {
            let around = [plane.at(x - 1, y), plane.at(x + 1, y), plane.at(x, y - 1), plane.at(x, y + 1)];
            if is_border(x, y) { plane.at(x, y) } else { around.iter().sum::<f32>() / 4.0 }
        });
    }
    let mut launches = on_plane("jacobi", shape, None);
    launches.push(launches[0].clone());
    launches[1].arguments.swap(0, 1);
    // Three additions of numbers alike: a few half ulps.
    (vec![Memory::of(&input), Memory::unset::<f32>(WIDTH * HEIGHT)], launches, close(0, expected, 1e-6, 0.0))
}

fn sobel(shape: [usize; 2]) -> Parts {
    let input = Random::new(136).bytes(WIDTH * HEIGHT);
    let plane = Plane { values: &input, width: WIDTH, height: HEIGHT };
    let expected = plane.map(|x, y| {
        let p = |dx, dy| i32::from(plane.at(x + dx, y + dy));
        let across: i32 = (-1..=1).map(|d: i64| (2 - d.abs() as i32) * (p(1, d) - p(-1, d))).sum();
        let down: i32 = (-1..=1).map(|d: i64| (2 - d.abs() as i32) * (p(d, 1) - p(d, -1))).sum();
        (across.abs() + down.abs()) as u16
    });
    let launches = on_plane("sobel", shape, None);
    (vec![Memory::of(&input), Memory::unset::<u16>(WIDTH * HEIGHT)], launches, equal(1, expected))
}

pub(super) fn hotspot() -> Vec<Case> {
    let of_steps =
        |steps| in_shapes(&format!("hotspot of {steps}"), &SHAPES, move |shape| heated(shape, steps));
    [1, 3].into_iter().flat_map(of_steps).collect()
}

fn heated([x, y]: [usize; 2], steps: usize) -> Parts {
    let mut random = Random::new(138);
    let temperature = random.floats(WIDTH * HEIGHT, 40.0, 80.0);
    let power = random.floats(WIDTH * HEIGHT, 0.0, 3.0);
    let mut now: Vec<f64> = temperature.iter().map(|t| f64::from(*t)).collect();
    for _ in 0..steps {
        let plane = Plane { values: &now, width: WIDTH, height: HEIGHT };
        now = plane.map(|x, y| {
            let around = plane.at(x - 1, y) + plane.at(x + 1, y) + plane.at(x, y - 1) + plane.at(x, y + 1);
            let power = f64::from(power[y as usize * WIDTH + x as usize]);
            plane.at(x, y) + 0.1 * (power + around - 4.0 * plane.at(x, y))
        });
    }
    let expected = now.iter().map(|t| *t as f32).collect();
    let room = local::<f32>((x + 2 * steps) * (y + 2 * steps));
    let arguments = [mem(0), mem(1), mem(2), int(WIDTH), int(HEIGHT), int(steps), room.clone(), room];
    let launches = vec![launch("hotspot", covering([WIDTH, HEIGHT], [x, y]), arguments)];
    let memory = vec![Memory::of(&temperature), Memory::of(&power), Memory::unset::<f32>(WIDTH * HEIGHT)];
    // Intermediate values reach 400, whose half ulp is 1.5e-5; a tenth of a few of those remains.
    (memory, launches, close(2, expected, 1e-6, 1e-4))
}

pub(super) fn life() -> Vec<Case> {
    let mut cases = in_shapes("generation", &SHAPES, |shape| {
        let input = cells(139, WIDTH * HEIGHT);
        let mut launches = Vec::new();
        for turn in 0..3 {
            let arguments = [mem(turn % 2), mem(1 - turn % 2), int(WIDTH), int(HEIGHT)];
            launches.push(launch("generation", covering([WIDTH, HEIGHT], shape), arguments));
        }
        let memory = vec![Memory::of(&input), Memory::unset::<u8>(WIDTH * HEIGHT)];
        (memory, launches, equal(1, lived(&input, WIDTH, 3)))
    });
    for generations in [1, 6] {
        cases.extend(in_groups(&format!("{generations} of many_generations"), &SIZES, |size| {
            let (width, height, groups) = (11, 9, 3);
            let input = cells(140, width * height * groups);
            let expected =
                input.chunks(width * height).flat_map(|world| lived(world, width, generations)).collect();
            let room = local::<u8>(width * height);
            let arguments = [mem(0), int(width), int(height), int(generations), room.clone(), room];
            let launches = vec![launch("many_generations", Space::d1(groups * size, size), arguments)];
            (vec![Memory::of(&input)], launches, equal(0, expected))
        }));
    }
    cases.extend(in_shapes("packed_words", &SHAPES, |shape| {
        let (words, height) = (5, 31);
        let input = cells(141, 32 * words * height);
        let pack = |cells: &[u8]| -> Vec<u32> {
            let word = |bits: &[u8]| bits.iter().rev().fold(0, |word, bit| word << 1 | u32::from(*bit));
            cells.chunks(32).map(word).collect()
        };
        let expected = pack(&lived(&input, 32 * words, 1));
        let arguments = [mem(0), mem(1), int(words), int(height)];
        let launches = vec![launch("packed_words", covering([words, height], shape), arguments)];
        (vec![Memory::of(&pack(&input)), Memory::unset::<u32>(words * height)], launches, equal(1, expected))
    }));
    cases
}

fn cells(seed: u64, len: usize) -> Vec<u8> {
    Random::new(seed).words_below(len, 5).iter().map(|word| u8::from(*word < 2)).collect()
}

fn lived(cells: &[u8], width: usize, generations: usize) -> Vec<u8> {
    let height = cells.len() / width;
    let mut cells = cells.to_vec();
    for _ in 0..generations {
        let plane = Plane { values: &cells, width, height };
        let wrapped = |x: i64, y: i64| plane.at(x.rem_euclid(width as i64), y.rem_euclid(height as i64));
        cells = plane.map(|x, y| {
            let nine: u8 = (0..9).map(|k| wrapped(x + k % 3 - 1, y + k / 3 - 1)).sum();
            u8::from(nine == 3 || nine == 4 && plane.at(x, y) == 1)
        });
    }
    cells
}

pub(super) fn heat_3d() -> Vec<Case> {
    let shapes = [[1, 1, 1], [2, 1, 1], [3, 3, 1], [4, 4, 2], [4, 4, 4], [10, 5, 2], [8, 8, 4]];
    let (size, c) = ([14, 11, 9], 0.1f32);
    let [width, height, depth] = size;
    let input = Random::new(142).floats(width * height * depth, 0.0, 10.0);
    let expected = heated_3d(&input, size, f64::from(c));
    let memory = vec![Memory::of(&input), Memory::unset::<f32>(input.len())];
    let arguments = [mem(0), mem(1), int(width), int(height), int(depth), Argument::value(c)];
    // Values up to 60 enter, whose half ulp is 2e-6.
    let check = || close(1, expected.clone(), 1e-6, 1e-5);
    let in_3d = |[x, y, z]: [usize; 3]| {
        let global = [width.div_ceil(x) * x, height.div_ceil(y) * y, depth.div_ceil(z) * z];
        let space = Space::d3(global, [x, y, z]);
        let launches = vec![launch("seven_points", space, arguments.clone())];
        case(format!("seven_points in groups of {x}x{y}x{z}"), (memory.clone(), launches, check()))
    };
    let mut cases: Vec<Case> = shapes.into_iter().map(in_3d).collect();
    cases.extend(in_shapes("walking_planes", &SHAPES, |[x, y]| {
        let mut arguments = arguments.to_vec();
        arguments.push(local::<f32>((x + 2) * (y + 2)));
        let launches = vec![launch("walking_planes", covering([width, height], [x, y]), arguments)];
        (memory.clone(), launches, check())
    }));
    cases
}

fn heated_3d(input: &[f32], [width, height, depth]: [usize; 3], c: f64) -> Vec<f32> {
    let at = |x: usize, y: usize, z: usize| f64::from(input[(z * height + y) * width + x]);
    let mut all = input.to_vec();
    for z in 1..depth - 1 {
        for y in 1..height - 1 {
            for x in 1..width - 1 {
                let around = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z);
                let around = around + at(x, y, z - 1) + at(x, y, z + 1);
                all[(z * height + y) * width + x] = (at(x, y, z) + c * (around - 6.0 * at(x, y, z))) as f32;
            }
        }
    }
    all
}

pub(super) fn convolution() -> Vec<Case> {
    let mut cases = Vec::new();
    for (kernel, radius) in [("naive", 1), ("naive", 2), ("tiled", 1), ("tiled", 3)] {
        let name = format!("{kernel} with radius {radius}");
        cases.extend(in_shapes(&name, &SHAPES, |shape| convolved(kernel, radius, shape)));
    }
    cases.extend(in_groups("rows and columns", &SIZES, separated));
    cases.extend(in_groups("one_dimension", &SIZES, one_dimension));
    cases
}

fn filtered(input: &[f32], filter: &[f64], radius: i64) -> Vec<f32> {
    let plane = Plane { values: input, width: WIDTH, height: HEIGHT };
    let side = 2 * radius + 1;
    plane.map(|x, y| {
        let term = |(k, weight): (usize, &f64)| {
            let (dx, dy) = (k as i64 % side - radius, k as i64 / side - radius);
            weight * f64::from(plane.at(x + dx, y + dy))
        };
        filter.iter().enumerate().map(term).sum::<f64>() as f32
    })
}

fn convolved(kernel: &str, radius: usize, [x, y]: [usize; 2]) -> Parts {
    let side = 2 * radius + 1;
    let mut random = Random::new(143);
    let (input, filter) = (random.floats(WIDTH * HEIGHT, 0.0, 1.0), random.floats(side * side, 0.0, 1.0));
    let wide: Vec<f64> = filter.iter().map(|x| f64::from(*x)).collect();
    let expected = filtered(&input, &wide, radius as i64);
    let mut arguments = vec![mem(0), mem(1), mem(2), int(WIDTH), int(HEIGHT), int(radius)];
    if kernel == "tiled" {
        arguments.push(local::<f32>((x + 2 * radius) * (y + 2 * radius)));
    }
    let launches = vec![launch(kernel, covering([WIDTH, HEIGHT], [x, y]), arguments)];
    let memory = vec![Memory::of(&input), Memory::of(&filter), Memory::unset::<f32>(input.len())];
    // At most 49 positive terms.
    (memory, launches, close(2, expected, 1e-5, 0.0))
}

fn separated(size: usize) -> Parts {
    let input = Random::new(144).floats(WIDTH * HEIGHT, 0.0, 1.0);
    let weights = [1.0, 4.0, 6.0, 4.0, 1.0].map(|weight: f64| weight / 16.0);
    let filter: Vec<f64> = weights.iter().flat_map(|a| weights.map(|b| a * b)).collect();
    let expected = filtered(&input, &filter, 2);
    let space = covering([WIDTH, HEIGHT], [size, 1]);
    let launches = vec![
        launch("rows", space, [mem(0), mem(1), int(WIDTH), local::<f32>(size + 4)]),
        launch("columns", space, [mem(1), mem(2), int(WIDTH), int(HEIGHT)]),
    ];
    let memory =
        vec![Memory::of(&input), Memory::unset::<f32>(input.len()), Memory::unset::<f32>(input.len())];
    (memory, launches, close(2, expected, 1e-6, 0.0))
}

fn one_dimension(size: usize) -> Parts {
    let (n, taps) = (groups_of(size) * size - size / 4, 12);
    let mut random = Random::new(145);
    let shorts =
        |words: Vec<u32>| words.iter().map(|word| (*word as i32 - 2048) as i16).collect::<Vec<i16>>();
    let (input, filter) = (shorts(random.words_below(n, 4096)), shorts(random.words_below(taps, 4096)));
    let element =
        |i: usize| (0..taps.min(i + 1)).map(|k| i32::from(input[i - k]) * i32::from(filter[k])).sum::<i32>();
    let expected = (0..n).map(element).collect();
    let arguments = [mem(0), mem(1), mem(2), int(n), int(taps), local::<i16>(taps)];
    let launches = vec![launch("one_dimension", covering_1d(n, size), arguments)];
    (vec![Memory::of(&input), Memory::of(&filter), Memory::unset::<i32>(n)], launches, equal(2, expected))
}
