//! What the tests of graphs share.

use std::sync::OnceLock;

use bytemuck::Pod;
use oclave::graph::{ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::KernelPointerMut;
use oclave::memory::usm;
use oclave::{Command, Context, Event, Graph, Queue, UsmSlice};

/// An in-order queue and a graph for it. `None`, after saying why, without a device.
pub(crate) fn in_order() -> Option<(Queue, Graph)> {
    let device = super::support::device()?;
    let queue = Queue::new(&Context::new(&device).unwrap()).unwrap();
    let graph = Graph::from_queue(&queue);
    Some((queue, graph))
}

/// Out-of-order queues of one context and a graph for them.
pub(crate) fn out_of_order<const N: usize>() -> Option<([Queue; N], Graph)> {
    let device = super::support::device()?;
    let context = Context::new(&device).unwrap();
    let queues = [(); N].map(|()| Queue::builder(&context).out_of_order().build().unwrap());
    let graph = Graph::new(&context, &device).unwrap();
    Some((queues, graph))
}

/// Something to do that needs no memory.
pub(crate) fn task() -> Command {
    Command::host_task(|| ())
}

pub(crate) fn node(event: &Event) -> Node {
    Node::from_event(event).unwrap()
}

/// The numbers of the nodes that each node depends on, in rising order.
pub(crate) fn edges(graph: &Graph) -> Vec<Vec<usize>> {
    let sorted = |nodes: Vec<Node>| {
        let mut numbers: Vec<usize> = nodes.iter().map(Node::index).collect();
        numbers.sort_unstable();
        numbers
    };
    let nodes = graph.nodes();
    for node in &nodes {
        for next in node.successors() {
            assert!(next.predecessors().contains(node), "both ends of {node:?} → {next:?} know of it");
        }
    }
    nodes.iter().map(|node| sorted(node.predecessors())).collect()
}

/// Values in device memory: eight of them in most tests.
pub(crate) type Values = UsmSlice<u32, usm::DeviceOnly>;

/// A graph of commands, one behind the other.
pub(crate) fn chain(way: &Way, commands: impl IntoIterator<Item = Command>) -> Graph {
    let graph = way.graph();
    add_all(&graph, commands);
    graph
}

/// Adds commands, one behind the other.
pub(crate) fn add_all(graph: &Graph, commands: impl IntoIterator<Item = Command>) {
    commands.into_iter().for_each(|command| drop(graph.after_all_leaves().add(command).unwrap()));
}

pub(crate) fn updatable(way: &Way, graph: &Graph) -> ExecutableGraph {
    graph.finalizer().updatable().strategy(way.strategy).finalize().unwrap()
}

pub(crate) fn submit(way: &Way, executable: &ExecutableGraph) {
    way.queue.submit_graph(executable).unwrap().wait().unwrap();
}

pub(crate) fn read(way: &Way, values: &Values) -> Vec<u32> {
    way.queue.read(values).unwrap()
}

/// Takes one from the first value.
pub(crate) fn count_down(value: impl KernelPointerMut<u32>) -> Command {
    Command::parallel_for(1, super::kernels::buffers::advance(value, 1, u32::MAX))
}

/// The step of most chains: 1, then 1 · 3 + 1 = 4, then 13.
pub(crate) fn advance(values: impl KernelPointerMut<u32>) -> Command {
    advance_by(values, 3, 1)
}

/// Makes `factor * value + addend` of each of eight values.
pub(crate) fn advance_by(values: impl KernelPointerMut<u32>, factor: u32, addend: u32) -> Command {
    Command::parallel_for(8, super::kernels::buffers::advance(values, factor, addend))
}

/// One way to run graphs: a kind of queue, and a strategy.
pub(crate) struct Way {
    pub(crate) queue: Queue,
    pub(crate) strategy: ReplayStrategy,
}

impl Way {
    /// The same in a context that no other test uses.
    pub(crate) fn alone(&self) -> Self {
        let context = Context::new(self.queue.device()).unwrap();
        let queue = Queue::builder(&context);
        let queue = if self.queue.is_out_of_order() { queue.out_of_order() } else { queue };
        Self { queue: queue.build().unwrap(), strategy: self.strategy }
    }

    pub(crate) fn context(&self) -> &Context {
        self.queue.context()
    }

    pub(crate) fn graph(&self) -> Graph {
        Graph::from_queue(&self.queue)
    }

    /// So many steps, one behind the other.
    pub(crate) fn chain(&self, values: &UsmSlice<u32, usm::DeviceOnly>, steps: usize) -> Graph {
        let graph = self.graph();
        (0..steps).for_each(|_| drop(graph.after_all_leaves().add(advance(values)).unwrap()));
        graph
    }

    pub(crate) fn finalize(&self, graph: &Graph) -> ExecutableGraph {
        graph.finalizer().strategy(self.strategy).finalize().unwrap()
    }

    /// Whether each command is one for the driver, so that partitions can be counted in them.
    pub(crate) fn launches_each(&self) -> bool {
        matches!(self.strategy, ReplayStrategy::Enqueue | ReplayStrategy::CommandBuffer)
    }

    /// Finalizes and runs it so many times, and waits for the last.
    pub(crate) fn run(&self, graph: &Graph, times: usize) {
        let executable = self.finalize(graph);
        (0..times).for_each(|_| drop(self.queue.submit_graph(&executable).unwrap()));
        self.queue.wait().unwrap();
    }

    pub(crate) fn device<T: Pod>(&self, data: &[T]) -> UsmSlice<T, usm::DeviceOnly> {
        let memory = self.context().alloc_device(data.len()).unwrap();
        self.queue.write(&memory, data).unwrap();
        memory
    }
}

/// Each strategy that the device has, and none of its own choice, on queues in order and out of
/// order. None, after saying why, without a device.
pub(crate) fn ways() -> Vec<Way> {
    // One for all tests, so that programs are built once.
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    let Some(device) = super::support::device() else { return Vec::new() };
    let context = CONTEXT.get_or_init(|| Context::new(&device).unwrap());
    let mut strategies = vec![ReplayStrategy::Auto, ReplayStrategy::Enqueue, ReplayStrategy::Interpreter];
    if Graph::support(&device).command_buffers {
        strategies.push(ReplayStrategy::CommandBuffer);
    }
    let mut ways = Vec::new();
    for strategy in strategies {
        println!("strategy: {strategy:?}");
        ways.push(Way { queue: Queue::new(context).unwrap(), strategy });
        // The kinds of memory differ in nothing that the order of a queue touches, and each takes a run of its own.
        if device.capabilities().out_of_order_queues && !super::common::has_unified_svm() {
            ways.push(Way { queue: Queue::builder(context).out_of_order().build().unwrap(), strategy });
        }
    }
    ways
}
