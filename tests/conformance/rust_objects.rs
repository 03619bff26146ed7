//! RK-DYN: objects of traits that one kernel makes and another one calls. The same source on the host has
//! the right results.

use bytemuck::Zeroable;
use oclave::Command;
use oclave::kernel::{Local, NdRange};
use oclave_kernel::{HostRange, Object};

use super::graph_support::ways;
use super::rust_support::{memory, panics, run, setting};

/// Launchers of `kernels/rust/objects`.
mod on_device {
    oclave::include_kernels!("rust_objects");
}

/// Launchers of a program with other classes.
mod apart {
    oclave::include_kernels!("rust_objects_apart");
}

#[path = "../../kernels/rust/objects/objects.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "some kernels run on devices only")]
mod host;

use host::shapes::{self, AnyShape};
use on_device::objects as kernels;

const N: usize = 60;

fn theirs(shape: &AnyShape) -> kernels::ShapeObject48 {
    let (class, value) = shape.into_parts();
    kernels::ShapeObject48::new(class, 0, value)
}

fn own(shape: &kernels::ShapeObject48) -> AnyShape {
    Object::from_parts(shape.class, shape.value)
}

fn made_on_host() -> Vec<AnyShape> {
    (0..N).map(shapes::shape).collect()
}

fn measured(shapes: &[AnyShape]) -> Vec<[f32; 2]> {
    let mut out = vec![[0.0; 2]; shapes.len()];
    host::measure::run_on_host(HostRange::new([shapes.len()]), shapes, &mut out);
    out
}

#[test]
fn rk_dyn_003_made_in_one_kernel_and_called_in_another() {
    let Some((_, queue)) = setting() else { return };
    let (shapes, out) = (memory::<kernels::ShapeObject48>(&queue, N), memory::<[f32; 2]>(&queue, N));
    run(&queue, N, kernels::make(&shapes));
    run(&queue, N, kernels::measure(&shapes, &out));
    assert_eq!(queue.read(&out).unwrap(), measured(&made_on_host()));
    let kinds = memory::<[u32; 2]>(&queue, N);
    run(&queue, N, kernels::classes(&shapes, &kinds));
    let wanted: Vec<[u32; 2]> =
        (0..N as u32).map(|n| [[1, 99], [2, 99], [0, n % 8]][n as usize % 3]).collect();
    assert_eq!(queue.read(&kinds).unwrap(), wanted);
}

#[test]
fn rk_dyn_004_host_and_device_make_them_for_each_other() {
    let Some((_, queue)) = setting() else { return };
    let made = made_on_host();
    let given = queue.upload(&made.iter().map(theirs).collect::<Vec<_>>()).unwrap();
    let out = memory::<[f32; 2]>(&queue, N);
    run(&queue, N, kernels::measure(&given, &out));
    assert_eq!(queue.read(&out).unwrap(), measured(&made));
    let one = memory::<[f32; 2]>(&queue, 1);
    run(&queue, 1, kernels::measure_one(theirs(&made[11]), &one));
    assert_eq!(queue.read(&one).unwrap(), measured(&made[11..12]));

    let shapes = memory::<kernels::ShapeObject48>(&queue, N);
    run(&queue, N, kernels::make(&shapes));
    let found: Vec<AnyShape> = queue.read(&shapes).unwrap().iter().map(own).collect();
    assert_eq!(found, made);
    assert!(found.iter().zip(&made).all(|(found, made)| found.scaled(3.0) == made.scaled(3.0)));
}

#[test]
fn rk_dyn_005_changed_in_global_and_local_memory() {
    let Some((_, queue)) = setting() else { return };
    let shapes = memory::<kernels::ShapeObject48>(&queue, N);
    run(&queue, N, kernels::make(&shapes));
    run(&queue, N, kernels::grow(2.5, &shapes));
    run(&queue, N, kernels::grow_in_place(1.5, &shapes));
    let mut wanted = made_on_host();
    host::grow::run_on_host(HostRange::new([N]), 2.5, &mut wanted);
    host::grow_in_place::run_on_host(HostRange::new([N]), 1.5, &mut wanted);
    assert_eq!(queue.read(&shapes).unwrap().iter().map(own).collect::<Vec<_>>(), wanted);

    let (local, out) = (Local::new(16), memory::<[f32; 2]>(&queue, 64));
    run(&queue, NdRange::new(64, 16), kernels::exchange(local, &out));
    let mut wanted = vec![[0.0; 2]; 64];
    host::exchange::run_on_host(HostRange::with_groups([64], [16]), 16, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[test]
fn rk_dyn_006_within_structs() {
    let Some((_, queue)) = setting() else { return };
    let (pairs, out) = (memory::<kernels::Pair>(&queue, N), memory::<f32>(&queue, N));
    run(&queue, N, kernels::pair(&pairs));
    run(&queue, N, kernels::weigh(&pairs, &out));
    let empty = host::Pair { shapes: [AnyShape::default(); 2], weights: [0.0; 4] };
    let (mut wanted_pairs, mut wanted) = (vec![empty; N], vec![0.0; N]);
    host::pair::run_on_host(HostRange::new([N]), &mut wanted_pairs);
    host::weigh::run_on_host(HostRange::new([N]), &wanted_pairs, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[test]
fn rk_dyn_007_objects_of_two_traits_beside_those_of_the_kernel() {
    let Some((_, queue)) = setting() else { return };
    let (shapes, out) = (memory::<kernels::ShapeObject48>(&queue, N), memory::<u32>(&queue, N));
    run(&queue, N, kernels::make(&shapes));
    run(&queue, N, kernels::judge(&shapes, &out));
    let mut wanted = vec![0; N];
    host::judge::run_on_host(HostRange::new([N]), &made_on_host(), &mut wanted);
    assert!(wanted.iter().any(|n| *n >= 16) && wanted.contains(&3));
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[test]
fn rk_dyn_008_of_another_program() {
    let Some((_, queue)) = setting() else { return };
    let shapes = memory::<kernels::ShapeObject48>(&queue, N);
    let (areas, out) = (memory::<f32>(&queue, N), memory::<[f32; 2]>(&queue, N));
    run(&queue, N, kernels::make(&shapes));
    // The same memory, as the other program calls its type.
    run(&queue, N, apart::apart::areas(shapes.cast().unwrap(), &areas));
    let wanted: Vec<f32> = made_on_host().iter().map(|shape| shape.area()).collect();
    assert_eq!(queue.read(&areas).unwrap(), wanted);

    run(&queue, N, apart::apart::make_with_stars(shapes.cast().unwrap()));
    run(&queue, N, apart::apart::areas(shapes.cast().unwrap(), &areas));
    let area = |n: usize| if n % 5 == 4 { n as f32 / 2.0 } else { shapes::shape(n).area() };
    assert_eq!(queue.read(&areas).unwrap(), (0..N).map(area).collect::<Vec<_>>());
    // This program has no stars.
    run(&queue, 4, kernels::measure(&shapes, &out));
    panics(&queue, 5, kernels::measure(&shapes, &out), &["holds no object", "objects.rs:", "work-item 4 "]);
}

#[test]
fn rk_dyn_009_memory_without_objects_is_a_panic() {
    let Some((_, queue)) = setting() else { return };
    let out = memory::<[f32; 2]>(&queue, N);
    let mut given: Vec<kernels::ShapeObject48> = made_on_host().iter().map(theirs).collect();
    given[17] = kernels::ShapeObject48::zeroed();
    let shapes = queue.upload(&given).unwrap();
    panics(&queue, N, kernels::measure(&shapes, &out), &["holds no object", "work-item 17 "]);
    let wanted = measured(&made_on_host());
    let found = queue.read(&out).unwrap();
    assert!((0..N).all(|n| n == 17 || found[n] == wanted[n]));

    // A class that is larger than the memory: nothing beyond it is read.
    let class = theirs(&shapes::shape(2)).class;
    let small = queue.upload(&[kernels::ShapeObject16::new(class, 0, [0; 16])]).unwrap();
    panics(&queue, 1, kernels::measure_small(&small, memory::<f32>(&queue, 1)), &["holds no object"]);
}

#[test]
fn rk_dyn_010_in_graphs() {
    for way in ways() {
        let shapes = way.device(&[kernels::ShapeObject48::zeroed(); N]);
        let out = way.device(&[[0.0_f32; 2]; N]);
        let graph = way.graph();
        graph.add(Command::parallel_for(N, kernels::make(&shapes))).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(N, kernels::grow_in_place(0.5, &shapes))).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(N, kernels::measure(&shapes, &out))).unwrap();
        way.run(&graph, 2);
        let mut wanted = made_on_host();
        host::grow_in_place::run_on_host(HostRange::new([N]), 0.5, &mut wanted);
        assert_eq!(way.queue.read(&out).unwrap(), measured(&wanted));
    }
}
