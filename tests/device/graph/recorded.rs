//! Programs that know nothing of graphs, recorded as they are by a queue that records.
//!
//! These are the four largest programs that submit through functions of their own. They are the
//! pipeline of `filters`, the steps of `planets`, and `solver` and `pictures` of `ports`. A graph runs before
//! anything else has made the results, so that one that does nothing is found.

#![allow(dead_code, reason = "the examples use more of themselves")]

#[path = "../../../examples/planets/src/bodies.rs"]
mod bodies;
#[path = "../../../examples/ports/src/pictures.rs"]
mod pictures;
#[path = "../../../examples/filters/src/pipeline.rs"]
mod pipeline;
#[path = "../../../examples/filters/src/reference.rs"]
mod reference;
#[path = "../../../examples/filters/src/settings.rs"]
mod settings;
#[path = "../../../examples/ports/src/solver.rs"]
mod solver;
#[path = "../../../examples/planets/src/system.rs"]
mod system;
#[path = "../../../examples/filters/src/tones.rs"]
mod tones;

use std::error::Error;
use std::path::PathBuf;

use oclave::device::Aspects;
use oclave::graph::Waits;
use oclave::{Context, Device, Graph, Queue};

/// Under the names by which the examples know them.
mod kernels {
    mod filters {
        oclave::include_kernels!("filters");
    }
    mod planets {
        oclave::include_kernels!("planets");
    }
    mod ports {
        oclave::include_kernels!("ports");
    }
    pub(crate) use filters::*;
    pub(crate) use planets::leapfrog;
    pub(crate) use ports::{pictures, solver};
}

/// What ports return and get, as in `examples/ports/src/main.rs`.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

struct Setting {
    queue: Queue,
    size: usize,
    out: Option<PathBuf>,
}

/// What ports call to run. Here, only the recording runs.
fn both_ways(
    queue: &Queue,
    name: &str,
    commands: impl Fn(&Queue) -> oclave::Result<()>,
    check: impl Fn(&Queue) -> Outcome<String>,
) -> Outcome {
    assert!(check(queue).is_err(), "{name}: the results are there before anything ran");
    let graph = Graph::from_queue(queue);
    let recording = graph.record(queue)?;
    commands(queue)?;
    recording.end();
    let executable = graph.finalize()?;
    for run in ["first", "second"] {
        queue.submit_graph(&executable)?.wait()?;
        let seen = check(queue).map_err(|error| format!("{name}, {run} run: {error}"))?;
        println!("{name}: {} nodes, {seen}", executable.len());
    }
    Ok(())
}

#[device_test]
fn the_solver_of_ports(queue: Queue) {
    solver::run(&Setting { queue, size: 32, out: None }).unwrap();
}

#[device_test]
fn the_pictures_of_ports(context: Context, queue: Queue) {
    if context.device().capabilities().images.is_none() {
        println!("skipped: the device has no images");
        return;
    }
    pictures::run(&Setting { queue, size: 32, out: None }).unwrap();
}

#[device_test]
fn the_pipeline_of_filters(device: Device) {
    if device.capabilities().memory().is_none() {
        println!("skipped: kernels cannot address memory by pointers on the device");
        return;
    }
    let (width, height) = (64, 48);
    let rgb: Vec<u8> = (0..3 * width * height).map(|i| (i * 31 % 251) as u8).collect();
    let before = settings::Settings::default();
    let after = before.of_frame(2);
    let pipeline = pipeline::Pipeline::new(&device, width, height, &before).unwrap();
    let (outputs, _) = pipeline.run(pipeline::Way::Eager, &rgb, &before).unwrap();
    let expected = reference::run(&rgb, width, &after);
    assert_ne!(outputs, expected, "other settings have other results");
    let queue = &pipeline.queue;
    let graph = Graph::builder(queue.context(), queue.device()).allow_device_globals().build().unwrap();
    let recording = graph.record(queue).unwrap();
    let events = pipeline.submit(pipeline::Way::Eager, queue, &after).unwrap();
    recording.end();
    assert_eq!(graph.nodes().len(), events.len());
    let executable = graph.finalize().unwrap();
    for _ in 0..2 {
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(pipeline.outputs().unwrap(), expected);
    }
}

/// It waits for its queue after the steps, which is a barrier of the recording.
#[device_test]
fn the_steps_of_planets(context: Context, queue: Queue) {
    if !context.device().capabilities().aspects.contains(Aspects::FP64) {
        println!("skipped: the device has no fp64");
        return;
    }
    const STEPS: usize = 20;
    let start = system::System::new(10);
    let bodies = bodies::Bodies::new(&queue, &start).unwrap();
    bodies.set(&queue, &start).unwrap();
    let graph = Graph::builder(&context, context.device()).waits(Waits::AsBarriers).build().unwrap();
    let recording = graph.record(&queue).unwrap();
    for _ in 0..2 {
        bodies::run_steps(&queue, &bodies.step(), STEPS).unwrap();
    }
    recording.end();
    let executable = graph.finalize().unwrap();
    let mut expected = start.clone();
    for _ in 0..2 {
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        (0..2 * STEPS).for_each(|_| expected.step(bodies::STEP));
        let found = bodies.get(&queue, &start).unwrap();
        let apart = found.distance(&expected);
        assert!(apart <= 1e-9, "a body is {apart:e} AU off");
    }
}
