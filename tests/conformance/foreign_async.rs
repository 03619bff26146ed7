//! Awaiting: ASY-EVT, ASY-GRF, ASY-ERR.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Task, Poll, Waker};

use oclave::{Command, ErrorKind, Queue};

use super::graph_support::{Way, advance, ways};

/// A flag, and the command that waits until it is set.
fn held() -> (Arc<AtomicBool>, Command) {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let wait = move || {
        while !seen.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    };
    (flag, Command::host_task(wait))
}

#[test]
fn asy_evt_001_each_command_in_turn() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let got = pollster::block_on(async {
            way.queue.submit(advance(&values))?.await?;
            way.queue.submit(advance(&values))?.await?;
            way.queue.read_async(&values)?.await
        });
        assert_eq!(got.unwrap(), [13; 8]);
    }
}

#[test]
fn asy_evt_002_many_at_once() {
    for way in ways() {
        let all: Vec<_> = (0..32_u32).map(|i| way.device(&[i; 8])).collect();
        let events: Vec<_> = all.iter().map(|values| way.queue.submit(advance(values)).unwrap()).collect();
        pollster::block_on(async {
            for event in events.iter().rev() {
                event.await.unwrap();
            }
        });
        for (i, values) in (0..).zip(&all) {
            assert_eq!(way.queue.read(values).unwrap(), [3 * i + 1; 8]);
        }
    }
}

#[test]
fn asy_evt_003_pending_while_it_runs_and_dropped() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let (open, task) = held();
        let task = way.queue.submit(task).unwrap();
        let event = way.queue.after(&task).submit(advance(&values)).unwrap();
        let mut future = std::pin::pin!(event.clone().into_future());
        let mut context = Task::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        let mut dropped = Box::pin(event.clone().into_future());
        assert!(dropped.as_mut().poll(&mut context).is_pending());
        drop(dropped);
        open.store(true, Ordering::SeqCst);
        pollster::block_on(future).unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
    }
}

#[test]
fn asy_evt_004_from_another_thread() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let (open, task) = held();
        let task = way.queue.submit(task).unwrap();
        let mut future = Box::pin(way.queue.after(&task).submit(advance(&values)).unwrap().into_future());
        assert!(future.as_mut().poll(&mut Task::from_waker(Waker::noop())).is_pending());
        let waits = std::thread::spawn(move || pollster::block_on(future));
        open.store(true, Ordering::SeqCst);
        waits.join().unwrap().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
    }
}

fn chain_with_task(
    way: &Way,
) -> (oclave::UsmSlice<u32, oclave::memory::usm::DeviceOnly>, oclave::graph::ExecutableGraph) {
    let values = way.device(&[1_u32; 8]);
    let graph = way.chain(&values, 2);
    graph.after_all_leaves().add(Command::host_task(|| ())).unwrap();
    graph.after_all_leaves().add(advance(&values)).unwrap();
    (values, way.finalize(&graph))
}

#[test]
fn asy_grf_001_submissions() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let executable = way.finalize(&way.chain(&values, 2));
        pollster::block_on(async {
            for expected in [13, 121, 1093_u32] {
                way.queue.submit_graph(&executable).unwrap().await.unwrap();
                assert_eq!(way.queue.read_async(&values).unwrap().await.unwrap(), [expected; 8]);
            }
        });
    }
}

#[test]
fn asy_grf_002_submissions_with_host_tasks() {
    for way in ways() {
        let (values, executable) = chain_with_task(&way);
        pollster::block_on(async {
            let first = way.queue.submit_graph(&executable).unwrap();
            let second = way.queue.submit_graph(&executable).unwrap();
            second.await.unwrap();
            first.await.unwrap();
        });
        assert_eq!(way.queue.read(&values).unwrap(), [1093; 8]);
    }
}

#[test]
fn asy_err_001_failed_tasks_as_from_wait() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let task = graph.add(Command::host_task(|| Err::<(), _>("no luck"))).unwrap();
        graph.after(&task).add(advance(&values)).unwrap();
        let event = way.queue.submit_graph(&way.finalize(&graph)).unwrap();
        let awaited = pollster::block_on(event.clone().into_future()).unwrap_err();
        let waited = event.wait().unwrap_err();
        assert_eq!((awaited.kind(), awaited.to_string()), (waited.kind(), waited.to_string()));
        assert_eq!(awaited.kind(), ErrorKind::HostTask);
        drop(way.queue.wait());
        assert_eq!(way.queue.read(&values).unwrap(), [1; 8]);
    }
}

#[test]
fn asy_err_002_recorded_commands() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        let queue = Queue::new(way.context()).unwrap();
        let recording = graph.record(&queue).unwrap();
        let event = queue.submit(advance(&values)).unwrap();
        let future = event.into_future();
        assert_eq!(pollster::block_on(future).unwrap_err().kind(), ErrorKind::Invalid);
        let mut read = std::pin::pin!(async { queue.read_async(&values)?.await });
        let Poll::Ready(Err(error)) = read.as_mut().poll(&mut Task::from_waker(Waker::noop())) else {
            panic!("data that nothing has computed")
        };
        assert_eq!(error.kind(), ErrorKind::Invalid);
        recording.end();
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
    }
}
