//! Invalid virtual calls within a graph, on the selected device: what waits report, for launches
//! and for the interpreter.

use crate::common::{queues_and_measuring, undecided};
use oclave::device::Aspects;
use oclave::graph::ReplayStrategy;
use oclave::memory::usm;
use oclave::{Command, Context, ErrorKind, Graph, Queue, UsmSlice};

mod levels {
    oclave::include_kernels!("levels");
}
use levels::levels::{make_prices, use_exact_prices, use_prices};

/// Nodes before and behind the one with the fault.
const NODES: usize = 40;
const STRATEGIES: [ReplayStrategy; 3] =
    [ReplayStrategy::Enqueue, ReplayStrategy::Interpreter, ReplayStrategy::Auto];

/// Objects that a kernel makes: two prices, and a third one whose rate only `use_exact_prices`
/// knows.
fn prices(context: &Context) -> UsmSlice<i8> {
    let memory = context.alloc_device::<i8>(80).unwrap();
    let queue = Queue::new(context).unwrap();
    queue.single_task(make_prices(&memory)).unwrap().wait().unwrap();
    memory
}

/// Nodes that use the two prices, each with its own result. With `fault`, one in their midst also
/// uses the third.
fn graph(queue: &Queue, prices: &UsmSlice<i8>, out: &UsmSlice<i32, usm::Shared>, fault: bool) -> Graph {
    let graph = Graph::from_queue(queue);
    let has_fp64 = queue.device().capabilities().aspects.contains(Aspects::FP64);
    for node in 0..=2 * NODES {
        let items = if node == NODES && fault { 3 } else { 2 };
        let place = out.slice(4 * node..4 * node + 4).unwrap();
        // A kernel without a fault next to it.
        let call = match node % 2 == 1 && has_fp64 {
            true => use_exact_prices(prices, &place),
            false => use_prices(prices, &place),
        };
        let command = Command::parallel_for(items, call);
        graph.after_all_leaves().add(command).unwrap();
    }
    graph
}

#[device_test(undecided)]
fn a_fault_within_a_segment_is_told_once_by_the_next_wait_with_its_kernel(context: Context) {
    let memory = prices(&context);
    let out = context.alloc_shared::<i32>(4 * (2 * NODES + 1)).unwrap();
    for queue in queues_and_measuring(&context) {
        for strategy in STRATEGIES {
            let finalize = |fault| {
                let graph = graph(&queue, &memory, &out, fault);
                graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap()
            };
            let (good, bad) = (finalize(false), finalize(true));
            if strategy == ReplayStrategy::Interpreter {
                assert_eq!(bad.not_interpreted(), []);
                assert_eq!(
                    bad.segments().iter().map(|segment| segment.nodes.len()).sum::<usize>(),
                    2 * NODES + 1
                );
            }
            let is_fault = |outcome: oclave::Result<()>| {
                let error = outcome.expect_err("the fault is told");
                let text = format!("{error:#}");
                assert_eq!(error.kind(), ErrorKind::Kernel, "{text}");
                assert!(text.contains("kernel `use_prices`") && text.contains("set `inner_fp64`"), "{text}");
            };
            for _ in 0..6 {
                out.write().unwrap().fill(-1);
                // By the event; it has ended all the same.
                let event = queue.submit_graph(&bad).unwrap();
                is_fault(event.wait());
                event.wait().unwrap();
                for node in 0..=2 * NODES {
                    let third = if node == NODES { 1000 } else { -1 };
                    assert_eq!(
                        out.read().unwrap()[4 * node..4 * node + 4],
                        [1030, 2060, third, -1],
                        "node {node}"
                    );
                }
                // By the queue, behind a graph that has none.
                queue.submit_graph(&bad).unwrap();
                queue.submit_graph(&good).unwrap();
                is_fault(queue.wait());
                queue.submit_graph(&good).unwrap().wait().unwrap();
            }
        }
    }
}
