//! The automatic choice against each other strategy. The graphs have a few hundred nodes of all
//! sizes, with and without loops. The choice should never be slower than the best strategy.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes, times are medians of whole
//! replays, and the reference is the fastest of the other strategies. The automatic choice is
//! measured after the race of its first replays. Names are `auto_<shape>_<items>item`, with `_loop`
//! if the kernel has a loop of sixty-four rounds. `auto_<shape>_mixed` has one node of 16384 items
//! among seven of 64. `auto_<shape>_mixed_loop` has one with loops of 1024 items. Separate lines
//! show the number of segments and launches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]

mod measure;

use std::time::Instant;

use oclave::graph::{ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::{KernelBundle, KernelCall};
use oclave::memory::usm;
use oclave::{Command, Context, Device, Graph, Queue, UsmSlice};

const NODES: usize = 400;
/// Items of the largest node.
const MOST: usize = 16_384;
const ARRAYS: usize = 2 * 100 + 1;
const CHAINS: usize = 8;
const ROUNDS: usize = 15;

/// What a node waits for, and the arrays that it writes and reads.
struct Shape {
    name: &'static str,
    in_order: bool,
    node: fn(usize) -> (Vec<usize>, usize, usize),
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "chain",
        in_order: true,
        node: |i| (i.checked_sub(1).into_iter().collect(), i % 2, (i + 1) % 2),
    },
    Shape { name: "wide", in_order: false, node: |i| (Vec::new(), i % (ARRAYS - 1), ARRAYS - 1) },
    Shape {
        name: "layered",
        in_order: false,
        node: |i| {
            let above = |i: usize| [i - 100, (i - 100) / 100 * 100 + (i + 1) % 100];
            let waits = if i < 100 { Vec::new() } else { above(i).to_vec() };
            (waits, i / 100 % 2 * 100 + i % 100, (i / 100 + 1) % 2 * 100 + (i + 1) % 100)
        },
    },
    // Chains side by side.
    Shape {
        name: "chains",
        in_order: false,
        node: |i| {
            let (chain, place) = (i % CHAINS, i / CHAINS);
            (i.checked_sub(CHAINS).into_iter().collect(), 2 * chain + place % 2, 2 * chain + (place + 1) % 2)
        },
    },
];

struct Bench {
    context: Context,
    small: KernelBundle,
    looped: KernelBundle,
    memory: UsmSlice<f32, usm::DeviceOnly>,
    out: UsmSlice<u64, usm::DeviceOnly>,
}

fn main() {
    let Some(device) = measure::device() else { return };
    // The environment must not influence the choice.
    let context = Context::builder(std::slice::from_ref(&device)).graph_interpreter(None).build().unwrap();
    // SAFETY: the kernels are this repository's own.
    let load = |spirv: &[u8]| unsafe { KernelBundle::from_spirv(&context, spirv) }.unwrap();
    let bench = Bench {
        small: load(include_bytes!("kernels/small_nodes.spv")),
        looped: load(include_bytes!("../tests/fixtures/replay.spv")),
        memory: context.alloc_device(ARRAYS * MOST).unwrap(),
        out: context.alloc_device(MOST * 4).unwrap(),
        context,
    };
    Queue::new(&bench.context).unwrap().fill(&bench.memory, 0.0).unwrap().wait().unwrap();
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    for shape in &SHAPES {
        for (items, looped) in [
            (1, false),
            (64, false),
            (256, false),
            (1024, false),
            (4096, false),
            (MOST, false),
            (16, true),
            (128, true),
            (1024, true),
        ] {
            let name = format!("auto_{}_{items}item{}", shape.name, if looped { "_loop" } else { "" });
            if is_wanted(&name) {
                bench.measure(&name, &device, shape, |_| (items, looped));
            }
        }
        for (suffix, large) in [("", (MOST, false)), ("_loop", (1024, true))] {
            let name = format!("auto_{}_mixed{suffix}", shape.name);
            if is_wanted(&name) {
                bench.measure(&name, &device, shape, |node| if node % 8 == 7 { large } else { (64, false) });
            }
        }
    }
}

impl Bench {
    fn call(&self, node: usize, items: usize, looped: bool, [x, y]: [usize; 2]) -> KernelCall {
        let array = |at: usize| self.memory.slice(at * MOST..at * MOST + items).unwrap();
        match looped {
            true => {
                let call = self.looped.kernel("looped").unwrap().call().pointer_mut::<u64>(&self.out);
                call.pointer::<f32>(&self.memory).value(64_i32)
            }
            false => {
                let kernel = ["axpy", "smooth", "polynomial", "bump"][node % 4];
                let call = self.small.kernel(kernel).unwrap().call();
                call.pointer_mut::<f32>(&array(x)).pointer::<f32>(&array(y))
            }
        }
    }

    /// `size` gives the items of a node, and whether its kernel has a loop.
    fn measure(&self, name: &str, device: &Device, shape: &Shape, size: impl Fn(usize) -> (usize, bool)) {
        let graph = Graph::new(&self.context, device).unwrap();
        let mut nodes: Vec<Node> = Vec::with_capacity(NODES);
        for at in 0..NODES {
            let (waits, x, y) = (shape.node)(at);
            let after: Vec<&Node> = waits.iter().map(|wait| &nodes[*wait]).collect();
            let (items, looped) = size(at);
            let command = Command::parallel_for(items, self.call(at, items, looped, [x, y]));
            nodes.push(graph.after(&after).add(command).unwrap());
        }
        let queue = Queue::builder(&self.context);
        let queue = if shape.in_order { queue } else { queue.out_of_order() }.build().unwrap();
        let run = |executable: &ExecutableGraph| {
            queue.submit_graph(executable).unwrap().wait().unwrap();
        };
        let auto = graph.finalizer().wait_for_interpreter().finalize().unwrap();
        // Up to five plans run three times each.
        (0..24).for_each(|_| run(&auto));
        let mut others = vec![ReplayStrategy::Enqueue, ReplayStrategy::Interpreter];
        others.extend(Graph::support(device).command_buffers.then_some(ReplayStrategy::CommandBuffer));
        let mut ways = vec![auto];
        ways.extend(
            others
                .iter()
                .map(|way| graph.finalizer().strategy(*way).wait_for_interpreter().finalize().unwrap()),
        );
        let mut times = vec![Vec::new(); ways.len()];
        for round in 0..ROUNDS + 2 {
            for turn in 0..ways.len() {
                let way = (turn + round) % ways.len();
                // A few untimed: what ran before it left caches and threads as it needed them.
                (0..3).for_each(|_| run(&ways[way]));
                let start = Instant::now();
                run(&ways[way]);
                if round >= 2 {
                    times[way].push(start.elapsed().as_secs_f64() * 1e6);
                }
            }
        }
        // Copies are sorted: rows compare rounds.
        let medians: Vec<f64> = times.iter().map(|times| measure::median(&mut times.clone())).collect();
        let best = (1..ways.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b])).unwrap();
        let segments = ways[0].segments();
        println!(
            "{name}: {} segments of up to {} groups, {} launches; {:?} is best; {:?}",
            segments.len(),
            segments.iter().map(|segment| segment.groups).max().unwrap_or(0),
            NODES - segments.iter().map(|segment| segment.nodes.len()).sum::<usize>(),
            others[best - 1],
            medians.iter().map(|median| *median as u64).collect::<Vec<_>>(),
        );
        let [ours, reference] = [0, best].map(|way| std::mem::take(&mut times[way]));
        measure::row(name, NODES, (ours, reference));
    }
}
