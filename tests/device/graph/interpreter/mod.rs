//! Graphs whose small nodes run from lists of tasks, on the selected device: results against those
//! of other strategies, and what is told.

mod groups;
mod kernels;
mod levels;
mod programs;
mod random;
mod reports;

use crate::common::{call, chain, replay_kernels, undecided};
use oclave::graph::{ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::{KernelBundle, Local, NdRange};
use oclave::memory::usm;
use oclave::record::Session;
use oclave::{Command, Context, Graph, Queue, UsmSlice};

const N: usize = 96;

/// `count` commands on two arrays in turn: kernels, copies and fills.
fn mixed(bundle: &KernelBundle, [x, y]: [&UsmSlice<i32, usm::Shared>; 2], count: usize) -> Vec<Command> {
    (0..count)
        .map(|i| {
            let (from, to) = if i % 2 == 0 { (x, y) } else { (y, x) };
            let scaled = call(bundle, "chained").pointer_mut::<i32>(from).value(i as i32 % 3 - 1);
            let shifted = call(bundle, "shifted").pointer::<i32>(from).pointer_mut::<i32>(to).value(N as i32);
            match i % 7 {
                0..3 => Command::parallel_for(N, scaled),
                3 => Command::copy(from, to),
                4 => Command::fill(&to.slice(10..20).unwrap(), i as i32),
                5 => Command::memset(&from.slice(0..3).unwrap(), i as u8),
                _ => Command::parallel_for(N, shifted),
            }
        })
        .collect()
}

fn finalize(graph: &Graph, strategy: ReplayStrategy) -> ExecutableGraph {
    graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap()
}

#[device_test(undecided)]
fn a_chain_of_small_nodes_is_one_launch_with_the_same_results(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let [x, y] = [(); 2].map(|()| context.alloc_shared::<i32>(N).unwrap());
    let mut results = Vec::new();
    for strategy in [ReplayStrategy::Enqueue, ReplayStrategy::Auto, ReplayStrategy::Interpreter] {
        x.write().unwrap().copy_from_slice(&std::array::from_fn::<i32, N, _>(|i| i as i32 * 7 % 31));
        y.write().unwrap().fill(1);
        let graph = Graph::from_queue(&queue);
        chain(&graph, mixed(&bundle, [&x, &y], 300));
        let executable = finalize(&graph, strategy);
        drop(graph);
        let used = executable.partitions()[0].strategy.unwrap();
        let segments = executable.segments();
        if strategy == ReplayStrategy::Enqueue {
            assert_eq!((used, segments.len()), (ReplayStrategy::Enqueue, 0));
            assert_eq!(executable.not_interpreted().len(), 1);
        } else {
            assert_eq!(used, ReplayStrategy::Interpreter);
            assert_eq!(segments.len(), 1, "{segments:?}");
            assert_eq!(segments[0].nodes, (0..300).collect::<Vec<_>>());
            assert_eq!(segments[0].groups, 1);
            assert!(segments[0].estimated_ns > 0.0);
            assert_eq!(executable.not_interpreted(), []);
        }
        let session = Session::start();
        for _ in 0..3 {
            queue.submit_graph(&executable).unwrap();
        }
        queue.wait().unwrap();
        if strategy != ReplayStrategy::Enqueue {
            assert_eq!(session.count("clEnqueueNDRangeKernel"), 3, "{:?}", session.counts());
        }
        results.push((x.read().unwrap().to_vec(), y.read().unwrap().to_vec()));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
}

#[device_test(undecided)]
fn it_can_be_switched_off_and_on(context: Context) {
    let make = |wish: Option<bool>, strategy: ReplayStrategy, count: usize| {
        let context = Context::builder(context.devices()).graph_interpreter(wish).build().unwrap();
        let [x, y] = [(); 2].map(|()| context.alloc_shared::<i32>(N).unwrap());
        let graph = Graph::new(&context, context.device()).unwrap();
        chain(&graph, mixed(&replay_kernels(&context), [&x, &y], count));
        finalize(&graph, strategy)
    };
    let reasons = |executable: &ExecutableGraph| -> Vec<String> {
        executable.not_interpreted().into_iter().map(|not| not.reason).collect()
    };
    for strategy in [ReplayStrategy::Auto, ReplayStrategy::Interpreter] {
        let off = make(Some(false), strategy, 300);
        assert_eq!((off.segments().len(), reasons(&off)), (0, vec!["it is switched off".to_owned()]));
        assert_eq!(make(Some(true), strategy, 3).segments().len(), 1);
    }
    assert_eq!(make(Some(true), ReplayStrategy::Enqueue, 300).segments(), []);
    let few = make(None, ReplayStrategy::Auto, 10);
    assert_eq!(
        (few.segments().len(), reasons(&few)),
        (0, vec!["fewer than 32 small kernels; they become eligible after 4096 launches".to_owned()])
    );
    assert_eq!(reasons(&make(None, ReplayStrategy::Auto, 1)), ["there is no more than one small kernel"]);
    assert_eq!(make(None, ReplayStrategy::Interpreter, 10).segments().len(), 1);
}

#[device_test(undecided)]
fn groups_with_barriers_and_local_memory_run_in_segments_of_their_size(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let input = context.alloc_shared::<i32>(256).unwrap();
    input.write().unwrap().iter_mut().enumerate().for_each(|(i, x)| *x = i as i32 * i as i32 % 97);
    let outs: Vec<_> = (0..6).map(|_| context.alloc_shared::<u64>(64 * 4).unwrap()).collect();
    let sums = |i: usize, size: usize| {
        let call = call(&bundle, "group_sums").pointer::<i32>(&input).pointer_mut::<u64>(&outs[i]);
        let call = call.local(Local::<i32>::new(size)).local(Local::<u8>::new(size));
        Command::parallel_for(NdRange::new(64, size), call)
    };
    let bump =
        || Command::parallel_for(256, call(&bundle, "chained").pointer_mut::<i32>(&input).value(1_i32));
    let mut results = Vec::new();
    for strategy in [ReplayStrategy::Enqueue, ReplayStrategy::Interpreter] {
        input.write().unwrap().iter_mut().enumerate().for_each(|(i, x)| *x = i as i32 * i as i32 % 97);
        let graph = Graph::from_queue(&queue);
        chain(
            &graph,
            [bump(), sums(0, 16), sums(1, 16), bump(), sums(2, 16), sums(3, 8), bump(), sums(4, 8)],
        );
        let ids = call(&bundle, "group_ids").pointer_mut::<u64>(&outs[5]);
        chain(&graph, [Command::parallel_for(NdRange::new(64, 4), ids)]);
        let executable = finalize(&graph, strategy);
        if strategy == ReplayStrategy::Interpreter {
            let nodes: Vec<_> = executable.segments().iter().map(|s| (s.nodes.len(), s.group_size)).collect();
            assert_eq!(nodes, [(5, 16), (4, 8)]);
        }
        for _ in 0..2 {
            queue.submit_graph(&executable).unwrap();
        }
        queue.wait().unwrap();
        results.push(outs.iter().map(|out| out.read().unwrap().to_vec()).collect::<Vec<_>>());
    }
    assert!(results[0] == results[1], "{results:?}");
}

/// Whatever the shape of a list's groups is, nodes without groups run once. (PoCL runs them twice
/// in groups with one work-item in the first dimension, which are launched there.)
#[device_test(undecided)]
fn nodes_beside_groups_of_every_shape_run_once(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let [input, value] = [(); 2].map(|()| context.alloc_shared::<i32>(256).unwrap());
    input.write().unwrap().fill(1);
    let sums = context.alloc_shared::<u64>(64 * 4).unwrap();
    for shape in [[1, 1, 1], [1, 4, 1], [1, 1, 4], [2, 1, 1], [2, 2, 2], [3, 1, 1], [16, 1, 1]] {
        let [x, y, z] = shape;
        let size = x * y * z;
        let sum = call(&bundle, "group_sums").pointer::<i32>(&input).pointer_mut::<u64>(&sums);
        let sum = sum.local(Local::<i32>::new(size)).local(Local::<u8>::new(size));
        let sum = Command::parallel_for(NdRange::new([3 * x, y, z], shape), sum);
        let chained = call(&bundle, "chained").pointer_mut::<i32>(&value).value(3_i32);
        let chained = Command::parallel_for(64, chained);
        value.write().unwrap().fill(1);
        let graph = Graph::from_queue(&queue);
        chain(&graph, [chained.clone(), sum, chained]);
        let executable = finalize(&graph, ReplayStrategy::Interpreter);
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let seen = value.read().unwrap();
        assert!(seen.iter().zip(0..64).all(|(value, item)| *value == 9 + 4 * item), "{shape:?}: {seen:?}");
        if size.is_power_of_two() {
            assert_eq!(sums.read().unwrap()[0], size as u64, "{shape:?}");
        }
        match executable.not_interpreted().as_slice() {
            [] => assert_eq!(executable.segments().len(), 1),
            [left] => {
                assert!(x == 1 && left.nodes == [1], "{left:?}");
                assert!(left.reason.contains("work-group size 1 in dimension 0"), "{left:?}");
            }
            more => panic!("{more:?}"),
        }
    }
}

#[device_test(undecided)]
fn nodes_that_do_not_depend_on_each_other_are_shared_by_groups(context: Context) {
    // Some hundred microseconds of work, so that a second core is worth its wakening, however slow
    // that was when it was measured.
    const NODES: usize = 2000;
    const ITEMS: usize = 2048;
    if context.device().capabilities().compute_units < 2 {
        return println!("skipped: the device has one compute unit");
    }
    let bundle = replay_kernels(&context);
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let memory = context.alloc_shared::<i32>(ITEMS * NODES).unwrap();
    memory.write().unwrap().fill(1);
    let graph = Graph::new(&context, context.device()).unwrap();
    for i in 0..NODES {
        let part = memory.slice(i * ITEMS..(i + 1) * ITEMS).unwrap();
        graph
            .add(Command::parallel_for(
                ITEMS,
                call(&bundle, "chained").pointer_mut::<i32>(&part).value(i as i32),
            ))
            .unwrap();
    }
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    let nodes: usize = executable.segments().iter().map(|segment| segment.nodes.len()).sum();
    assert_eq!(nodes, NODES, "{:?}", executable.not_interpreted());
    assert!(executable.segments().iter().all(|segment| segment.groups > 1 && segment.estimated_ns < 20e6));
    for _ in 0..2 {
        queue.submit_graph(&executable).unwrap();
    }
    queue.wait().unwrap();
    let memory = memory.read().unwrap();
    for (at, value) in memory.iter().enumerate() {
        let (factor, item) = ((at / ITEMS) as i32, (at % ITEMS) as i32);
        assert_eq!(*value, (factor + item) * factor + item, "{at}");
    }
}

#[device_test(undecided)]
fn sub_graphs_run_where_they_are(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let [x, y] = [(); 2].map(|()| context.alloc_shared::<i32>(N).unwrap());
    let mut results = Vec::new();
    for strategy in [ReplayStrategy::Enqueue, ReplayStrategy::Interpreter] {
        x.write().unwrap().fill(3);
        y.write().unwrap().fill(4);
        let inner = Graph::from_queue(&queue);
        chain(&inner, mixed(&bundle, [&x, &y], 20));
        let inner = inner.finalize().unwrap();
        let outer = Graph::from_queue(&queue);
        chain(&outer, mixed(&bundle, [&y, &x], 5));
        outer.after_all_leaves().add(&inner).unwrap();
        chain(&outer, mixed(&bundle, [&x, &y], 5));
        let executable = finalize(&outer, strategy);
        if strategy == ReplayStrategy::Interpreter {
            assert_eq!(executable.segments().len(), 1);
            assert_eq!(executable.segments()[0].nodes.iter().filter(|node| **node == 5).count(), 20);
        }
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        results.push((x.read().unwrap().to_vec(), y.read().unwrap().to_vec()));
    }
    assert!(results[0] == results[1], "{results:?}");
}

#[device_test(undecided)]
fn replays_on_their_way_and_queues_of_every_kind_keep_their_order(context: Context) {
    let bundle = replay_kernels(&context);
    let value = context.alloc_shared::<i32>(1).unwrap();
    value.write().unwrap()[0] = 0;
    let graph = Graph::new(&context, context.device()).unwrap();
    // Item 0 stays as it is: x · 1 + 0. So this counts by copies and a sum.
    let one = context.alloc_shared::<i32>(2).unwrap();
    one.write().unwrap().copy_from_slice(&[1, 1]);
    let twice = call(&bundle, "shifted").pointer::<i32>(&value).pointer_mut::<i32>(&one).value(1_i32);
    chain(&graph, [Command::single_task(twice), Command::copy(&one.slice(0..1).unwrap(), &value)]);
    chain(
        &graph,
        (0..40)
            .map(|_| Command::single_task(call(&bundle, "chained").pointer_mut::<i32>(&value).value(1_i32))),
    );
    value.write().unwrap()[0] = 1;
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    let queues = [
        Queue::new(&context).unwrap(),
        Queue::builder(&context).out_of_order().build().unwrap(),
        Queue::builder(&context).discard_events().build().unwrap(),
    ];
    for _ in 0..4 {
        queues.iter().for_each(|queue| drop(queue.submit_graph(&executable).unwrap()));
    }
    queues.iter().for_each(|queue| queue.wait().unwrap());
    // from[0] + 3 · from[0] each time.
    assert_eq!(value.read().unwrap()[0], 4_i32.pow(12));
}

/// Commands that fit are written into the list. Otherwise the lists are made again when the graph
/// is submitted.
#[device_test(undecided)]
fn updated_nodes_stay_in_their_lists_or_these_are_made_anew(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let [x, y] = [(); 2].map(|()| context.alloc_shared::<i32>(N).unwrap());
    let out = context.alloc_shared::<u64>(64 * 4).unwrap();
    let mut commands = mixed(&bundle, [&x, &y], 40);
    let graph = Graph::from_queue(&queue);
    let add = |command: &Command| graph.after_all_leaves().add(command.clone()).unwrap();
    let nodes: Vec<Node> = commands.iter().map(add).collect();
    let executable = graph
        .finalizer()
        .updatable()
        .strategy(ReplayStrategy::Interpreter)
        .wait_for_interpreter()
        .finalize()
        .unwrap();
    let scaled = |range: usize| {
        Command::parallel_for(range, call(&bundle, "chained").pointer_mut::<i32>(&y).value(5_i32))
    };
    let shifted = call(&bundle, "shifted").pointer::<i32>(&y).pointer_mut::<i32>(&x).value(N as i32);
    let shifted = Command::parallel_for(N, shifted);
    let sums = |size: usize| {
        let call = call(&bundle, "group_sums").pointer::<i32>(&x).pointer_mut::<u64>(&out);
        let call = call.local(Local::<i32>::new(size)).local(Local::<u8>::new(size));
        Command::parallel_for(NdRange::new(64, size), call)
    };
    let part = |at: usize| y.slice(at..at + 10).unwrap();
    // The node, its new command, and the nodes of the segments then.
    let rounds: [(usize, Command, &[usize]); 11] = [
        (0, shifted, &[40]),
        (1, scaled(50), &[40]),
        (3, Command::copy(&x.slice(5..15).unwrap(), &part(30)), &[40]),
        (4, Command::fill(&part(7), 77), &[40]),
        (1, scaled(0), &[39]),
        (1, scaled(N), &[40]),
        (8, sums(16), &[40]),
        (8, sums(4), &[40]),
        (9, sums(16), &[9, 31]),
        (3, Command::write(&part(50), vec![9; 10]), &[3, 5, 31]),
        // Launched nodes remain launched.
        (3, Command::copy(&x, &y), &[3, 5, 31]),
    ];
    let reset = || {
        x.write().unwrap().copy_from_slice(&std::array::from_fn::<i32, N, _>(|i| i as i32 * 7 % 31));
        y.write().unwrap().fill(1);
        out.write().unwrap().fill(0);
    };
    let seen = || (x.read().unwrap().to_vec(), y.read().unwrap().to_vec(), out.read().unwrap().to_vec());
    for (node, command, segments) in rounds {
        let about = format!("{command:?} for node {node}");
        commands[node] = command.clone();
        nodes[node].update_command(command).unwrap();
        executable.update(&nodes[node]).unwrap();
        reset();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let replayed = seen();
        reset();
        commands.iter().for_each(|command| drop(queue.submit(command.clone()).unwrap()));
        queue.wait().unwrap();
        assert!(replayed == seen(), "{about}");
        let counts: Vec<usize> = executable.segments().iter().map(|segment| segment.nodes.len()).collect();
        assert_eq!(counts, segments, "{about}: {:?}", executable.not_interpreted());
    }
}
