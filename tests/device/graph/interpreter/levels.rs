//! Layers of nodes that wait for all nodes of the layer before, against launches one by one. With
//! `OCLAVE_WIDE_GROUPS=1` a group runs the nodes of a layer side by side, as on a GPU.

use super::finalize;
use crate::common::{call, replay_kernels, undecided};
use oclave::device::DeviceKind;
use oclave::graph::{Node, ReplayStrategy};
use oclave::{Command, Context, Graph, Queue};

const LAYERS: usize = 40;
/// Nodes of a layer: all layers together are several blocks, and a layer is no multiple of what runs
/// side by side.
const WIDTH: usize = 7;
/// Work-items that one launch of a list may not run on one core.
const LONG: usize = 1 << 24;

/// The numbers after all layers: each node reads an array that another node of the layer before
/// wrote.
fn run(items: usize, strategy: ReplayStrategy) -> Option<(Vec<i32>, usize)> {
    let context = undecided()?;
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let memory = context.alloc_shared::<i32>(2 * WIDTH * items).unwrap();
    memory.write().unwrap().iter_mut().enumerate().for_each(|(at, x)| *x = at as i32 % 17 - 8);
    let array = |layer: usize, node: usize| {
        let start = (layer % 2 * WIDTH + node % WIDTH) * items;
        memory.slice(start..start + items).unwrap()
    };
    let graph = Graph::from_queue(&queue);
    let mut before: Vec<Node> = Vec::new();
    for layer in 0..LAYERS {
        let node = |node: usize| {
            let (from, to) = (array(layer, node + 1), array(layer + 1, node));
            let shifted = call(&bundle, "shifted").pointer::<i32>(&from).pointer_mut::<i32>(&to);
            let command = Command::parallel_for(items, shifted.value(items as i32));
            graph.after(&before.iter().collect::<Vec<_>>()).add(command).unwrap()
        };
        before = (0..WIDTH).map(node).collect();
    }
    let executable = finalize(&graph, strategy);
    for _ in 0..2 {
        queue.submit_graph(&executable).unwrap().wait().unwrap();
    }
    let nodes = executable.segments().iter().map(|segment| segment.nodes.len()).sum();
    Some((memory.read().unwrap().to_vec(), nodes))
}

#[test]
fn layers_wait_for_all_nodes_of_the_layer_before() {
    for items in [1, 33, 100] {
        let Some((launched, _)) = run(items, ReplayStrategy::Enqueue) else { return };
        let Some((interpreted, nodes)) = run(items, ReplayStrategy::Interpreter) else { return };
        assert_eq!(nodes, LAYERS * WIDTH);
        assert!(launched == interpreted, "{items} items:\n{interpreted:?}\nnot\n{launched:?}");
    }
}

/// As when the graph is finalized. The form for GPUs counts work-items in 32 bits.
#[device_test(undecided)]
fn nodes_that_become_too_long_for_a_list_leave_it(context: Context) {
    if context.device().kind() == DeviceKind::Gpu {
        println!("skipped: on a GPU, nodes that are too long for a list need gigabytes of memory");
        return;
    }
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let memory = context.alloc_device::<i32>(LONG).unwrap();
    queue.submit(Command::fill(&memory, 0)).unwrap().wait().unwrap();
    let add = |items: usize| {
        let chained = call(&bundle, "chained").pointer_mut::<i32>(&memory).value(1_i32);
        Command::parallel_for(items, chained)
    };
    let graph = Graph::from_queue(&queue);
    let nodes: Vec<Node> = (0..3).map(|_| graph.after_all_leaves().add(add(10)).unwrap()).collect();
    let finalizer = graph.finalizer().updatable().strategy(ReplayStrategy::Interpreter);
    let executable = finalizer.wait_for_interpreter().finalize().unwrap();
    for (items, segments) in [(100, &[3][..]), (LONG, &[1, 1])] {
        nodes[1].update_command(add(items)).unwrap();
        executable.update(&nodes[1]).unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let counts: Vec<usize> = executable.segments().iter().map(|segment| segment.nodes.len()).collect();
        assert_eq!(counts, segments, "{items} work-items: {:?}", executable.not_interpreted());
    }
    let values = queue.read(&memory).unwrap();
    // Each node adds its number to a value.
    assert_eq!([5, 50, LONG - 1].map(|at| values[at]), [30, 100, LONG as i32 - 1]);
}
