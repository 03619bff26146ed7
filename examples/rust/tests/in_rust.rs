//! The kernels on a device give what they give on the host.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::{Arc, Mutex};

use oclave::device::Aspects;
use oclave::graph::DynamicParameter;
use oclave::half;
use oclave::images::{D2, Filter, Rgba, Sampler};
use oclave::kernel::{Kernel, KernelCall, Local, NdRange};
use oclave::memory::usm;
use oclave::vector::{Float3, Float4};
use oclave::{Buffer, Command, Context, Device, ErrorKind, Graph, Queue, UsmSlice};
use oclave_kernel::images::{HostImage, HostSampler};
use oclave_kernel::{HostRange, Vec3, Vec4, f16};
use rust_kernels::{host, kernels};

const N: usize = 1000;

fn queue() -> (Context, Queue) {
    let device = Device::select().unwrap();
    println!("on {}", device.name());
    let context = Context::new(&device).unwrap();
    let queue = Queue::new(&context).unwrap();
    (context, queue)
}

/// Numbers that look random.
fn numbers(count: usize) -> Vec<u64> {
    let next = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    std::iter::successors(Some(1), next).map(|state| state ^ state >> 29).skip(1).take(count).collect()
}

/// Kernels of a source give the same on the device and on the host. Each work-item writes an element.
macro_rules! same_as_host {
    (($queue:ident, $given:ident, $out:ident, $x:ident) $source:ident: $($kernel:ident)*) => {$(
        $queue.parallel_for(N, kernels::$source::$kernel(&$given, &$out)).unwrap();
        let mut wanted = vec![0; N];
        host::$source::$kernel::run_on_host(HostRange::new([N]), &$x, &mut wanted);
        assert_eq!($queue.read(&$out).unwrap(), wanted, stringify!($kernel));
    )*};
}

#[test]
fn saxpy() {
    let (_, queue) = queue();
    let x: Vec<f32> = numbers(N).iter().map(|n| (n % 1000) as f32 / 8.0).collect();
    let mut wanted = vec![1.5; N];
    let (on_device, y) = (queue.upload(&x).unwrap(), queue.upload(&wanted).unwrap());
    queue.parallel_for(N, kernels::step::saxpy(0.3, &on_device, &y)).unwrap();
    host::step::saxpy::run_on_host(HostRange::new([N]), 0.3, &x, &mut wanted);
    assert_eq!(queue.read(&y).unwrap(), wanted);
}

#[test]
fn bodies() {
    let (context, queue) = queue();
    let random = numbers(4 * N);
    let place = |n: u64| (n % 2001) as f32 / 1000.0 - 1.0;
    let bodies: Vec<host::step::Body> = random
        .chunks(4)
        .map(|n| host::step::Body {
            place: [place(n[0]), place(n[1]), place(n[2])],
            mass: 1.0 + place(n[3]) / 2.0,
        })
        .collect();
    let given: Vec<kernels::step::Body> =
        bodies.iter().map(|body| kernels::step::Body::new(body.place, body.mass)).collect();
    let (x, y) = (queue.upload(&given).unwrap(), context.alloc_device::<[f32; 3]>(N).unwrap());
    queue.parallel_for(N, kernels::step::accelerate(&x, &y)).unwrap();
    let mut wanted = vec![[0.0; 3]; N];
    host::step::accelerate::run_on_host(HostRange::new([N]), &bodies, &mut wanted);
    // Devices may round square roots and divisions less exactly.
    for (found, wanted) in queue.read(&y).unwrap().iter().zip(&wanted) {
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() <= 1e-4 * wanted.abs().max(1.0), "{found} is not {wanted}");
        }
    }
}

#[test]
fn tree_reduction() {
    let (context, queue) = queue();
    let x: Vec<u32> = numbers(N).iter().map(|n| *n as u32).collect();
    let groups = N.div_ceil(64);
    let (given, sums) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(groups).unwrap());
    queue
        .parallel_for(NdRange::new(groups * 64, 64), kernels::step::sums(&given, Local::new(64), &sums))
        .unwrap();
    let mut wanted = vec![0; groups];
    let range = HostRange::with_groups([groups * 64], [64]);
    host::step::sums::run_on_host(range, &x, 64, &mut wanted);
    let plain: Vec<u32> =
        x.chunks(64).map(|part| part.iter().fold(0, |a, b| u32::wrapping_add(a, *b))).collect();
    assert_eq!(wanted, plain);
    assert_eq!(queue.read(&sums).unwrap(), wanted);
}

#[test]
fn histogram() {
    let (_, queue) = queue();
    let bytes: Vec<u8> = numbers(100_000).iter().map(|n| (*n >> 40) as u8).collect();
    let (given, counts) = (queue.upload(&bytes).unwrap(), queue.upload(&[0_u32; 256]).unwrap());
    queue.parallel_for(512, kernels::step::histogram(&given, &counts)).unwrap();
    let mut wanted = vec![0_u32; 256];
    bytes.iter().for_each(|byte| wanted[usize::from(*byte)] += 1);
    assert_eq!(queue.read(&counts).unwrap(), wanted);
}

#[test]
fn enums_with_payloads() {
    let (context, queue) = queue();
    let kinds: Vec<u32> = numbers(N).iter().map(|n| (n % 1000) as u32).collect();
    let (given, areas) = (queue.upload(&kinds).unwrap(), context.alloc_device::<f32>(N).unwrap());
    queue.parallel_for(N, kernels::mix::shapes(&given, &areas)).unwrap();
    let mut wanted = vec![0.0; N];
    host::mix::shapes::run_on_host(HostRange::new([N]), &kinds, &mut wanted);
    assert_eq!(queue.read(&areas).unwrap(), wanted);
}

#[test]
fn integers() {
    let (context, queue) = queue();
    let x = numbers(N);
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u64>(N).unwrap());
    queue.parallel_for(N, kernels::mix::integers(&given, &out)).unwrap();
    let mut wanted = vec![0; N];
    host::mix::integers::run_on_host(HostRange::new([N]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[test]
fn widths() {
    let (context, queue) = queue();
    // Small numbers, and those around powers of two.
    let mut x = numbers(N);
    x.extend(
        (0..64).flat_map(|bit| [(1_u64 << bit).wrapping_sub(1), 1 << bit, (1_u64 << bit) + 1, !(1 << bit)]),
    );
    x.extend(0..40);
    let count = x.len() - 1;
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<[u64; 26]>(count).unwrap());
    queue.parallel_for(count, kernels::widths::widths(&given, &out)).unwrap();
    let mut wanted = vec![[0; 26]; count];
    host::widths::widths::run_on_host(HostRange::new([count]), &x, &mut wanted);
    for (n, (found, wanted)) in queue.read(&out).unwrap().iter().zip(&wanted).enumerate() {
        let wrong: Vec<usize> = (0..26).filter(|at| found[*at] != wanted[*at]).collect();
        assert!(
            wrong.is_empty(),
            "{wrong:?} of {:#x} and {:#x}: {found:x?} is not {wanted:x?}",
            x[n],
            x[n + 1]
        );
    }
}

#[test]
fn wide_numbers_and_floats() {
    let (context, queue) = queue();
    // Among them infinities, NaN, and powers of two around the limits.
    let mut x = numbers(N);
    let shown = [0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f00_0000, 0xff00_0000, 0x7eff_ffff, 0x7f7f_ffff];
    x.extend(shown.into_iter().chain([0xff00_0001, 0x3f80_0000, 0x3f7f_ffff, 0]).map(|bits: u64| bits << 7));
    x.extend([u64::MAX, u64::MAX - 113, u64::MAX, 1 << 63, 0, 1 << 63]);
    let count = x.len() - 1;
    let given = queue.upload(&x).unwrap();
    macro_rules! compare {
        ($kernel:ident) => {
            let out = context.alloc_device::<[u64; 8]>(count).unwrap();
            queue.parallel_for(count, kernels::widths::$kernel(&given, &out)).unwrap();
            let mut wanted = vec![[0; 8]; count];
            host::widths::$kernel::run_on_host(HostRange::new([count]), &x, &mut wanted);
            for (n, (found, wanted)) in queue.read(&out).unwrap().iter().zip(&wanted).enumerate() {
                assert_eq!(found, wanted, "{:#x} and {:#x}", x[n], x[n + 1]);
            }
        };
    }
    compare!(wide_and_floats);
    if context.device().capabilities().aspects.contains(Aspects::FP64) {
        compare!(wide_and_doubles);
    } else {
        println!("skipped: the device has no doubles");
    }
}

#[test]
fn matches_over_128_bits() {
    let (context, queue) = queue();
    let x = [1, 0, 1, 1, 2, 0, 0, u64::MAX, u64::MAX, 2, 1, 0];
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u64>(11).unwrap());
    queue.parallel_for(11, kernels::widths::matched(&given, &out)).unwrap();
    let mut wanted = [0; 11];
    host::widths::matched::run_on_host(HostRange::new([11]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
    assert_eq!(wanted[..5], [3, 2, 76, 3, 1024]);
}

#[test]
fn vectors_of_bits() {
    let (context, queue) = queue();
    let x = numbers(N + 1);
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(N).unwrap());
    queue.parallel_for(N, kernels::widths::highest_bits(&given, &out)).unwrap();
    let bit = |n: usize| (x[n / 8] >> (n % 8 * 8 + 7) & 1) as u32;
    let wanted: Vec<u32> = (0..N).map(|i| (0..16).map(|at| bit(i * 8 + at) << at).sum()).collect();
    assert_eq!(queue.read(&out).unwrap(), wanted);
    let mut on_host = vec![0; N];
    host::widths::highest_bits::run_on_host(HostRange::new([N]), &x, &mut on_host);
    assert_eq!(on_host, wanted);
}

#[test]
fn copies() {
    let (context, queue) = queue();
    let x = numbers(N);
    let count = x.len() - 20;
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<[u64; 4]>(count).unwrap());
    queue.parallel_for(count, kernels::widths::copies(&given, &out)).unwrap();
    let mut wanted = vec![[0; 4]; count];
    host::widths::copies::run_on_host(HostRange::new([count]), &x, &mut wanted);
    for (n, (found, wanted)) in queue.read(&out).unwrap().iter().zip(&wanted).enumerate() {
        assert_eq!(found, wanted, "work-item {n}");
    }
}

#[test]
fn code_for_one_side() {
    let (context, queue) = queue();
    let x: Vec<u32> = numbers(N).iter().map(|n| *n as u32).collect();
    let given = queue.upload(&x).unwrap();
    let out = context.alloc_device::<[u32; 2]>(N).unwrap();
    queue.parallel_for(N, kernels::mix::sides(&given, &out)).unwrap();
    let mut wanted = vec![[0; 2]; N];
    host::mix::sides::run_on_host(HostRange::new([N]), &x, &mut wanted);
    let (hashes, sides): (Vec<u32>, Vec<u32>) = wanted.iter().map(|[hash, side]| (*hash, *side)).unzip();
    assert_eq!(sides, vec![0; N]);
    let wanted: Vec<[u32; 2]> = hashes.into_iter().map(|hash| [hash, 1]).collect();
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[test]
fn vectors_and_halves() {
    let (context, queue) = queue();
    let (by, random) = ([0.5, -0.5, 0.5, 0.5], numbers(4 * N));
    let place = |n: u64| (n % 2001) as f32 / 8.0;
    let points: Vec<[f32; 3]> = random.chunks(4).map(|n| [place(n[0]), place(n[1]), place(n[2])]).collect();
    let weights: Vec<f16> = random.chunks(4).map(|n| f16::from_f32(place(n[3]))).collect();
    let given = queue.upload(&points.iter().copied().map(Float3::new).collect::<Vec<_>>()).unwrap();
    let halves: Vec<half::f16> =
        weights.iter().map(|weight| half::f16::from_bits(weight.to_bits())).collect();
    let halves = queue.upload(&halves).unwrap();
    let out = context.alloc_device::<Float4>(N).unwrap();
    queue.parallel_for(N, kernels::vectors::turn(Float4::new(by), &given, &halves, &out)).unwrap();
    let points: Vec<Vec3<f32>> = points.into_iter().map(Vec3::from).collect();
    let mut wanted = vec![Vec4::default(); N];
    host::vectors::turn::run_on_host(HostRange::new([N]), Vec4::from(by), &points, &weights, &mut wanted);
    let found: Vec<Vec4<f32>> = queue.read(&out).unwrap().iter().map(|v| Vec4::from(*v.lanes())).collect();
    assert_eq!(found, wanted);
}

#[test]
fn pictures() {
    let (context, queue) = queue();
    if context.device().capabilities().images.is_none() {
        println!("skipped: the device has no images");
        return;
    }
    let colours: Vec<Vec4<f32>> = numbers(8 * 6)
        .iter()
        .map(|n| Vec4::new(n % 16, n >> 4 & 15, n >> 8 & 15, 16))
        .map(|v| v.map(|x| x as f32 / 16.0))
        .collect();
    let image = |rows, columns| context.alloc_image::<Rgba<f32>, D2>([rows, columns]).unwrap();
    let (from, half, edges) = (image(6, 8), image(3, 4), image(6, 8));
    queue.write(&from, &colours.iter().map(|colour| colour.to_array()).collect::<Vec<_>>()).unwrap();
    let linear = Sampler::builder(&context).filter(Filter::Linear).build().unwrap();
    let call = kernels::pictures::halve(&from, &linear, &half);
    queue.parallel_for(half.shape().work_items(), call).unwrap();
    queue.parallel_for(from.shape().work_items(), kernels::pictures::edges(&from, &edges)).unwrap();

    let from = HostImage::from_pixels([8, 6], &colours);
    let mut own_half = HostImage::new([4, 3], Vec4::<f32>::default());
    let mut own_edges = from.clone();
    let linear = HostSampler::new().linear();
    host::pictures::halve::run_on_host(HostRange::new([4, 3]), &from, linear, &mut own_half);
    host::pictures::edges::run_on_host(HostRange::new([8, 6]), &from, &mut own_edges);
    let pixels = |image: &HostImage<_>| -> Vec<[f32; 4]> {
        image.pixels::<f32>().iter().map(|pixel| pixel.to_array()).collect()
    };
    assert_eq!(queue.read(&edges).unwrap(), pixels(&own_edges));
    // Devices may mix pixels with few bits.
    for (found, wanted) in queue.read(&half).unwrap().iter().zip(pixels(&own_half)) {
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() <= 0.01, "{found} is not {wanted}");
        }
    }
}

#[test]
fn text_reaches_the_program() {
    let device = Device::select().unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let context = Context::builder(&[device])
        .printf(move |line| sink.lock().unwrap().push(line.text().to_owned()))
        .build();
    let queue = Queue::new(&context.unwrap()).unwrap();
    let x = queue.upload(&[10_u32, 250, 99, 4000]).unwrap();
    queue.parallel_for(4, kernels::vectors::report(&x, 100)).unwrap().wait().unwrap();
    let mut found = lines.lock().unwrap().clone();
    found.sort();
    assert_eq!(
        found,
        ["x[1] is 250 = 0xfa, 2.50 of the limit\n", "x[3] is 4000 = 0xfa0, 40.00 of the limit\n"]
    );
    host::vectors::report::run_on_host(HostRange::new([1]), &[3], 2);
}

#[test]
fn panics_reach_the_host_and_the_queue_goes_on() {
    let (context, queue) = queue();
    let mut x: Vec<u32> = (0..64).collect();
    let out = context.alloc_device::<u32>(64).unwrap();
    let call = |x: &[u32], divisor: u32| {
        let settings = kernels::mix::Settings::new(3, divisor, [2, 3, 5]);
        let x = queue.upload(x).unwrap();
        queue.parallel_for(64, kernels::mix::faults(settings, &x, &out)).unwrap();
        queue.wait()
    };
    let wanted = |divisor: u32| (0..64).map(|x| (x / divisor + 3) * 30).collect::<Vec<u32>>();
    call(&x, 2).unwrap();
    assert_eq!(queue.read(&out).unwrap(), wanted(2));

    let error = call(&x, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel);
    let text = error.to_string();
    assert!(text.contains("mix.rs:") && text.contains("attempt to divide by zero"), "{text}");
    assert!(text.contains("kernel `faults`") && text.contains("work-item"), "{text}");

    let text = call(&x[..63], 1).unwrap_err().to_string();
    assert!(text.contains("work-item 63 panicked") && text.contains("index out of bounds"), "{text}");

    x[17] = 1000;
    let text = call(&x, 1).unwrap_err().to_string();
    assert!(text.contains("work-item 17 panicked") && text.contains("a thousand is too much"), "{text}");

    // The other work-items ended well, this one wrote nothing, and the queue can be used further.
    let found = queue.read(&out).unwrap();
    let mut others = wanted(1);
    others[17] = found[17];
    assert_eq!(found, others);
    x[17] = 17;
    call(&x, 1).unwrap();
    assert_eq!(queue.read(&out).unwrap(), wanted(1));
}

#[test]
fn a_range_beyond_an_out_is_refused() {
    let (context, queue) = queue();
    let x = queue.upload(&[1.0_f32; 100]).unwrap();
    let y = context.alloc_device::<f32>(99).unwrap();
    let error = queue.parallel_for(100, kernels::step::saxpy(1.0, &x, &y)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange);
    let text = error.to_string();
    assert!(
        text.contains("100 work-items") && text.contains("99 elements") && text.contains("`y`"),
        "{text}"
    );
    // The ids of a range with an offset are not the numbers of its work-items.
    queue.parallel_for(NdRange::from(50).with_offset(50), kernels::step::saxpy(1.0, &x, &y)).unwrap();
    queue.wait().unwrap();
}

#[test]
fn one_memory_for_two_parameters_is_refused() {
    let (context, queue) = queue();
    let memory = queue.upload(&[1.0_f32; 100]).unwrap();
    let refused = |call: KernelCall| {
        let error = queue.parallel_for(50, call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelArgument);
        assert!(error.to_string().contains("in one memory"), "{error}");
    };
    refused(kernels::step::saxpy(1.0, &memory, &memory));
    let (left, right) = (memory.slice(0..60).unwrap(), memory.slice(40..100).unwrap());
    refused(kernels::step::saxpy(1.0, &left, &right));
    let (left, right) = (memory.slice(0..50).unwrap(), memory.slice(50..100).unwrap());
    queue.parallel_for(50, kernels::step::saxpy(2.0, &left, &right)).unwrap();
    let found = queue.read(&memory).unwrap();
    assert_eq!((found[0], found[99]), (1.0, 3.0));

    // Memory that the kernel changes must not be read as a slice. Two slices may be one memory.
    let numbers = queue.upload(&[1_u32; 64]).unwrap();
    let range = NdRange::new(64, 64);
    let error =
        queue.parallel_for(range, kernels::step::sums(&numbers, Local::new(64), &numbers)).unwrap_err();
    assert!(error.to_string().contains("`x` and `sums`"), "{error}");
    let out = context.alloc_device::<u32>(64).unwrap();
    queue.parallel_for(64, kernels::mix::differences(&numbers, &numbers, &out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [0; 64]);

    // Parts of one buffer.
    let buffer = Buffer::from_vec(vec![1.0_f32; 100]).unwrap();
    refused(kernels::step::saxpy(1.0, buffer.read(), buffer.read_write()));
    let (left, right) = (buffer.read().slice(0..50).unwrap(), buffer.read_write().slice(50..100).unwrap());
    queue.parallel_for(50, kernels::step::saxpy(2.0, &left, &right)).unwrap();
    assert_eq!(buffer.host_read().unwrap()[50], 3.0);
}

/// As the launcher has it.
static SAXPY: Kernel = Kernel::new(&kernels::IMAGES, "saxpy");

#[test]
fn what_the_host_says_of_lengths_is_checked() {
    let (context, queue) = queue();
    let (x, y) = (queue.upload(&[1.0_f32; 10]).unwrap(), context.alloc_device::<f32>(10).unwrap());
    let call = |len: u64| {
        KernelCall::new(&SAXPY).value(1.0_f32).pointer::<f32>(&x).value(len).pointer_mut::<f32>(&y)
    };
    queue.parallel_for(10, call(10)).unwrap();
    let text = queue.parallel_for(10, call(11)).unwrap_err().to_string();
    assert!(text.contains("11 elements"), "{text}");
    let text = queue.parallel_for(10, call(u64::MAX)).unwrap_err().to_string();
    assert!(text.contains("elements"), "{text}");
    queue.wait().unwrap();
}

#[test]
fn lengths_follow_what_nodes_of_graphs_are_given() {
    let (context, queue) = queue();
    let graph = Graph::new(&context, context.device()).unwrap();
    let long: Vec<u32> = (0..100).collect();
    let (a, b) = (queue.upload(&long).unwrap(), queue.upload(&long[..30]).unwrap());
    let out = context.alloc_device::<u32>(100).unwrap();
    let (input, output) =
        (DynamicParameter::new(&graph, a.clone()), DynamicParameter::new(&graph, out.clone()));
    let node = graph.add(Command::parallel_for(1, kernels::mix::lengths(&input, &output))).unwrap();
    let executable = graph.finalizer().updatable().finalize().unwrap();
    let run = || {
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        queue.read(&out).unwrap()[0]
    };
    assert_eq!(run(), 100_099);
    executable.set(&input, &b).unwrap();
    assert_eq!(run(), 30_029);
    executable.set(&input, b.slice(0..5).unwrap()).unwrap();
    assert_eq!(run(), 5004);

    // What would be refused at a launch is refused here, and changes nothing.
    let error = executable.set(&output, a.slice(0..0).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NdRange);
    executable.set(&input, &a).unwrap();
    let error = executable.set(&output, &a).unwrap_err();
    assert!(error.to_string().contains("in one memory"), "{error}");
    assert_eq!(run(), 100_099);

    // The whole command, and the range.
    node.update_command(Command::parallel_for(1, kernels::mix::lengths(&b, &out))).unwrap();
    executable.update(&node).unwrap();
    assert_eq!(run(), 30_029);
    let error = node.update_range(101).unwrap_err();
    assert!(error.to_string().contains("101 work-items"), "{error}");
}

#[test]
fn device_globals_are_shared_with_the_host() {
    use kernels::groups::{GAINS, Gains, ODD, REMAINDERS, TABLE};
    let (context, queue) = queue();
    let x: Vec<u32> = numbers(N).iter().map(|n| (n % 1000) as u32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(N).unwrap());
    let run = |gains: Gains, table: [u32; 8]| {
        queue.parallel_for(N, kernels::groups::count(&given, &out)).unwrap();
        let wanted = x.iter().enumerate().map(|(i, x)| x * gains.factor + gains.terms[i % 3] + table[i % 8]);
        assert_eq!(queue.read(&out).unwrap(), wanted.collect::<Vec<u32>>());
    };
    let table = [1, 2, 3, 4, 5, 6, 7, 8];
    let odd = x.iter().filter(|x| **x % 2 == 1).count() as u32;
    assert_eq!(queue.read(&ODD).unwrap(), 5);
    run(Gains::new(2, [10, 20, 30]), table);
    assert_eq!(queue.read(&ODD).unwrap(), 5 + odd);
    let counts = [0, 1, 2, 3].map(|r| x.iter().filter(|x| **x % 4 == r).count() as u32);
    assert_eq!(queue.read(&REMAINDERS).unwrap(), counts);
    queue.write(&GAINS, &Gains::new(3, [7, 8, 9])).unwrap();
    queue.parallel_for(8, kernels::groups::change_table(100)).unwrap();
    queue.write(&ODD, &0).unwrap();
    run(Gains::new(3, [7, 8, 9]), table.map(|x| x + 100));
    assert_eq!(queue.read(&ODD).unwrap(), odd);
    assert_eq!(queue.read(&TABLE).unwrap(), table.map(|x| x + 100));

    let mut wanted = vec![0; N];
    host::groups::count::run_on_host(HostRange::new([N]), &x, &mut wanted);
    let own = x.iter().enumerate().map(|(i, x)| x * 2 + [10, 20, 30][i % 3] + table[i % 8]);
    assert_eq!(wanted, own.collect::<Vec<u32>>());
}

#[test]
fn specialization_constants() {
    use kernels::groups::{ROUNDS, SHIFT, rounds};
    let (_, queue) = queue();
    let out = queue.upload(&[1.0_f32; 4]).unwrap();
    queue.parallel_for(4, rounds(&out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [2.5; 4]);
    queue.parallel_for(4, rounds(&out).spec(&ROUNDS, 10).spec(&SHIFT, 2.0)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [22.5; 4]);
    let mut wanted = [1.0; 4];
    host::groups::rounds::run_on_host(HostRange::new([4]), &mut wanted);
    assert_eq!(wanted, [2.5; 4]);
}

/// A kernel of `bounds.rs` on the device, and on the host. Both panic, or neither.
macro_rules! within_bounds {
    ($($kernel:ident)*) => {$(
        #[test]
        fn $kernel() {
            within_bounds(
                |a, b, x, out| kernels::bounds::$kernel(a, b, x, out),
                |range, a, b, x, out| host::bounds::$kernel::run_on_host(range, a, b, x, out),
            );
        }
    )*};
}

mod bounds {
    use super::*;

    within_bounds! {
        shifted wrapped strided mirrored beside upwards in_steps downwards down_to_first halves narrow signed masked between
        part triangle until in_turns scattered waiting
    }
}

type Given<'m> = &'m UsmSlice<u32, usm::DeviceOnly>;

/// Runs a kernel with arguments at which its indices are just within its slices, just beyond them, or overflow. The memory
/// around the slices must stay as it was.
fn within_bounds(
    call: impl Fn(u64, u64, Given<'_>, Given<'_>) -> KernelCall,
    on_host: impl Fn(HostRange<1>, u64, u64, &[u32], &mut [u32]),
) {
    const AROUND: usize = 64;
    let (_, queue) = queue();
    let arguments = [0, 1, 2, 3, 4, 7, 12, 16, 1 << 31, 1 << 32, u64::MAX - 1, u64::MAX];
    let (mut ended, mut panicked) = (0, 0);
    let random = numbers(400);
    let mut random = random.iter().map(|number| *number as usize);
    let mut one_of = |count: usize| random.next().unwrap() % count;
    for _ in 0..80 {
        let (n, length) = ([4, 8, 16][one_of(3)], [0, 1, 4, 7, 8, 15, 16, 17, 40][one_of(9)]);
        let (a, b) = (arguments[one_of(arguments.len())], arguments[one_of(arguments.len())]);
        let of_x: Vec<u32> = (0..length + 2 * AROUND).map(|at| 1000 + at as u32).collect();
        let of_out = vec![77_u32; n + 2 * AROUND];
        let (x, out) = (queue.upload(&of_x).unwrap(), queue.upload(&of_out).unwrap());
        let (part_of_x, part_of_out) =
            (x.slice(AROUND..AROUND + length).unwrap(), out.slice(AROUND..AROUND + n).unwrap());
        queue.parallel_for(NdRange::new(n, 4), call(a, b, &part_of_x, &part_of_out)).unwrap();
        let result = queue.wait();
        let mut wanted = of_out.clone();
        let range = HostRange::with_groups([n], [4]);
        let run = || on_host(range, a, b, &of_x[AROUND..AROUND + length], &mut wanted[AROUND..AROUND + n]);
        let is_within = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok();
        let found = queue.read(&out).unwrap();
        let what = format!("{n} work-items, {length} elements, a {a}, b {b}");
        if is_within {
            ended += 1;
            assert!(result.is_ok(), "{what}: {result:?}");
            assert_eq!(found, wanted, "{what}");
        } else {
            panicked += 1;
            let kind = result.as_ref().map_err(oclave::Error::kind);
            assert_eq!(kind, Err(ErrorKind::Kernel), "{what}: {result:?}");
        }
        assert_eq!(queue.read(&x).unwrap(), of_x, "{what}");
        for around in [0..AROUND, AROUND + n..n + 2 * AROUND] {
            assert_eq!(found[around.clone()], of_out[around], "{what}");
        }
    }
    assert!(ended > 5 && panicked > 5, "{ended} ended, {panicked} panicked");
}

#[test]
fn places_from_memory() {
    let (context, queue) = queue();
    let (x, out) = (queue.upload(&[3_u32, 7, 20, 90, 1]).unwrap(), context.alloc_device::<u32>(1).unwrap());
    for (places, wanted) in [([0_u32, 2, 1], Some(87)), ([0, 4, 1], None), ([0xffff_fff0, 0, 0], None)] {
        let places = queue.upload(&places).unwrap();
        queue.parallel_for(1, kernels::bounds::gaps(&places, &x, &out)).unwrap();
        match (queue.wait(), wanted) {
            (Ok(()), Some(wanted)) => assert_eq!(queue.read(&out).unwrap(), [wanted]),
            (Err(error), None) => assert_eq!(error.kind(), ErrorKind::Kernel, "{error}"),
            (result, wanted) => panic!("{result:?}, not {wanted:?}"),
        }
    }
}

#[test]
fn complements_in_common() {
    let (_, queue) = queue();
    let (shared, out) = (queue.upload(&[0x1234_u32]).unwrap(), queue.upload(&[0_u32; 101]).unwrap());
    queue.parallel_for(101, kernels::bounds::in_common(&shared, &out)).unwrap();
    // The first of them, and those behind it in turns.
    let mut found = queue.read(&out).unwrap();
    found.sort_unstable();
    let next = !0x34_u32;
    assert_eq!(found.first(), Some(&0x1234));
    assert_eq!(found.iter().filter(|value| **value == next).count(), 50);
    let other = !(next & 0xff);
    assert_eq!(found.iter().filter(|value| **value == other).count(), 50);
    assert_eq!(queue.read(&shared).unwrap(), [next]);
}

#[test]
fn functions_that_never_return() {
    let (_, queue) = queue();
    let (seen, out) = (queue.upload(&[0_u32]).unwrap(), queue.upload(&[0_u32; 9]).unwrap());
    queue.parallel_for(9, kernels::bounds::odd_ones(&seen, &out)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    let is_told = |i| text.contains(&format!("index {i} is odd"));
    assert!([1, 3, 5, 7].into_iter().any(is_told) && text.contains("bounds.rs"), "{text}");
    assert_eq!(queue.read(&seen).unwrap(), [4]);
    assert_eq!(queue.read(&out).unwrap(), [7, 0, 7, 0, 7, 0, 7, 0, 7]);
}

#[test]
fn local_arrays() {
    let (context, queue) = queue();
    let x: Vec<u32> = (0..32 * 32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(x.len()).unwrap());
    queue.parallel_for(NdRange::new([32, 32], [8, 8]), kernels::groups::transpose(32, &given, &out)).unwrap();
    let wanted: Vec<u32> = (0..32 * 32).map(|i| i % 32 * 32 + i / 32).collect();
    assert_eq!(queue.read(&out).unwrap(), wanted);
    let mut on_host = vec![0; x.len()];
    let range = HostRange::with_groups([32, 32], [8, 8]);
    host::groups::transpose::run_on_host(range, 32, &x, &mut on_host);
    assert_eq!(on_host, wanted);
}

#[test]
fn functions_of_work_groups() {
    let (context, queue) = queue();
    if !context.device().capabilities().aspects.contains(Aspects::WORK_GROUP_COLLECTIVES) {
        println!("skipped: the device has no functions of work-groups");
        return;
    }
    let x: Vec<u32> = numbers(128).iter().map(|n| (n % 1000) as u32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<[u32; 8]>(128).unwrap());
    queue.parallel_for(NdRange::new(128, 32), kernels::groups::together(&given, &out)).unwrap();
    let mut wanted = vec![[0; 8]; 128];
    host::groups::together::run_on_host(HostRange::with_groups([128], [32]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
    let group = &x[32..64];
    assert_eq!(wanted[40][0], group.iter().sum::<u32>());
    assert_eq!(wanted[40][1] as i32, *group.iter().min().unwrap() as i32 - 500);
    assert_eq!(wanted[40][3], group[..9].iter().sum::<u32>());
    assert_eq!(wanted[40][6], group[5]);

    let x = numbers(128);
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u64>(128).unwrap());
    queue.parallel_for(NdRange::new([16, 8], [4, 4]), kernels::groups::together_2d(&given, &out)).unwrap();
    let mut wanted = vec![0; 128];
    host::groups::together_2d::run_on_host(HostRange::with_groups([16, 8], [4, 4]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[test]
fn sub_groups() {
    let (context, queue) = queue();
    if !context.device().capabilities().aspects.contains(Aspects::SUB_GROUPS) {
        println!("skipped: the device has no sub-groups");
        return;
    }
    let x: Vec<u32> = numbers(64).iter().map(|n| (n % 1000) as u32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<[u32; 3]>(64).unwrap());
    queue.parallel_for(NdRange::new(64, 64), kernels::groups::sub_groups(&given, &out)).unwrap();
    // Which work-items form a sub-group is the device's choice: they come in order here, on all devices.
    let mut at = 0;
    for group in queue.read(&out).unwrap().chunk_by(|_, next| next[2] & 0xffff != 0) {
        let own = &x[at..at + group.len()];
        at += group.len();
        for (n, [sum, first, ids]) in group.iter().enumerate() {
            assert_eq!((*sum, *first), (own.iter().sum(), own[0]));
            assert_eq!(*ids, (group.len() << 16 | n) as u32);
        }
    }
}

#[test]
fn rust_and_c_call_each_other() {
    use rust_kernels::both::{both, both_c};
    let (context, queue) = queue();
    let x: Vec<f32> = (0..64_u8).map(f32::from).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<f32>(64).unwrap());
    queue.parallel_for(64, both::calls_c(&given, &out)).unwrap();
    let sum: f32 = x.iter().sum();
    let offsets = [1.0, 20.0, 300.0, 4000.0];
    let wanted = x.iter().enumerate().map(|(i, x)| (i % 10) as f32 * x + sum + offsets[i % 4]);
    assert_eq!(queue.read(&out).unwrap(), wanted.collect::<Vec<f32>>());

    let x: Vec<i32> = (0..20).map(|x| x * 3).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u64>(64).unwrap());
    queue.parallel_for(64, both_c::calls_rust(&given, 20, 7, &out)).unwrap();
    let above = |i: u64| x.iter().position(|x| *x > i as i32).unwrap_or(20) as u64;
    let wanted: Vec<u64> = (0..64).map(|i| i % 7 * 1000 + above(i)).collect();
    assert_eq!(queue.read(&out).unwrap(), wanted);
    queue.parallel_for(1, both_c::calls_rust(&given, 20, 0, &out)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(
        text.contains("divisor of zero") && text.contains("both.rs") && text.contains("remainder_of"),
        "{text}"
    );

    let seen = context.alloc_device::<u32>(1).unwrap();
    queue.parallel_for(1, both::step(10, &seen)).unwrap();
    queue.parallel_for(1, both_c::step_in_c(100)).unwrap();
    assert_eq!(queue.read(&seen).unwrap(), [7]);
    queue.parallel_for(1, both::step(0, &seen)).unwrap();
    assert_eq!(queue.read(&seen).unwrap(), [117]);
    assert_eq!(queue.read(&both::STEPS).unwrap(), 117);
    assert_eq!(queue.read(&both_c::OFFSETS).unwrap(), [1, 20, 300, 4000]);
}

#[test]
fn a_package_with_dependencies() {
    use rust_kernels::packaged::rays;
    let (context, queue) = queue();
    let balls = [[0.0, 0.0, 5.0, 1.5], [1.5, 1.0, 4.0, 0.75], [-2.0, 0.5, 6.0, 1.0]];
    let (given, out) = (queue.upload(&balls).unwrap(), context.alloc_device::<f32>(64 * 48).unwrap());
    queue.parallel_for([64, 48], rays::render(&given, &out)).unwrap();
    let mut wanted = vec![0.0; 64 * 48];
    ::rays::render::run_on_host(HostRange::new([64, 48]), &balls, &mut wanted);
    assert!(wanted.iter().filter(|shade| **shade != 0.1).count() > 300);
    for (found, wanted) in queue.read(&out).unwrap().iter().zip(&wanted) {
        assert!((found - wanted).abs() < 1e-3, "{found} is not {wanted}");
    }

    if !context.device().capabilities().aspects.contains(Aspects::FP64) {
        println!("skipped: the device has no doubles, by which libm calculates");
        return;
    }
    let x: Vec<f32> = (0..100_u8).map(|x| f32::from(x) / 7.0 - 5.0).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<[f32; 4]>(100).unwrap());
    queue.parallel_for(100, rays::functions(&given, &out)).unwrap();
    let mut wanted = vec![[0.0; 4]; 100];
    ::rays::functions::run_on_host(HostRange::new([100]), &x, &mut wanted);
    for (found, wanted) in queue.read(&out).unwrap().iter().zip(&wanted) {
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
        assert!(found.iter().zip(wanted).all(near), "{found:?} is not {wanted:?}");
    }
}

#[test]
fn objects_of_traits() {
    let (context, queue) = queue();
    let sizes: Vec<f32> = numbers(N + 2).iter().map(|n| (n % 64) as f32 / 4.0).collect();
    let (given, out) = (queue.upload(&sizes).unwrap(), context.alloc_device::<f32>(N).unwrap());
    let mut wanted = vec![0.0; N];
    queue.parallel_for(N, kernels::objects::areas(&given, &out)).unwrap();
    host::objects::areas::run_on_host(HostRange::new([N]), &sizes, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
    queue.parallel_for(N, kernels::objects::totals(&given, &out)).unwrap();
    host::objects::totals::run_on_host(HostRange::new([N]), &sizes, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);

    queue.parallel_for(10, kernels::objects::faulty(&given, &out)).unwrap();
    queue.wait().unwrap();
    queue.parallel_for(12, kernels::objects::faulty(&given, &out)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("work-item 11 panicked") && text.contains("index out of bounds"), "{text}");
}

#[test]
fn pointers_to_functions() {
    let (context, queue) = queue();
    let x: Vec<u32> = numbers(N).iter().map(|n| (n % 60000) as u32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(N).unwrap());
    same_as_host!((queue, given, out, x) objects: steps);
}

#[test]
fn tables_of_references() {
    let (context, queue) = queue();
    let x: Vec<u32> = numbers(N).iter().map(|n| *n as u32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(N).unwrap());
    same_as_host!((queue, given, out, x) tables: rows rules operations words calendars waves);
}

#[test]
fn a_panic_before_a_barrier_does_not_hang() {
    let (context, queue) = queue();
    let (x, sums) = (queue.upload(&[1_u32; 200]).unwrap(), context.alloc_device::<u32>(4).unwrap());
    let range = NdRange::new(256, 64);
    queue.parallel_for(range, kernels::barriers::before_barrier(&x, Local::new(64), &sums)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("panicked") && text.contains("index out of bounds"), "{text}");
    // Groups without a panic are right.
    assert_eq!(queue.read(&sums).unwrap()[..3], [64; 3]);

    let out = context.alloc_device::<u32>(64).unwrap();
    queue.parallel_for(NdRange::new(64, 32), kernels::barriers::in_loop(3, Local::new(32), &out)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("the round is too much"), "{text}");
    queue.parallel_for(NdRange::new(64, 32), kernels::barriers::in_loop(8, Local::new(32), &out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [7; 64]);
    // A panic from where the others go on to the next round, or to the end.
    let short = out.slice(0..40).unwrap();
    queue.write(&out, &[0; 64]).unwrap();
    queue.parallel_for(NdRange::new(64, 32), kernels::barriers::in_loop(8, Local::new(32), &short)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("index out of bounds"), "{text}");
    let found = queue.read(&out).unwrap();
    assert_eq!((&found[..32], &found[40..]), (&[7; 32][..], &[0; 24][..]));
}

#[test]
fn work_items_go_on_with_an_iteration_by_several_paths() {
    use kernels::barriers::{by_several_paths, by_several_paths_with_votes};
    let (context, queue) = queue();
    let numbers = [5_u32, 1, 7, 2, 9, 4, 3, 8];
    let x = queue.upload(&numbers).unwrap();
    let has_functions = context.device().capabilities().aspects.contains(Aspects::WORK_GROUP_COLLECTIVES);
    // PoCL 6.0 has no functions of work-groups of two.
    for (steps, group, votes) in [
        (3, 2, false),
        (9, 2, false),
        (40, 8, false),
        (25, 32, false),
        (3, 8, true),
        (9, 8, true),
        (40, 8, true),
        (25, 32, true),
    ] {
        if votes && !has_functions {
            println!("skipped: the device has no functions of work-groups");
            continue;
        }
        let out = queue.upload(&[1_u32; 96]).unwrap();
        let call = match votes {
            true => by_several_paths_with_votes(steps, &x, &out),
            false => by_several_paths(steps, &x, &out),
        };
        queue.parallel_for(NdRange::new(96, group), call).unwrap();
        let expected: Vec<u32> = (0..96_u32)
            .map(|at| {
                let me = at % group as u32;
                let (mut kept, mut sum, mut step, mut out) = (2_u32, 0_u32, 0_u32, 1_u32);
                let more = |step: u32| match at as usize / group % 2 {
                    1 => numbers[step as usize % 8],
                    _ => numbers[(step as usize + 1) % 8] / 2,
                };
                let mut iterations = 0;
                while step < steps + more(step) {
                    step += numbers[step as usize % 8] % 3 + 1;
                    iterations += 1;
                    if kept.wrapping_add(me) & 1 == 0 {
                        sum = sum.wrapping_mul(31).wrapping_add(step);
                        continue;
                    }
                    out = out.wrapping_mul(3).wrapping_add(step);
                    if steps > 4 {
                        kept = kept.wrapping_mul(31).wrapping_add(numbers[kept as usize % 8]);
                    } else {
                        sum = sum.wrapping_mul(31).wrapping_add(kept);
                        kept = kept.wrapping_add(kept) ^ (numbers[sum as usize % 8] << 1);
                    }
                }
                // A work-item votes for it in each iteration, as there are at least eight.
                out ^ sum.wrapping_mul(7) ^ kept ^ (u32::from(votes) * iterations) << 16
            })
            .collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "{steps} steps, groups of {group}, votes: {votes}");
    }
}

#[test]
fn functions_of_work_groups_in_loops() {
    use kernels::barriers::sums_in_loop;
    let (context, queue) = queue();
    if !context.device().capabilities().aspects.contains(Aspects::WORK_GROUP_COLLECTIVES) {
        println!("skipped: the device has no functions of work-groups");
        return;
    }
    let mut x: Vec<u32> = numbers(104).iter().map(|n| *n as u32 % 1000 + 100).collect();
    x[50] = 77;
    for (steps, group) in [(0, 8), (1, 8), (5, 8), (8, 32)] {
        let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(96).unwrap());
        queue.parallel_for(NdRange::new(96, group), sums_in_loop(steps, &given, &out)).unwrap();
        let mut wanted = vec![0; 96];
        host::barriers::sums_in_loop::run_on_host(
            HostRange::with_groups([96], [group]),
            steps,
            &x,
            &mut wanted,
        );
        assert_eq!(queue.read(&out).unwrap(), wanted, "{steps} steps, groups of {group}");
    }
}

#[test]
fn numbers_of_128_bits() {
    let (context, queue) = queue();
    let random = numbers(3 * N + 3);
    // Few bits, many bits, and bits that are all the same.
    let part = |n: u64, kind: u64| match kind % 4 {
        0 => n >> (kind % 64),
        1 => u64::MAX << (kind % 64),
        2 => 0,
        _ => n,
    };
    let x: Vec<[u64; 2]> =
        random.chunks(3).map(|n| [part(n[0], n[2] >> 40), part(n[1], n[2] >> 20)]).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<[u64; 2]>(N).unwrap());
    queue.parallel_for(N, kernels::widths::of_128_bits(&given, &out)).unwrap();
    let mut wanted = vec![[0; 2]; N];
    host::widths::of_128_bits::run_on_host(HostRange::new([N]), &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[test]
fn parts_of_private_arrays() {
    let (context, queue) = queue();
    let x: Vec<u32> = numbers(N + 16).iter().map(|n| *n as u32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<u32>(N).unwrap());
    same_as_host!((queue, given, out, x) slices: characters butterflies pairs slots tables);
}

#[test]
fn conditions_before_and_behind_waits() {
    let (context, queue) = queue();
    let x: Vec<u32> = numbers(2048).iter().map(|n| *n as u32).collect();
    let given = queue.upload(&x).unwrap();
    for size in [1, 9] {
        let total = 3 * size;
        macro_rules! compare {
            ($($kernel:ident)*) => {$(
                let out = queue.upload(&[7_u32; 300]).unwrap();
                let call = kernels::branches::$kernel(&given, Local::new(size), &out);
                queue.parallel_for(NdRange::new(total, size), call).unwrap();
                let (range, mut wanted) = (HostRange::with_groups([total], [size]), vec![7; 300]);
                host::branches::$kernel::run_on_host(range, &x, size, &mut wanted);
                assert_eq!(queue.read(&out).unwrap(), wanted, "{} in groups of {size}", stringify!($kernel));
            )*};
        }
        compare!(leader kinds turning until_stable checked);
        // PoCL 6.0 has no functions of work-groups of one and two.
        let has_functions = context.device().capabilities().aspects.contains(Aspects::WORK_GROUP_COLLECTIVES);
        if has_functions && size > 2 {
            compare!(voting);
        }
    }
    // The first work-item of a group panics, and the group ends.
    let (short, out) = (given.slice(0..512).unwrap(), queue.upload(&[7_u32; 64]).unwrap());
    let call = kernels::branches::checked(&short, Local::new(32), &out);
    queue.parallel_for(NdRange::new(64, 32), call).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("the len is 512 but the index is"), "{text}");
}

#[test]
fn loops_with_barriers_that_run_a_known_number_of_times() {
    use kernels::barriers::{counted, counted_otherwise, sorted};
    let (context, queue) = queue();
    let (groups, on_host) = (NdRange::new(96, 32), HostRange::with_groups([96], [32]));
    let x: Vec<u32> = numbers(96).iter().map(|n| *n as u32).collect();
    let (given, out) = (queue.upload(&x).unwrap(), context.alloc_device::<[u32; 4]>(96).unwrap());
    let mut wanted = vec![[0; 4]; 96];
    queue.parallel_for(groups, counted(&given, &out)).unwrap();
    host::barriers::counted::run_on_host(on_host, &x, &mut wanted);
    assert_eq!(queue.read(&out).unwrap(), wanted);
    for limit in [0, 5, 8] {
        queue.parallel_for(groups, counted_otherwise(limit, &given, &out)).unwrap();
        host::barriers::counted_otherwise::run_on_host(on_host, limit, &x, &mut wanted);
        assert_eq!(queue.read(&out).unwrap(), wanted, "{limit}");
    }
    let numbers = context.alloc_device::<u32>(96).unwrap();
    queue.parallel_for(groups, sorted(&given, &numbers)).unwrap();
    let mut wanted = x.clone();
    wanted.chunks_mut(32).for_each(<[u32]>::sort_unstable);
    assert_eq!(queue.read(&numbers).unwrap(), wanted);
    // One element is missing, so the version with checks runs.
    let given = given.slice(0..95).unwrap();
    queue.parallel_for(groups, sorted(&given, &numbers)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("the len is 95 but the index is 95"), "{text}");
    assert_eq!(queue.read(&numbers).unwrap()[..64], wanted[..64]);
}

#[test]
fn a_panic_before_a_function_of_a_sub_group_ends_the_sub_group() {
    use kernels::barriers::{before_sub_group, before_sub_group_alone};
    let (context, queue) = queue();
    if !context.device().capabilities().aspects.contains(Aspects::SUB_GROUPS) {
        println!("skipped: the device has no sub-groups");
        return;
    }
    let groups = NdRange::new(128, 64);
    let numbers: Vec<u32> = numbers(131).iter().map(|n| *n as u32 % 50 + 1).collect();
    // Work-item 70 divides by 0. Its sub-group ends, and others go on.
    let run = |x: &[u32]| {
        let out = queue.upload(&[7_u32; 128]).unwrap();
        queue.parallel_for(groups, before_sub_group_alone(queue.upload(x).unwrap(), &out)).unwrap();
        let error = queue.wait().err().map(|error| error.to_string());
        (error, queue.read(&out).unwrap())
    };
    let (mut x, wanted) = (numbers[..128].to_vec(), run(&numbers[..128]));
    assert_eq!(wanted.0, None);
    x[70] = 0;
    let (error, found) = run(&x);
    assert!(error.unwrap().contains("attempt to divide by zero"));
    assert_eq!((&found[..64], found[70]), (&wanted.1[..64], 7));
    assert!((64..128).all(|at| [7, wanted.1[at]].contains(&found[at])), "{found:?}");
    // The last work-items have no number in the last step. All of their work-group miss the barrier.
    for steps in [0, 1, 4] {
        let run = |x: &[u32]| {
            let (x, out) = (queue.upload(x).unwrap(), queue.upload(&[[7_u32; 2]; 128]).unwrap());
            queue.parallel_for(groups, before_sub_group(steps, &x, Local::new(64), &out)).unwrap();
            let error = queue.wait().err().map(|error| error.to_string());
            (error, queue.read(&out).unwrap())
        };
        let wanted = run(&numbers);
        assert_eq!(wanted.0, None);
        let (error, found) = run(&numbers[..126]);
        assert_eq!(found[..64], wanted.1[..64]);
        if steps > 0 {
            assert!(error.unwrap().contains("index out of bounds: the len is 126"));
            assert_eq!(found[64..], [[7; 2]; 64]);
        }
    }
}

#[test]
fn a_panic_before_a_function_of_a_group_does_not_hang() {
    let (context, queue) = queue();
    if !context.device().capabilities().aspects.contains(Aspects::WORK_GROUP_COLLECTIVES) {
        println!("skipped: the device has no functions of work-groups");
        return;
    }
    let (x, sums) = (queue.upload(&[1_u32; 120]).unwrap(), context.alloc_device::<u32>(4).unwrap());
    queue.parallel_for(NdRange::new(128, 32), kernels::barriers::before_sum(&x, &sums)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("index out of bounds"), "{text}");
    assert_eq!(queue.read(&sums).unwrap()[..3], [33; 3]);
    // All panic.
    let x = x.slice(0..100).unwrap();
    queue.parallel_for(NdRange::new(64, 32), kernels::barriers::before_sum(&x, &sums)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("divide by zero"), "{text}");
}
