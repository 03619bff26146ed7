//! Cycles of every kind of object leave no memory behind, on the selected device.
//!
//! `cargo test` makes 2000 cycles of each kind, `ci/sweep leaks` 100,000 (`OCLAVE_LEAK_CYCLES`).
//! What costs a driver milliseconds is made less often, by the divisor that its row has.

use crate::common::{context, resident_bytes};
use oclave::graph::{DynamicParameter, ReplayStrategy};
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, Context, Event, Graph, Queue, UsmSlice};

mod kernels {
    oclave::include_kernels!("guide");
}
use kernels::saxpy::saxpy;

/// What the cycles share.
struct Setting {
    context: Context,
    other: Context,
    queue: Queue,
    x: UsmSlice<f32>,
    y: UsmSlice<f32>,
}

impl Setting {
    fn new() -> Option<Self> {
        let context = context()?;
        let other = Context::new(context.device()).unwrap();
        let queue = Queue::new(&context).unwrap();
        let x = context.alloc_device::<f32>(64).unwrap();
        let y = context.alloc_device::<f32>(64).unwrap();
        Some(Self { context, other, queue, x, y })
    }

    fn graph(&self, nodes: usize) -> Graph {
        let graph = Graph::from_queue(&self.queue);
        for _ in 0..nodes {
            let node = Command::parallel_for(64, saxpy(1.0_f32, &self.x, &self.y));
            graph.after_all_leaves().add(node).unwrap();
        }
        graph
    }
}

/// A name, what the number of cycles is divided by, and one cycle; or none where the device lacks
/// something.
type Kind = (&'static str, usize, fn(&Setting) -> Option<Box<dyn FnMut() + '_>>);

const KINDS: &[Kind] = &[
    ("context", 100, |s| Some(Box::new(|| drop(Context::new(s.context.device()).unwrap())))),
    ("queue", 10, |s| Some(Box::new(|| drop(Queue::builder(&s.context).out_of_order().build().unwrap())))),
    ("device_memory", 1, |s| Some(Box::new(|| drop(s.context.alloc_device::<f32>(1024).unwrap())))),
    ("shared_memory", 1, |s| {
        Some(Box::new(|| s.context.alloc_shared::<f32>(64).unwrap().write().unwrap().fill(1.0)))
    }),
    ("buffer", 1, |s| {
        Some(Box::new(|| {
            let buffer = Buffer::from_vec(vec![1.0_f32; 64]).unwrap();
            s.queue.parallel_for(64, saxpy(1.0_f32, &s.x, buffer.read_write())).unwrap();
            drop(buffer.host_read().unwrap());
        }))
    }),
    ("launch", 1, |s| {
        Some(Box::new(|| s.queue.parallel_for(64, saxpy(1.0_f32, &s.x, &s.y)).unwrap().wait().unwrap()))
    }),
    ("readback", 1, |s| Some(Box::new(|| drop(s.queue.read_async(&s.x).unwrap().wait().unwrap())))),
    ("device_global", 1, |s| {
        Some(Box::new(|| {
            s.queue.write(&kernels::counters::COUNTER, &1).unwrap();
            s.queue.read(&kernels::counters::COUNTER).unwrap();
        }))
    }),
    ("host_task", 1, |s| Some(Box::new(|| s.queue.host_task(|| ()).unwrap().wait().unwrap()))),
    ("event_of_another_context", 10, |s| {
        Some(Box::new(|| {
            let event = s.queue.fill(&s.x, 1.0).unwrap();
            Event::from_native(event.to_native(&s.other).unwrap()).unwrap().wait().unwrap();
        }))
    }),
    ("specialized_program", 1000, |s| {
        let mut radius = 0;
        Some(Box::new(move || {
            let context = Context::new(s.context.device()).unwrap();
            let queue = Queue::new(&context).unwrap();
            let x = context.alloc_device::<f32>(64).unwrap();
            radius = (radius + 1) % 4;
            let call = kernels::blur::blur(&x, &x).spec(&kernels::blur::RADIUS, radius);
            queue.parallel_for(64, call).unwrap().wait().unwrap();
        }))
    }),
    ("graph", 10, |s| Some(Box::new(|| drop(s.graph(8).finalize().unwrap())))),
    ("recording", 10, |s| {
        Some(Box::new(|| {
            let graph = Graph::from_queue(&s.queue);
            let recording = graph.record(&s.queue).unwrap();
            s.queue.parallel_for(64, saxpy(1.0_f32, &s.x, &s.y)).unwrap();
            recording.end();
            drop(graph.finalize().unwrap());
        }))
    }),
    ("command_buffer", 10, |s| {
        s.context.device().capabilities().command_buffer.as_ref()?;
        Some(Box::new(|| {
            let executable =
                s.graph(4).finalizer().strategy(ReplayStrategy::CommandBuffer).finalize().unwrap();
            s.queue.submit_graph(&executable).unwrap().wait().unwrap();
        }))
    }),
    ("replay_enqueued", 1, |s| replay(s, ReplayStrategy::Enqueue)),
    ("replay_interpreted", 1, |s| replay(s, ReplayStrategy::Interpreter)),
    ("replay_command_buffer", 1, |s| {
        s.context.device().capabilities().command_buffer.as_ref()?;
        replay(s, ReplayStrategy::CommandBuffer)
    }),
    ("replay_with_host_task", 10, |s| {
        let target = HostTarget::new(64).unwrap();
        let graph = s.graph(2);
        graph.after_all_leaves().add(Command::host_task(|| ())).unwrap();
        graph.after_all_leaves().add(Command::read(&s.y, &target)).unwrap();
        let executable = graph.finalize().unwrap();
        Some(Box::new(move || s.queue.submit_graph(&executable).unwrap().wait().unwrap()))
    }),
    ("update", 1, |s| {
        let graph = Graph::from_queue(&s.queue);
        let strength = DynamicParameter::new(&graph, 0.0_f32);
        let node = graph.add(Command::parallel_for(64, saxpy(&strength, &s.x, &s.y))).unwrap();
        let executable = graph.finalizer().updatable().finalize().unwrap();
        let mut value = 0.0;
        Some(Box::new(move || {
            value += 1.0;
            strength.update(value).unwrap();
            executable.update(&node).unwrap();
            s.queue.submit_graph(&executable).unwrap().wait().unwrap();
        }))
    }),
];

fn replay(s: &Setting, strategy: ReplayStrategy) -> Option<Box<dyn FnMut() + '_>> {
    let executable = s.graph(8).finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
    Some(Box::new(move || s.queue.submit_graph(&executable).unwrap().wait().unwrap()))
}

/// Growth that is the driver's: the kind, a part of the platform's name, and bytes a cycle.
const DRIVERS: &[(&str, &str, usize)] = &[
    // Q6: a buffer, and a replay of four kernels.
    ("command_buffer", "Intel", 17 << 10),
    ("replay_command_buffer", "Intel", 20 << 10),
];

/// The cycles of a kind run in this many parts, and the growth of memory is measured for each.
const PARTS: usize = 10;

#[device_test(alone)]
fn cycles_of_every_kind_leave_no_memory() {
    let Some(setting) = Setting::new() else { return };
    if resident_bytes().is_none() {
        println!("skipped: the system does not tell how much memory the process has");
        return;
    }
    let cycles: usize = match std::env::var("OCLAVE_LEAK_CYCLES") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => 2000,
    };
    let wanted = std::env::var("OCLAVE_LEAK_KIND").unwrap_or_default();
    println!("kind,device,cycles,bytes_a_cycle");
    let mut leaks = Vec::new();
    for (name, divisor, prepare) in KINDS.iter().filter(|(name, ..)| name.contains(&wanted)) {
        let Some(mut cycle) = prepare(&setting) else { continue };
        let cycles = (cycles / divisor).max(2 * PARTS);
        // The first fifth fills the pools and caches, and so do thirty contexts of NVIDIA's driver.
        for _ in 0..cycles.div_ceil(5).max(30) {
            cycle();
        }
        setting.queue.wait().unwrap();
        // A leak grows in each part. A driver's threads allocate stacks and arenas of megabytes now
        // and then, which shows in some parts only.
        let growths = [(); PARTS].map(|()| {
            let before = resident_bytes().unwrap();
            for _ in 0..cycles / PARTS {
                cycle();
            }
            setting.queue.wait().unwrap();
            resident_bytes().unwrap().saturating_sub(before)
        });
        let growth = PARTS * growths.into_iter().min().unwrap_or_default();
        let device = setting.context.device();
        println!("{name},{},{cycles},{:.1}", device.name(), growth as f64 / cycles as f64);
        let vendor = device.platform().name();
        let drivers = DRIVERS.iter().find(|(kind, part, _)| kind == name && vendor.contains(part));
        let known = drivers.map_or(0, |(_, _, bytes)| bytes * cycles);
        // Allocators keep some pages for themselves.
        if growth > known + (3 << 20) + 16 * cycles {
            leaks.push(format!("{name}: {growth} bytes in {cycles} cycles"));
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}
