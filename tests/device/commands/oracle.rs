//! Random programs of commands against a sequential model, on the selected device.
//!
//! They run in order and out of order, on one queue and on several, from one thread and from many.

use crate::common::{bundle, call, context};
use oclave::command::{CopyFrom, CopyTo};
use oclave::kernel::KernelBundle;
use oclave::memory::{HostTarget, usm};
use oclave::{Command, Context, Event, Queue, Result, UsmSlice};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const LEN: usize = 24;
/// Device memory twice, shared, host.
const ARRAYS: usize = 4;
const SHARED: usize = 2;

#[derive(Debug, Clone)]
enum Op {
    Fill {
        to: usize,
        start: usize,
        len: usize,
        value: i32,
    },
    Memset {
        to: usize,
        byte: u8,
    },
    Copy {
        from: usize,
        to: usize,
        from_start: usize,
        to_start: usize,
        len: usize,
    },
    Write {
        to: usize,
        start: usize,
        data: Vec<i32>,
    },
    Bump {
        to: usize,
        index: usize,
        step: i32,
    },
    Read {
        from: usize,
    },
    /// On the host, in shared memory.
    Task {
        factor: i32,
    },
    Barrier,
    Marker,
    Empty,
}

fn part() -> impl Strategy<Value = (usize, usize)> {
    (0..LEN).prop_flat_map(|start| (Just(start), 0..=LEN - start))
}

fn op() -> impl Strategy<Value = Op> {
    let array = || 0..ARRAYS;
    prop_oneof![
        3 => (array(), part(), any::<i32>())
            .prop_map(|(to, (start, len), value)| Op::Fill { to, start, len, value }),
        1 => (array(), any::<u8>()).prop_map(|(to, byte)| Op::Memset { to, byte }),
        4 => (array(), 1..ARRAYS, 0..LEN, 0..LEN, 0..LEN).prop_map(|(from, step, from_start, to_start, len)| {
            let len = len.min(LEN - from_start).min(LEN - to_start);
            Op::Copy { from, to: (from + step) % ARRAYS, from_start, to_start, len }
        }),
        2 => (array(), part()).prop_flat_map(|(to, (start, len))| {
            prop::collection::vec(any::<i32>(), len).prop_map(move |data| Op::Write { to, start, data })
        }),
        6 => (array(), 0..LEN, any::<i32>()).prop_map(|(to, index, step)| Op::Bump { to, index, step }),
        2 => array().prop_map(|from| Op::Read { from }),
        2 => any::<i32>().prop_map(|factor| Op::Task { factor }),
        1 => Just(Op::Barrier),
        1 => Just(Op::Marker),
        1 => Just(Op::Empty),
    ]
}

/// The op and which queue takes it.
fn program() -> impl Strategy<Value = Vec<(Op, usize)>> {
    prop::collection::vec((op(), any::<usize>()), 1..60)
}

enum Array {
    Device(UsmSlice<i32>),
    Shared(UsmSlice<i32, usm::Shared>),
    Host(UsmSlice<i32, usm::Host>),
}

/// Calls with whatever kind of memory it is.
macro_rules! with {
    ($array:expr, $memory:ident => $body:expr) => {
        match $array {
            Array::Device($memory) => $body,
            Array::Shared($memory) => $body,
            Array::Host($memory) => $body,
        }
    };
}

/// What an op reads and writes, for the dependencies that a user would give.
fn uses(op: &Op) -> Vec<(usize, bool)> {
    match *op {
        Op::Fill { to, .. } | Op::Memset { to, .. } | Op::Write { to, .. } | Op::Bump { to, .. } => {
            vec![(to, true)]
        }
        Op::Copy { from, to, .. } => vec![(from, false), (to, true)],
        Op::Read { from } => vec![(from, false)],
        Op::Task { .. } => vec![(SHARED, true)],
        Op::Barrier | Op::Marker | Op::Empty => Vec::new(),
    }
}

/// Events by array: the last writer, the readers since.
#[derive(Default)]
struct Known {
    writer: Option<Event>,
    readers: Vec<Event>,
}

struct Machine<'a> {
    context: &'a Context,
    bundle: &'a KernelBundle,
    queues: &'a [Queue],
    /// The order of one in-order queue is enough; else dependencies are given.
    explicit: bool,
}

impl Machine<'_> {
    fn command(&self, op: &Op, arrays: &[Array], read: &mut Vec<HostTarget<i32>>) -> Result<Command> {
        fn slice<K: oclave::memory::UsmKind>(
            memory: &UsmSlice<i32, K>,
            start: usize,
            len: usize,
        ) -> UsmSlice<i32, K> {
            memory.slice(start..start + len).unwrap()
        }
        fn copy(from: &impl CopyFrom<Element = i32>, to: &impl CopyTo<Element = i32>) -> Command {
            Command::copy(from, to)
        }
        Ok(match op {
            Op::Fill { to, start, len, value } => {
                with!(&arrays[*to], to => Command::fill(&slice(to, *start, *len), *value))
            }
            Op::Memset { to, byte } => with!(&arrays[*to], to => Command::memset(to, *byte)),
            Op::Copy { from, to, from_start, to_start, len } => with!(&arrays[*from], from => {
                let from = slice(from, *from_start, *len);
                with!(&arrays[*to], to => copy(&from, &slice(to, *to_start, *len)))
            }),
            Op::Write { to, start, data } => {
                with!(&arrays[*to], to => Command::write(&slice(to, *start, data.len()), data.clone()))
            }
            Op::Bump { to, index, step } => {
                let call = call(self.bundle, "bump_by");
                let call = with!(&arrays[*to], to => call.pointer_mut::<i32>(slice(to, *index, 1)));
                Command::single_task(call.value(*step))
            }
            Op::Read { from } => {
                let target = HostTarget::new(LEN)?;
                read.push(target.clone());
                with!(&arrays[*from], from => Command::read(from, &target))
            }
            Op::Task { factor } => {
                let (Array::Shared(shared), factor) = (&arrays[SHARED], *factor) else { unreachable!() };
                let shared = shared.clone();
                Command::host_task(move || -> Result<()> {
                    shared.write()?.iter_mut().for_each(|value| *value = value.wrapping_mul(factor));
                    Ok(())
                })
            }
            Op::Barrier => Command::barrier(),
            Op::Marker => Command::marker(),
            Op::Empty => Command::empty(),
        })
    }

    fn run(&self, program: &[(Op, usize)]) -> Result<()> {
        let arrays = [
            Array::Device(self.context.alloc_device(LEN)?),
            Array::Device(self.context.alloc_device(LEN)?),
            Array::Shared(self.context.alloc_shared(LEN)?),
            Array::Host(self.context.alloc_host(LEN)?),
        ];
        let mut known: Vec<Known> = Vec::new();
        for array in &arrays {
            let event = with!(array, memory => self.queues[0].fill(memory, 0)?);
            known.push(Known { writer: Some(event), readers: Vec::new() });
        }
        let (mut targets, mut expected) = (Vec::new(), Vec::new());
        let mut model = vec![[0_i32; LEN]; ARRAYS];
        for (op, queue) in program {
            let queue = &self.queues[queue % self.queues.len()];
            let mut command = self.command(op, &arrays, &mut targets)?;
            let uses = uses(op);
            if self.explicit {
                for (array, writes) in &uses {
                    let Known { writer, readers } = &known[*array];
                    let readers = readers.iter().filter(|_| *writes);
                    command =
                        writer.iter().chain(readers).fold(command, |command, event| command.after(event));
                }
            }
            let event = queue.submit(command)?;
            for (array, writes) in uses {
                if writes {
                    known[array] = Known { writer: Some(event.clone()), readers: Vec::new() };
                } else {
                    known[array].readers.push(event.clone());
                }
            }
            apply(op, &mut model, &mut expected);
        }
        self.queues.iter().try_for_each(Queue::wait)?;
        for (target, expected) in targets.iter().zip(expected) {
            assert_eq!(target.to_vec()?, expected);
        }
        for (array, expected) in arrays.iter().zip(model) {
            let data = with!(array, memory => self.queues[0].read(memory)?);
            assert_eq!(data, expected);
        }
        Ok(())
    }
}

/// The model.
fn apply(op: &Op, model: &mut [[i32; LEN]], read: &mut Vec<[i32; LEN]>) {
    match op {
        Op::Fill { to, start, len, value } => model[*to][*start..start + len].fill(*value),
        Op::Memset { to, byte } => model[*to].fill(i32::from_ne_bytes([*byte; 4])),
        Op::Copy { from, to, from_start, to_start, len } => {
            let source = model[*from][*from_start..from_start + len].to_vec();
            model[*to][*to_start..to_start + len].copy_from_slice(&source);
        }
        Op::Write { to, start, data } => model[*to][*start..start + data.len()].copy_from_slice(data),
        Op::Bump { to, index, step } => model[*to][*index] = model[*to][*index].wrapping_add(*step),
        Op::Read { from } => read.push(model[*from]),
        Op::Task { factor } => {
            model[SHARED].iter_mut().for_each(|value| *value = value.wrapping_mul(*factor))
        }
        Op::Barrier | Op::Marker | Op::Empty => {}
    }
}

fn check(cases: u32, threads: usize, explicit: bool, queues: impl Fn(&Context) -> Result<Vec<Queue>>) {
    let Some(context) = context() else { return };
    let bundle = bundle(&context);
    let queues = match queues(&context) {
        Ok(queues) => queues,
        Err(error) => return println!("skipped: {error}"),
    };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let programs = prop::collection::vec(program(), threads);
    TestRunner::new(config)
        .run(&programs, |programs| {
            let machine = Machine { context: &context, bundle: &bundle, queues: &queues, explicit };
            std::thread::scope(|scope| {
                let running: Vec<_> =
                    programs.iter().map(|program| scope.spawn(|| machine.run(program).unwrap())).collect();
                let outcome = running.into_iter().try_for_each(|thread| thread.join());
                outcome.map_err(|_| TestCaseError::fail("a thread's program went wrong"))
            })
        })
        .unwrap();
}

#[test]
fn in_order() {
    check(40, 1, false, |context| Ok(vec![Queue::new(context)?]));
}

#[test]
fn out_of_order() {
    check(40, 1, true, |context| Ok(vec![Queue::builder(context).out_of_order().build()?]));
}

#[test]
fn several_queues() {
    check(40, 1, true, |context| {
        let eventless = Queue::builder(context).discard_events().build()?;
        Ok(vec![Queue::new(context)?, eventless, Queue::builder(context).out_of_order().build()?])
    });
}

#[test]
fn many_threads_on_one_queue() {
    check(10, 4, true, |context| Ok(vec![Queue::builder(context).out_of_order().build()?]));
    check(10, 4, false, |context| Ok(vec![Queue::new(context)?]));
}

#[test]
fn many_threads_on_several_queues() {
    check(10, 4, true, |context| {
        Ok(vec![Queue::new(context)?, Queue::new(context)?, Queue::builder(context).out_of_order().build()?])
    });
}
