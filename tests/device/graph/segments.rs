//! How graphs are cut into segments for the interpreter, on the selected device: chains side by
//! side, boxes, buffers, programs built in the background.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use crate::common::{call, chain, replay_kernels, undecided, without_cache};
use oclave::device::DeviceKind;
use oclave::graph::{DynamicParameter, ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::{KernelBundle, KernelCall};
use oclave::memory::usm;
use oclave::record::Session;
use oclave::{Buffer, Command, Context, Graph, Queue, UsmSlice};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn finalize(graph: &Graph, strategy: ReplayStrategy) -> ExecutableGraph {
    graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap()
}

fn bump(bundle: &KernelBundle, memory: &UsmSlice<i32, usm::Shared>, factor: i32) -> Command {
    bump_by(call(bundle, "chained"), memory, factor)
}

fn bump_by(call: KernelCall, memory: &UsmSlice<i32, usm::Shared>, factor: i32) -> Command {
    Command::parallel_for(memory.len(), call.pointer_mut::<i32>(memory).value(factor))
}

/// Whether the interpreter has its form for GPUs.
fn has_wide_groups(context: &Context) -> bool {
    match std::env::var("OCLAVE_WIDE_GROUPS").as_deref() {
        Ok("1" | "on") => true,
        Ok("0" | "off") => false,
        _ => context.device().kind() == DeviceKind::Gpu,
    }
}

/// Nodes in chains that share nothing, between one that all begin with and one that all end with.
#[device_test(undecided)]
fn chains_side_by_side_run_as_wholes_without_synchronisation(context: Context) {
    const CHAINS: usize = 8;
    const LENGTH: usize = 100;
    const ITEMS: usize = 2048;
    if context.device().capabilities().compute_units < 2 {
        return println!("skipped: the device has one compute unit");
    }
    let bundle = replay_kernels(&context);
    let memory = context.alloc_shared::<i32>(CHAINS * ITEMS).unwrap();
    let parts: Vec<_> = (0..CHAINS).map(|at| memory.slice(at * ITEMS..(at + 1) * ITEMS).unwrap()).collect();
    let graph = Graph::new(&context, context.device()).unwrap();
    let first = graph.add(Command::fill(&memory, 1)).unwrap();
    let mut ends: Vec<Node> = vec![first; CHAINS];
    let bump = |memory, factor| bump_by(call(&bundle, "chained"), memory, factor);
    for factor in 0..LENGTH as i32 {
        for (end, part) in ends.iter_mut().zip(&parts) {
            *end = graph.after(&[&*end]).add(bump(part, factor % 5 - 2)).unwrap();
        }
    }
    let ends: Vec<&Node> = ends.iter().collect();
    graph.after(&ends).add(bump(&memory, 3)).unwrap();
    let mut results = Vec::new();
    for queue in [Queue::new(&context).unwrap(), Queue::builder(&context).out_of_order().build().unwrap()] {
        for strategy in [ReplayStrategy::Enqueue, ReplayStrategy::Interpreter] {
            let executable = finalize(&graph, strategy);
            if strategy == ReplayStrategy::Interpreter {
                let segments = executable.segments();
                let shared = segments.iter().find(|segment| segment.nodes.len() >= CHAINS * LENGTH).unwrap();
                // Each chain has a group; or, in the form for GPUs, the work-items of one group run
                // the nodes of a layer side by side.
                let is_one_group = has_wide_groups(&context) && shared.group_size > 1;
                assert!(shared.groups <= CHAINS && (shared.groups > 1 || is_one_group), "{segments:?}");
                // No launch in between.
                assert!(segments.len() <= 3, "{segments:?}");
            }
            for _ in 0..3 {
                queue.submit_graph(&executable).unwrap();
            }
            queue.wait().unwrap();
            results.push(memory.read().unwrap().to_vec());
        }
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Copies and fills of boxes, in two and three dimensions, are tasks where their rows are alike.
#[device_test(undecided)]
fn boxes_are_tasks(context: Context) {
    let queue = Queue::new(&context).unwrap();
    const SHAPE: [usize; 3] = [5, 6, 8];
    let [x, y] = [(); 2].map(|()| context.alloc_shared::<u32>(240).unwrap());
    let place = (0..3_usize, 0..3_usize, 0..4_usize, 1..3_usize, 1..4_usize, 1..5_usize);
    let steps = prop::collection::vec((place.clone(), place, 0..4_u8, any::<u32>()), 1..12);
    let bundle = replay_kernels(&context);
    let own = context.alloc_shared::<i32>(1).unwrap();
    let mut runner = TestRunner::new(Config { cases: 24, ..Config::default() });
    type Place = (usize, usize, usize, usize, usize, usize);
    let check = |steps: Vec<(Place, Place, u8, u32)>| {
        let graph = Graph::from_queue(&queue);
        // A kernel, as there is no program for lists without.
        chain(&graph, [bump(&bundle, &own, 1)]);
        for ((z, y0, x0, depth, height, width), (z1, y1, x1, ..), kind, value) in steps {
            let (at, to) = ([z, y0, x0], [z1, y1, x1]);
            let size: [usize; 3] = [depth, height, width];
            let from = x.rect(SHAPE).unwrap().part(at, size).unwrap();
            let into = y.rect(SHAPE).unwrap().part(to, size).unwrap();
            let flat = y.slice(0..size.iter().product()).unwrap();
            chain(
                &graph,
                [match kind {
                    0 => Command::copy(&from, &into),
                    1 => Command::copy(&from, &flat),
                    2 => Command::copy(&flat, &from),
                    _ => Command::fill(&into, value),
                }],
            );
        }
        let run = |strategy| {
            x.write().unwrap().iter_mut().zip(0..).for_each(|(x, i)| *x = i);
            y.write().unwrap().fill(1000);
            let executable = finalize(&graph, strategy);
            queue.submit_graph(&executable).unwrap().wait().unwrap();
            let refused = executable.not_interpreted();
            (x.read().unwrap().to_vec(), y.read().unwrap().to_vec(), refused)
        };
        let (launched, listed) = (run(ReplayStrategy::Enqueue), run(ReplayStrategy::Interpreter));
        prop_assert_eq!(&listed.2, &vec![]);
        prop_assert!((launched.0, launched.1) == (listed.0, listed.1));
        Ok(())
    };
    runner.run(&steps, check).unwrap();
}

/// Rows of other lengths at both ends, and patterns that rows do not hold, are launched as ever.
#[device_test(undecided)]
fn boxes_that_are_no_tasks_tell_why(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = replay_kernels(&context);
    let own = context.alloc_shared::<i32>(1).unwrap();
    let x = context.alloc_shared::<u32>(64).unwrap();
    let y = context.alloc_shared::<u32>(64).unwrap();
    let odd = context.alloc_shared::<[u8; 3]>(64).unwrap();
    let graph = Graph::from_queue(&queue);
    let from = x.rect([8, 8]).unwrap().part([1, 1], [2, 6]).unwrap();
    let to = y.rect([8, 8]).unwrap().part([2, 2], [4, 3]).unwrap();
    let part = odd.rect([8, 8]).unwrap().part([1, 1], [2, 2]).unwrap();
    chain(&graph, [bump(&bundle, &own, 1), Command::fill(&part, [1, 2, 3]), Command::copy(&from, &to)]);
    let expected = [
        "a copy between boxes with rows of other lengths",
        "a fill of a box with a pattern that its rows are not aligned to",
    ];
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    let told: Vec<String> = executable.not_interpreted().into_iter().map(|not| not.reason).collect();
    assert_eq!(told, expected);
    queue.submit_graph(&executable).unwrap().wait().unwrap();
}

/// A segment is one launch that nothing can interrupt.
#[device_test(undecided)]
fn segments_are_cut_where_they_would_take_too_long(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = replay_kernels(&context);
    let memory = context.alloc_shared::<i32>(1 << 16).unwrap();
    memory.write().unwrap().fill(1);
    let graph = Graph::from_queue(&queue);
    chain(&graph, (0..400).map(|_| bump(&bundle, &memory, 1)));
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    let segments = executable.segments();
    let all: f64 = segments.iter().map(|segment| segment.estimated_ns).sum();
    assert_eq!(segments.iter().map(|segment| segment.nodes.len()).sum::<usize>(), 400);
    assert!(segments.len() >= (all / 10e6).ceil() as usize, "{} for {all} ns", segments.len());
    assert!(segments.iter().all(|segment| segment.estimated_ns <= 10e6), "{segments:?}");
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    let memory = memory.read().unwrap();
    assert!(memory.iter().zip(0..).all(|(value, item)| *value == 1 + 400 * item));
}

/// Nodes with buffers take part: these have addresses that stay.
#[device_test(undecided)]
fn nodes_with_buffers_are_tasks(context: Context) {
    let bundle = replay_kernels(&context);
    let mut results = Vec::new();
    for strategy in [ReplayStrategy::Enqueue, ReplayStrategy::Interpreter] {
        let queue = Queue::new(&context).unwrap();
        let x = Buffer::with_data([64], (0..64).collect::<Vec<i32>>()).unwrap();
        let y = Buffer::<i32>::new([64]).unwrap();
        let image = Buffer::<i32>::new([8, 8]).unwrap();
        let graph = Graph::new(&context, context.device()).unwrap();
        for i in 0..20 {
            let bump = call(&bundle, "chained").pointer_mut::<i32>(&x.read_write()).value(i % 3);
            let shift = call(&bundle, "shifted").pointer::<i32>(&x.read()).pointer_mut::<i32>(&y.write());
            graph.add(Command::parallel_for(64, bump)).unwrap();
            graph.add(Command::parallel_for(64, shift.value(64_i32))).unwrap();
            graph.add(Command::fill(&image.write().part([1, 1], [3, 2]).unwrap(), i)).unwrap();
            graph.add(Command::copy(&y.read(), &x.write())).unwrap();
        }
        let executable = finalize(&graph, strategy);
        if strategy == ReplayStrategy::Interpreter {
            assert_eq!(executable.not_interpreted(), []);
            assert_eq!(executable.segments().iter().map(|segment| segment.nodes.len()).sum::<usize>(), 80);
        }
        // The host changes and reads the contents between replays.
        queue.submit_graph(&executable).unwrap();
        x.read_write().host().unwrap()[3] += 5;
        queue.submit_graph(&executable).unwrap();
        results.push([&x, &y].map(|buffer| buffer.host_read().unwrap().to_vec()));
        results.push([image.host_read().unwrap().to_vec(), Vec::new()]);
    }
    assert!(results[..2] == results[2..], "{results:?}");
}

/// Nodes are launched until the interpreter program is there, and run from lists then: the same
/// results, whichever way.
#[device_test(undecided)]
fn programs_built_in_the_background_are_used_when_they_are_there(context: Context) {
    for updatable in [false, true] {
        let context = without_cache(&context);
        let queue = Queue::new(&context).unwrap();
        let bundle = replay_kernels(&context);
        let memory = context.alloc_shared::<i32>(64).unwrap();
        let graph = Graph::from_queue(&queue);
        chain(&graph, [Command::fill(&memory, 1)]);
        chain(&graph, (0..100).map(|i| bump(&bundle, &memory, i % 3)));
        let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter);
        let finalizer = if updatable { finalizer.updatable() } else { finalizer };
        let executable = finalizer.finalize().unwrap();
        let [not] = executable.not_interpreted().try_into().unwrap();
        assert_eq!((not.nodes.len(), not.reason.as_str()), (101, "its interpreter program is being built"));
        assert_eq!(executable.segments(), []);
        let expected: Vec<i32> = (0..64).map(|item| (0..100).fold(1, |x, i| x * (i % 3) + item)).collect();
        let begin = Instant::now();
        // Submissions launch node by node, but for the last one, which runs the list; how many
        // there are is up to the builder.
        while executable.segments().is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it is never built");
            queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(*memory.read().unwrap(), *expected);
        }
        assert_eq!(executable.segments()[0].nodes.len(), 101);
        assert_eq!(executable.not_interpreted(), []);
        // What is built is used at once.
        let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter);
        assert_eq!(finalizer.finalize().unwrap().segments().len(), 1);
    }
}

/// A graph of a few small nodes is launched node by node at first, while its list is built. After
/// many launches it runs from the list, unless each node is measured. Values that are updated
/// count, before and after.
#[device_test(undecided)]
fn few_nodes_go_into_a_list_once_they_are_replayed_often(context: Context) {
    const NODES: i32 = 10;
    const LAUNCHES: i32 = 4096;
    let context = without_cache(&context);
    let queue = Queue::new(&context).unwrap();
    let bundle = replay_kernels(&context);
    let memory = context.alloc_shared::<i32>(64).unwrap();
    memory.write().unwrap().fill(0);
    let graph = Graph::from_queue(&queue);
    let factor = DynamicParameter::new(&graph, 1_i32);
    let call = || call(&bundle, "chained").pointer_mut::<i32>(&memory).value(&factor);
    chain(&graph, (0..NODES).map(|_| Command::parallel_for(64, call())));
    let executable = graph.finalizer().updatable().finalize().unwrap();
    let measured = graph.finalizer().profiling().finalize().unwrap();
    let begin = Instant::now();
    let mut launched = 0;
    while executable.segments().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "they stay launches");
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        launched += NODES;
    }
    assert!(launched >= LAUNCHES, "{launched}");
    assert_eq!(executable.segments()[0].nodes.len(), NODES as usize);
    assert_eq!(executable.not_interpreted(), []);
    assert!(memory.read().unwrap().iter().zip(0..).all(|(value, item)| *value == launched * item));
    factor.update(0).unwrap();
    executable.update(&graph.nodes()).unwrap();
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    assert!(memory.read().unwrap().iter().zip(0..).all(|(value, item)| *value == item));
    assert_eq!(executable.segments().len(), 1);
    // Once the program is there, another one has its list as soon as it was replayed as often.
    let another = graph.finalize().unwrap();
    for _ in 0..=LAUNCHES / NODES {
        assert_eq!(another.segments(), []);
        queue.submit_graph(&another).unwrap();
        queue.submit_graph(&measured).unwrap();
    }
    queue.submit_graph(&another).unwrap().wait().unwrap();
    assert_eq!((another.segments().len(), measured.segments().len()), (1, 0));
}

/// Threads that submit one executable to queues of their own do not notice that its nodes go into a
/// list meanwhile.
#[device_test(undecided)]
fn threads_submit_few_nodes_before_and_after_they_are_a_list(context: Context) {
    const NODES: i32 = 8;
    let context = without_cache(&context);
    let bundle = replay_kernels(&context);
    let memory = context.alloc_shared::<i32>(64).unwrap();
    memory.write().unwrap().fill(0);
    let graph = Graph::new(&context, context.device()).unwrap();
    chain(&graph, (0..NODES).map(|_| bump(&bundle, &memory, 1)));
    let executable = graph.finalize().unwrap();
    let begin = Instant::now();
    let (submissions, after) = (AtomicI32::new(0), AtomicI32::new(0));
    std::thread::scope(|scope| {
        for number in 0..3 {
            let queue = Queue::builder(&context);
            let queue = if number == 2 { queue.out_of_order() } else { queue }.build().unwrap();
            let (executable, submissions, after) = (&executable, &submissions, &after);
            scope.spawn(move || {
                while after.load(Ordering::Relaxed) < 100 {
                    assert!(begin.elapsed() < Duration::from_secs(60), "they stay launches");
                    // Some are on their way together.
                    for _ in 0..10 {
                        queue.submit_graph(executable).unwrap();
                        submissions.fetch_add(1, Ordering::Relaxed);
                    }
                    queue.wait().unwrap();
                    let is_list = !executable.segments().is_empty();
                    after.fetch_add(i32::from(is_list), Ordering::Relaxed);
                }
            });
        }
    });
    let launches = submissions.into_inner() * NODES;
    assert!(memory.read().unwrap().iter().zip(0..).all(|(value, item)| *value == launches * item));
}

/// A chain of forty launches that leave `1 + 40 * runs * item` after `runs` replays, in a context
/// that has built nothing yet.
struct Bumps {
    bundle: KernelBundle,
    queue: Queue,
    graph: Graph,
    memory: UsmSlice<i32, usm::Shared>,
}

fn unbuilt_bumps(context: &Context) -> Bumps {
    let context = without_cache(context);
    let queue = Queue::new(&context).unwrap();
    let bundle = replay_kernels(&context);
    let memory = context.alloc_shared::<i32>(64).unwrap();
    memory.write().unwrap().fill(1);
    let graph = Graph::from_queue(&queue);
    chain(&graph, (0..40).map(|_| bump(&bundle, &memory, 1)));
    Bumps { bundle, queue, graph, memory }
}

/// A program that does not build leaves the launches, and the reason.
#[device_test(undecided)]
fn programs_that_cannot_be_built_in_the_background_leave_launches(context: Context) {
    let Bumps { queue, graph, memory, .. } = unbuilt_bumps(&context);
    let session = Session::start();
    // The kernels are built: the next program is the interpreter program.
    session.fail("clBuildProgram", 1, -11);
    let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter);
    let executable = finalizer.finalize().unwrap();
    let begin = Instant::now();
    let mut runs = 0;
    let reason = loop {
        let [not] = executable.not_interpreted().try_into().unwrap();
        if not.reason != "its interpreter program is being built" {
            break not.reason;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "the failure is never told");
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        runs += 40;
    };
    assert!(reason.contains("CL_BUILD_PROGRAM_FAILURE"), "{reason}");
    assert_eq!(executable.segments(), []);
    assert!(memory.read().unwrap().iter().zip(0..).all(|(value, item)| *value == 1 + runs * item));
}

/// Each executable is replaced while its program is being built. One build serves all of them.
#[device_test(undecided)]
fn executables_share_a_build(context: Context) {
    let Bumps { queue, graph, memory, bundle: _bundle } = unbuilt_bumps(&context);
    let session = Session::start();
    let finalize = || graph.finalizer().strategy(ReplayStrategy::Interpreter).finalize().unwrap();
    let mut executable = finalize();
    let begin = Instant::now();
    let mut runs = 0;
    while executable.segments().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it is never built");
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        runs += 40;
        executable = finalize();
    }
    assert_eq!(session.count("clBuildProgram"), 1);
    assert!(memory.read().unwrap().iter().zip(0..).all(|(value, item)| *value == 1 + runs * item));
}

/// A graph that is submitted once is not worth a build.
#[device_test(undecided)]
fn the_second_request_for_a_program_begins_its_build(context: Context) {
    let reason = |executable: &ExecutableGraph| {
        executable.not_interpreted().first().map(|not| not.reason.clone()).unwrap_or_default()
    };
    let is_first = |reason: &str| reason.starts_with("its interpreter program is built when");
    for finalized_again in [true, false] {
        let Bumps { queue, graph, bundle: _bundle, .. } = unbuilt_bumps(&context);
        let session = Session::start();
        let executable = graph.finalize().unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert!(is_first(&reason(&executable)), "{}", reason(&executable));
        assert_eq!(session.count("clBuildProgram"), 0);
        let second = match finalized_again {
            true => graph.finalize().unwrap(),
            false => {
                queue.submit_graph(&executable).unwrap().wait().unwrap();
                executable
            }
        };
        // It is being built, or is there by now.
        assert!(!is_first(&reason(&second)), "{}", reason(&second));
        let begin = Instant::now();
        while session.count("clBuildProgram") == 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "no build has begun");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Executables may go while their programs are being built, and so may all else.
#[device_test(undecided)]
fn what_is_being_built_may_be_dropped(context: Context) {
    for round in 0..3 {
        let Bumps { bundle, queue, graph, memory } = unbuilt_bumps(&context);
        let executables: Vec<ExecutableGraph> = (0..2)
            .map(|_| {
                let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter);
                finalizer.finalize().unwrap()
            })
            .collect();
        let events: Vec<_> =
            executables[..round.min(2)].iter().map(|graph| queue.submit_graph(graph).unwrap()).collect();
        drop((graph, bundle, executables));
        events.iter().for_each(|event| event.wait().unwrap());
        let done = 40 * events.len() as i32;
        assert!(memory.read().unwrap().iter().zip(0..).all(|(value, item)| *value == 1 + done * item));
    }
}
