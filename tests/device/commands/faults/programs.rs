//! The programs whose calls fail. Each makes its own context, and checks its results where nothing
//! failed.

use oclave::device::mask::Mask;
use oclave::graph::{DynamicParameter, ReplayStrategy};
use oclave::images::{D2, Filter, Image, Rgba, Sampler, Unorm8};
use oclave::kernel::{Local, NdRange, ProgramCache};
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, Context, Device, Event, Graph, Queue, Result};

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Program;

mod kernels {
    oclave::include_kernels!("guide");
}
use kernels::saxpy::saxpy;

mod linked {
    oclave::include_kernels!("levels");
}

pub(crate) const PROGRAMS: &[Program] = &[
    Program { name: "usm", run: usm },
    Program { name: "boxes", run: boxes },
    Program { name: "device_globals", run: device_globals },
    Program { name: "device_globals_by_pointer", run: device_globals_by_pointer },
    Program { name: "device_globals_by_argument", run: device_globals_by_argument },
    Program { name: "virtual_functions", run: virtual_functions },
    Program { name: "linked_virtual_functions", run: linked_virtual_functions },
    Program { name: "both_sides", run: both_sides },
    Program { name: "specialization_constants", run: specialization_constants },
    Program { name: "local_memory", run: local_memory },
    Program { name: "graph_enqueue", run: |device| graph(device, ReplayStrategy::Enqueue) },
    Program { name: "graph_command_buffer", run: |device| graph(device, ReplayStrategy::CommandBuffer) },
    Program { name: "graph_interpreter", run: |device| graph(device, ReplayStrategy::Interpreter) },
    Program { name: "graph_loop_by_host", run: |device| graph_loop(device, ReplayStrategy::Enqueue) },
    Program { name: "graph_loop_interpreter", run: |device| graph_loop(device, ReplayStrategy::Interpreter) },
    Program { name: "graph_update", run: graph_update },
    Program { name: "recording", run: recording },
    Program { name: "buffers_of_two_contexts", run: buffers_of_two_contexts },
    Program { name: "images", run: images },
    Program { name: "host_tasks", run: host_tasks },
    Program { name: "interoperability", run: interoperability },
    Program { name: "program_cache", run: program_cache },
];

/// A context that has built nothing, and its in-order queue.
fn setting(device: &Device) -> Result<(Context, Queue)> {
    let context = Context::builder(std::slice::from_ref(device)).program_cache(&ProgramCache::Off).build()?;
    let queue = Queue::new(&context)?;
    Ok((context, queue))
}

fn usm(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let x = context.alloc_device::<f32>(64)?;
    let y = context.alloc_shared::<f32>(64)?;
    let z = context.alloc_host::<f32>(64)?;
    queue.write_async(&x, vec![2.0; 64])?;
    drop(queue.read_async(&x)?);
    y.write()?.fill(1.0);
    queue.parallel_for(64, saxpy(3.0_f32, &x, &y))?;
    queue.copy(&y, &z)?;
    queue.fill(&x, 9.0)?.wait()?;
    assert_eq!(z.read()?[63], 7.0);
    assert_eq!(queue.read(&x)?, [9.0; 64]);
    Ok(())
}

fn boxes(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let x = context.alloc_device::<u32>(60)?;
    let y = context.alloc_shared::<u32>(60)?;
    queue.write(&x, &(0..60).collect::<Vec<u32>>())?;
    queue.fill(&y, 0)?;
    let from = x.rect([6, 10])?.part([2, 3], [3, 4])?;
    let to = y.rect([12, 5])?.part([1, 0], [3, 4])?;
    queue.copy(&from, &to)?;
    assert_eq!(queue.read(&to)?, [23, 24, 25, 26, 33, 34, 35, 36, 43, 44, 45, 46]);
    Ok(())
}

/// After a call that failed once, the same context works.
fn count_twice(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    count(&context, &queue).inspect_err(|error| {
        if !super::FAULT_LASTS.load(Ordering::Relaxed) {
            let again = count(&context, &queue);
            assert!(again.is_ok(), "after {error:#}, the context is of no more use: {again:?}");
        }
    })
}

fn count(context: &Context, queue: &Queue) -> Result<()> {
    let x = context.alloc_device::<f32>(16)?;
    queue.fill(&x, 3.5)?;
    queue.write(&kernels::counters::COUNTER, &5)?;
    for _ in 0..2 {
        queue.parallel_for(16, kernels::counters::count(&x))?;
    }
    assert_eq!(queue.read(&kernels::counters::COUNTER)?, 37);
    assert_eq!(queue.read(&kernels::counters::TABLE)?, [1.0, 2.0, 3.0, 4.0]);
    Ok(())
}

fn device_globals(device: &Device) -> Result<()> {
    count_twice(device)
}

fn device_globals_by_pointer(device: &Device) -> Result<()> {
    count_twice(&device.masked(Mask::GLOBAL_VARIABLE_ACCESS))
}

fn device_globals_by_argument(device: &Device) -> Result<()> {
    count_twice(&device.masked(Mask::PROGRAM_SCOPE_VARIABLES))
}

fn virtual_functions(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let object = context.alloc_device::<i8>(64)?;
    let x = context.alloc_device::<f32>(16)?;
    queue.fill(&x, 2.0)?;
    queue.single_task(kernels::filters::make(&object))?;
    queue.parallel_for(16, kernels::filters::run(&object, &x))?;
    assert_eq!(queue.read(&x)?, [5.0; 16]);
    Ok(())
}

/// The kernel's virtual functions are those of another image.
fn linked_virtual_functions(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let prices = context.alloc_device::<i8>(80)?;
    let out = context.alloc_shared::<i32>(4)?;
    queue.single_task(linked::levels::make_prices(&prices))?;
    queue.parallel_for(2, linked::levels::use_prices(&prices, &out))?.wait()?;
    assert_eq!(out.read()?[..2], [1030, 2060]);
    Ok(())
}

fn both_sides(device: &Device) -> Result<()> {
    for device in [device, &device.as_host()?] {
        let (context, queue) = setting(device)?;
        let readings = context.alloc_device::<f32>(16)?;
        let out = context.alloc_device::<i32>(16)?;
        queue.fill(&readings, 7.5)?;
        queue.parallel_for(16, kernels::level::levels(&readings, &out))?;
        assert_eq!(queue.read(&out)?, [7; 16]);
    }
    Ok(())
}

/// Pixels that are filled, written in part, sampled, copied, and made again by a graph.
fn images(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let photo: Image<Rgba<Unorm8>, D2> = context.alloc_image([4, 4])?;
    let small: Image<Rgba<Unorm8>, D2> = context.alloc_image([2, 2])?;
    let linear = Sampler::builder(&context).filter(Filter::Linear).build()?;
    let (dark, light) = ([8, 16, 32, 255], [40, 80, 120, 255]);
    queue.fill(&photo, dark)?;
    queue.write(&photo.region([0, 0], [2, 2])?, &[light; 4])?;
    let call = kernels::images::halve(&photo, &linear, &small);
    let range = small.shape().work_items();
    queue.parallel_for(range, call.clone())?;
    assert_eq!(queue.read(&small)?, [light, dark, dark, dark]);
    let pixels = context.alloc_device::<[u8; 4]>(4)?;
    queue.copy(&small, &pixels)?;
    queue.copy(&small, &photo.region([2, 2], [2, 2])?)?;
    assert_eq!(queue.read(&pixels)?, [light, dark, dark, dark]);
    assert_eq!(queue.read(&photo.region([2, 2], [1, 2])?)?, [light, dark]);
    let graph = Graph::from_queue(&queue);
    let cleared = graph.add(Command::fill(&small, [0; 4]))?;
    graph.after(&cleared).add(Command::parallel_for(range, call))?;
    let executable = graph.finalize()?;
    queue.submit_graph(&executable)?;
    // The lower right is one light pixel and three dark ones by now.
    assert_eq!(queue.read(&small)?[..3], [light, dark, dark]);
    assert_eq!(queue.read(&small)?[3], [16, 32, 54, 255]);
    Ok(())
}

fn specialization_constants(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let x = context.alloc_device::<f32>(32)?;
    let y = context.alloc_device::<f32>(32)?;
    queue.fill(&x, 2.0)?;
    for radius in [1, 8] {
        queue.parallel_for(32, kernels::blur::blur(&x, &y).spec(&kernels::blur::RADIUS, radius))?;
        assert_eq!(queue.read(&y)?, [2.0; 32]);
    }
    Ok(())
}

fn local_memory(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let x = context.alloc_device::<f32>(128)?;
    let sums = context.alloc_device::<f32>(4)?;
    queue.fill(&x, 0.5)?;
    queue.parallel_for(NdRange::new([128], [32]), kernels::particles::sums(&x, &sums, Local::new(32)))?;
    assert_eq!(queue.read(&sums)?, [16.0; 4]);
    Ok(())
}

/// Kernels, a fill and a read, replayed three times.
fn graph(device: &Device, strategy: ReplayStrategy) -> Result<()> {
    let (context, queue) = setting(device)?;
    let x = context.alloc_device::<f32>(16)?;
    let y = context.alloc_device::<f32>(16)?;
    queue.fill(&y, 0.0)?;
    let result = HostTarget::new(16)?;
    let graph = Graph::from_queue(&queue);
    let filled = graph.add(Command::fill(&x, 1.0_f32))?;
    let mut last = graph.after(&filled).add(Command::parallel_for(16, saxpy(2.0_f32, &x, &y)))?;
    for _ in 0..4 {
        last = graph.after(&last).add(Command::parallel_for(16, saxpy(1.0_f32, &x, &y)))?;
    }
    graph.after(&last).add(Command::read(&y, &result))?;
    let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize()?;
    for _ in 0..3 {
        queue.submit_graph(&executable)?;
    }
    queue.wait()?;
    assert_eq!(result.to_vec()?, [18.0; 16]);
    Ok(())
}

/// A loop with commands before it, and a host task behind it. The second submission finds that the first has ended, the
/// third one does not.
fn graph_loop(device: &Device, strategy: ReplayStrategy) -> Result<()> {
    let (context, queue) = setting(device)?;
    let [y, one, left] = [16, 1, 1].map(|len| context.alloc_device::<f32>(len));
    let (y, one, left) = (y?, one?, left?);
    queue.fill(&y, 0.0)?;
    queue.fill(&one, 1.0)?;
    let body = Graph::from_queue(&queue);
    let added = body.add(Command::parallel_for(1, saxpy(2.0_f32, &one, &y)))?;
    body.after(&added).add(Command::parallel_for(1, saxpy(-1.0_f32, &one, &left)))?;
    let calls = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&calls);
    let graph = Graph::from_queue(&queue);
    graph.add(Command::fill(&left, 5.0_f32))?;
    graph.after_all_leaves().add(Command::while_(&left, &body).max_iterations(100))?;
    graph.after_all_leaves().add(Command::host_task(move || {
        called.fetch_add(1, Ordering::Relaxed);
    }))?;
    let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize()?;
    queue.submit_graph(&executable)?.wait()?;
    queue.submit_graph(&executable)?;
    queue.submit_graph(&executable)?;
    queue.wait()?;
    assert_eq!((queue.read(&y)?[0], calls.load(Ordering::Relaxed)), (30.0, 3));
    Ok(())
}

fn graph_update(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let frames = [context.alloc_device::<f32>(16)?, context.alloc_device::<f32>(16)?];
    let y = context.alloc_device::<f32>(16)?;
    for memory in frames.iter().chain([&y]) {
        queue.fill(memory, 1.0)?;
    }
    let graph = Graph::from_queue(&queue);
    let strength = DynamicParameter::new(&graph, 0.0_f32);
    let input = DynamicParameter::new(&graph, frames[0].clone());
    let node = graph.add(Command::parallel_for(16, saxpy(&strength, &input, &y)))?;
    let executable = graph.finalizer().updatable().finalize()?;
    for (i, frame) in frames.iter().enumerate() {
        strength.update(i as f32 + 1.0)?;
        input.update(frame)?;
        executable.update(&node)?;
        queue.submit_graph(&executable)?;
    }
    assert_eq!(queue.read(&y)?, [4.0; 16]);
    Ok(())
}

/// A queue out of order is recorded, and the graph becomes a node of another.
fn recording(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let side = Queue::builder(&context).out_of_order().build()?;
    let x = context.alloc_device::<f32>(16)?;
    let y = context.alloc_device::<f32>(16)?;
    queue.fill(&y, 0.0)?.wait()?;
    let inner = Graph::from_queue(&side);
    let recording = inner.record(&side)?;
    let filled = side.fill(&x, 1.0)?;
    side.after(&filled).parallel_for(16, saxpy(3.0_f32, &x, &y))?;
    recording.end();
    let outer = Graph::from_queue(&side);
    let first = outer.add(&inner.finalize()?)?;
    outer.after(&first).add(Command::parallel_for(16, saxpy(1.0_f32, &x, &y)))?;
    let executable = outer.finalize()?;
    for _ in 0..2 {
        side.submit_graph(&executable)?;
    }
    side.wait()?;
    assert_eq!(queue.read(&y)?, [8.0; 16]);
    Ok(())
}

fn buffers_of_two_contexts(device: &Device) -> Result<()> {
    let ((_, one), (_, two)) = (setting(device)?, setting(device)?);
    let x = Buffer::from_vec(vec![2.0_f32; 32])?;
    let y = Buffer::<f32>::new(32)?;
    let mut written = vec![0.0; 32];
    one.parallel_for(32, saxpy(3.0_f32, x.read(), y.read_write()))?;
    two.parallel_for(32, saxpy(1.0_f32, x.read(), y.read_write()))?;
    one.parallel_for(32, saxpy(1.0_f32, x.read(), y.read_write()))?;
    written.copy_from_slice(&y.host_read()?);
    assert_eq!(written, [10.0; 32]);
    y.host_write()?.fill(1.0);
    two.parallel_for(32, saxpy(1.0_f32, x.read(), y.read_write()))?;
    assert_eq!(*y.host_read()?, [3.0; 32]);
    Ok(())
}

fn host_tasks(device: &Device) -> Result<()> {
    let (context, queue) = setting(device)?;
    let x = context.alloc_shared::<f32>(32)?;
    queue.fill(&x, 2.0)?;
    let memory = x.clone();
    queue.host_task(move || {
        memory.write()?.fill(4.0);
        Ok::<(), oclave::Error>(())
    })?;
    let y = Buffer::from_vec(vec![1.0_f32; 32])?;
    let sum = Buffer::<f32>::new(1)?;
    queue.parallel_for(32, saxpy(3.0_f32, &x, y.read_write()))?;
    queue.host_task_with((y.read(), sum.write()), |(y, sum): (&[f32], &mut [f32])| {
        sum[0] = y.iter().sum();
    })?;
    // A task that failed does not stop the commands behind it; the queue reports it.
    queue.wait()?;
    assert_eq!(sum.host_read()?[0], 416.0);
    Ok(())
}

/// Events go out as OpenCL's and come back, in their own context and in another.
fn interoperability(device: &Device) -> Result<()> {
    let ((context, queue), (other, there)) = (setting(device)?, setting(device)?);
    let x = context.alloc_shared::<f32>(16)?;
    let y = other.alloc_shared::<f32>(16)?;
    let filled = queue.fill(&x, 2.0)?;
    let same = Event::from_native(filled.to_native(&context)?)?;
    let doubled = queue.after(&same).parallel_for(16, saxpy(1.0_f32, &x, &x))?;
    let far = Event::from_native(doubled.to_native(&other)?)?;
    there.after(&far).fill(&y, 5.0)?.wait()?;
    drop(queue.native_kernel(&saxpy(1.0_f32, &x, &x))?.program()?);
    assert_eq!((x.read()?[15], y.read()?[15]), (4.0, 5.0));
    Ok(())
}

/// The first context compiles and stores, the second one loads.
fn program_cache(device: &Device) -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let cache = ProgramCache::Directory(folder.path().to_owned());
        let context = Context::builder(std::slice::from_ref(device)).program_cache(&cache).build()?;
        let queue = Queue::new(&context)?;
        let x = context.alloc_device::<f32>(16)?;
        queue.fill(&x, 2.0)?;
        queue.parallel_for(16, saxpy(1.0_f32, &x, &x))?;
        assert_eq!(queue.read(&x)?, [4.0; 16]);
    }
    Ok(())
}
