//! Random programs over buffers and USM against a sequential model: parts of one to three dimensions, host accessors that
//! stay open, several contexts, queues in order and out of order, one thread and many; on the selected device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::atomic::{AtomicU32, Ordering};

use common::{context, device};
use oclave::mask::Mask;
use oclave::{
    Accessor, Buffer, Command, Context, ErrorKind, Event, HostTarget, HostWriter, Queue, Range, UsmSlice,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

mod kernels {
    oclave::include_kernels!("tests");
}
use kernels::buffers::{advance, advance_tile, combine, number};

const LEN: usize = 24;
/// Elements of three dimensions, of which the buffers of fewer have the first ones as 1.
const SHAPES: [[usize; 3]; 3] = [[1, 1, LEN], [1, 4, 6], [2, 3, 4]];
/// After the buffers come pieces of USM.
const PLACES: usize = SHAPES.len() + 2;

/// A box of one of the buffers.
#[derive(Debug, Clone, Copy)]
struct Part {
    buffer: usize,
    offset: [usize; 3],
    extent: [usize; 3],
}

impl Part {
    /// Indices of its elements, in order.
    fn elements(self) -> Vec<usize> {
        let [_, rows, columns] = SHAPES[self.buffer];
        let side = |d: usize| self.offset[d]..self.offset[d] + self.extent[d];
        let mut all = Vec::new();
        for i in side(0) {
            for j in side(1) {
                all.extend(side(2).map(|k| (i * rows + j) * columns + k));
            }
        }
        all
    }

    fn overlaps(self, other: Self) -> bool {
        self.buffer == other.buffer
            && self.elements().iter().any(|element| other.elements().contains(element))
    }

    fn range(buffer: usize, sizes: [usize; 3]) -> Range {
        match buffer {
            0 => Range::d1(sizes[2]),
            1 => Range::d2(sizes[1], sizes[2]),
            _ => Range::d3(sizes[0], sizes[1], sizes[2]),
        }
    }

    fn of<A: oclave::AccessKind>(self, whole: Accessor<u32, A>) -> Accessor<u32, A> {
        whole.part(Self::range(self.buffer, self.offset), Self::range(self.buffer, self.extent)).unwrap()
    }
}

/// A stretch of one of the places.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    place: usize,
    start: usize,
    len: usize,
}

#[derive(Debug, Clone)]
enum Op {
    Advance {
        part: Part,
        factor: u32,
        addend: u32,
    },
    /// Everything in a buffer, without a look at it.
    Number {
        buffer: usize,
        first: u32,
    },
    /// Everything in a buffer, with another.
    Combine {
        from: usize,
        to: usize,
        factor: u32,
    },
    Fill {
        to: Stretch,
        value: u32,
    },
    Copy {
        from: Stretch,
        to: Stretch,
    },
    Write {
        to: Stretch,
        first: u32,
    },
    Read {
        from: Stretch,
    },
    HostRead {
        part: Part,
    },
    HostWrite {
        part: Part,
        first: u32,
    },
    /// The oldest host writer that is open is dropped.
    Close,
    /// For all queues.
    Wait,
}

fn part() -> impl Strategy<Value = Part> {
    (0..SHAPES.len()).prop_flat_map(|buffer| {
        let [planes, rows, columns] = SHAPES[buffer];
        (0..planes, 0..rows, 0..columns).prop_flat_map(move |(i, j, k)| {
            // Dimensions that the buffer does not have are 1.
            let (a, b) = (usize::from(buffer < 2), usize::from(buffer < 1));
            (a..=planes - i, b..=rows - j, 0..=columns - k).prop_map(move |(planes, rows, columns)| Part {
                buffer,
                offset: [i, j, k],
                extent: [planes, rows, columns],
            })
        })
    })
}

/// Of buffers these are parts of the one dimension.
fn stretch() -> impl Strategy<Value = Stretch> {
    let place = prop_oneof![Just(0), SHAPES.len()..PLACES];
    (place, 0..LEN)
        .prop_flat_map(|(place, start)| (0..=LEN - start).prop_map(move |len| Stretch { place, start, len }))
}

fn op() -> impl Strategy<Value = Op> {
    let buffer = || 0..SHAPES.len();
    prop_oneof![
        8 => (part(), 0..5_u32, any::<u32>())
            .prop_map(|(part, factor, addend)| Op::Advance { part, factor, addend }),
        1 => (buffer(), any::<u32>()).prop_map(|(buffer, first)| Op::Number { buffer, first }),
        4 => (buffer(), 1..3_usize, any::<u32>())
            .prop_map(|(from, step, factor)| Op::Combine { from, to: (from + step) % 3, factor }),
        2 => (stretch(), any::<u32>()).prop_map(|(to, value)| Op::Fill { to, value }),
        4 => (stretch(), stretch()).prop_map(|(from, to)| {
            let len = from.len.min(to.len);
            Op::Copy { from: Stretch { len, ..from }, to: Stretch { len, ..to } }
        }),
        2 => (stretch(), any::<u32>()).prop_map(|(to, first)| Op::Write { to, first }),
        2 => stretch().prop_map(|from| Op::Read { from }),
        2 => part().prop_map(|part| Op::HostRead { part }),
        3 => (part(), any::<u32>()).prop_map(|(part, first)| Op::HostWrite { part, first }),
        3 => Just(Op::Close),
        1 => Just(Op::Wait),
    ]
}

fn program() -> impl Strategy<Value = Vec<(Op, usize)>> {
    prop::collection::vec((op(), any::<usize>()), 1..80)
}

/// Queues of one context.
struct Machine {
    context: Context,
    queues: Vec<Queue>,
}

impl Machine {
    fn new(context: Context) -> Self {
        let out_of_order = || Queue::builder(&context).out_of_order().build().unwrap();
        let in_order = || Queue::new(&context).unwrap();
        Self { queues: vec![in_order(), out_of_order(), in_order(), out_of_order()], context }
    }
}

/// What a program runs on, and what must come out.
struct Run<'a> {
    machines: &'a [Machine],
    /// Only these queues of each.
    queues: std::ops::Range<usize>,
    buffers: [Buffer<u32>; 3],
    usm: [UsmSlice<u32>; 2],
    /// What used the USM last.
    last: [Option<Event>; 2],
    model: Vec<[u32; LEN]>,
    writers: Vec<(Part, HostWriter<u32>)>,
    read: Vec<(HostTarget<u32>, Vec<u32>)>,
}

impl<'a> Run<'a> {
    fn new(machines: &'a [Machine], queues: std::ops::Range<usize>) -> Self {
        let memory = || {
            let memory = machines[0].context.alloc_device(LEN).unwrap();
            machines[0].queues[0].fill(&memory, 3_u32).unwrap().wait().unwrap();
            memory
        };
        let data: Vec<u32> = (0..LEN as u32).collect();
        let mut model = vec![[0; LEN], [0; LEN], [0; LEN], [3; LEN], [3; LEN]];
        model[1].copy_from_slice(&data);
        Self {
            machines,
            queues,
            buffers: [
                Buffer::new(LEN).unwrap(),
                Buffer::with_data([4, 6], data).unwrap(),
                Buffer::new([2, 3, 4]).unwrap(),
            ],
            usm: [memory(), memory()],
            last: [None, None],
            model,
            writers: Vec::new(),
            read: Vec::new(),
        }
    }

    fn is_written_by_host(&self, part: Part) -> bool {
        self.writers.iter().any(|(other, _)| other.overlaps(part))
    }

    fn accessor(&self, stretch: Stretch) -> Accessor<u32> {
        self.buffers[0].read_write().part(stretch.start, stretch.len).unwrap()
    }

    fn memory(&self, stretch: Stretch) -> UsmSlice<u32> {
        self.usm[stretch.place - SHAPES.len()].slice(stretch.start..stretch.start + stretch.len).unwrap()
    }

    /// Submits a command, after what used the USM of these stretches.
    fn submit(&mut self, queue: usize, stretches: &[Stretch], command: Command) {
        let pieces: Vec<usize> = stretches.iter().filter_map(|s| s.place.checked_sub(SHAPES.len())).collect();
        // USM is of the first context.
        let machine = if pieces.is_empty() { queue % self.machines.len() } else { 0 };
        let queue = self.queues.start + queue / self.machines.len() % self.queues.len();
        let queue = &self.machines[machine].queues[queue];
        let after: Vec<&Event> = pieces.iter().filter_map(|piece| self.last[*piece].as_ref()).collect();
        let event = queue.submit(command.after_all(&after)).unwrap();
        pieces.into_iter().for_each(|piece| self.last[piece] = Some(event.clone()));
    }

    fn run(&mut self, op: &Op, queue: usize) {
        match *op {
            Op::Advance { part, factor, addend } => {
                let [_, rows, columns] = SHAPES[part.buffer];
                let accessor = part.of(self.buffers[part.buffer].read_write());
                let call = advance_tile(accessor, columns as u64, (rows * columns) as u64, factor, addend);
                let [planes, rows, columns] = part.extent;
                self.submit(queue, &[], Command::parallel_for([columns, rows, planes], call));
                let model = &mut self.model[part.buffer];
                part.elements()
                    .into_iter()
                    .for_each(|i| model[i] = model[i].wrapping_mul(factor).wrapping_add(addend));
            }
            Op::Number { buffer, first } => {
                let call = number(self.buffers[buffer].write().no_init(), first);
                self.submit(queue, &[], Command::parallel_for(LEN, call));
                self.model[buffer] = std::array::from_fn(|i| first.wrapping_add(i as u32));
            }
            Op::Combine { from, to, factor } => {
                let whole = |buffer: usize| Part { buffer, offset: [0; 3], extent: SHAPES[buffer] };
                let (a, b) = (whole(from), whole(to));
                let call =
                    combine(a.of(self.buffers[from].read()), b.of(self.buffers[to].read_write()), factor);
                self.submit(queue, &[], Command::parallel_for(LEN, call));
                let source = self.model[from];
                self.model[to]
                    .iter_mut()
                    .zip(source)
                    .for_each(|(x, y)| *x = x.wrapping_mul(factor).wrapping_add(y));
            }
            Op::Fill { to, value } => {
                let command = match to.place {
                    0 => Command::fill(&self.accessor(to), value),
                    _ => Command::fill(&self.memory(to), value),
                };
                self.submit(queue, &[to], command);
                self.model[to.place][to.start..to.start + to.len].fill(value);
            }
            Op::Copy { from, to } => {
                let apart = from.start + from.len <= to.start || to.start + to.len <= from.start;
                if from.place == to.place && !apart {
                    return;
                }
                let command = match (from.place, to.place) {
                    (0, 0) => Command::copy(&self.accessor(from), &self.accessor(to)),
                    (0, _) => Command::copy(&self.accessor(from), &self.memory(to)),
                    (_, 0) => Command::copy(&self.memory(from), &self.accessor(to)),
                    _ => Command::copy(&self.memory(from), &self.memory(to)),
                };
                self.submit(queue, &[from, to], command);
                let data = self.model[from.place][from.start..from.start + from.len].to_vec();
                self.model[to.place][to.start..to.start + to.len].copy_from_slice(&data);
            }
            Op::Write { to, first } => {
                let data: Vec<u32> = (0..to.len as u32).map(|i| first.wrapping_add(i)).collect();
                self.model[to.place][to.start..to.start + to.len].copy_from_slice(&data);
                let command = match to.place {
                    0 => Command::write(data, &self.accessor(to)),
                    _ => Command::write(data, &self.memory(to)),
                };
                self.submit(queue, &[to], command);
            }
            Op::Read { from } => {
                let target = HostTarget::new(from.len).unwrap();
                let command = match from.place {
                    0 => Command::read(&self.accessor(from), &target),
                    _ => Command::read(&self.memory(from), &target),
                };
                self.submit(queue, &[from], command);
                let expected = self.model[from.place][from.start..from.start + from.len].to_vec();
                self.read.push((target, expected));
            }
            Op::HostRead { part } => {
                let accessor = part.of(self.buffers[part.buffer].read());
                if self.is_written_by_host(part) {
                    assert_eq!(accessor.host().unwrap_err().kind(), ErrorKind::Invalid);
                } else if self.writers.is_empty() {
                    // Else it may wait for what waits for a writer that this thread has open.
                    assert_eq!(*accessor.host().unwrap(), *self.expected(part));
                }
            }
            Op::HostWrite { part, first } => {
                if !self.writers.is_empty() {
                    if self.is_written_by_host(part) {
                        let error = part.of(self.buffers[part.buffer].write()).host().unwrap_err();
                        assert_eq!(error.kind(), ErrorKind::Invalid);
                    }
                    return;
                }
                let mut writer = part.of(self.buffers[part.buffer].read_write()).host().unwrap();
                assert_eq!(*writer, *self.expected(part));
                for (i, (value, element)) in (0_u32..).zip(writer.iter_mut().zip(part.elements())) {
                    *value = first.wrapping_add(i);
                    self.model[part.buffer][element] = *value;
                }
                self.writers.push((part, writer));
            }
            Op::Close => {
                if !self.writers.is_empty() {
                    self.writers.remove(0).1.finish().unwrap();
                }
            }
            Op::Wait => {
                if self.writers.is_empty() {
                    self.machines.iter().flat_map(|m| &m.queues).for_each(|queue| queue.wait().unwrap());
                }
            }
        }
    }

    fn expected(&self, part: Part) -> Vec<u32> {
        part.elements().into_iter().map(|element| self.model[part.buffer][element]).collect()
    }

    fn finish(mut self) {
        self.writers.clear();
        for (buffer, model) in self.buffers.iter().zip(&self.model) {
            assert_eq!(*buffer.host_read().unwrap(), *model);
        }
        for ((memory, last), model) in self.usm.iter().zip(&self.last).zip(&self.model[SHAPES.len()..]) {
            last.iter().for_each(|event| event.wait().unwrap());
            assert_eq!(self.machines[0].queues[0].read(memory).unwrap(), model);
        }
        self.machines.iter().flat_map(|m| &m.queues).for_each(|queue| queue.wait().unwrap());
        for (target, expected) in &self.read {
            assert_eq!(target.to_vec().unwrap(), *expected);
        }
    }
}

fn run(machines: &[Machine], queues: std::ops::Range<usize>, program: &[(Op, usize)]) {
    let mut run = Run::new(machines, queues);
    program.iter().for_each(|(op, queue)| run.run(op, *queue));
    run.finish();
}

fn check(cases: u32, machines: &[Machine], queues: std::ops::Range<usize>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&program(), |program| {
            run(machines, queues.clone(), &program);
            Ok(())
        })
        .unwrap();
}

#[test]
fn one_queue_in_order() {
    let Some(context) = context() else { return };
    check(40, &[Machine::new(context)], 0..1);
}

#[test]
fn one_queue_out_of_order() {
    let Some(context) = context() else { return };
    check(40, &[Machine::new(context)], 1..2);
}

#[test]
fn several_queues() {
    let Some(context) = context() else { return };
    check(40, &[Machine::new(context)], 0..4);
}

#[test]
fn several_contexts() {
    let Some(context) = context() else { return };
    let other = Context::new(context.device()).unwrap();
    check(40, &[Machine::new(context), Machine::new(other)], 0..4);
}

#[test]
fn devices_with_less_usm() {
    let Some(device) = device() else { return };
    if device.capabilities().usm.is_none() {
        return println!("skipped: the device has no USM");
    }
    for mask in [Mask::SHARED_USM, Mask::SHARED_USM | Mask::HOST_USM] {
        let context = Context::new(&device.masked(mask)).unwrap();
        check(15, &[Machine::new(context)], 0..4);
    }
}

/// Each thread has buffers of its own and runs random programs, and all add to common ones, which must lose nothing.
#[test]
fn many_threads() {
    let Some(context) = context() else { return };
    let other = Context::new(context.device()).unwrap();
    let machines = [Machine::new(context), Machine::new(other)];
    let common = [Buffer::<u32>::new(LEN).unwrap(), Buffer::<u32>::new(LEN).unwrap()];
    let sums: [[AtomicU32; LEN]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| AtomicU32::new(0)));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (machines, common, sums) = (&machines, &common, &sums);
            scope.spawn(move || {
                let config = Config { cases: 6, failure_persistence: None, ..Config::default() };
                let steps = (program(), prop::collection::vec((0..2_usize, 0..LEN, 1..9_u32), 30));
                let outcome = TestRunner::new(config).run(&steps, |(program, steps)| {
                    for (at, (buffer, start, addend)) in steps.into_iter().enumerate() {
                        let machine = &machines[(at / 8) % machines.len()];
                        let queue = &machine.queues[(thread + at) % machine.queues.len()];
                        let part = common[buffer].read_write().slice(start..).unwrap();
                        queue.parallel_for(LEN - start, advance(part, 1, addend)).unwrap();
                        sums[buffer][start..].iter().for_each(|sum| {
                            sum.fetch_add(addend, Ordering::Relaxed);
                        });
                    }
                    run(machines, 0..4, &program);
                    Ok(())
                });
                outcome.unwrap();
            });
        }
    });
    for (buffer, sums) in common.iter().zip(&sums) {
        let sums = sums.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        assert_eq!(*buffer.host_read().unwrap(), sums);
    }
}
