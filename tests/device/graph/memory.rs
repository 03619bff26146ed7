//! How much memory nodes of graphs and executables take, commands included: together at most 1 KiB.
//!
//! Tasks of the interpreter take at most half of it. All allocations of the process are counted, so
//! each test has a process of its own.

#![allow(unsafe_code, reason = "an allocator that counts")]

use crate::common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use oclave::graph::{Node, ReplayStrategy};
use oclave::{Command, Context, Graph, Queue};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NODES: usize = 20_000;

/// Bytes for each node of a graph that `build` makes.
fn bytes_per_node(context: &Context, what: &str, build: impl Fn(&Graph)) -> usize {
    let graph = Graph::new(context, context.device()).unwrap();
    let before = BYTES.load(Ordering::SeqCst);
    build(&graph);
    let bytes = (BYTES.load(Ordering::SeqCst) - before) / graph.len();
    println!("{what}: {bytes} bytes a node");
    drop(graph);
    let left = BYTES.load(Ordering::SeqCst).saturating_sub(before) / NODES;
    assert_eq!(left, 0, "{what}: what a node took comes back");
    bytes
}

#[device_test(alone)]
fn graphs_and_executables_take_at_most_a_kibibyte_a_node(context: Context) {
    let bundle = common::bundle(&context);
    let memory = context.alloc_device::<i32>(64).unwrap();
    let queue = Queue::new(&context).unwrap();
    // The first finds programs.
    let first = Graph::from_queue(&queue);
    let kernel = common::call(&bundle, "bump_by").pointer_mut(&memory).value(1_i32);
    first.add(Command::parallel_for(1, kernel)).unwrap();
    let first =
        first.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter().finalize().unwrap();
    queue.submit_graph(&first).unwrap().wait().unwrap();
    let bump = bundle.kernel("bump_by").unwrap();
    let before = BYTES.load(Ordering::SeqCst);
    let graph = Graph::from_queue(&queue);
    let mut last: Option<Node> = None;
    for at in 0..NODES {
        let kernel = bump.call().pointer_mut(memory.slice(at % 64..).unwrap()).value(1_i32);
        let after: Vec<&Node> = last.iter().collect();
        last = Some(graph.after(&after).add(Command::parallel_for(1, kernel)).unwrap());
    }
    drop(last);
    let in_graph = (BYTES.load(Ordering::SeqCst) - before) / NODES;
    println!("graph: {in_graph} bytes a node");
    // Drivers that are part of the process allocate with malloc, which is not counted.
    for strategy in common::strategies(context.device()) {
        let before = BYTES.load(Ordering::SeqCst);
        let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        let finalized = (BYTES.load(Ordering::SeqCst) - before) / NODES;
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let replayed = (BYTES.load(Ordering::SeqCst) - before) / NODES;
        println!("{strategy:?}: {finalized} bytes a node, {replayed} after a replay");
        let most = finalized.max(replayed);
        assert!(in_graph + most <= 1024, "{strategy:?}: {in_graph} + {finalized}, {replayed}");
        let is_list = executable.partitions()[0].strategy == Some(ReplayStrategy::Interpreter);
        assert!(!is_list || most <= 512, "tasks: {finalized}, {replayed}");
    }
}

#[device_test(alone)]
fn nodes_take_at_most_a_kibibyte(context: Context) {
    let bundle = common::bundle(&context);
    let memory = context.alloc_device::<i32>(64).unwrap();
    let kernel = common::call(&bundle, "bump_by").pointer_mut(memory).value(1_i32);
    let command = || Command::parallel_for(64, kernel.clone());
    // The first finds the kernel's program.
    Graph::new(&context, context.device()).unwrap().add(command()).unwrap();

    let empty = bytes_per_node(&context, "empty, no edges", |graph| {
        (0..NODES).for_each(|_| drop(graph.add(Command::empty()).unwrap()));
    });
    assert!(empty <= 512, "{empty}");
    let chain = bytes_per_node(&context, "kernels in a chain", |graph| {
        let mut last = graph.add(command()).unwrap();
        for _ in 1..NODES {
            last = graph.after(&last).add(command()).unwrap();
        }
    });
    assert!(chain <= 1024, "{chain}");
    let fan = bytes_per_node(&context, "kernels between two", |graph| {
        let first = graph.add(command()).unwrap();
        (0..NODES).for_each(|_| drop(graph.after(&first).add(command()).unwrap()));
        graph.after_all_leaves().add(Command::empty()).unwrap();
    });
    assert!(fan <= 1024, "{fan}");
    let queue = Queue::new(&context).unwrap();
    let recorded = bytes_per_node(&context, "recorded kernels", |graph| {
        let recording = graph.record(&queue).unwrap();
        (0..NODES).for_each(|_| drop(queue.submit(command()).unwrap()));
        recording.end();
    });
    assert!(recorded <= 1024, "{recorded}");
}
