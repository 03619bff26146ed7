//! What the feature `tracing` costs when nobody listens, and what is left of it when it is off.
//!
//! `tracing-cost WITH WITHOUT` starts two builds of this program, one with the feature and one without. They take turns, so that both
//! see the same machine. It prints `name,device,n,ours_us,reference_us,ratio`: ours is the build with the feature. Times are processor
//! times of the thread that submits, as this is where the feature works. They are the least of all turns. A turn takes several times as
//! long if the driver's threads run meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use oclave::graph::ReplayStrategy;
use oclave::{Context, Device, Graph, Queue};
use rustix::time::{ClockId, clock_gettime};

mod kernels {
    oclave::include_kernels!();
}
use kernels::bump::bump;

/// Commands in a turn.
const COMMANDS: usize = 1000;
const TURNS: usize = 101;
const ROWS: [&str; 3] = ["tracing_launch", "tracing_replay", "tracing_wait"];

fn main() -> oclave::Result<()> {
    let programs: Vec<String> = std::env::args().skip(1).collect();
    match programs.as_slice() {
        [with, without] => compare(with, without),
        _ => return take_turns(),
    }
    Ok(())
}

/// Runs the row that each line of the input names, and prints how many microseconds of this thread it took.
fn take_turns() -> oclave::Result<()> {
    let context = Context::new(&Device::select()?)?;
    let queue = Queue::new(&context)?;
    let value = queue.upload(&[0_i32; 64])?;
    let graph = Graph::from_queue(&queue);
    graph.add(oclave::Command::parallel_for(64, bump(&value)))?;
    // Without the race of plans, in which the builds might end differently.
    let executable = graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize()?;
    for row in std::io::stdin().lines().map_while(Result::ok) {
        let start = thread_us();
        for _ in 0..COMMANDS {
            match row.as_str() {
                "tracing_launch" => drop(queue.parallel_for(64, bump(&value))?),
                "tracing_replay" => drop(queue.submit_graph(&executable)?),
                // The wait itself: nothing runs.
                _ => queue.wait()?,
            }
        }
        let took = thread_us() - start;
        queue.wait()?;
        println!("{took}");
    }
    Ok(())
}

/// Time that processors spent on this thread.
fn thread_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// A build of this program that waits for its turn.
struct Side {
    child: Child,
    rows: ChildStdin,
    times: BufReader<ChildStdout>,
}

impl Side {
    fn start(program: &str) -> Self {
        let mut command = Command::new(program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (rows, times) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, rows, times }
    }

    fn turn(&mut self, row: &str) -> f64 {
        writeln!(self.rows, "{row}").unwrap();
        let mut line = String::new();
        self.times.read_line(&mut line).unwrap();
        line.trim().parse().expect("the program printed a time")
    }

    fn end(mut self) {
        drop(self.rows);
        assert!(self.child.wait().unwrap().success());
    }
}

fn compare(with: &str, without: &str) {
    let device = std::env::var("OCLAVE_CI_DEVICE").unwrap_or_else(|_| "device".into());
    let (mut with, mut without) = (Side::start(with), Side::start(without));
    for row in ROWS {
        // The first turns build kernels.
        for _ in 0..5 {
            with.turn(row);
            without.turn(row);
        }
        let (mut ours, mut reference) = (f64::INFINITY, f64::INFINITY);
        for turn in 0..TURNS {
            // Who goes first changes.
            if turn % 2 == 0 {
                ours = ours.min(with.turn(row));
                reference = reference.min(without.turn(row));
            } else {
                reference = reference.min(without.turn(row));
                ours = ours.min(with.turn(row));
            }
        }
        println!("{row},{device},{COMMANDS},{ours:.1},{reference:.1},{:.3}", ours / reference);
    }
    with.end();
    without.end();
}
