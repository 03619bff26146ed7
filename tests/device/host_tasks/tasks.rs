//! Host tasks, commands deferred by them, events across contexts, failures; on the selected device.

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use crate::common::{bundle, call, context, queues};
use oclave::event::EventStatus;
use oclave::kernel::{KernelBundle, KernelCall};
use oclave::memory::HostTarget;
use oclave::record::Session;
use oclave::{Command, Context, ErrorKind, Event, Graph, Queue, UsmSlice};

/// Opens once, for all who wait.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let open = self.0.0.lock().unwrap();
        let (_open, timeout) =
            self.0.1.wait_timeout_while(open, Duration::from_secs(60), |open| !*open).unwrap();
        assert!(!timeout.timed_out(), "the gate stayed shut");
    }
}

/// A task that ends when the gate opens.
fn gated(queue: &Queue, gate: &Gate) -> Event {
    let gate = gate.clone();
    queue.host_task(move || gate.wait()).unwrap()
}

fn bump(bundle: &KernelBundle, value: &UsmSlice<i32, impl oclave::memory::UsmKind>, step: i32) -> KernelCall {
    call(bundle, "bump_by").pointer_mut::<i32>(value).value(step)
}

#[device_test]
fn tasks_take_their_place_between_kernels(context: Context) {
    let bundle = bundle(&context);
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_shared::<i32>(1).unwrap();
    queue.fill(&value, 1).unwrap();
    for round in 0..50 {
        queue.parallel_for(1, bump(&bundle, &value, 2)).unwrap();
        let shared = value.clone();
        let seen = queue
            .host_task(move || -> oclave::Result<()> {
                let mut value = shared.write()?;
                value[0] = value[0].wrapping_mul(2);
                Ok(())
            })
            .unwrap();
        queue.parallel_for(1, bump(&bundle, &value, -3)).unwrap();
        if round % 10 == 0 {
            seen.wait().unwrap();
        }
    }
    let expected = (0..50).fold(1_i32, |value, _| value.wrapping_add(2).wrapping_mul(2).wrapping_sub(3));
    assert_eq!(queue.read(&value).unwrap(), [expected]);
    queue.wait().unwrap();
}

#[device_test]
fn dependencies_hold_both_ways_on_any_queue(context: Context) {
    let bundle = bundle(&context);
    for queue in queues(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        let target = HostTarget::<i32>::new(1).unwrap();
        let filled = queue.fill(&value, 5).unwrap();
        let bumped = queue.after(&[&filled]).parallel_for(1, bump(&bundle, &value, 1)).unwrap();
        let read = queue.after(&[&bumped]).submit(Command::read(&value, &target)).unwrap();
        let (seen, inner) = (Arc::new(AtomicUsize::new(0)), target.clone());
        let task = queue
            .after(&[&read])
            .host_task({
                let seen = Arc::clone(&seen);
                move || inner.with(|data| seen.store(data[0] as usize, Ordering::SeqCst))
            })
            .unwrap();
        let last = queue.after(&[&task]).parallel_for(1, bump(&bundle, &value, 10)).unwrap();
        last.wait().unwrap();
        assert_eq!(seen.load(Ordering::SeqCst), 6);
        assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [16]);
        assert_eq!(task.status().unwrap(), EventStatus::Complete);
    }
}

#[device_test]
fn what_is_independent_passes_on_out_of_order_queues(context: Context) {
    let bundle = bundle(&context);
    let Ok(queue) = Queue::builder(&context).out_of_order().build() else {
        return println!("skipped: no out-of-order queues");
    };
    let (a, b) = (context.alloc_device::<i32>(1).unwrap(), context.alloc_device::<i32>(1).unwrap());
    let zero = [queue.fill(&a, 0).unwrap(), queue.fill(&b, 0).unwrap()];
    let gate = Gate::default();
    let task = gated(&queue, &gate);
    let behind = queue.after(&[&task, &zero[0]]).parallel_for(1, bump(&bundle, &a, 1)).unwrap();
    let chained = queue.after(&[&behind]).parallel_for(1, bump(&bundle, &a, 2)).unwrap();
    // Passes while the task waits.
    queue.after(&[&zero[1]]).parallel_for(1, bump(&bundle, &b, 7)).unwrap().wait().unwrap();
    assert_eq!(behind.status().unwrap(), EventStatus::Queued);
    assert_eq!(chained.status().unwrap(), EventStatus::Queued);
    // Neither does a barrier pass, nor what is behind one.
    let barrier = queue.barrier().unwrap();
    let after_barrier = queue.parallel_for(1, bump(&bundle, &b, 1)).unwrap();
    let task_after_barrier = queue.host_task(|| ()).unwrap();
    let joined = queue.submit(Command::empty().after(&after_barrier)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    for event in [&barrier, &after_barrier, &task_after_barrier, &joined] {
        assert_eq!(event.status().unwrap(), EventStatus::Queued);
    }
    assert!(queue.submit(Command::empty()).unwrap().wait().is_ok());
    gate.open();
    queue.wait().unwrap();
    for event in [&task, &behind, &chained, &barrier, &after_barrier, &task_after_barrier, &joined] {
        assert_eq!(event.status().unwrap(), EventStatus::Complete);
        event.wait().unwrap();
    }
    assert_eq!(queue.read(&a).unwrap(), [3]);
    assert_eq!(queue.read(&b).unwrap(), [8]);
}

#[device_test]
fn in_order_queues_hold_everything_behind_a_task(context: Context) {
    let bundle = bundle(&context);
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_device::<i32>(1).unwrap();
    queue.fill(&value, 0).unwrap();
    let gate = Gate::default();
    gated(&queue, &gate);
    let kernel = queue.parallel_for(1, bump(&bundle, &value, 1)).unwrap();
    let marker = queue.marker().unwrap();
    assert_eq!(kernel.status().unwrap(), EventStatus::Queued);
    let other = Queue::new(&context).unwrap();
    other.fill(&context.alloc_device::<i32>(1).unwrap(), 1).unwrap().wait().unwrap();
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(marker.status().unwrap(), EventStatus::Queued);
    // A blocking copy also waits for deferred commands.
    std::thread::scope(|scope| {
        let read = scope.spawn(|| queue.read(&value).unwrap());
        std::thread::sleep(Duration::from_millis(10));
        assert!(!read.is_finished());
        gate.open();
        assert_eq!(read.join().unwrap(), [1]);
    });
}

#[device_test]
fn other_contexts_do_not_block_the_caller(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let (here, there) = (Queue::new(&context).unwrap(), Queue::new(&other).unwrap());
    let (x, y) = (context.alloc_device::<u32>(64).unwrap(), other.alloc_device::<u32>(1).unwrap());
    let bundle = bundle(&other);
    there.fill(&y, 0).unwrap();
    let slow =
        there.parallel_for(1, call(&bundle, "slow").pointer_mut::<u32>(&y).value(30_000_000_u32)).unwrap();
    let behind = here.submit(Command::fill(&x, 4).after(&slow)).unwrap();
    let status = slow.status().unwrap();
    if status != EventStatus::Complete {
        assert_ne!(behind.status().unwrap(), EventStatus::Complete);
    }
    behind.wait().unwrap();
    assert_eq!(slow.status().unwrap(), EventStatus::Complete);
    assert_eq!(here.read(&x).unwrap(), [4; 64]);
    // Both ways, in one chain.
    let mut last = behind;
    for i in 0..40_u32 {
        last = if i % 2 == 0 {
            there.submit(Command::fill(&y, i).after(&last)).unwrap()
        } else {
            here.submit(Command::fill(&x, i).after(&last)).unwrap()
        };
    }
    last.wait().unwrap();
    assert_eq!((there.read(&y).unwrap()[0], here.read(&x).unwrap()[0]), (38, 39));
}

#[device_test]
fn failures_name_their_root_and_stop_what_depends_on_them(context: Context) {
    let bundle = bundle(&context);
    for queue in queues(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        let filled = queue.fill(&value, 1).unwrap();
        let failed = queue.after(&[&filled]).host_task(|| Err::<(), _>("the disk is full")).unwrap();
        let kernel = queue.after(&[&failed]).parallel_for(1, bump(&bundle, &value, 1)).unwrap();
        let task = queue.after(&[&kernel]).host_task(|| ()).unwrap();
        let last = queue.after(&[&task]).fill(&value, 9).unwrap();
        for (event, what) in
            [(&failed, "the host task failed"), (&last, "depends on"), (&kernel, "depends on")]
        {
            let error = event.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::HostTask);
            for printed in [error.to_string(), format!("{error:#}"), format!("{error:?}")] {
                assert!(printed.contains(what), "{printed}");
                assert_eq!(printed.matches("the disk is full").count(), 1, "{printed}");
            }
            assert!(matches!(event.status().unwrap(), EventStatus::Failed(_)));
            assert!(event.is_complete().is_err());
        }
        // What only comes after it does run.
        let behind = queue.after(&[&filled]).parallel_for(1, bump(&bundle, &value, 4)).unwrap();
        behind.wait().unwrap();
        assert_eq!(queue.after(&[&behind]).read(&value).unwrap(), [5]);
        assert!(queue.after(&[&failed]).read(&value).is_err());
        // The queue tells once, and works on.
        assert!(format!("{:#}", queue.wait().unwrap_err()).contains("the disk is full"));
        queue.wait().unwrap();

        let panicked = queue.host_task(|| -> () { panic!("on purpose") }).unwrap();
        let error = panicked.wait().unwrap_err();
        assert!(format!("{error:#}").contains("on purpose"), "{error}");
        assert!(queue.wait().is_err());
        queue.host_task(|| ()).unwrap().wait().unwrap();
        queue.wait().unwrap();
    }
}

#[device_test]
fn tasks_may_wait_and_submit(context: Context) {
    let bundle = bundle(&context);
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_device::<i32>(4).unwrap();
    queue.fill(&value, 0).unwrap().wait().unwrap();
    // Many more tasks than threads, each of which waits for a task behind all of them.
    let outer = Queue::builder(&context).out_of_order().build().unwrap_or_else(|_| queue.clone());
    if !outer.is_out_of_order() {
        return println!("skipped: no out-of-order queues");
    }
    let inner = outer.clone();
    let events: Vec<Event> = (0..32)
        .map(|_| {
            let inner = inner.clone();
            outer
                .host_task(move || {
                    let nested = inner.host_task(|| ())?;
                    nested.wait()
                })
                .unwrap()
        })
        .collect();
    events.iter().for_each(|event| event.wait().unwrap());
    // A task uses another queue, and blocking copies.
    let other = Queue::new(&context).unwrap();
    let memory = value.clone();
    queue
        .host_task(move || {
            other.write(&memory, &[1, 2, 3, 4])?;
            other.parallel_for(1, bump(&bundle, &memory, 10))?.wait()
        })
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(queue.read(&value).unwrap(), [11, 2, 3, 4]);
}

#[device_test]
fn thousands_in_flight(context: Context) {
    let bundle = bundle(&context);
    for queue in queues(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        let mut last = queue.fill(&value, 0).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let gate = Gate::default();
        let first = gated(&queue, &gate);
        for _ in 0..2000 {
            let counted = Arc::clone(&count);
            let task = queue
                .after(&[&last, &first])
                .host_task(move || {
                    counted.fetch_add(1, Ordering::SeqCst);
                })
                .unwrap();
            last = queue.after(&[&task]).parallel_for(1, bump(&bundle, &value, 1)).unwrap();
        }
        assert_eq!(count.load(Ordering::SeqCst), 0);
        gate.open();
        last.wait().unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2000);
        assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [2000]);
    }
}

#[device_test]
fn queues_may_go_while_they_hold_commands(context: Context) {
    let gate = Gate::default();
    let value = context.alloc_shared::<i32>(1).unwrap();
    let queue = Queue::new(&context).unwrap();
    queue.fill(&value, 1).unwrap();
    let task = gated(&queue, &gate);
    let filled = queue.fill(&value, 7).unwrap();
    drop((queue, context));
    let (sent, received) = mpsc::channel();
    std::thread::scope(|scope| {
        // Memory that a command holds is busy.
        scope.spawn(|| sent.send(value.read().unwrap()[0]).unwrap());
        assert!(received.recv_timeout(Duration::from_millis(30)).is_err());
        gate.open();
        assert_eq!(received.recv_timeout(Duration::from_secs(30)).unwrap(), 7);
    });
    filled.wait().unwrap();
    task.wait().unwrap();
}

#[device_test]
fn memory_under_a_guard_is_refused_also_when_held_back(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_shared::<i32>(4).unwrap();
    let gate = Gate::default();
    let guard = value.write().unwrap();
    gated(&queue, &gate);
    let error = queue.fill(&value, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    drop(guard);
    let filled = queue.fill(&value, 1).unwrap();
    gate.open();
    filled.wait().unwrap();
    assert_eq!(*value.read().unwrap(), [1; 4]);
}

#[device_test]
fn a_guard_inside_a_task_keeps_held_commands_off(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_shared::<i32>(1).unwrap();
    queue.fill(&value, 0).unwrap();
    // `other` is deferred until `first` has ended, and wants the memory while `second` looks at it.
    let other = Queue::new(&context).unwrap();
    let (inside, leave) = (Gate::default(), Gate::default());
    let first = gated(&other, &inside);
    let filled = other.after(&[&first]).fill(&value, 3).unwrap();
    let second = queue
        .host_task({
            let (value, inside, leave) = (value.clone(), inside.clone(), leave.clone());
            move || -> oclave::Result<()> {
                let guard = value.read()?;
                inside.open();
                leave.wait();
                assert_eq!(guard[0], 0);
                Ok(())
            }
        })
        .unwrap();
    first.wait().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(filled.status().unwrap(), EventStatus::Queued);
    leave.open();
    second.wait().unwrap();
    filled.wait().unwrap();
    assert_eq!(*value.read().unwrap(), [3]);
}

#[device_test]
fn tasks_are_measured(context: Context) {
    let queue = Queue::builder(&context).profiling().build().unwrap();
    let gate = Gate::default();
    let task = gated(&queue, &gate);
    let value = context.alloc_device::<i32>(1).unwrap();
    let held = queue.fill(&value, 1).unwrap();
    assert_eq!(task.profiling().unwrap_err().kind(), ErrorKind::Profiling);
    gate.open();
    held.wait().unwrap();
    let times = task.profiling().unwrap();
    assert!(times.queued_ns <= times.submitted_ns && times.submitted_ns <= times.started_ns);
    assert!(times.started_ns < times.ended_ns);
    assert!(held.profiling().unwrap().started_ns > 0);
    let unmeasured = Queue::new(&context).unwrap().host_task(|| ()).unwrap();
    unmeasured.wait().unwrap();
    assert_eq!(unmeasured.profiling().unwrap_err().kind(), ErrorKind::Profiling);
}

#[test]
fn nothing_is_left_behind() {
    let session = Session::start();
    {
        let Some(context) = context() else { return };
        let bundle = bundle(&context);
        for queue in queues(&context) {
            let value = context.alloc_device::<i32>(1).unwrap();
            let filled = queue.fill(&value, 0).unwrap();
            for _ in 0..10 {
                let task = queue.after(&[&filled]).host_task(|| ()).unwrap();
                queue.after(&[&task]).parallel_for(1, bump(&bundle, &value, 1)).unwrap();
            }
            let failed = queue.host_task(|| Err::<(), _>("no")).unwrap();
            let _ = queue.after(&[&failed]).fill(&value, 1).unwrap();
            assert!(queue.wait().is_err());
        }
    }
    common::settle(&session);
    assert!(session.live().is_empty(), "{:?}", session.live());
}

/// The marker that a task on an in-order queue comes after fails, so the task never runs.
#[device_test]
fn a_wait_for_the_queue_tells_of_a_task_that_could_not_be_ordered(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_device::<i32>(8).unwrap();
    queue.fill(&value, 1).unwrap();
    let session = Session::start();
    session.fail("clEnqueueMarkerWithWaitList", 1, -6);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let task = queue.host_task(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let task = task.unwrap();
    assert_eq!(session.injected(), 1);
    let error = queue.wait().unwrap_err();
    assert!(format!("{error:#}").contains("clEnqueueMarkerWithWaitList"), "{error:#}");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert!(task.wait().is_err());
    queue.wait().unwrap();
    assert_eq!(queue.read(&value).unwrap(), [1; 8]);
}

/// Drivers may begin with nothing that was not flushed, so nobody is told of its end.
#[device_test]
fn flushes_that_fail_do_not_hang_tasks(context: Context) {
    for nth in 1..4 {
        // A context of its own: its next call reports that the drop of the queue failed.
        let context = Context::new(context.device()).unwrap();
        let (done, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let bundle = bundle(&context);
            let value = context.alloc_device::<i32>(1).unwrap();
            let session = Session::start();
            session.fail_from("clFlush", nth, -6);
            let queue = Queue::new(&context).unwrap();
            let submit = || {
                queue.fill(&value, 1)?;
                queue.host_task(|| ())?;
                queue.parallel_for(1, bump(&bundle, &value, 1))?;
                queue.host_task(|| ())?;
                queue.wait()
            };
            let outcome = submit();
            done.send(outcome.map_err(|error| format!("{error:#}"))).unwrap();
        });
        let outcome = ended.recv_timeout(Duration::from_secs(60)).expect("it hangs");
        assert!(
            outcome.is_ok() || outcome.clone().is_err_and(|text| text.contains("clFlush")),
            "{outcome:?}"
        );
    }
}

#[device_test]
fn empty_commands_wait_for_others(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_device::<i32>(8).unwrap();
    let first = queue.submit(Command::fill(&value, 3)).unwrap();
    let second = queue.submit(Command::memset(&value.slice(4..).unwrap(), 0).after(&first)).unwrap();
    queue.submit(Command::empty().after(&[&first, &second])).unwrap().wait().unwrap();
    assert_eq!(queue.read(&value).unwrap(), [3, 3, 3, 3, 0, 0, 0, 0]);
}

/// A kernel, a task and a kernel, `times` times, of a value that each kernel bumps by one.
fn tasks_between_kernels(
    queue: &Queue,
    value: &UsmSlice<i32, impl oclave::memory::UsmKind>,
    tasks: Vec<Arc<dyn Fn() -> Result<(), String> + Send + Sync>>,
) -> Graph {
    let bundle = bundle(queue.context());
    let graph = Graph::from_queue(queue);
    graph.add(Command::parallel_for(1, bump(&bundle, value, 1))).unwrap();
    for task in tasks {
        graph.after_all_leaves().add(Command::host_task(move || task())).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(1, bump(&bundle, value, 1))).unwrap();
    }
    graph
}

#[device_test]
fn a_thread_that_waits_runs_what_it_waits_for(context: Context) {
    for queue in queues(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let (gate, inner) = (Gate::default(), Gate::default());
        let (ran, runs) = mpsc::channel();
        let ran = Mutex::new(ran);
        let other = Queue::new(&context).unwrap();
        let all: Vec<Arc<dyn Fn() -> Result<(), String> + Send + Sync>> = vec![
            Arc::new({
                let gate = gate.clone();
                move || {
                    gate.wait();
                    Ok(())
                }
            }),
            // This one runs on the thread that waits, and waits itself, for tasks and for what can never be.
            Arc::new({
                let (queue, inner) = (queue.clone(), inner.clone());
                move || {
                    ran.lock().unwrap().send(std::thread::current().id()).unwrap();
                    let nested = gated(&other, &inner);
                    inner.open();
                    other
                        .after(&nested)
                        .host_task(|| ())
                        .unwrap()
                        .wait()
                        .map_err(|error| error.to_string())?;
                    match queue.wait() {
                        Err(error) if error.kind() == ErrorKind::Invalid => Ok(()),
                        outcome => Err(format!("{outcome:?}")),
                    }
                }
            }),
        ];
        let executable = tasks_between_kernels(&queue, &value, all).finalize().unwrap();
        let event = queue.submit_graph(&executable).unwrap();
        let opener = std::thread::spawn({
            let gate = gate.clone();
            move || {
                std::thread::sleep(Duration::from_millis(100));
                gate.open();
            }
        });
        event.wait().unwrap();
        assert_eq!(runs.recv().unwrap(), std::thread::current().id());
        opener.join().unwrap();
        assert_eq!(queue.read(&value).unwrap(), [3]);
    }
}

#[device_test]
fn tasks_run_whoever_waits(context: Context) {
    const THREADS: usize = 4;
    const ROUNDS: usize = 40;
    for queue in queues(&context) {
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| {
                let (context, shared) = (context.clone(), queue.clone());
                std::thread::spawn(move || {
                    let queue = if worker % 2 == 0 { shared } else { Queue::new(&context).unwrap() };
                    let value = context.alloc_device::<i32>(1).unwrap();
                    queue.fill(&value, 0).unwrap().wait().unwrap();
                    let calls = Arc::new(AtomicUsize::new(0));
                    let count: Arc<dyn Fn() -> Result<(), String> + Send + Sync> = Arc::new({
                        let calls = Arc::clone(&calls);
                        move || {
                            calls.fetch_add(1, Ordering::SeqCst);
                            Ok(())
                        }
                    });
                    let graph = tasks_between_kernels(&queue, &value, vec![count; 3]);
                    let executable = graph.finalize().unwrap();
                    for round in 0..ROUNDS {
                        let event = queue.submit_graph(&executable).unwrap();
                        match round % 4 {
                            0 => event.wait().unwrap(),
                            1 => queue.wait().unwrap(),
                            2 => drop(event),
                            _ => queue.after(&event).host_task(|| ()).unwrap().wait().unwrap(),
                        }
                    }
                    queue.submit_graph(&executable).unwrap().wait().unwrap();
                    assert_eq!(calls.load(Ordering::SeqCst), 3 * (ROUNDS + 1));
                    assert_eq!(queue.read(&value).unwrap(), [4 * (ROUNDS as i32 + 1)]);
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
    }
}

#[device_test]
fn what_nobody_waits_for_runs(context: Context) {
    for queue in queues(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let (done, last) = mpsc::channel();
        let done = Mutex::new(done);
        let tasks: Vec<Arc<dyn Fn() -> Result<(), String> + Send + Sync>> = vec![
            Arc::new(|| Ok(())),
            Arc::new(move || done.lock().unwrap().send(()).map_err(|_| "gone".to_owned())),
        ];
        let executable = tasks_between_kernels(&queue, &value, tasks).finalize().unwrap();
        drop(queue.submit_graph(&executable).unwrap());
        last.recv_timeout(Duration::from_secs(60)).unwrap();
        queue.wait().unwrap();
        assert_eq!(queue.read(&value).unwrap(), [3]);
    }
}

#[device_test]
fn failures_in_the_middle_of_a_graph_are_the_event_s_and_the_queue_s(context: Context) {
    for queue in queues(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let fails = Arc::new(AtomicUsize::new(1));
        let left = Arc::clone(&fails);
        let task = move || match left.load(Ordering::SeqCst) {
            0 => Ok(()),
            1 => Err("on purpose".to_owned()),
            _ => panic!("on purpose"),
        };
        let executable = tasks_between_kernels(&queue, &value, vec![Arc::new(task)]).finalize().unwrap();
        for how in [1, 2] {
            fails.store(how, Ordering::SeqCst);
            let event = queue.submit_graph(&executable).unwrap();
            let error = event.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::HostTask, "{error}");
            assert!(format!("{error:#}").contains("on purpose"), "{error:#}");
            assert_eq!(queue.wait().unwrap_err().kind(), ErrorKind::HostTask);
            queue.wait().unwrap();
        }
        fails.store(0, Ordering::SeqCst);
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        queue.wait().unwrap();
        assert_eq!(queue.read(&value).unwrap(), [4], "two first kernels, and a whole run");
    }
}
