//! Buffers, host tasks and events together, as programs use them, on the selected device.
//!
//! From many threads, in several contexts, with handles that are dropped early.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{context, gate, queues_and_eventless};
use oclave::event::EventStatus;
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, Context, ErrorKind, Event, Queue};

use crate::kernels::buffers::advance;

#[test]
fn additions_from_everywhere_are_all_there() {
    // Of host accessors that write one part there is one at a time.
    static HOST: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let Some(first) = context() else { return };
    let second = Context::new(first.device()).unwrap();
    let buffer = Buffer::from_vec(vec![1_u32; 32]).unwrap();
    let queues: Vec<Queue> =
        queues_and_eventless(&first).into_iter().chain(queues_and_eventless(&second)).collect();
    let (rounds, queues) = (30, &queues);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let buffer = buffer.clone();
            scope.spawn(move || {
                for round in 0..rounds {
                    let queue = &queues[(thread + round) % queues.len()];
                    match (thread + round) % 5 {
                        0 => {
                            let _one = HOST.lock().unwrap();
                            buffer.host_write().unwrap().iter_mut().for_each(|x| *x += 1);
                        }
                        1 => {
                            let add = |(x,): (&mut [u32],)| x.iter_mut().for_each(|x| *x += 1);
                            drop(queue.host_task_with((buffer.read_write(),), add).unwrap());
                        }
                        _ => drop(queue.parallel_for(32, advance(buffer.read_write(), 1, 1)).unwrap()),
                    }
                }
            });
        }
    });
    assert_eq!(*buffer.host_read().unwrap(), [1 + 4 * rounds as u32; 32]);
}

#[device_test]
fn contents_go_back_with_the_last_handle_whatever_it_is(context: Context) {
    for queue in queues_and_eventless(&context) {
        let target = HostTarget::from_vec(vec![1_u32; 4096]);
        let buffer = Buffer::with_host_data(4096, &target).unwrap();
        let half = buffer.sub_buffer(2048, 2048).unwrap();
        let accessor = half.read_write();
        drop(buffer);
        assert_eq!(target.to_vec().unwrap(), [1; 4096]);
        // Behind a task that has not run: the handle that goes waits for it.
        let (gate, open) = gate(&queue);
        queue.after(&[&gate]).parallel_for(2048, advance(&accessor, 3, 2)).unwrap();
        let opened = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            open.send(()).unwrap();
        });
        drop(half);
        let back = target.to_vec().unwrap();
        assert!(back[..2048].iter().all(|x| *x == 1) && back[2048..].iter().all(|x| *x == 5));
        opened.join().unwrap();
        // The accessor still works; nothing more goes back.
        queue.parallel_for(2048, advance(&accessor, 1, 1)).unwrap().wait().unwrap();
        assert_eq!(accessor.host().unwrap().to_vec(), [6; 2048]);
        drop(accessor);
        assert_eq!(target.to_vec().unwrap(), back);
    }
}

#[device_test]
fn final_data_is_what_was_said_last(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let [first, second] = [(); 2].map(|()| HostTarget::<u32>::new(16).unwrap());
    let buffer = Buffer::with_host_data(16, &first).unwrap();
    queue.parallel_for(16, advance(buffer.read_write(), 1, 4)).unwrap();
    buffer.set_final_data(Some(&second)).unwrap();
    buffer.write_back().unwrap();
    assert_eq!((first.to_vec().unwrap(), second.to_vec().unwrap()), (vec![0; 16], vec![4; 16]));
    queue.parallel_for(16, advance(buffer.read_write(), 1, 4)).unwrap();
    buffer.set_write_back(false);
    drop(buffer);
    assert_eq!(second.to_vec().unwrap(), [4; 16]);

    // Only read: nothing goes back.
    let buffer = Buffer::from_vec(vec![9_u32; 16]).unwrap();
    buffer.set_final_data(Some(&second)).unwrap();
    assert_eq!(queue.read(&buffer.read()).unwrap(), [9; 16]);
    drop(buffer);
    assert_eq!(second.to_vec().unwrap(), [4; 16]);
    let buffer = Buffer::from_vec(vec![9_u32; 16]).unwrap();
    buffer.set_final_data(Some(&second)).unwrap();
    buffer.set_final_data(None).unwrap();
    queue.fill(&buffer.write(), 8).unwrap();
    drop(buffer);
    assert_eq!(second.to_vec().unwrap(), [4; 16]);
    let short = HostTarget::<u32>::new(15).unwrap();
    let error = Buffer::<u32>::new(16).unwrap().set_final_data(Some(&short)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[device_test]
fn a_write_that_fails_leaves_what_was_there(context: Context) {
    for queue in queues_and_eventless(&context) {
        let target = HostTarget::from_vec(vec![7_u32; 64]);
        let buffer = Buffer::with_host_data(64, &target).unwrap();
        queue.parallel_for(64, advance(buffer.read_write(), 1, 1)).unwrap();
        let broken = queue.host_task_with((buffer.write(),), |(x,)| {
            x.fill(99);
            Err::<(), _>("no")
        });
        // The buffer orders this command behind the failed one, but does not require its success.
        let event = queue.parallel_for(64, advance(buffer.read_write(), 2, 0)).unwrap();
        event.wait().unwrap();
        assert_eq!(broken.unwrap().wait().unwrap_err().kind(), ErrorKind::HostTask);
        assert_eq!(queue.wait().unwrap_err().kind(), ErrorKind::HostTask);
        queue.wait().unwrap();
        drop(buffer);
        queue.wait().unwrap();
        assert_eq!(target.to_vec().unwrap(), [16; 64]);
    }
}

/// Panics when it is dropped.
/// An error that panics when it is looked at.
struct Shy;

impl From<Shy> for Box<dyn std::error::Error + Send + Sync> {
    fn from(_: Shy) -> Self {
        panic!("raw and shy")
    }
}

struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::panic::panic_any(7_u8);
    }
}

#[device_test]
fn panics_of_any_kind_stay_in_their_event(context: Context) {
    for queue in queues_and_eventless(&context) {
        let odd = queue.host_task(|| -> () { std::panic::panic_any(Box::new(3.5_f32)) }).unwrap();
        assert_eq!(odd.wait().unwrap_err().kind(), ErrorKind::HostTask);
        assert!(matches!(odd.status().unwrap(), EventStatus::Failed(_)));
        // A task whose captures panic as they go; the result does, too.
        let dropped = Arc::new(AtomicUsize::new(0));
        let bomb = Bomb(Arc::clone(&dropped));
        let task = queue
            .host_task(move || {
                let _keep = &bomb;
            })
            .unwrap();
        assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::HostTask);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        let thrown = Arc::clone(&dropped);
        let thrower = queue.host_task(move || -> () { std::panic::panic_any(Bomb(Arc::clone(&thrown))) });
        assert_eq!(thrower.unwrap().wait().unwrap_err().kind(), ErrorKind::HostTask);
        assert_eq!(dropped.load(Ordering::SeqCst), 2);
        // Raw commands that panic, at once and behind a task, and their memory.
        let memory = context.alloc_shared::<u32>(4).unwrap();
        let panics = |_: &oclave::native::Submission<'_>| -> Result<oclave::native::EventHandle, &str> {
            panic!("raw")
        };
        // SAFETY: nothing is put on the queue.
        let raw = unsafe { Command::native(&[&memory], panics) };
        let error = queue.submit(raw.clone()).unwrap_err();
        assert!(error.kind() == ErrorKind::Runtime && format!("{error:?}").contains("raw"), "{error:?}");
        // An error that panics as it becomes one of the library's, which is a user's code, too.
        let fails = |_: &oclave::native::Submission<'_>| Err::<oclave::native::EventHandle, _>(Shy);
        // SAFETY: nothing is put on the queue.
        let shy = unsafe { Command::native(&[&memory], fails) };
        let (held, open) = gate(&queue);
        let behind_shy = queue.submit(shy.after(&held)).unwrap();
        open.send(()).unwrap();
        assert_eq!(behind_shy.wait().unwrap_err().kind(), ErrorKind::Runtime);
        let (held, open) = gate(&queue);
        let behind = queue.submit(raw.after(&held)).unwrap();
        open.send(()).unwrap();
        assert_eq!(behind.wait().unwrap_err().kind(), ErrorKind::Runtime);
        memory.write().unwrap().fill(3);
        // The runtime goes on, with as many tasks as ever.
        let count = Arc::new(AtomicUsize::new(0));
        let events: Vec<Event> = (0..500)
            .map(|_| {
                let count = Arc::clone(&count);
                queue
                    .host_task(move || {
                        count.fetch_add(1, Ordering::SeqCst);
                    })
                    .unwrap()
            })
            .collect();
        events.iter().for_each(|event| event.wait().unwrap());
        assert_eq!(count.load(Ordering::SeqCst), 500);
        let _ = queue.wait();
        queue.wait().unwrap();
    }
}

#[device_test]
fn events_outlive_queues_and_contexts(other: Context) {
    let waiting = Queue::new(&other).unwrap();
    for kind in 0..queues_and_eventless(&other).len() {
        let buffer = Buffer::<u32>::new(256).unwrap();
        let (events, open) = {
            let context = Context::new(other.device()).unwrap();
            let queue = queues_and_eventless(&context).remove(kind);
            let (held, open) = gate(&queue);
            let kernel = queue.after(&[&held]).parallel_for(256, advance(buffer.read_write(), 1, 3)).unwrap();
            ([held, kernel], open)
        };
        // Many threads wait for what nobody but the events holds.
        let behind = waiting
            .submit(
                Command::parallel_for(256, advance(buffer.read_write(), 2, 0))
                    .after(&[&events[0], &events[1]]),
            )
            .unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| events.iter().for_each(|event| event.wait().unwrap()));
            }
            std::thread::sleep(Duration::from_millis(5));
            assert!(!behind.is_complete().unwrap());
            open.send(()).unwrap();
        });
        behind.wait().unwrap();
        assert!(events.iter().all(|event| event.is_complete().unwrap()));
        assert_eq!(*buffer.host_read().unwrap(), [6; 256]);
    }
}

#[device_test]
fn times_follow_the_order(context: Context) {
    let queue = Queue::builder(&context).profiling().build().unwrap();
    let buffer = Buffer::<u32>::new([64, 64]).unwrap();
    let task = queue.host_task(|| std::thread::sleep(Duration::from_millis(2))).unwrap();
    let kernel = queue.parallel_for(4096, advance(buffer.read_write(), 1, 1)).unwrap();
    let many_rows = buffer.read().part([0, 0], [64, 32]).unwrap();
    let boxes = queue.copy(&many_rows, &buffer.write().part([0, 32], [64, 32]).unwrap()).unwrap();
    let rows = queue.fill(&buffer.write().part([0, 0], [3, 5]).unwrap(), 4).unwrap();
    queue.wait().unwrap();
    for event in [&task, &kernel, &boxes, &rows] {
        let times = event.profiling().unwrap();
        assert!(times.queued_ns <= times.submitted_ns && times.submitted_ns <= times.started_ns, "{times:?}");
        assert!(times.started_ns <= times.ended_ns, "{times:?}");
    }
    assert!(task.profiling().unwrap().duration() >= Duration::from_millis(2));
    assert!(kernel.profiling().unwrap().ended_ns <= boxes.profiling().unwrap().started_ns);
    let unmeasured = Queue::new(&context).unwrap().fill(&buffer.write(), 0).unwrap();
    assert_eq!(unmeasured.profiling().unwrap_err().kind(), ErrorKind::Profiling);
}

#[device_test]
fn boxes_of_many_rows_keep_every_rule(context: Context) {
    for queue in queues_and_eventless(&context) {
        let memory = context.alloc_shared::<u32>(32 * 32).unwrap();
        let zero = queue.fill(&memory, 0).unwrap();
        let half = memory.rect([32, 32]).unwrap().part([0, 0], [32, 16]).unwrap();
        let other = memory.rect([32, 32]).unwrap().part([0, 16], [32, 16]).unwrap();
        // Behind a host task, in another context, too.
        let (held, open) = gate(&Queue::new(&Context::new(context.device()).unwrap()).unwrap());
        let filled = queue.after(&[&zero, &held]).fill(&half, 3).unwrap();
        let copied = queue.after(&[&filled]).copy(&half, &other).unwrap();
        assert!(!copied.is_complete().unwrap());
        open.send(()).unwrap();
        copied.wait().unwrap();
        let guard = memory.read().unwrap();
        assert_eq!(*guard, [3; 32 * 32]);
        for error in [queue.fill(&half, 1).unwrap_err(), queue.copy(&half, &other).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
        drop(guard);
        // Memory that goes while they run.
        let short = context.alloc_device::<u32>(32 * 32).unwrap();
        let target = short.rect([32, 32]).unwrap().part([0, 8], [32, 16]).unwrap();
        let filled = queue.fill(&target, 5).unwrap();
        let back = queue.after(&[&filled]).copy(&target, &half).unwrap();
        drop((short, target));
        back.wait().unwrap();
        let expected: Vec<u32> = (0..32 * 32).map(|i| if i % 32 < 16 { 5 } else { 3 }).collect();
        assert_eq!(*memory.read().unwrap(), expected);
    }
}
