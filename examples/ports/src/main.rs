//! Four classic OpenCL programs: pictures, a solver, a reduction, a sort.
//!
//! ```text
//! cargo run --release -p ports -- [PORT…] [--size N] [--out DIR]
//! ```
//! | port | kernels | checked against |
//! |---|---|---|
//! | `pictures` | rotation, scaling and convolution of a photograph, by images and samplers | the same steps in plain Rust |
//! | `solver` | conjugate gradients for a sparse matrix, six launches an iteration | the known solution |
//! | `reduction` | a tree of sums and extremes | iterators |
//! | `sorting` | Batcher's bitonic sort | `sort_unstable` |
//!
//! Each port runs its commands one by one and then as a graph that the same code records. The
//! device is `OCLAVE_DEVICE`, or the best one found. A wrong result makes the program fail.
//! `--size` is the number of unknowns along an edge, and the number of numbers in thousands
//! (default 48). `--out` names a folder for the pictures.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use oclave::{Context, Device, Graph, Queue};

mod kernels {
    oclave::include_kernels!("ports");
}
mod pictures;
mod reduction;
mod solver;
mod sorting;

/// What ports return: errors of the library, and results that are wrong.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What all ports get.
struct Setting {
    queue: Queue,
    size: usize,
    out: Option<PathBuf>,
}

/// Runs a port both ways, and fails where a result is wrong.
type Port = fn(&Setting) -> Outcome;

const PORTS: [(&str, Port); 4] = [
    ("pictures", pictures::run),
    ("solver", solver::run),
    ("reduction", reduction::run),
    ("sorting", sorting::run),
];

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ports: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut words: impl Iterator<Item = String>) -> Outcome {
    let (mut size, mut out, mut wanted) = (48, None, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--size" => size = words.next().ok_or("--size needs a number")?.parse()?,
            "--out" => out = Some(PathBuf::from(words.next().ok_or("--out needs a folder")?)),
            port if PORTS.iter().any(|(name, _)| *name == port) => wanted.push(word),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    if !(2..=1024).contains(&size) {
        return Err("--size takes a number from 2 to 1024".into());
    }
    let device = Device::select()?;
    println!("device: {} ({})", device.name(), device.platform().name());
    let setting = Setting { queue: Queue::new(&Context::new(&device)?)?, size, out };
    for (name, port) in PORTS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            port(&setting).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// Runs commands one by one, then as a graph that the same function records. `check` examines the
/// results of both, and describes the comparison.
fn both_ways(
    queue: &Queue,
    name: &str,
    commands: impl Fn(&Queue) -> oclave::Result<()>,
    check: impl Fn(&Queue) -> Outcome<String>,
) -> Outcome {
    let graph = Graph::from_queue(queue);
    let recording = graph.record(queue)?;
    commands(queue)?;
    recording.end();
    let executable = graph.finalize()?;
    for way in ["eager", "graph"] {
        let started = Instant::now();
        match way {
            "eager" => commands(queue)?,
            _ => drop(queue.submit_graph(&executable)?),
        }
        queue.wait()?;
        let time = started.elapsed();
        let seen = check(queue).map_err(|error| format!("{way}: {error}"))?;
        println!("{name:<10} {way:<6} {time:>10.1?}  {seen}");
    }
    Ok(())
}
