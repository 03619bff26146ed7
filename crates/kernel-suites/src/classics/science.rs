//! Sparse matrices, graphs, bodies and Fourier transforms.

use super::common::{
    Parts, Random, SHAPES, SIZES, all, case, close, enough, equal, groups_of, in_groups, in_shapes, int,
    launch, local, mem, uint,
};
use super::matrix::covering;
use crate::case::{Argument, Case, Memory, Space};

/// Rows of columns and values.
type Sparse = Vec<Vec<(usize, f32)>>;

/// Some rows are empty, some are long.
fn sparse(rows: usize, columns: usize) -> Sparse {
    let mut random = Random::new(150);
    let mut of_row = |row: usize| -> Vec<(usize, f32)> {
        let len = match row % 7 {
            0 => 0,
            1 => 40,
            _ => random.below(12),
        };
        let mut all: Vec<usize> = (0..len).map(|_| random.below(columns)).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|column| (column, 0.5 + random.unit())).collect()
    };
    (0..rows).map(&mut of_row).collect()
}

fn starts<T>(rows: &[Vec<T>]) -> Vec<i32> {
    let mut sum = 0;
    let ends = rows.iter().map(|row| {
        sum += row.len() as i32;
        sum
    });
    std::iter::once(0).chain(ends.collect::<Vec<i32>>()).collect()
}

pub(super) fn spmv() -> Vec<Case> {
    let mut cases = in_groups("csr_scalar", &SIZES, |size| csr("csr_scalar", size));
    cases.extend(in_groups("csr_vector", &SIZES, |size| csr("csr_vector", size)));
    cases.extend(in_groups("ell", &SIZES, ell));
    cases.extend(in_groups("coo", &SIZES, coo));
    cases
}

fn times_vector(matrix: &Sparse, x: &[f32]) -> Vec<f32> {
    let row = |row: &Vec<(usize, f32)>| {
        row.iter().map(|(column, value)| f64::from(*value) * f64::from(x[*column])).sum::<f64>() as f32
    };
    matrix.iter().map(row).collect()
}

fn csr(kernel: &str, size: usize) -> Parts {
    let (rows, width) = (if kernel == "csr_vector" { 50 } else { 300 }, 120);
    let matrix = sparse(rows, width);
    let x = Random::new(151).floats(width, 0.5, 2.0);
    let columns: Vec<i32> = matrix.iter().flatten().map(|(column, _)| *column as i32).collect();
    let values: Vec<f32> = matrix.iter().flatten().map(|(_, value)| *value).collect();
    let memory = vec![
        Memory::of(&starts(&matrix)),
        Memory::of(&columns),
        Memory::of(&values),
        Memory::of(&x),
        Memory::unset::<f32>(rows),
    ];
    let mut arguments: Vec<Argument> = (0..5).map(mem).collect();
    let space = if kernel == "csr_vector" {
        arguments.push(local::<f32>(size));
        Space::d1(rows * size, size)
    } else {
        arguments.push(int(rows));
        enough(rows, size)
    };
    // All terms are positive, at most 40 in a row.
    (memory, vec![launch(kernel, space, arguments)], close(4, times_vector(&matrix, &x), 1e-5, 0.0))
}

fn ell(size: usize) -> Parts {
    let (rows, width) = (300, 120);
    let matrix = sparse(rows, width);
    let longest = matrix.iter().map(Vec::len).max().unwrap_or_default();
    let x = Random::new(152).floats(width, 0.5, 2.0);
    let (mut columns, mut values) = (vec![-1i32; rows * longest], vec![0f32; rows * longest]);
    for (row, entries) in matrix.iter().enumerate() {
        for (k, (column, value)) in entries.iter().enumerate() {
            columns[k * rows + row] = *column as i32;
            values[k * rows + row] = *value;
        }
    }
    let memory = vec![Memory::of(&columns), Memory::of(&values), Memory::of(&x), Memory::unset::<f32>(rows)];
    let arguments = [mem(0), mem(1), mem(2), mem(3), int(rows), int(longest)];
    let launches = vec![launch("ell", enough(rows, size), arguments)];
    (memory, launches, close(3, times_vector(&matrix, &x), 1e-5, 0.0))
}

fn coo(size: usize) -> Parts {
    let (rows, width, n) = (30usize, 40usize, 700);
    let mut random = Random::new(153);
    let entries: Vec<[i32; 4]> = (0..n)
        .map(|_| [random.below(rows) as i32, random.below(width) as i32, random.below(100) as i32 - 50, 0])
        .collect();
    let x: Vec<i32> = (0..width).map(|_| random.below(1000) as i32).collect();
    let mut y = vec![0i32; rows];
    for [row, column, value, _] in &entries {
        y[*row as usize] += value * x[*column as usize];
    }
    let memory = vec![Memory::of(&entries), Memory::of(&x), Memory::of(&vec![0i32; rows])];
    let launches = vec![launch("coo", enough(n, size), [mem(0), int(n), mem(1), mem(2)])];
    (memory, launches, equal(2, y))
}

/// Neighbours of each vertex. The last vertices have no edges.
fn graph(n: usize) -> Vec<Vec<i32>> {
    let mut random = Random::new(154);
    let mut graph = vec![Vec::new(); n];
    for v in 1..n - 5 {
        // Mostly a tree of some depth, and a few more edges.
        let to = v.saturating_sub(1 + random.below(9));
        graph[v].push(to as i32);
        graph[to].push(v as i32);
        if v % 11 == 0 {
            let to = random.below(v);
            graph[v].push(to as i32);
            graph[to].push(v as i32);
        }
    }
    graph
}

fn levels(graph: &[Vec<i32>], source: usize) -> Vec<i32> {
    let mut levels = vec![-1; graph.len()];
    let mut queue = std::collections::VecDeque::from([source]);
    levels[source] = 0;
    while let Some(v) = queue.pop_front() {
        for to in graph[v].iter().map(|to| *to as usize) {
            if levels[to] < 0 {
                levels[to] = levels[v] + 1;
                queue.push_back(to);
            }
        }
    }
    levels
}

pub(super) fn bfs() -> Vec<Case> {
    let mut cases = in_groups("visit and advance", &SIZES, frontiers);
    cases.extend(in_groups("level", &SIZES, by_levels));
    cases.extend(in_groups("expand", &SIZES, queues));
    cases.extend(in_groups("whole_search", &SIZES, |size| {
        let (n, sources) = (90, 4);
        let graph = graph(n);
        let expected = (0..sources).flat_map(|source| levels(&graph, source)).collect();
        let memory =
            vec![Memory::of(&starts(&graph)), Memory::of(&graph.concat()), Memory::unset::<i32>(sources * n)];
        let arguments = [mem(0), mem(1), mem(2), int(n), local::<i32>(n)];
        let launches = vec![launch("whole_search", Space::d1(sources * size, size), arguments)];
        (memory, launches, equal(2, expected))
    }));
    cases
}

/// The number of rounds, and one more that must change nothing.
fn rounds(levels: &[i32]) -> usize {
    levels.iter().max().map_or(0, |depth| *depth as usize + 1)
}

fn frontiers(size: usize) -> Parts {
    let n = 200;
    let graph = graph(n);
    let expected = levels(&graph, 7);
    let flag = |v: usize| u8::from(v == 7);
    let first: Vec<u8> = (0..n).map(flag).collect();
    let mut at_first = vec![-1i32; n];
    at_first[7] = 0;
    let memory = vec![
        Memory::of(&starts(&graph)),
        Memory::of(&graph.concat()),
        Memory::of(&first),
        Memory::of(&vec![0u8; n]),
        Memory::of(&first),
        Memory::of(&at_first),
        Memory::of(&[0i32]),
    ];
    let mut launches = Vec::new();
    for _ in 0..rounds(&expected) {
        let visited: Vec<Argument> = (0..6).map(mem).chain([int(n)]).collect();
        launches.push(launch("visit", enough(n, size), visited));
        launches.push(launch("advance", enough(n, size), [mem(2), mem(3), mem(4), mem(6), int(n)]));
    }
    (memory, launches, all(vec![equal(5, expected), equal(2, vec![0u8; n]), equal(6, vec![1i32])]))
}

fn by_levels(size: usize) -> Parts {
    let n = 200;
    let graph = graph(n);
    let expected = levels(&graph, 3);
    let mut at_first = vec![-1i32; n];
    at_first[3] = 0;
    let memory = vec![Memory::of(&starts(&graph)), Memory::of(&graph.concat()), Memory::of(&at_first)];
    let round = |depth| launch("level", enough(n, size), [mem(0), mem(1), mem(2), int(depth), int(n)]);
    (memory, (0..rounds(&expected)).map(round).collect(), equal(2, expected))
}

fn queues(size: usize) -> Parts {
    let n = 200;
    let graph = graph(n);
    let expected = levels(&graph, 11);
    let mut at_first = vec![-1i32; n];
    at_first[11] = 0;
    let rounds = rounds(&expected);
    // Each round has a length of its own, so that nothing must be set to zero between launches.
    let mut memory = vec![
        Memory::of(&starts(&graph)),
        Memory::of(&graph.concat()),
        Memory::of(&at_first),
        Memory::of(&[vec![11i32], vec![0; n - 1]].concat()),
        Memory::of(&vec![0i32; n]),
        Memory::of(&[1i32]),
    ];
    let mut launches = Vec::new();
    for depth in 0..rounds {
        memory.push(Memory::of(&[0i32]));
        let (from, to) = (3 + depth % 2, 4 - depth % 2);
        let arguments =
            [mem(0), mem(1), mem(2), mem(from), mem(5 + depth), mem(to), mem(6 + depth), int(depth)];
        launches.push(launch("expand", Space::d1(3 * size, size), arguments));
    }
    let mut checks = vec![equal(2, expected.clone())];
    for depth in 0..=rounds {
        let count = expected.iter().filter(|level| **level == depth as i32).count();
        checks.push(equal(5 + depth, vec![count as i32]));
    }
    (memory, launches, all(checks))
}

const FAR: i32 = 1_000_000;

fn distances(seed: u64, n: usize) -> Vec<i32> {
    let mut random = Random::new(seed);
    let distance = |i: usize| {
        let (y, x) = (i / n, i % n);
        let is_edge = random.below(6) == 0;
        let length = 1 + random.below(50) as i32;
        if x == y {
            0
        } else if is_edge {
            length
        } else {
            FAR
        }
    };
    (0..n * n).map(distance).collect()
}

/// By Bellman and Ford from each vertex.
fn shortest(distances: &[i32], n: usize) -> Vec<i32> {
    let from = |source: usize| {
        let mut best = vec![FAR; n];
        best[source] = 0;
        loop {
            let before = best.clone();
            for i in 0..n * n {
                best[i % n] = best[i % n].min(best[i / n].saturating_add(distances[i]));
            }
            if best == before {
                return best;
            }
        }
    };
    (0..n).flat_map(from).collect()
}

pub(super) fn floyd_warshall() -> Vec<Case> {
    let mut cases = in_shapes("through", &SHAPES, |shape| {
        let n = 30;
        let input = distances(155, n);
        let expected = shortest(&input, n);
        let memory = vec![Memory::of(&input), Memory::of(&vec![-1i32; n * n])];
        let step = |k| launch("through", covering([n, n], shape), [mem(0), mem(1), int(n), int(k)]);
        let was_direct =
            input.iter().zip(&expected).map(|(before, after)| before == after).collect::<Vec<_>>();
        let check_via = Box::new(move |memory: &[Vec<u8>]| {
            let via: Vec<i32> = crate::case::elements(&memory[1]);
            let wrong = via.iter().zip(&was_direct).position(|(via, direct)| (*via < 0) != *direct);
            wrong.map_or(Ok(()), |at| Err(format!("memory 1[{at}] is {}", via[at])))
        });
        (memory, (0..n).map(step).collect(), all(vec![equal(0, expected), check_via]))
    });
    cases.extend(in_groups("all_in_one", &SIZES, |size| {
        let (n, groups) = (14, 3);
        let graphs: Vec<Vec<i32>> = (0..groups).map(|group| distances(156 + group as u64, n)).collect();
        let expected = graphs.iter().flat_map(|graph| shortest(graph, n)).collect();
        let arguments = [mem(0), int(n), local::<i32>(n * n)];
        let launches = vec![launch("all_in_one", Space::d1(groups * size, size), arguments)];
        (vec![Memory::of(&graphs.concat())], launches, equal(0, expected))
    }));
    cases.extend(in_groups("relax", &SIZES, |size| {
        let n = 25;
        let matrix = distances(160, n);
        let edges: Vec<[i32; 4]> = (0..n * n)
            .filter(|i| matrix[*i] != FAR && i / n != i % n)
            .map(|i| [(i / n) as i32, (i % n) as i32, matrix[i], 0])
            .collect();
        let expected =
            shortest(&matrix, n)[..n].iter().map(|d| if *d >= FAR { i32::MAX } else { *d }).collect();
        let at_first: Vec<i32> = (0..n).map(|v| if v == 0 { 0 } else { i32::MAX }).collect();
        let memory =
            vec![Memory::of(&edges), Memory::of(&at_first), Memory::of(&[0i32]), Memory::of(&[0i32])];
        // The last round has a flag of its own, which must stay clear.
        let round = |i| {
            let flag = if i < n { 2 } else { 3 };
            launch("relax", enough(edges.len(), size), [mem(0), int(edges.len()), mem(1), mem(flag)])
        };
        let launches = (0..=n).map(round).collect();
        (memory, launches, all(vec![equal(1, expected), equal(2, vec![1i32]), equal(3, vec![0i32])]))
    }));
    cases
}

fn forces(bodies: &[[f32; 4]]) -> Vec<f32> {
    let wide: Vec<[f64; 4]> = bodies.iter().map(|body| body.map(f64::from)).collect();
    let on = |me: &[f64; 4]| {
        let mut sum = [0f64; 4];
        for other in &wide {
            let d = [0, 1, 2].map(|i| other[i] - me[i]);
            let square = d.iter().map(|x| x * x).sum::<f64>() + f64::from(0.01f32);
            let factor = other[3] / (square * square.sqrt());
            (0..3).for_each(|i| sum[i] += d[i] * factor);
        }
        sum.map(|x| x as f32)
    };
    wide.iter().flat_map(on).collect()
}

pub(super) fn nbody() -> Vec<Case> {
    let mut cases = Vec::new();
    for kernel in ["naive", "tiled"] {
        cases.extend(in_groups(kernel, &SIZES, |size| {
            let n = 150;
            let mut random = Random::new(161);
            let mut body =
                || [0, 1, 2, 3].map(|i| if i == 3 { 1.0 + random.unit() } else { random.unit() * 8.0 });
            let bodies: Vec<[f32; 4]> = (0..n).map(|_| body()).collect();
            let mut arguments = vec![mem(0), mem(1), int(n)];
            if kernel == "tiled" {
                arguments.push(local::<[f32; 4]>(size));
            }
            let memory = vec![Memory::of(&bodies), Memory::unset::<[f32; 4]>(n)];
            // Forces of opposite sides cancel. Each of 150 is below 20 and has an error of some ulps.
            (memory, vec![launch(kernel, enough(n, size), arguments)], close(1, forces(&bodies), 1e-4, 1e-3))
        }));
    }
    cases.extend(in_groups("move", &SIZES, |size| {
        let n = groups_of(size) * size;
        let mut random = Random::new(162);
        let places: Vec<Vec<f32>> = (0..3).map(|_| random.floats(n, 1.0, 2.0)).collect();
        let (velocity, force) = (random.floats(4 * n, 0.0, 1.0), random.floats(4 * n, 0.0, 1.0));
        let after: Vec<f32> = velocity.iter().zip(&force).map(|(v, f)| v + 0.25 * f).collect();
        let mut checks = vec![close(3, after.clone(), 1e-6, 0.0)];
        for (axis, place) in places.iter().enumerate() {
            let moved = place.iter().enumerate().map(|(i, x)| x + 0.25 * after[4 * i + axis]).collect();
            checks.push(close(axis, moved, 1e-6, 0.0));
        }
        let mut memory: Vec<Memory> = places.iter().map(|place| Memory::of(place)).collect();
        memory.extend([Memory::of(&velocity), Memory::of(&force)]);
        let arguments = [mem(0), mem(1), mem(2), mem(3), mem(4), Argument::value(0.25f32)];
        (memory, vec![launch("move", Space::d1(n, size), arguments)], all(checks))
    }));
    cases
}

/// The transform by its definition.
fn fourier(values: &[[f32; 2]]) -> Vec<f32> {
    let n = values.len();
    let of = |k: usize| {
        let mut sum = [0f64; 2];
        for (i, value) in values.iter().enumerate() {
            let (sin, cos) = (-2.0 * std::f64::consts::PI * (i * k % n) as f64 / n as f64).sin_cos();
            let [re, im] = value.map(f64::from);
            sum[0] += re * cos - im * sin;
            sum[1] += re * sin + im * cos;
        }
        sum.map(|x| x as f32)
    };
    (0..n).flat_map(of).collect()
}

fn complex(seed: u64, n: usize) -> Vec<[f32; 2]> {
    let mut random = Random::new(seed);
    (0..n).map(|_| [random.unit() - 0.5, random.unit() - 0.5]).collect()
}

const PRIME: u64 = 998_244_353;

fn power(base: u64, exponent: u64) -> u64 {
    let square = |root: u64| root * root % PRIME;
    match exponent {
        0 => 1,
        even if even % 2 == 0 => square(power(base, even / 2)),
        odd => square(power(base, odd / 2)) * base % PRIME,
    }
}

pub(super) fn fft() -> Vec<Case> {
    let mut cases = Vec::new();
    for bits in [4, 7] {
        cases.extend(in_groups(&format!("local_steps of 2^{bits}"), &SIZES, |size| {
            let (n, groups) = (1usize << bits, 3);
            let input = complex(163, n * groups);
            let expected = input.chunks(n).flat_map(fourier).collect();
            let root = |k: usize| {
                let (sin, cos) = (-2.0 * std::f64::consts::PI * k as f64 / n as f64).sin_cos();
                [cos as f32, sin as f32]
            };
            let roots: Vec<[f32; 2]> = (0..n / 2).map(root).collect();
            let memory = vec![Memory::of(&input), Memory::unset::<[f32; 2]>(n * groups), Memory::of(&roots)];
            let arguments = [mem(0), mem(1), mem(2), int(bits), local::<[f32; 2]>(n)];
            // Results are about 5, and each of seven steps adds an error of about an ulp.
            let check = close(1, expected, 1e-5, 1e-5);
            (memory, vec![launch("local_steps", Space::d1(groups * size, size), arguments)], check)
        }));
    }
    for (bits, size) in [(6, 1), (8, 2), (9, 32), (10, 64), (10, 256)] {
        let name = format!("stockham_step of 2^{bits} in groups of {size}");
        cases.push(case(name, stockham(1 << bits, size)));
    }
    for bits in [3, 6] {
        cases.extend(in_groups(&format!("number_theoretic of 2^{bits}"), &SIZES, |size| {
            let (n, groups) = (1usize << bits, 3);
            let input: Vec<u32> =
                Random::new(165).words(n * groups).iter().map(|word| word % PRIME as u32).collect();
            let root = power(3, (PRIME - 1) / n as u64);
            let roots: Vec<u32> = (0..n as u64 / 2).map(|k| power(root, k) as u32).collect();
            let of = |values: &[u32], k: usize| {
                // By Horner.
                let at = power(root, k as u64);
                values.iter().rev().fold(0, |sum, value| (sum * at + u64::from(*value)) % PRIME) as u32
            };
            let expected = input.chunks(n).flat_map(|values| (0..n).map(move |k| of(values, k))).collect();
            let arguments = [mem(0), mem(1), int(bits), local::<u32>(n)];
            let launches = vec![launch("number_theoretic", Space::d1(groups * size, size), arguments)];
            (vec![Memory::of(&input), Memory::of(&roots)], launches, equal(0, expected))
        }));
    }
    cases
}

fn stockham(n: usize, size: usize) -> Parts {
    let input = complex(164, n);
    let (mut from, mut span, mut launches) = (0, 1, Vec::new());
    while span < n {
        let arguments = [mem(from), mem(1 - from), uint(n / 2), uint(span)];
        launches.push(launch("stockham_step", Space::d1(n / 2, size.min(n / 2)), arguments));
        (from, span) = (1 - from, 2 * span);
    }
    let memory = vec![Memory::of(&input), Memory::unset::<[f32; 2]>(n)];
    // Sine and cosine may be off by 4 ulps in each of ten steps; results are about 10.
    (memory, launches, close(from, fourier(&input), 1e-4, 1e-4))
}

#[cfg(test)]
mod tests {
    use super::{PRIME, fourier, power};

    #[test]
    fn transforms_of_simple_values_are_known() {
        let mut impulse = vec![[0f32; 2]; 8];
        impulse[0] = [1.0, 0.0];
        assert!(
            fourier(&impulse).chunks(2).all(|value| (value[0] - 1.0).abs() < 1e-6 && value[1].abs() < 1e-6)
        );
        let constant = fourier(&[[1.0, 0.0]; 8]);
        assert!((constant[0] - 8.0).abs() < 1e-6 && constant[2..].iter().all(|x| x.abs() < 1e-6));
    }

    #[test]
    fn three_generates_the_units_of_the_prime() {
        assert_eq!(power(3, PRIME - 1), 1);
        assert_ne!(power(3, (PRIME - 1) / 2), 1);
        assert_ne!(power(3, (PRIME - 1) / 7), 1);
        assert_ne!(power(3, (PRIME - 1) / 17), 1);
    }
}
