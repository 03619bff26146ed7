//! What the tables of `docs/guide/migration.md` name. It is compiled, and the names of the tables
//! must be found here; nothing calls it.

#![allow(dead_code, unused, clippy::all, reason = "the lines show calls, one by one")]

use std::path::Path;

use oclave::command::Advice;
use oclave::graph::{DynamicParameter, Node};
use oclave::images::{D2, Image, Rgba, Sampler, Unorm8};
use oclave::kernel::{KernelBundle, KernelSource, Local, NdRange, Printed};
use oclave::{Buffer, Command, Context, Device, Error, ErrorKind, Event, Graph, Queue, Result, UsmSlice};

mod kernels {
    oclave::include_kernels!("guide");
}
mod tests {
    oclave::include_kernels!("tests");
}
use kernels::saxpy::saxpy;
use tests::globals_define::COUNTER as X;
use tests::spec_constants::FACTOR as RADIUS;

const TEXT: &str = include_str!("migration.rs");

fn devices(device: Device, devices: &[Device], print: fn(&Printed)) -> Result<()> {
    (Device::all()?, Device::select()?);
    (device.name(), device.capabilities());
    Context::new(&device)?;
    let context = Context::builder(&devices).build()?;
    Queue::new(&context)?;
    Queue::builder(&context).out_of_order().build()?;
    Queue::builder(&context).out_of_order().profiling().build()?;
    Context::builder(&devices).printf(print).build()?;
    Ok(())
}

fn memory(queue: Queue, context: Context, n: usize, mut data: Vec<f32>, vec: Vec<f32>) -> Result<()> {
    let x = context.alloc_device::<f32>(n)?;
    (context.alloc_shared::<f32>(n)?, context.alloc_host::<f32>(n)?);
    x.slice(100..200)?;
    queue.upload(&data)?;
    queue.write(&x, &data)?;
    queue.write_async(&x, vec)?;
    queue.read(&x)?;
    queue.read_async(&x)?;
    queue.read_into(&x, &mut data)?;
    x.rect([480, 640])?.part([0, 0], [32, 32])?;
    let value = 1.0;
    let (from, to) = (x.clone(), x.clone());
    queue.copy(&from, &to)?;
    queue.fill(&x, value)?;
    queue.fill(&x, 0.0)?;
    queue.prefetch(&x)?;
    Ok(())
}

fn shared(x: UsmSlice<f32, oclave::memory::usm::Shared>) -> Result<()> {
    x.read()?;
    x.write()?;
    Ok(())
}

fn images(context: &Context, queue: &Queue, rows: usize, columns: usize) -> Result<()> {
    let image = context.alloc_image::<Rgba<Unorm8>, D2>([rows, columns])?;
    let (h, w) = (rows, columns);
    let other: Image<Rgba<Unorm8>, D2> = context.alloc_image::<Rgba<Unorm8>, D2>([h, w])?;
    Sampler::builder(&context).build()?;
    queue.read(&image)?;
    queue.copy(&image.region([0, 0], [8, 8])?, &other)?;
    Ok(())
}

fn programs(context: &Context, name: &str, text: &str, il: &[u8], error: &Error) -> Result<KernelBundle> {
    let source = KernelSource::define(KernelSource::new(name, text).define("N", "16"), "M", None);
    oclave_build::Config::define(&mut oclave_build::Config::new(), "N", "16");
    error.build_log();
    // SAFETY: nothing calls this.
    #[allow(unsafe_code)]
    unsafe {
        KernelBundle::from_source(context, &source)?;
        KernelBundle::from_spirv(context, il)
    }
}

fn calls(bundle: &KernelBundle, queue: &Queue, x: UsmSlice<f32>, y: UsmSlice<f32>, a: f32) -> Result<()> {
    let (n, len) = (1024, 64);
    bundle.kernel("saxpy")?;
    bundle.kernel("saxpy")?.call().value(a).pointer(&x);
    bundle.kernel("add")?.call().pointer(&x).local(Local::<f32>::new(64));
    kernels::saxpy::saxpy(a, &x, &y);
    saxpy(a, &x, &y);
    let _: [Local<f32>; 2] = [Local::new(len), Local::new(64)];
    queue.parallel_for(n, saxpy(a, &x, &y))?;
    NdRange::new([n], [64]);
    let call = saxpy(a, &x, &y);
    queue.parallel_for(NdRange::new([1024], [64]), call)?;
    queue.parallel_for(NdRange::new([n], [64]), saxpy(a, &x, &y))?;
    queue.parallel_for(1024, saxpy(a, &x, &y))?;
    let call = saxpy(a, &x, &y);
    queue.parallel_for(NdRange::new([n], [64]), call)?;
    Ok(())
}

fn events(queue: &Queue, command: Command, e: Event, [a, b]: [Event; 2], events: Vec<Event>) -> Result<()> {
    let (range, call) = (1, tests::globals_use::double_shared());
    queue.after(&[&a, &b]);
    let command = command.after(&a);
    command.after(&e);
    queue.after(&e).parallel_for(range, call)?;
    let _ = Event::from_native;
    let each: &Event = &a;
    let events = events.as_slice();
    queue.after(events);
    let event = queue.host_task(closure)?;
    event.wait()?;
    queue.wait()?;
    event.profiling()?;
    event.profiling()?.started_ns;
    Ok(())
}

fn closure() {}

fn kinds<F, D>(image: Image<F, D>, kind: ErrorKind) -> Result<(), oclave::Error> {
    fn element<T: bytemuck::Pod>() {}
    element::<[f32; 4]>();
    drop(image);
    Ok(())
}

fn sycl(queue: Queue, x: UsmSlice<f32>, v: Vec<f32>, f: fn()) -> Result<()> {
    queue.submit(Command::mem_advise(&x, Advice::ReadMostly))?;
    let command = Command::host_task(f);
    queue.submit(command)?;
    queue.host_task(f)?;
    let b = Buffer::from_vec(v)?;
    b.read();
    b.host_read()?;
    b.host_write()?;
    let call = tests::spec_constants::specialized(&x);
    call.spec(&RADIUS, 8);
    queue.write(&X, &5)?;
    let graph = Graph::from_queue(&queue);
    graph.record(&queue)?;
    let nodes: Vec<Node> = Vec::new();
    graph.finalize()?.update(&nodes)?;
    DynamicParameter::new(&graph, x);
    oclave::kernel::if_device(|| ()); // in kernels: `oclave::if_device`
    Ok(())
}

mod in_rust {
    #![allow(unreachable_pub, reason = "kernels are public, as in the page")]

    use std::sync::atomic::AtomicU32;

    use oclave_kernel::{Data, Global, Item, Out, Vec4, device_println, kernel, spec_constant};

    spec_constant! {
        #[id(0)]
        pub static BOUND: u32 = 100;
    }

    #[derive(Clone, Copy, Data)]
    #[repr(C)]
    pub struct Constants {
        scale: f32,
    }

    #[rustfmt::skip]
    #[kernel] pub fn f(item: Item<1>) {
        device_println!("{}", item.global_id()[0]);
    }

    #[kernel(work_group = [64, 1, 1])]
    pub fn parameters(
        item: Item<1>,
        constants: Constants,
        x: &[f32],
        counts: &[AtomicU32],
        points: &[Vec4<f32>],
        mut own: Out<f32>,
        any: Global<f32>,
    ) {
        let tile = item.local_array::<f32, 64>();
        tile.set(item.local_id()[0], constants.scale);
        item.local_barrier();
        let x = x[item.group_id()[0] * item.local_size()[0]];
        *own = item.sub_group().reduce_add(x) + tile.get(0) + BOUND.get() as f32;
    }
}

fn graphs_of_others(queue: Queue, x: Vec<f32>) -> Result<()> {
    oclave_build::Config::new().rust_package("kernels");
    let (graph, n) = (Graph::from_queue(&queue), x.len());
    graph.record(&queue)?;
    let executable = graph.finalize()?;
    queue.submit_graph(&executable)?;
    Ok(())
}

/// The code in the last column of each row of a table.
fn named(page: &str) -> Vec<(usize, String)> {
    let rows = page.lines().enumerate().filter(|(_, line)| line.starts_with("| "));
    let last = |line: &str| {
        line.replace("\\|", "\u{0}")
            .trim_end_matches(" |")
            .rsplit('|')
            .next()
            .unwrap_or("")
            .replace('\u{0}', "|")
    };
    rows.flat_map(|(at, line)| {
        let last = last(line);
        last.split('`').skip(1).step_by(2).map(|code| (at + 1, code.to_owned())).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn tables_of_the_migration_name_what_compiles() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/migration.md");
    let page = std::fs::read_to_string(page).expect("the page is part of the repository");
    let code = TEXT.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = named(&page);
    assert!(named.len() > 100, "only {} pieces of code were found", named.len());
    // Macros of kernels.
    let header = concat!(
        include_str!("../../../crates/oclave-build/include/oclave/oclave.h"),
        include_str!("../../../crates/oclave-build/include/oclave/virtual.hpp"),
    );
    let is_macro = |piece: &str| {
        let name = piece.split('(').next().unwrap_or_default();
        name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            && header.contains(&format!("#define {name}"))
    };
    let is_known = |piece: &str| code.contains(piece) || is_macro(piece);
    let missing: Vec<_> = named.iter().filter(|(_, piece)| !is_known(piece)).collect();
    assert!(missing.is_empty(), "docs/guide/migration.md: not in tests/it/guide/migration.rs: {missing:#?}");
}
