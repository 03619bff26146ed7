//! Copies, fills and buffers as nodes that run: G-MEM, G-BUF, G-ALC.

use oclave::command::Advice;
use oclave::graph::NodeType;
use oclave::images::{D2, Rgba};
use oclave::memory::HostTarget;
use oclave::{Buffer, Command, Device};

use super::graph_buffers::overlapping;
use super::graph_support::ways;
use super::kernels::{buffers, saxpy::saxpy};

#[test]
fn g_mem_001_between_memory_of_every_kind() {
    for way in ways() {
        let context = way.context();
        let device = [(); 2].map(|()| context.alloc_device::<u32>(16).unwrap());
        let host = context.alloc_host::<u32>(16).unwrap();
        let shared = context.alloc_shared::<u32>(16).unwrap();
        let target = HostTarget::<u32>::new(16).unwrap();
        let graph = way.graph();
        let data: Vec<u32> = (0..16).collect();
        graph.add(Command::write(&device[0], data.clone())).unwrap();
        graph.after_all_leaves().add(Command::copy(&device[0], &device[1])).unwrap();
        graph.after_all_leaves().add(Command::copy(&device[1], &host)).unwrap();
        graph.after_all_leaves().add(Command::copy(&host, &shared)).unwrap();
        // A part of another part.
        let parts = (shared.slice(4..8).unwrap(), device[0].slice(12..16).unwrap());
        graph.after_all_leaves().add(Command::copy(&parts.0, &parts.1)).unwrap();
        graph.after_all_leaves().add(Command::read(&device[0], &target)).unwrap();
        way.run(&graph, 2);
        assert_eq!((&host.read().unwrap()[..], &shared.read().unwrap()[..]), (&data[..], &data[..]));
        let mut expected = data;
        expected.copy_within(4..8, 12);
        assert_eq!(target.to_vec().unwrap(), expected);
    }
}

#[test]
fn g_mem_003_bytes() {
    for way in ways() {
        let memory = way.device(&[0_u32; 16]);
        let graph = way.graph();
        let first = graph.add(Command::memset(&memory, 0xa5)).unwrap();
        graph.after(&first).add(Command::memset(&memory.slice(4..8).unwrap(), 1)).unwrap();
        way.run(&graph, 1);
        let mut expected = [0xa5a5_a5a5_u32; 16];
        expected[4..8].fill(0x0101_0101);
        assert_eq!(way.queue.read(&memory).unwrap(), expected);

        let recorded = way.graph();
        let recording = recorded.record(&way.queue).unwrap();
        way.queue.memset(&memory, 7).unwrap();
        recording.end();
        way.run(&recorded, 1);
        assert_eq!(way.queue.read(&memory).unwrap(), [0x0707_0707; 16]);
    }
}

#[test]
fn g_mem_005_between_buffers() {
    for way in ways() {
        let from = Buffer::with_data([4, 8], (0..32).collect::<Vec<u32>>()).unwrap();
        let line = Buffer::<u32>::new(64).unwrap();
        let to = Buffer::<u32>::new([4, 8]).unwrap();
        let graph = way.graph();
        // All of it, one row, and a part of a line with offsets on both sides.
        graph.add(Command::copy(&from.read(), &to.write())).unwrap();
        graph
            .add(Command::copy(&from.read().slice(1..2).unwrap(), &to.write().slice(3..4).unwrap()))
            .unwrap();
        graph
            .add(Command::copy(&to.read().slice(2..4).unwrap(), &line.write().part(5, 16).unwrap()))
            .unwrap();
        let rectangle = to.read_write().part([0, 2], [2, 3]).unwrap();
        graph.add(Command::copy(&from.read().part([2, 4], [2, 3]).unwrap(), &rectangle)).unwrap();
        way.run(&graph, 2);
        let mut expected: Vec<u32> = (0..32).collect();
        expected.copy_within(8..16, 24);
        assert_eq!(
            (&line.host_read().unwrap()[5..21], line.host_read().unwrap()[21]),
            (&expected[16..32], 0)
        );
        expected[2..5].copy_from_slice(&[20, 21, 22]);
        // Row 3 of the source, not of the copy.
        expected[10..13].copy_from_slice(&[28, 29, 30]);
        assert_eq!(to.host_read().unwrap()[..], expected);
    }
}

#[test]
fn g_mem_008_fills_of_buffers() {
    for way in ways() {
        let (line, plane, space) = (
            Buffer::<u32>::new(16).unwrap(),
            Buffer::<u32>::new([4, 4]).unwrap(),
            Buffer::<u32>::new([2, 4, 4]).unwrap(),
        );
        let graph = way.graph();
        graph.add(Command::fill(&line.write(), 1)).unwrap();
        graph.add(Command::fill(&line.write().part(3, 5).unwrap(), 2)).unwrap();
        graph.add(Command::fill(&plane.write(), 3)).unwrap();
        graph.add(Command::fill(&plane.write().slice(1..3).unwrap(), 4)).unwrap();
        graph.add(Command::fill(&space.write(), 5)).unwrap();
        graph.add(Command::fill(&space.write().part([1, 1, 0], [1, 2, 4]).unwrap(), 6)).unwrap();
        way.run(&graph, 2);
        let with = |length: usize, value: u32, part: std::ops::Range<usize>, other: u32| {
            let mut all = vec![value; length];
            all[part].fill(other);
            all
        };
        assert_eq!(line.host_read().unwrap()[..], with(16, 1, 3..8, 2));
        assert_eq!(plane.host_read().unwrap()[..], with(16, 3, 4..12, 4));
        assert_eq!(space.host_read().unwrap()[..], with(32, 5, 20..28, 6));
    }
}

#[test]
fn g_mem_009_nothing_but_copies() {
    for way in ways() {
        let (a, b) = (way.device(&[0_u32; 8]), way.device(&[0_u32; 8]));
        let (write, read) = (way.graph(), way.graph());
        let target = HostTarget::<u32>::new(8).unwrap();
        for value in 0..4_u32 {
            write.after_all_leaves().add(Command::write(&a, vec![value; 8])).unwrap();
            read.after_all_leaves().add(Command::read(&b, &target)).unwrap();
        }
        let within = way.graph();
        for _ in 0..2 {
            within.after_all_leaves().add(Command::copy(&a, &b)).unwrap();
            within.after_all_leaves().add(Command::copy(&b, &a)).unwrap();
        }
        way.run(&write, 1);
        way.run(&within, 1);
        way.run(&read, 1);
        assert_eq!(target.to_vec().unwrap(), [3; 8]);
        assert!(way.finalize(&within).partitions()[0].linear);
    }
}

#[test]
fn g_mem_010_rectangles_of_usm() {
    for way in ways() {
        // There is no pitched copy of USM. A rectangle is as many copies as it has rows, in all
        // ways of submitting.
        let (from, to) = (way.device(&(0..32).collect::<Vec<u32>>()), way.device(&[0_u32; 32]));
        let graph = way.graph();
        for row in 0..3 {
            let part = |memory: &oclave::UsmSlice<u32, _>, at: usize| memory.slice(at..at + 4).unwrap();
            graph.add(Command::copy(&part(&from, 8 * row + 2), &part(&to, 8 * row))).unwrap();
        }
        way.run(&graph, 1);
        let expected: Vec<u32> =
            (0..32_u32).map(|at| if at < 24 && at % 8 < 4 { at + 2 } else { 0 }).collect();
        assert_eq!(way.queue.read(&to).unwrap(), expected);
    }
}

#[test]
fn g_mem_011_hints_change_nothing() {
    for way in ways() {
        let memory = way.context().alloc_shared::<u32>(8).unwrap();
        memory.write().unwrap().fill(3);
        let graph = way.graph();
        graph.add(Command::prefetch(&memory)).unwrap();
        graph.after_all_leaves().add(Command::mem_advise(&memory, Advice::ReadMostly)).unwrap();
        graph.after_all_leaves().add(Command::parallel_for(8, buffers::advance(&memory, 2, 1))).unwrap();
        graph.after_all_leaves().add(Command::prefetch(&memory)).unwrap();
        way.run(&graph, 2);
        assert_eq!(*memory.read().unwrap(), [15; 8]);
        assert_eq!(graph.nodes()[1].node_type(), NodeType::MemAdvise);
    }
}

#[test]
fn g_mem_013_images() {
    for way in ways() {
        let context = way.context();
        if context.device().capabilities().images.is_none() {
            skip!("the device has no images");
        }
        let [a, b] = [(); 2].map(|()| context.alloc_image::<Rgba<f32>, D2>([4, 4]).unwrap());
        let target = HostTarget::<[f32; 4]>::new(16).unwrap();
        let memory = context.alloc_device::<[f32; 4]>(16).unwrap();
        let graph = way.graph();
        graph.add(Command::fill(&a, [1.0; 4])).unwrap();
        let corner = a.region([3, 3], [1, 1]).unwrap();
        graph.after_all_leaves().add(Command::fill(&corner, [2.0; 4])).unwrap();
        graph.after_all_leaves().add(Command::copy(&a, &b)).unwrap();
        graph.after_all_leaves().add(Command::copy(&b, &memory)).unwrap();
        graph.after_all_leaves().add(Command::read(&memory, &target)).unwrap();
        way.run(&graph, 2);
        let mut expected = [[1.0; 4]; 16];
        expected[15] = [2.0; 4];
        assert_eq!(target.to_vec().unwrap(), expected);
    }
}

#[test]
fn g_mem_014_equality_is_identity() {
    for way in ways() {
        let memory = way.device(&[0_u32; 8]);
        let graph = way.graph();
        let first = graph.add(Command::fill(&memory, 1)).unwrap();
        let second = graph.after(&first).add(Command::fill(&memory, 1)).unwrap();
        let third = graph.after(&second).add(Command::fill(&memory, 2)).unwrap();
        let fourth = graph.after(&third).add(Command::memset(&memory, 2)).unwrap();
        let nodes = [&first, &second, &third, &fourth];
        for (i, a) in nodes.iter().enumerate() {
            for (j, b) in nodes.iter().enumerate() {
                assert_eq!(a == b, i == j);
            }
        }
        assert_eq!(first, first.clone());
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&memory).unwrap(), [0x0202_0202; 8]);
    }
}

#[test]
fn g_buf_003_the_order_of_buffers_is_kept_by_replays() {
    for way in ways() {
        let buffers = [(); 3].map(|()| Buffer::<f32>::new(64).unwrap());
        let [x, _, z] = &buffers;
        let commands = || overlapping(&buffers);
        let graph = way.graph();
        commands().into_iter().for_each(|command| drop(graph.add(command).unwrap()));
        way.run(&graph, 1);
        let replayed = buffers.each_ref().map(|buffer| buffer.host_read().unwrap()[7]);
        z.host_write().unwrap().fill(0.0);
        commands().into_iter().for_each(|command| drop(way.queue.submit(command).unwrap()));
        let eager = buffers.each_ref().map(|buffer| buffer.host_read().unwrap()[7]);
        assert_eq!((replayed, eager), ([10.0, 4.0, 10.0], [10.0, 4.0, 10.0]));
        // A submission is in the order of the buffer, too: nothing else says what comes first.
        let executable = way.finalize(&graph);
        way.queue.submit(Command::fill(&z.write(), 0.0)).unwrap();
        way.queue.submit_graph(&executable).unwrap();
        way.queue.submit(Command::parallel_for(64, saxpy(1.0, x.read(), z.read_write()))).unwrap();
        assert_eq!(z.host_read().unwrap()[7], 20.0);
    }
}

#[test]
fn g_buf_007_host_data_that_goes() {
    for way in ways() {
        let data: Vec<u32> = (0..64).collect();
        let buffer = Buffer::with_data(64, data.to_vec()).unwrap();
        drop(data);
        let graph = way.graph();
        graph.add(Command::parallel_for(64, buffers::advance(buffer.read_write(), 2, 1))).unwrap();
        way.run(&graph, 1);
        assert_eq!(buffer.host_read().unwrap()[..4], [1, 3, 5, 7]);
        // A target that the caller shares with the buffer.
        let target = HostTarget::from_vec(vec![5_u32; 64]);
        let buffer = Buffer::with_host_data(64, &target).unwrap();
        buffer.set_write_back(false);
        drop(target);
        let graph = way.graph();
        graph.add(Command::parallel_for(64, buffers::advance(buffer.read_write(), 2, 1))).unwrap();
        way.run(&graph, 1);
        assert_eq!(buffer.host_read().unwrap()[..2], [11, 11]);
        // Data that the caller shares with the buffer, which goes before the graph runs.
        let shared: std::sync::Arc<[u32]> = (0..64).collect();
        let taken = Buffer::with_data(64, shared).unwrap();
        let sum = Buffer::<u32>::new(64).unwrap();
        let graph = way.graph();
        graph.add(Command::parallel_for(64, buffers::combine(taken.read(), sum.read_write(), 1))).unwrap();
        drop(taken);
        way.run(&graph, 2);
        assert_eq!(sum.host_read().unwrap()[..4], [0, 2, 4, 6]);
    }
}

#[test]
fn g_buf_011_a_fresh_large_buffer_while_the_device_is_busy() {
    for way in ways() {
        const LARGE: usize = 1 << 20;
        let busy = way.device(&[0_u32; 1]);
        let buffer = Buffer::from_vec((0..LARGE as u32).collect()).unwrap();
        let graph = way.graph();
        graph.add(Command::parallel_for(LARGE, buffers::advance(buffer.read_write(), 1, 7))).unwrap();
        way.queue.single_task(buffers::advance_late(&busy, 3_000_000, 1)).unwrap();
        let executable = way.finalize(&graph);
        way.queue.submit_graph(&executable).unwrap();
        let data = buffer.host_read().unwrap();
        assert!((7..).zip(data.iter()).all(|(expected, value)| *value == expected));
    }
}

#[test]
fn g_buf_012_a_dot_product() {
    for way in ways() {
        let [x, y] = [(); 2].map(|()| Buffer::<f32>::new(64).unwrap());
        let graph = way.graph();
        graph.add(Command::fill(&x.write(), 1.0)).unwrap();
        graph.add(Command::fill(&y.write(), 2.0)).unwrap();
        graph.add(Command::parallel_for(64, saxpy(3.0, x.read(), y.read_write()))).unwrap();
        graph.add(Command::parallel_for(64, saxpy(2.0, y.read(), x.read_write()))).unwrap();
        way.run(&graph, 2);
        assert_eq!(x.host_read().unwrap()[..], [11.0; 64]);
    }
}

#[test]
fn g_alc_001_memory_that_only_a_graph_has() {
    // There are no nodes that allocate: memory that only nodes name lives as long as the graph and
    // its executables.
    for way in ways() {
        let out = way.device(&[0_u32; 8]);
        let graph = way.graph();
        {
            let scratch = way.context().alloc_device::<u32>(8).unwrap();
            let filled = graph.add(Command::fill(&scratch, 4)).unwrap();
            let moved = graph.after(&filled).add(Command::parallel_for(8, buffers::advance(&scratch, 2, 1)));
            graph.after(&moved.unwrap()).add(Command::copy(&scratch, &out)).unwrap();
        }
        let executable = way.finalize(&graph);
        drop(graph);
        for _ in 0..2 {
            way.queue.submit_graph(&executable).unwrap();
        }
        way.queue.wait().unwrap();
        assert_eq!(way.queue.read(&out).unwrap(), [9; 8]);
    }
}

#[device_test]
fn g_alc_003_nodes_that_allocate(_device: Device) {
    skip!(
        "oclave has no nodes that allocate or free: types keep memory from being freed before its last use"
    );
}
