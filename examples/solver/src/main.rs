//! Conjugate gradients with the loop on the device.
//!
//! Solves Poisson's equation on a square grid. A node of the graph ends the loop when the residual is small.
//! Until all is done, the host sees neither the residual nor the number of steps. The same kernels run in a loop of the
//! host that reads the decision after each step, and the same method in plain Rust. Results are compared, and times of a
//! step are printed.
//!
//! `cargo run --release -p solver -- --size 32 --solves 20`

#![allow(clippy::cast_precision_loss, reason = "sizes are small")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::kernel::Range;
use oclave::{Command, Context, Device, Graph, Queue, Result, UsmSlice};

mod kernels {
    oclave::include_kernels!("solver");
}
use kernels::conjugate_gradients::{descend, dot_product, how_far, look, multiply, turn};
use reference::Grid;

mod reference;

/// The residual is to become so many times smaller than the right side.
const SMALLER: f32 = 1e5;
/// Steps that no solution needs.
const LIMIT: u64 = 10_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("solver: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> std::result::Result<(), Box<dyn Error>> {
    let (mut size, mut solves) = (32, 20);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--size" => size = value.parse::<usize>()?.next_multiple_of(16),
            "--solves" => solves = value.parse::<usize>()?.max(1),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    let device = Device::select()?;
    let queue = Queue::new(&Context::new(&device)?)?;
    let grid = Grid { size };
    let right_side = grid.right_side();
    let enough = reference::dot(&right_side, &right_side) / (SMALLER * SMALLER);
    println!("device: {}, {} unknowns", device.name(), size * size);

    let started = Instant::now();
    let (expected, expected_steps) = reference::solve(grid, &right_side, enough);
    let plain = started.elapsed().as_secs_f64() * 1e6 / f64::from(expected_steps);

    let system = System::new(&queue, grid, &right_side, enough)?;
    let executable = system.on_device(&queue)?;
    let by_interpreter = !executable.segments().is_empty();
    // The first of each is not measured.
    let (mut device_us, mut host_us) = (Vec::new(), Vec::new());
    let (mut steps, mut largest) = ([0, 0], 0.0_f32);
    for _ in 0..=solves {
        let started = Instant::now();
        queue.submit_graph(&executable)?.wait()?;
        let elapsed = started.elapsed().as_secs_f64() * 1e6;
        steps[0] = queue.read(&system.steps)?[0];
        device_us.push(elapsed / f64::from(steps[0]));
        check(&queue.read(&system.x)?, &expected, steps[0], expected_steps)?;

        let started = Instant::now();
        system.on_host(&queue)?;
        let elapsed = started.elapsed().as_secs_f64() * 1e6;
        steps[1] = queue.read(&system.steps)?[0];
        host_us.push(elapsed / f64::from(steps[1]));
        largest = largest.max(check(&queue.read(&system.x)?, &expected, steps[1], expected_steps)?);
    }
    let [device_us, host_us] = [device_us, host_us].map(|times| median(&times[1..]));
    println!("{} steps, {expected_steps} of the reference; largest difference {largest:.1e}", steps[0]);
    println!(
        "loop on the device{}: {device_us:.2} µs a step",
        if by_interpreter { ", interpreted" } else { "" }
    );
    println!("loop on the host: {host_us:.2} µs a step, {:.1} times as long", host_us / device_us);
    println!("plain Rust: {plain:.2} µs a step");
    println!("memory of the graph: {} bytes", executable.memory().used_bytes);
    Ok(())
}

/// The largest difference of a solution from the one that is expected, by its largest value. Compilers may round products and
/// sums once or twice, so that neither values nor steps are the same everywhere.
fn check(
    found: &[f32],
    expected: &[f32],
    steps: u32,
    expected_steps: u32,
) -> std::result::Result<f32, Box<dyn Error>> {
    let largest = expected.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let difference = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / largest;
    if difference.is_nan() || difference > 1e-3 || steps.abs_diff(expected_steps) > 3 {
        let message =
            format!("{steps} steps, {expected_steps} expected; the solution differs by {difference}");
        return Err(message.into());
    }
    Ok(difference)
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// What is solved, and where its solution goes.
struct System {
    grid: Grid,
    enough: f32,
    right_side: UsmSlice<f32>,
    x: UsmSlice<f32>,
    steps: UsmSlice<u32>,
    /// For the loop of the host; the graph has memory of its own.
    temporary: Temporary,
}

/// The vectors and numbers of the method.
struct Temporary {
    r: UsmSlice<f32>,
    p: UsmSlice<f32>,
    q: UsmSlice<f32>,
    rr: UsmSlice<f32>,
    alpha: UsmSlice<f32>,
    beta: UsmSlice<f32>,
    go_on: UsmSlice<u32>,
}

impl System {
    fn new(queue: &Queue, grid: Grid, right_side: &[f32], enough: f32) -> Result<Self> {
        let context = queue.context();
        Ok(Self {
            grid,
            enough,
            right_side: queue.upload(right_side)?,
            x: context.alloc_device(grid.len())?,
            steps: context.alloc_device(1)?,
            temporary: Temporary::new(grid, &queue.arena())?,
        })
    }

    /// Work-items of 8 values.
    fn range(&self) -> Range {
        [self.grid.size / 8, self.grid.size].into()
    }

    /// x = 0, r = p = b.
    fn begin(&self, of: &Temporary) -> [Command; 7] {
        let count = self.grid.len() as u32;
        [
            Command::fill(&self.x, 0.0),
            Command::fill(&self.steps, 0),
            Command::fill(&of.q, 0.0),
            Command::copy(&self.right_side, &of.r),
            Command::copy(&self.right_side, &of.p),
            Command::single_task(dot_product(&of.r, &of.r, count, &of.rr)),
            Command::fill(&of.go_on, 1),
        ]
    }

    /// A step of the method.
    fn step(&self, of: &Temporary) -> [Command; 5] {
        let (width, count) = (self.grid.width() as u32, self.grid.len() as u32);
        let Temporary { r, p, q, rr, alpha, beta, go_on } = of;
        [
            Command::parallel_for(self.range(), multiply(p, q, width)).named("multiply"),
            Command::single_task(how_far(p, q, count, rr, alpha)),
            Command::parallel_for(self.range(), descend(&self.x, r, p, q, alpha, width)),
            Command::single_task(look(r, count, self.enough, rr, beta, go_on, &self.steps)),
            Command::parallel_for(self.range(), turn(r, p, beta, width)),
        ]
    }

    /// A graph that solves all, with the loop in it.
    fn on_device(&self, queue: &Queue) -> Result<ExecutableGraph> {
        let graph = Graph::from_queue(queue);
        let temporary = Temporary::new(self.grid, &graph.arena())?;
        let body = Graph::from_queue(queue);
        for command in self.step(&temporary) {
            body.after_all_leaves().add(command)?;
        }
        for command in self.begin(&temporary) {
            graph.after_all_leaves().add(command)?;
        }
        graph.after_all_leaves().add(Command::while_(&temporary.go_on, &body).max_iterations(LIMIT))?;
        graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter().finalize()
    }

    /// The same commands, with the loop on the host.
    fn on_host(&self, queue: &Queue) -> Result<()> {
        for command in self.begin(&self.temporary) {
            queue.submit(command)?;
        }
        while queue.read(&self.temporary.go_on)? != [0] {
            for command in self.step(&self.temporary) {
                queue.submit(command)?;
            }
        }
        Ok(())
    }
}

impl Temporary {
    fn new(grid: Grid, arena: &oclave::graph::Arena) -> Result<Self> {
        Ok(Self {
            r: arena.alloc(grid.len())?,
            p: arena.alloc(grid.len())?,
            q: arena.alloc(grid.len())?,
            rr: arena.alloc(1)?,
            alpha: arena.alloc(1)?,
            beta: arena.alloc(1)?,
            go_on: arena.alloc(1)?,
        })
    }
}
