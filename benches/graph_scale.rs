//! Large graphs: building, finalizing and dropping, to a million nodes.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`. The number of nodes is n, and ours_us is for
//! one of them. The reference is one microsecond, so a linear cost is the same in each row.
//! Commands are prepared; in rows `…_lists_…` they are put into lists of tasks, whose replay
//! program is there.
//!
//! Rows `finalize_temporaries…` are for a whole chain of n copies from one temporary to the next. The
//! reference is the same graph with memory of the device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]

mod measure;
mod shapes;

use std::cell::RefCell;

use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::memory::usm;
use oclave::{Command, Context, Graph, UsmSlice};
use shapes::{SHAPES, Shape};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump;

const CELLS: usize = 1024;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    temporaries(&context);
    let cells = context.alloc_device::<i32>(CELLS).unwrap();
    for shape in &SHAPES {
        for n in [10_000, 100_000, 1_000_000] {
            measure_shape(&context, &cells, shape, n);
        }
    }
}

/// A chain of nodes, each with memory of its own that the next one reads.
fn temporaries(context: &Context) {
    for n in [1000, 10_000] {
        let chain = |alloc: &dyn Fn(&Graph) -> UsmSlice<i32, usm::DeviceOnly>| {
            let graph = Graph::new(context, context.device()).unwrap();
            let mut last = alloc(&graph);
            for _ in 0..n {
                let next = alloc(&graph);
                graph.after_all_leaves().add(Command::copy(&last, &next)).unwrap();
                last = next;
            }
            graph
        };
        let ours = chain(&|graph| graph.alloc::<i32>(CELLS).unwrap());
        let reference = chain(&|_| context.alloc_device::<i32>(CELLS).unwrap());
        println!("{n} temporaries: {} bytes", ours.finalize().unwrap().memory().used_bytes);
        for (strategy, suffix) in [(ReplayStrategy::Enqueue, ""), (ReplayStrategy::Interpreter, "_lists")] {
            let time = |graph: &Graph| {
                let finalizer = || graph.finalizer().strategy(strategy).wait_for_interpreter();
                let mut made = None;
                measure::time(1, &mut || made = Some(finalizer().finalize().unwrap()))
            };
            let times = (0..21).map(|_| (time(&ours), time(&reference))).skip(1).unzip();
            measure::row(&format!("finalize_temporaries{suffix}"), n, times);
        }
    }
}

fn measure_shape(context: &Context, cells: &UsmSlice<i32, usm::DeviceOnly>, shape: &Shape, n: usize) {
    let waits = (shape.waits)(n);
    let rounds = if n > 10_000 { 1 } else { 5 };
    let name = |what: &str| format!("scale_{what}_{}", shape.name);
    let new = || Graph::new(context, context.device()).unwrap();
    let call = |node: usize| bump(cells.slice(node % CELLS..).unwrap());
    let units = n as f64;
    measure::budget(&name("build"), n, rounds, units, new, |graph| shapes::build(graph, &waits, call));
    let graph = new();
    shapes::build(&graph, &waits, call);
    for (strategy, suffix) in [(ReplayStrategy::Enqueue, ""), (ReplayStrategy::Interpreter, "_lists")] {
        let finalize = || graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        let place: RefCell<Option<ExecutableGraph>> = RefCell::default();
        let measure = |what: &str, make: &dyn Fn(), work: &dyn Fn()| {
            measure::budget(&name(&format!("{what}{suffix}")), n, rounds, units, make, |()| work());
        };
        // The one before is dropped by making room.
        measure("finalize", &|| drop(place.take()), &|| drop(place.replace(Some(finalize()))));
        measure("drop", &|| drop(place.replace(Some(finalize()))), &|| drop(place.take()));
    }
}
