//! Random graphs of commands of every shape, updated while replays are on their way, against the
//! same commands put on a queue one by one.

use oclave::graph::{Node, ReplayStrategy};
use oclave::kernel::{KernelBundle, Local, NdRange, Range};
use oclave::memory::usm;
use oclave::{Command, Context, Graph, Queue, UsmSlice};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::{call, queues, replay_kernels, undecided};

use crate::kernels::buffers::{advance_tile, combine, reverse_eights};

/// Nodes of a lane follow each other and use its memory only.
const LANES: usize = 3;
const BYTES: usize = 8192;

/// Numbers that a seed gives.
struct Choice(u64);

impl Choice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Kernel,
    Copy,
    Fill,
    Memset,
}

struct Bench {
    bundle: KernelBundle,
    lanes: [[UsmSlice<u8, usm::DeviceOnly>; 2]; LANES],
}

impl Bench {
    fn new(context: &Context) -> Self {
        let lane = |_| [(); 2].map(|()| context.alloc_device(BYTES).unwrap());
        Self { bundle: replay_kernels(context), lanes: [0; LANES].map(lane) }
    }

    fn reset(&self, queue: &Queue) {
        let data: Vec<u8> = (0..BYTES).map(|at| ((at * 31) ^ (at >> 5)) as u8).collect();
        self.lanes.iter().flatten().for_each(|memory| queue.write(memory, &data).unwrap());
    }

    fn state(&self, queue: &Queue) -> Vec<Vec<u8>> {
        self.lanes.iter().flatten().map(|memory| queue.read(memory).unwrap()).collect()
    }

    fn part(
        &self,
        choice: &mut Choice,
        memory: (usize, usize),
        size: usize,
    ) -> UsmSlice<u8, usm::DeviceOnly> {
        let align = choice.of(&[1, 4, 16]);
        let start = choice.below((BYTES - size) / align + 1) * align;
        self.lanes[memory.0][memory.1].slice(start..start + size).unwrap()
    }

    fn command(&self, kind: Kind, lane: usize, seed: u64) -> Command {
        let choice = &mut Choice(seed);
        let size = choice.of(&[0, 1, 3, 16, 17, 64, 1000, 4097, BYTES]);
        match kind {
            Kind::Kernel => self.kernel(choice, lane),
            Kind::Copy => {
                let to = self.part(choice, (lane, 1), size);
                Command::copy(&self.part(choice, (lane, 0), size), &to)
            }
            Kind::Fill => {
                let wide = [seed, !seed];
                match choice.below(4) {
                    0 => Command::fill(&self.part(choice, (lane, 0), size), seed as u8),
                    1 => Command::fill(
                        &self.lanes[lane][1].cast().unwrap().slice(3..3 + size / 8).unwrap(),
                        seed as u32,
                    ),
                    2 => Command::fill(
                        &self.lanes[lane][0].cast().unwrap().slice(1..1 + size / 32).unwrap(),
                        wide,
                    ),
                    _ => Command::fill(
                        &self.part(choice, (lane, 1), size / 3 * 3).cast().unwrap(),
                        [1_u8, 2, 3],
                    ),
                }
            }
            Kind::Memset => {
                Command::memset(&self.part(choice, (lane, choice.0 as usize % 2), size), seed as u8)
            }
        }
    }

    fn kernel(&self, choice: &mut Choice, lane: usize) -> Command {
        let ints = |at: usize| self.lanes[lane][at].cast::<i32>().unwrap();
        let wide = self.lanes[lane][1].cast::<u64>().unwrap();
        let items = choice.of(&[0, 1, 2, 7, 64, 255, 1000]);
        let factor = choice.below(1 << 31) as i32;
        match choice.below(7) {
            0 => {
                let chained = call(&self.bundle, "chained").pointer_mut::<i32>(&ints(0)).value(factor);
                Command::parallel_for(NdRange::from(items).with_offset(choice.below(50)), chained)
            }
            1 => {
                let shifted =
                    call(&self.bundle, "shifted").pointer::<i32>(&ints(0)).pointer_mut::<i32>(&ints(1));
                Command::parallel_for(items, shifted.value(items as i32))
            }
            // Groups that wait for each other, of several shapes and sizes of local memory.
            2 | 3 => {
                let shape = choice.of(&[[1, 1, 1], [1, 4, 1], [2, 2, 2], [16, 1, 1], [4, 1, 4]]);
                let size: usize = shape.iter().product();
                let sums =
                    call(&self.bundle, "group_sums").pointer::<i32>(&ints(0)).pointer_mut::<u64>(&wide);
                let sums =
                    sums.local(Local::<i32>::new(size + choice.below(99))).local(Local::<u8>::new(size));
                let [x, y, z] = shape;
                Command::parallel_for(NdRange::new([x * choice.below(4), y, z], shape), sums)
            }
            4 => Command::parallel_for(NdRange::new(8 * choice.below(5), 8), reverse_eights(ints(1))),
            5 => {
                let range = Range::from([choice.below(9), choice.below(9), choice.below(5)]);
                let tile = self.lanes[lane][0].cast().unwrap();
                Command::parallel_for(range, advance_tile(&tile, 10, 100, factor as u32, 5))
            }
            // Of another program than the first ones.
            _ => {
                let [from, to] = [1, 0].map(|at| self.lanes[lane][at].cast().unwrap());
                Command::parallel_for(items, combine(&from, &to, factor as u32))
            }
        }
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![6 => Just(Kind::Kernel), 2 => Just(Kind::Copy), 2 => Just(Kind::Fill), 1 => Just(Kind::Memset)]
}

#[device_test(undecided)]
fn lists_do_what_commands_do(context: Context) {
    let (bench, queues) = (Bench::new(&context), queues(&context));
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() };
    let nodes = prop::collection::vec((kind(), 0..LANES, any::<u64>()), 1..60);
    let updates = prop::collection::vec((any::<Index>(), any::<u64>()), 0..5);
    proptest!(config, |(nodes in nodes, rounds in prop::collection::vec(updates, 1..8))| {
        let graph = Graph::new(&context, context.device()).unwrap();
        let mut commands: Vec<Command> = Vec::new();
        let (mut handles, mut last): (Vec<Node>, [Option<Node>; LANES]) = Default::default();
        for (kind, lane, seed) in &nodes {
            commands.push(bench.command(*kind, *lane, *seed));
            let before: Vec<&Node> = last[*lane].iter().collect();
            let node = graph.after(&before).add(commands[handles.len()].clone()).unwrap();
            last[*lane] = Some(node.clone());
            handles.push(node);
        }
        let executable =
            graph.finalizer().updatable().strategy(ReplayStrategy::Interpreter).wait_for_interpreter().finalize().unwrap();
        bench.reset(&queues[0]);
        let mut ran: Vec<Vec<Command>> = Vec::new();
        for (round, updates) in rounds.iter().enumerate() {
            for (node, seed) in updates {
                let node = node.index(nodes.len());
                let (kind, lane, _) = nodes[node];
                commands[node] = bench.command(kind, lane, *seed);
                handles[node].update_command(commands[node].clone()).unwrap();
                executable.update(&handles[node]).unwrap();
            }
            queues[round % queues.len()].submit_graph(&executable).unwrap();
            ran.push(commands.clone());
        }
        queues.iter().for_each(|queue| queue.wait().unwrap());
        let seen = bench.state(&queues[0]);
        bench.reset(&queues[0]);
        ran.into_iter().flatten().for_each(|command| drop(queues[0].submit(command).unwrap()));
        queues[0].wait().unwrap();
        prop_assert!(seen == bench.state(&queues[0]), "{:?}", executable.segments());
    });
}
