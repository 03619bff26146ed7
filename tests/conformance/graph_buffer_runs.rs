//! Graphs over buffers that are run: G-BUF, G-MEM.

use oclave::{Buffer, Command, Context, Event, Graph, Queue, Result};

use super::graph_support::{in_order, out_of_order};
use super::kernels::buffers::{advance, advance_late, combine, number};

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

#[test]
fn g_buf_003_a_graph_does_what_commands_do() {
    let Some(([queue], graph)) = out_of_order() else { return };
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

#[test]
fn g_buf_003_replays_and_commands_take_turns() {
    let Some(([queue, other], graph)) = out_of_order() else { return };
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

#[test]
fn g_buf_005_parts_of_one_buffer() {
    let Some((queue, graph)) = in_order() else { return };
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

#[test]
fn g_buf_007_host_data_may_go() {
    let Some((queue, graph)) = in_order() else { return };
    let mut data = numbers();
    let copied = Buffer::from_slice(LEN, &data).unwrap();
    data.fill(0);
    drop(data);
    let shared: std::sync::Arc<[u32]> = numbers().into();
    let taken = Buffer::with_data(LEN, shared.clone()).unwrap();
    drop(shared);
    let sum = Buffer::<u32>::new(LEN).unwrap();
    let commands = vec![
        Command::parallel_for(LEN, combine(copied.read(), sum.read_write(), 1)),
        Command::parallel_for(LEN, combine(taken.read(), sum.read_write(), 1)),
    ];
    drop((copied, taken));
    replay(&queue, &graph, commands, 2).unwrap();
    assert_eq!(*sum.host_read().unwrap(), *numbers().iter().map(|x| 4 * x).collect::<Vec<_>>());
}

#[test]
fn g_buf_011_first_used_by_a_graph_on_a_busy_device() {
    let Some(([queue], graph)) = out_of_order() else { return };
    let len = 1 << 22;
    let busy = Buffer::<u32>::new(1).unwrap();
    let fresh = Buffer::from_vec(vec![5_u32; len]).unwrap();
    let taken = Buffer::<u32>::new(len).unwrap();
    queue.single_task(advance_late(busy.read_write(), 20_000_000, 1)).unwrap();
    let commands = vec![
        Command::parallel_for(len, combine(fresh.read(), taken.read_write(), 2)),
        Command::parallel_for(len, advance(fresh.read_write(), 0, 6)),
    ];
    replay(&queue, &graph, commands, 2).unwrap();
    assert!(taken.host_read().unwrap().iter().all(|x| *x == 16));
    assert!(fresh.host_read().unwrap().iter().all(|x| *x == 6));
}

#[test]
fn g_buf_012_dot_product() {
    let Some(([queue], graph)) = out_of_order() else { return };
    // x = 1, 2, …; y = 3 x; z = x + 2 y = 7 x.
    let [x, y, z] = [(); 3].map(|()| Buffer::<u32>::new(LEN).unwrap());
    let fill = |buffer: &Buffer<u32>| Command::parallel_for(LEN, number(buffer.write().no_init(), 1));
    let commands = vec![
        fill(&x),
        fill(&y),
        fill(&z),
        Command::parallel_for(LEN, advance(y.read_write(), 3, 0)),
        Command::parallel_for(LEN, combine(y.read(), z.read_write(), 1)),
        Command::parallel_for(LEN, combine(y.read(), z.read_write(), 1)),
    ];
    replay(&queue, &graph, commands, 2).unwrap();
    let (x, z) = (x.host_read().unwrap(), z.host_read().unwrap());
    let dot: u64 = x.iter().zip(z.iter()).map(|(x, z)| u64::from(*x) * u64::from(*z)).sum();
    let squares: u64 = (1..=LEN as u64).map(|x| x * x).sum();
    assert_eq!(dot, 7 * squares);
}

#[test]
fn g_mem_005_copies_between_buffers() {
    let Some((queue, graph)) = in_order() else { return };
    let from = Buffer::from_vec(numbers()).unwrap();
    let to = Buffer::<u32>::new(LEN).unwrap();
    let square = Buffer::<u32>::new([16, 16]).unwrap();
    let commands = vec![
        Command::copy(&from.read().slice(10..30).unwrap(), &to.write().slice(100..120).unwrap()),
        Command::copy(&from.read().slice(32..64).unwrap(), &square.write().slice(3..5).unwrap()),
        Command::copy(&square.read().part([4, 2], [1, 7]).unwrap(), &to.write().slice(..7).unwrap()),
    ];
    replay(&queue, &graph, commands, 2).unwrap();
    let (to, square) = (to.host_read().unwrap(), square.host_read().unwrap());
    for (i, x) in to.iter().enumerate() {
        let expected = if i < 7 {
            50 + i
        } else if (100..120).contains(&i) {
            i - 90
        } else {
            0
        };
        assert_eq!(*x as usize, expected, "{i}");
    }
    for (i, x) in square.iter().enumerate() {
        assert_eq!(*x as usize, if (48..80).contains(&i) { i - 16 } else { 0 }, "{i}");
    }
}

#[test]
fn g_mem_008_fills_of_buffers() {
    let Some((queue, graph)) = in_order() else { return };
    let row = Buffer::from_vec(vec![1_u32; 24]).unwrap();
    let square = Buffer::from_slice([4, 6], &[1_u32; 24]).unwrap();
    let cube = Buffer::from_slice([2, 3, 4], &[1_u32; 24]).unwrap();
    let whole = Buffer::from_slice([2, 3, 4], &[1_u32; 24]).unwrap();
    let commands = vec![
        Command::fill(&row.write().slice(5..9).unwrap(), 2),
        Command::fill(&square.write().slice(1..3).unwrap(), 3),
        Command::fill(&cube.write().part([1, 1, 1], [1, 1, 2]).unwrap(), 4),
        Command::fill(&whole.write(), 5),
    ];
    replay(&queue, &graph, commands, 2).unwrap();
    for (buffer, filled, value) in [(row, 5..9, 2), (square, 6..18, 3), (cube, 17..19, 4), (whole, 0..24, 5)]
    {
        let expected: Vec<u32> = (0..24).map(|i| if filled.contains(&i) { value } else { 1 }).collect();
        assert_eq!(*buffer.host_read().unwrap(), *expected);
    }
}

#[test]
fn g_buf_003_host_writers_keep_graphs_waiting() {
    let Some(([queue], graph)) = out_of_order() else { return };
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
