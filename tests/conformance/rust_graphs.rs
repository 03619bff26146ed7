//! RK-GRA: kernels in Rust in graphs, by each way to run them.

use oclave::graph::DynamicParameter;
use oclave::kernel::{Local, NdRange};
use oclave::{Command, ErrorKind};

use super::graph_support::ways;
use super::kernels::buffers;
use super::rust_support::on_device::features as kernels;
use super::rust_support::{mixed, numbers};

/// Of eight numbers: `value * factor + addend`.
fn advance(x: impl oclave::kernel::KernelPointerMut<u32>, factor: u32, addend: u32) -> Command {
    Command::parallel_for(8, kernels::advance(factor, addend, x))
}

#[test]
fn rk_gra_001_chains_and_branches() {
    for way in ways() {
        let (x, y, z) = (way.device(&[1_u32; 8]), way.device(&[0_u32; 8]), way.device(&[0_u32; 8]));
        let graph = way.graph();
        let first = graph.add(advance(&x, 3, 1)).unwrap();
        let left = graph.after(&first).add(Command::parallel_for(8, kernels::moved(&x, &y))).unwrap();
        let right = graph.after(&first).add(Command::parallel_for(8, kernels::moved(&x, &z))).unwrap();
        graph.after(&[left, right]).add(advance(&x, 10, 0)).unwrap();
        graph.after_all_leaves().add(advance(&y, 2, 0)).unwrap();
        way.run(&graph, 2);
        assert_eq!(way.queue.read(&x).unwrap(), [(4 * 10 * 3 + 1) * 10; 8]);
        assert_eq!(way.queue.read(&y).unwrap(), [(4 * 10 * 3 + 2) * 2; 8]);
        assert_eq!(way.queue.read(&z).unwrap(), [4 * 10 * 3 + 2; 8]);
    }
}

#[test]
fn rk_gra_002_recorded() {
    for way in ways() {
        let (x, y) = (way.device(&[1_u32; 8]), way.device(&[0_u32; 8]));
        let graph = way.graph();
        let recording = graph.record(&way.queue).unwrap();
        let first = way.queue.parallel_for(8, kernels::advance(5, 2, &x)).unwrap();
        let call = kernels::moved(&x, &y);
        way.queue.after(&first).parallel_for(8, call).unwrap();
        recording.end();
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&y).unwrap(), [8; 8]);
    }
}

#[test]
fn rk_gra_003_local_memory_and_barriers() {
    for way in ways() {
        let x = numbers(128);
        let (given, scanned, sums) = (way.device(&x), way.device(&[0_u32; 128]), way.device(&[0_u32; 8]));
        let graph = way.graph();
        let scan = kernels::scan(&given, Local::new(16), &scanned);
        graph.add(Command::parallel_for(NdRange::new(128, 16), scan)).unwrap();
        let tree = kernels::tree(&scanned, Local::new(16), &sums);
        graph.after_all_leaves().add(Command::parallel_for(NdRange::new(128, 16), tree)).unwrap();
        way.run(&graph, 1);
        let sum_of_scan =
            |part: &[u32]| part.iter().zip((1..=16).rev()).map(|(x, times)| x * times).sum::<u32>();
        let wanted: Vec<u32> = x.chunks(16).map(sum_of_scan).collect();
        assert_eq!(way.queue.read(&sums).unwrap(), wanted);
    }
}

#[test]
fn rk_gra_004_beside_kernels_in_c() {
    for way in ways() {
        let x = way.device(&[1_u32; 8]);
        let graph = way.graph();
        graph.add(advance(&x, 3, 1)).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(8, buffers::advance(&x, 2, 5))).unwrap();
        let own = mixed::mixed_c::advance_in_c(7, 1, &x);
        graph.after_all_leaves().add(Command::parallel_for(8, own)).unwrap();
        graph.after_all_leaves().add(advance(&x, 1, 1000)).unwrap();
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&x).unwrap(), [(4 * 2 + 5) * 7 + 1 + 1000; 8]);
    }
}

#[test]
fn rk_gra_005_device_globals() {
    for way in ways().into_iter().map(|way| way.alone()) {
        let x = way.device(&[0_i32; 60]);
        let graph = way.graph();
        graph.add(Command::parallel_for(1, kernels::change(10))).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(60, kernels::globals(&x))).unwrap();
        way.run(&graph, 2);
        assert_eq!(way.queue.read(&kernels::STEPS).unwrap(), [21, 22, 23, 24, 25, 26]);
        assert_eq!(way.queue.read(&kernels::CALLS).unwrap(), 220);
        assert_eq!(way.queue.read(&x).unwrap()[..3], [28, 32, 36]);
    }
}

#[test]
fn rk_gra_006_sub_graphs_and_loops() {
    for way in ways() {
        let (x, left) = (way.device(&[1_u32; 8]), way.device(&[4_u32]));
        let body = way.graph();
        body.add(advance(&x, 3, 1)).unwrap();
        body.after_all_leaves().add(Command::parallel_for(1, kernels::count_down(&left))).unwrap();
        let graph = way.graph();
        graph.add(Command::while_(&left, &body)).unwrap();
        let inner = way.graph();
        inner.add(advance(&x, 1, 1000)).unwrap();
        graph.after_all_leaves().add(Command::repeat(2, &inner)).unwrap();
        graph.after_all_leaves().add(Command::graph(&way.finalize(&inner))).unwrap();
        way.run(&graph, 1);
        let wanted = (0..4).fold(1, |x, _| x * 3 + 1) + 3000;
        assert_eq!(way.queue.read(&x).unwrap(), [wanted; 8]);
    }
}

#[test]
fn rk_upd_001_dynamic_parameters_and_lengths() {
    // The error of a panic belongs to a context.
    for way in ways().into_iter().map(|way| way.alone()) {
        let (long, short) = (way.device(&[1_u32; 20]), way.device(&[7_u32; 8]));
        let out = way.device(&[0_u32; 8]);
        let graph = way.graph();
        let (from, factor) =
            (DynamicParameter::new(&graph, long.clone()), DynamicParameter::new(&graph, 3_u32));
        graph.add(Command::parallel_for(8, kernels::moved(&from, &out))).unwrap();
        let call = kernels::advance(&factor, 1_u32, &out);
        graph.after_all_leaves().add(Command::parallel_for(8, call)).unwrap();
        let executable = graph.finalizer().updatable().strategy(way.strategy).finalize().unwrap();
        let run = || {
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            way.queue.read(&out).unwrap()
        };
        assert_eq!(run(), [7; 8]);
        executable.set(&from, &short).unwrap();
        executable.set(&factor, 10_u32).unwrap();
        assert_eq!(run(), [81; 8]);
        // A slice that is too short is no error, but its elements are not there.
        executable.set(&from, short.slice(0..5).unwrap()).unwrap();
        let error = way.queue.submit_graph(&executable).unwrap().wait().unwrap_err();
        super::rust_support::told(&error, &["index out of bounds", "kernel `moved`"]);
        executable.set(&from, &long).unwrap();
        assert_eq!(run(), [21; 8]);
    }
}

#[test]
fn rk_upd_002_commands_and_ranges() {
    for way in ways() {
        let (x, y, out) = (way.device(&[1_u32; 8]), way.device(&[5_u32; 8]), way.device(&[0_u32; 8]));
        let graph = way.graph();
        let node = graph.add(Command::parallel_for(4, kernels::moved(&x, &out))).unwrap();
        let executable = graph.finalizer().updatable().strategy(way.strategy).finalize().unwrap();
        let run = || {
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            way.queue.read(&out).unwrap()
        };
        assert_eq!(run(), [2, 2, 2, 2, 0, 0, 0, 0]);
        node.update_command(Command::parallel_for(6, kernels::moved(&y, &out))).unwrap();
        executable.update(&node).unwrap();
        assert_eq!(run(), [6, 6, 6, 6, 6, 6, 0, 0]);
        node.update_range(8).unwrap();
        executable.update(&node).unwrap();
        assert_eq!(run(), [6; 8]);
    }
}

#[test]
fn rk_upd_003_what_a_launch_refuses_is_refused() {
    for way in ways() {
        let (x, out) = (way.device(&[1_u32; 8]), way.device(&[0_u32; 8]));
        let graph = way.graph();
        let refused = graph.add(Command::parallel_for(9, kernels::moved(&x, &out))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NdRange);
        let refused = graph.add(Command::parallel_for([4, 2], kernels::moved(&x, &out))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NdRange);
        let refused = graph.add(Command::parallel_for(8, kernels::moved(&x, &x))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::KernelArgument);
        let (from, to) =
            (DynamicParameter::new(&graph, x.clone()), DynamicParameter::new(&graph, out.clone()));
        let node = graph.add(Command::parallel_for(8, kernels::moved(&from, &to))).unwrap();
        let executable = graph.finalizer().updatable().strategy(way.strategy).finalize().unwrap();
        assert!(executable.set(&to, &x).unwrap_err().to_string().contains("in one memory"));
        let error = executable.set(&to, out.slice(0..7).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NdRange);
        assert!(node.update_range(9).is_err());
        assert!(node.update_range([2, 2]).is_err());
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&out).unwrap(), [2; 8]);
    }
}
