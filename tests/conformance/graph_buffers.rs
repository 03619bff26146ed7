//! Buffers as the reason of edges, and what graphs refuse of them: G-BUF, G-ERR.

use oclave::memory::HostTarget;
use oclave::{Buffer, Command, ErrorKind, Graph, Queue};

use super::graph_support::{edges, in_order, out_of_order};
use super::kernels::saxpy::saxpy;

/// Commands that use the same buffers of 64 values, in every order of reading and writing.
pub(super) fn overlapping([x, y, z]: &[Buffer<f32>; 3]) -> [Command; 7] {
    [
        Command::fill(&x.write(), 1.0),
        Command::fill(&y.write(), 2.0),
        Command::parallel_for(64, saxpy(2.0, x.read(), y.read_write())),
        Command::parallel_for(64, saxpy(2.0, x.read(), z.read_write())),
        Command::fill(&x.write(), 3.0),
        Command::parallel_for(64, saxpy(2.0, y.read(), z.read_write())),
        Command::copy(&z.read(), &x.write()),
    ]
}

#[device_test(out_of_order)]
fn g_buf_003_edges_of_buffers(([a, b], recorded): ([Queue; 2], Graph)) {
    let buffers = [(); 3].map(|()| Buffer::<f32>::new(64).unwrap());
    let commands = || overlapping(&buffers);
    let expected = [vec![], vec![], vec![0, 1], vec![0], vec![0, 2, 3], vec![2, 3], vec![4, 5]];
    let explicit = Graph::new(recorded.context(), recorded.device()).unwrap();
    for command in commands() {
        explicit.add(command).unwrap();
    }
    let recording = recorded.record(&[&a, &b]).unwrap();
    for (at, command) in commands().into_iter().enumerate() {
        [&a, &b][at % 2].submit(command).unwrap();
    }
    recording.end();
    for graph in [explicit, recorded] {
        assert_eq!(edges(&graph), expected);
    }
}

#[device_test(in_order)]
fn g_buf_005_parts((_, graph): (Queue, Graph)) {
    let buffer = Buffer::<f32>::new(64).unwrap();
    let part = |offset: usize, len: usize| buffer.write().part(offset, len).unwrap();
    graph.add(Command::fill(&part(0, 32), 1.0)).unwrap();
    graph.add(Command::fill(&part(32, 32), 2.0)).unwrap();
    graph.add(Command::fill(&part(16, 32), 3.0)).unwrap();
    graph.add(Command::fill(&part(0, 16), 4.0)).unwrap();
    assert_eq!(edges(&graph), [vec![], vec![], vec![0, 1], vec![0]]);
}

#[device_test(in_order)]
fn g_buf_008_a_graph_keeps_its_buffers((_, graph): (Queue, Graph)) {
    // No promise is needed that buffers outlive the graph (SYCL's `assume_buffer_outlives_graph`).
    let buffer = Buffer::<f32>::new(8).unwrap();
    graph.add(Command::fill(&buffer.write(), 1.0)).unwrap();
    drop(buffer);
    assert_eq!(graph.len(), 1);
}

#[device_test(in_order)]
fn g_buf_009_no_write_back((queue, graph): (Queue, Graph)) {
    let target = HostTarget::<f32>::new(8).unwrap();
    let buffer = Buffer::<f32>::new(8).unwrap();
    buffer.set_final_data(Some(&target)).unwrap();
    let commands = [
        Command::fill(&buffer.write(), 1.0),
        Command::parallel_for(8, saxpy(1.0, buffer.read(), buffer.read_write())),
    ];
    let recording = graph.record(&queue).unwrap();
    for command in &commands {
        for refused in [graph.add(command.clone()).map(drop), queue.submit(command.clone()).map(drop)] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(format!("{error:#}").contains("set_write_back(false)"), "{error}");
        }
    }
    assert!(graph.is_empty());
    buffer.set_write_back(false);
    for command in commands {
        queue.submit(command).unwrap();
    }
    recording.end();
    assert_eq!(edges(&graph), [vec![], vec![0]]);
}

#[device_test(in_order)]
fn g_buf_009_no_host_accessor_while_recording((queue, graph): (Queue, Graph)) {
    let [used, other] = [(); 2].map(|()| Buffer::<f32>::new(8).unwrap());
    graph.add(Command::fill(&other.write(), 1.0)).unwrap();
    let recording = graph.record(&queue).unwrap();
    queue.submit(Command::fill(&used.write(), 1.0)).unwrap();
    for refused in [used.host_read().map(drop), used.host_write().map(drop)] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("recording"), "{error}");
    }
    other.host_read().unwrap();
    recording.end();
    assert_eq!(*used.host_read().unwrap(), [0.0; 8], "nothing has run");
    // The graph that records no more, and one that is gone, are no obstacle.
    let gone = Graph::from_queue(&queue);
    gone.begin_recording(&queue).unwrap();
    queue.submit(Command::fill(&used.write(), 1.0)).unwrap();
    drop(gone);
    used.host_write().unwrap().finish().unwrap();
}

#[device_test(in_order)]
fn g_err_004_sizes_of_buffers((queue, graph): (Queue, Graph)) {
    let memory = queue.context().alloc_device::<f32>(4).unwrap();
    let (long, square) = (Buffer::<f32>::new(8).unwrap(), Buffer::<f32>::new([8, 8]).unwrap());
    let column = |rows: usize| square.read().part([0, 2], [rows, 1]).unwrap();
    for command in [
        Command::copy(&long.read(), &memory),
        Command::write(&long.write(), vec![0.0_f32; 4]),
        Command::copy(&column(7), &long.write()),
    ] {
        assert_eq!(graph.add(command).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert!(graph.is_empty());
    graph.add(Command::copy(&column(8), &long.write())).unwrap();
}
