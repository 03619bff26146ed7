//! Graphs over buffers that take turns with other users of them: G-BUF.

use oclave::{Buffer, Command, Context, Event, Graph, Queue, Result};

use super::graph_support::{in_order, out_of_order};
use super::kernels::buffers::{advance, combine};

const LEN: usize = 256;

fn numbers() -> Vec<u32> {
    (0..LEN as u32).collect()
}

/// Commands as nodes of a graph, as it runs `times` times on a queue. Waits for none of it.
fn replay(queue: &Queue, graph: &Graph, commands: Vec<Command>, times: usize) -> Result<()> {
    for command in commands {
        graph.add(command)?;
    }
    let executable = graph.finalize()?;
    (0..times).try_for_each(|_| queue.submit_graph(&executable).map(drop))
}

/// Overlapping hazards over three buffers.
fn hazards([a, b, c]: &[Buffer<u32>; 3]) -> Vec<Command> {
    let run = |call| Command::parallel_for(LEN, call);
    let half = |at: usize| at * LEN / 2..(at + 1) * LEN / 2;
    vec![
        run(combine(a.read(), b.read_write(), 3)),
        run(combine(a.read(), c.read_write(), 5)),
        run(combine(b.read(), a.read_write(), 7)),
        Command::fill(&c.write().slice(half(0)).unwrap(), 9),
        Command::copy(&b.read().slice(half(1)).unwrap(), &c.write().slice(half(1)).unwrap()),
        run(combine(c.read(), b.read_write(), 2)),
        Command::parallel_for(LEN / 2, advance(a.read_write().slice(half(1)).unwrap(), 3, 1)),
        run(combine(b.read(), c.read_write(), 1)),
    ]
}

#[device_test(out_of_order)]
fn g_buf_003_a_graph_does_what_commands_do(([queue], graph): ([Queue; 1], Graph)) {
    let buffers = || [(); 3].map(|()| Buffer::from_vec(numbers()).unwrap());
    let (by_commands, by_graph) = (buffers(), buffers());
    for _ in 0..3 {
        for command in hazards(&by_commands) {
            queue.submit(command).unwrap();
        }
    }
    replay(&queue, &graph, hazards(&by_graph), 3).unwrap();
    for (eager, replayed) in by_commands.iter().zip(&by_graph) {
        assert_eq!(*eager.host_read().unwrap(), *replayed.host_read().unwrap());
    }
}

#[device_test(out_of_order)]
fn g_buf_003_replays_and_commands_take_turns(([queue, other], graph): ([Queue; 2], Graph)) {
    let elsewhere = Queue::new(&Context::new(queue.device()).unwrap()).unwrap();
    let buffer = Buffer::from_vec(vec![1_u32; LEN]).unwrap();
    graph.add(Command::parallel_for(LEN, advance(buffer.read_write(), 3, 1))).unwrap();
    let executable = graph.finalize().unwrap();
    let mut expected = 1_u32;
    for round in 0..12 {
        queue.submit_graph(&executable).unwrap();
        expected = expected.wrapping_mul(3).wrapping_add(1);
        let next: &Queue = if round % 3 == 0 { &elsewhere } else { &other };
        next.parallel_for(LEN, advance(buffer.read_write(), 1, round)).unwrap();
        expected = expected.wrapping_add(round);
        if round % 4 == 0 {
            assert_eq!(*buffer.host_read().unwrap(), [expected; LEN]);
            buffer.host_write().unwrap().fill(round);
            expected = round;
        }
    }
    assert_eq!(*buffer.host_read().unwrap(), [expected; LEN]);
}

#[device_test(in_order)]
fn g_buf_005_parts_of_one_buffer((queue, graph): (Queue, Graph)) {
    let buffer = Buffer::from_vec(numbers()).unwrap();
    let part = |from: usize, to: usize| buffer.read_write().slice(from..to).unwrap();
    let run = |from: usize, to: usize, factor, addend| {
        Command::parallel_for(to - from, advance(part(from, to), factor, addend))
    };
    let commands = vec![run(0, 128, 2, 1), run(128, 256, 3, 2), run(64, 192, 5, 3), run(0, 64, 7, 4)];
    replay(&queue, &graph, commands, 2).unwrap();
    let mut expected = numbers();
    for _ in 0..2 {
        for (range, factor, addend) in [(0..128, 2, 1), (128..256, 3, 2), (64..192, 5, 3), (0..64, 7, 4)] {
            expected[range].iter_mut().for_each(|x| *x = x.wrapping_mul(factor).wrapping_add(addend));
        }
    }
    assert_eq!(*buffer.host_read().unwrap(), *expected);
}

#[device_test(out_of_order)]
fn g_buf_003_host_writers_keep_graphs_waiting(([queue], graph): ([Queue; 1], Graph)) {
    let buffer = Buffer::from_vec(numbers()).unwrap();
    graph.add(Command::parallel_for(LEN, advance(buffer.read_write(), 2, 1))).unwrap();
    let executable = graph.finalize().unwrap();
    let mut writer = buffer.host_write().unwrap();
    let event: Event = queue.submit_graph(&executable).unwrap();
    writer.fill(4);
    assert!(!event.is_complete().unwrap());
    drop(writer);
    event.wait().unwrap();
    assert_eq!(*buffer.host_read().unwrap(), [9; LEN]);
}
