//! Events of nodes: EXT-NOD.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oclave::event::EventStatus;
use oclave::graph::DynamicParameter;
use oclave::memory::usm;
use oclave::{Command, ErrorKind, Event, Queue, UsmSlice};

use super::graph_support::{Way, advance, ways};
use super::kernels::buffers;

type Values = UsmSlice<u32, usm::DeviceOnly>;

/// Another queue of the same context.
fn other(way: &Way) -> Queue {
    Queue::new(way.context()).unwrap()
}

fn first(queue: &Queue, values: &Values) -> u32 {
    queue.read(values).unwrap()[0]
}

/// A host task that waits until the flag is set.
fn held() -> (Arc<AtomicBool>, Command) {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let task = Command::host_task(move || {
        while !seen.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    (flag, task)
}

#[test]
fn ext_nod_001_ends_before_the_rest_of_the_graph() {
    for way in ways() {
        let (early, late) = (way.device(&[1_u32; 8]), way.device(&[1_u32; 8]));
        let graph = way.graph();
        let node = graph.add(advance(&early)).unwrap();
        let (flag, task) = held();
        let task = graph.after(&node).add(task).unwrap();
        let behind = graph.after(&node).add(advance(&late)).unwrap();
        graph.after(&[&task, &behind]).add(advance(&late)).unwrap();
        let executable = graph.finalizer().strategy(way.strategy).events_of(&node).finalize().unwrap();
        let io = other(&way);
        for (run, advanced) in [4, 13].into_iter().enumerate() {
            flag.store(false, Ordering::SeqCst);
            let event = executable.event_of(&node).unwrap();
            assert_eq!(event.status().unwrap(), EventStatus::Queued, "nothing was submitted");
            let submitted = way.queue.submit_graph(&executable).unwrap();
            event.wait().unwrap();
            assert_eq!(first(&io, &early), advanced, "run {run}");
            assert!(!submitted.is_complete().unwrap(), "its task is held");
            assert!(event.is_complete().unwrap());
            flag.store(true, Ordering::SeqCst);
            submitted.wait().unwrap();
        }
        assert_eq!(first(&way.queue, &late), 121, "twice in each run");
    }
}

#[test]
fn ext_nod_002_other_queues_depend_on_it() {
    for way in ways() {
        let (values, copy, rest) =
            (way.device(&[1_u32; 8]), way.device(&[0_u32; 8]), way.device(&[1_u32; 8]));
        let graph = way.graph();
        let node = graph.add(advance(&values)).unwrap();
        let last = (0..20).fold(node.clone(), |before, _| graph.after(&before).add(advance(&rest)).unwrap());
        let finalizer = graph.finalizer().strategy(way.strategy);
        let executable = finalizer.events_of(&[&node, &last]).finalize().unwrap();
        let io = other(&way);
        let mut expected = 1_u32;
        for before in [true, false, true, false] {
            let event = executable.event_of(&node).unwrap();
            let all = executable.event_of(&last).unwrap();
            let depend = || io.after(&event).copy(&values, &copy).unwrap();
            let copied = if before { Some(depend()) } else { None };
            let submitted = way.queue.submit_graph(&executable).unwrap();
            let copied = copied.unwrap_or_else(depend);
            copied.wait().unwrap();
            expected = 3 * expected + 1;
            assert_eq!(first(&io, &copy), expected);
            pollster::block_on(async { all.await }).unwrap();
            submitted.wait().unwrap();
        }
        // Submissions that nobody asks for events of are as ever.
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(first(&way.queue, &values), 3 * expected + 1);
    }
}

#[test]
fn ext_nod_003_the_graph_is_cut_behind_the_node_alone() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.chain(&values, 6);
        let nodes = graph.nodes();
        let parts = |named: &[&oclave::graph::Node]| -> Vec<Vec<usize>> {
            let executable = graph.finalizer().strategy(way.strategy).events_of(&named.to_vec()).finalize();
            executable.unwrap().partitions().into_iter().map(|part| part.nodes).collect()
        };
        assert_eq!(parts(&[]), [vec![0, 1, 2, 3, 4, 5]]);
        assert_eq!(parts(&[&nodes[5]]), [vec![0, 1, 2, 3, 4, 5]], "it ends with the graph");
        assert_eq!(parts(&[&nodes[2]]), [vec![0, 1, 2], vec![3, 4, 5]]);
        assert_eq!(parts(&[&nodes[0], &nodes[3]]), [vec![0], vec![1, 2, 3], vec![4, 5]]);
        let executable = graph.finalizer().strategy(way.strategy).events_of(&nodes[5]).finalize().unwrap();
        let event = executable.event_of(&nodes[5]).unwrap();
        way.queue.submit_graph(&executable).unwrap();
        event.wait().unwrap();
        assert_eq!(first(&way.queue, &values), 1093);
    }
}

#[test]
fn ext_nod_004_tasks_sub_graphs_and_empty_nodes() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let inner = way.finalize(&way.chain(&values, 2));
        let graph = way.graph();
        let sub = graph.add(&inner).unwrap();
        let task = graph.after(&sub).add(Command::host_task(|| ())).unwrap();
        let empty = graph.after(&task).add(Command::empty()).unwrap();
        graph.after(&empty).add(advance(&values)).unwrap();
        let finalizer = graph.finalizer().strategy(way.strategy);
        let executable = finalizer.events_of(&[&sub, &task, &empty]).finalize().unwrap();
        for _ in 0..2 {
            let events = [&sub, &task, &empty].map(|node| executable.event_of(node).unwrap());
            way.queue.submit_graph(&executable).unwrap();
            events.iter().rev().for_each(|event| event.wait().unwrap());
        }
        way.queue.wait().unwrap();
        assert_eq!(first(&way.queue, &values), 1093);
        // As a sub-graph it gives no events: those of the outer graph count.
        let outer = way.graph();
        let node = outer.add(&executable).unwrap();
        outer.after(&node).add(advance(&values)).unwrap();
        let outer = outer.finalizer().strategy(way.strategy).events_of(&node).finalize().unwrap();
        let (event, own) = (outer.event_of(&node).unwrap(), executable.event_of(&task).unwrap());
        way.queue.submit_graph(&outer).unwrap();
        event.wait().unwrap();
        assert_eq!(own.status().unwrap(), EventStatus::Queued);
        way.queue.wait().unwrap();
    }
}

#[test]
fn ext_nod_005_work_of_others_in_the_middle() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let produce = graph.add(advance(&values)).unwrap();
        let outside = graph.external_event();
        graph.after(&[&produce, outside.node()]).add(advance(&values)).unwrap();
        let executable = graph.finalizer().strategy(way.strategy).events_of(&produce).finalize().unwrap();
        let io = other(&way);
        let mut expected = 1_u32;
        for _ in 0..3 {
            let produced = executable.event_of(&produce).unwrap();
            let theirs = io.after(&produced).submit(advance(&values)).unwrap();
            way.queue.submit_graph(executable.with(&outside, &theirs)).unwrap().wait().unwrap();
            (0..3).for_each(|_| expected = 3 * expected + 1);
            assert_eq!(first(&way.queue, &values), expected);
        }
    }
}

#[test]
fn ext_nod_006_nodes_that_have_no_event() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.chain(&values, 2);
        let foreign = way.chain(&values, 1);
        let nodes = graph.nodes();
        let executable = graph.finalizer().strategy(way.strategy).events_of(&nodes[0]).finalize().unwrap();
        let error = executable.event_of(&nodes[1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("node 1") && error.to_string().contains("events_of"), "{error}");
        let theirs = &foreign.nodes()[0];
        let error = executable.event_of(theirs).unwrap_err();
        assert!(error.to_string().contains("belongs to graph"), "{error}");
        let error = graph.finalizer().events_of(theirs).finalize().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("belongs to graph"), "{error}");
    }
}

#[test]
fn ext_nod_007_failures() {
    for way in ways() {
        let (values, fails) = (way.device(&[1_u32; 8]), Arc::new(AtomicBool::new(true)));
        let graph = way.graph();
        let before = graph.add(advance(&values)).unwrap();
        let seen = Arc::clone(&fails);
        let task = move || if seen.load(Ordering::SeqCst) { Err("no paper") } else { Ok(()) };
        let task = graph.after(&before).add(Command::host_task(task)).unwrap();
        let outside = graph.external_event();
        graph.after(&[&task, outside.node()]).add(advance(&values)).unwrap();
        let finalizer = graph.finalizer().strategy(way.strategy);
        let executable = finalizer.events_of(&[&before, &task]).finalize().unwrap();
        let [good, bad] = [&before, &task].map(|node| executable.event_of(node).unwrap());
        // Refused, so that it is no submission.
        way.queue.submit_graph(&executable).unwrap_err();
        assert_eq!(good.status().unwrap(), EventStatus::Queued);
        let ended = other(&way).marker().unwrap();
        let failed = way.queue.submit_graph(executable.with(&outside, &ended)).unwrap();
        good.wait().unwrap();
        assert!(bad.wait().unwrap_err().to_string().contains("no paper"));
        failed.wait().unwrap_err();
        let _ = way.queue.wait();
        fails.store(false, Ordering::SeqCst);
        let [good, bad] = [&before, &task].map(|node| executable.event_of(node).unwrap());
        way.queue.submit_graph(executable.with(&outside, &ended)).unwrap().wait().unwrap();
        good.wait().unwrap();
        bad.wait().unwrap();
        let never = executable.event_of(&before).unwrap();
        drop(executable);
        let error = never.wait().unwrap_err();
        assert!(error.to_string().contains("dropped before a submission"), "{error}");
    }
}

#[test]
fn ext_nod_008_a_submission_behind_what_waits_for_it_is_refused() {
    for way in ways() {
        let (values, theirs) = (way.device(&[1_u32; 8]), way.device(&[1_u32; 8]));
        let graph = way.chain(&values, 2);
        let node = &graph.nodes()[0];
        let executable = graph.finalizer().strategy(way.strategy).events_of(node).finalize().unwrap();
        let io = other(&way);
        let event = executable.event_of(node).unwrap();
        let waits: Event = io.after(&event).submit(advance(&theirs)).unwrap();
        let error = way.queue.after(&waits).submit_graph(&executable).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("comes after a command that waits"), "{error}");
        io.submit_graph(&executable).unwrap_err();
        // The event is still to come.
        way.queue.submit_graph(&executable).unwrap();
        waits.wait().unwrap();
        way.queue.wait().unwrap();
        assert_eq!((first(&way.queue, &values), first(&io, &theirs)), (13, 4));
    }
}

#[test]
fn ext_nod_009_updates() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let addend = DynamicParameter::new(&graph, 1_u32);
        let step = || Command::parallel_for(8, buffers::advance(&values, 3_u32, &addend));
        let node = graph.add(step()).unwrap();
        graph.after(&node).add(step()).unwrap();
        let finalizer = graph.finalizer().strategy(way.strategy);
        let executable = finalizer.events_of(&node).updatable().finalize().unwrap();
        let mut expected = 1;
        for value in [1_u32, 2, 5] {
            executable.set(&addend, value).unwrap();
            let event = executable.event_of(&node).unwrap();
            way.queue.submit_graph(&executable).unwrap();
            event.wait().unwrap();
            way.queue.wait().unwrap();
            (0..2).for_each(|_| expected = 3 * expected + value);
            assert_eq!(first(&way.queue, &values), expected);
        }
    }
}
