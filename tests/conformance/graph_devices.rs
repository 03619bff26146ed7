//! What devices do for graphs, and what command buffers do: G-DEV, G-CLB, G-ERR.

use oclave::device::mask::Mask;
use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::memory::HostTarget;
use oclave::record::Session;
use oclave::{Command, Context, Device, ErrorKind, Graph, Queue};

use super::graph_support::ways;
use super::kernels::buffers;

/// A device's graph: write, kernel, fill of a part, copy, read.
fn graph(context: &Context, device: &Device, target: &HostTarget<u32>) -> Graph {
    let graph = Graph::new(context, device).unwrap();
    let [a, b] = [(); 2].map(|()| context.alloc_device_on::<u32>(device, 8).unwrap());
    let commands = [
        Command::write(&a, (0..8).collect::<Vec<u32>>()),
        Command::parallel_for(8, buffers::advance(&a, 2, 1)),
        Command::fill(&a.slice(2..4).unwrap(), 100),
        Command::copy(&a, &b),
        Command::read(&b, target),
    ];
    for command in commands {
        graph.after_all_leaves().add(command).unwrap();
    }
    graph
}

const RESULT: [u32; 8] = [1, 3, 100, 100, 9, 11, 13, 15];

#[device_test]
fn g_dev_001_what_is_said_is_what_works(device: Device) {
    let masks = [Mask::empty(), Mask::COMMAND_BUFFER, Mask::MUTABLE_DISPATCH, Mask::OUT_OF_ORDER];
    for device in masks.map(|mask| device.masked(mask)) {
        let support = Graph::support(&device);
        let capabilities = device.capabilities();
        println!("{:?}: {support:?}", device.mask());
        assert_eq!(support.command_buffers, capabilities.command_buffer.is_some());
        assert!(support.command_buffers || !support.updates_in_place);
        assert!(capabilities.mutable_dispatch.is_some() || !support.updates_in_place);
        let context = Context::new(&device).unwrap();
        let queue = Queue::new(&context).unwrap();
        let target = HostTarget::new(8).unwrap();
        let graph = graph(&context, &device, &target);
        let run = |executable: ExecutableGraph| {
            queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(target.to_vec().unwrap(), RESULT);
            executable.partitions()[0].strategy
        };
        assert_eq!(run(graph.finalize().unwrap()), Some(support.strategy));
        let interpreted = graph
            .finalizer()
            .strategy(ReplayStrategy::Interpreter)
            .wait_for_interpreter()
            .finalize()
            .unwrap();
        assert_eq!(run(interpreted) == Some(ReplayStrategy::Interpreter), support.interpreter);
        let buffers = graph.finalizer().strategy(ReplayStrategy::CommandBuffer).finalize();
        if support.command_buffers {
            assert_eq!(run(buffers.unwrap()), Some(ReplayStrategy::CommandBuffer));
        } else {
            assert_eq!(buffers.unwrap_err().kind(), ErrorKind::FeatureNotSupported);
        }
    }
}

#[device_test]
fn g_dev_004_buffers_for_queues_of_either_order(device: Device) {
    if !Graph::support(&device).command_buffers {
        skip!("no command buffers");
    }
    for device in [device.clone(), device.masked(Mask::OUT_OF_ORDER)] {
        let context = Context::new(&device).unwrap();
        let values = context.alloc_device::<u32>(8).unwrap();
        let graph = Graph::new(&context, &device).unwrap();
        for _ in 0..4 {
            let advance = buffers::advance(&values, 3, 1);
            graph.after_all_leaves().add(Command::parallel_for(8, advance)).unwrap();
        }
        let executable = graph.finalizer().strategy(ReplayStrategy::CommandBuffer).finalize().unwrap();
        let mut queues =
            vec![Queue::new(&context).unwrap(), Queue::builder(&context).profiling().build().unwrap()];
        if device.capabilities().out_of_order_queues {
            queues.push(Queue::builder(&context).out_of_order().build().unwrap());
        }
        // In turns, so that no queue can keep the buffers to itself.
        queues[0].fill(&values, 0).unwrap().wait().unwrap();
        for _ in 0..2 {
            queues.iter().for_each(|queue| drop(queue.submit_graph(&executable).unwrap()));
        }
        queues.iter().for_each(|queue| queue.wait().unwrap());
        let expected = (0..8 * queues.len()).fold(0_u32, |x, _| x.wrapping_mul(3).wrapping_add(1));
        assert_eq!(queues[0].read(&values).unwrap(), [expected; 8]);
    }
}

#[test]
fn g_dev_005_devices_side_by_side() {
    if super::support::device().is_none() {
        return;
    }
    let mut devices = Device::all().unwrap();
    devices.retain(|device| device.capabilities().memory().is_some());
    // With one device only, its parts or two contexts of it.
    if let [device] = &devices[..] {
        let parts = device.partition_equally(1).unwrap_or_default();
        devices = if parts.len() > 1 { parts } else { vec![device.clone(); 2] };
    }
    std::thread::scope(|scope| {
        for device in &devices {
            scope.spawn(move || {
                let context = Context::new(device).unwrap();
                let queue = Queue::new(&context).unwrap();
                let target = HostTarget::new(8).unwrap();
                let executable = graph(&context, device, &target).finalize().unwrap();
                for _ in 0..20 {
                    queue.submit_graph(&executable).unwrap();
                }
                queue.wait().unwrap();
                assert_eq!(target.to_vec().unwrap(), RESULT, "{}", device.name());
            });
        }
    });
    println!("{} devices", devices.len());
}

#[device_test]
fn g_err_005_unknown_options(device: Device) {
    // Options are functions of builders, so an unknown one does not compile. What a device lacks is
    // an error.
    let masked = device.masked(Mask::COMMAND_BUFFER);
    let context = Context::new(&masked).unwrap();
    let graph = Graph::new(&context, &masked).unwrap();
    let refused = graph.finalizer().strategy(ReplayStrategy::CommandBuffer).finalize().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FeatureNotSupported, "{refused}");
}

#[test]
fn g_err_006_queues_of_other_contexts_and_devices() {
    for way in ways() {
        let graph = way.graph();
        graph.add(Command::host_task(|| ())).unwrap();
        let executable = way.finalize(&graph);
        let foreign = Queue::new(&Context::new(way.queue.device()).unwrap()).unwrap();
        let refused = foreign.submit_graph(&executable).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("another context or device"), "{refused}");
    }
    let Some(device) = super::support::device() else { return };
    let parts = device.partition_equally(1).unwrap_or_default();
    let [one, two, ..] = &parts[..] else { return };
    let context = Context::builder(&[one.clone(), two.clone()]).build().unwrap();
    let executable = Graph::new(&context, one).unwrap().finalize().unwrap();
    let queue = Queue::builder(&context).device(two).build().unwrap();
    assert_eq!(queue.submit_graph(&executable).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn g_err_010_failures_of_the_driver_name_their_stage() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        for _ in 0..2 {
            let advance = buffers::advance(&values, 3, 1);
            graph.after_all_leaves().add(Command::parallel_for(8, advance)).unwrap();
        }
        let by_buffer = way.finalize(&graph).partitions()[0].strategy == Some(ReplayStrategy::CommandBuffer);
        let stages: &[&str] = match by_buffer {
            true => &[
                "clCreateCommandBufferKHR",
                "clCommandNDRangeKernelKHR",
                "clFinalizeCommandBufferKHR",
                "clEnqueueCommandBufferKHR",
            ],
            false => &["clEnqueueNDRangeKernel"],
        };
        for stage in stages {
            let executable = way.finalize(&graph);
            let session = Session::start();
            session.fail(stage, 1, -6);
            let error = way.queue.submit_graph(&executable).unwrap_err();
            assert_eq!(session.pending_faults(), 0, "{stage}");
            drop(session);
            assert!(format!("{error:#}").contains(stage), "{error}");
            assert!(format!("{error:#}").contains(&format!("graph {}", graph.id())), "{error}");
            // The next time it works, from wherever the first came to.
            way.queue.fill(&values, 0).unwrap().wait().unwrap();
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(way.queue.read(&values).unwrap(), [4; 8], "{stage}");
        }
    }
}

#[test]
fn g_clb_001_each_command_by_itself() {
    for way in ways() {
        let strategy = way.strategy;
        let target = HostTarget::<u32>::new(8).unwrap();
        let (a, b) = (way.device(&[1_u32; 8]), way.device(&[2_u32; 8]));
        let commands = [
            ("kernel", true, Command::parallel_for(8, buffers::advance(&a, 3, 1))),
            ("copy", true, Command::copy(&a, &b)),
            ("fill", true, Command::fill(&a, 9)),
            ("memset", true, Command::memset(&b, 0)),
            (
                "odd fill",
                false,
                Command::fill(&a.slice(0..6).unwrap().cast::<[u32; 3]>().unwrap(), [1, 2, 3]),
            ),
            ("write", false, Command::write(&b, vec![5_u32; 8])),
            ("read", false, Command::read(&b, &target)),
            ("prefetch", false, Command::prefetch(&a)),
            ("empty", false, Command::empty()),
        ];
        for (name, recordable, command) in commands {
            let graph = way.graph();
            graph.add(command).unwrap();
            let executable = way.finalize(&graph);
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            if executable.partitions().first().and_then(|part| part.strategy)
                == Some(ReplayStrategy::CommandBuffer)
            {
                let recorded = !executable.native_command_buffers(&way.queue).unwrap().is_empty();
                println!("{name}: {}", if recorded { "recorded" } else { "put on the queue" });
                assert!(recorded || !recordable, "{name} {strategy:?}");
            }
        }
        assert_eq!(way.queue.read(&a).unwrap(), [1, 2, 3, 1, 2, 3, 9, 9]);
        assert_eq!(way.queue.read(&b).unwrap(), [5; 8]);
        assert_eq!(target.to_vec().unwrap(), [5; 8]);
    }
}

#[device_test]
fn g_clb_002_other_queues_than_the_one_that_was_recorded_for(device: Device) {
    if !Graph::support(&device).command_buffers {
        skip!("no command buffers");
    }
    let context = Context::new(&device).unwrap();
    let target = HostTarget::new(8).unwrap();
    let graph = graph(&context, &device, &target);
    let executable =
        graph.finalizer().strategy(ReplayStrategy::CommandBuffer).profiling().finalize().unwrap();
    let builder = || Queue::builder(&context);
    let queues = [
        builder().build().unwrap(),
        builder().build().unwrap(),
        builder().profiling().build().unwrap(),
        builder().out_of_order().build().unwrap(),
        builder().out_of_order().profiling().build().unwrap(),
        builder().discard_events().build().unwrap(),
    ];
    for queue in &queues {
        queue.submit_graph(&executable).unwrap();
        queue.wait().unwrap();
        assert_eq!(target.to_vec().unwrap(), RESULT, "{queue:?}");
    }
}

#[device_test]
fn g_clb_003_again_while_it_is_pending(device: Device) {
    if !Graph::support(&device).command_buffers {
        skip!("no command buffers");
    }
    // With and without the flag that says that a buffer may be enqueued while it is pending, and by the
    // rule of version 1.0.
    for mask in [Mask::empty(), Mask::SIMULTANEOUS_USE, Mask::UNORDERED_USE] {
        let device = device.masked(mask);
        let context = Context::new(&device).unwrap();
        let values = context.alloc_device::<u32>(8).unwrap();
        let graph = Graph::new(&context, &device).unwrap();
        graph.add(Command::single_task(buffers::advance_late(&values, 500_000, 1))).unwrap();
        let executable = graph.finalizer().strategy(ReplayStrategy::CommandBuffer).finalize().unwrap();
        let in_order = Queue::new(&context).unwrap();
        let out_of_order = Queue::builder(&context).out_of_order().build().unwrap();
        in_order.fill(&values, 0).unwrap().wait().unwrap();
        for _ in 0..3 {
            in_order.submit_graph(&executable).unwrap();
        }
        let mut last = out_of_order.submit_graph(&executable).unwrap();
        for _ in 0..3 {
            last = out_of_order.after(&[&last]).submit_graph(&executable).unwrap();
        }
        out_of_order.barrier().unwrap();
        out_of_order.submit_graph(&executable).unwrap();
        in_order.wait().unwrap();
        out_of_order.wait().unwrap();
        assert_eq!(in_order.read(&values).unwrap()[0], 8, "{:?}", device.mask());
    }
}

/// By the rule of version 1.0, the driver keeps two replays apart, and the host does not wait.
#[device_test]
fn g_clb_003_without_a_wait_of_the_host(device: Device) {
    if !device.capabilities().command_buffer.is_some_and(|support| support.simultaneous_use) {
        skip!("no command buffers that may be enqueued while they are pending");
    }
    let waits = |mask| {
        let context = Context::new(&device.masked(mask)).unwrap();
        let values = context.alloc_device::<u32>(8).unwrap();
        let graph = Graph::new(&context, context.device()).unwrap();
        graph.add(Command::single_task(buffers::advance_late(&values, 500_000, 1))).unwrap();
        let executable = graph.finalizer().strategy(ReplayStrategy::CommandBuffer).finalize().unwrap();
        let queues = [Queue::new(&context).unwrap(), Queue::new(&context).unwrap()];
        queues[0].fill(&values, 0).unwrap().wait().unwrap();
        queues[0].submit_graph(&executable).unwrap().wait().unwrap();
        let session = Session::start();
        for round in 0..6 {
            queues[round % 2].submit_graph(&executable).unwrap();
        }
        let waits = session.count("clWaitForEvents");
        drop(session);
        queues.iter().for_each(|queue| queue.wait().unwrap());
        assert_eq!(queues[0].read(&values).unwrap()[0], 7);
        waits
    };
    assert_eq!((waits(Mask::empty()), waits(Mask::UNORDERED_USE)), (0, 0));
    assert_ne!(waits(Mask::SIMULTANEOUS_USE), 0, "without either rule the host waits");
}

#[test]
fn g_clb_005_recorded_and_finalized_once() {
    // That a buffer is finalized once, and enqueued only then, is not left to users.
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        graph.add(Command::parallel_for(8, buffers::advance(&values, 3, 1))).unwrap();
        let executable = way.finalize(&graph);
        let session = Session::start();
        for _ in 0..3 {
            way.queue.submit_graph(&executable).unwrap();
        }
        let counts = session.counts();
        drop(session);
        way.queue.wait().unwrap();
        let recorded = u64::from(executable.partitions()[0].strategy == Some(ReplayStrategy::CommandBuffer));
        for call in ["clCreateCommandBufferKHR", "clFinalizeCommandBufferKHR", "clCommandNDRangeKernelKHR"] {
            assert_eq!(counts.get(call).copied().unwrap_or(0), recorded, "{call}");
        }
        assert_eq!(way.queue.read(&values).unwrap(), [13; 8]);
    }
}
