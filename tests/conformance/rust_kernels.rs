//! RK: kernels in Rust. Their parameters, and what they can do. The same source on the host has the
//! right results.

use oclave::device::Aspects;
use oclave::kernel::{Kernel, KernelCall, Local, NdRange, Range};
use oclave::{Buffer, Context, ErrorKind, Queue};
use oclave_kernel::HostRange;

use super::rust_support::on_device::{features as kernels, parameters as given};
use super::rust_support::{features, memory, mixed, numbers, on_device, parameters, run, setting};
use super::support::{DEVICE_GLOBAL_MASKS, queues};

#[device_test(setting)]
fn rk_par_001_numbers_by_value((_, queue): (Context, Queue)) {
    let out = memory::<[i64; 9]>(&queue, 1);
    let call = given::numbers(
        -100,
        200,
        -30_000,
        60_000,
        -2_000_000_000,
        4_000_000_000,
        i64::MIN + 5,
        u64::MAX - 7,
        -2.75,
        &out,
    );
    run(&queue, 1, call);
    let wanted = [-100, 200, -30_000, 60_000, -2_000_000_000, 4_000_000_000, i64::MIN + 5, -8, -11];
    assert_eq!(queue.read(&out).unwrap(), [wanted]);
}

#[device_test(setting)]
fn rk_par_002_doubles((context, queue): (Context, Queue)) {
    if !context.device().capabilities().aspects.contains(Aspects::FP64) {
        skip!("the device has no doubles");
    }
    let x: Vec<f64> = (0..50).map(|x| f64::from(x) / 3.0).collect();
    let mut wanted = vec![1e-3; 50];
    let (memory, out) = (queue.upload(&x).unwrap(), queue.upload(&wanted).unwrap());
    run(&queue, 50, given::doubles(1e10 + 0.1, &memory, &out));
    parameters::doubles::run_on_host(HostRange::new([50]), 1e10 + 0.1, &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_par_003_arrays_by_value((_, queue): (Context, Queue)) {
    let (weights, table) = ([-3, 500, 7, -32_000, 9], [[1, 2], [30, 40], [500, 600]]);
    let out = memory::<[i32; 2]>(&queue, 20);
    run(&queue, 20, given::arrays(weights, table, &out));
    let mut wanted = vec![[0; 2]; 20];
    parameters::arrays::run_on_host(HostRange::new([20]), weights, table, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_par_004_structs((_, queue): (Context, Queue)) {
    let place = |n: usize| ([n as f32 / 2.0, -1.0], n as i32 - 4);
    let own = |(corner, number)| parameters::Place { corner, number };
    let theirs = |(corner, number)| given::Place::new(corner, number);
    let (places, bytes) = ([place(90), place(91)], [1, 2, 3, 4, 5, 6]);
    let scene = given::Scene::new(1 << 40, places.map(theirs), bytes, 700);
    let memory = queue.upload(&(0..30).map(place).map(theirs).collect::<Vec<_>>()).unwrap();
    let out = queue.upload(&[scene; 30]).unwrap();
    run(&queue, 30, given::structs(scene, &memory, &out));

    let host = parameters::Scene { wide: 1 << 40, places: places.map(own), bytes, short: 700 };
    let mut wanted = vec![host; 30];
    let all: Vec<_> = (0..30).map(place).map(own).collect();
    parameters::structs::run_on_host(HostRange::new([30]), host, &all, &mut wanted);
    let found: Vec<parameters::Scene> = queue
        .read(&out)
        .unwrap()
        .iter()
        .map(|scene| parameters::Scene {
            wide: scene.wide,
            places: scene.places.map(|place| own((place.corner, place.number))),
            bytes: scene.bytes,
            short: scene.short,
        })
        .collect();
    assert_eq!(found, wanted);
}

#[device_test(setting)]
fn rk_par_005_slices_have_their_lengths((_, queue): (Context, Queue)) {
    let (x, y) = ([1_u16, 60_000, 3], [[1_u32, 2, 3], [4, 5, 6]]);
    let (x, y) = (queue.upload(&x).unwrap(), queue.upload(&y).unwrap());
    let out = memory::<[u64; 4]>(&queue, 1);
    run(&queue, 1, given::slices(&x, &y, &out));
    assert_eq!(queue.read(&out).unwrap(), [[3, 60_004, 2, 91]]);
    run(&queue, 1, given::slices(x.slice(1..2).unwrap(), y.slice(0..0).unwrap(), &out));
    assert_eq!(queue.read(&out).unwrap(), [[1, 60_000, 0, 0]]);
}

#[device_test(setting)]
fn rk_par_006_reading_slices((_, queue): (Context, Queue)) {
    let x = numbers(64);
    let (memory, out) = (queue.upload(&x).unwrap(), memory::<[u32; 6]>(&queue, 64));
    run(&queue, 64, given::reads(&memory, &out));
    let mut wanted = vec![[0; 6]; 64];
    parameters::reads::run_on_host(HostRange::new([64]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_par_007_an_element_for_each_work_item((_, queue): (Context, Queue)) {
    let (mut bytes, mut pairs, mut wide) = (vec![250_u8; 40], vec![[7_u16, 0]; 40], vec![1_i64; 40]);
    let memory = (queue.upload(&bytes).unwrap(), queue.upload(&pairs).unwrap(), queue.upload(&wide).unwrap());
    run(&queue, [8, 5], given::outs(&memory.0, &memory.1, &memory.2));
    parameters::outs::run_on_host(HostRange::new([8, 5]), &mut bytes, &mut pairs, &mut wide);
    assert_eq!(queue.read(&memory.0).unwrap(), bytes);
    assert_eq!(queue.read(&memory.1).unwrap(), pairs);
    assert_eq!(queue.read(&memory.2).unwrap(), wide);
}

#[device_test(setting)]
fn rk_par_008_memory_for_all_work_items((_, queue): (Context, Queue)) {
    let mut x = numbers(100);
    let memory = queue.upload(&x).unwrap();
    run(&queue, 50, given::reverse(&memory));
    x.reverse();
    assert_eq!(queue.read(&memory).unwrap(), x);
}

#[device_test(setting)]
fn rk_par_009_atomics((_, queue): (Context, Queue)) {
    let (mut x, mut y) = ([0_u32, 5000, 0, 9, 0, u32::MAX, 0, 0, 0, 0], [0_i32, i32::MIN]);
    let (a, b) = (queue.upload(&x).unwrap(), queue.upload(&y).unwrap());
    run(&queue, 500, given::atomics(&a, &b));
    for i in 0..500_u32 {
        x[0] += i;
        x[6] ^= i;
    }
    (x[1], x[2], x[3], x[4], x[5], x[7], x[8], x[9]) = (4500, 1497, 2, u32::MAX, u32::MAX << 7, 1000, 77, 78);
    y = [-499, -3.max(y[1])];
    assert_eq!(queue.read(&a).unwrap(), x);
    assert_eq!(queue.read(&b).unwrap(), y);
}

#[device_test(setting)]
fn rk_par_010_atomics_of_64_bits((context, queue): (Context, Queue)) {
    if !context.device().capabilities().aspects.contains(Aspects::ATOMIC64) {
        skip!("the device has no atomics of 64 bits");
    }
    let (a, b) = (queue.upload(&[1_u64, 0]).unwrap(), queue.upload(&[0_i64]).unwrap());
    run(&queue, 100, given::wide_atomics(&a, &b));
    assert_eq!(queue.read(&a).unwrap(), [1 + (4950 << 33), 99 << 40]);
    assert_eq!(queue.read(&b).unwrap(), [-(99 << 35)]);
}

#[device_test(setting)]
fn rk_par_011_local_memory_of_a_given_size((_, queue): (Context, Queue)) {
    let x = numbers(64);
    let (memory, out) = (queue.upload(&x).unwrap(), memory::<u32>(&queue, 64));
    let call = given::shifted(&memory, Local::new(16), Local::new(16), &out);
    run(&queue, NdRange::new(64, 16), call);
    let mut wanted = vec![0; 64];
    parameters::shifted::run_on_host(HostRange::with_groups([64], [16]), &x, 16, 16, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_par_012_local_arrays_and_a_demanded_work_group((_, queue): (Context, Queue)) {
    let x = numbers(128);
    let (memory, out) = (queue.upload(&x).unwrap(), memory::<u32>(&queue, 128));
    run(&queue, [16, 8], given::tiles(&memory, &out));
    let mut wanted = vec![0; 128];
    parameters::tiles::run_on_host(HostRange::with_groups([16, 8], [8, 2]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
    let error = queue.parallel_for(NdRange::new([16, 8], [4, 4]), given::tiles(&memory, &out)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange, "{error}");
}

#[device_test(setting)]
fn rk_par_013_ids_and_sizes((_, queue): (Context, Queue)) {
    let out = memory::<[u32; 18]>(&queue, 4 * 6 * 2);
    run(&queue, NdRange::new([4, 6, 2], [2, 3, 1]).with_offset([1, 2, 3]), given::ids(&out));
    let found = queue.read(&out).unwrap();
    for (n, found) in (0_u32..).zip(&found) {
        let (x, y, z) = (n % 4, n / 4 % 6, n / 24);
        let ids = [x + 1, y + 2, z + 3, 4, 6, 2, x % 2, y % 3, 0, 2, 3, 1, x / 2, y / 3, z, 2, 2, 2];
        assert_eq!(*found, ids, "work-item {n}");
    }
}

#[device_test(setting)]
fn rk_par_014_every_kind_of_memory((context, queue): (Context, Queue)) {
    let x: Vec<u32> = (0..32).collect();
    let wanted: Vec<u32> = (1..=32).collect();
    let from = queue.upload(&x).unwrap();
    let to = context.alloc_host::<u32>(32).unwrap();
    run(&queue, 32, kernels::moved(&from, &to));
    assert_eq!(*to.read().unwrap(), wanted[..]);
    let shared = context.alloc_shared::<u32>(40).unwrap();
    shared.write().unwrap()[8..].copy_from_slice(&x);
    let out = memory::<u32>(&queue, 40);
    run(&queue, 32, kernels::moved(shared.slice(8..40).unwrap(), out.slice(4..36).unwrap()));
    assert_eq!(queue.read(&out.slice(4..36).unwrap()).unwrap(), wanted);
    let (source, target) = (Buffer::from_vec(x).unwrap(), Buffer::from_vec(vec![0_u32; 34]).unwrap());
    let part = target.read_write().slice(1..33).unwrap();
    queue.parallel_for(32, kernels::moved(source.read(), part)).unwrap();
    assert_eq!(target.host_read().unwrap()[1..33], wanted);
}

/// As the launcher has it.
static MOVED: Kernel = Kernel::new(&on_device::IMAGES, "moved");

#[device_test(setting)]
fn rk_chk_001_an_out_is_as_long_as_the_range((_, queue): (Context, Queue)) {
    let (from, to) = (queue.upload(&[1_u32; 64]).unwrap(), memory::<u32>(&queue, 63));
    let error = queue.parallel_for(64, kernels::moved(&from, &to)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange);
    let text = error.to_string();
    assert!(
        text.contains("64 work-items") && text.contains("63 elements") && text.contains("`to`"),
        "{text}"
    );
    let (bytes, pairs) = (memory::<u8>(&queue, 64), memory::<[u16; 2]>(&queue, 64));
    let call = given::outs(&bytes, &pairs, memory::<i64>(&queue, 60));
    let error = queue.parallel_for([8, 8], call);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NdRange);
    run(&queue, 63, kernels::moved(&from, &to));
    // The ids of a range with an offset are not the numbers of its work-items.
    run(
        &queue,
        NdRange::from(Range::from(4)).with_offset(60),
        kernels::moved(&from, to.slice(0..4).unwrap()),
    );
}

#[device_test(setting)]
fn rk_chk_002_changed_memory_is_given_once((_, queue): (Context, Queue)) {
    let x = queue.upload(&[1_u32; 64]).unwrap();
    let error = queue.parallel_for(64, kernels::moved(&x, &x)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelArgument);
    assert!(error.to_string().contains("`from` and `to`"), "{error}");
    let overlap = kernels::moved(x.slice(0..33).unwrap(), x.slice(32..64).unwrap());
    assert_eq!(queue.parallel_for(32, overlap).unwrap_err().kind(), ErrorKind::KernelArgument);
    run(&queue, 32, kernels::moved(x.slice(0..32).unwrap(), x.slice(32..64).unwrap()));
    assert_eq!(queue.read(&x).unwrap()[63], 2);
}

#[device_test(setting)]
fn rk_chk_003_lengths_fit_the_memory((_, queue): (Context, Queue)) {
    let (from, to) = (queue.upload(&[1_u32; 10]).unwrap(), memory::<u32>(&queue, 10));
    let call =
        |length: u64| KernelCall::new(&MOVED).pointer::<u32>(&from).value(length).pointer_mut::<u32>(&to);
    run(&queue, 10, call(10));
    for length in [11, 1 << 62, u64::MAX] {
        let error = queue.parallel_for(10, call(length)).unwrap_err();
        assert!(error.to_string().contains("elements"), "{error}");
    }
    queue.wait().unwrap();
}

#[device_test(setting)]
fn rk_chk_004_ranges_have_the_dimensions_of_the_item((_, queue): (Context, Queue)) {
    let (from, to) = (queue.upload(&[1_u32; 64]).unwrap(), memory::<u32>(&queue, 64));
    for range in [NdRange::from(Range::from([8, 8])), Range::from([1, 1, 64]).into()] {
        let error = queue.parallel_for(range, kernels::moved(&from, &to)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NdRange);
        assert!(error.to_string().contains("ranges of 1"), "{error}");
    }
    // One work-item in the other dimensions.
    run(&queue, [64, 1], kernels::moved(&from, &to));
    assert_eq!(queue.read(&to).unwrap(), [2; 64]);
    let (bytes, pairs, wide) =
        (memory::<u8>(&queue, 64), memory::<[u16; 2]>(&queue, 64), memory::<i64>(&queue, 64));
    let error = queue.parallel_for([4, 4, 4], given::outs(&bytes, &pairs, &wide)).unwrap_err();
    assert!(error.to_string().contains("ranges of 2"), "{error}");
    // Offsets are no part of a work-item's number. A range may have fewer dimensions.
    let (columns, row) = (NdRange::from(Range::from([16, 4])), NdRange::from(Range::from(64)));
    for (width, range) in [(16, columns.with_offset([3, 5])), (64, row.with_offset(3))] {
        queue.fill(&bytes, 7_u8).unwrap();
        queue.fill(&pairs, [0_u16, 0]).unwrap();
        run(&queue, range, given::outs(&bytes, &pairs, &wide));
        let wanted: Vec<u8> = (0..64).map(|n| 7 + 3 + n % width).collect();
        assert_eq!(queue.read(&bytes).unwrap(), wanted);
    }
}

/// Runs the kernel `globals` once, and gives what the host's run of its source gives for the values
/// that device globals have.
fn globals(queue: &Queue, factor: u32, [least, greatest, more]: [i32; 3], steps: [u16; 6]) {
    let out = memory::<i32>(queue, 60);
    run(queue, 60, kernels::globals(&out));
    let wanted = (0..60_u32).map(|i| {
        let value = (i * factor) as i32 + i32::from(steps[i as usize % 6]);
        value.clamp(least, greatest) + more
    });
    assert_eq!(queue.read(&out).unwrap(), wanted.collect::<Vec<i32>>());
}

#[test]
fn rk_glb_001_device_globals_begin_with_the_values_of_the_source() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        globals(&queue, 3, [-5, 50, 7], [1, 2, 3, 4, 5, 6]);
        assert_eq!(queue.read(&kernels::FACTOR).unwrap(), 3);
    }
}

#[test]
fn rk_glb_002_the_host_and_kernels_change_device_globals() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&kernels::FACTOR, &10).unwrap();
        queue.write(&kernels::LIMITS, &kernels::Limits::new(20, [300, -1])).unwrap();
        globals(&queue, 10, [20, 300, -1], [1, 2, 3, 4, 5, 6]);
        run(&queue, 1, kernels::change(100));
        globals(&queue, 10, [-100, 300, -1], [101, 102, 103, 104, 105, 106]);
        assert_eq!(queue.read(&kernels::STEPS).unwrap(), [101, 102, 103, 104, 105, 106]);
        assert_eq!(queue.read(&kernels::LAST).unwrap(), 100);
    }
}

#[test]
fn rk_glb_003_atomic_device_globals() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let out = memory::<i32>(&queue, 300);
        run(&queue, 300, kernels::globals(&out));
        run(&queue, 300, kernels::globals(&out));
        assert_eq!(queue.read(&kernels::CALLS).unwrap(), 700);
        assert_eq!(queue.read(&kernels::SIGNS).unwrap(), [-401; 3]);
        queue.write(&kernels::CALLS, &1).unwrap();
        run(&queue, 300, kernels::globals(&out));
        assert_eq!(queue.read(&kernels::CALLS).unwrap(), 301);
    }
}

#[test]
fn rk_glb_004_device_globals_belong_to_contexts_and_the_host_run_has_its_own() {
    let (Some((_, one)), Some((_, other))) = (setting(), setting()) else { return };
    run(&one, 1, kernels::change(7));
    assert_eq!(one.read(&kernels::STEPS).unwrap()[0], 8);
    assert_eq!(other.read(&kernels::STEPS).unwrap()[0], 1);
    features::change::run_on_host(HostRange::new([1]), 3);
    assert_eq!(features::STEPS.elements().get(0), 4);
    assert_eq!(other.read(&kernels::STEPS).unwrap()[0], 1);
}

#[device_test(setting)]
fn rk_spc_001_specialization_constants((_, queue): (Context, Queue)) {
    let out = queue.upload(&[[1.0_f32, 0.0]; 3]).unwrap();
    let wanted = |start: f32, rounds: usize, added: f32, scale: f32| {
        [(0..rounds).fold(start, |value, _| value * scale + added), rounds as f32]
    };
    run(&queue, 3, kernels::constants(&out));
    let first = wanted(1.0, 2, -1.0, 0.5);
    assert_eq!(queue.read(&out).unwrap(), [first; 3]);
    let call = kernels::constants(&out);
    run(&queue, 3, call.spec(&kernels::ROUNDS, 3).spec(&kernels::ADDED, 100).spec(&kernels::SCALE, 2.0));
    assert_eq!(queue.read(&out).unwrap(), [wanted(first[0], 3, 100.0, 2.0); 3]);
    let mut host = [[1.0, 0.0]; 3];
    features::constants::run_on_host(HostRange::new([3]), &mut host);
    assert_eq!(host, [first; 3]);
}

/// A kernel of a slice and an element for each work-item, on the device and on the host.
macro_rules! agree {
    ($name:ident, $count:expr, $extra:expr, $ty:ty, $zero:expr) => {
        let Some((_, queue)) = setting() else { return };
        let x = numbers($count + $extra);
        let (given, out) = (queue.upload(&x).unwrap(), memory::<$ty>(&queue, $count));
        run(&queue, $count, kernels::$name(&given, &out));
        let mut wanted = vec![$zero; $count];
        features::$name::run_on_host(HostRange::new([$count]), &x, &mut wanted);
        assert_eq!(queue.read(&out).unwrap(), wanted);
        assert!(wanted.iter().any(|value| *value != wanted[0]));
    };
}

#[test]
fn rk_dyn_001_objects_of_traits() {
    agree!(objects, 200, 2, u32, 0);
}

#[test]
fn rk_dyn_002_pointers_to_functions_and_closures() {
    agree!(functions, 200, 0, u32, 0);
}

#[test]
fn rk_lng_001_enums_with_payloads() {
    agree!(steps, 200, 0, u32, 0);
}

#[test]
fn rk_lng_002_generic_functions_and_iterators() {
    agree!(generics, 200, 0, i64, 0);
}

#[device_test(setting)]
fn rk_lng_003_functions_of_mathematics((_, queue): (Context, Queue)) {
    let x: Vec<f32> = (0..200_u8).map(|x| f32::from(x) / 16.0 - 6.0).collect();
    let (given, out) = (queue.upload(&x).unwrap(), memory::<[f32; 8]>(&queue, 200));
    run(&queue, 200, kernels::mathematics(&given, &out));
    let mut wanted = vec![[0.0; 8]; 200];
    features::mathematics::run_on_host(HostRange::new([200]), &x, &mut wanted);
    for (found, wanted) in queue.read(&out).unwrap().iter().zip(&wanted) {
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() <= 1e-5 * wanted.abs().max(1.0), "{found} is not {wanted}");
        }
    }
}

#[device_test(setting)]
fn rk_bar_001_a_tree_in_local_memory((_, queue): (Context, Queue)) {
    let x = numbers(250);
    let (given, sums) = (queue.upload(&x).unwrap(), memory::<u32>(&queue, 8));
    run(&queue, NdRange::new(256, 32), kernels::tree(&given, Local::new(32), &sums));
    let wanted: Vec<u32> = x.chunks(32).map(|part| part.iter().sum()).collect();
    assert_eq!(queue.read(&sums).unwrap(), wanted);
    let mut host = vec![0; 8];
    features::tree::run_on_host(HostRange::with_groups([256], [32]), &x, 32, &mut host);
    assert_eq!(host, wanted);
}

#[device_test(setting)]
fn rk_bar_002_a_scan_with_two_barriers_a_round((_, queue): (Context, Queue)) {
    let x = numbers(192);
    let (given, out) = (queue.upload(&x).unwrap(), memory::<u32>(&queue, 192));
    run(&queue, NdRange::new(192, 64), kernels::scan(&given, Local::new(64), &out));
    let mut wanted = Vec::new();
    for part in x.chunks(64) {
        wanted.extend(part.iter().scan(0, |sum, x| {
            *sum += x;
            Some(*sum)
        }));
    }
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_bar_003_barriers_for_global_memory((_, queue): (Context, Queue)) {
    let mut x = numbers(96);
    let memory = queue.upload(&x).unwrap();
    run(&queue, NdRange::new(96, 32), kernels::passed(7, &memory));
    for part in x.chunks_mut(32) {
        part.rotate_left(7);
        part.iter_mut().for_each(|x| *x += 7);
    }
    assert_eq!(queue.read(&memory).unwrap(), x);
}

#[device_test(setting)]
fn rk_grp_001_functions_of_work_groups((context, queue): (Context, Queue)) {
    if !context.device().capabilities().aspects.contains(Aspects::WORK_GROUP_COLLECTIVES) {
        skip!("the device has no functions of work-groups");
    }
    let x = numbers(128);
    let (given, out) = (queue.upload(&x).unwrap(), memory::<[u32; 9]>(&queue, 128));
    run(&queue, NdRange::new(128, 32), kernels::work_groups(&given, &out));
    let mut wanted = vec![[0; 9]; 128];
    features::work_groups::run_on_host(HostRange::with_groups([128], [32]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
    let group = &x[32..64];
    let least = group.iter().min().unwrap();
    assert_eq!(
        wanted[40][..5],
        [
            group.iter().sum(),
            *least,
            (-(*least as i32)) as u32,
            group[..9].iter().sum(),
            group[..8].iter().sum()
        ]
    );
}

#[device_test(setting)]
fn rk_sub_001_functions_of_sub_groups((context, queue): (Context, Queue)) {
    if !context.device().capabilities().aspects.contains(Aspects::SUB_GROUPS) {
        skip!("the device has no sub-groups");
    }
    let x = numbers(64);
    let (given, out) = (queue.upload(&x).unwrap(), memory::<[u32; 8]>(&queue, 64));
    run(&queue, NdRange::new(64, 64), kernels::sub_groups(&given, &out));
    // Which work-items form a sub-group is the device's choice: they come in order here, on all devices.
    let found = queue.read(&out).unwrap();
    let mut at = 0;
    for group in found.chunk_by(|one, next| one[0] == next[0]) {
        let own = &x[at..at + group.len()];
        at += group.len();
        for (n, found) in group.iter().enumerate() {
            let votes = u32::from(own.iter().all(|x| *x < 900)) | u32::from(own.iter().any(|x| *x < 10)) << 1;
            let (sum, most) = (own.iter().sum(), *own.iter().max().unwrap());
            let scan = own[..=n].iter().sum();
            assert_eq!(found[1..], [group.len() as u32, n as u32, sum, most, scan, own[0], votes]);
        }
    }
}

#[device_test(setting)]
fn rk_mix_001_rust_calls_c((_, queue): (Context, Queue)) {
    let x = numbers(64);
    let (given, out) = (queue.upload(&x).unwrap(), memory::<[f32; 3]>(&queue, 64));
    run(&queue, 64, mixed::mixed::calls_c(&given, &out));
    let most = *x.iter().max().unwrap() as f32;
    let wanted =
        x.iter().enumerate().map(|(i, x)| [(x % 100) as f32 * 0.5, most, [-1.0, 20.0, 300.0][i % 3]]);
    assert_eq!(queue.read(&out).unwrap(), wanted.collect::<Vec<_>>());
}

#[device_test(setting)]
fn rk_mix_002_c_calls_rust((_, queue): (Context, Queue)) {
    let out = memory::<i64>(&queue, 32);
    run(&queue, 32, mixed::mixed_c::calls_rust(-7, &out));
    assert_eq!(queue.read(&out).unwrap(), (0..32).map(|i| (i * 1000 - 5000) / -7).collect::<Vec<i64>>());
    assert_eq!(queue.read(&mixed::mixed::QUOTIENTS).unwrap(), 32);
    let sums = memory::<u32>(&queue, 32);
    run(&queue, NdRange::new(32, 8), mixed::mixed_c::calls_rust_locally(Local::new(8), &sums));
    let wanted: Vec<u32> = (0..32).map(|i| i / 8 * 64 + 28).collect();
    assert_eq!(queue.read(&sums).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_mix_003_both_languages_change_device_globals((_, queue): (Context, Queue)) {
    run(&queue, 1, mixed::mixed_c::step_in_c(4));
    run(&queue, 1, mixed::mixed::step_in_rust(1));
    assert_eq!(queue.read(&mixed::mixed::OURS).unwrap(), 39);
    queue.write(&mixed::mixed::OURS, &100).unwrap();
    run(&queue, 1, mixed::mixed_c::step_in_c(1));
    assert_eq!(queue.read(&mixed::mixed::OURS).unwrap(), 301);
    assert_eq!(queue.read(&mixed::mixed_c::THEIRS).unwrap(), [4, 20, 300]);
}

#[device_test(setting)]
fn rk_bld_001_programs_come_from_the_cache_and_work((context, _): (Context, Queue)) {
    let folder = tempfile::tempdir().unwrap();
    let cache = oclave::kernel::ProgramCache::Directory(folder.path().to_owned());
    for _ in 0..2 {
        let context = Context::builder(context.devices()).program_cache(&cache).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        globals(&queue, 3, [-5, 50, 7], [1, 2, 3, 4, 5, 6]);
        let out = memory::<u32>(&queue, 1);
        let x = queue.upload(&[1_u32]).unwrap();
        run(&queue, 1, on_device::panics::bounds(&x, &out));
        super::rust_support::panics(
            &queue,
            1,
            on_device::panics::bounds(x.slice(0..0).unwrap(), &out),
            &["index out of bounds", "kernel `bounds`"],
        );
    }
}

#[device_test(setting)]
fn rk_bld_002_images_made_ahead_of_time((context, queue): (Context, Queue)) {
    let is_used = |bytes: &&[u8]| {
        ["features", "panics"].contains(&oclave_image::DeviceImage::from_bytes(bytes).unwrap().name.as_str())
    };
    let images: Vec<&[u8]> = on_device::IMAGES.containers().iter().copied().filter(is_used).collect();
    let made = oclave::kernel::build_ahead_of_time(context.device(), &images, true).unwrap();
    let bundles: Vec<_> =
        made.iter().map(|bytes| crate::common::load::image(&context, bytes).unwrap()).collect();
    let call = |name: &str| bundles.iter().find_map(|bundle| bundle.kernel(name).ok()).unwrap().call();
    let session = oclave::record::Session::start();
    // Device globals, with the values of the source and those of the host.
    let out = memory::<i32>(&queue, 60);
    queue.write(&kernels::FACTOR, &2).unwrap();
    run(&queue, 60, call("globals").pointer_mut::<i32>(&out));
    let wanted = (0..60).map(|i| (i * 2 + 1 + i % 6).clamp(-5, 50) + 7);
    assert_eq!(queue.read(&out).unwrap(), wanted.collect::<Vec<i32>>());
    // Panics know their places and their values.
    let (x, sums) = (queue.upload(&[4_u32, 5]).unwrap(), memory::<u32>(&queue, 3));
    let bounds = || call("bounds").slice::<u32>(&x).pointer_mut::<u32>(&sums);
    run(&queue, 2, bounds());
    assert_eq!(queue.read(&sums).unwrap()[..2], [5, 6]);
    let parts = ["panics.rs", "index out of bounds: the len is 2 but the index is 2", "kernel `bounds`"];
    super::rust_support::panics(&queue, 3, bounds(), &parts);
    assert_eq!(crate::common::compiled(&session), 0, "nothing is compiled");
    assert_eq!(crate::common::from_binaries(&session), 2);
    // A launch is checked as that of a generated function.
    let error = queue.parallel_for(4, bounds()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange, "{error}");
}
