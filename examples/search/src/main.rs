//! Breadth-first search with the loop on the device.
//!
//! Finds how many streets lie between a crossing and all others of a town. A node of the graph ends the loop when the frontier is
//! empty. Until then the host sees nothing. The same kernels run in a loop of the host, which reads the length of the
//! frontier, and the same search in plain Rust. All distances are compared, and times of a search are printed.
//!
//! `cargo run --release -p search -- --size 100 --searches 20`

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::{Command, Context, Device, Graph, Queue, Result, UsmSlice};

mod kernels {
    oclave::include_kernels!("search");
}
use kernels::breadth_first::{begin, expand, turn};
use town::{Town, UNSEEN};

mod town;

/// Work-items that share a frontier.
const SHARE: usize = 16;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("search: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> std::result::Result<(), Box<dyn Error>> {
    let (mut size, mut searches) = (100, 20);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--size" => size = value.parse::<u32>()?.clamp(2, 4096),
            "--searches" => searches = value.parse::<u32>()?.max(1),
            _ => return Err(format!("unknown argument {word}").into()),
        }
    }
    let device = Device::select()?;
    let queue = Queue::new(&Context::new(&device)?)?;
    let town = Town::new(size);
    println!("device: {}, {} crossings, {} ways", device.name(), town.crossings(), town.ends.len());

    let search = Search::new(&queue, &town)?;
    let executable = search.on_device(&queue)?;
    let by_interpreter = !executable.segments().is_empty();
    let (mut device_us, mut host_us, mut plain_us) = (Vec::new(), Vec::new(), Vec::new());
    let (mut reached, mut farthest) = (0, 0);
    // The first search is not measured.
    for number in 0..=searches {
        let start = number.wrapping_mul(2_654_435_761) % town.crossings();
        let begun = Instant::now();
        let expected = town.distances(start);
        plain_us.push(begun.elapsed().as_secs_f64() * 1e6);

        let begun = Instant::now();
        queue.write(&search.start, &[start])?;
        queue.submit_graph(&executable)?.wait()?;
        device_us.push(begun.elapsed().as_secs_f64() * 1e6);
        search.check(&queue, &expected)?;

        let begun = Instant::now();
        queue.write(&search.start, &[start])?;
        search.on_host(&queue)?;
        host_us.push(begun.elapsed().as_secs_f64() * 1e6);
        search.check(&queue, &expected)?;

        let seen = || expected.iter().filter(|distance| **distance != UNSEEN);
        (reached, farthest) = (seen().count(), seen().max().copied().unwrap_or(0));
    }
    let [device_us, host_us, plain_us] = [device_us, host_us, plain_us].map(|times| median(&times[1..]));
    println!("{reached} crossings reached in the last search, the farthest by {farthest} streets");
    println!(
        "loop on the device{}: {device_us:.0} µs a search",
        if by_interpreter { ", interpreted" } else { "" }
    );
    println!("loop on the host: {host_us:.0} µs a search, {:.1} times as long", host_us / device_us);
    println!("plain Rust: {plain_us:.0} µs a search");
    Ok(())
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// A town on the device, and what a search writes.
struct Search {
    first: UsmSlice<u32>,
    ends: UsmSlice<u32>,
    start: UsmSlice<u32>,
    distances: UsmSlice<u32>,
    frontiers: [UsmSlice<u32>; 2],
    /// The distance of the frontier, how long it is, and how long the next one is.
    state: UsmSlice<u32>,
}

impl Search {
    fn new(queue: &Queue, town: &Town) -> Result<Self> {
        let alloc = |len: usize| queue.context().alloc_device(len);
        let crossings = town.crossings() as usize;
        Ok(Self {
            first: queue.upload(&town.first)?,
            ends: queue.upload(&town.ends)?,
            start: alloc(1)?,
            distances: alloc(crossings)?,
            frontiers: [alloc(crossings)?, alloc(crossings)?],
            state: alloc(3)?,
        })
    }

    /// The start is the first frontier.
    fn begin(&self) -> [Command; 2] {
        let call = begin(&self.start, &self.frontiers[0], &self.state, &self.distances);
        [Command::fill(&self.distances, UNSEEN), Command::single_task(call)]
    }

    /// Two steps, so that the frontiers change places twice. If the first one leaves nothing, the second one does nothing.
    fn steps(&self) -> [Command; 4] {
        let [a, b] = &self.frontiers;
        let step = |from: &UsmSlice<u32>, to: &UsmSlice<u32>| {
            [
                Command::parallel_for(
                    SHARE,
                    expand(&self.first, &self.ends, from, to, &self.state, &self.distances),
                ),
                Command::single_task(turn(&self.state)),
            ]
        };
        let ([first, second], [third, fourth]) = (step(a, b), step(b, a));
        [first, second, third, fourth]
    }

    /// A graph of a search, with the loop in it.
    fn on_device(&self, queue: &Queue) -> Result<ExecutableGraph> {
        let (graph, body) = (Graph::from_queue(queue), Graph::from_queue(queue));
        for command in self.steps() {
            body.after_all_leaves().add(command)?;
        }
        for command in self.begin() {
            graph.after_all_leaves().add(command)?;
        }
        graph.after_all_leaves().add(Command::while_(&self.state.slice(1..2)?, &body))?;
        graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter().finalize()
    }

    /// The same commands, with the loop on the host.
    fn on_host(&self, queue: &Queue) -> Result<()> {
        for command in self.begin() {
            queue.submit(command)?;
        }
        let length = self.state.slice(1..2)?;
        while queue.read(&length)? != [0] {
            for command in self.steps() {
                queue.submit(command)?;
            }
        }
        Ok(())
    }

    fn check(&self, queue: &Queue, expected: &[u32]) -> std::result::Result<(), Box<dyn Error>> {
        let found = queue.read(&self.distances)?;
        match found.iter().zip(expected).position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(at) => {
                Err(format!("crossing {at} has distance {}, {} expected", found[at], expected[at]).into())
            }
        }
    }
}
