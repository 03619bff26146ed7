//! Host tasks with accessors of buffers: their place among commands, what they see, failures,
//! graphs, and waits inside of tasks; on the selected device.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use crate::common::{queues_and_measuring, strategies};
use oclave::event::EventStatus;
use oclave::graph::DynamicCommandGroup;
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, Context, ErrorKind, Event, Graph, Queue};

use crate::kernels::buffers::{advance, number};

const LEN: usize = 64;

fn numbers(first: u32) -> Vec<u32> {
    (first..first + LEN as u32).collect()
}

fn negate(buffer: &Buffer<u32>) -> Command {
    Command::host_task_with(buffer.read_write(), |x| x.iter_mut().for_each(|x| *x = x.wrapping_neg()))
}

#[device_test]
fn tasks_take_their_place_by_their_accessors(context: Context) {
    for queue in queues_and_measuring(&context) {
        let (x, sum) = (Buffer::<u32>::new(LEN).unwrap(), Buffer::<u32>::new(1).unwrap());
        queue.parallel_for(LEN, number(x.write().no_init(), 1)).unwrap();
        queue.submit(negate(&x)).unwrap();
        queue.parallel_for(LEN, advance(x.read_write(), 3, 0)).unwrap();
        queue
            .host_task_with((x.read(), sum.write()), |(x, sum)| {
                assert_eq!((x.len(), sum.len()), (LEN, 1));
                sum[0] = x.iter().fold(0, |a, b| a.wrapping_add(*b));
            })
            .unwrap();
        queue.parallel_for(1, advance(sum.read_write(), 1, 5)).unwrap();
        let expected: u32 = 5_u32.wrapping_sub(3 * (1..=LEN as u32).sum::<u32>());
        assert_eq!(*sum.host_read().unwrap(), [expected]);
        assert_eq!(x.host_read().unwrap()[7], 24_u32.wrapping_neg());
        queue.wait().unwrap();
    }
}

#[device_test]
fn reads_and_parts_apart_are_not_ordered(context: Context) {
    let Some(queue) = queues_and_measuring(&context).into_iter().find(Queue::is_out_of_order) else {
        return println!("skipped: no out-of-order queues");
    };
    let x = Buffer::with_data(LEN, numbers(0)).unwrap();
    // Each waits for the other to run.
    let both = Arc::new(Barrier::new(2));
    for _ in 0..2 {
        let both = Arc::clone(&both);
        let read = move |x: &[u32]| {
            both.wait();
            assert_eq!(x[3], 3);
        };
        queue.host_task_with(x.read(), read).unwrap();
    }
    queue.wait().unwrap();
    for half in [0..LEN / 2, LEN / 2..LEN] {
        let both = Arc::clone(&both);
        let write = move |x: &mut [u32]| {
            both.wait();
            x.fill(9);
        };
        queue.host_task_with(x.write().slice(half).unwrap(), write).unwrap();
    }
    queue.wait().unwrap();
    assert_eq!(*x.host_read().unwrap(), [9; LEN]);
}

#[device_test]
fn contents_follow_between_contexts(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let x = Buffer::with_data(LEN, numbers(0)).unwrap();
    let queues: Vec<Queue> =
        queues_and_measuring(&context).into_iter().chain(queues_and_measuring(&other)).collect();
    let mut expected = numbers(0);
    for round in 0..20_usize {
        let (kernel, task) = (&queues[round % queues.len()], &queues[(round + 2) % queues.len()]);
        kernel.parallel_for(LEN, advance(x.read_write(), 3, 1)).unwrap();
        task.submit(negate(&x)).unwrap();
        expected.iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(1).wrapping_neg());
    }
    assert_eq!(*x.host_read().unwrap(), *expected);
}

#[device_test]
fn tasks_get_boxes_side_by_side_and_as_many_accessors_as_they_ask_for(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = Buffer::with_data([4, 16], numbers(0)).unwrap();
    let tile = x.read_write().part([1, 3], [2, 2]).unwrap();
    queue
        .host_task_with(tile, |tile| {
            assert_eq!(*tile, [19, 20, 35, 36]);
            tile.copy_from_slice(&[1, 2, 3, 4]);
        })
        .unwrap();
    let mut expected = numbers(0);
    for (at, value) in [(19, 1), (20, 2), (35, 3), (36, 4)] {
        expected[at] = value;
    }
    assert_eq!(*x.host_read().unwrap(), *expected);

    let many: Vec<Buffer<u32>> = (0..5).map(|_| Buffer::new(3).unwrap()).collect();
    let (fresh, nothing) = (x.write().no_init(), x.read().slice(0..0));
    assert!(nothing.is_ok());
    queue
        .host_task_with((many.iter().map(Buffer::write).collect::<Vec<_>>(), fresh), |(many, fresh)| {
            assert_eq!(*fresh, [0; LEN]);
            fresh.fill(7);
            many.into_iter().zip(1..).for_each(|(part, value)| part.fill(value));
        })
        .unwrap();
    queue.host_task_with((nothing.unwrap(),), |(nothing,)| assert!(nothing.is_empty())).unwrap();
    queue.wait().unwrap();
    assert_eq!(*x.host_read().unwrap(), [7; LEN]);
    for (part, value) in many.iter().zip(1..) {
        assert_eq!(*part.host_read().unwrap(), [value; 3]);
    }
}

#[device_test]
fn what_a_failed_task_wrote_is_not_seen(context: Context) {
    for queue in queues_and_measuring(&context) {
        let x = Buffer::with_data(LEN, numbers(0)).unwrap();
        let error = |x: &mut [u32]| {
            x.fill(1);
            Err("the disk is full")
        };
        let failed = queue.host_task_with(x.read_write(), error).unwrap();
        let behind = queue.after(&[&failed]).submit(negate(&x)).unwrap();
        for event in [&failed, &behind] {
            let error = event.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::HostTask);
            assert!(format!("{error:#}").contains("the disk is full"), "{error}");
        }
        assert!(queue.wait().is_err());
        // Who looks at the buffer is told once.
        assert!(x.host_read().is_err());
        assert_eq!(*x.host_read().unwrap(), *numbers(0));
        let panics = |x: &mut [u32]| -> () {
            x.fill(2);
            panic!("on purpose");
        };
        assert!(queue.host_task_with(x.write(), panics).unwrap().wait().is_err());
        assert!(queue.wait().is_err());
        assert!(x.host_read().is_err());
        queue.submit(negate(&x)).unwrap().wait().unwrap();
        assert_eq!(x.host_read().unwrap()[1], 1_u32.wrapping_neg());
        queue.wait().unwrap();
    }
}

#[device_test]
fn accessors_that_overlap_are_refused_where_one_writes(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = Buffer::with_data(LEN, numbers(0)).unwrap();
    let command = Command::host_task_with((x.read(), x.write().slice(3..4).unwrap()), |_| ());
    let graph = Graph::from_queue(&queue);
    for error in [queue.submit(command.clone()).unwrap_err(), graph.add(command.clone()).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("two accessors of the same elements"), "{error}");
    }
    let recording = graph.record(&queue).unwrap();
    assert_eq!(queue.submit(command).unwrap_err().kind(), ErrorKind::Invalid);
    recording.end();
    let parts =
        (x.write().slice(0..4).unwrap(), x.write().slice(4..8).unwrap(), x.read().slice(8..).unwrap());
    queue.host_task_with(parts, |(a, b, rest)| a.copy_from_slice(&rest[..b.len()])).unwrap();
    queue.host_task_with((x.read(), x.read()), |(a, b)| assert_eq!(a, b)).unwrap();
    queue.wait().unwrap();
    assert_eq!(x.host_read().unwrap()[..5], [8, 9, 10, 11, 4]);
}

#[device_test]
fn tasks_wait_for_host_accessors_and_buffers_wait_for_tasks(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let target = HostTarget::<u32>::new(LEN).unwrap();
    let x = Buffer::<u32>::new(LEN).unwrap();
    x.set_final_data(Some(&target)).unwrap();
    let mut writer = x.write().host().unwrap();
    let task = queue.submit(negate(&x)).unwrap();
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(task.status().unwrap(), EventStatus::Queued);
    writer.fill(2);
    writer.finish().unwrap();
    let slow = |x: &mut [u32]| {
        std::thread::sleep(Duration::from_millis(20));
        x[0] = 1;
    };
    queue.host_task_with(x.read_write(), slow).unwrap();
    // The last handle waits for the tasks.
    drop(x);
    let mut expected = [2_u32.wrapping_neg(); LEN];
    expected[0] = 1;
    assert_eq!(target.to_vec().unwrap(), expected);
}

/// Runs a task on a queue, and gives what it sent.
fn told(queue: &Queue, task: impl Fn() -> ErrorKind + Send + Sync + 'static) -> ErrorKind {
    let (sender, told) = mpsc::channel();
    queue.host_task(move || sender.send(task()).unwrap()).unwrap();
    told.recv_timeout(Duration::from_secs(60)).expect("the task waits for itself")
}

#[device_test]
fn borrowed_memory_is_left_alone_when_the_wait_for_a_copy_is_refused(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = Buffer::with_data(LEN, numbers(0)).unwrap();
    let (own, written) = (queue.clone(), x.clone());
    let write = move || own.write(&written.write(), &[7; LEN]).unwrap_err().kind();
    assert_eq!(told(&queue, write), ErrorKind::Invalid);
    // The copy comes after the task, and has data of its own.
    queue.wait().unwrap();
    assert_eq!(queue.read(&x.read()).unwrap(), [7; LEN]);
    let (own, read) = (queue.clone(), x.clone());
    let read = move || {
        let mut data = [5; LEN];
        let kind = own.read_into(&read.read(), &mut data).unwrap_err().kind();
        assert_eq!(data, [5; LEN]);
        kind
    };
    assert_eq!(told(&queue, read), ErrorKind::Invalid);
    queue.wait().unwrap();
}

#[device_test]
fn a_task_that_waits_for_itself_is_told(context: Context) {
    for queue in queues_and_measuring(&context) {
        let x = Buffer::with_data(LEN, numbers(0)).unwrap();
        // For its own buffer.
        let (own, (sender, seen)) = (x.clone(), mpsc::channel());
        let look = move |_: &mut [u32]| sender.send(own.host_read().map(drop)).unwrap();
        queue.host_task_with(x.write(), look).unwrap();
        let error = seen.recv_timeout(Duration::from_secs(60)).unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("waits for the task"), "{error}");
        // For its queue.
        let own = queue.clone();
        assert_eq!(told(&queue, move || own.wait().unwrap_err().kind()), ErrorKind::Invalid);
        // For its direct and indirect successors, through another queue and another context.
        let other = Queue::new(&Context::new(context.device()).unwrap()).unwrap();
        let (give, event) = mpsc::channel::<Event>();
        let event = std::sync::Mutex::new(event);
        let (sender, seen) = mpsc::channel();
        let task = queue
            .host_task(move || {
                let event = event.lock().unwrap().recv().unwrap();
                sender.send(event.wait().map_err(|error| error.kind())).unwrap();
            })
            .unwrap();
        let far = other.after(&[&task]).submit(negate(&x)).unwrap();
        let further = queue.parallel_for(LEN, advance(x.read_write(), 1, 1)).unwrap();
        let event = queue.submit(Command::empty().after(&far).after(&further)).unwrap();
        give.send(event.clone()).unwrap();
        assert_eq!(seen.recv_timeout(Duration::from_secs(60)).unwrap(), Err(ErrorKind::Invalid));
        event.wait().unwrap();
        queue.wait().unwrap();
    }
}

#[device_test]
fn tasks_that_wait_for_each_other_are_told(context: Context) {
    let queues = [Queue::new(&context).unwrap(), Queue::new(&context).unwrap()];
    let both = Arc::new(Barrier::new(2));
    let (sender, told) = mpsc::channel();
    // Each waits for the end of the other's queue.
    for (own, other) in [(0, 1), (1, 0)] {
        let (both, sender, other) = (Arc::clone(&both), sender.clone(), queues[other].clone());
        let wait = move || {
            both.wait();
            sender.send(other.wait().map_err(|error| error.kind())).unwrap();
        };
        queues[own].host_task(wait).unwrap();
    }
    let told: Vec<_> = (0..2).map(|_| told.recv_timeout(Duration::from_secs(60)).unwrap()).collect();
    assert!(told.contains(&Err(ErrorKind::Invalid)), "{told:?}");
    queues.iter().for_each(|queue| queue.wait().unwrap());
}

#[device_test]
fn tasks_may_wait_for_what_does_not_wait_for_them(context: Context) {
    for queue in queues_and_measuring(&context) {
        let (x, y) = (Buffer::with_data(LEN, numbers(0)).unwrap(), Buffer::<u32>::new(LEN).unwrap());
        let other = Queue::new(&context).unwrap();
        let source = x.clone();
        let task = move |y: &mut [u32]| -> oclave::Result<()> {
            other.submit(negate(&source))?;
            y.copy_from_slice(&source.host_read()?);
            Ok(())
        };
        queue.host_task_with(y.write().no_init(), task).unwrap();
        assert_eq!(y.host_read().unwrap()[3], 3_u32.wrapping_neg());
        queue.wait().unwrap();
    }
}

#[device_test]
fn graphs_order_tasks_by_their_accessors(context: Context) {
    let device = context.device();
    for strategy in strategies(device) {
        for queue in queues_and_measuring(&context) {
            let (x, y) = (Buffer::<u32>::new(LEN).unwrap(), Buffer::<u32>::new(LEN).unwrap());
            let commands = [
                Command::parallel_for(LEN, advance(x.read_write(), 3, 1)),
                Command::host_task_with((x.read(), y.read_write()), |(x, y)| {
                    y.iter_mut().zip(x).for_each(|(y, x)| *y = y.wrapping_sub(*x));
                }),
                Command::parallel_for(LEN, advance(y.read_write(), 5, 2)),
                negate(&x),
            ];
            let built = Graph::from_queue(&queue);
            let nodes = commands.each_ref().map(|command| built.add(command.clone()).unwrap());
            let edges = nodes.each_ref().map(|node| node.predecessors().len());
            assert_eq!(edges, [0, 1, 1, 2]);
            let recorded = Graph::from_queue(&queue);
            let recording = recorded.record(&queue).unwrap();
            commands.iter().for_each(|command| drop(queue.submit(command.clone()).unwrap()));
            recording.end();
            let (mut a, mut b) = (0_u32, 0_u32);
            for graph in [built, recorded] {
                let executable =
                    graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
                for _ in 0..3 {
                    queue.parallel_for(LEN, advance(x.read_write(), 1, 7)).unwrap();
                    queue.submit_graph(&executable).unwrap();
                    queue.submit(negate(&y)).unwrap();
                    a = a.wrapping_add(7).wrapping_mul(3).wrapping_add(1);
                    b = b.wrapping_sub(a).wrapping_mul(5).wrapping_add(2).wrapping_neg();
                    a = a.wrapping_neg();
                }
                assert_eq!(*x.host_read().unwrap(), [a; LEN], "{strategy:?}");
                assert_eq!(*y.host_read().unwrap(), [b; LEN], "{strategy:?}");
            }
            queue.wait().unwrap();
        }
    }
}

#[device_test]
fn tasks_in_graphs_are_updated_with_their_accessors(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let [x, y] = [1, 2].map(|first| Buffer::with_data(LEN, numbers(first)).unwrap());
    let graph = Graph::from_queue(&queue);
    let kernel = graph.add(Command::parallel_for(LEN, advance(x.read_write(), 1, 1))).unwrap();
    let node = graph.after(&kernel).add(negate(&x)).unwrap();
    let executable = graph.finalizer().updatable().finalize().unwrap();
    queue.submit_graph(&executable).unwrap();
    node.update_command(negate(&y)).unwrap();
    executable.update(&node).unwrap();
    queue.submit_graph(&executable).unwrap();
    // Commands after the graph wait for its new buffer.
    queue.parallel_for(LEN, advance(y.read_write(), 1, 3)).unwrap();
    assert_eq!(x.host_read().unwrap()[0], 2_u32.wrapping_neg().wrapping_add(1));
    assert_eq!(y.host_read().unwrap()[0], 2_u32.wrapping_neg().wrapping_add(3));
    let overlapping = Command::host_task_with((x.read(), x.write()), |_| ());
    assert_eq!(node.update_command(overlapping).unwrap_err().kind(), ErrorKind::Invalid);

    // One of two tasks.
    let graph = Graph::from_queue(&queue);
    let group = DynamicCommandGroup::new(&graph, [negate(&x), negate(&y)]).unwrap();
    let node = graph.add(&group).unwrap();
    let executable = graph.finalizer().updatable().finalize().unwrap();
    let [a, b] = [&x, &y].map(|buffer| buffer.host_read().unwrap()[5]);
    queue.submit_graph(&executable).unwrap();
    group.set_active_index(1).unwrap();
    executable.update(&node).unwrap();
    queue.submit_graph(&executable).unwrap();
    queue.submit_graph(&executable).unwrap();
    assert_eq!([&x, &y].map(|buffer| buffer.host_read().unwrap()[5]), [a.wrapping_neg(), b]);
}

#[device_test]
fn failures_inside_graphs_reach_who_waits_for_the_buffer(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = Buffer::with_data(LEN, numbers(0)).unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let graph = Graph::from_queue(&queue);
    let fails_at_first = move |x: &mut [u32]| {
        x[0] += 100;
        if runs.fetch_add(1, Ordering::SeqCst) == 0 { Err("not yet") } else { Ok(()) }
    };
    graph.add(Command::host_task_with(x.read_write(), fails_at_first)).unwrap();
    graph.add(Command::parallel_for(LEN, advance(x.read_write(), 1, 1))).unwrap();
    let executable = graph.finalize().unwrap();
    assert!(
        format!("{:#}", queue.submit_graph(&executable).unwrap().wait().unwrap_err()).contains("not yet")
    );
    assert!(format!("{:#}", x.host_read().unwrap_err()).contains("not yet"));
    assert!(queue.wait().is_err());
    assert_eq!(*x.host_read().unwrap(), *numbers(0));
    queue.submit_graph(&executable).unwrap().wait().unwrap();
    assert_eq!(x.host_read().unwrap()[..2], [101, 2]);
    // Buffers that write back are not taken.
    x.set_final_data(Some(&HostTarget::new(LEN).unwrap())).unwrap();
    assert_eq!(graph.add(negate(&x)).unwrap_err().kind(), ErrorKind::Invalid);
}

/// A task that fails the first time, and adds one to each element.
fn fails_once(x: &Buffer<u32>) -> Command {
    let runs = AtomicUsize::new(0);
    Command::host_task_with(x.read_write(), move |x: &mut [u32]| {
        x.iter_mut().for_each(|x| *x += 1);
        if runs.fetch_add(1, Ordering::SeqCst) == 0 { Err("the first time") } else { Ok(()) }
    })
}

/// Whether each event is that of a success.
fn succeeded(events: &[Event]) -> Vec<bool> {
    events.iter().map(|event| event.wait().is_ok()).collect()
}

#[device_test]
fn commands_after_a_failed_task_run(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let elsewhere = Queue::new(&other).unwrap();
    for queue in queues_and_measuring(&context) {
        // All at once, and each when the one before has ended.
        for at_once in [true, false] {
            let x = Buffer::with_data(LEN, numbers(0)).unwrap();
            let task = fails_once(&x);
            let submit = |_| {
                let event = queue.submit(task.clone()).unwrap();
                if !at_once {
                    let _ = event.wait();
                }
                event
            };
            let events: Vec<Event> = (0..5).map(submit).collect();
            assert_eq!(succeeded(&events), [false, true, true, true, true]);
            // Where the last one has succeeded, nobody is told of the first.
            assert_eq!(*x.host_read().unwrap(), *numbers(4));
            // The queue tells once.
            assert!(format!("{:#}", queue.wait().unwrap_err()).contains("the first time"));
            queue.wait().unwrap();
        }
        // Commands of other kinds, also in another context. Only who names the event fails.
        let x = Buffer::with_data(LEN, numbers(0)).unwrap();
        let failed = queue.submit(fails_once(&x)).unwrap();
        let named = queue.after(&failed).parallel_for(LEN, advance(x.read_write(), 5, 5)).unwrap();
        let kernel = queue.parallel_for(LEN, advance(x.read_write(), 1, 1)).unwrap();
        let moved = elsewhere.parallel_for(LEN, advance(x.read_write(), 1, 1)).unwrap();
        let back = queue.write_async(&x.write().slice(..1).unwrap(), vec![7]).unwrap();
        assert_eq!(succeeded(&[failed, named, kernel, moved, back]), [false, false, true, true, true]);
        let mut expected = numbers(2);
        expected[0] = 7;
        assert_eq!(queue.read(&x.read()).unwrap(), expected);
        assert_eq!(*x.host_read().unwrap(), *expected);
        assert!(queue.wait().is_err());
        queue.wait().unwrap();
    }
}

#[device_test]
fn submissions_of_a_graph_after_a_failed_one_run(context: Context) {
    for queue in queues_and_measuring(&context) {
        for strategy in strategies(context.device()) {
            for alone in [true, false] {
                let x = Buffer::with_data(LEN, numbers(0)).unwrap();
                let graph = Graph::from_queue(&queue);
                graph.add(fails_once(&x)).unwrap();
                if !alone {
                    graph.add(Command::parallel_for(LEN, advance(x.read_write(), 1, 1))).unwrap();
                }
                let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
                let events: Vec<Event> = (0..5).map(|_| queue.submit_graph(&executable).unwrap()).collect();
                // Another graph and a kernel that use the buffer.
                let graph = Graph::from_queue(&queue);
                graph.add(Command::parallel_for(LEN, advance(x.read_write(), 1, 1))).unwrap();
                let other = queue.submit_graph(&graph.finalize().unwrap()).unwrap();
                let kernel = queue.parallel_for(LEN, advance(x.read_write(), 1, 1)).unwrap();
                assert_eq!(succeeded(&events), [false, true, true, true, true], "{strategy:?}");
                assert_eq!(succeeded(&[other, kernel]), [true, true], "{strategy:?}");
                let each = if alone { 1 } else { 2 };
                assert_eq!(*x.host_read().unwrap(), *numbers(4 * each + 2), "{strategy:?}");
                assert!(queue.wait().is_err());
                queue.wait().unwrap();
            }
        }
    }
}

#[device_test]
fn commands_after_one_that_never_ran_run(context: Context) {
    let tasks = Queue::new(&context).unwrap();
    for queue in queues_and_measuring(&context) {
        let target = HostTarget::<u32>::new(LEN).unwrap();
        let x = Buffer::with_data(LEN, numbers(0)).unwrap();
        x.set_final_data(Some(&target)).unwrap();
        queue.parallel_for(LEN, advance(x.read_write(), 1, 1)).unwrap();
        // Its dependency failed.
        let failing = tasks.host_task(|| Err::<(), _>("this one")).unwrap();
        let stopped = || queue.after(&failing).parallel_for(LEN, advance(x.read_write(), 5, 5)).unwrap();
        let first = stopped();
        let behind = queue.parallel_for(LEN, advance(x.read_write(), 1, 1)).unwrap();
        assert_eq!(succeeded(&[first, behind]), [false, true]);
        // What is written back does not go missing either.
        let last = stopped();
        drop(x);
        assert!(last.wait().is_err());
        assert_eq!(target.to_vec().unwrap(), numbers(2));
        let _ = (queue.wait(), tasks.wait());
    }
}
