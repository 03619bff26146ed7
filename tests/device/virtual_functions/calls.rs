//! Virtual functions on the selected device, from sources that the optimiser saw and from those
//! that it did not.

use crate::common::{setting, single};
use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelCall, LaunchRange, Local, NdRange};
use oclave::memory::usm::Shared;
use oclave::{Command, Context, Graph, Queue, UsmSlice};

mod optimised {
    oclave::include_kernels!("virtual_functions");
}
mod unoptimised {
    oclave::include_kernels!("virtual_functions_o0");
}
mod bases {
    oclave::include_kernels!("virtual_bases");
}

/// Runs a kernel for `n` items and gives what it wrote.
#[track_caller]
fn ints(queue: &Queue, out: &UsmSlice<i32, Shared>, range: impl LaunchRange, call: KernelCall) -> Vec<i32> {
    queue.parallel_for(range, call).unwrap().wait().unwrap();
    out.read().unwrap().to_vec()
}

/// Defines a test for both optimisation levels: `$kernels` are the modules of the program.
macro_rules! at_both_levels {
    ($($(#[$attribute:meta])* fn $name:ident($context:ident, $queue:ident, $kernels:ident) $body:block)*) => {
        $(
            mod $name {
                use super::*;

                $(#[$attribute])*
                #[test]
                fn optimised() {
                    use super::optimised as $kernels;
                    let Some(($context, $queue)) = setting() else { return };
                    $body
                }

                $(#[$attribute])*
                #[test]
                fn unoptimised() {
                    use super::unoptimised as $kernels;
                    let Some(($context, $queue)) = setting() else { return };
                    $body
                }
            }
        )*
    };
}

const N: usize = 12;

/// What `area` of the class of object `i` gives.
fn area(i: usize, scale: i32) -> i32 {
    match i % 3 {
        0 => 10 + scale,
        1 => 9 * scale + i32::try_from(i).unwrap(),
        _ => 12 * scale,
    }
}

at_both_levels! {
    fn objects_in_global_memory(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(32 * N).unwrap();
        let out = context.alloc_shared::<i32>(N).unwrap();
        queue.parallel_for(N, kernels::basic::make_shapes(&memory)).unwrap();
        let found = ints(&queue, &out, N, kernels::basic::use_shapes(&memory, &out));
        for (i, found) in found.into_iter().enumerate() {
            let (round, letter, address) = match i % 3 {
                0 => (0, 0, 10),
                1 => (0, 1, 10),
                _ => (1, 0, 2),
            };
            assert_eq!(found, area(i, 5) + 1000 * round + 10_000 * letter + 100_000 * address, "object {i}");
        }
        // Bytes of objects are objects.
        let copied = ints(&queue, &out, N, kernels::basic::copied_shapes(&memory, &out));
        assert_eq!(copied, (0..N).map(|i| area(i, 4)).collect::<Vec<_>>());
    }

    fn objects_in_private_and_local_memory(context, queue, kernels) {
        let out = context.alloc_shared::<i32>(N).unwrap();
        let found = ints(&queue, &out, N, kernels::basic::private_shapes(&out));
        let address = |i: usize| if i % 3 == 2 { 2 } else { 10 };
        assert_eq!(found, (0..N).map(|i| area(i, i as i32) + address(i)).collect::<Vec<_>>());
        let found = ints(&queue, &out, NdRange::new(N, 6), kernels::basic::local_shapes(&out));
        let expected = |i: usize| match i % 6 % 3 {
            1 => 9 * 7 + i as i32,
            class => area(class, 7),
        };
        assert_eq!(found, (0..N).map(expected).collect::<Vec<_>>());
    }

    fn objects_that_the_compiler_follows(context, queue, kernels) {
        let out = context.alloc_shared::<i32>(N).unwrap();
        let found = ints(&queue, &out, N, kernels::basic::picked_shapes(&out));
        let expected = |i: usize| if i % 2 == 1 { 9 * i + i } else { 12 * i } as i32;
        assert_eq!(found, (0..N).map(expected).collect::<Vec<_>>());
        let found = ints(&queue, &out, N, kernels::basic::qualified_shapes(&out));
        assert_eq!(found, (0..N).map(|i| 11 + 9 + i as i32).collect::<Vec<_>>());
        // Mesa's llvmpipe crashed.
        let memory = context.alloc_device::<i8>(16).unwrap();
        assert_eq!(ints(&queue, &out, 1, kernels::basic::make_and_use(&memory, &out))[0], 12 * 5);
    }

    fn barriers_in_virtual_functions(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(8).unwrap();
        let out = context.alloc_shared::<i32>(16).unwrap();
        for (which, shift) in [(0, 0), (1, 1)] {
            single(&queue, kernels::basic::make_step(&memory, which));
            let call = kernels::basic::exchange_values(&memory, &out, Local::new(8));
            let found = ints(&queue, &out, NdRange::new(16, 8), call);
            let expected = |i: usize| (i / 8 * 8 + (i % 8 + shift) % 8) as i32 * 10;
            assert_eq!(found, (0..16).map(expected).collect::<Vec<_>>());
        }
    }

    // PoCL 6.0 crashed on groups of two.
    fn sums_of_groups_in_virtual_functions(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(8).unwrap();
        let out = context.alloc_shared::<i32>(16).unwrap();
        single(&queue, kernels::basic::make_step(&memory, 2));
        for group in [1, 2, 4, 16] {
            let call = kernels::basic::exchange_values(&memory, &out, Local::new(group));
            let found = ints(&queue, &out, NdRange::new(16, group), call);
            let sum = |first: usize| (first..first + group).sum::<usize>() as i32 * 10;
            let expected = (0..16).map(|i| sum(i / group * group)).collect::<Vec<_>>();
            assert_eq!(found, expected, "groups of {group}");
        }
    }

    fn arguments_of_every_kind(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(16).unwrap();
        let one = context.alloc_shared::<i32>(1).unwrap();
        one.write().unwrap()[0] = 1;
        let out = context.alloc_shared::<f32>(13).unwrap();
        let run = |which| {
            single(&queue, kernels::arguments::make_machine(&memory, which));
            single(&queue, kernels::arguments::use_machine(&memory, &one, &out));
            out.read().unwrap().to_vec()
        };
        let base = [3.0, 8.0, 1.5, 7.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        assert_eq!(run(0), base);
        let sum = (-1 + 255 - 300 + 60_000 + 1_000_000 - 5 + 7 + 1) as f32;
        let doubled = [2.0, 16.0, 7.0, 1.0, 12.0, 24.0, 206.0, 208.0, sum, 45_321.0, 2.0, 3.0, 1.0];
        assert_eq!(run(1), doubled);
    }

    fn arguments_that_not_every_device_has(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(16).unwrap();
        single(&queue, kernels::wide::make_scalers(&memory));
        let out = context.alloc_shared::<i32>(2).unwrap();
        let found = ints(&queue, &out, 2, kernels::wide::use_references(&memory, &out));
        assert_eq!(found, [10 + 5000, 1 + 100 - 6000]);
        let has = |aspect| queue.device().capabilities().aspects.contains(aspect);
        if has(oclave::device::Aspects::FP64) {
            let out = context.alloc_shared::<f64>(4).unwrap();
            queue.parallel_for(2, kernels::wide::use_doubles(&memory, &out)).unwrap().wait().unwrap();
            assert_eq!(*out.read().unwrap(), [1.0 / 3.0 + 3.0, 5.0, 1.0, 6.0]);
        } else {
            println!("skipped: doubles, which the device does not have");
        }
        let out = context.alloc_shared::<f32>(2).unwrap();
        let halves = queue.parallel_for(2, kernels::wide::use_halves(&memory, &out));
        if has(oclave::device::Aspects::FP16) {
            halves.unwrap().wait().unwrap();
            assert_eq!(*out.read().unwrap(), [6.5, 3.0]);
        } else {
            let error = halves.unwrap_err();
            assert_eq!(error.kind(), oclave::ErrorKind::KernelNotSupported);
            assert!(format!("{error:#}").contains("fp16"), "{error}");
        }
    }

    fn state_outside_of_objects(context, queue, kernels) {
        use kernels::state::{BONUS, BONUSES, CALLS, make_counters, use_counters};
        // A variable of the program that the functions are linked into.
        let refused = |what: &str| {
            let error = queue.read(&BONUSES).unwrap_err();
            assert_eq!(error.kind(), oclave::ErrorKind::Invalid, "{error:#}");
            assert!(format!("{error:#}").contains(what), "{error:#}");
        };
        refused("no program with them was built yet");
        let memory = context.alloc_device::<i8>(16).unwrap();
        single(&queue, make_counters(&memory));
        assert_eq!(queue.read(&BONUSES).unwrap(), 50);
        let out = context.alloc_shared::<i32>(4).unwrap();
        assert_eq!(ints(&queue, &out, 4, use_counters(&memory, &out)), [0, 1 + 5, 2, 9 + 5]);
        // The kernel and the functions have one variable.
        assert_eq!(queue.read(&CALLS).unwrap(), 402);
        assert_eq!(queue.read(&BONUSES).unwrap(), 52);
        queue.write(&BONUSES, &10).unwrap();
        ints(&queue, &out, 4, use_counters(&memory, &out));
        assert_eq!(queue.read(&BONUSES).unwrap(), 12);
        let found = ints(&queue, &out, 4, use_counters(&memory, &out).spec(&BONUS, 50));
        assert_eq!(found, [0, 51, 2, 59]);
        refused("2 programs have an instance each");
    }

    fn inheritance_of_every_kind(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(256).unwrap();
        let out = context.alloc_shared::<i32>(6).unwrap();
        single(&queue, kernels::inheritance::make_classes(&memory));
        let found = ints(&queue, &out, 4, kernels::inheritance::use_classes(&memory, &out));
        let c = |x: i32| x + 3 + 1 + 2;
        assert_eq!(found, [c(10) + 1000 * c(2), 9 + 1000, 30 + 6000, 15 + 3000, 5 + 10 * 9, 2 + 10]);
        single(&queue, kernels::inheritance::destroy(&memory, &out));
        assert_eq!(out.read().unwrap()[..2], [300, 100]);
    }

    fn classes_by_which_calls_go(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(9 * 64).unwrap();
        let out = context.alloc_shared::<i32>(20).unwrap();
        single(&queue, kernels::hierarchies::make_family(&memory));
        single(&queue, kernels::hierarchies::use_family(&memory, &out));
        let through_p = [1, 1, 1, 109, 1, 61, 8, 64, 9, 10];
        let through_others = [3, 109, 2, 10, 10, 9, 61, 109, 10, 10];
        assert_eq!(*out.read().unwrap(), [through_p, through_others].concat());
    }

    fn virtual_functions_that_call_others(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(32).unwrap();
        let out = context.alloc_shared::<i32>(2).unwrap();
        single(&queue, kernels::nesting::make_leaves(&memory));
        let found = ints(&queue, &out, 2, kernels::nesting::use_leaves(&memory, &out));
        assert_eq!(found, [11, 19]);
    }

    fn chains_and_trees_up_to_the_depth(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(32 * 8).unwrap();
        let out = context.alloc_shared::<i32>(1).unwrap();
        let value = |index| {
            out.write().unwrap()[0] = 5;
            single(&queue, kernels::nesting::use_node(&memory, index, &out));
            out.read().unwrap()[0]
        };
        single(&queue, kernels::nesting::make_chain(&memory, 4));
        assert_eq!([value(0), value(1), value(2), value(3)], [5, 10, 20, 40]);
        single(&queue, kernels::nesting::make_tree(&memory));
        assert_eq!(value(3), 2 * (2 * 5 + 6));
    }

    fn objects_in_constants_and_device_globals(context, queue, kernels) {
        let out = context.alloc_shared::<i32>(4).unwrap();
        let found = ints(&queue, &out, 4, kernels::constants::use_rates(&out));
        assert_eq!(found, [10, 15, 200, 30]);
    }

    fn sets_with_optional_features(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(32).unwrap();
        let out = context.alloc_shared::<i32>(2).unwrap();
        single(&queue, kernels::features::make_meters(&memory));
        assert_eq!(ints(&queue, &out, 2, kernels::features::use_whole(&memory, &out)), [3, 30]);
        if !context.devices()[0].capabilities().aspects.contains(oclave::device::Aspects::FP64) {
            println!("skipped: the device has no fp64");
            return;
        }
        // As floats the numbers would lose their last digits.
        let found = ints(&queue, &out, 2, kernels::features::use_precise(&memory, &out));
        assert_eq!(found[1], 333_333_338);
    }

    /// Piles of piles, three levels above the leaves. PoCL 7.1 crashed on such recursion once.
    fn trees_of_objects_of_several_alignments(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(1024).unwrap();
        let out = context.alloc_shared::<i32>(N).unwrap();
        single(&queue, kernels::trees::make_scene(&memory));
        let ball = |x: i32| x + 5 + 2;
        let crate_of = |x: i32| x * 2 + 7 + 4;
        let first = |x: i32| ball(x) + crate_of(x + 1);
        let second = |x: i32| first(x) + crate_of(x + 1);
        let third = |x: i32| second(x) + ball(x + 1) + second(x + 2);
        let expected: Vec<i32> = (0..N as i32).map(third).collect();
        assert_eq!(ints(&queue, &out, N, kernels::trees::hit_scene(&memory, &out)), expected);
    }

    /// The functions of several levels are too large to be inlined.
    fn expressions_with_two_calls_a_node(context, queue, kernels) {
        let memory = context.alloc_device::<i8>(160).unwrap();
        let out = context.alloc_shared::<i32>(N).unwrap();
        single(&queue, kernels::expressions::make_expression(&memory));
        let value = |x: i32| x * 3 - (x + 1 + 3);
        let expected: Vec<i32> = (0..N as i32).map(|i| value(i - 8)).collect();
        assert_eq!(ints(&queue, &out, N, kernels::expressions::evaluate(&memory, &out)), expected);
    }
}

/// The report finds its way out of every kind of replay.
#[device_test]
fn calls_that_reach_nothing_in_graphs(context: Context, queue: Queue) {
    let memory = context.alloc_device::<i8>(32 * 5).unwrap();
    let out = context.alloc_shared::<i32>(1).unwrap();
    let mut strategies = vec![ReplayStrategy::Auto, ReplayStrategy::Enqueue, ReplayStrategy::Interpreter];
    if queue.device().capabilities().command_buffer.is_some() {
        strategies.push(ReplayStrategy::CommandBuffer);
    }
    single(&queue, optimised::nesting::make_chain(&memory, 5));
    for strategy in strategies {
        let graph = Graph::from_queue(&queue);
        graph.add(Command::single_task(optimised::nesting::use_node(&memory, 3, &out))).unwrap();
        let sound = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        let graph = Graph::from_queue(&queue);
        graph.add(Command::single_task(optimised::nesting::use_node(&memory, 4, &out))).unwrap();
        let deep = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        for _ in 0..2 {
            out.write().unwrap()[0] = 5;
            queue.submit_graph(&sound).unwrap().wait().unwrap();
            assert_eq!(out.read().unwrap()[0], 40, "{strategy:?}");
            let error = queue.submit_graph(&deep).unwrap().wait().unwrap_err();
            assert!(format!("{error:#}").contains("kernel `use_node`"), "{strategy:?}: {error}");
        }
    }
}

/// Clang writes wrong code for them without optimisation.
#[device_test]
fn virtual_bases(context: Context, queue: Queue) {
    let memory = context.alloc_device::<i8>(192).unwrap();
    let out = context.alloc_shared::<i32>(5).unwrap();
    single(&queue, bases::virtual_bases::make_diamonds(&memory));
    single(&queue, bases::virtual_bases::use_diamonds(&memory, &out));
    let d = 4 + 5 + 6 + 7000;
    assert_eq!(*out.read().unwrap(), [54, 4 + 604, d, d + 604, 12]);
    let (numbers, front) = (context.alloc_shared::<i64>(2).unwrap(), context.alloc_shared::<i64>(1).unwrap());
    numbers.write().unwrap().copy_from_slice(&[77, 78]);
    single(&queue, bases::virtual_bases::point_behind(&numbers, &memory));
    single(&queue, bases::virtual_bases::read_in_front(&memory, &front));
    assert_eq!(*front.read().unwrap(), [77]);
}
