//! Graphs that are finalized and run: G-EXP, G-REC, G-INO, G-BAR, G-OPT.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oclave::event::EventStatus;
use oclave::graph::{NodeType, PartitionInfo};
use oclave::memory::{HostTarget, UsmKind};
use oclave::{Command, Context, Device, ErrorKind, Graph, Queue, UsmSlice};

use super::graph_support::{Way, advance, ways};
use super::kernels::{arguments, buffers, saxpy::saxpy};

#[test]
fn g_exp_006_no_nodes() {
    for way in ways() {
        let executable = way.finalize(&way.graph());
        assert!(executable.is_empty() && executable.partitions().is_empty());
        let event = way.queue.submit_graph(&executable).unwrap();
        event.wait().unwrap();
        assert_eq!(event.status().unwrap(), EventStatus::Complete);
        way.queue.after(&[&event]).submit_graph(&executable).unwrap().wait().unwrap();
        way.queue.wait().unwrap();
    }
}

#[test]
fn g_exp_010_nodes_that_are_added_later() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.chain(&values, 1);
        let before = way.finalize(&graph);
        graph.after_all_leaves().add(advance(&values)).unwrap();
        let behind = way.finalize(&graph);
        assert_eq!((before.len(), behind.len(), graph.len()), (1, 2, 2));
        way.queue.submit_graph(&before).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
        way.queue.submit_graph(&behind).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [40; 8]);
    }
}

#[test]
fn g_exp_011_two_executables_of_one_graph() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.chain(&values, 1);
        let executables = [way.finalize(&graph), way.finalize(&graph)];
        assert_ne!(executables[0], executables[1]);
        let mut last = None;
        for turn in 0..6 {
            // Only events say that the second comes after the first: they are not one executable.
            let after: Vec<_> = last.iter().collect();
            last = Some(way.queue.after(&after).submit_graph(&executables[turn % 2]).unwrap());
        }
        way.queue.wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [364; 8]);
    }
}

#[test]
fn g_exp_015_one_command_in_the_order_of_its_queue() {
    for way in ways().into_iter().filter(|way| !way.queue.is_out_of_order()) {
        let values = way.device(&[0_u32; 8]);
        let graph = way.chain(&values, 2);
        let executable = way.finalize(&graph);
        let seen = way.device(&[0_u32; 8]);
        way.queue.fill(&values, 2).unwrap();
        way.queue.submit_graph(&executable).unwrap();
        way.queue.copy(&values, &seen).unwrap();
        way.queue.fill(&values, 5).unwrap();
        way.queue.submit_graph(&executable).unwrap();
        assert_eq!(way.queue.read(&seen).unwrap(), [22; 8]);
        assert_eq!(way.queue.read(&values).unwrap(), [49; 8]);
    }
}

/// x = 1, y = 2; z += x and z += 3 y; the sum of z in groups. The two additions are independent:
/// each uses a half of z.
fn dot_product(
    graph: &Graph,
    x: &UsmSlice<f32, impl UsmKind>,
    y: &UsmSlice<f32, impl UsmKind>,
    sum: &UsmSlice<f32, impl UsmKind>,
) {
    let begin = [
        graph.add(Command::fill(x, 1.0)).unwrap(),
        graph.add(Command::fill(y, 2.0)).unwrap(),
        graph.add(Command::fill(sum, 0.5)).unwrap(),
    ];
    let left = graph.after(&begin).add(Command::parallel_for(64, saxpy(3.0, x, y))).unwrap();
    graph.after(&left).add(Command::parallel_for(64, saxpy(2.0, y, sum))).unwrap();
}

#[test]
fn g_exp_016_memory_of_every_kind() {
    for way in ways() {
        let context = way.context();
        let device = [(); 3].map(|()| context.alloc_device::<f32>(64).unwrap());
        let host = [(); 3].map(|()| context.alloc_host::<f32>(64).unwrap());
        let shared = [(); 3].map(|()| context.alloc_shared::<f32>(64).unwrap());
        let graph = way.graph();
        dot_product(&graph, &device[0], &device[1], &device[2]);
        dot_product(&graph, &host[0], &host[1], &host[2]);
        dot_product(&graph, &shared[0], &shared[1], &shared[2]);
        way.run(&graph, 2);
        assert_eq!(way.queue.read(&device[2]).unwrap(), [10.5; 64]);
        assert_eq!(way.queue.read(&host[2]).unwrap(), [10.5; 64]);
        assert_eq!(*shared[2].read().unwrap(), [10.5; 64]);
        // A mix.
        let graph = way.graph();
        dot_product(&graph, &device[0], &host[1], &shared[2]);
        way.run(&graph, 1);
        assert_eq!(*shared[2].read().unwrap(), [10.5; 64]);
    }
}

#[device_test]
fn g_exp_017_memory_of_the_system(device: Device) {
    // Kernels are given memory of the library only: a `Vec` is no argument, whatever the device
    // could do with it.
    skip!("oclave has no pointers to the host's own memory as arguments ({})", device.name());
}

#[test]
fn g_exp_018_a_chain_by_both_builders() {
    for way in ways().into_iter().filter(Way::launches_each) {
        let values = way.device(&[0_u32; 8]);
        let explicit = way.graph();
        let mut last = explicit.add(advance(&values)).unwrap();
        for _ in 1..4 {
            last = explicit.after(&last).add(advance(&values)).unwrap();
        }
        let recorded = way.graph();
        let queue = Queue::new(way.context()).unwrap();
        let recording = recorded.record(&queue).unwrap();
        (0..4).for_each(|_| drop(queue.submit(advance(&values)).unwrap()));
        recording.end();
        for graph in [explicit, recorded] {
            way.queue.fill(&values, 0).unwrap().wait().unwrap();
            way.run(&graph, 1);
            assert_eq!(way.queue.read(&values).unwrap(), [40; 8]);
            let [PartitionInfo { linear: true, commands: 4, sync_points: 0, .. }] =
                way.finalize(&graph).partitions()[..]
            else {
                panic!("{:?}", way.finalize(&graph).partitions());
            };
        }
    }
}

#[device_test]
fn g_rec_017_submissions_that_wait(device: Device) {
    let context = Context::builder(&[device]).blocking_submissions(true).build().unwrap();
    let slow = || {
        let ran = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&ran);
        let task = Command::host_task(move || {
            std::thread::sleep(Duration::from_millis(20));
            runs.store(true, Ordering::SeqCst);
        });
        (task, ran)
    };
    let queue = Queue::new(&context).unwrap();
    let (eager, ran) = slow();
    queue.submit(eager).unwrap();
    assert!(ran.load(Ordering::SeqCst), "an eager submission waits");

    let graph = Graph::from_queue(&queue);
    let recording = graph.record(&queue).unwrap();
    let (recorded, ran) = slow();
    let event = queue.submit(recorded).unwrap();
    recording.end();
    assert!(event.wait().is_err() && !ran.load(Ordering::SeqCst), "what is recorded neither runs nor waits");

    let executable = graph.finalize().unwrap();
    let replay = queue.submit_graph(&executable).unwrap();
    assert!(ran.load(Ordering::SeqCst) && replay.is_complete().unwrap(), "a replay waits");

    // A failure is that of the submission.
    let error = queue
        .host_task(|| -> Result<(), std::io::Error> { Err(std::io::Error::other("no luck")) })
        .unwrap_err();
    assert!(error.kind() == ErrorKind::HostTask && format!("{error:#}").contains("no luck"), "{error}");
}

#[test]
fn g_rec_018_the_recorded_queue_is_gone() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        {
            let queue = Queue::new(way.context()).unwrap();
            let recording = graph.record(&queue).unwrap();
            queue.submit(advance(&values)).unwrap();
            recording.end();
        }
        // No queue belongs to an executable: any of its context and device will do.
        let executable = way.finalize(&graph);
        drop(graph);
        for queue in [way.queue.clone(), Queue::new(way.context()).unwrap()] {
            queue.submit_graph(&executable).unwrap().wait().unwrap();
        }
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
    }
}

/// A recorded chain on a queue in order, run by a way.
fn recorded(way: &Way, record: impl FnOnce(&Queue)) -> Graph {
    let graph = way.graph();
    let queue = Queue::new(way.context()).unwrap();
    let recording = graph.record(&queue).unwrap();
    record(&queue);
    recording.end();
    graph
}

#[test]
fn g_ino_005_eager_task_graph_eager_kernel() {
    for way in ways().into_iter().filter(|way| !way.queue.is_out_of_order()) {
        let values = way.context().alloc_shared::<u32>(8).unwrap();
        let graph =
            recorded(&way, |queue| drop(queue.parallel_for(8, buffers::advance(&values, 1, 5)).unwrap()));
        let executable = way.finalize(&graph);
        let memory = values.clone();
        way.queue
            .host_task(move || {
                std::thread::sleep(std::time::Duration::from_millis(10));
                memory.write().map(|mut data| data.fill(3))
            })
            .unwrap();
        way.queue.submit_graph(&executable).unwrap();
        way.queue.parallel_for(8, buffers::advance(&values, 10, 0)).unwrap();
        way.queue.wait().unwrap();
        assert_eq!(*values.read().unwrap(), [80; 8]);
    }
}

#[test]
fn g_ino_006_a_chain_of_copies() {
    for way in ways() {
        let (a, b) = (way.device(&[0_u32; 8]), way.device(&[0_u32; 8]));
        let target = HostTarget::<u32>::new(8).unwrap();
        let graph = recorded(&way, |queue| {
            queue.submit(Command::write(&a, vec![7_u32; 8])).unwrap();
            queue.copy(&a, &b).unwrap();
            queue.submit(advance(&b)).unwrap();
            queue.submit(Command::read(&b, &target)).unwrap();
        });
        way.run(&graph, 3);
        assert_eq!(target.to_vec().unwrap(), [22; 8]);
    }
}

#[test]
fn g_ino_008_a_task_with_dependents_on_both_sides() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let target = HostTarget::<u32>::new(8).unwrap();
        let behind = HostTarget::<u32>::new(8).unwrap();
        let (task_target, sums) = (target.clone(), std::sync::Arc::new(std::sync::Mutex::new(Vec::new())));
        let task_sums = std::sync::Arc::clone(&sums);
        let graph = recorded(&way, |queue| {
            queue.submit(advance(&values)).unwrap();
            queue.submit(Command::read(&values, &target)).unwrap();
            queue
                .host_task(move || {
                    task_sums.lock().unwrap().push(task_target.to_vec().unwrap()[0]);
                })
                .unwrap();
            queue.submit(advance(&values)).unwrap();
            queue.submit(Command::read(&values, &behind)).unwrap();
        });
        way.run(&graph, 2);
        assert_eq!(*sums.lock().unwrap(), [4, 40]);
        assert_eq!(behind.to_vec().unwrap(), [121; 8]);
    }
}

#[test]
fn g_ino_009_empty_nodes_between() {
    for way in ways() {
        for empty in [false, true] {
            let [x, y] = [(); 2].map(|()| way.context().alloc_device::<f32>(64).unwrap());
            let graph = recorded(&way, |queue| {
                let nothing = || {
                    if empty {
                        queue.submit(Command::empty()).unwrap();
                    }
                };
                nothing();
                queue.fill(&x, 1.0).unwrap();
                nothing();
                queue.fill(&y, 2.0).unwrap();
                queue.parallel_for(64, saxpy(3.0, &x, &y)).unwrap();
                nothing();
                queue.parallel_for(64, saxpy(2.0, &y, &x)).unwrap();
                nothing();
            });
            way.run(&graph, 2);
            assert_eq!(way.queue.read(&x).unwrap(), [11.0; 64]);
        }
    }
}

#[test]
fn g_bar_012_work_on_both_sides() {
    for way in ways() {
        let values = way.device(&[0_u32; 64]);
        let total = way.device(&[0_u32; 8]);
        let graph = way.graph();
        let queue = Queue::builder(way.context()).out_of_order().build().unwrap();
        let other = Queue::builder(way.context()).out_of_order().build().unwrap();
        let recording = graph.record(&[&queue, &other]).unwrap();
        for part in 0..8_u32 {
            let part_of = values.slice(8 * part as usize..8 * part as usize + 8).unwrap();
            queue.parallel_for(8, buffers::number(&part_of, part)).unwrap();
        }
        let barrier = queue.barrier().unwrap();
        for part in 0..8 {
            let part_of = values.slice(8 * part..8 * part + 8).unwrap();
            queue.parallel_for(8, buffers::advance(&part_of, 2, 0)).unwrap();
        }
        queue.barrier().unwrap();
        other.after(&[&barrier]).barrier().unwrap();
        queue.parallel_for(8, buffers::combine(values.slice(56..64).unwrap(), &total, 10)).unwrap();
        recording.end();
        way.run(&graph, 2);
        let expected: Vec<u32> = (0..64).map(|at| 2 * (at / 8 + at % 8)).collect();
        assert_eq!(way.queue.read(&values).unwrap(), expected);
        let once = |at: usize| expected[56 + at];
        let twice: Vec<u32> = (0..8).map(|at| 10 * once(at) + once(at)).collect();
        assert_eq!(way.queue.read(&total).unwrap(), twice);
    }
}

#[test]
fn g_opt_001_a_task_in_a_chain() {
    for way in ways().into_iter().filter(Way::launches_each) {
        let values = way.device(&[0_u32; 8]);
        let graph = recorded(&way, |queue| {
            (0..3).for_each(|_| drop(queue.submit(advance(&values)).unwrap()));
            queue.host_task(|| ()).unwrap();
            (0..4).for_each(|_| drop(queue.submit(advance(&values)).unwrap()));
        });
        let partitions = way.finalize(&graph).partitions();
        let shape: Vec<_> = partitions
            .iter()
            .map(|part| {
                (part.nodes.clone(), part.after.clone(), part.linear, part.commands, part.sync_points)
            })
            .collect();
        let expected = [
            (vec![0, 1, 2], vec![], true, 3, 0),
            (vec![3], vec![0], true, 0, 0),
            (vec![4, 5, 6, 7], vec![1], true, 4, 0),
        ];
        assert_eq!(shape, expected);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [1093; 8]);
    }
}

#[test]
fn g_opt_002_a_chain_by_events() {
    for way in ways().into_iter().filter(Way::launches_each) {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        let queue = Queue::builder(way.context()).out_of_order().build().unwrap();
        let recording = graph.record(&queue).unwrap();
        let mut last = queue.submit(advance(&values)).unwrap();
        for _ in 1..5 {
            last = queue.submit(advance(&values).after(&last)).unwrap();
        }
        recording.end();
        let [part] = &way.finalize(&graph).partitions()[..] else { panic!("one partition") };
        assert!(part.linear && part.sync_points == 0 && part.commands == 5, "{part:?}");
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [121; 8]);
    }
}

#[test]
fn g_opt_003_a_diamond() {
    for way in ways().into_iter().filter(Way::launches_each) {
        let values = way.device(&[0_u32; 32]);
        let part = |at: usize| values.slice(8 * at..8 * at + 8).unwrap();
        let graph = way.graph();
        let top = graph.add(advance(part(0))).unwrap();
        let combine = |to| Command::parallel_for(8, buffers::combine(part(0), part(to), 1));
        let sides = [1, 2].map(|to| graph.after(&top).add(combine(to)).unwrap());
        let end = Command::parallel_for(8, buffers::combine(part(1), part(3), 1));
        graph.after(&sides).add(end).unwrap();
        let [info] = &way.finalize(&graph).partitions()[..] else { panic!("one partition") };
        assert!(!info.linear && info.sync_points == 4, "{info:?}");
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&part(3)).unwrap(), [1; 8]);
        assert_eq!(graph.nodes()[0].node_type(), NodeType::Kernel);
    }
}

#[test]
fn g_opt_005_calls_of_a_replay() {
    use oclave::record::Session;
    for way in ways().iter().filter(|way| way.launches_each()).map(Way::alone) {
        let values = way.device(&[0_u32; 8]);
        let sums = way.device(&[0_i32; 8]);
        for n in [1, 4, 10, 32, 100] {
            let graph = way.graph();
            let mut last = graph.add(advance(&values)).unwrap();
            for _ in 1..n {
                last = graph.after(&last).add(advance(&values)).unwrap();
            }
            let executable = way.finalize(&graph);
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            let session = Session::start();
            let event = way.queue.submit_graph(&executable).unwrap();
            let (calls, sets) = (session.total(), session.count("clSetKernelArgMemPointerINTEL"));
            drop(session);
            event.wait().unwrap();
            // With events of their own, each node also has one that is released.
            let per_node = if way.queue.is_out_of_order() { 2 } else { 1 };
            assert!(calls <= per_node * n + 12, "{calls} calls for {n} nodes, {:?}", way.strategy);
            assert_eq!(sets, 0, "what the kernel has already is not set again");
            println!("{n} nodes: {calls} calls");
        }
        drop(arguments::group_sum(&sums, &sums, oclave::kernel::Local::new(8)));
    }
}
