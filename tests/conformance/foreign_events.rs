//! Events from outside, which submissions give: EXT-REC, EXT-NEW, EXT-SUB, EXT-ERR, EXT-SEE.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use oclave::graph::{Detail, NodeType, ReplayStrategy};
use oclave::memory::{HostTarget, usm};
use oclave::{Command, Context, ErrorKind, Event, Queue, UsmSlice};

use super::graph_support::{Way, advance, edges, node, ways};

type Values = UsmSlice<u32, usm::DeviceOnly>;

/// A command that waits until the sender is dropped or used, or fails then.
fn held(queue: &Queue, fails: bool) -> (Arc<AtomicBool>, Event) {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let task = queue.host_task(move || {
        while !seen.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if fails { Err("the upload failed") } else { Ok(()) }
    });
    (flag, task.unwrap())
}

fn open(flag: &AtomicBool) {
    flag.store(true, Ordering::SeqCst);
}

fn other(way: &Way) -> Queue {
    Queue::new(way.context()).unwrap()
}

fn read(way: &Way, values: &Values) -> u32 {
    way.queue.read(values).unwrap()[0]
}

#[test]
fn ext_rec_001_a_recorded_dependency_keeps_its_event() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let io = other(&way);
        let (flag, outside) = held(&io, false);
        let graph = way.graph();
        let queue = other(&way);
        let recording = graph.record(&queue).unwrap();
        let recorded = queue.after(&outside).submit(advance(&values)).unwrap();
        queue.after(&outside).submit(advance(&values)).unwrap();
        recording.end();
        // One node for the event, though two commands name it.
        assert_eq!((graph.len(), graph.external_events().len()), (3, 1));
        assert_eq!(graph.external_events()[0].node().node_type(), NodeType::ExternalEvent);
        assert_eq!(node(&recorded).predecessors(), [graph.external_events()[0].node().clone()]);
        let executable = way.finalize(&graph);
        let event = way.queue.submit_graph(&executable).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        assert!(!event.is_complete().unwrap(), "the event of the recording has not ended");
        open(&flag);
        event.wait().unwrap();
        assert_eq!(read(&way, &values), 13);
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(read(&way, &values), 121, "it has ended by now");
    }
}

#[test]
fn ext_rec_002_a_submission_gives_another_event() {
    for way in ways() {
        let (values, more) = (way.device(&[1_u32; 8]), way.device(&[0_u32; 8]));
        let io = other(&way);
        let outside = io.fill(&more, 5).unwrap();
        let graph = way.graph();
        let queue = other(&way);
        let recording = graph.record(&queue).unwrap();
        queue.after(&outside).copy(&more, &values).unwrap();
        recording.end();
        let executable = way.finalize(&graph);
        for value in 10..15_u32 {
            let (flag, task) = held(&io, false);
            let filled = io.after(&task).fill(&more, value).unwrap();
            let event = way.queue.submit_graph(executable.with(&outside, &filled)).unwrap();
            open(&flag);
            event.wait().unwrap();
            assert_eq!(read(&way, &values), value);
        }
    }
}

#[test]
fn ext_rec_003_explicit_nodes_and_other_contexts() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let far = Queue::new(&Context::new(way.queue.device()).unwrap()).unwrap();
        let (flag, outside) = held(&far, false);
        let graph = way.graph();
        let first = graph.add(advance(&values)).unwrap();
        let second = graph.after(&first).add(advance(&values).after(&outside)).unwrap();
        assert_eq!(second.predecessors().len(), 2);
        let event = way.queue.submit_graph(&way.finalize(&graph)).unwrap();
        open(&flag);
        event.wait().unwrap();
        assert_eq!(read(&way, &values), 13);
    }
}

#[test]
fn ext_new_001_made_by_hand_several_at_once() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let (a, b) = (graph.external_event(), graph.external_event());
        let first = graph.add(advance(&values).after(a.event())).unwrap();
        graph.after(&[&first, b.node()]).add(advance(&values)).unwrap();
        let executable = way.finalize(&graph);
        let io = [other(&way), other(&way)];
        for (round, expected) in [(0, 13), (1, 121), (2, 1093)] {
            let [(flag_a, event_a), (flag_b, event_b)] = [held(&io[0], false), held(&io[1], false)];
            let bound = executable.with(&a, &event_a).with(&b, &event_b);
            let event = way.queue.submit_graph(&bound).unwrap();
            open(if round % 2 == 0 { &flag_b } else { &flag_a });
            std::thread::sleep(Duration::from_millis(2));
            assert!(!event.is_complete().unwrap());
            open(&flag_a);
            open(&flag_b);
            event.wait().unwrap();
            assert_eq!(read(&way, &values), expected);
        }
    }
}

#[test]
fn ext_new_002_nodes_that_do_not_depend_on_it_run_before() {
    for way in ways() {
        let (early, late) = (way.device(&[1_u32; 8]), way.device(&[1_u32; 8]));
        let done = Arc::new(AtomicUsize::new(0));
        let graph = way.graph();
        let outside = graph.external_event();
        let first = graph.add(advance(&early)).unwrap();
        let counter = Arc::clone(&done);
        let count = Command::host_task(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        graph.after(&first).add(count).unwrap();
        graph.after(outside.node()).add(advance(&late)).unwrap();
        let executable = way.finalize(&graph);
        let (flag, event) = held(&other(&way), false);
        let submitted = way.queue.submit_graph(executable.with(&outside, &event)).unwrap();
        let start = std::time::Instant::now();
        while done.load(Ordering::SeqCst) == 0 {
            assert!(start.elapsed() < Duration::from_secs(20), "it waits for the event");
            std::thread::sleep(Duration::from_millis(1));
        }
        open(&flag);
        submitted.wait().unwrap();
        assert_eq!((read(&way, &early), read(&way, &late)), (4, 4));
    }
}

#[test]
fn ext_new_003_unused_ones_cost_no_partition_and_need_no_event() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let plain = way.finalize(&way.chain(&values, 4));
        let graph = way.chain(&values, 4);
        let unused = graph.external_event();
        let executable = way.finalize(&graph);
        assert_eq!(executable.partitions().len(), plain.partitions().len());
        assert_eq!(executable.partitions()[0].strategy, plain.partitions()[0].strategy);
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        let event = way.queue.marker().unwrap();
        way.queue.submit_graph(executable.with(&unused, &event)).unwrap().wait().unwrap();
        assert_eq!(read(&way, &values), 9841);
    }
}

#[test]
fn ext_new_004_the_event_of_the_last_submission() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let before = graph.external_event();
        graph.after(before.node()).add(advance(&values)).unwrap();
        let executable = way.finalize(&graph);
        let mut event = way.queue.marker().unwrap();
        for _ in 0..5 {
            event = way.queue.submit_graph(executable.with(&before, &event)).unwrap();
        }
        event.wait().unwrap();
        assert_eq!(read(&way, &values), 364);
    }
}

#[test]
fn ext_sub_001_in_sub_graphs() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let inner = way.graph();
        let outside = inner.external_event();
        inner.after(outside.node()).add(advance(&values)).unwrap();
        let sub = way.finalize(&inner);
        let graph = way.graph();
        let first = graph.add(advance(&values)).unwrap();
        graph.after(&first).add(&sub).unwrap();
        let executable = way.finalize(&graph);
        for expected in [13, 121] {
            let (flag, event) = held(&other(&way), false);
            let submitted = way.queue.submit_graph(executable.with(&outside, &event)).unwrap();
            assert!(!submitted.is_complete().unwrap());
            open(&flag);
            submitted.wait().unwrap();
            assert_eq!(read(&way, &values), expected);
        }
        let error = graph.add(sub.with(&outside, &way.queue.marker().unwrap())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("outer.with"), "{error}");
    }
}

#[test]
fn ext_err_001_submissions_that_lack_an_event() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let outside = graph.label("upload", || graph.external_event());
        graph.after(outside.node()).add(advance(&values)).unwrap();
        let executable = way.finalize(&graph);
        let error = way.queue.submit_graph(&executable).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = error.to_string();
        assert!(text.contains("node 0 (`upload`)") && text.contains("executable.with"), "{text}");
        let event = way.queue.marker().unwrap();
        way.queue.submit_graph(executable.with(&outside, &event)).unwrap().wait().unwrap();
        assert_eq!(read(&way, &values), 4, "nothing of the refused submission ran");
    }
}

#[test]
fn ext_err_002_events_that_are_not_of_the_graph() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.chain(&values, 1);
        let executable = way.finalize(&graph);
        let late = graph.external_event();
        let foreign = way.graph().external_event();
        let event = way.queue.marker().unwrap();
        for refused in [
            executable.with(&late, &event),
            executable.with(&foreign, &event),
            executable.with(&event, &event),
        ] {
            let error = way.queue.submit_graph(refused).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("external_events()"), "{error}");
        }
        // Of a recording: it would never end.
        let recorded = foreign.event();
        let used = way.graph();
        let input = used.external_event();
        used.after(input.node()).add(advance(&values)).unwrap();
        let error = way.queue.submit_graph(way.finalize(&used).with(&input, recorded)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        way.queue.wait().unwrap();
        assert_eq!(read(&way, &values), 1);
    }
}

#[test]
fn ext_err_003_what_depends_on_a_failed_event_does_not_run() {
    for way in ways() {
        let (values, free) = (way.device(&[1_u32; 8]), way.device(&[1_u32; 8]));
        let graph = way.graph();
        let outside = graph.external_event();
        graph.after(outside.node()).add(advance(&values)).unwrap();
        graph.add(advance(&free)).unwrap();
        let executable = way.finalize(&graph);
        let io = other(&way);
        let (flag, event) = held(&io, true);
        let submitted = way.queue.submit_graph(executable.with(&outside, &event)).unwrap();
        open(&flag);
        let error = submitted.wait().unwrap_err();
        assert!(error.to_string().contains("the upload failed"), "{error}");
        drop((io.wait(), way.queue.wait()));
        let event = way.queue.marker().unwrap();
        way.queue.submit_graph(executable.with(&outside, &event)).unwrap().wait().unwrap();
        assert_eq!((read(&way, &values), read(&way, &free)), (4, 13));
    }
}

#[test]
fn ext_see_001_drawings_and_reports() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let outside = graph.label("upload", || graph.external_event());
        graph.after(outside.node()).add(advance(&values)).unwrap();
        assert_eq!(edges(&graph), [vec![], vec![0]]);
        let executable = graph.finalizer().strategy(way.strategy).profiling().finalize().unwrap();
        for drawn in [graph.to_dot(Detail::Verbose), executable.to_dot(Detail::Verbose)] {
            assert!(drawn.contains("0 upload: external_event") && drawn.contains("bound by each"), "{drawn}");
        }
        let kinds: Vec<bool> = executable.partitions().iter().map(|part| part.strategy.is_some()).collect();
        assert_eq!(kinds, [false, true]);
        let queue = Queue::builder(way.context()).profiling().build().unwrap();
        let event = queue.submit_graph(executable.with(&outside, &queue.marker().unwrap())).unwrap();
        event.wait().unwrap();
        let timeline = executable.timeline(&event).unwrap();
        let nodes: Vec<usize> = timeline.nodes().iter().flat_map(|times| times.nodes.clone()).collect();
        assert_eq!(nodes, [1], "the event is no work of the graph");
        assert!(
            event.profiling().unwrap().duration() > Duration::ZERO || way.strategy != ReplayStrategy::Enqueue
        );
    }
}

#[test]
fn ext_see_002_updates_of_graphs_with_external_events() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let target = HostTarget::<u32>::new(8).unwrap();
        let make = |addend: u32| {
            let graph = way.graph();
            let outside = graph.external_event();
            let command = super::graph_support::advance_by(&values, 3, addend);
            let node = graph.after(outside.node()).add(command).unwrap();
            (graph, outside, node)
        };
        let (graph, outside, step) = make(1);
        let executable = graph.finalizer().updatable().strategy(way.strategy).finalize().unwrap();
        let event = way.queue.marker().unwrap();
        let run = || way.queue.submit_graph(executable.with(&outside, &event)).unwrap().wait().unwrap();
        run();
        step.update_command(super::graph_support::advance_by(&values, 3, 2)).unwrap();
        executable.update(&step).unwrap();
        run();
        executable.update_graph(&make(5).0).unwrap();
        run();
        way.queue.submit(Command::read(&values, &target)).unwrap().wait().unwrap();
        assert_eq!(target.to_vec().unwrap()[0], (3 * (3 * 4 + 2)) + 5);
    }
}
