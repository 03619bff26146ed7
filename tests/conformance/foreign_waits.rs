//! Recording code that waits, and recordings inside of recordings: EXT-WAI, EXT-NES.

use oclave::graph::{NodeType, Waits};
use oclave::memory::usm;
use oclave::{Command, ErrorKind, Event, Graph, Queue, Result, UsmSlice};

use super::graph_support::{Way, advance, advance_by, edges, node, ways};

type Values = UsmSlice<u32, usm::DeviceOnly>;

fn waiting(way: &Way) -> Graph {
    let device = way.queue.device();
    Graph::builder(way.context(), device).waits(Waits::AsBarriers).build().unwrap()
}

fn queues(way: &Way) -> [Queue; 2] {
    [(); 2].map(|()| {
        let builder = Queue::builder(way.context());
        let builder = if way.queue.is_out_of_order() { builder.out_of_order() } else { builder };
        builder.build().unwrap()
    })
}

/// Code that knows of no graph: it orders two queues by waits alone.
fn library(a: &Queue, b: &Queue, values: &Values) -> Result<()> {
    a.submit(advance(values))?;
    a.wait()?;
    let event = b.submit(advance_by(values, 5, 2))?;
    event.wait()?;
    a.submit(advance_by(values, 7, 3))?;
    b.wait()?;
    a.wait()?;
    b.submit(advance(values))?;
    Ok(())
}

fn expected(value: u32) -> u32 {
    ((value * 3 + 1) * 5 + 2) * 21 + 3 * 3 + 1
}

#[test]
fn ext_wai_001_waits_keep_their_order() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let [a, b] = queues(&way);
        let graph = waiting(&way);
        let recording = graph.record(&[&a, &b]).unwrap();
        library(&a, &b, &values).unwrap();
        recording.end();
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [expected(1); 8]);
        // The same code, not recorded.
        let values = way.device(&[1_u32; 8]);
        library(&a, &b, &values).unwrap();
        b.wait().unwrap();
        assert_eq!(b.read(&values).unwrap(), [expected(1); 8]);
    }
}

#[test]
fn ext_wai_002_a_wait_comes_before_all_that_is_recorded_later() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let [a, b] = queues(&way);
        let graph = waiting(&way);
        let recording = graph.record(&[&a, &b]).unwrap();
        let first = a.submit(advance(&values)).unwrap();
        first.wait().unwrap();
        let second = b.submit(advance(&values)).unwrap();
        recording.end();
        let before = &node(&second).predecessors()[0];
        assert_eq!(before.node_type(), NodeType::Barrier);
        assert_eq!(before.predecessors(), [node(&first)]);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [13; 8]);
    }
}

#[test]
fn ext_wai_003_awaits_are_waits() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let [a, b] = queues(&way);
        let graph = waiting(&way);
        let recording = graph.record(&[&a, &b]).unwrap();
        pollster::block_on(async {
            a.submit(advance(&values)).unwrap().await.unwrap();
            b.submit(advance_by(&values, 5, 2)).unwrap().await.unwrap();
        });
        recording.end();
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [22; 8]);
    }
}

#[test]
fn ext_wai_004_reads_and_ended_recordings_stay_errors() {
    fn refused<T: std::fmt::Debug>(result: Result<T>, because: &str) {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(because), "{error}");
    }
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let [a, _] = queues(&way);
        let graph = waiting(&way);
        let recording = graph.record(&a).unwrap();
        let event: Event = a.submit(advance(&values)).unwrap();
        refused(a.read(&values), "Command::read");
        refused(a.write(&values, &[0; 8]), "Command::write");
        recording.end();
        refused(event.wait(), "has ended");
        let plain = way.graph();
        let recording = plain.record(&a).unwrap();
        let event = a.submit(advance(&values)).unwrap();
        refused(a.wait(), "waits(..)");
        refused(event.wait(), "Waits::AsBarriers");
        recording.end();
        assert_eq!((graph.len(), plain.len()), (1, 1));
    }
}

#[test]
fn ext_nes_001_a_recording_inside_becomes_a_sub_graph() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let [queue, _] = queues(&way);
        let (outer, inner) = (way.graph(), way.graph());
        let recording = outer.record(&queue).unwrap();
        let first = queue.submit(advance(&values)).unwrap();
        let own = inner.record(&queue).unwrap();
        assert_eq!(queue.graph().unwrap(), inner);
        let inside = queue.submit(advance_by(&values, 5, 2)).unwrap();
        queue.after(&inside).submit(advance(&values)).unwrap();
        own.end();
        assert_eq!(queue.graph().unwrap(), outer);
        let sub = queue.after(&first).submit_graph(&way.finalize(&inner)).unwrap();
        queue.after(&sub).submit(advance(&values)).unwrap();
        recording.end();
        assert_eq!((outer.len(), inner.len()), (3, 2));
        assert_eq!(node(&sub).node_type(), NodeType::Subgraph);
        assert_eq!(edges(&outer), [vec![], vec![0], vec![1]]);
        way.run(&outer, 1);
        let expected = ((4 * 5 + 2) * 3 + 1) * 3 + 1;
        assert_eq!(way.queue.read(&values).unwrap(), [expected; 8]);
    }
}

#[test]
fn ext_nes_002_the_same_graph_is_joined() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let [queue, _] = queues(&way);
        let graph = way.graph();
        let library = |before: Option<&Event>| {
            let recording = graph.record(&queue).unwrap();
            let event = match before {
                Some(before) => queue.after(before).submit(advance(&values)),
                None => queue.submit(advance(&values)),
            };
            recording.end();
            event.unwrap()
        };
        let recording = graph.record(&queue).unwrap();
        let first = library(None);
        let second = library(Some(&first));
        queue.after(&second).submit(advance(&values)).unwrap();
        recording.end();
        assert_eq!(edges(&graph), [vec![], vec![0], vec![1]]);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [40; 8]);
    }
}

#[test]
fn ext_nes_003_ends_in_another_order_and_dropped_graphs() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let [queue, _] = queues(&way);
        let (outer, inner) = (way.graph(), way.graph());
        outer.begin_recording(&queue).unwrap();
        inner.begin_recording(&queue).unwrap();
        let error = outer.begin_recording(&queue).unwrap_err();
        assert!(error.to_string().contains("end the inner recording"), "{error}");
        assert_eq!(outer.end_recording_of(&queue).unwrap_err().kind(), ErrorKind::Invalid);
        outer.end_recording();
        assert_eq!(queue.graph().unwrap(), inner, "the inner one goes on");
        queue.submit(advance(&values)).unwrap();
        inner.end_recording();
        assert!(queue.graph().is_err());
        outer.begin_recording(&queue).unwrap();
        {
            let lost = way.graph();
            lost.begin_recording(&queue).unwrap();
        }
        assert_eq!(queue.graph().unwrap(), outer, "a graph that is gone records no more");
        queue.submit(advance(&values)).unwrap();
        outer.end_recording();
        assert_eq!((outer.len(), inner.len()), (1, 1));
        way.queue.submit(Command::empty()).unwrap();
    }
}
