//! The outer solar system over a few centuries: a graph of thousands of tiny kernels, run in every
//! way that graphs can be run.
//!
//! ```text
//! cargo run --release -p planets -- [--asteroids N] [--steps N] [--replays N] [--dot FILE]
//! ```
//! A step of ten days is three kernels on a few dozen bodies, which is much less work than a launch
//! costs. A graph has `--steps` of them (default 400) and is replayed (default 20 times). The
//! device is `OCLAVE_DEVICE`, or the best one found. The program fails if a body is more than a
//! millionth of an astronomical unit away from its place in plain Rust. It also fails if the energy
//! changes.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use oclave::device::Aspects;
use oclave::graph::{Detail, ReplayStrategy};
use oclave::{Context, Device, Graph, Queue};

use crate::bodies::{Bodies, STEP, run_steps};
use crate::system::System;

mod bodies;
mod kernels {
    oclave::include_kernels!("planets");
}
mod system;

/// How far a body may be from where it is by the reference, in astronomical units.
const TOLERANCE: f64 = 1e-6;

/// The command line.
struct Arguments {
    asteroids: usize,
    steps: usize,
    replays: usize,
    dot: Option<String>,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("planets: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut parsed = Arguments { asteroids: 58, steps: 400, replays: 20, dot: None };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--asteroids" => parsed.asteroids = value.parse()?,
            "--steps" => parsed.steps = value.parse()?,
            "--replays" => parsed.replays = value.parse()?,
            "--dot" => parsed.dot = Some(value),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    Ok(parsed)
}

/// What came of one way.
struct Outcome {
    name: &'static str,
    /// Of the first time, with what is built then, and the median of the others.
    first: Duration,
    median: Duration,
    bodies: System,
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let device = Device::select()?;
    if !device.capabilities().aspects.contains(Aspects::FP64) || device.capabilities().memory().is_none() {
        return Err("the device has no fp64 or no USM (feature not supported)".into());
    }
    let context = Context::new(&device)?;
    let queue = Queue::new(&context)?;
    let start = System::new(arguments.asteroids);
    let bodies = Bodies::new(&queue, &start)?;
    let years = arguments.steps as f64 * arguments.replays as f64 * STEP / 365.25;
    println!(
        "{}: {} bodies, {} kernels a replay, {} replays: {years:.1} years",
        device.name(),
        start.bodies(),
        3 * arguments.steps,
        arguments.replays
    );

    let mut outcomes = vec![eager(&queue, &bodies, &start, arguments)?];
    let ways = [
        ("prepared launches", ReplayStrategy::Enqueue),
        ("command buffers", ReplayStrategy::CommandBuffer),
        ("interpreter", ReplayStrategy::Interpreter),
        ("auto", ReplayStrategy::Auto),
    ];
    for (name, strategy) in ways {
        if strategy != ReplayStrategy::CommandBuffer || Graph::support(&device).command_buffers {
            outcomes.push(replayed(&queue, &bodies, &start, arguments, (name, strategy))?);
        }
    }
    let mut expected = start.clone();
    (0..arguments.steps * arguments.replays).for_each(|_| expected.step(STEP));
    report(&outcomes, &expected, &start, arguments)
}

/// Each kernel is put on the queue when its turn comes.
fn eager(queue: &Queue, bodies: &Bodies, start: &System, arguments: &Arguments) -> oclave::Result<Outcome> {
    bodies.set(queue, start)?;
    let step = bodies.step();
    let times = timed(arguments.replays, || run_steps(queue, &step, arguments.steps))?;
    outcome("eager", times, bodies.get(queue, start)?)
}

/// A graph of many steps is replayed.
fn replayed(
    queue: &Queue,
    bodies: &Bodies,
    start: &System,
    arguments: &Arguments,
    (name, strategy): (&'static str, ReplayStrategy),
) -> oclave::Result<Outcome> {
    bodies.set(queue, start)?;
    let graph = Graph::from_queue(queue);
    for _ in 0..arguments.steps {
        for command in bodies.step() {
            graph.after_all_leaves().add(command)?;
        }
    }
    let begin = Instant::now();
    let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize()?;
    println!("{name}: finalized in {:.1?}, {} segments", begin.elapsed(), executable.segments().len());
    if let Some(file) = arguments.dot.as_ref().filter(|_| strategy == ReplayStrategy::Interpreter) {
        executable.print(file, Detail::Brief)?;
    }
    let times = timed(arguments.replays, || {
        queue.submit_graph(&executable)?;
        queue.wait()
    })?;
    outcome(name, times, bodies.get(queue, start)?)
}

fn timed(replays: usize, mut replay: impl FnMut() -> oclave::Result<()>) -> oclave::Result<Vec<Duration>> {
    (0..replays)
        .map(|_| {
            let begin = Instant::now();
            replay().map(|()| begin.elapsed())
        })
        .collect()
}

fn outcome(name: &'static str, mut times: Vec<Duration>, bodies: System) -> oclave::Result<Outcome> {
    let first = times.first().copied().unwrap_or_default();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok(Outcome { name, first, median, bodies })
}

/// Prints the table, and fails where a body is not where it should be.
fn report(
    outcomes: &[Outcome],
    expected: &System,
    start: &System,
    arguments: &Arguments,
) -> Result<(), Box<dyn Error>> {
    let kernels = 3.0 * arguments.steps as f64;
    let eager = outcomes.first().map_or(0.0, |outcome| outcome.median.as_secs_f64());
    println!(
        "{:>18}  {:>12}  {:>12}  {:>9}  {:>8}  {:>9}",
        "", "first", "median", "a kernel", "faster", "off by"
    );
    for Outcome { name, first, median, bodies } in outcomes {
        let seconds = median.as_secs_f64();
        println!(
            "{name:>18}  {first:>12.1?}  {median:>12.1?}  {:>6.0} ns  {:>7.1}x  {:>6.0e} AU",
            seconds * 1e9 / kernels,
            eager / seconds,
            bodies.distance(expected),
        );
    }
    let (energy, before) = (expected.energy(), start.energy());
    println!("energy: {before:.6e}, at the end {energy:.6e}");
    for Outcome { name, bodies, .. } in outcomes {
        if bodies.distance(expected).is_nan() || bodies.distance(expected) > TOLERANCE {
            return Err(format!("{name}: a body is {:e} AU off", bodies.distance(expected)).into());
        }
        let drift = (bodies.energy() / before - 1.0).abs();
        if drift.is_nan() || drift > 1e-4 {
            return Err(format!("{name}: the energy has changed by {drift:e} of itself").into());
        }
    }
    Ok(())
}
