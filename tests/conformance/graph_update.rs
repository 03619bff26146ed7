//! Updates of executables, in every way that a device has: G-UPD, G-DLM, G-DCG, G-WGU.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oclave::command::RawArgument;
use oclave::device::mask::Mask;
use oclave::graph::{DynamicCommandGroup, DynamicParameter, ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::{Local, NdRange};
use oclave::memory::{HostTarget, usm};
use oclave::{Buffer, Command, Context, Device, ErrorKind, Graph, Queue, Result, UsmSlice};

use super::kernels::arguments::{Pair, group_sum, positions, scalars, structs};
use super::kernels::buffers::{advance, advance_late, combine, number, reverse_eights};

const LEN: usize = 64;

/// A graph of a context and device, a queue for it, and how it is run.
struct Bench {
    context: Context,
    queue: Queue,
    graph: Graph,
    strategy: ReplayStrategy,
}

/// One for each way in which the selected device can be updated. Empty, after saying why, without a
/// device.
fn benches() -> Vec<Bench> {
    let Some(device) = super::support::device() else { return Vec::new() };
    let mut devices = vec![device.clone()];
    if device.capabilities().mutable_dispatch.is_some() {
        devices.push(device.masked(Mask::MUTABLE_DISPATCH));
    }
    let ways = |device: Device| {
        let buffers = Graph::support(&device).command_buffers.then_some(ReplayStrategy::CommandBuffer);
        [ReplayStrategy::Enqueue].into_iter().chain(buffers).map(move |strategy| {
            println!("{strategy:?}, masked: {:?}", device.mask());
            let context = Context::new(&device).unwrap();
            let queue = Queue::new(&context).unwrap();
            Bench { graph: Graph::from_queue(&queue), context, queue, strategy }
        })
    };
    devices.into_iter().flat_map(ways).collect()
}

impl Bench {
    fn zeroes(&self) -> UsmSlice<u32, usm::DeviceOnly> {
        let memory = self.context.alloc_device::<u32>(LEN).unwrap();
        self.queue.fill(&memory, 0).unwrap();
        memory
    }

    fn add(&self, command: Command) -> Node {
        self.graph.after_all_leaves().add(command).unwrap()
    }

    fn updatable(&self) -> ExecutableGraph {
        self.graph.finalizer().updatable().strategy(self.strategy).finalize().unwrap()
    }

    fn run(&self, executable: &ExecutableGraph) {
        self.queue.submit_graph(executable).unwrap();
    }

    fn read<T: bytemuck::Pod>(&self, memory: &UsmSlice<T, usm::DeviceOnly>) -> Vec<T> {
        self.queue.read(memory).unwrap()
    }

    /// Another graph of the same context.
    fn another(&self) -> Self {
        let (context, queue) = (self.context.clone(), self.queue.clone());
        Self { graph: Graph::from_queue(&queue), context, queue, strategy: self.strategy }
    }
}

fn counted(first: u32, count: usize) -> Vec<u32> {
    (first..).take(count).chain(std::iter::repeat(0)).take(LEN).collect()
}

fn numbered(memory: &UsmSlice<u32, usm::DeviceOnly>, first: u32) -> Command {
    Command::parallel_for(LEN, number(memory, first))
}

#[track_caller]
fn invalid<T: std::fmt::Debug>(result: Result<T>, because: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(format!("{error:#}").contains(because), "{error}");
}

#[test]
fn g_upd_001_nothing_changed() {
    for bench in benches() {
        let x = bench.zeroes();
        let node = bench.add(numbered(&x, 5));
        let executable = bench.updatable();
        executable.update(&node).unwrap();
        executable.update(&[&node, &node]).unwrap();
        bench.run(&executable);
        assert_eq!(bench.read(&x), counted(5, LEN));
    }
}

#[test]
fn g_upd_002_another_pointer() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let memory = DynamicParameter::new(&bench.graph, x.clone());
        let node = bench.add(Command::parallel_for(LEN, number(&memory, 5)));
        let executable = bench.updatable();
        memory.update(&y).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x), bench.read(&y)), (counted(5, LEN), counted(0, 0)), "not told yet");
        bench.queue.fill(&x, 0).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x), bench.read(&y)), (counted(0, 0), counted(5, LEN)));
        memory.update(y.slice(32..).unwrap()).unwrap();
        node.update_range(32).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        assert_eq!(bench.read(&y)[31..34], [36, 5, 6]);
    }
}

#[test]
fn g_upd_004_scalars_of_every_size_and_structs() {
    for bench in benches() {
        let out = bench.context.alloc_device::<i64>(9).unwrap();
        let graph = &bench.graph;
        let (a, c, e) = (
            DynamicParameter::new(graph, 0_i8),
            DynamicParameter::new(graph, 0_i16),
            DynamicParameter::new(graph, 0_i32),
        );
        let (g, i) = (DynamicParameter::new(graph, 0_i64), DynamicParameter::new(graph, 0_f32));
        let node = bench.add(Command::single_task(scalars(&a, 2, &c, 4, &e, 6, &g, 8, &i, &out)));
        let executable = bench.updatable();
        a.update(-1).unwrap();
        c.update(-300).unwrap();
        e.update(-70_000).unwrap();
        g.update(-5_000_000_000).unwrap();
        i.update(9.0).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        assert_eq!(bench.read(&out), [-1, 2, -300, 4, -70_000, 6, -5_000_000_000, 8, 9]);
    }
}

#[test]
fn g_upd_004_a_struct() {
    for bench in benches() {
        let out = bench.context.alloc_device::<f32>(1).unwrap();
        let samples = bench.context.alloc_device(1).unwrap();
        bench.queue.memset(&samples, 0).unwrap();
        let pair = DynamicParameter::new(&bench.graph, Pair { first: 0.0, second: 1.0 });
        let node = bench.add(Command::single_task(structs(&pair, &samples, &out)));
        let executable = bench.updatable();
        bench.run(&executable);
        let before = bench.read(&out)[0];
        pair.update(Pair { first: 0.0, second: 3.5 }).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        assert_eq!(bench.read(&out)[0] - before, 2.5);
    }
}

#[test]
fn g_upd_009_before_finalize() {
    for bench in benches() {
        let x = bench.zeroes();
        let first = DynamicParameter::new(&bench.graph, 1_u32);
        bench.add(Command::parallel_for(LEN, number(&x, &first)));
        first.update(7).unwrap();
        bench.run(&bench.updatable());
        assert_eq!(bench.read(&x), counted(7, LEN));
        bench.run(&bench.graph.finalize().unwrap());
    }
}

#[test]
fn g_upd_010_three_dimensions_with_and_without_groups() {
    for bench in benches() {
        let memory = || bench.context.alloc_device::<u64>(15 * 64).unwrap();
        let (a, b, c) = (memory(), memory(), memory());
        let out = DynamicParameter::new(&bench.graph, a.clone());
        let plain = bench.add(Command::parallel_for([4, 4, 4], positions(&out)));
        let groups = bench.add(Command::parallel_for(NdRange::new([4, 4, 4], [2, 2, 1]), positions(&b)));
        let executable = bench.updatable();
        out.update(&c).unwrap();
        executable.update(&[&plain, &groups]).unwrap();
        bench.run(&executable);
        let (grouped, moved) = (bench.read(&b), bench.read(&c));
        for (index, (grouped, moved)) in grouped.chunks(15).zip(moved.chunks(15)).enumerate() {
            let id = [index as u64 % 4, index as u64 / 4 % 4, index as u64 / 16];
            assert_eq!((&grouped[..3], &moved[..3]), (&id[..], &id[..]));
            assert_eq!(grouped[9..12], [2, 2, 1], "the size of groups stays");
        }
    }
}

#[test]
fn g_upd_011_buffers() {
    for bench in benches() {
        let buffer = |value: u32| Buffer::from_vec(vec![value; LEN]).unwrap();
        let (a, b) = (buffer(1), buffer(2));
        for buffer in [&a, &b] {
            buffer.set_write_back(false);
        }
        let values = DynamicParameter::new(&bench.graph, a.read_write());
        let nodes: Vec<Node> = (1..3)
            .map(|i| bench.graph.add(Command::parallel_for(LEN, advance(&values, 10, i))).unwrap())
            .collect();
        let executable = bench.updatable();
        bench.run(&executable);
        values.update(b.read_write()).unwrap();
        executable.update(&nodes).unwrap();
        bench.run(&executable);
        bench.queue.parallel_for(LEN, advance(b.read_write(), 10, 9)).unwrap();
        bench.run(&executable);
        assert_eq!(a.read().host().unwrap()[0], 112);
        assert_eq!(b.read().host().unwrap()[LEN - 1], 212_912, "in order with commands on the new buffer");
        values.update(a.read_write()).unwrap();
        drop((b, nodes));
        bench.run(&executable);
        bench.queue.wait().unwrap();
    }
}

#[test]
fn g_upd_013_smaller_and_larger() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let plain = bench.add(Command::parallel_for(8, number(&x, 1)));
        let groups = bench.add(Command::parallel_for(NdRange::new(8, 4), number(&y, 1)));
        let executable = bench.updatable();
        for count in [4, 32, 0, 64, 16] {
            bench.queue.fill(&x, 0).unwrap();
            bench.queue.fill(&y, 0).unwrap();
            plain.update_range(count).unwrap();
            groups.update_nd_range(NdRange::new(count, 2)).unwrap();
            executable.update(&[&plain, &groups]).unwrap();
            bench.run(&executable);
            assert_eq!((bench.read(&x), bench.read(&y)), (counted(1, count), counted(1, count)), "{count}");
        }
    }
}

#[test]
fn g_upd_014_refused_ranges() {
    for bench in benches() {
        let x = bench.zeroes();
        let plain = bench.add(Command::parallel_for(8, number(&x, 1)));
        let groups = bench.add(Command::parallel_for(NdRange::new(8, 4), number(&x, 1)));
        invalid(plain.update_range([8, 1]), "dimensions");
        invalid(groups.update_nd_range(NdRange::new([8, 1], [4, 1])), "dimensions");
        invalid(groups.update_range(4), "given size");
        invalid(plain.update_nd_range(NdRange::new(4, 2)), "plain range");
        let executable = bench.updatable();
        bench.run(&executable);
        assert_eq!(bench.read(&x), counted(1, 8));
    }
}

#[test]
fn g_upd_016_group_sizes_given_and_not() {
    for bench in benches() {
        let out = bench.context.alloc_device::<u64>(15 * 16).unwrap();
        let node = bench.add(Command::parallel_for(16, positions(&out)));
        let executable = bench.updatable();
        for group in [None, Some(4), Some(8), None, Some(2)] {
            let range = group.map_or(NdRange::from(16), |group| NdRange::new(16, group));
            node.update_command(Command::parallel_for(range, positions(&out))).unwrap();
            executable.update(&node).unwrap();
            bench.run(&executable);
            let seen = bench.read(&out);
            assert!(group.is_none_or(|group| seen[9] == group as u64), "{group:?}");
            assert_eq!((seen[0], seen[15 * 15]), (0, 15));
        }
    }
}

#[test]
fn g_upd_017_offsets() {
    for bench in benches() {
        let x = bench.zeroes();
        let node = bench.add(Command::parallel_for(NdRange::new(8, 4), number(&x, 1)));
        let executable = bench.updatable();
        for offset in [Some(8), Some(16), None] {
            bench.queue.fill(&x, 0).unwrap();
            let range = NdRange::new(8, 4);
            node.update_nd_range(offset.map_or(range, |offset| range.with_offset(offset))).unwrap();
            executable.update(&node).unwrap();
            bench.run(&executable);
            let start = offset.unwrap_or(0);
            let seen = bench.read(&x);
            assert_eq!(seen.iter().position(|value| *value != 0), Some(start), "{offset:?}");
            assert_eq!(seen[start..start + 8], (start as u32 + 1..).take(8).collect::<Vec<_>>());
        }
    }
}

#[test]
fn g_upd_018_raw_arguments() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let value = DynamicParameter::new(&bench.graph, RawArgument::bytes(&1_u32.to_ne_bytes()));
        let memory = DynamicParameter::new(&bench.graph, RawArgument::memory(&x));
        let node = bench.add(Command::parallel_for(LEN, number(&memory, &value)));
        let executable = bench.updatable();
        value.update(RawArgument::bytes(&6_u32.to_ne_bytes())).unwrap();
        memory.update(RawArgument::memory(&y)).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x), bench.read(&y)), (counted(0, 0), counted(6, LEN)));
    }
}

#[test]
fn g_upd_021_other_launches_of_the_kernel_do_not_matter() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let node = bench.add(numbered(&x, 1));
        let launch = || drop(bench.queue.submit(numbered(&y, 50)).unwrap());
        launch();
        let executable = bench.updatable();
        launch();
        bench.run(&executable);
        launch();
        executable.update(&node).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x), bench.read(&y)), (counted(1, LEN), counted(50, LEN)));
    }
}

#[test]
fn g_upd_022_foreign_and_not_updatable() {
    for bench in benches() {
        let x = bench.zeroes();
        let other = bench.another();
        let (ours, foreign) = (bench.add(numbered(&x, 1)), other.add(numbered(&x, 9)));
        let executable = bench.updatable();
        invalid(executable.update(&foreign), "is of graph");
        invalid(executable.update(&[&ours, &foreign]), "is of graph");
        invalid(bench.graph.finalize().unwrap().update(&ours), "cannot be updated");
        let first = DynamicParameter::new(&other.graph, 3_u32);
        invalid(bench.graph.add(Command::parallel_for(LEN, number(&x, &first))), "another graph");
        bench.run(&executable);
        assert_eq!(bench.read(&x), counted(1, LEN));
    }
}

#[test]
fn g_upd_023_nodes_that_are_not_kernels() {
    for bench in benches() {
        let x = bench.zeroes();
        // Parameters cannot even be named for them; see tests/compile_fail. An update changes the
        // node's command or nothing.
        let refused = [
            bench.add(Command::prefetch(&x)),
            bench.add(Command::mem_advise(&x, oclave::command::Advice::ReadMostly)),
            bench.graph.add(Command::empty()).unwrap(),
        ];
        let kernel = bench.add(numbered(&x, 1));
        let executable = bench.updatable();
        for node in &refused {
            invalid(executable.update(node), "cannot be updated");
        }
        executable.update(&kernel).unwrap();
    }
}

#[test]
fn g_upd_023_copies_fills_and_host_tasks_get_other_commands() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let ran = Arc::new(AtomicU32::new(0));
        let task = |add: u32| {
            let ran = Arc::clone(&ran);
            Command::host_task(move || {
                ran.fetch_add(add, Ordering::Relaxed);
            })
        };
        let target = HostTarget::<u32>::new(LEN).unwrap();
        let fill = bench.add(Command::fill(&x, 1));
        let first = bench.add(task(1));
        let copy = bench.add(Command::copy(&x, &y));
        let read = bench.add(Command::read(&y, &target));
        let executable = bench.updatable();
        bench.run(&executable);
        bench.queue.wait().unwrap();
        assert_eq!((target.to_vec().unwrap()[0], ran.load(Ordering::Relaxed)), (1, 1));
        fill.update_command(Command::fill(&x, 2)).unwrap();
        first.update_command(task(10)).unwrap();
        copy.update_command(Command::write(&y, vec![3_u32; LEN])).unwrap();
        executable.update(&[&fill, &first, &copy, &read]).unwrap();
        bench.run(&executable);
        bench.queue.wait().unwrap();
        assert_eq!((target.to_vec().unwrap()[0], ran.load(Ordering::Relaxed)), (3, 11));
        assert_eq!(bench.read(&x)[0], 2);
    }
}

#[test]
fn g_upd_025_a_thousand_nodes_one_by_one() {
    for bench in benches() {
        let x = bench.zeroes();
        let addend = DynamicParameter::new(&bench.graph, 1_u32);
        let nodes: Vec<Node> =
            (0..1000).map(|_| bench.add(Command::parallel_for(1, advance(&x, 1, &addend)))).collect();
        let executable = bench.updatable();
        let other = bench.another();
        other.add(Command::parallel_for(1, advance_late(bench.zeroes(), 1 << 22, 0)));
        let other = other.updatable();
        addend.update(2).unwrap();
        for node in &nodes {
            executable.update(node).unwrap();
        }
        bench.run(&other);
        addend.update(3).unwrap();
        for node in nodes.iter().step_by(2) {
            executable.update(node).unwrap();
        }
        bench.run(&executable);
        assert_eq!(bench.read(&x)[0], 2500);
    }
}

#[test]
fn g_dlm_001_another_size() {
    sizes_of_local_memory();
}

#[test]
fn g_dlm_002_several_nodes_and_one_that_follows_nothing() {
    sizes_of_local_memory();
}

fn sizes_of_local_memory() {
    for bench in benches() {
        let bundle =
            crate::common::load::spirv(&bench.context, include_bytes!("../fixtures/launch.spv")).unwrap();
        let data = bench.context.alloc_device::<i32>(LEN).unwrap();
        let sums = || bench.context.alloc_device::<i32>(LEN).unwrap();
        let (a, b, c) = (sums(), sums(), sums());
        bench.queue.fill(&data, 1).unwrap();
        let scratch = DynamicParameter::new(&bench.graph, Local::<i32>::new(8));
        let of_bundle =
            bundle.kernel("group_sum").unwrap().call().pointer(&data).pointer_mut(&b).local(&scratch);
        let first = bench.add(Command::parallel_for(NdRange::new(LEN, 8), group_sum(&data, &a, &scratch)));
        let second = bench.add(Command::parallel_for(NdRange::new(LEN, 8), of_bundle));
        let fixed =
            bench.add(Command::parallel_for(NdRange::new(LEN, 8), group_sum(&data, &c, Local::new(8))));
        let executable = bench.updatable();
        scratch.update(Local::new(32)).unwrap();
        for node in [&first, &second] {
            node.update_nd_range(NdRange::new(LEN, 32)).unwrap();
        }
        executable.update(&[&first, &second, &fixed]).unwrap();
        bench.run(&executable);
        assert_eq!((&bench.read(&a)[..2], &bench.read(&b)[..2]), (&[32, 32][..], &[32, 32][..]));
        assert_eq!(bench.read(&c)[0], 8, "what follows no parameter stays");
        assert_eq!(scratch.update(Local::new(1 << 40)).unwrap_err().kind(), ErrorKind::KernelArgument);
    }
}

#[test]
fn g_dlm_005_a_local_array_of_fixed_size() {
    for bench in benches() {
        let (x, y) = (
            bench.context.alloc_device::<i32>(LEN).unwrap(),
            bench.context.alloc_device::<i32>(LEN).unwrap(),
        );
        for memory in [&x, &y] {
            bench.queue.write(memory, &std::array::from_fn::<i32, LEN, _>(|i| i as i32)).unwrap();
        }
        let memory = DynamicParameter::new(&bench.graph, x.clone());
        let command = || Command::parallel_for(NdRange::new(LEN, 8), reverse_eights(&memory));
        let nodes = [bench.add(command()), bench.add(command()), bench.add(command())];
        let executable = bench.updatable();
        bench.run(&executable);
        memory.update(&y).unwrap();
        executable.update(&nodes[..1]).unwrap();
        bench.run(&executable);
        let reversed: Vec<i32> = (0..LEN as i32).map(|i| i / 8 * 8 + 7 - i % 8).collect();
        assert_eq!((bench.read(&x), bench.read(&y)), (reversed.clone(), reversed));
    }
}

#[test]
fn g_dlm_004_whole_graphs_with_local_memory() {
    for bench in benches() {
        let data = bench.context.alloc_device::<i32>(LEN).unwrap();
        let sums = bench.context.alloc_device::<i32>(LEN).unwrap();
        bench.queue.fill(&data, 1).unwrap();
        let command = |size: usize| {
            Command::parallel_for(NdRange::new(LEN, size), group_sum(&data, &sums, Local::new(size)))
        };
        bench.add(command(8));
        let executable = bench.updatable();
        let other = bench.another();
        other.add(command(64));
        executable.update_graph(&other.graph).unwrap();
        bench.run(&executable);
        assert_eq!(bench.read(&sums)[0], 64);
    }
}

fn group(bench: &Bench, commands: impl IntoIterator<Item = Command>) -> DynamicCommandGroup {
    DynamicCommandGroup::new(&bench.graph, commands).unwrap()
}

#[test]
fn g_dcg_001_two_kernels() {
    kernels_with_other_arguments_and_ranges();
}

#[test]
fn g_dcg_002_other_arguments() {
    kernels_with_other_arguments_and_ranges();
}

#[test]
fn g_dcg_004_other_ranges() {
    kernels_with_other_arguments_and_ranges();
}

fn kernels_with_other_arguments_and_ranges() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let out = bench.context.alloc_device::<u64>(15 * 64).unwrap();
        let either = group(
            &bench,
            [
                numbered(&x, 1),
                Command::parallel_for(8, advance(&y, 2, 5)),
                Command::parallel_for(NdRange::new([4, 4, 4], [2, 2, 2]), positions(&out)),
            ],
        );
        let node = bench.graph.add(&either).unwrap();
        let executable = bench.updatable();
        bench.run(&executable);
        for index in [1, 2, 1] {
            either.set_active_index(index).unwrap();
            executable.update(&node).unwrap();
            bench.run(&executable);
        }
        assert_eq!(bench.read(&x), counted(1, LEN), "results stay");
        assert_eq!(bench.read(&y)[..9], [15, 15, 15, 15, 15, 15, 15, 15, 0]);
        assert_eq!(bench.read(&out)[15 * 63..15 * 63 + 3], [3, 3, 3]);
    }
}

#[test]
fn g_dcg_008_some_follow_parameters() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let first = DynamicParameter::new(&bench.graph, 1_u32);
        let either = group(
            &bench,
            [
                Command::parallel_for(LEN, number(&x, &first)),
                numbered(&y, 20),
                Command::parallel_for(LEN, advance(&y, &first, &first)),
            ],
        );
        let node = bench.graph.add(&either).unwrap();
        let executable = bench.updatable();
        either.set_active_index(1).unwrap();
        first.update(3).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x), bench.read(&y)), (counted(0, 0), counted(20, LEN)));
        for index in [2, 0] {
            either.set_active_index(index).unwrap();
            executable.update(&node).unwrap();
            bench.run(&executable);
        }
        assert_eq!((bench.read(&x), bench.read(&y)[1]), (counted(3, LEN), 66));
    }
}

#[test]
fn g_dcg_009_the_same_edges() {
    dependencies_of_groups();
}

#[test]
fn g_dcg_011_other_edges() {
    dependencies_of_groups();
}

fn dependencies_of_groups() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let event = {
            let _recording = bench.graph.record(&bench.queue).unwrap();
            bench.queue.submit(numbered(&x, 1)).unwrap()
        };
        let behind = |addend| Command::parallel_for(LEN, combine(&x, &y, addend)).after(&event);
        let either = group(&bench, [behind(1), behind(2)]);
        let node = bench.graph.add(&either).unwrap();
        assert_eq!(node.predecessors().len(), 1);
        let unlike = group(&bench, [behind(1), Command::parallel_for(LEN, combine(&x, &y, 3))]);
        invalid(bench.graph.add(&unlike), "depends on nodes");
        let (a, b) = (Buffer::<u32>::new(LEN).unwrap(), Buffer::<u32>::new(LEN).unwrap());
        bench.graph.add(Command::parallel_for(LEN, number(a.write(), 1))).unwrap();
        let same = group(&bench, [1, 2].map(|i| Command::parallel_for(LEN, advance(a.read_write(), 1, i))));
        let node = bench.graph.add(&same).unwrap();
        let target = HostTarget::new(LEN).unwrap();
        bench.graph.add(Command::read(&a.read(), &target)).unwrap();
        let unlike = group(
            &bench,
            [&a, &b].map(|buffer| Command::parallel_for(LEN, advance(buffer.read_write(), 1, 1))),
        );
        invalid(bench.graph.add(&unlike), "depends on nodes");
        let executable = bench.updatable();
        same.set_active_index(1).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        bench.queue.wait().unwrap();
        assert_eq!(target.to_vec().unwrap()[..3], [3, 4, 5]);
    }
}

#[test]
fn g_dcg_012_host_tasks() {
    for bench in benches() {
        let x = bench.zeroes();
        let seen = Arc::new(AtomicU32::new(0));
        let task = |value: u32| {
            let seen = Arc::clone(&seen);
            Command::host_task(move || {
                seen.fetch_add(value, Ordering::Relaxed);
            })
        };
        bench.add(numbered(&x, 1));
        let either = group(&bench, [task(1), task(100)]);
        let node = bench.graph.after_all_leaves().add(&either).unwrap();
        bench.add(Command::parallel_for(LEN, advance(&x, 1, 1)));
        let executable = bench.updatable();
        bench.run(&executable);
        either.set_active_index(1).unwrap();
        executable.update(&node).unwrap();
        bench.run(&executable);
        bench.queue.wait().unwrap();
        assert_eq!((seen.load(Ordering::Relaxed), bench.read(&x)[0]), (101, 2));
    }
}

#[test]
fn g_dcg_013_the_active_index() {
    the_active_index();
}

#[test]
fn g_dcg_014_before_finalize() {
    the_active_index();
}

fn the_active_index() {
    for bench in benches() {
        let x = bench.zeroes();
        let either = group(&bench, [numbered(&x, 1), numbered(&x, 2)]);
        bench.graph.add(&either).unwrap();
        assert_eq!(either.active_index(), 0);
        either.set_active_index(1).unwrap();
        assert_eq!(either.active_index(), 1);
        invalid(either.set_active_index(2), "command 2");
        assert_eq!(either.active_index(), 1);
        bench.run(&bench.updatable());
        assert_eq!(bench.read(&x), counted(2, LEN));
    }
}

#[test]
fn g_dcg_015_other_commands() {
    for bench in benches() {
        let x = bench.zeroes();
        let with = |command: Command| DynamicCommandGroup::new(&bench.graph, [numbered(&x, 1), command]);
        invalid(with(Command::copy(&x, &bench.zeroes())), "memcpy");
        invalid(with(Command::fill(&x, 1)), "memfill");
        invalid(with(Command::host_task(|| ())), "host_task");
        invalid(with(Command::barrier()), "barrier");
        invalid(DynamicCommandGroup::new(&bench.graph, []), "no command");
    }
}

#[test]
fn g_wgu_001_the_same() {
    for bench in benches() {
        let x = bench.zeroes();
        let other = bench.another();
        for bench in [&bench, &other] {
            bench.add(numbered(&x, 1));
            bench.add(Command::parallel_for(LEN, advance(&x, 2, 3)));
        }
        let executable = bench.updatable();
        executable.update_graph(&other.graph).unwrap();
        executable.update_graph(&bench.graph).unwrap();
        bench.run(&executable);
        assert_eq!(bench.read(&x)[..2], [5, 7]);
    }
}

#[test]
fn g_wgu_002_what_differs_is_named() {
    for bench in benches() {
        let x = bench.zeroes();
        let chain = |bench: &Bench, nodes: u32| -> Vec<Node> {
            (0..nodes).map(|i| bench.add(numbered(&x, i))).collect()
        };
        chain(&bench, 3);
        let executable = bench.updatable();
        let refused = |build: &dyn Fn(&Bench), because: &str| {
            let other = bench.another();
            build(&other);
            invalid(executable.update_graph(&other.graph), because);
        };
        refused(&|other| drop(chain(other, 4)), "4 nodes, the executable has 3");
        refused(&|other| drop(chain(other, 2)), "2 nodes, the executable has 3");
        refused(
            &|other| {
                let nodes = chain(other, 3);
                other.graph.make_edge(&nodes[0], &nodes[2]).unwrap();
            },
            "node 2 depends on [1, 0], in the executable on [1]",
        );
        refused(
            &|other| (0..3).for_each(|i| drop(other.graph.add(numbered(&x, i)).unwrap())),
            "node 1 depends on []",
        );
        refused(
            &|other| {
                chain(other, 2);
                other.add(Command::parallel_for(LEN, advance(&x, 1, 2)));
            },
            "node 2 is kernel `advance`, in the executable `number`",
        );
        bench.run(&executable);
        assert_eq!(bench.read(&x), counted(2, LEN));
    }
}

#[test]
fn g_wgu_003_other_contexts_and_no_updates() {
    for bench in benches() {
        let x = bench.zeroes();
        bench.add(numbered(&x, 1));
        let context = Context::new(bench.context.device()).unwrap();
        let foreign = Graph::new(&context, context.device()).unwrap();
        foreign.add(numbered(&context.alloc_device(LEN).unwrap(), 1)).unwrap();
        invalid(bench.updatable().update_graph(&foreign), "another context");
        invalid(bench.graph.finalize().unwrap().update_graph(&bench.graph), "cannot be updated");
        let masked = context.device().masked(Mask::FP16);
        let elsewhere = Context::new(&masked).unwrap();
        invalid(
            bench.updatable().update_graph(&Graph::new(&elsewhere, &masked).unwrap()),
            "another context or device",
        );
    }
}

#[test]
fn g_wgu_006_other_memory_everywhere() {
    other_memory_everywhere();
}

#[test]
fn g_wgu_007_empty_nodes_and_barriers() {
    other_memory_everywhere();
}

fn other_memory_everywhere() {
    for bench in benches() {
        let memory: Vec<_> = (0..4).map(|_| bench.zeroes()).collect();
        let (a, b) =
            (Buffer::from_vec(vec![1_u32; LEN]).unwrap(), Buffer::from_vec(vec![2_u32; LEN]).unwrap());
        for buffer in [&a, &b] {
            buffer.set_write_back(false);
        }
        let build = |bench: &Bench, x, y, buffer: &Buffer<u32>| {
            bench.graph.add(Command::empty()).unwrap();
            {
                let _recording = bench.graph.record(&bench.queue).unwrap();
                bench.queue.submit(Command::parallel_for(LEN, number(x, 4))).unwrap();
                bench.queue.barrier().unwrap();
                let raw = RawArgument::bytes(&3_u32.to_ne_bytes());
                bench
                    .queue
                    .submit(Command::parallel_for(LEN, combine(RawArgument::memory(x), y, raw)))
                    .unwrap();
                bench.queue.submit(Command::parallel_for(LEN, advance(buffer.read_write(), 10, 1))).unwrap();
            }
        };
        build(&bench, &memory[0], &memory[1], &a);
        let executable = bench.updatable();
        let other = bench.another();
        build(&other, &memory[2], &memory[3], &b);
        executable.update_graph(&other.graph).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&memory[0]), bench.read(&memory[1])), (counted(0, 0), counted(0, 0)));
        assert_eq!((bench.read(&memory[2]), bench.read(&memory[3])), (counted(4, LEN), counted(4, LEN)));
        assert_eq!((a.read().host().unwrap()[0], b.read().host().unwrap()[0]), (1, 21));
    }
}

#[test]
fn g_wgu_008_fills_and_copies_are_named() {
    for bench in benches() {
        let x = bench.zeroes();
        bench.add(numbered(&x, 1));
        bench.add(Command::fill(&x, 1));
        invalid(bench.updatable().update_graph(&bench.graph), "node 1 is a memfill");
        let other = bench.another();
        other.add(Command::copy(&x, &bench.zeroes()));
        invalid(bench.updatable().update_graph(&other.graph), "node 0 is a memcpy");
    }
}

#[test]
fn g_wgu_011_from_a_command_group() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        bench.add(numbered(&x, 1));
        let executable = bench.updatable();
        let other = bench.another();
        let either = group(&other, [Command::parallel_for(LEN, advance(&y, 1, 1)), numbered(&y, 9)]);
        other.graph.add(&either).unwrap();
        invalid(executable.update_graph(&other.graph), "node 0 is kernel `advance`");
        either.set_active_index(1).unwrap();
        executable.update_graph(&other.graph).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x), bench.read(&y)), (counted(0, 0), counted(9, LEN)));
    }
}

#[test]
fn g_wgu_012_sub_graphs() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let build = |bench: &Bench, memory, factor: u32, extra: bool| {
            let inner = bench.another();
            inner.add(numbered(memory, factor));
            inner.add(Command::parallel_for(LEN, advance(memory, factor, 1)));
            if extra {
                inner.add(Command::parallel_for(LEN, advance(memory, factor, 1)));
            }
            bench.add(numbered(memory, 77));
            bench.graph.after_all_leaves().add(&inner.updatable()).unwrap();
            bench.add(Command::parallel_for(LEN, advance(memory, 1, factor)));
        };
        build(&bench, &x, 2, false);
        let executable = bench.updatable();
        let (other, longer) = (bench.another(), bench.another());
        build(&other, &y, 3, false);
        build(&longer, &y, 3, true);
        invalid(executable.update_graph(&longer.graph), "sub-graph node 1");
        executable.update_graph(&other.graph).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x), bench.read(&y)[0]), (counted(0, 0), 13));
    }
}

#[test]
fn g_wgu_013_behind_what_runs() {
    for bench in benches() {
        let (x, y) = (bench.zeroes(), bench.zeroes());
        let build = |bench: &Bench, memory| {
            bench.add(Command::parallel_for(1, advance_late(memory, 1 << 24, 0)));
            bench.add(Command::parallel_for(1, advance(memory, 1, 1)));
        };
        build(&bench, &x);
        let executable = bench.updatable();
        let other = bench.another();
        build(&other, &y);
        for _ in 0..3 {
            bench.run(&executable);
        }
        executable.update_graph(&other.graph).unwrap();
        bench.run(&executable);
        assert_eq!((bench.read(&x)[0], bench.read(&y)[0]), (3, 1));
    }
}
