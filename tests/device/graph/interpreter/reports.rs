//! What is told of lists: in timelines, drawings and errors, and why a node is in none.

use super::{N, finalize, mixed};
use crate::common::{call, chain, replay_kernels, undecided};
use oclave::graph::{Detail, ReplayStrategy};
use oclave::kernel::ProgramCache;
use oclave::record::Session;
use oclave::{Command, Context, Graph, Queue};

#[device_test(undecided)]
fn what_no_list_can_run_is_launched_and_the_reason_is_told(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_shared::<i32>(N).unwrap();
    value.write().unwrap().fill(1);
    let out = context.alloc_shared::<u64>(N * 4).unwrap();
    let bump = |factor: i32| {
        Command::parallel_for(N, call(&bundle, "chained").pointer_mut::<i32>(&value).value(factor))
    };
    let graph = Graph::from_queue(&queue);
    // Groups of the driver's choice.
    let ids = Command::parallel_for(N, call(&bundle, "group_ids").pointer_mut::<u64>(&out));
    let write = Command::write(&value.slice(0..4).unwrap(), vec![5; 4]);
    chain(&graph, [bump(2), bump(3), ids, bump(4), bump(5), write, bump(1), bump(1)]);
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    let told = executable.not_interpreted();
    let told: Vec<_> = told.iter().map(|not| (not.nodes.as_slice(), not.reason.as_str())).collect();
    let nodes: Vec<_> = executable.segments().into_iter().map(|segment| segment.nodes).collect();
    assert_eq!(nodes, [vec![0, 1], vec![3, 4], vec![6, 7]]);
    let expected = [
        (&[5][..], "a copy from or to memory of the host"),
        (&[2][..], "kernel `group_ids` uses work-groups, and is launched without their size"),
    ];
    assert_eq!(told, expected);
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    let expected: Vec<i32> = (0..N as i32)
        .map(|i| {
            let value = [2, 3, 4, 5].iter().fold(1, |x, factor| x * factor + i);
            let value = if i < 4 { 5 } else { value };
            value + 2 * i
        })
        .collect();
    assert_eq!(*value.read().unwrap(), *expected);
}

/// The number and the size of groups count as asking for them, too.
#[device_test(undecided)]
fn kernels_that_ask_for_groups_of_the_drivers_choice_are_launched(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let [launched, replayed] = [(); 2].map(|()| context.alloc_shared::<u64>(N * 4).unwrap());
    let sizes = |out| Command::parallel_for(N, call(&bundle, "sizes").pointer_mut::<u64>(out));
    let graph = Graph::from_queue(&queue);
    chain(&graph, [sizes(&replayed), sizes(&replayed)]);
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    let [told] = executable.not_interpreted().try_into().unwrap();
    assert_eq!(told.reason, "kernel `sizes` uses work-groups, and is launched without their size");
    assert_eq!(told.nodes, [0, 1]);
    queue.submit_graph(&executable).unwrap();
    queue.submit(sizes(&launched)).unwrap();
    queue.wait().unwrap();
    assert_eq!(*replayed.read().unwrap(), *launched.read().unwrap());
}

#[device_test(undecided)]
fn a_timeline_shows_segments(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::builder(&context).profiling().build().unwrap();
    let [x, y] = [(); 2].map(|()| context.alloc_shared::<i32>(N).unwrap());
    let graph = Graph::from_queue(&queue);
    chain(&graph, mixed(&bundle, [&x, &y], 50));
    chain(&graph, [Command::write(&x, vec![1; N])]);
    chain(&graph, mixed(&bundle, [&x, &y], 50));
    let finalizer = graph
        .finalizer()
        .profiling()
        .updatable()
        .strategy(ReplayStrategy::Interpreter)
        .wait_for_interpreter();
    let executable = finalizer.finalize().unwrap();
    let event = queue.submit_graph(&executable).unwrap();
    event.wait().unwrap();
    let timeline = executable.timeline(&event).unwrap();
    let seen: Vec<_> = timeline.nodes().iter().map(|node| (node.name.as_str(), node.nodes.len())).collect();
    if seen != [("command buffers", 101)] {
        assert_eq!(seen, [("segment of 50 nodes", 50), ("memcpy", 1), ("segment of 50 nodes", 50)]);
    }
    // For what no list can run others are made.
    let copy = &graph.nodes()[3];
    copy.update_command(Command::write(&y.slice(30..40).unwrap(), vec![9; 10])).unwrap();
    executable.update(copy).unwrap();
    assert_eq!(executable.timeline(&event).unwrap().nodes().len(), seen.len());
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    let refused = format!("{:#}", executable.timeline(&event).unwrap_err());
    assert!(refused.contains("before the graph is updated or submitted again"), "{refused}");
}

#[device_test(undecided)]
fn a_launch_that_fails_names_the_nodes_of_its_segment(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let [x, y] = [(); 2].map(|()| context.alloc_shared::<i32>(N).unwrap());
    let graph = Graph::from_queue(&queue);
    chain(&graph, mixed(&bundle, [&x, &y], 50));
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    const OUT_OF_RESOURCES: i32 = -5;
    let session = Session::start();
    session.fail("clEnqueueNDRangeKernel", 1, OUT_OF_RESOURCES);
    let error = format!("{:#}", queue.submit_graph(&executable).unwrap_err());
    assert!(error.contains("nodes 0, 1, 2, 3, 4, 5, 6, 7 and 42 more"), "{error}");
    drop(session);
    queue.submit_graph(&executable).unwrap().wait().unwrap();
}

/// Where the interpreter program does not build, all nodes are launched.
#[device_test(undecided)]
fn a_module_that_cannot_be_built_is_launched(context: Context) {
    let context = Context::builder(context.devices())
        .program_cache(&ProgramCache::Off)
        .graph_interpreter(None)
        .build()
        .unwrap();
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_shared::<i32>(1).unwrap();
    value.write().unwrap()[0] = 0;
    let session = Session::start();
    // The first program that is built from now on is the interpreter program.
    let bundle = replay_kernels(&context);
    let bump = call(&bundle, "chained").pointer_mut::<i32>(&value).value(1_i32);
    queue.single_task(bump.clone()).unwrap().wait().unwrap();
    session.fail("clBuildProgram", 1, -11);
    let graph = Graph::from_queue(&queue);
    chain(&graph, (0..5).map(|_| Command::single_task(bump.clone())));
    let executable = finalize(&graph, ReplayStrategy::Interpreter);
    let [not] = executable.not_interpreted().try_into().unwrap();
    assert!(not.reason.contains("CL_BUILD_PROGRAM_FAILURE") && not.nodes.len() == 5, "{not:?}");
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    assert_eq!(*value.read().unwrap(), [0]);
}

#[device_test(undecided)]
fn a_drawing_has_frames_around_segments(context: Context) {
    let bundle = replay_kernels(&context);
    let queue = Queue::new(&context).unwrap();
    let [x, y] = [(); 2].map(|()| context.alloc_shared::<i32>(N).unwrap());
    let graph = Graph::from_queue(&queue);
    chain(&graph, mixed(&bundle, [&x, &y], 4));
    chain(&graph, [Command::write(&x, vec![1; N])]);
    chain(&graph, mixed(&bundle, [&x, &y], 3));
    let dot = finalize(&graph, ReplayStrategy::Interpreter).to_dot(Detail::Brief);
    let frames: Vec<&str> = dot.split("subgraph cluster_").collect();
    assert_eq!(frames.len(), 3, "{dot}");
    let nodes = |frame: &str| frame.split("    }\n").next().unwrap().matches("[label=").count();
    assert_eq!((nodes(frames[1]), nodes(frames[2])), (4, 3), "{dot}");
    assert!(frames[1].starts_with("0 {\n    label=\"segment 0: 4 nodes, 1 × "), "{dot}");
    assert_eq!((dot.matches(" -> ").count(), dot.matches("[label=").count()), (7, 8), "{dot}");
    let plain = finalize(&graph, ReplayStrategy::Enqueue).to_dot(Detail::Verbose);
    assert!(!plain.contains("cluster") && plain.contains("4 memcpy"), "{plain}");
}
