//! Random graphs of random commands against a sequential oracle.
//!
//! Graphs are built node by node, recorded from both kinds of queues, and run eagerly. They have
//! host tasks, sub-graphs and buffers, and run with every strategy. The selected device runs them
//! as it is, and with the capabilities hidden that graphs use.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::common::{bundle, call, graph_devices, queues_and_measuring, strategies};
use oclave::command::{CopyFrom, CopyTo};
use oclave::graph::{ExecutableGraph, Node, ReplayStrategy};
use oclave::kernel::KernelBundle;
use oclave::memory::{HostTarget, usm};
use oclave::{Buffer, Command, Context, Event, Graph, Queue, UsmSlice};
use proptest::prelude::*;
use proptest::sample::Index;

/// Elements of a cell.
const LEN: usize = 8;
/// Cells in USM, and behind them those that are buffers.
const PLAIN: usize = 3;
const CELLS: usize = 5;

/// What a node does to cells.
#[derive(Debug, Clone)]
enum Work {
    Bump(usize, i32),
    Copy(usize, usize),
    Fill(usize, i32),
    /// A pattern of twelve bytes, which OpenCL does not fill with: twice in 48 of 64 bytes. Not of
    /// buffers.
    Odd(usize, [i32; 3]),
    Memset(usize, u8),
    Write(usize, Vec<i32>),
    Read(usize),
    /// A host task: what was read last goes into a sum.
    Take,
    /// A host task with an accessor: a bump of a buffer.
    Task(usize, i32),
    Hint(usize),
    Empty,
}

/// A work, and works before it that it is to wait for without need.
type Step = (Work, Vec<Index>);

impl Work {
    fn reads(&self) -> Option<usize> {
        match self {
            Self::Bump(cell, _) | Self::Task(cell, _) | Self::Copy(cell, _) | Self::Read(cell) => Some(*cell),
            _ => None,
        }
    }

    fn writes(&self) -> Option<usize> {
        match self {
            Self::Bump(cell, _)
            | Self::Task(cell, _)
            | Self::Copy(_, cell)
            | Self::Fill(cell, _)
            | Self::Odd(cell, _)
            | Self::Memset(cell, _)
            | Self::Write(cell, _) => Some(*cell),
            _ => None,
        }
    }

    /// Whether the user has to say that it comes after the other; the order of buffers is the
    /// library's business.
    fn must_follow(&self, other: &Self) -> bool {
        let meets = |a: Option<usize>, b: Option<usize>| a == b && a.is_some_and(|cell| cell < PLAIN);
        // All reads go to one target.
        let host = |work: &Self| matches!(work, Self::Read(_) | Self::Take);
        meets(self.reads(), other.writes())
            || meets(self.writes(), other.reads())
            || meets(self.writes(), other.writes())
            || host(self) && host(other)
    }
}

fn work() -> impl Strategy<Value = Work> {
    let cell = || 0..CELLS;
    prop_oneof![
        4 => (cell(), any::<i32>()).prop_map(|(c, by)| Work::Bump(c, by)),
        3 => (cell(), 1..CELLS).prop_map(|(from, step)| Work::Copy(from, (from + step) % CELLS)),
        1 => (cell(), any::<i32>()).prop_map(|(c, v)| Work::Fill(c, v)),
        1 => (0..PLAIN, any::<[i32; 3]>()).prop_map(|(c, v)| Work::Odd(c, v)),
        1 => (cell(), any::<u8>()).prop_map(|(c, v)| Work::Memset(c, v)),
        1 => (cell(), prop::collection::vec(any::<i32>(), LEN)).prop_map(|(c, v)| Work::Write(c, v)),
        1 => cell().prop_map(Work::Read),
        1 => Just(Work::Take),
        1 => (PLAIN..CELLS, any::<i32>()).prop_map(|(c, by)| Work::Task(c, by)),
        1 => cell().prop_map(Work::Hint),
        1 => Just(Work::Empty),
    ]
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((work(), prop::collection::vec(any::<Index>(), 0..3)), 0..most)
}

/// What a host task makes of what was read.
fn mix(sum: i32, target: &[i32]) -> i32 {
    sum.wrapping_mul(3).wrapping_add(target[1]).wrapping_add(1)
}

/// The oracle.
#[derive(Debug, Clone, PartialEq)]
struct State {
    cells: [[i32; LEN]; CELLS],
    target: Vec<i32>,
    sum: i32,
}

impl State {
    fn run(&mut self, steps: &[Step]) {
        for (work, _) in steps {
            let cells = &mut self.cells;
            match work {
                Work::Bump(cell, by) | Work::Task(cell, by) => {
                    cells[*cell].iter_mut().for_each(|x| *x = x.wrapping_add(*by))
                }
                Work::Copy(from, to) => cells[*to] = cells[*from],
                Work::Fill(cell, value) => cells[*cell] = [*value; LEN],
                Work::Odd(cell, value) => (0..6).for_each(|i| cells[*cell][i] = value[i % 3]),
                Work::Memset(cell, byte) => cells[*cell] = [i32::from_ne_bytes([*byte; 4]); LEN],
                Work::Write(cell, data) => cells[*cell].copy_from_slice(data),
                Work::Read(cell) => self.target = cells[*cell].to_vec(),
                Work::Take => self.sum = mix(self.sum, &self.target),
                Work::Hint(_) | Work::Empty => {}
            }
        }
    }
}

/// Memory for the works of a test, and the commands for them.
struct Bench {
    bundle: KernelBundle,
    plain: [UsmSlice<i32, usm::DeviceOnly>; PLAIN],
    buffers: [Buffer<i32>; CELLS - PLAIN],
    target: HostTarget<i32>,
    sum: Arc<AtomicI32>,
}

/// Calls with a cell as it is read (`read`) or written (`write`, `read_write`).
macro_rules! with {
    ($bench:expr, $cell:expr, $access:ident, $memory:ident => $body:expr) => {
        match $cell.checked_sub(PLAIN) {
            None => {
                let $memory = &$bench.plain[*$cell];
                $body
            }
            Some(at) => {
                let $memory = &$bench.buffers[at].$access();
                $body
            }
        }
    };
}

impl Bench {
    fn new(context: &Context) -> Self {
        Self {
            bundle: bundle(context),
            plain: [(); PLAIN].map(|()| context.alloc_device(LEN).unwrap()),
            buffers: [(); CELLS - PLAIN].map(|()| Buffer::new(LEN).unwrap()),
            target: HostTarget::new(LEN).unwrap(),
            sum: Arc::default(),
        }
    }

    fn command(&self, work: &Work) -> Command {
        fn copy(from: &impl CopyFrom<Element = i32>, to: &impl CopyTo<Element = i32>) -> Command {
            Command::copy(from, to)
        }
        match work {
            Work::Bump(cell, by) => {
                let bump = call(&self.bundle, "bump_by");
                let bump = match cell.checked_sub(PLAIN) {
                    None => bump.pointer_mut::<i32>(&self.plain[*cell]),
                    Some(at) => bump.pointer_mut::<i32>(self.buffers[at].read_write()),
                };
                Command::parallel_for(LEN, bump.value(*by))
            }
            Work::Copy(from, to) => {
                with!(self, from, read, from => with!(self, to, write, to => copy(from, to)))
            }
            Work::Fill(cell, value) => with!(self, cell, write, cell => Command::fill(cell, *value)),
            Work::Odd(cell, value) => {
                let part = self.plain[*cell].slice(0..6).unwrap();
                Command::fill(&part.cast::<[i32; 3]>().unwrap(), *value)
            }
            Work::Memset(cell, byte) => with!(self, cell, write, cell => Command::memset(cell, *byte)),
            Work::Write(cell, data) => {
                with!(self, cell, write, cell => Command::write(cell, data.clone()))
            }
            Work::Read(cell) => with!(self, cell, read, cell => Command::read(cell, &self.target)),
            Work::Take => {
                let (target, sum) = (self.target.clone(), Arc::clone(&self.sum));
                Command::host_task(move || {
                    let mixed = target.with(|data| mix(sum.load(Ordering::Relaxed), data))?;
                    sum.store(mixed, Ordering::Relaxed);
                    Ok::<_, oclave::Error>(())
                })
            }
            Work::Task(cell, by) => {
                let by = *by;
                Command::host_task_with(self.buffers[cell - PLAIN].read_write(), move |cell| {
                    cell.iter_mut().for_each(|x| *x = x.wrapping_add(by));
                })
            }
            Work::Hint(cell) => with!(self, cell, read, cell => Command::prefetch(cell)),
            Work::Empty => Command::empty(),
        }
    }

    /// Puts a state into the cells, and gives it with what the host has.
    fn reset(&self, queue: &Queue) -> State {
        for cell in 0..CELLS {
            with!(self, &cell, write, cell => queue.submit(Command::fill(cell, 1)).unwrap().wait().unwrap());
        }
        State {
            cells: [[1; LEN]; CELLS],
            target: self.target.to_vec().unwrap(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }

    fn state(&self, queue: &Queue) -> State {
        let plain = self.plain.iter().map(|cell| queue.read(cell).unwrap());
        let buffers = self.buffers.iter().map(|buffer| buffer.host_read().unwrap().to_vec());
        let cells: Vec<[i32; LEN]> = plain.chain(buffers).map(|cell| cell.try_into().unwrap()).collect();
        State {
            cells: cells.try_into().unwrap(),
            target: self.target.to_vec().unwrap(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }

    /// Adds steps as nodes, each behind those that it must follow and some others.
    fn add(&self, graph: &Graph, steps: &[Step]) {
        let mut nodes: Vec<Node> = Vec::new();
        for (at, (work, _)) in steps.iter().enumerate() {
            let after: Vec<&Node> = before(steps, at).map(|before| &nodes[before]).collect();
            nodes.push(graph.after(&after).add(self.command(work)).unwrap());
        }
    }

    /// Puts steps on a queue, which may be recording. Out of order, events say what they must
    /// follow.
    fn submit(&self, queue: &Queue, steps: &[Step]) {
        let mut events: Vec<Event> = Vec::new();
        for (at, (work, _)) in steps.iter().enumerate() {
            let mut command = self.command(work);
            if queue.is_out_of_order() {
                command = before(steps, at).fold(command, |command, before| command.after(&events[before]));
            }
            events.push(queue.submit(command).unwrap());
        }
    }
}

/// The steps that one has to name.
fn before(steps: &[Step], at: usize) -> impl Iterator<Item = usize> + '_ {
    let (work, more) = &steps[at];
    let must = (0..at).filter(|before| work.must_follow(&steps[*before].0));
    must.chain(more.iter().filter(move |_| at > 0).map(move |index| index.index(at)))
}

/// Steps as a graph, in each way that it can be built.
fn graphs(bench: &Bench, queues: &[Queue], steps: &[Step]) -> Vec<(&'static str, Graph)> {
    let explicit = Graph::from_queue(&queues[0]);
    bench.add(&explicit, steps);
    let mut graphs = vec![("explicit", explicit)];
    for (name, queue) in ["recorded in order", "recorded out of order"].into_iter().zip(queues) {
        let graph = Graph::from_queue(queue);
        let recording = graph.record(queue).unwrap();
        bench.submit(queue, steps);
        recording.end();
        graphs.push((name, graph));
    }
    graphs
}

fn finalize(graph: &Graph, strategy: ReplayStrategy, profiling: bool) -> ExecutableGraph {
    let finalizer = graph.finalizer().strategy(strategy).wait_for_interpreter();
    if profiling { finalizer.profiling() } else { finalizer }.finalize().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_graphs_do_what_their_commands_do(outer in steps(40), inner in steps(6), profiling in any::<bool>()) {
        for device in graph_devices() {
            let context = Context::new(&device).unwrap();
            let bench = Bench::new(&context);
            let queues = queues_and_measuring(&context);
            let what = || format!("on {} (mask {:?})", device.name(), device.mask());
            // At once.
            for queue in &queues {
                let mut expected = bench.reset(queue);
                bench.submit(queue, &outer);
                queue.wait().unwrap();
                expected.run(&outer);
                prop_assert_eq!(bench.state(queue), expected, "eager {}", what());
            }
            let built = graphs(&bench, &queues, &outer).into_iter().zip(graphs(&bench, &queues, &inner));
            for ((name, graph), (_, sub)) in built {
                for (at, strategy) in strategies(&device).into_iter().enumerate() {
                    // A sub-graph behind everything, twice; and once more with each round.
                    let sub = finalize(&sub, strategy, profiling);
                    graph.after_all_leaves().add(&sub).unwrap();
                    graph.after_all_leaves().add(&sub).unwrap();
                    let subs = 2 * (at + 1);
                    let executable = finalize(&graph, strategy, profiling);
                    drop(sub);
                    let mut expected = bench.reset(&queues[0]);
                    for queue in queues.iter().chain(&queues) {
                        queue.submit_graph(&executable).unwrap();
                        expected.run(&outer);
                        (0..subs).for_each(|_| expected.run(&inner));
                    }
                    queues.iter().for_each(|queue| queue.wait().unwrap());
                    prop_assert_eq!(bench.state(&queues[0]), expected, "{} {:?} {}", name, strategy, what());
                }
            }
        }
    }
}
