//! What host and device do during a few frames, in one picture.
//!
//! Each frame uploads a picture, softens it by a kernel and by a graph, and reads it back. With the
//! feature `tracing`, the library makes spans of what it does on the host, and events with the times
//! of commands on the device. A small subscriber (`chrome.rs`) writes both as a Chrome trace, which
//! Perfetto (<https://ui.perfetto.dev>) and `chrome://tracing` show.
//!
//! ```text
//! cargo run --release -p frame -- [FILE]
//! ```
//! `FILE` is where the trace goes (default `target/frame.json`). The device is `OCLAVE_DEVICE`, or the
//! best one found.

mod chrome;

use std::error::Error;
use std::path::PathBuf;

use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::memory::usm;
use oclave::{Command, Context, Device, Graph, Queue, UsmSlice};

use chrome::Chrome;

mod kernels {
    oclave::include_kernels!("guide");
}
use kernels::soften::soften;

type Picture = UsmSlice<u8, usm::DeviceOnly>;

const SIZE: [usize; 2] = [640, 480];

/// Softens a picture four times, and ends in the same memory.
fn graph(queue: &Queue, from: &Picture, to: &Picture) -> oclave::Result<ExecutableGraph> {
    let graph = Graph::from_queue(queue);
    graph.label("soften", || {
        for round in ["first", "second"] {
            let there = Command::parallel_for(SIZE, soften(from, to)).named(format!("{round}, there"));
            graph.after_all_leaves().add(there)?;
            let back = Command::parallel_for(SIZE, soften(to, from)).named(format!("{round}, back"));
            graph.after_all_leaves().add(back)?;
        }
        Ok::<_, oclave::Error>(())
    })?;
    graph.after_all_leaves().add(Command::host_task(|| ()).named("count frames"))?;
    // Command by command, so that each node has its times.
    graph.finalizer().profiling().strategy(ReplayStrategy::Enqueue).finalize()
}

fn frames(count: u64) -> oclave::Result<()> {
    let context = Context::new(&Device::select()?)?;
    let queue = Queue::builder(&context).profiling().build()?;
    let pixels = SIZE[0] * SIZE[1];
    let from = context.alloc_device::<u8>(pixels)?;
    let to = context.alloc_device::<u8>(pixels)?;
    let executable = graph(&queue, &from, &to)?;
    for number in 0..count {
        let _frame = tracing::info_span!("frame", number).entered();
        queue.write_async(&from, vec![number as u8; pixels])?;
        queue.parallel_for(SIZE, soften(&from, &to))?;
        queue.submit_graph(&executable)?.wait()?;
        let softened = queue.read(&from)?;
        assert!(softened.iter().all(|pixel| *pixel == number as u8), "an even picture stays as it is");
    }
    // The subscriber gets the times of all commands now at the latest.
    queue.wait()
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/frame.json"), PathBuf::from);
    let chrome = Chrome::default();
    tracing::subscriber::with_default(chrome.clone(), || frames(3))?;
    let trace = chrome.trace();
    let on_device = trace.matches("\"tid\":\"device\"").count();
    // Each frame: an upload, a kernel and four nodes.
    assert!(on_device >= 18, "{on_device} commands have times");
    std::fs::write(&path, trace)?;
    println!("{on_device} commands of the device beside the host's spans: {}", path.display());
    Ok(())
}
