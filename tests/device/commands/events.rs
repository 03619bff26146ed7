//! Rules of command groups, on the selected device.
//!
//! Barriers with and without a wait list, markers, and dependencies on both kinds of queues and
//! across contexts. Also states and times of events, queues without events, and failures.

use std::sync::Arc;

use crate::common::{bundle, call, context, gate, queues, queues_with};
use oclave::command::Advice;
use oclave::device::DeviceKind;
use oclave::event::EventStatus;
use oclave::images::{D2, Image, Rgba, Unorm8};
use oclave::kernel::{KernelBundle, KernelCall};
use oclave::memory::HostTarget;
use oclave::queue::QueueBuilder;
use oclave::record::Session;
use oclave::{Command, Context, ErrorKind, Event, Queue, UsmSlice};

fn bump(bundle: &KernelBundle, value: &UsmSlice<i32>, step: i32) -> KernelCall {
    call(bundle, "bump_by").pointer_mut::<i32>(value).value(step)
}

#[device_test]
fn a_handle_with_dependencies_may_be_kept(context: Context) {
    let bundle = bundle(&context);
    for queue in queues(&context) {
        let value = queue.upload(&[1]).unwrap();
        let (gate, open) = gate(&Queue::new(&context).unwrap());
        let first = queue.after(&gate).submit(Command::fill(&value, 5)).unwrap();
        let behind = queue.after(&first);
        let library = behind.clone();
        assert_eq!((&library, &behind.after(&gate)), (&queue, &queue));
        let events: Vec<Event> =
            (0..3).map(|_| library.after(&first).single_task(bump(&bundle, &value, 1)).unwrap()).collect();
        assert!(!events[2].is_complete().unwrap());
        open.send(()).unwrap();
        assert_eq!(behind.after(&events).read(&value).unwrap(), [8]);
    }
}

fn out_of_order(context: &Context) -> Option<Queue> {
    match Queue::builder(context).out_of_order().build() {
        Ok(queue) => Some(queue),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn is_held(event: &Event) -> bool {
    event.status().unwrap() == EventStatus::Queued
}

#[device_test]
fn a_barrier_without_a_list_is_between_everything(context: Context) {
    let Some(queue) = out_of_order(&context) else { return };
    let (task, open) = gate(&queue);
    let value = context.alloc_device::<i32>(1).unwrap();
    let before = queue.fill(&value, 1).unwrap();
    let barrier = queue.barrier().unwrap();
    let behind = queue.fill(&value, 2).unwrap();
    let group = queue.submit(Command::barrier()).unwrap();
    before.wait().unwrap();
    assert!(is_held(&barrier) && is_held(&behind) && is_held(&group));
    open.send(()).unwrap();
    group.wait().unwrap();
    for event in [&task, &barrier, &behind] {
        assert_eq!(event.status().unwrap(), EventStatus::Complete);
    }
    assert_eq!(queue.read(&value).unwrap(), [2]);
}

#[device_test]
fn a_barrier_with_a_list_waits_for_the_list_only(context: Context) {
    let Some(queue) = out_of_order(&context) else { return };
    let other = Queue::new(&context).unwrap();
    let (passed_by, open_first) = gate(&queue);
    let (listed, open_second) = gate(&other);
    let value = context.alloc_device::<i32>(1).unwrap();
    let barrier = queue.submit(Command::barrier().after(&[&listed])).unwrap();
    let same = queue.after(&[&listed]).barrier().unwrap();
    let behind = queue.fill(&value, 5).unwrap();
    let marker = queue.after(&[&listed]).marker().unwrap();
    assert!(is_held(&barrier) && is_held(&same) && is_held(&behind) && is_held(&marker));
    open_second.send(()).unwrap();
    for event in [&behind, &marker] {
        event.wait().unwrap();
    }
    // What the list does not name still runs.
    assert_ne!(passed_by.status().unwrap(), EventStatus::Complete);
    open_first.send(()).unwrap();
    queue.wait().unwrap();
    // On an in-order queue, too.
    let (task, open) = gate(&queue);
    let barrier = other.submit(Command::barrier().after(&[&task])).unwrap();
    let behind = other.fill(&value, 6).unwrap();
    assert!(is_held(&barrier) && is_held(&behind));
    open.send(()).unwrap();
    behind.wait().unwrap();
    assert_eq!(other.read(&value).unwrap(), [6]);
}

#[device_test]
fn markers_wait_for_everything_and_keep_nothing_back(context: Context) {
    let Some(queue) = out_of_order(&context) else { return };
    let (task, open) = gate(&queue);
    let marker = queue.marker().unwrap();
    let value = context.alloc_device::<i32>(1).unwrap();
    // Passes the marker, which is no barrier; an empty command waits for nothing at all.
    queue.fill(&value, 3).unwrap().wait().unwrap();
    queue.submit(Command::empty()).unwrap().wait().unwrap();
    assert!(is_held(&marker));
    let joined = queue.submit(Command::empty().after(&task)).unwrap();
    assert!(is_held(&joined));
    open.send(()).unwrap();
    marker.wait().unwrap();
    joined.wait().unwrap();
    assert_eq!(task.status().unwrap(), EventStatus::Complete);
}

/// What commands of every kind run with.
struct Scene {
    context: Context,
    bundle: KernelBundle,
    x: UsmSlice<i32>,
    y: UsmSlice<i32>,
    pixels: UsmSlice<[u8; 4]>,
    /// Where the device has images.
    images: Option<[Picture; 2]>,
}

type Picture = Image<Rgba<Unorm8>, D2>;

impl Scene {
    fn new() -> Option<Self> {
        Some(Self::of(context()?))
    }

    fn of(context: Context) -> Self {
        let bundle = bundle(&context);
        let [x, y] = [16, 16].map(|len| context.alloc_device(len).unwrap());
        let pixels = context.alloc_device(16).unwrap();
        let has_images = context.device().capabilities().images.is_some();
        let images = has_images.then(|| [[4, 4]; 2].map(|size| context.alloc_image(size).unwrap()));
        Self { context, bundle, x, y, pixels, images }
    }

    /// Every kind of command, once.
    fn commands(&self) -> Vec<(&'static str, Command)> {
        let Self { bundle, x, y, pixels, images, .. } = self;
        let rect = |memory: &UsmSlice<i32>| memory.rect([4, 4]).unwrap().part([1, 1], [2, 2]).unwrap();
        let mut commands = vec![
            ("kernel", Command::single_task(bump(bundle, x, 1))),
            ("empty range", Command::parallel_for(0, bump(bundle, x, 1))),
            ("copy", Command::copy(x, y)),
            ("rect", Command::copy(&rect(x), &rect(y))),
            ("write", Command::write(x, vec![1; 16])),
            ("read", Command::read(x, &HostTarget::new(16).unwrap())),
            ("fill", Command::fill(x, 1)),
            ("fill of a rect", Command::fill(&rect(x), 1)),
            ("memset", Command::memset(x, 1)),
            ("prefetch", Command::prefetch(x)),
            ("advise", Command::mem_advise(x, Advice::ReadMostly)),
            ("task", Command::host_task(|| ())),
            ("marker", Command::marker()),
            ("barrier", Command::barrier()),
            ("empty", Command::empty()),
        ];
        if let Some([a, b]) = images {
            commands.extend([
                ("write of an image", Command::write(a, vec![[1; 4]; 16])),
                ("read of an image", Command::read(a, &HostTarget::new(16).unwrap())),
                ("fill of an image", Command::fill(a, [1; 4])),
                ("copy of an image", Command::copy(a, b)),
                ("copy from an image", Command::copy(a, pixels)),
                ("copy to an image", Command::copy(pixels, b)),
            ]);
        }
        commands
    }
}

#[device_test(Scene::new)]
fn every_command_waits_for_none_one_and_many(scene: Scene) {
    let context = &scene.context;
    for queue in queues(&scene.context) {
        for (name, command) in scene.commands() {
            queue.submit(command.clone()).unwrap().wait().unwrap();
            // Of another queue, of another context, and tasks.
            let other = Queue::new(context).unwrap();
            let foreign = Queue::new(&Context::new(context.device()).unwrap()).unwrap();
            let far = foreign.marker().unwrap();
            let (task, open) = gate(&other);
            let one = queue.submit(command.clone().after(&task)).unwrap();
            let many = queue.submit(command.clone().after(&[&far, &one]).after(&task)).unwrap();
            assert!(is_held(&one) && is_held(&many), "{name} waits");
            open.send(()).unwrap();
            many.wait().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(one.status().unwrap(), EventStatus::Complete, "{name}");
        }
        queue.wait().unwrap();
    }
}

/// NVIDIA's driver ends migrations too early (Q88).
#[device_test(Scene::new)]
fn no_event_ends_before_the_commands_in_front(scene: Scene) {
    let Scene { context, bundle, .. } = &scene;
    let other = Queue::new(context).unwrap();
    let count = context.alloc_device::<u32>(1).unwrap();
    let slow = call(bundle, "slow").pointer_mut::<u32>(&count).value(1_000_000_u32);
    for queue in queues(context) {
        for (name, command) in scene.commands() {
            let zeroed = other.fill(&count, 0).unwrap();
            let first = queue.after(&zeroed).single_task(slow.clone()).unwrap();
            queue.submit(command.after(&first)).unwrap().wait().unwrap();
            assert_eq!(other.read(&count).unwrap(), [1], "{name}");
        }
    }
}

/// NVIDIA's driver makes about a hundred contexts, and never releases one that filled SVM (Q89).
#[device_test]
fn contexts_with_every_kind_of_command_come_and_go(context: Context) {
    let device = context.device();
    let contexts = if device.kind() == DeviceKind::Gpu { 120 } else { 3 };
    for made in 0..contexts {
        let context = Context::new(device).unwrap_or_else(|error| panic!("after {made} contexts: {error}"));
        let scene = Scene::of(context);
        for queue in queues(&scene.context) {
            for (name, command) in scene.commands() {
                queue.submit(command).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            queue.wait().unwrap();
        }
    }
}

#[device_test(Scene::new)]
fn failures_reach_whoever_waits_for_any_command(scene: Scene) {
    let Scene { bundle, x, .. } = &scene;
    for queue in queues(&scene.context) {
        for (name, command) in scene.commands() {
            let failed = queue.host_task(|| Err::<(), _>("this one")).unwrap();
            let behind = queue.submit(command.after(&failed)).unwrap();
            let error = behind.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::HostTask, "{name}");
            assert!(format!("{error:#}").contains("this one"), "{name}: {error}");
            assert!(matches!(behind.status().unwrap(), EventStatus::Failed(_)), "{name}");
        }
        assert!(queue.wait().is_err());
        queue.wait().unwrap();
        // What the driver refuses when it is put on the queue.
        let session = Session::start();
        session.fail("clEnqueueNDRangeKernel", 1, -6);
        let error = queue.single_task(bump(bundle, x, 1)).unwrap_err();
        assert_eq!((error.code(), error.call()), (Some(-6), Some("clEnqueueNDRangeKernel")));
        // And when that is later: on the event, and once on the queue.
        let (task, open) = gate(&queue);
        let held = queue.after(&[&task]).single_task(bump(bundle, x, 1)).unwrap();
        session.fail("clEnqueueNDRangeKernel", 1, -6);
        open.send(()).unwrap();
        assert_eq!(held.wait().unwrap_err().code(), Some(-6));
        drop(session);
        assert_eq!(queue.wait().unwrap_err().code(), Some(-6));
        queue.wait().unwrap();
    }
}

#[device_test(Scene::new)]
fn states_and_times(scene: Scene) {
    for queue in queues_with(&scene.context, QueueBuilder::profiling) {
        for (name, command) in scene.commands() {
            let event = queue.submit(command).unwrap();
            event.wait().unwrap();
            assert!(event.is_complete().unwrap());
            let times = event.profiling().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(times.queued_ns <= times.ended_ns && times.started_ns <= times.ended_ns, "{name}");
        }
    }
    let plain = Queue::new(&scene.context).unwrap().fill(&scene.x, 1).unwrap();
    plain.wait().unwrap();
    assert_eq!(plain.profiling().unwrap_err().kind(), ErrorKind::Profiling);
}

#[device_test(Scene::new)]
fn queues_without_events_keep_every_rule(scene: Scene) {
    let Scene { context, bundle, x, y, .. } = &scene;
    for queue in queues_with(&scene.context, QueueBuilder::discard_events) {
        let session = Session::start();
        queue.single_task(bump(bundle, x, 1)).unwrap();
        queue.copy(x, y).unwrap();
        queue.marker().unwrap();
        queue.wait().unwrap();
        // A kernel of device globals' or faults' would have one of its own.
        assert_eq!(session.count("clReleaseEvent"), 0, "no event was made");
        drop(session);
        for (name, command) in scene.commands() {
            let event = queue.submit(command.clone()).unwrap();
            let other = Queue::new(context).unwrap();
            let behind = other.submit(command.after(&event)).unwrap();
            behind.wait().unwrap_or_else(|error| panic!("{name}: {error}"));
            event.wait().unwrap();
            assert!(event.is_complete().unwrap(), "{name}");
        }
        let error = queue.fill(x, 1).unwrap().profiling().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Profiling);
        queue.wait().unwrap();
    }
}

#[device_test]
fn one_command_many_times_on_many_queues(context: Context) {
    let bundle = bundle(&context);
    let value = context.alloc_device::<i32>(1).unwrap();
    let queues: Vec<Queue> = (0..3).map(|_| Queue::new(&context).unwrap()).collect();
    let mut last = queues[0].fill(&value, 0).unwrap();
    let command = Command::single_task(bump(&bundle, &value, 2));
    for round in 0..60 {
        last = queues[round % 3].submit(command.clone().after(&last)).unwrap();
    }
    assert_eq!(queues[0].after(&[&last]).read(&value).unwrap(), [120]);
}

#[device_test(Scene::new)]
fn describing_a_command_makes_no_call(scene: Scene) {
    let queue = Queue::new(&scene.context).unwrap();
    let events = [queue.host_task(|| ()).unwrap(), queue.fill(&scene.x, 1).unwrap()];
    events[1].wait().unwrap();
    let session = Session::start();
    let after = |command: Command| command.after(&events[0]).after(&events[1]);
    let all: Vec<_> = scene.commands().into_iter().map(|(_, command)| after(command)).collect();
    let again = all.clone();
    drop((all, again));
    assert_eq!(session.total(), 0, "{:?}", session.counts());
}

#[test]
fn events_go_anywhere() {
    fn everywhere<T: Send + Sync + Clone + std::fmt::Debug + 'static>() {}
    everywhere::<Event>();
    everywhere::<Command>();
    everywhere::<Queue>();
    everywhere::<oclave::memory::UsmRect<f32>>();
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let (task, open) = gate(&queue);
    let task = Arc::new(task);
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let task = Arc::clone(&task);
            std::thread::spawn(move || task.wait())
        })
        .collect();
    open.send(()).unwrap();
    waiting.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
}

/// A driver that keeps the events of a wait list would keep a chain of them for ever (fault Q37).
#[device_test]
fn events_that_have_ended_are_not_given_to_drivers_that_keep_them(context: Context) {
    let keeps = context.device().platform().name().contains("rusticl");
    let (queue, side) = (Queue::new(&context).unwrap(), Queue::new(&context).unwrap());
    let value = queue.upload(&[1]).unwrap();
    let first = queue.fill(&value, 5).unwrap();
    first.wait().unwrap();
    let session = Session::start();
    let second = side.after(&first).fill(&value, 6).unwrap();
    assert_eq!(session.waits(), u64::from(!keeps));
    drop(session);
    // One that runs on is waited for by everyone.
    assert_eq!(queue.after(&second).read(&value).unwrap(), [6]);
}
