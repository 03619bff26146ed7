//! Updates of executable graphs: random changes, commits and submissions against an oracle, in every way that updates are made.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod kernels {
    oclave::include_kernels!("tests");
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kernels::buffers::{advance, advance_late, number};
use oclave::mask::Mask;
use oclave::record::{ObjectKind, Session};
use oclave::{
    Command, Context, Device, DynamicCommandGroup, DynamicParameter, ErrorKind, ExecutableGraph, Graph, Node,
    Queue, ReplayStrategy, UsmSlice, usm,
};
use proptest::prelude::*;
use proptest::sample::Index;

const LEN: usize = 8;
/// Nodes of a lane follow each other and use its cells only.
const LANES: usize = 2;
const CELLS: usize = 3;

type Cells = [[[u32; LEN]; CELLS]; LANES];

/// A value, or that of the lane's parameter.
#[derive(Debug, Clone, Copy)]
enum Of<T> {
    Fixed(T),
    Parameter,
}

#[derive(Debug, Clone)]
enum Op {
    Advance {
        cell: Of<usize>,
        addend: Of<u32>,
        range: usize,
    },
    Number {
        cell: Of<usize>,
        first: Of<u32>,
        range: usize,
    },
    Copy {
        from: usize,
        to: usize,
    },
    /// From the host: no command buffer holds it.
    Write {
        cell: usize,
        value: u32,
    },
    Fill {
        cell: usize,
        value: u32,
    },
    Task {
        value: u32,
    },
}

/// An operation without parameters.
#[derive(Debug, Clone)]
struct Fixed {
    lane: usize,
    op: Op,
}

#[derive(Debug, Clone)]
enum Item {
    Op(Op),
    /// Alternatives, for so many nodes.
    Group(Vec<Op>, usize),
}

#[derive(Debug, Clone)]
enum Action {
    Value {
        lane: usize,
        value: u32,
    },
    Cell {
        lane: usize,
        cell: usize,
    },
    Range {
        node: Index,
        range: usize,
    },
    Activate {
        node: Index,
        which: Index,
    },
    Replace {
        node: Index,
        op: Op,
    },
    Commit(Vec<Index>),
    CommitAll,
    /// From the graph itself.
    Whole,
    /// Run as a sub-graph of another one.
    Nest,
    Submit {
        queue: Index,
        behind_task: bool,
    },
    Wait,
}

fn of<T: std::fmt::Debug + Clone + 'static>(
    fixed: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Of<T>> {
    prop_oneof![fixed.prop_map(Of::Fixed), Just(Of::Parameter)]
}

fn kernel() -> impl Strategy<Value = Op> {
    prop_oneof![
        (of(0..CELLS), of(0..9_u32), 0..=LEN).prop_map(|(cell, addend, range)| Op::Advance {
            cell,
            addend,
            range
        }),
        (of(0..CELLS), of(0..9_u32), 1..=LEN).prop_map(|(cell, first, range)| Op::Number {
            cell,
            first,
            range
        }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => kernel(),
        1 => (0..CELLS, 1..CELLS).prop_map(|(from, by)| Op::Copy { from, to: (from + by) % CELLS }),
        1 => (0..CELLS, any::<u32>()).prop_map(|(cell, value)| Op::Write { cell, value }),
        1 => (0..CELLS, any::<u32>()).prop_map(|(cell, value)| Op::Fill { cell, value }),
        1 => any::<u32>().prop_map(|value| Op::Task { value }),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        4 => op().prop_map(Item::Op),
        1 => (prop::collection::vec(kernel(), 1..4), 1..3_usize).prop_map(|(ops, nodes)| Item::Group(ops, nodes)),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0..LANES, 0..99_u32).prop_map(|(lane, value)| Action::Value { lane, value }),
        3 => (0..LANES, 0..CELLS).prop_map(|(lane, cell)| Action::Cell { lane, cell }),
        2 => (any::<Index>(), 0..=LEN).prop_map(|(node, range)| Action::Range { node, range }),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(node, which)| Action::Activate { node, which }),
        2 => (any::<Index>(), op()).prop_map(|(node, op)| Action::Replace { node, op }),
        4 => prop::collection::vec(any::<Index>(), 1..6).prop_map(Action::Commit),
        2 => Just(Action::CommitAll),
        1 => Just(Action::Whole),
        1 => Just(Action::Nest),
        4 => (any::<Index>(), prop::bool::weighted(0.3))
            .prop_map(|(queue, behind_task)| Action::Submit { queue, behind_task }),
        1 => Just(Action::Wait),
    ]
}

impl Op {
    fn resolved(&self, lane: usize, values: &[u32; LANES], cells: &[usize; LANES]) -> Fixed {
        let value = |of: Of<u32>| Of::Fixed(if let Of::Fixed(value) = of { value } else { values[lane] });
        let cell = |of: Of<usize>| Of::Fixed(if let Of::Fixed(cell) = of { cell } else { cells[lane] });
        let op = match self.clone() {
            Self::Advance { cell: c, addend, range } => {
                Self::Advance { cell: cell(c), addend: value(addend), range }
            }
            Self::Number { cell: c, first, range } => {
                Self::Number { cell: cell(c), first: value(first), range }
            }
            other => other,
        };
        Fixed { lane, op }
    }

    fn same_type(&self, other: &Self) -> bool {
        let class = |op: &Self| match op {
            Self::Advance { .. } | Self::Number { .. } => 0,
            Self::Copy { .. } | Self::Write { .. } => 1,
            Self::Fill { .. } => 2,
            Self::Task { .. } => 3,
        };
        class(self) == class(other)
    }

    fn set_range(&mut self, to: usize) -> bool {
        match self {
            Self::Advance { range, .. } | Self::Number { range, .. } => {
                *range = to;
                true
            }
            _ => false,
        }
    }
}

fn mix(sum: u32, value: u32) -> u32 {
    sum.wrapping_mul(31).wrapping_add(value)
}

impl Fixed {
    fn apply(&self, cells: &mut Cells, sums: &mut [u32; LANES]) {
        let cells = &mut cells[self.lane];
        match self.op {
            Op::Advance { cell: Of::Fixed(cell), addend: Of::Fixed(addend), range } => {
                cells[cell][..range].iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(addend));
            }
            Op::Number { cell: Of::Fixed(cell), first: Of::Fixed(first), range } => {
                (0..range).for_each(|i| cells[cell][i] = first + i as u32);
            }
            Op::Copy { from, to } => cells[to] = cells[from],
            Op::Fill { cell, value } | Op::Write { cell, value } => cells[cell] = [value; LEN],
            Op::Task { value } => sums[self.lane] = mix(sums[self.lane], value),
            _ => panic!("not resolved"),
        }
    }
}

/// Memory and parameters of a test, and the commands for its operations.
struct Bench {
    graph: Graph,
    cells: Vec<Vec<UsmSlice<u32, usm::Device>>>,
    sums: [Arc<AtomicU32>; LANES],
    values: Vec<DynamicParameter<u32>>,
    places: Vec<DynamicParameter<UsmSlice<u32, usm::Device>>>,
}

impl Bench {
    fn new(context: &Context) -> Self {
        let lane = |_| (0..CELLS).map(|_| context.alloc_device(LEN).unwrap()).collect();
        Self::with_cells(context, (0..LANES).map(lane).collect())
    }

    fn with_cells(context: &Context, cells: Vec<Vec<UsmSlice<u32, usm::Device>>>) -> Self {
        let graph = Graph::new(context, context.device()).unwrap();
        let values = (0..LANES).map(|_| DynamicParameter::new(&graph, 1_u32)).collect();
        let places =
            cells.iter().map(|cells: &Vec<_>| DynamicParameter::new(&graph, cells[0].clone())).collect();
        Self { graph, cells, sums: Default::default(), values, places }
    }

    fn command(&self, lane: usize, op: &Op) -> Command {
        let cell = |cell: usize| &self.cells[lane][cell];
        let (place, value) = (&self.places[lane], &self.values[lane]);
        match *op {
            Op::Advance { cell: c, addend, range } => {
                let call = match (c, addend) {
                    (Of::Fixed(c), Of::Fixed(addend)) => advance(cell(c), 3, addend),
                    (Of::Fixed(c), Of::Parameter) => advance(cell(c), 3, value),
                    (Of::Parameter, Of::Fixed(addend)) => advance(place, 3, addend),
                    (Of::Parameter, Of::Parameter) => advance(place, 3, value),
                };
                Command::parallel_for(range, call)
            }
            Op::Number { cell: c, first, range } => {
                let call = match (c, first) {
                    (Of::Fixed(c), Of::Fixed(first)) => number(cell(c), first),
                    (Of::Fixed(c), Of::Parameter) => number(cell(c), value),
                    (Of::Parameter, Of::Fixed(first)) => number(place, first),
                    (Of::Parameter, Of::Parameter) => number(place, value),
                };
                Command::parallel_for(range, call)
            }
            Op::Copy { from, to } => Command::copy(cell(from), cell(to)),
            Op::Write { cell: c, value } => Command::write(vec![value; LEN], cell(c)),
            Op::Fill { cell: c, value } => Command::fill(cell(c), value),
            Op::Task { value } => {
                let sum = Arc::clone(&self.sums[lane]);
                Command::host_task(move || {
                    sum.store(mix(sum.load(Ordering::Relaxed), value), Ordering::Relaxed)
                })
            }
        }
    }

    fn contents(&self, queue: &Queue) -> (Cells, [u32; LANES]) {
        let cell =
            |lane: usize, cell: usize| queue.read(&self.cells[lane][cell]).unwrap().try_into().unwrap();
        let cells = std::array::from_fn(|lane| std::array::from_fn(|at| cell(lane, at)));
        (cells, std::array::from_fn(|lane| self.sums[lane].load(Ordering::Relaxed)))
    }
}

/// A node as the test knows it.
enum Model {
    Op(Op),
    Group(usize),
}

struct Nodes {
    nodes: Vec<Node>,
    models: Vec<(usize, Model)>,
    groups: Vec<(DynamicCommandGroup, Vec<Op>)>,
}

impl Nodes {
    /// Adds items to lanes in turn, some behind nodes of the other lane, too.
    fn build(bench: &Bench, items: &[(Item, Vec<Index>)]) -> Self {
        let mut all = Self { nodes: Vec::new(), models: Vec::new(), groups: Vec::new() };
        let mut last: [Option<Node>; LANES] = Default::default();
        for (at, (item, more)) in items.iter().enumerate() {
            let lane = at % LANES;
            let count = match item {
                Item::Op(_) => 1,
                Item::Group(_, nodes) => *nodes,
            };
            if let Item::Group(ops, _) = item {
                let commands = ops.iter().map(|op| bench.command(lane, op));
                all.groups.push((DynamicCommandGroup::new(&bench.graph, commands).unwrap(), ops.clone()));
            }
            for _ in 0..count {
                let others =
                    more.iter().filter(|_| !all.nodes.is_empty()).map(|index| index.get(&all.nodes).clone());
                let after: Vec<Node> = last[lane].clone().into_iter().chain(others).collect();
                let builder = bench.graph.after(&after);
                let (node, model) = match item {
                    Item::Op(op) => (builder.add(bench.command(lane, op)).unwrap(), Model::Op(op.clone())),
                    Item::Group(..) => {
                        let group = all.groups.len() - 1;
                        (builder.add(&all.groups[group].0).unwrap(), Model::Group(group))
                    }
                };
                last[lane] = Some(node.clone());
                all.nodes.push(node);
                all.models.push((lane, model));
            }
        }
        all
    }

    fn op(&mut self, node: usize) -> (usize, &mut Op) {
        match &mut self.models[node] {
            (lane, Model::Op(op)) => (*lane, op),
            (lane, Model::Group(group)) => {
                let (group, ops) = &mut self.groups[*group];
                (*lane, &mut ops[group.active_index()])
            }
        }
    }
}

/// The selected device as it is, and with what updates can use hidden.
fn contexts() -> Vec<(Context, ReplayStrategy)> {
    let Some(context) = common::context() else { return Vec::new() };
    let device = context.device().clone();
    let mut devices = vec![device.clone()];
    if device.capabilities().mutable_dispatch.is_some() {
        devices.push(device.masked(Mask::MUTABLE_DISPATCH));
    }
    if device.capabilities().command_buffer.is_some() {
        devices.push(device.masked(Mask::SIMULTANEOUS_USE));
    }
    let ways = |device: Device| {
        let context = Context::new(&device).unwrap();
        let support = Graph::support(&device);
        println!(
            "device: {} (mask: {:?}), updates in place: {}",
            device.name(),
            device.mask(),
            support.updates_in_place
        );
        let buffers = support.command_buffers.then(|| (context.clone(), ReplayStrategy::CommandBuffer));
        let lists = (device.capabilities().usm.is_some(), device.mask() == Mask::default());
        println!("updates in lists: {}", lists == (true, true));
        let lists = (lists == (true, true)).then(|| (context.clone(), ReplayStrategy::Interpreter));
        [(context, ReplayStrategy::Enqueue)].into_iter().chain(buffers).chain(lists)
    };
    devices.into_iter().flat_map(ways).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn submissions_run_what_was_committed_before_them(
        items in prop::collection::vec((item(), prop::collection::vec(any::<Index>(), 0..2)), 1..12),
        actions in prop::collection::vec(action(), 1..40),
    ) {
        for (context, strategy) in contexts() {
            let bench = Bench::new(&context);
            let mut nodes = Nodes::build(&bench, &items);
            let executable = bench.graph.finalizer().updatable().strategy(strategy).finalize().unwrap();
            let queues = common::queues(&context);
            bench.cells.iter().flatten().for_each(|cell| queues[0].copy_to_device(&[1; LEN], cell).unwrap());
            let (mut cells, mut sums): (Cells, _) = ([[[1; LEN]; CELLS]; LANES], [0_u32; LANES]);
            let (mut values, mut places) = ([1_u32; LANES], [0_usize; LANES]);
            let count = nodes.nodes.len();
            let mut committed: Vec<Fixed> = (0..count)
                .map(|node| {
                    let (lane, op) = nodes.op(node);
                    op.resolved(lane, &values, &places)
                })
                .collect();
            for action in &actions {
                match action {
                    Action::Value { lane, value } => {
                        bench.values[*lane].update(*value).unwrap();
                        values[*lane] = *value;
                    }
                    Action::Cell { lane, cell } => {
                        bench.places[*lane].update(&bench.cells[*lane][*cell]).unwrap();
                        places[*lane] = *cell;
                    }
                    Action::Range { node, range } => {
                        let node = node.index(count);
                        let changed = nodes.op(node).1.set_range(*range);
                        prop_assert_eq!(nodes.nodes[node].update_range(*range).is_ok(), changed);
                    }
                    Action::Activate { node, which } => {
                        if let (_, Model::Group(group)) = &nodes.models[node.index(count)] {
                            let (group, ops) = &nodes.groups[*group];
                            group.set_active_index(which.index(ops.len())).unwrap();
                        }
                    }
                    Action::Replace { node, op } => {
                        let node = node.index(count);
                        if let (lane, Model::Op(now)) = &mut nodes.models[node]
                            && now.same_type(op)
                        {
                            nodes.nodes[node].update_command(bench.command(*lane, op)).unwrap();
                            *now = op.clone();
                        }
                    }
                    Action::Commit(which) => {
                        let which: Vec<usize> = which.iter().map(|index| index.index(count)).collect();
                        let handles: Vec<Node> = which.iter().map(|node| nodes.nodes[*node].clone()).collect();
                        executable.update_nodes(&handles).unwrap();
                        for node in which {
                            let (lane, op) = nodes.op(node);
                            committed[node] = op.resolved(lane, &values, &places);
                        }
                    }
                    Action::CommitAll => {
                        executable.update_nodes(&nodes.nodes).unwrap();
                        for (node, fixed) in committed.iter_mut().enumerate() {
                            let (lane, op) = nodes.op(node);
                            *fixed = op.resolved(lane, &values, &places);
                        }
                    }
                    Action::Whole => {
                        // Refused where there is more than kernels, or another kernel in a group.
                        if executable.update_graph(&bench.graph).is_ok() {
                            for (node, fixed) in committed.iter_mut().enumerate() {
                                let (lane, op) = nodes.op(node);
                                *fixed = op.resolved(lane, &values, &places);
                            }
                        }
                    }
                    Action::Nest => {
                        let outer = Graph::from_queue(&queues[0]);
                        outer.add(Command::graph(&executable)).unwrap();
                        queues.iter().for_each(|queue| queue.wait().unwrap());
                        queues[0].submit_graph(&outer.finalize().unwrap()).unwrap().wait().unwrap();
                        committed.iter().for_each(|fixed| fixed.apply(&mut cells, &mut sums));
                    }
                    Action::Submit { queue, behind_task } => {
                        let queue = queue.get(&queues);
                        if *behind_task {
                            let task = queue.submit(Command::host_task(|| std::thread::sleep(Duration::from_millis(1)))).unwrap();
                            queue.submit(Command::graph(&executable).after(&task)).unwrap();
                        } else {
                            queue.submit_graph(&executable).unwrap();
                        }
                        committed.iter().for_each(|fixed| fixed.apply(&mut cells, &mut sums));
                    }
                    Action::Wait => queues.iter().for_each(|queue| queue.wait().unwrap()),
                }
            }
            queues.iter().for_each(|queue| queue.wait().unwrap());
            let seen = bench.contents(&queues[0]);
            prop_assert_eq!(seen, (cells, sums), "{:?} on {} (mask {:?})", strategy, context.device().name(), context.device().mask());
        }
    }

    #[test]
    fn a_graph_that_is_built_in_the_same_way_updates_another(
        items in prop::collection::vec((kernel(), kernel(), prop::collection::vec(any::<Index>(), 0..2)), 1..12),
    ) {
        for (context, strategy) in contexts() {
            let first = Bench::new(&context);
            let second = Bench::with_cells(&context, first.cells.clone());
            second.values.iter().for_each(|value| value.update(8).unwrap());
            let build = |bench: &Bench, which: usize| {
                let op = |(a, b, more): &(Op, Op, Vec<Index>)| {
                    // The kernels must be the same, all else may differ.
                    let op = match (which, a, b) {
                        (0, a, _) => a.clone(),
                        (_, Op::Advance { .. }, Op::Advance { .. }) | (_, Op::Number { .. }, Op::Number { .. }) => b.clone(),
                        (_, Op::Advance { .. }, _) => Op::Advance { cell: Of::Parameter, addend: Of::Parameter, range: 4 },
                        (..) => Op::Number { cell: Of::Fixed(2), first: Of::Parameter, range: 4 },
                    };
                    (Item::Op(op), more.clone())
                };
                Nodes::build(bench, &items.iter().map(op).collect::<Vec<_>>())
            };
            let (_, mut new) = (build(&first, 0), build(&second, 1));
            let executable = first.graph.finalizer().updatable().strategy(strategy).finalize().unwrap();
            executable.update_graph(&second.graph).unwrap();
            let queue = Queue::new(&context).unwrap();
            first.cells.iter().flatten().for_each(|cell| queue.copy_to_device(&[1; LEN], cell).unwrap());
            queue.submit_graph(&executable).unwrap().wait().unwrap();
            let (mut cells, mut sums): (Cells, _) = ([[[1; LEN]; CELLS]; LANES], [0; LANES]);
            for node in 0..new.nodes.len() {
                let (lane, op) = new.op(node);
                op.resolved(lane, &[8; LANES], &[0; LANES]).apply(&mut cells, &mut sums);
            }
            prop_assert_eq!(first.contents(&queue), (cells, sums));
            let more = second.graph.add(second.command(0, &Op::Number { cell: Of::Fixed(0), first: Of::Fixed(1), range: 1 })).unwrap();
            prop_assert_eq!(executable.update_graph(&second.graph).unwrap_err().kind(), ErrorKind::Invalid);
            prop_assert_eq!(executable.update(&more).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}

/// A chain of kernels that add a parameter's value, and late ones before them.
fn chain(
    context: &Context,
    strategy: ReplayStrategy,
) -> (Vec<Node>, DynamicParameter<u32>, UsmSlice<u32, usm::Device>, ExecutableGraph) {
    let graph = Graph::new(context, context.device()).unwrap();
    let value = context.alloc_device::<u32>(1).unwrap();
    let addend = DynamicParameter::new(&graph, 1_u32);
    let late = graph.add(Command::parallel_for(1, advance_late(&value, 1 << 20, 0))).unwrap();
    let mut nodes =
        vec![graph.after(&late).add(Command::parallel_for(1, advance(&value, 1, &addend))).unwrap()];
    for _ in 0..9 {
        nodes.push(
            graph.after_all_leaves().add(Command::parallel_for(1, advance(&value, 1, &addend))).unwrap(),
        );
    }
    let executable = graph.finalizer().updatable().strategy(strategy).finalize().unwrap();
    (nodes, addend, value, executable)
}

#[test]
fn a_thousand_updates_between_submissions_hold_memory_flat() {
    for (context, strategy) in contexts() {
        let (nodes, addend, value, executable) = chain(&context, strategy);
        let queue = Queue::new(&context).unwrap();
        queue.fill(&value, 0).unwrap();
        let mut expected = 0;
        let session = Session::start();
        for round in 0..3 {
            queue.submit_graph(&executable).unwrap();
            expected += if round == 0 { 10 } else { 10 * (round * 1000) };
            let before = session.live();
            for i in 1..=1000 {
                addend.update(round * 1000 + i).unwrap();
                executable.update_nodes(&nodes).unwrap();
            }
            let after = session.live();
            for kind in [ObjectKind::Kernel, ObjectKind::CommandBuffer, ObjectKind::Usm] {
                assert!(after.get(&kind) <= before.get(&kind), "{kind:?} in round {round}");
            }
        }
        queue.submit_graph(&executable).unwrap();
        expected += 10 * 3000;
        assert_eq!(queue.read(&value).unwrap(), [expected], "{strategy:?}");
    }
}

#[test]
fn updates_take_the_way_that_the_device_has() {
    for (context, strategy) in contexts() {
        // The environment may switch the interpreter off.
        if strategy == ReplayStrategy::Interpreter && !Graph::support(context.device()).interpreter {
            continue;
        }
        let (nodes, addend, value, executable) = chain(&context, strategy);
        let queue = Queue::new(&context).unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let session = Session::start();
        for i in 2..5 {
            addend.update(i).unwrap();
            executable.update_nodes(&nodes).unwrap();
        }
        addend.update(4).unwrap();
        executable.update_nodes(&nodes).unwrap();
        let count = |call| session.count(call);
        let (updates, sets) = (count("clUpdateMutableCommandsKHR"), count("clSetKernelArg"));
        let calls = session.counts();
        assert_eq!(
            (count("clCreateKernel"), count("clCreateCommandBufferKHR")),
            (0, 0),
            "nothing is prepared anew"
        );
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let recorded = count("clCreateCommandBufferKHR");
        let in_place = Graph::support(context.device()).updates_in_place;
        match (strategy, in_place) {
            (ReplayStrategy::Interpreter, _) => {
                assert_eq!(executable.segments().len(), 1, "{:?}", executable.not_interpreted());
                assert!(calls.is_empty(), "an update is no call of the driver: {calls:?}");
                assert_eq!(count("clEnqueueNDRangeKernel"), 1);
            }
            (ReplayStrategy::Enqueue, _) => {
                assert_eq!((updates, sets, recorded), (0, 0, 0), "an update is no call of the driver");
                assert_eq!(count("clSetKernelArg"), 1, "the nodes share a kernel object, and the value");
            }
            (_, true) => assert_eq!(
                (updates, sets, recorded),
                (3, 0, 0),
                "one call for each commit that changes something"
            ),
            (_, false) => {
                assert_eq!((updates, sets, recorded), (0, 0, 1), "recorded once, when it is submitted")
            }
        }
        drop(session);
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(queue.read(&value).unwrap().len(), 1);
    }
}

#[test]
fn updates_do_not_wait_and_do_not_reach_what_was_submitted() {
    for (context, strategy) in contexts() {
        let (nodes, addend, value, executable) = chain(&context, strategy);
        let queue = Queue::new(&context).unwrap();
        queue.fill(&value, 0).unwrap();
        let mut expected = 0;
        for i in 1..50_u32 {
            addend.update(i).unwrap();
            executable.update_nodes(&nodes).unwrap();
            queue.submit_graph(&executable).unwrap();
            expected += 10 * i;
        }
        assert_eq!(queue.read(&value).unwrap(), [expected], "{strategy:?}");
    }
}

#[test]
fn what_is_not_updatable_is_refused_and_nothing_changes() {
    let Some(context) = common::context() else { return };
    let graph = Graph::new(&context, context.device()).unwrap();
    let other = Graph::new(&context, context.device()).unwrap();
    let value = context.alloc_device::<u32>(LEN).unwrap();
    let first = DynamicParameter::new(&graph, 1_u32);
    let kernel = graph.add(Command::parallel_for(LEN, number(&value, &first))).unwrap();
    let hint = graph.add(Command::prefetch(&value)).unwrap();
    let empty = graph.add_empty();
    let foreign = other.add(Command::parallel_for(LEN, number(&value, 1))).unwrap();
    let plain = graph.finalize().unwrap();
    let executable = graph.finalizer().updatable().finalize().unwrap();
    let behind = graph.add(Command::fill(&value, 1)).unwrap();
    first.update(5).unwrap();
    let refused = |result: oclave::Result<()>, because: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(because), "{error}");
    };
    refused(plain.update(&kernel), "cannot be updated");
    refused(plain.update_graph(&graph), "cannot be updated");
    for (node, because) in
        [(&hint, "prefetch"), (&empty, "empty"), (&foreign, "graph"), (&behind, "after the graph")]
    {
        refused(executable.update(node), because);
        refused(executable.update_nodes(&[&kernel, node]), because);
    }
    executable.update_nodes(&[] as &[Node]).unwrap();
    let queue = Queue::new(&context).unwrap();
    queue.submit_graph(&executable).unwrap();
    assert_eq!(queue.read(&value).unwrap(), (1..=LEN as u32).collect::<Vec<_>>(), "all or nothing");
    executable.update(&kernel).unwrap();
    queue.submit_graph(&executable).unwrap();
    assert_eq!(queue.read(&value).unwrap(), (5..5 + LEN as u32).collect::<Vec<_>>());
}
