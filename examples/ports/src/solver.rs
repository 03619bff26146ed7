//! Conjugate gradients for the heat on a plate: a sparse matrix and hundreds of small launches.

use oclave::kernel::{Local, NdRange};
use oclave::{Command, Queue, UsmSlice};

use super::kernels::solver::{add_groups, advance, dot_groups, multiply, step_along, turn};
use super::{Outcome, Setting, both_ways};

/// Work-items of a group that adds products.
const GROUP: usize = 16;
/// Places in the memory of scalars, as in `examples/ports/kernels/solver.cl`.
const SQUARE: u32 = 0;
const CURVATURE: u32 = 1;
const NEW_SQUARE: u32 = 2;

/// A matrix in compressed rows: the neighbours of each point of a square grid.
#[derive(Default)]
struct Matrix {
    row_begins: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Matrix {
    /// Each point loses a quarter of its heat to each of its neighbours. The edge is cold.
    fn plate(edge: usize) -> Self {
        let mut matrix = Self::default();
        for (y, x) in (0..edge).flat_map(|y| (0..edge).map(move |x| (y, x))) {
            matrix.row_begins.push(matrix.columns.len() as u32);
            let mut entry = |at: usize, value| {
                matrix.columns.push(at as u32);
                matrix.values.push(value);
            };
            let at = y * edge + x;
            entry(at, 4.0);
            let neighbours = [(y > 0, 0, edge), (x > 0, 0, 1), (x + 1 < edge, 1, 0), (y + 1 < edge, edge, 0)];
            for (_, ahead, behind) in neighbours.into_iter().filter(|(is_inside, ..)| *is_inside) {
                entry(at + ahead - behind, -1.0);
            }
        }
        matrix.row_begins.push(matrix.columns.len() as u32);
        matrix
    }

    fn times(&self, vector: &[f32]) -> Vec<f32> {
        let row = |bounds: &[u32]| {
            let entries = bounds[0] as usize..bounds[1] as usize;
            entries.map(|at| self.values[at] * vector[self.columns[at] as usize]).sum()
        };
        self.row_begins.windows(2).map(row).collect()
    }
}

/// What the iterations work on.
struct Memory {
    row_begins: UsmSlice<u32>,
    columns: UsmSlice<u32>,
    values: UsmSlice<f32>,
    right: UsmSlice<f32>,
    solution: UsmSlice<f32>,
    residual: UsmSlice<f32>,
    direction: UsmSlice<f32>,
    product: UsmSlice<f32>,
    sums: UsmSlice<f32>,
    scalars: UsmSlice<f32>,
}

pub(crate) fn run(setting: &Setting) -> Outcome {
    let queue = &setting.queue;
    // Whole groups.
    let edge = setting.size.next_multiple_of(GROUP);
    let matrix = Matrix::plate(edge);
    // The right side is made from a solution, which is then to be found.
    let wanted: Vec<f32> = (0..edge * edge).map(|at| (at * 37 % 101) as f32 / 101.0).collect();
    let floats = || queue.context().alloc_device::<f32>(wanted.len());
    let memory = Memory {
        row_begins: queue.upload(&matrix.row_begins)?,
        columns: queue.upload(&matrix.columns)?,
        values: queue.upload(&matrix.values)?,
        right: queue.upload(&matrix.times(&wanted))?,
        solution: floats()?,
        residual: floats()?,
        direction: floats()?,
        product: floats()?,
        sums: queue.context().alloc_device(wanted.len() / GROUP)?,
        scalars: queue.context().alloc_device(3)?,
    };
    let iterations = 3 * edge;
    both_ways(
        queue,
        "solver",
        |queue| solve(queue, &memory, iterations),
        |queue| {
            let found = queue.read(&memory.solution)?;
            let apart = |(a, b): (&f32, &f32)| (a - b).abs();
            let worst = found.iter().zip(&wanted).map(apart).fold(0.0, f32::max);
            if worst >= 1e-3 || found.iter().any(|value| value.is_nan()) {
                return Err(format!("a value is {worst} away from the solution").into());
            }
            Ok(format!("{} unknowns, {iterations} iterations, within {worst:.1e}", wanted.len()))
        },
    )
}

fn solve(queue: &Queue, memory: &Memory, iterations: usize) -> oclave::Result<()> {
    let Memory { right, solution, residual, direction, product, scalars, .. } = memory;
    let unknowns = solution.len();
    queue.submit(Command::fill(solution, 0.0))?;
    queue.submit(Command::copy(right, residual))?;
    queue.submit(Command::copy(right, direction))?;
    dot(queue, memory, (residual, residual), SQUARE)?;
    for _ in 0..iterations {
        let matrix = (&memory.row_begins, &memory.columns, &memory.values);
        queue.parallel_for(unknowns, multiply(matrix.0, matrix.1, matrix.2, direction, product))?;
        dot(queue, memory, (direction, product), CURVATURE)?;
        queue.parallel_for(unknowns, step_along(scalars, direction, product, solution, residual))?;
        dot(queue, memory, (residual, residual), NEW_SQUARE)?;
        queue.parallel_for(unknowns, turn(scalars, residual, direction))?;
        queue.single_task(advance(scalars))?;
    }
    Ok(())
}

/// The product of two vectors, into a scalar.
fn dot(
    queue: &Queue,
    memory: &Memory,
    (a, b): (&UsmSlice<f32>, &UsmSlice<f32>),
    place: u32,
) -> oclave::Result<()> {
    let range = NdRange::new(a.len(), GROUP);
    queue.parallel_for(range, dot_groups(a, b, &memory.sums, Local::new(GROUP)))?;
    let count = memory.sums.len() as u32;
    queue.single_task(add_groups(&memory.sums, count, &memory.scalars, place))?;
    Ok(())
}
