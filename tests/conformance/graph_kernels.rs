//! Kernels of every kind in graphs: G-KRN; device globals in graphs: G-ERR-004.

use oclave::kernel::Local;
use oclave::{Command, Graph, UsmSlice};

use super::graph_support::ways;
use super::kernels::{
    arguments, buffers, globals_define as define, globals_use as using, optional_features, prints,
    spec_constants,
};
use super::support::{output_of, speaks};

const BUNDLE: &[u8] = include_bytes!("../fixtures/launch.spv");

#[test]
fn g_krn_001_of_several_programs_and_bundles() {
    for way in ways() {
        let bundles = [(); 2].map(|()| crate::common::load::spirv(way.context(), BUNDLE).unwrap());
        let values = way.device(&[0_i32; 8]);
        let unsigned = values.cast::<u32>().unwrap();
        let graph = way.graph();
        for (at, bundle) in bundles.iter().enumerate() {
            let bump = bundle.kernel("bump_by").unwrap().call().pointer_mut::<i32>(&values);
            graph.after_all_leaves().add(Command::parallel_for(8, bump.value(at as i32 + 1))).unwrap();
            graph
                .after_all_leaves()
                .add(Command::parallel_for(8, buffers::advance(&unsigned, 10, 0)))
                .unwrap();
        }
        drop(bundles);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [120; 8]);
    }
}

#[test]
fn g_krn_002_of_spirv_at_run_time() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        {
            let bundle = crate::common::load::spirv(way.context(), BUNDLE).unwrap();
            let ids = bundle.kernel("ids").unwrap().call().pointer_mut::<u32>(&values);
            graph.add(Command::parallel_for(8, ids)).unwrap();
        }
        way.run(&graph, 2);
        assert_eq!(way.queue.read(&values).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}

#[test]
fn g_krn_003_two_values_of_one_constant() {
    for way in ways() {
        let (x, y, z) = (way.device(&[1.0_f32; 8]), way.device(&[1.0_f32; 8]), way.device(&[1.0_f32; 8]));
        let graph = way.graph();
        let call = |x| spec_constants::specialized(x);
        graph.add(Command::parallel_for(8, call(&x).spec(&spec_constants::FACTOR, 5))).unwrap();
        graph.add(Command::parallel_for(8, call(&y).spec(&spec_constants::FACTOR, 7))).unwrap();
        graph.add(Command::parallel_for(8, call(&z))).unwrap();
        way.run(&graph, 2);
        let once = |factor: f32| (factor + 0.5) * factor + 0.5;
        let read = |memory: &UsmSlice<f32>| way.queue.read(memory).unwrap()[3];
        assert_eq!([read(&x), read(&y), read(&z)], [once(5.0), once(7.0), once(3.0)]);
    }
}

#[test]
fn g_krn_004_local_memory() {
    for way in ways() {
        let data: Vec<i32> = (0..64).collect();
        let input = way.device(&data);
        let sums = way.device(&[0_i32; 16]);
        let graph = way.graph();
        for (at, group) in [4_usize, 8, 16, 32].into_iter().enumerate() {
            let out = sums.slice(4 * at..4 * at + 2).unwrap();
            let call = arguments::group_sum(&input, &out, Local::new(group));
            graph.add(Command::parallel_for(oclave::kernel::NdRange::new(2 * group, group), call)).unwrap();
        }
        way.run(&graph, 2);
        let seen = way.queue.read(&sums).unwrap();
        for (at, group) in [4, 8, 16, 32].into_iter().enumerate() {
            let sum = |from: i32| (from..from + group).sum::<i32>();
            assert_eq!(seen[4 * at..4 * at + 2], [sum(0), sum(group)]);
        }
    }
}

#[test]
fn g_krn_005_what_the_device_cannot_do_is_refused_when_it_is_added() {
    // Kernels cannot ask for a size of sub-groups; another optional feature stands for it.
    for way in ways() {
        let device = way.queue.device();
        let masked = device.masked(oclave::device::mask::Mask::FP64);
        let context = oclave::Context::new(&masked).unwrap();
        let graph = Graph::new(&context, &masked).unwrap();
        let values = context.alloc_device::<f64>(8).unwrap();
        let refused =
            graph.add(Command::parallel_for(8, optional_features::third_double(&values))).unwrap_err();
        assert_eq!(refused.kind(), oclave::ErrorKind::KernelNotSupported, "{refused}");
        if device.capabilities().aspects.contains(oclave::device::Aspects::FP64) {
            let values = way.device(&[3.0_f64; 8]);
            let graph = way.graph();
            graph.add(Command::parallel_for(8, optional_features::third_double(&values))).unwrap();
            way.run(&graph, 1);
            assert_eq!(way.queue.read(&values).unwrap(), [1.0; 8]);
        }
    }
}

#[test]
fn g_krn_007_kernels_that_print() {
    const REPLAYS: usize = 2;
    let ways = ways();
    if speaks() {
        for way in &ways {
            let said = way.device(&[0]);
            let graph = way.graph();
            graph.add(Command::single_task(prints::say(4711, &said))).unwrap();
            graph.after_all_leaves().add(Command::single_task(prints::say(4712, &said))).unwrap();
            way.run(&graph, REPLAYS);
            assert_eq!(way.queue.read(&said).unwrap(), [2 * REPLAYS as i32]);
        }
        return;
    }
    if ways.is_empty() {
        return;
    }
    let text = output_of("graph_kernels::g_krn_007_kernels_that_print");
    // In the order of the nodes, also where the interpreter runs them.
    let said = text.split("the kernel says ").skip(1).map(|rest| rest.get(..4).unwrap_or(rest));
    assert_eq!(said.collect::<Vec<_>>(), ["4711", "4712"].repeat(REPLAYS * ways.len()), "{text}");
}

#[test]
fn g_krn_008_local_memory_of_a_size_that_the_launch_chooses() {
    for way in ways() {
        let input = way.device(&[1_i32; 64]);
        let sums = way.device(&[0_i32; 2]);
        for group in [8, 32] {
            let graph = way.graph();
            let call = arguments::group_sum(&input, &sums, Local::new(group));
            graph.add(Command::parallel_for(oclave::kernel::NdRange::new(2 * group, group), call)).unwrap();
            way.run(&graph, 1);
            assert_eq!(way.queue.read(&sums).unwrap(), [group as i32; 2]);
        }
    }
}

#[test]
fn g_krn_011_device_globals_are_read_at_the_replay() {
    for way in ways() {
        let count = way.device(&[0_i32]);
        let bins = way.device(&[0_u32; 8]);
        let graph = way.graph();
        graph.add(Command::single_task(define::count_up(1))).unwrap();
        graph.after_all_leaves().add(Command::single_task(using::read_shared(&count, &bins))).unwrap();
        let executable = way.finalize(&graph);
        for value in [10, 20] {
            way.queue.write(&define::COUNTER, &value).unwrap();
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(way.queue.read(&count).unwrap(), [value + 1]);
        }
    }
}

#[test]
fn g_err_004_copies_of_device_globals_work_where_they_are_allowed() {
    for way in ways() {
        let graph = Graph::builder(way.context(), way.queue.device()).allow_device_globals().build().unwrap();
        let values = way.device(&[0_u32; 8]);
        let target = way.device(&[0_u32; 8]);
        let bins = define::HISTOGRAM.slice(..8).unwrap();
        graph.add(Command::write(&values, vec![6_u32; 8])).unwrap();
        graph.after_all_leaves().add(Command::copy(&values, &bins)).unwrap();
        graph.after_all_leaves().add(Command::single_task(define::add_to_bin(3))).unwrap();
        graph.after_all_leaves().add(Command::copy(&bins, &target)).unwrap();
        way.run(&graph, 2);
        assert_eq!(way.queue.read(&target).unwrap(), [6, 6, 6, 7, 6, 6, 6, 6]);
    }
}
