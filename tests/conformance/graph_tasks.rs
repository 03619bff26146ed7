//! Host tasks in graphs: G-HST; and what of a graph is not the host's: G-NAT.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oclave::event::EventStatus;
use oclave::memory::HostTarget;
use oclave::{Command, Queue};

use super::graph_support::ways;
use super::kernels::buffers;

/// A task that writes its name down.
fn note(log: &Arc<Mutex<Vec<u32>>>, name: u32) -> Command {
    let log = Arc::clone(log);
    Command::host_task(move || log.lock().unwrap().push(name))
}

#[test]
fn g_hst_001_once_for_each_replay() {
    for way in ways() {
        let count = Arc::new(AtomicUsize::new(0));
        let graph = way.graph();
        let counter = Arc::clone(&count);
        graph
            .add(Command::host_task(move || {
                counter.fetch_add(1, Ordering::SeqCst);
            }))
            .unwrap();
        let executable = way.finalize(&graph);
        assert_eq!(count.load(Ordering::SeqCst), 0);
        for run in 1..=5 {
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(count.load(Ordering::SeqCst), run);
        }
    }
}

#[test]
fn g_hst_002_between_kernels() {
    for way in ways() {
        let values = way.context().alloc_shared::<u32>(8).unwrap();
        values.write().unwrap().fill(1);
        let graph = way.graph();
        let advance = || Command::parallel_for(8, buffers::advance(&values, 3, 1));
        let memory = values.clone();
        let task = Command::host_task(move || {
            memory.write().map(|mut data| data.iter_mut().for_each(|value| *value += 100))
        });
        graph.add(advance()).unwrap();
        graph.after_all_leaves().add(task).unwrap();
        graph.after_all_leaves().add(advance()).unwrap();
        way.run(&graph, 1);
        assert_eq!(*values.read().unwrap(), [(3 + 1 + 100) * 3 + 1; 8]);
    }
}

#[test]
fn g_hst_003_at_the_end() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let done = Arc::new(AtomicUsize::new(0));
        let graph = way.graph();
        graph.add(Command::fill(&values, 3)).unwrap();
        let counter = Arc::clone(&done);
        let task = Command::host_task(move || {
            std::thread::sleep(Duration::from_millis(5));
            counter.fetch_add(1, Ordering::SeqCst);
        });
        graph.after_all_leaves().add(task).unwrap();
        let executable = way.finalize(&graph);
        for run in 1..=3 {
            let event = way.queue.submit_graph(&executable).unwrap();
            event.wait().unwrap();
            assert_eq!((done.load(Ordering::SeqCst), event.status().unwrap()), (run, EventStatus::Complete));
        }
    }
}

#[test]
fn g_hst_004_one_after_the_other_and_beside() {
    for way in ways() {
        let log = Arc::default();
        let (x, y) = (way.device(&[0_u32; 8]), way.device(&[0_u32; 8]));
        let graph = way.graph();
        let [left, right] = [&x, &y].map(|memory| graph.add(Command::fill(memory, 1)).unwrap());
        let first = graph.after(&left).add(note(&log, 1)).unwrap();
        let second = graph.after(&first).add(note(&log, 2)).unwrap();
        let beside = graph.after(&right).add(note(&log, 3)).unwrap();
        graph.after(&[&second, &beside]).add(note(&log, 4)).unwrap();
        let executable = way.finalize(&graph);
        let partitions = executable.partitions();
        assert_eq!(partitions.len(), 6, "each task, and what is before it: {partitions:?}");
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        let log = log.lock().unwrap();
        let at = |name: u32| log.iter().position(|logged| *logged == name).unwrap();
        assert!(log.len() == 4 && at(1) < at(2) && at(4) == 3, "{log:?}");
    }
}

#[test]
fn g_hst_006_after_several() {
    for way in ways() {
        let target = HostTarget::<u32>::new(8).unwrap();
        let other = HostTarget::<u32>::new(8).unwrap();
        let (x, y) = (way.device(&[0_u32; 8]), way.device(&[0_u32; 8]));
        let (seen, first, second) = (Arc::new(Mutex::new(Vec::new())), target.clone(), other.clone());
        let log = Arc::clone(&seen);
        let graph = way.graph();
        let reads = [(&x, &target, 5), (&y, &other, 6)].map(|(memory, target, value)| {
            let filled = graph.add(Command::fill(memory, value)).unwrap();
            graph.after(&filled).add(Command::read(memory, target)).unwrap()
        });
        let early = graph.add(note(&Arc::default(), 0)).unwrap();
        let task = Command::host_task(move || {
            let pair = (first.to_vec().unwrap(), second.to_vec().unwrap());
            log.lock().unwrap().push(pair);
        });
        graph.after(&reads).after(&early).add(task).unwrap();
        way.run(&graph, 2);
        assert_eq!(*seen.lock().unwrap(), vec![(vec![5; 8], vec![6; 8]); 2]);
    }
}

#[test]
fn g_hst_010_tasks_have_no_command_buffer() {
    // A task is a closure without arguments: there is no handle that it could ask for one. What the
    // graph has does not count its tasks.
    for way in ways() {
        let graph = way.graph();
        graph.add(Command::host_task(|| ())).unwrap();
        let executable = way.finalize(&graph);
        assert_eq!(executable.partitions()[0].strategy, None);
        assert!(executable.native_command_buffers(&way.queue).unwrap().is_empty());
    }
}

#[test]
fn g_hst_012_functions_of_queues_with_dependencies() {
    for way in ways() {
        let log = Arc::default();
        let graph = way.graph();
        let queue = Queue::builder(way.context()).out_of_order().build().unwrap();
        let recording = graph.record(&queue).unwrap();
        let task = |name: u32| {
            let log: Arc<Mutex<Vec<u32>>> = Arc::clone(&log);
            move || log.lock().unwrap().push(name)
        };
        let first = queue.host_task(task(1)).unwrap();
        let second = queue.after(&[&first]).host_task(task(2)).unwrap();
        queue.after(&[&first, &second]).host_task(task(3)).unwrap();
        recording.end();
        way.run(&graph, 2);
        assert_eq!(*log.lock().unwrap(), [1, 2, 3, 1, 2, 3]);
    }
}

#[test]
fn g_nat_002_handles_of_command_buffers() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        graph.add(Command::fill(&values, 1)).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(8, buffers::advance(&values, 3, 1))).unwrap();
        let executable = way.finalize(&graph);
        let handles = executable.native_command_buffers(&way.queue).unwrap();
        let by_buffer =
            executable.partitions()[0].strategy == Some(oclave::graph::ReplayStrategy::CommandBuffer);
        assert_eq!(handles.len(), usize::from(by_buffer), "{:?}", way.strategy);
        assert!(handles.iter().all(|handle| !handle.is_null()));
        assert_eq!(executable.native_command_buffers(&way.queue).unwrap(), handles, "they stay the same");
        let foreign = Queue::new(&oclave::Context::new(way.queue.device()).unwrap()).unwrap();
        let refused = executable.native_command_buffers(&foreign).unwrap_err();
        assert_eq!(refused.kind(), oclave::ErrorKind::Invalid);
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
    }
}
