//! Updates of executable graphs: random changes, commits and submissions against an oracle, in
//! every way that updates are made.

use crate::common;
mod model;

use std::sync::Mutex;
use std::time::Duration;

use crate::kernels::buffers::{advance, advance_late, number};
use model::{
    Action, Bench, CELLS, Cells, Fixed, Item, LANES, LEN, Model, Nodes, Of, Op, action, item, kernel,
};
use oclave::device::mask::Mask;
use oclave::graph::{DynamicParameter, ExecutableGraph, Node, ReplayStrategy};
use oclave::memory::usm;
use oclave::record::{ObjectKind, Session};
use oclave::{Command, Context, Device, ErrorKind, Graph, Queue, UsmSlice};
use proptest::prelude::*;
use proptest::sample::Index;

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
        let lists = (device.capabilities().memory().is_some(), device.mask() == Mask::default());
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
            let executable = bench.graph.finalizer().updatable().strategy(strategy).wait_for_interpreter().finalize().unwrap();
            let queues = common::queues(&context);
            bench.cells.iter().flatten().for_each(|cell| queues[0].write(cell, &[1; LEN]).unwrap());
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
                        executable.update(&handles).unwrap();
                        for node in which {
                            let (lane, op) = nodes.op(node);
                            committed[node] = op.resolved(lane, &values, &places);
                        }
                    }
                    Action::CommitAll => {
                        executable.update(&nodes.nodes).unwrap();
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
            let executable = first.graph.finalizer().updatable().strategy(strategy).wait_for_interpreter().finalize().unwrap();
            executable.update_graph(&second.graph).unwrap();
            let queue = Queue::new(&context).unwrap();
            first.cells.iter().flatten().for_each(|cell| queue.write(cell, &[1; LEN]).unwrap());
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
) -> (Vec<Node>, DynamicParameter<u32>, UsmSlice<u32, usm::DeviceOnly>, ExecutableGraph) {
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
    let executable =
        graph.finalizer().updatable().strategy(strategy).wait_for_interpreter().finalize().unwrap();
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
                executable.update(&nodes).unwrap();
            }
            let after = session.live();
            for kind in [ObjectKind::Kernel, ObjectKind::CommandBuffer, ObjectKind::Usm, ObjectKind::Svm] {
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
            executable.update(&nodes).unwrap();
        }
        addend.update(4).unwrap();
        executable.update(&nodes).unwrap();
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
            executable.update(&nodes).unwrap();
            queue.submit_graph(&executable).unwrap();
            expected += 10 * i;
        }
        assert_eq!(queue.read(&value).unwrap(), [expected], "{strategy:?}");
    }
}

/// Threads that update all nodes at once, while these and others submit: each replay runs what one
/// of the updates brought, and nothing of another.
#[test]
fn replays_see_whole_updates_of_whatever_thread() {
    const NODES: usize = 40;
    const UPDATES: usize = 60;
    const THREADS: usize = 3;
    const SLOTS: usize = THREADS * UPDATES;
    for (context, strategy) in contexts() {
        let graph = Graph::new(&context, context.device()).unwrap();
        let cells = context.alloc_device::<u32>(NODES).unwrap();
        let seen = context.alloc_shared::<u32>(NODES * SLOTS).unwrap();
        seen.write().unwrap().fill(u32::MAX);
        let slot = |slot: usize| seen.slice(slot * NODES..(slot + 1) * NODES).unwrap();
        let value = DynamicParameter::new(&graph, 0_u32);
        let cell = |at: usize| Command::parallel_for(1, number(cells.slice(at..).unwrap(), &value));
        let mut nodes: Vec<Node> = (0..NODES).map(|at| graph.add(cell(at)).unwrap()).collect();
        nodes.push(graph.after_all_leaves().add(Command::copy(&cells, &slot(0))).unwrap());
        let executable =
            graph.finalizer().updatable().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        let (next, queues) = (Mutex::new(0), common::queues(&context));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let queue = queues[thread % queues.len()].clone();
                let (next, executable, nodes, value, cells) = (&next, &executable, &nodes, &value, &cells);
                let slot = &slot;
                scope.spawn(move || {
                    for _ in 0..UPDATES {
                        let mut next = next.lock().unwrap();
                        value.update(*next as u32).unwrap();
                        nodes[NODES].update_command(Command::copy(cells, &slot(*next))).unwrap();
                        executable.update(nodes).unwrap();
                        *next += 1;
                        drop(next);
                        // Another thread's update may come first.
                        queue.submit_graph(executable).unwrap();
                    }
                    queue.wait().unwrap();
                });
            }
        });
        let seen = seen.read().unwrap();
        for (slot, cells) in seen.chunks(NODES).enumerate().filter(|(_, cells)| *cells != [u32::MAX; NODES]) {
            assert_eq!(cells, [slot as u32; NODES], "{strategy:?}");
        }
        assert_eq!(
            seen[NODES * (SLOTS - 1)],
            SLOTS as u32 - 1,
            "the last one is submitted by whoever made it"
        );
    }
}

#[device_test]
fn what_is_not_updatable_is_refused_and_nothing_changes(context: Context) {
    let graph = Graph::new(&context, context.device()).unwrap();
    let other = Graph::new(&context, context.device()).unwrap();
    let value = context.alloc_device::<u32>(LEN).unwrap();
    let first = DynamicParameter::new(&graph, 1_u32);
    let kernel = graph.add(Command::parallel_for(LEN, number(&value, &first))).unwrap();
    let hint = graph.add(Command::prefetch(&value)).unwrap();
    let empty = graph.add(Command::empty()).unwrap();
    let foreign = other.add(Command::parallel_for(LEN, number(&value, 1))).unwrap();
    let plain = graph.finalize().unwrap();
    let executable = graph.finalizer().updatable().finalize().unwrap();
    let behind = graph.add(Command::fill(&value, 1)).unwrap();
    first.update(5).unwrap();
    let refused = |result: oclave::Result<()>, because: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(format!("{error:#}").contains(because), "{error}");
    };
    refused(plain.update(&kernel), "cannot be updated");
    refused(plain.update_graph(&graph), "cannot be updated");
    for (node, because) in
        [(&hint, "prefetch"), (&empty, "empty"), (&foreign, "graph"), (&behind, "after the graph")]
    {
        refused(executable.update(node), because);
        refused(executable.update(&[&kernel, node]), because);
    }
    executable.update(&[] as &[Node]).unwrap();
    let queue = Queue::new(&context).unwrap();
    queue.submit_graph(&executable).unwrap();
    assert_eq!(queue.read(&value).unwrap(), (1..=LEN as u32).collect::<Vec<_>>(), "all or nothing");
    executable.update(&kernel).unwrap();
    queue.submit_graph(&executable).unwrap();
    assert_eq!(queue.read(&value).unwrap(), (5..5 + LEN as u32).collect::<Vec<_>>());
}
