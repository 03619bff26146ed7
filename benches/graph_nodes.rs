//! A thousand small nodes on a GPU: replays by the interpreter, against a CUDA graph of the same
//! nodes.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes. Times are from the submission to
//! the end of the wait, medians of 31 replays, or of as many as fit into 31 ms. Neither side uses
//! events: one waits for its queue, the other for its stream. `OCLAVE_CUDA_REFERENCE` names the
//! program of `benches/cuda/graph_nodes.cu`, which instantiates its graphs once. `ci/gpu bench`
//! builds it. Without it, the reference is the library's own prepared launches.
//!
//! | shape | nodes |
//! |---|---|
//! | `chain` | each waits for the one before |
//! | `independent` | on an array of their own each |
//! | `layers` | a hundred layers of ten; each node waits for all ten before it |
//! | `wide_layers` | ten layers of a hundred, in the same way |

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

mod measure;

use std::time::{Duration, Instant};

use oclave::graph::{ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::KernelBundle;
use oclave::memory::usm;
use oclave::{Command, Context, Device, Graph, Queue, UsmSlice};

const NODES: usize = 1000;
const LAYER: usize = 10;
const WIDE_LAYER: usize = 100;
/// Floats of an array.
const FLOATS: usize = 1024;
const ROUNDS: usize = 31;
/// What the reference takes for as many. A row of 31 replays of 11 µs is over before what disturbs the
/// machine for a millisecond is.
const REFERENCE: Duration = Duration::from_millis(31);
const KERNELS: &[u8] = include_bytes!("kernels/small_nodes.spv");

#[derive(Clone, Copy)]
enum Shape {
    Chain,
    Independent,
    /// Of so many nodes.
    Layers(usize),
}

impl Shape {
    /// The array of a node.
    fn array(self, node: usize) -> usize {
        match self {
            Self::Chain => 0,
            Self::Independent => node,
            Self::Layers(nodes) => node % nodes,
        }
    }

    /// The nodes that one waits for.
    fn before(self, node: usize) -> std::ops::Range<usize> {
        match self {
            Self::Chain => node.saturating_sub(1)..node,
            Self::Independent => 0..0,
            Self::Layers(nodes) => {
                let layer = node / nodes * nodes;
                layer.saturating_sub(nodes)..layer
            }
        }
    }
}

struct Ours {
    context: Context,
    device: Device,
    queue: Queue,
    memory: UsmSlice<f32, usm::DeviceOnly>,
    bundle: KernelBundle,
}

impl Ours {
    fn new(device: &Device) -> Self {
        let context = Context::new(device).unwrap();
        #[allow(unsafe_code, reason = "kernels of this repository")]
        // SAFETY: the kernels stay within the arrays that they are given.
        let bundle = unsafe { KernelBundle::from_spirv(&context, KERNELS) }.unwrap();
        Self {
            queue: Queue::builder(&context).discard_events().build().unwrap(),
            memory: context.alloc_device(NODES * FLOATS).unwrap(),
            device: device.clone(),
            bundle,
            context,
        }
    }

    fn graph(&self, shape: Shape, items: usize, strategy: ReplayStrategy) -> ExecutableGraph {
        let graph = Graph::new(&self.context, &self.device).unwrap();
        let mut nodes: Vec<Node> = Vec::new();
        for node in 0..NODES {
            let start = shape.array(node) * FLOATS;
            let array = self.memory.slice(start..start + FLOATS).unwrap();
            let call = self.bundle.kernel("bump").unwrap().call();
            let call = call.pointer_mut::<f32>(&array).pointer::<f32>(&array);
            let after: Vec<&Node> = nodes[shape.before(node)].iter().collect();
            nodes.push(graph.after(&after).add(Command::parallel_for(items, call)).unwrap());
        }
        graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap()
    }

    fn replay(&self, graph: &ExecutableGraph) {
        self.queue.submit_graph(graph).unwrap();
        self.queue.wait().unwrap();
    }

    /// Checks that each node adds 1 to each item of its array.
    fn check(&self, graph: &ExecutableGraph, shape: Shape, items: usize) {
        self.queue.fill(&self.memory, 0.0).unwrap();
        self.replay(graph);
        let all = self.queue.read(&self.memory).unwrap();
        let mut expected = vec![0.0; NODES * FLOATS];
        for node in 0..NODES {
            let start = shape.array(node) * FLOATS;
            expected[start..start + items].iter_mut().for_each(|x| *x += 1.0);
        }
        assert!(all == expected, "the nodes do not compute what they should");
    }
}

fn main() {
    let Some(device) = measure::device() else { return };
    let reference = measure::cuda();
    let ours = Ours::new(&device);
    let shapes = [
        ("chain", Shape::Chain),
        ("independent", Shape::Independent),
        ("layers", Shape::Layers(LAYER)),
        ("wide_layers", Shape::Layers(WIDE_LAYER)),
    ];
    for (name, shape) in shapes {
        for items in [1, 64, 256, 1024] {
            let row = format!("{name}_{items}");
            let graph = ours.graph(shape, items, ReplayStrategy::Interpreter);
            ours.check(&graph, shape, items);
            let segments: Vec<String> = graph
                .segments()
                .iter()
                .map(|segment| format!("{} x {}", segment.groups, segment.group_size))
                .collect();
            eprintln!("{row}: {} launches of {}", segments.len(), segments.join(", "));
            match &reference {
                Some(times) => {
                    let time = *times.get(&row).unwrap_or_else(|| panic!("the reference has no row {row}"));
                    let ours = median_of_replays(&ours, &graph);
                    measure::row(&row, NODES, (vec![ours], vec![time]));
                }
                None => {
                    let launches = ours.graph(shape, items, ReplayStrategy::Enqueue);
                    let replay = || ours.replay(&graph);
                    measure::pair(&row, NODES, 5, 1, replay, || ours.replay(&launches));
                }
            }
        }
    }
}

fn median_of_replays(ours: &Ours, graph: &ExecutableGraph) -> f64 {
    let replays = |least: usize| {
        let start = Instant::now();
        let mut times = Vec::new();
        while times.len() < least || start.elapsed() < REFERENCE {
            times.push(measure::time(1, &mut || ours.replay(graph)));
        }
        times
    };
    replays(10);
    measure::median(&mut replays(ROUNDS))
}
