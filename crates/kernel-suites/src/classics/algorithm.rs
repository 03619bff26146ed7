//! Primes, fractals, searches, hash tables, clusters, contours and double precision.

use super::common::{
    Parts, Random, SHAPES, SIZES, all, case, close, enough, equal, groups_of, in_groups, in_shapes, int,
    launch, local, mem, uint,
};
use super::matrix::covering;
use crate::case::{Argument, Case, Check, Memory, Space, elements};

fn is_prime(n: u32) -> bool {
    n >= 2
        && (2..)
            .take_while(|d| u64::from(*d) * u64::from(*d) <= u64::from(n))
            .all(|d: u32| !n.is_multiple_of(d))
}

pub(super) fn prime_sieve() -> Vec<Case> {
    let n = 5000;
    let mut cases = in_groups("cross_out", &SIZES, |size| {
        let expected = (0..n as u32).map(|k| u8::from(k >= 2 && !is_prime(k))).collect();
        let launches = vec![launch("cross_out", enough(70, size), [mem(0), uint(n)])];
        (vec![Memory::of(&vec![0u8; n])], launches, equal(0, expected))
    });
    cases.extend(in_groups("segment", &SIZES, |size| {
        let (length, groups) = (1024usize, 4);
        let all_words: Vec<u32> = (0..groups * length / 32)
            .map(|w| (0..32).map(|b| u32::from(is_prime((32 * w + b) as u32)) << b).sum())
            .collect();
        let found: Vec<u32> = all_words
            .chunks(length / 32)
            .map(|words| words.iter().map(|word| word.count_ones()).sum())
            .collect();
        let primes: Vec<u32> = (2..64).filter(|p| is_prime(*p)).collect();
        let memory =
            vec![Memory::of(&primes), Memory::unset::<u32>(all_words.len()), Memory::unset::<u32>(groups)];
        let arguments = [mem(0), uint(primes.len()), uint(length), mem(1), mem(2), local::<u8>(length)];
        let launches = vec![launch("segment", Space::d1(groups * size, size), arguments)];
        (memory, launches, all(vec![equal(1, all_words), equal(2, found)]))
    }));
    for (kernel, bits) in [("is_prime", 12), ("miller_rabin", 0)] {
        cases.extend(in_groups(kernel, &SIZES, |size| {
            let n = groups_of(size) * size;
            let mut random = Random::new(290);
            let mut input: Vec<u32> = (0..n).map(|_| random.u32() >> (bits + random.below(20)) | 1).collect();
            let known = [2, 3, 25, 2047, 0, 1, 4];
            for (to, from) in input.iter_mut().zip(known) {
                *to = from;
            }
            let expected = input.iter().map(|x| u8::from(is_prime(*x))).collect();
            let launches = vec![launch(kernel, Space::d1(n, size), [mem(0), mem(1)])];
            (vec![Memory::of(&input), Memory::unset::<u8>(n)], launches, equal::<u8>(1, expected))
        }));
    }
    cases.extend(in_groups("common_divisors", &SIZES, |size| {
        let n = groups_of(size) * size;
        let mut random = Random::new(291);
        let pair = |i: usize| {
            let factor = 1 + random.below(500) as u32;
            let mut other = || factor * random.below(5000) as u32;
            if i == 1 { [0, 12] } else { [other(), other()] }
        };
        let input: Vec<[u32; 2]> = (0..n).map(pair).collect();
        let exact = |[a, b]: &[u32; 2]| {
            let (mut a, mut b) = (u64::from(*a), u64::from(*b));
            while a != 0 {
                (a, b) = (b % a, a);
            }
            [b as u32; 2]
        };
        let expected = input.iter().map(exact).collect();
        let launches = vec![launch("common_divisors", Space::d1(n, size), [mem(0), mem(1)])];
        (vec![Memory::of(&input), Memory::unset::<[u32; 2]>(n)], launches, equal::<[u32; 2]>(1, expected))
    }));
    cases
}

pub(super) fn mandelbrot() -> Vec<Case> {
    let (width, height, limit) = (48usize, 34usize, 60usize);
    let arguments = [mem(0), int(width), int(height), int(limit)];
    let mut cases = in_shapes("fixed_point", &SHAPES, |shape| {
        let one = 1i64 << 24;
        let pixel = |at: usize| {
            let cx = (at % width * 3) as i64 * one / width as i64 - 2 * one;
            let cy = (at / width * 2) as i64 * one / height as i64 - one;
            let (mut x, mut y) = (0i64, 0i64);
            for i in 0..limit {
                let (xx, yy) = ((x * x).div_euclid(one), (y * y).div_euclid(one));
                if xx + yy > 4 * one {
                    return i as u8;
                }
                (x, y) = (xx - yy + cx, (2 * x * y).div_euclid(one) + cy);
            }
            limit as u8
        };
        let expected = (0..width * height).map(pixel).collect();
        let launches = vec![launch("fixed_point", covering([width, height], shape), arguments.clone())];
        (vec![Memory::unset::<u8>(width * height)], launches, equal::<u8>(0, expected))
    });
    cases.extend(in_shapes("floats", &SHAPES, |shape| {
        let launches = vec![launch("floats", covering([width, height], shape), arguments.clone())];
        (vec![Memory::unset::<u8>(width * height)], launches, escapes(width, height, limit))
    }));
    cases.extend(in_shapes("vectors", &SHAPES, |shape| {
        let launches = vec![launch("vectors", covering([width / 4, height], shape), arguments.clone())];
        (vec![Memory::unset::<u8>(width * height)], launches, escapes(width, height, limit))
    }));
    cases
}

/// Steps of single and of double precision. Where both agree, fused operations do not matter either.
fn escapes(width: usize, height: usize, limit: usize) -> Check {
    let single = |at: usize| {
        let cx = 3.0 * (at % width) as f32 / width as f32 - 2.0;
        let cy = 2.0 * (at / width) as f32 / height as f32 - 1.0;
        let (mut x, mut y) = (0f32, 0f32);
        (0..limit).find(|_| {
            let is_out = x * x + y * y > 4.0;
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            is_out
        })
    };
    let double = |at: usize| {
        let cx = 3.0 * (at % width) as f64 / width as f64 - 2.0;
        let cy = 2.0 * (at / width) as f64 / height as f64 - 1.0;
        let (mut x, mut y) = (0f64, 0f64);
        (0..limit).find(|_| {
            let is_out = x * x + y * y > 4.0;
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            is_out
        })
    };
    let steps: Vec<[u8; 2]> =
        (0..width * height).map(|at| [single(at), double(at)].map(|n| n.unwrap_or(limit) as u8)).collect();
    Box::new(move |memory| {
        let wrong = |at: &usize| steps[*at][0] == steps[*at][1] && memory[0][*at] != steps[*at][0];
        let all_wrong: Vec<usize> = (0..steps.len()).filter(wrong).collect();
        // A few pixels at the edge may differ by rounding alone.
        if all_wrong.len() <= steps.len() / 100 {
            return Ok(());
        }
        let at = all_wrong[0];
        Err(format!(
            "memory 0[{at}] is {}, not {}; {} are wrong",
            memory[0][at],
            steps[at][0],
            all_wrong.len()
        ))
    })
}

pub(super) fn two_bounds() -> Vec<Case> {
    let unset = i32::from_ne_bytes([0xCD; 4]);
    let line =
        |size: usize, arguments: Vec<Argument>, kernel: &str, of: &dyn Fn(i32) -> Option<i32>| -> Parts {
            let n = groups_of(size) * size;
            let expected = (0..n as i32).map(|i| of(i).unwrap_or(unset)).collect();
            let launches = vec![launch(kernel, Space::d1(n, size), [vec![mem(0)], arguments].concat())];
            (vec![Memory::unset::<i32>(n)], launches, equal(0, expected))
        };
    let ints = |values: &[i32]| values.iter().map(|value| Argument::value(*value)).collect::<Vec<Argument>>();
    let mut cases = Vec::new();
    for (n, m, d) in [(3, 5, 4), (4, 5, 3), (2, 1, 2), (300, 38, 40)] {
        cases.extend(in_groups(&format!("early_return {n} {m} {d}"), &SIZES, |size| {
            let of = |i: i32| (i <= n && d - i <= m).then_some(100 * i + d - i);
            line(size, ints(&[n, m, d]), "early_return", &of)
        }));
        cases.extend(in_groups(&format!("block {n} {d}"), &SIZES, |size| {
            line(size, ints(&[n, d]), "block", &|i| (i <= n && d >= i).then_some(100 * i + d - i))
        }));
    }
    cases.extend(in_groups("band", &SIZES, |size| {
        let (low, high, d) = (1, 3, 6);
        let of = |i: i32| (i >= low && d - i >= low && 2 * i - d <= high).then_some(100 * i + d - i);
        line(size, ints(&[low, high, d]), "band", &of)
    }));
    cases.extend(in_shapes("triangle", &SHAPES, |[x, y]| {
        let [width, height, n] = [3 * x + 8 / x * x, 3 * y, 7];
        let of = |at: usize| {
            let [x, y] = [at % width, at / width];
            let is_inside = x < n && y < n && x >= y && n - x >= 2;
            if is_inside { (x - y) as i32 } else { unset }
        };
        let expected = (0..width * height).map(of).collect();
        let launches = vec![launch("triangle", Space::d2([width, height], [x, y]), [mem(0), int(n)])];
        (vec![Memory::unset::<i32>(width * height)], launches, equal(0, expected))
    }));
    for (low, high, d) in [(-4, -1, 1), (-4, 1, 1), (-4, -3, 3), (2, 7, 2)] {
        cases.extend(in_groups(&format!("shifted_band {low} {high} {d}"), &SIZES, |size| {
            let of = |i: i32| (low < i - d && i - d <= high).then_some(i + 1);
            line(size, ints(&[low, high, d]), "shifted_band", &of)
        }));
    }
    for is_mirrored in [0, 1] {
        cases.extend(in_groups(&format!("lanes {is_mirrored}"), &SIZES, |size| {
            let (n, d) = (2, 6);
            let at = |i: i32| if is_mirrored == 1 { d - i - 1 } else { i };
            let of = |i: i32| (d - i >= n && at(i) >= n).then_some(d - i);
            line(size, ints(&[n, d, is_mirrored]), "lanes", &of)
        }));
    }
    cases.extend(in_groups("usual", &SIZES, |size| {
        let n = groups_of(size) as i32 + 1;
        line(size, ints(&[n]), "usual", &|i| (i < n).then_some(i))
    }));
    cases.extend(in_groups("mirrored", &SIZES, |size| {
        let (total, n) = (groups_of(size) * size, 3);
        let of = |at: i32| {
            let id = total as i32 - 1 - at;
            let (i, j) = (id - n, 2 * n - id);
            (i >= 0 && j >= 0).then_some(j)
        };
        line(size, ints(&[n, total as i32]), "mirrored", &of)
    }));
    cases
}

fn collatz_steps(n: u64) -> u32 {
    let next = |x: &u64| (*x > 1).then(|| if x.is_multiple_of(2) { x / 2 } else { 3 * x + 1 });
    std::iter::successors(Some(n), next).count() as u32 - 1
}

pub(super) fn collatz() -> Vec<Case> {
    let mut cases = in_groups("steps", &SIZES, |size| {
        let n = groups_of(size) * size;
        let first = 113_000usize;
        let expected = (0..n).map(|i| collatz_steps((first + i) as u64)).collect();
        let launches = vec![launch("steps", Space::d1(n, size), [mem(0), uint(first)])];
        (vec![Memory::unset::<u32>(n)], launches, equal::<u32>(0, expected))
    });
    cases.extend(in_groups("longest", &SIZES, |size| {
        let n = groups_of(size) * size;
        let starts: Vec<u32> = (1..=n as u32).collect();
        let longest = |starts: &[u32]| {
            let steps = starts.iter().map(|start| (collatz_steps(u64::from(*start)), *start));
            let best = steps.max_by_key(|(steps, start)| (*steps, u32::MAX - start)).unwrap_or_default();
            [best.0, best.1]
        };
        let expected = starts.chunks(size).map(longest).collect();
        let arguments = [mem(0), uint(1), local::<u32>(size), local::<u32>(size)];
        let launches = vec![launch("longest", Space::d1(n, size), arguments)];
        (vec![Memory::unset::<[u32; 2]>(n / size)], launches, equal::<[u32; 2]>(0, expected))
    }));
    cases
}

pub(super) fn binary_search() -> Vec<Case> {
    let n = 777;
    let mut sorted: Vec<i32> =
        Random::new(292).words_below(n, 1000).iter().map(|x| x.cast_signed()).collect();
    sorted.sort_unstable();
    let keys = |len: usize| -> Vec<i32> {
        let mut random = Random::new(293);
        (0..len).map(|_| random.below(1004) as i32 - 2).collect()
    };
    let below = |key: i32| sorted.iter().filter(|x| **x < key).count() as u32;
    let mut cases = in_groups("bounds", &SIZES, |size| {
        let keys = keys(groups_of(size) * size);
        let expected = keys.iter().map(|key| [below(*key), below(key + 1)]).collect();
        let memory = vec![Memory::of(&sorted), Memory::of(&keys), Memory::unset::<[u32; 2]>(keys.len())];
        let arguments = [mem(0), uint(n), mem(1), mem(2)];
        (
            memory,
            vec![launch("bounds", Space::d1(keys.len(), size), arguments)],
            equal::<[u32; 2]>(2, expected),
        )
    });
    cases.extend(in_groups("branchless", &SIZES, |size| {
        let keys = keys(groups_of(size) * size);
        let expected = keys.iter().map(|key| below(*key)).collect();
        let memory = vec![Memory::of(&sorted), Memory::of(&keys), Memory::unset::<u32>(keys.len())];
        let arguments = [mem(0), uint(n), mem(1), mem(2)];
        (
            memory,
            vec![launch("branchless", Space::d1(keys.len(), size), arguments)],
            equal::<u32>(2, expected),
        )
    }));
    cases.extend(in_groups("heap_order", &SIZES, |size| {
        let keys = keys(groups_of(size) * size);
        let expected =
            keys.iter().map(|key| sorted.iter().copied().find(|x| x >= key).unwrap_or(i32::MAX)).collect();
        let mut heap = vec![0; n + 1];
        let mut left = sorted.iter();
        fill(&mut heap, 1, &mut left);
        let memory = vec![Memory::of(&heap), Memory::of(&keys), Memory::unset::<i32>(keys.len())];
        let arguments = [mem(0), uint(n), mem(1), mem(2)];
        (
            memory,
            vec![launch("heap_order", Space::d1(keys.len(), size), arguments)],
            equal::<i32>(2, expected),
        )
    }));
    cases.extend(in_groups("by_group", &SIZES, |size| {
        let keys = keys(9);
        let expected = keys.iter().map(|key| below(*key)).collect();
        let memory = vec![Memory::of(&sorted), Memory::of(&keys), Memory::unset::<u32>(keys.len())];
        let arguments = [mem(0), uint(n), mem(1), mem(2)];
        let launches = vec![launch("by_group", Space::d1(keys.len() * size, size), arguments)];
        (memory, launches, equal::<u32>(2, expected))
    }));
    cases
}

/// The node and its children get the next numbers in order.
fn fill(heap: &mut [i32], node: usize, left: &mut std::slice::Iter<'_, i32>) {
    if node < heap.len() {
        fill(heap, 2 * node, left);
        heap[node] = left.next().copied().unwrap_or_default();
        fill(heap, 2 * node + 1, left);
    }
}

fn repeated_keys(seed: u64, n: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    let different = random.words(n / 3 + 1);
    (0..n).map(|_| different[random.below(different.len())] & 0x7FFF_FFFF).collect()
}

fn count(keys: &[u32], key: u32) -> u32 {
    keys.iter().filter(|other| **other == key).count() as u32
}

pub(super) fn hash_table() -> Vec<Case> {
    let mut cases = in_groups("insert and lookup", &SIZES, insert_and_lookup);
    cases.extend(in_groups("count_different", &SIZES, |size| {
        let n = groups_of(size) * size;
        let keys: Vec<u32> = keys_of_groups(size, n);
        let different = |keys: &[u32]| keys.iter().collect::<std::collections::HashSet<_>>().len() as u32;
        let expected = keys.chunks(size).map(different).collect();
        let slots = (2 * size).next_power_of_two();
        let arguments = [mem(0), mem(1), local::<u32>(slots), uint(slots - 1)];
        let launches = vec![launch("count_different", Space::d1(n, size), arguments)];
        (vec![Memory::of(&keys), Memory::unset::<u32>(n / size)], launches, equal(1, expected))
    }));
    cases.extend(in_groups("push and walk", &SIZES, |size| {
        let n = groups_of(size) * size;
        let keys = repeated_keys(296, n);
        let expected = keys.iter().map(|key| count(&keys, *key)).collect();
        let buckets = 64usize;
        let memory = vec![
            Memory::of(&keys),
            Memory::of(&vec![-1i32; buckets]),
            Memory::unset::<i32>(n),
            Memory::unset::<u32>(n),
        ];
        let launches = vec![
            launch("push", Space::d1(n, size), [mem(0), mem(1), mem(2), uint(buckets - 1)]),
            launch("walk", Space::d1(n, size), [mem(0), mem(1), mem(2), uint(buckets - 1), mem(3)]),
        ];
        (memory, launches, equal(3, expected))
    }));
    cases.extend(in_groups("maximum_of_floats", &SIZES, |size| {
        let n = groups_of(size) * size;
        let input = Random::new(297).floats(n, -100.0, 1000.0);
        let best = input.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let memory = vec![Memory::of(&input), Memory::of(&[f32::NEG_INFINITY])];
        let launches = vec![launch("maximum_of_floats", Space::d1(n, size), [mem(0), mem(1)])];
        (memory, launches, equal(1, vec![best]))
    }));
    cases
}

fn keys_of_groups(size: usize, n: usize) -> Vec<u32> {
    (0..n / size).flat_map(|group| repeated_keys(295 + group as u64, size)).collect()
}

fn insert_and_lookup(size: usize) -> Parts {
    let n = groups_of(size) * size - size / 3;
    let keys = repeated_keys(294, n);
    let slots = (2 * n).next_power_of_two();
    let mut queries: Vec<u32> = keys.iter().step_by(2).copied().chain([7, 8, 9]).collect();
    let space = Space::d1(n.div_ceil(size) * size, size);
    queries.resize(space.global[0], 11);
    let memory = vec![
        Memory::of(&keys),
        Memory::of(&vec![u32::MAX; slots]),
        Memory::of(&vec![0u32; slots]),
        Memory::of(&queries),
        Memory::unset::<u32>(queries.len()),
    ];
    let launches = vec![
        launch("insert", space, [mem(0), uint(n), mem(1), mem(2), uint(slots - 1)]),
        launch("lookup", space, [mem(3), mem(1), mem(2), uint(slots - 1), mem(4)]),
    ];
    let found = queries.iter().map(|key| count(&keys, *key)).collect();
    // The order of the slots depends on who was first.
    let each_once = Box::new(move |memory: &[Vec<u8>]| {
        let mut used: Vec<u32> = elements(&memory[1]);
        used.retain(|key| *key != u32::MAX);
        used.sort_unstable();
        let mut different = keys.clone();
        different.sort_unstable();
        different.dedup();
        if used == different {
            Ok(())
        } else {
            Err(format!("memory 1 has {} keys, not {}", used.len(), different.len()))
        }
    });
    (memory, launches, all(vec![equal::<u32>(4, found), each_once]))
}

pub(super) fn k_means() -> Vec<Case> {
    in_groups("k_means", &SIZES, |size| {
        let (n, k) = (350usize, 5usize);
        let mut random = Random::new(298);
        let mut point = || [random.below(2000) as i32 - 1000, random.below(2000) as i32 - 1000];
        let points: Vec<[i32; 2]> = (0..n).map(|_| point()).collect();
        let mut centres: Vec<[i32; 2]> = points[..k].to_vec();
        let memory = vec![
            Memory::of(&points),
            Memory::of(&centres),
            Memory::unset::<i32>(n),
            Memory::of(&vec![0i32; 3 * k]),
        ];
        let (mut launches, mut clusters) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let assigned = [mem(0), int(n), mem(1), int(k), mem(2), local::<[i32; 2]>(k)];
            launches.push(launch("assign", enough(n, size), assigned));
            let added = [mem(0), int(n), mem(2), int(k), mem(3), local::<i32>(3 * k)];
            launches.push(launch("accumulate", enough(n, size), added));
            launches.push(launch("update", Space::d1(8, 8), [mem(1), int(k), mem(3)]));
            let distance = |p: &[i32; 2], c: &[i32; 2]| {
                let d = [0, 1].map(|i| i64::from(p[i] - c[i]));
                d[0] * d[0] + d[1] * d[1]
            };
            let nearest = |p: &[i32; 2]| (0..k).min_by_key(|c| distance(p, &centres[*c])).unwrap_or(0);
            clusters = points.iter().map(nearest).collect();
            for (c, centre) in centres.iter_mut().enumerate() {
                let mine: Vec<&[i32; 2]> = points
                    .iter()
                    .zip(&clusters)
                    .filter(|(_, of)| **of == c)
                    .map(|(point, _)| point)
                    .collect();
                if !mine.is_empty() {
                    *centre =
                        [0, 1].map(|i| mine.iter().map(|point| point[i]).sum::<i32>() / mine.len() as i32);
                }
            }
        }
        let clusters = clusters.iter().map(|c: &usize| *c as i32).collect();
        (
            memory,
            launches,
            all(vec![equal(1, centres), equal::<i32>(2, clusters), equal(3, vec![0i32; 3 * k])]),
        )
    })
}

pub(super) fn marching_squares() -> Vec<Case> {
    in_shapes("marching_squares", &SHAPES, |shape| {
        let (width, height, level) = (31usize, 27usize, 0.5f32);
        let field = Random::new(299).floats(width * height, 0.0, 1.0);
        // Corners and edges go around the cell from above left.
        let (mut cases, mut lines, mut count) = (Vec::new(), Vec::new(), 0u32);
        for cell in 0..(width - 1) * (height - 1) {
            let (x, y) = (cell % (width - 1), cell / (width - 1));
            let corners = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]];
            let values = corners.map(|[x, y]| field[y * width + x]);
            let above = values.map(|value| value > level);
            cases.push((0..4).map(|i| u8::from(above[i]) << i).sum::<u8>());
            // Edge i is between corners i and i + 1. A line leaves where the corners differ.
            let crossed: Vec<usize> = (0..4).filter(|i| above[*i] != above[(i + 1) % 4]).collect();
            let point = |edge: usize| {
                let next = (edge + 1) % 4;
                let part = f64::from(level - values[edge]) / f64::from(values[next] - values[edge]);
                [0, 1].map(|i| {
                    let [from, to] = [corners[edge][i], corners[next][i]].map(|c| c as f64);
                    (from + part * (to - from)) as f32
                })
            };
            let pairs = match crossed.len() {
                0 => Vec::new(),
                2 => vec![[crossed[0], crossed[1]]],
                // Each corner above the level is cut off by itself.
                _ => (0..4).filter(|i| above[*i]).map(|i| [(i + 3) % 4, i]).collect(),
            };
            count += pairs.len() as u32;
            lines.push(pairs.iter().map(|pair| pair.map(point)).collect::<Vec<_>>());
        }
        let cells = cases.len();
        let memory = vec![
            Memory::of(&field),
            Memory::unset::<u8>(cells),
            Memory::of(&[0u32]),
            Memory::unset::<[f32; 8]>(cells),
        ];
        let first = [mem(0), int(width), int(height), Argument::value(level), mem(1)];
        let space = covering([width, height], shape);
        let launches = vec![
            launch("classify", space, [&first[..], &[mem(2)]].concat()),
            launch("draw", space, [&first[..], &[mem(3)]].concat()),
        ];
        // The ends of a line are in any order.
        let drawn = Box::new(move |memory: &[Vec<u8>]| {
            let got: Vec<[f32; 8]> = elements(&memory[3]);
            for (cell, (got, lines)) in got.iter().zip(&lines).enumerate() {
                let near = |a: &[f32], b: [f32; 2]| (a[0] - b[0]).abs() < 1e-4 && (a[1] - b[1]).abs() < 1e-4;
                let is_line = |ends: &[f32], line: &[[f32; 2]; 2]| {
                    let [a, b] = *line;
                    near(ends, a) && near(&ends[2..], b) || near(ends, b) && near(&ends[2..], a)
                };
                let mut parts: Vec<&[f32]> = got.chunks(4).collect();
                parts.retain(|ends| ends[0] >= 0.0);
                let is_right = parts.len() == lines.len()
                    && lines.iter().all(|line| parts.iter().any(|ends| is_line(ends, line)));
                if !is_right {
                    return Err(format!("memory 3[{cell}] is {got:?}, not {lines:?}"));
                }
            }
            Ok(())
        });
        (memory, launches, all(vec![equal(1, cases), equal(2, vec![count]), drawn]))
    })
}

/// Doubles that differ by at most `relative` of the expected ones.
fn close_doubles(index: usize, expected: Vec<f64>, relative: f64) -> Check {
    Box::new(move |memory| {
        let got: Vec<f64> = elements(&memory[index]);
        let is_wrong = |(got, wanted): (&f64, &f64)| (got - wanted).abs() > relative * wanted.abs();
        let at = got.iter().zip(&expected).position(is_wrong);
        at.map_or(Ok(()), |at| Err(format!("memory {index}[{at}] is {}, not {}", got[at], expected[at])))
    })
}

pub(super) fn doubles() -> Vec<Case> {
    let positive = |seed: u64, n: usize| -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| 0.5 + random.u64() as f64 / u64::MAX as f64).collect()
    };
    let mut cases = in_groups("dot_product", &SIZES, |size| {
        let (groups, n) = (groups_of(size), 2000);
        let (a, b) = (positive(300, n), positive(301, n));
        let mut expected = vec![0f64; groups];
        for i in 0..n {
            expected[i % (groups * size) / size] += a[i] * b[i];
        }
        let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<f64>(groups)];
        let arguments = [mem(0), mem(1), uint(n), mem(2), local::<f64>(size)];
        let launches = vec![launch("dot_product", Space::d1(groups * size, size), arguments)];
        // At most 2000 positive terms.
        (memory, launches, close_doubles(2, expected, 1e-12))
    });
    cases.push(case("conversions", conversions()));
    cases.extend(in_groups("polynomial", &SIZES, |size| {
        let n = groups_of(size) * size;
        let (input, c) = (positive(302, n), positive(303, 9));
        let value = |x: &f64| [c.iter().rev().fold(0.0, |sum, c| sum * x + c), x.sqrt()];
        let expected = input.iter().flat_map(value).collect();
        let memory = vec![Memory::of(&input), Memory::of(&c), Memory::unset::<[f64; 2]>(n)];
        let arguments = [mem(0), mem(1), int(c.len() - 1), mem(2)];
        (memory, vec![launch("polynomial", Space::d1(n, size), arguments)], close_doubles(2, expected, 1e-14))
    }));
    cases.extend(in_groups("pi_by_midpoints", &SIZES, |size| {
        let (n, steps) = (groups_of(size) * size, 5000);
        let check = Box::new(move |memory: &[Vec<u8>]| {
            let pi: f64 = elements::<f64>(&memory[0]).iter().sum();
            // The rule's own error is 1 / (12 n²).
            let expected = std::f64::consts::PI + 1.0 / (12.0 * f64::from(steps) * f64::from(steps));
            if (pi - expected).abs() < 1e-12 {
                Ok(())
            } else {
                Err(format!("the sum is {pi}, not {expected}"))
            }
        });
        let launches = vec![launch("pi_by_midpoints", Space::d1(n, size), [uint(steps as usize), mem(0)])];
        (vec![Memory::unset::<f64>(n)], launches, check)
    }));
    cases
}

fn conversions() -> Parts {
    let n = 300;
    let mut random = Random::new(304);
    let mut input: Vec<i64> = (0..n).map(|_| random.u64().cast_signed() >> random.below(50)).collect();
    input[..3].copy_from_slice(&[i64::MAX, i64::MIN, -1]);
    // At most 52 bits are left, which doubles hold exactly.
    let whole: Vec<i64> = input.iter().map(|x| x >> 12).collect();
    let narrow = |x: &i64| (*x as f64 / 4096.0).round_ties_even() as i32;
    let memory = vec![
        Memory::of(&input),
        Memory::unset::<f64>(n),
        Memory::unset::<i64>(n),
        Memory::unset::<i32>(n),
        Memory::unset::<f32>(n),
        Memory::unset::<u64>(n),
    ];
    let check = all(vec![
        equal::<f64>(1, whole.iter().map(|x| *x as f64 / 16.0).collect()),
        equal::<i64>(2, whole.iter().map(|x| x / 16).collect()),
        equal::<i32>(3, whole.iter().map(narrow).collect()),
        close(4, whole.iter().map(|x| *x as f32).collect(), 0.0, 0.0),
        equal::<u64>(5, whole.iter().map(|x| (*x as f64).to_bits()).collect()),
    ]);
    (memory, vec![launch("conversions", Space::d1(n, 30), [0, 1, 2, 3, 4, 5].map(mem))], check)
}

#[cfg(test)]
mod tests {
    use super::{collatz_steps, is_prime};

    #[test]
    fn known_numbers_come_out() {
        assert_eq!((0..10_000).filter(|n| is_prime(*n)).count(), 1229);
        assert_eq!(collatz_steps(27), 111);
        assert_eq!(collatz_steps(837_799), 524);
    }
}
