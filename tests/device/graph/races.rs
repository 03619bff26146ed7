//! Races of plans, on the selected device: the first replays of an executable run by several plans
//! in turn, and the fastest stays.

use crate::common::{call, gate, queues, queues_and_measuring, replay_kernels, undecided, without_cache};
use oclave::graph::{DynamicParameter, ExecutableGraph, Node};
use oclave::kernel::{KernelBundle, KernelPointer, KernelValue, NdRange};
use oclave::memory::usm;
use oclave::record::Session;
use oclave::{Command, Context, Event, Graph, Queue, UsmSlice};

const NODES: usize = 40;
/// Replays after which an executable rests: there are three turns of each of five plans at most.
const REST: usize = 3 * 5;
/// What a work-item writes.
const WORDS: usize = 4;

/// A chain of kernels that lists and launches take about the same for: long loops of a few
/// work-items. Behind a copy of other memory.
struct Loops {
    bundle: KernelBundle,
    graph: Graph,
    copy: Node,
    nodes: Vec<Node>,
    /// The first number of the input.
    first: u8,
    input: UsmSlice<f32, usm::Shared>,
    out: UsmSlice<u64, usm::Shared>,
    copied: UsmSlice<i32, usm::Shared>,
    /// Of each node.
    items: usize,
    /// Of each loop. What a node writes tells.
    lengths: Vec<usize>,
}

impl Loops {
    fn new(context: &Context, items: usize) -> Self {
        let bundle = replay_kernels(context);
        let (first, input) = (0, input(context, 0));
        let out = context.alloc_shared::<u64>(NODES * items * WORDS).unwrap();
        let [from, copied] = [(); 2].map(|()| context.alloc_shared::<i32>(8).unwrap());
        from.write().unwrap().fill(1);
        let graph = Graph::new(context, context.device()).unwrap();
        let copy = graph.add(Command::copy(&from, &copied)).unwrap();
        let lengths = (0..NODES).map(|node| 40_000 / items + node).collect();
        let mut new =
            Self { bundle, graph, copy, nodes: Vec::new(), first, input, out, copied, items, lengths };
        for node in 0..NODES {
            new.nodes.push(new.graph.after_all_leaves().add(new.command(node)).unwrap());
        }
        new
    }

    fn command(&self, node: usize) -> Command {
        self.command_with(node, &self.input, self.lengths[node] as i32)
    }

    fn command_with(
        &self,
        node: usize,
        input: impl KernelPointer<f32>,
        length: impl KernelValue<i32>,
    ) -> Command {
        let out = self.out.slice(node * self.items * WORDS..(node + 1) * self.items * WORDS).unwrap();
        let call = call(&self.bundle, "looped").pointer_mut::<u64>(&out).pointer::<f32>(input);
        // A group for each, which launches can run side by side.
        Command::parallel_for(NdRange::new(self.items, 1), call.value(length))
    }

    /// Has all nodes read other memory.
    fn turn_input(&mut self, context: &Context) {
        self.first = 1 - self.first;
        self.input = input(context, self.first);
        (0..NODES).for_each(|node| self.nodes[node].update_command(self.command(node)).unwrap());
    }

    /// Gives a node another length in the graph.
    fn lengthen(&mut self, node: usize) -> &Node {
        self.lengths[node] += 1;
        self.nodes[node].update_command(self.command(node)).unwrap();
        &self.nodes[node]
    }

    fn finalize(&self) -> ExecutableGraph {
        self.graph.finalizer().wait_for_interpreter().finalize().unwrap()
    }

    fn finalize_updatable(&self) -> ExecutableGraph {
        self.graph.finalizer().updatable().wait_for_interpreter().finalize().unwrap()
    }

    /// Runs an executable, checks what each node wrote, and gives the launches that it took.
    #[track_caller]
    fn run(&self, queue: &Queue, executable: &ExecutableGraph) -> u64 {
        self.out.write().unwrap().fill(7);
        let session = Session::start();
        queue.submit_graph(executable).unwrap().wait().unwrap();
        self.check();
        session.count("clEnqueueNDRangeKernel")
    }

    /// Runs an executable until it rests, and on, with something done before each replay. How often
    /// it took turns.
    #[track_caller]
    fn come_to_rest(
        &mut self,
        queue: &Queue,
        executable: &ExecutableGraph,
        mut before: impl FnMut(&mut Self),
    ) -> usize {
        // How many nodes are in lists, and the launches of the replay.
        let mut replays = Vec::new();
        for _ in 0..REST + 4 {
            before(self);
            let launches = self.run(queue, executable);
            let listed: usize = executable.segments().iter().map(|list| list.nodes.len()).sum();
            replays.push((listed, launches));
        }
        let (listed, launches) = replays[REST];
        assert!(replays[REST..].iter().all(|replay| *replay == (listed, launches)), "{replays:?}");
        assert_eq!(launches < NODES as u64, listed > 0);
        // The same plan, and not the same launches.
        replays.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1).count()
    }

    /// What a work-item writes; all but the last terms are lost to rounding.
    fn sum(&self, item: usize, length: usize) -> f32 {
        let first = f32::from(self.first);
        (length - 256..length).fold(0.0, |sum, i| sum * 0.5 + (first + ((item + i) & 255) as f32))
    }

    #[track_caller]
    fn check(&self) {
        let expected: Vec<u64> = (self.lengths.iter())
            .flat_map(|length| {
                (0..self.items).flat_map(|item| [self.sum(item, *length).to_bits().into(), 0, 0, 0])
            })
            .collect();
        assert_eq!(*self.out.read().unwrap(), expected);
    }
}

/// 256 numbers from a first one on.
fn input(context: &Context, first: u8) -> UsmSlice<f32, usm::Shared> {
    let input = context.alloc_shared::<f32>(256).unwrap();
    input
        .write()
        .unwrap()
        .iter_mut()
        .zip(0_u8..=255)
        .for_each(|(value, at)| *value = f32::from(first) + f32::from(at));
    input
}

/// The library cannot know how often loops run, so it tries lists and launches in turns. Each
/// replay runs each node, and the executable settles on the fastest plan.
#[device_test(undecided)]
fn lists_and_launches_take_turns_until_one_was_seen_to_be_faster(context: Context) {
    let mut turns = 0;
    for items in [2, 4, 16] {
        let context = without_cache(&context);
        for queue in queues_and_measuring(&context) {
            let mut loops = Loops::new(&context, items);
            for _ in 0..2 {
                let executable = loops.finalize();
                turns += loops.come_to_rest(&queue, &executable, |_| {});
            }
        }
    }
    assert!(turns >= 5, "{turns}");
}

/// Between all replays, values and memory are updated, by parameters and by commands. The updates
/// reach all candidate plans and do not end the race: the executable settles as others do.
#[device_test(undecided)]
fn races_go_on_while_values_and_memory_are_updated_before_each_replay(context: Context) {
    let mut turns = 0;
    for what in ["a parameter", "a value", "memory"] {
        for items in [2, 16] {
            let context = without_cache(&context);
            let queue = Queue::new(&context).unwrap();
            let mut loops = Loops::new(&context, items);
            let length = DynamicParameter::new(&loops.graph, loops.lengths[5] as i32);
            let follower = loops.command_with(5, &loops.input, &length);
            loops.nodes[5].update_command(follower).unwrap();
            let executable = loops.finalize_updatable();
            println!("{what} is updated, {items} work-items");
            turns += loops.come_to_rest(&queue, &executable, |loops| match what {
                "a parameter" => {
                    loops.lengths[5] += 1;
                    length.update(loops.lengths[5] as i32).unwrap();
                    executable.update(&loops.nodes[5]).unwrap();
                }
                "a value" => executable.update(loops.lengthen(3)).unwrap(),
                _ => {
                    loops.turn_input(&context);
                    executable.update(&loops.nodes).unwrap();
                }
            });
        }
    }
    assert!(turns >= 5, "{turns}");
}

/// Whenever an update comes, no replay runs what the node was before.
#[device_test(undecided)]
fn updates_are_seen_by_all_that_take_turns(context: Context) {
    let context = without_cache(&context);
    let queue = Queue::new(&context).unwrap();
    let mut loops = Loops::new(&context, 2);
    for before in 0..8 {
        let executable = loops.finalize_updatable();
        (0..before).for_each(|_| assert_ne!(loops.run(&queue, &executable), 0));
        for node in [3, 4] {
            executable.update(loops.lengthen(node)).unwrap();
            (0..3).for_each(|_| assert_ne!(loops.run(&queue, &executable), 0));
        }
    }
}

/// Two updates while submissions are deferred behind host tasks. The first builds the steps again,
/// and the second changes these steps before they have run.
#[device_test(undecided)]
fn updates_behind_deferred_submissions_are_seen_by_all_that_take_turns(context: Context) {
    let context = without_cache(&context);
    let queues = [(); 2].map(|()| Queue::new(&context).unwrap());
    let mut loops = Loops::new(&context, 2);
    for _ in 0..2 {
        let executable = loops.finalize_updatable();
        let gates = [0, 1].map(|queue| gate(&queues[queue]).1);
        let submit = |queue: usize| -> Event { queues[queue].submit_graph(&executable).unwrap() };
        submit(0);
        // No list can have it.
        loops.copy.update_command(Command::write(&loops.copied, vec![5; 8])).unwrap();
        executable.update(&loops.copy).unwrap();
        let second = submit(0);
        executable.update(loops.lengthen(3)).unwrap();
        let third = submit(1);
        gates[0].send(()).unwrap();
        second.wait().unwrap();
        gates[1].send(()).unwrap();
        third.wait().unwrap();
        loops.check();
        assert_eq!(*loops.copied.read().unwrap(), [5; 8]);
        (0..REST).for_each(|_| assert_ne!(loops.run(&queues[0], &executable), 0));
        let from = context.alloc_shared::<i32>(8).unwrap();
        loops.copy.update_command(Command::copy(&from, &loops.copied)).unwrap();
    }
}

/// The driver refuses a part of a replay, on each of the queues that a measured replay uses. The
/// replay is over when the error is returned, and the next ones are right.
#[device_test(undecided)]
fn measured_replays_that_fail_are_over(context: Context) {
    // With one marker behind it on a queue out of order, with one more before it on a queue in
    // order.
    for nth in 1..=2 {
        let context = without_cache(&context);
        let loops = Loops::new(&context, 2);
        for queue in queues(&context) {
            let executable = loops.finalize();
            for _ in 0..REST / 2 {
                let session = Session::start();
                session.fail("clEnqueueMarkerWithWaitList", nth, -5);
                if let Err(error) = queue.submit_graph(&executable) {
                    assert!(format!("{error:#}").contains("CL_OUT_OF_RESOURCES"), "{error}");
                    let begun = session.count("clEnqueueNDRangeKernel") > 0;
                    assert!(!begun || session.count("clFinish") > 0, "{:?}", session.counts());
                }
                drop(session);
                assert_ne!(loops.run(&queue, &executable), 0);
            }
        }
    }
}
