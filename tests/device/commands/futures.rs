//! Events as futures, on the selected device: with tokio, smol and pollster, and by hand.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crate::common::{bundle, call, context, gate, queues_and_eventless, settle};
use oclave::event::EventFuture;
use oclave::memory::Readback;
use oclave::record::Session;
use oclave::{Command, Context, Error, ErrorKind, Event, Graph, Queue};

fn assert_send<T: Send + 'static>(value: T) -> T {
    value
}

#[device_test]
fn pollster_gets_the_data(context: Context) {
    for queue in queues_and_eventless(&context) {
        let x = queue.upload(&[1_i32; 100]).unwrap();
        let data = pollster::block_on(async {
            let filled = queue.fill(&x, 7)?;
            filled.clone().await?;
            assert!(filled.is_complete()?);
            (&filled).await?; // once more
            queue.write_async(&x.slice(..1)?, &[3])?.await?;
            queue.read_async(&x)?.await
        });
        assert_eq!(data.unwrap()[..2], [3, 7]);
    }
}

#[device_test]
fn tokio_runs_tasks_meanwhile(context: Context) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let queue = Queue::new(&context).unwrap();
    let other = Queue::new(&context).unwrap();
    let x = queue.upload(&[0_i32; 8]).unwrap();
    let (task, open) = gate(&queue);
    let last = queue.after(&task).fill(&x, 5).unwrap();
    let held = runtime.spawn(assert_send(async move { last.await }));
    // The two threads are not kept by what waits.
    let tasks: Vec<_> = (0..50)
        .map(|value| {
            let other = other.clone();
            runtime.spawn(async move {
                let y = other.context().alloc_device::<i32>(4)?;
                other.fill(&y, value)?.await?;
                let read: Readback<i32> = other.read_async(&y)?;
                Ok::<_, Error>(read.await?[3])
            })
        })
        .collect();
    runtime.block_on(async {
        for (value, task) in (0..50).zip(tasks) {
            assert_eq!(task.await.unwrap().unwrap(), value);
        }
    });
    assert!(!held.is_finished());
    open.send(()).unwrap();
    runtime.block_on(held).unwrap().unwrap();
    assert_eq!(queue.read(&x).unwrap(), [5; 8]);
}

#[device_test]
fn smol_awaits_graphs_host_tasks_and_errors(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = context.alloc_device::<i32>(8).unwrap();
    let graph = Graph::from_queue(&queue);
    graph.add(Command::fill(&x, 1)).unwrap();
    graph.after_all_leaves().add(Command::host_task(|| ())).unwrap();
    graph.after_all_leaves().add(Command::fill(&x, 2)).unwrap();
    let executable = graph.finalize().unwrap();
    smol::block_on(async {
        for _ in 0..5 {
            queue.submit_graph(&executable).unwrap().await.unwrap();
        }
        assert_eq!(queue.read_async(&x).unwrap().await.unwrap(), [2; 8]);
        let failing = queue.host_task(|| Err::<(), _>("it went wrong")).unwrap();
        let behind = queue.after(&failing).fill(&x, 3).unwrap();
        for event in [failing, behind] {
            let awaited = event.clone().await.unwrap_err();
            let waited = event.wait().unwrap_err();
            assert_eq!((awaited.kind(), awaited.to_string()), (waited.kind(), waited.to_string()));
            assert!(awaited.to_string().contains("it went wrong"), "{awaited}");
        }
        drop(queue.wait());
    });
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(future: &mut EventFuture, waker: &Waker) -> Poll<oclave::Result<()>> {
    Pin::new(future).poll(&mut Task::from_waker(waker))
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[device_test]
fn the_last_waker_is_woken_once(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let x = queue.upload(&[0_i32; 64]).unwrap();
    let (task, open) = gate(&queue);
    let events = [
        task.clone(),
        queue
            .after(&task)
            .parallel_for(64, call(&bundle, "bump_by").pointer_mut::<i32>(&x).value(1_i32))
            .unwrap(),
    ];
    let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let mut futures = events.map(Event::into_future);
    for future in &mut futures {
        assert!(poll(future, &first.clone().into()).is_pending());
        assert!(poll(future, &last.clone().into()).is_pending());
    }
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(last.0.load(Ordering::SeqCst), 0, "nothing is woken that has nothing to do");
    open.send(()).unwrap();
    until("woken", || last.0.load(Ordering::SeqCst) == 2);
    for future in &mut futures {
        assert!(matches!(poll(future, Waker::noop()), Poll::Ready(Ok(()))));
        assert!(matches!(poll(future, Waker::noop()), Poll::Ready(Ok(()))), "a second poll is harmless");
    }
    assert_eq!((first.0.load(Ordering::SeqCst), last.0.load(Ordering::SeqCst)), (0, 2));
}

#[device_test]
fn a_future_moves_between_threads(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let (task, open) = gate(&queue);
    let mut future = task.into_future();
    for _ in 0..4 {
        future = std::thread::spawn(move || {
            assert!(poll(&mut future, Waker::noop()).is_pending());
            future
        })
        .join()
        .unwrap();
    }
    let waits = std::thread::spawn(move || pollster::block_on(future));
    std::thread::sleep(Duration::from_millis(10));
    open.send(()).unwrap();
    waits.join().unwrap().unwrap();
}

#[test]
fn a_dropped_future_neither_cancels_nor_waits() {
    let session = Session::start();
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let x = queue.upload(&[0_i32; 8]).unwrap();
    let count = Arc::new(Count::default());
    let (task, open) = gate(&queue);
    let filled = queue.after(&task).fill(&x, 9).unwrap();
    let start = Instant::now();
    for event in [&task, &filled] {
        let mut future = event.into_future();
        assert!(poll(&mut future, &count.clone().into()).is_pending());
        drop(future);
    }
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(Arc::strong_count(&count), 1, "the waker goes with the future");
    // Dropped while the driver has the command.
    open.send(()).unwrap();
    for _ in 0..200 {
        let mut future = queue.fill(&x, 9).unwrap().into_future();
        let _ = poll(&mut future, &count.clone().into());
    }
    assert_eq!(queue.read(&x).unwrap(), [9; 8]);
    drop((queue, x, task, filled, context));
    settle(&session);
    assert!(session.live().is_empty(), "{:?}", session.live());
}

/// Runs its task in the waker, at once.
struct AtOnce {
    future: Mutex<Option<EventFuture>>,
    done: Mutex<std::sync::mpsc::Sender<(Option<String>, oclave::Result<()>)>>,
}

impl AtOnce {
    fn run(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        let Some(mut future) = self.future.lock().unwrap().take() else { return };
        match poll(&mut future, &waker) {
            Poll::Pending => *self.future.lock().unwrap() = Some(future),
            Poll::Ready(outcome) => {
                let thread = std::thread::current().name().map(str::to_owned);
                self.done.lock().unwrap().send((thread, outcome)).unwrap();
            }
        }
    }
}

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        // The first poll may be woken before it is back.
        while self.future.lock().unwrap().is_none() {
            std::thread::yield_now();
        }
        self.run();
    }
}

#[device_test]
fn wakers_that_run_tasks_do_so_on_threads_of_the_library(context: Context) {
    let bundle = bundle(&context);
    let queue = Queue::new(&context).unwrap();
    let x = queue.upload(&vec![0_i32; 1 << 20]).unwrap();
    let (done, outcomes) = channel();
    for _ in 0..20 {
        let (task, open) = gate(&queue);
        let call = call(&bundle, "bump_by").pointer_mut::<i32>(&x).value(1_i32);
        let event = queue.after(&task).parallel_for(1 << 20, call).unwrap();
        let future = Mutex::new(Some(event.into_future()));
        Arc::new(AtOnce { future, done: Mutex::new(done.clone()) }).run();
        open.send(()).unwrap();
        let (thread, outcome) = outcomes.recv_timeout(Duration::from_secs(20)).unwrap();
        outcome.unwrap();
        assert_eq!(thread.as_deref(), Some("oclave-task"));
    }
}

#[test]
fn a_waker_that_panics_harms_nobody() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as it was told to");
        }
    }
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let x = queue.upload(&[0_i32; 8]).unwrap();
    let (task, open) = gate(&queue);
    let mut futures = [task.clone().into_future(), queue.after(&task).fill(&x, 1).unwrap().into_future()];
    for future in &mut futures {
        assert!(poll(future, &Arc::new(Panics).into()).is_pending());
    }
    open.send(()).unwrap();
    for future in futures {
        pollster::block_on(future).unwrap();
    }
    assert_eq!(queue.read(&x).unwrap(), [1; 8]);
}

#[device_test]
fn a_host_task_that_awaits_itself_gets_an_error(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = queue.upload(&[0_i32; 8]).unwrap();
    let (sender, behind) = channel::<Event>();
    let behind = Mutex::new(behind);
    let task = queue
        .host_task(move || {
            let event = behind.lock().unwrap().recv().unwrap();
            pollster::block_on(event.into_future())
        })
        .unwrap();
    sender.send(queue.after(&task).fill(&x, 1).unwrap()).unwrap();
    let error = pollster::block_on(task.into_future()).unwrap_err();
    assert!(error.to_string().contains("waits for the task"), "{error}");
}

#[device_test]
fn a_recorded_command_cannot_be_awaited(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = queue.upload(&[0_i32; 8]).unwrap();
    let graph = Graph::from_queue(&queue);
    let recording = graph.record(&queue).unwrap();
    let event = queue.fill(&x, 1).unwrap();
    let waited = event.wait().unwrap_err();
    let awaited = pollster::block_on(event.into_future()).unwrap_err();
    assert_eq!((awaited.kind(), awaited.to_string()), (ErrorKind::Invalid, waited.to_string()));
    recording.end();
}

/// Ten thousand tasks, each with a command of its own, on two threads.
#[device_test]
fn ten_thousand_await_on_two_threads(context: Context) {
    const TASKS: usize = 10_000;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let bundle = bundle(&context);
    let queue = Queue::new(&context).unwrap();
    let x = queue.upload(&[0_i32; 4]).unwrap();
    let (task, open) = gate(&queue);
    let bump = call(&bundle, "bump_by").pointer_mut::<i32>(&x).value(1_i32);
    let behind = queue.after(&task);
    let events: Vec<Event> = (0..TASKS).map(|_| behind.parallel_for(4, bump.clone()).unwrap()).collect();
    let running = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = events
        .into_iter()
        .map(|event| {
            let running = Arc::clone(&running);
            runtime.spawn(async move {
                running.fetch_add(1, Ordering::SeqCst);
                event.await
            })
        })
        .collect();
    until("all tasks run", || running.load(Ordering::SeqCst) == TASKS);
    assert!(!tasks.iter().any(tokio::task::JoinHandle::is_finished));
    open.send(()).unwrap();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    assert_eq!(queue.read(&x).unwrap(), [TASKS as i32; 4]);
}

#[device_test]
fn events_of_other_contexts_and_from_outside_are_awaited(context: Context) {
    let other = oclave::Context::new(context.device()).unwrap();
    let (queue, far) = (Queue::new(&context).unwrap(), Queue::new(&other).unwrap());
    let (x, y) = (queue.upload(&[1_i32; 8]).unwrap(), far.upload(&[0_i32; 8]).unwrap());
    let filled = queue.fill(&x, 4).unwrap();
    let copied = far.after(&filled).fill(&y, 6).unwrap();
    let outside = Event::from_native(copied.to_native(&other).unwrap()).unwrap();
    let mut all = pin!(async { (outside.await, copied.await, filled.await) });
    let (a, b, c) = pollster::block_on(all.as_mut());
    a.and(b).and(c).unwrap();
    assert_eq!(far.read(&y).unwrap(), [6; 8]);
}
