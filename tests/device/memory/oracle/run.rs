//! Programs on queues, and on a model.

use oclave::memory::{Accessor, HostTarget, HostWriter};
use oclave::{Buffer, Command, Context, ErrorKind, Event, Graph, Queue, UsmSlice};

use super::program::{DeviceOp, LEN, Op, Part, SHAPES, Stretch};
use crate::kernels::buffers::{advance_tile, combine, number};

/// Queues of one context.
pub(crate) struct Machine {
    context: Context,
    pub(crate) queues: Vec<Queue>,
}

impl Machine {
    /// In order, out of order, and both again.
    pub(crate) fn new(context: Context) -> Self {
        let out_of_order = || Queue::builder(&context).out_of_order().build().unwrap();
        let in_order = || Queue::new(&context).unwrap();
        Self { queues: vec![in_order(), out_of_order(), in_order(), out_of_order()], context }
    }
}

/// What the places must hold.
struct Model(Vec<[u32; LEN]>);

impl Model {
    fn part(&self, part: Part) -> Vec<u32> {
        part.elements().into_iter().map(|element| self.0[part.buffer][element]).collect()
    }

    fn stretch(&mut self, stretch: Stretch) -> &mut [u32] {
        &mut self.0[stretch.place][stretch.range()]
    }

    /// Does the same, and gives what is read.
    fn apply(&mut self, op: &DeviceOp) -> Vec<u32> {
        match *op {
            DeviceOp::Advance { part, factor, addend, .. } => {
                let values = &mut self.0[part.buffer];
                let advance = |i: usize| values[i] = values[i].wrapping_mul(factor).wrapping_add(addend);
                part.elements().into_iter().for_each(advance);
            }
            DeviceOp::Number { buffer, first } => {
                self.0[buffer] = std::array::from_fn(|i| first.wrapping_add(i as u32));
            }
            DeviceOp::Combine { from, to, factor, .. } => {
                let source = self.0[from];
                let pairs = self.0[to].iter_mut().zip(source);
                pairs.for_each(|(x, y)| *x = x.wrapping_mul(factor).wrapping_add(y));
            }
            DeviceOp::Fill { to, value } => self.stretch(to).fill(value),
            DeviceOp::Copy { from, to } => {
                let data = self.stretch(from).to_vec();
                self.stretch(to).copy_from_slice(&data);
            }
            DeviceOp::Write { to, first } => self.stretch(to).copy_from_slice(&numbers(first, to.len)),
            DeviceOp::Read { from } => return self.stretch(from).to_vec(),
        }
        Vec::new()
    }
}

fn numbers(first: u32, len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| first.wrapping_add(i)).collect()
}

/// An op as a command.
struct Action {
    command: Command,
    /// The pieces of USM that it uses.
    pieces: Vec<usize>,
    target: Option<HostTarget<u32>>,
}

/// What a program runs on, and what must come out.
pub(crate) struct Run<'a> {
    machines: &'a [Machine],
    /// Only these queues of each.
    queues: std::ops::Range<usize>,
    buffers: [Buffer<u32>; 3],
    usm: [UsmSlice<u32>; 2],
    /// What used the USM last.
    last: [Option<Event>; 2],
    model: Model,
    writers: Vec<(Part, HostWriter<u32>)>,
    read: Vec<(HostTarget<u32>, Vec<u32>)>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(machines: &'a [Machine], queues: std::ops::Range<usize>) -> Self {
        let memory = || {
            let memory = machines[0].context.alloc_device(LEN).unwrap();
            machines[0].queues[0].fill(&memory, 3_u32).unwrap().wait().unwrap();
            memory
        };
        let data = numbers(0, LEN);
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
            model: Model(model),
            writers: Vec::new(),
            read: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, op: &Op) {
        match *op {
            Op::Device(ref op, queue) => {
                let Action { command, pieces, target } = self.action(op);
                self.submit(self.queue(queue, !pieces.is_empty()), command, &pieces);
                let seen = self.model.apply(op);
                self.read.extend(target.map(|target| (target, seen)));
            }
            Op::Graph { ref ops, times, queue } => self.graph(ops, times, queue),
            Op::HostRead { part } => {
                let accessor = part.of(self.buffers[part.buffer].read());
                if self.is_written_by_host(part) {
                    assert_eq!(accessor.host().unwrap_err().kind(), ErrorKind::Invalid);
                } else if self.writers.is_empty() {
                    // Else it may wait for what waits for a writer that this thread has open.
                    assert_eq!(*accessor.host().unwrap(), *self.model.part(part));
                }
            }
            Op::HostWrite { part, first } => self.host_write(part, first),
            Op::Close => {
                if !self.writers.is_empty() {
                    self.writers.remove(0).1.finish().unwrap();
                }
            }
            Op::Wait => {
                if self.writers.is_empty() {
                    self.wait();
                }
            }
        }
    }

    fn wait(&self) {
        self.machines.iter().flat_map(|m| &m.queues).for_each(|queue| queue.wait().unwrap());
    }

    fn is_written_by_host(&self, part: Part) -> bool {
        self.writers.iter().any(|(other, _)| other.overlaps(part))
    }

    fn host_write(&mut self, part: Part, first: u32) {
        if !self.writers.is_empty() {
            if self.is_written_by_host(part) {
                let error = part.of(self.buffers[part.buffer].write()).host().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
            }
            return;
        }
        let mut writer = part.of(self.buffers[part.buffer].read_write()).host().unwrap();
        assert_eq!(*writer, *self.model.part(part));
        for ((value, new), element) in
            writer.iter_mut().zip(numbers(first, part.elements().len())).zip(part.elements())
        {
            *value = new;
            self.model.0[part.buffer][element] = new;
        }
        self.writers.push((part, writer));
    }

    fn graph(&mut self, ops: &[(DeviceOp, usize)], times: usize, queue: usize) {
        let machine = &self.machines[0];
        let device = machine.context.device();
        let graph = Graph::new(&machine.context, device).unwrap();
        let before = std::mem::take(&mut self.last);
        let queues: Vec<&Queue> = machine.queues.iter().collect();
        let recording = graph.record(&queues).unwrap();
        let mut targets = Vec::new();
        for (op, queue) in ops {
            let Action { command, pieces, target } = self.action(op);
            self.submit(self.queue(*queue, true), command, &pieces);
            targets.push(target);
        }
        recording.end();
        let executable = graph.finalize().unwrap();
        self.last = before;
        for round in 1..=times {
            let run = Command::graph(&executable);
            self.submit(self.queue(queue.wrapping_add(round), true), run, &[0, 1]);
            for ((op, _), target) in ops.iter().zip(&targets) {
                let seen = self.model.apply(op);
                if round == times {
                    self.read.extend(target.clone().map(|target| (target, seen)));
                }
            }
        }
    }

    /// `first`: of the first context, to which the USM and the graphs belong.
    fn queue(&self, queue: usize, first: bool) -> &'a Queue {
        let machine = if first { 0 } else { queue % self.machines.len() };
        let queue = self.queues.start + queue / self.machines.len() % self.queues.len();
        &self.machines[machine].queues[queue]
    }

    /// Submits a command, after what used these pieces of USM.
    fn submit(&mut self, queue: &Queue, command: Command, pieces: &[usize]) {
        let after: Vec<&Event> = pieces.iter().filter_map(|piece| self.last[*piece].as_ref()).collect();
        let event = queue.submit(command.after(&after)).unwrap();
        pieces.iter().for_each(|piece| self.last[*piece] = Some(event.clone()));
    }

    fn accessor(&self, stretch: Stretch) -> Accessor<u32> {
        self.buffers[0].read_write().slice(stretch.range()).unwrap()
    }

    fn memory(&self, stretch: Stretch) -> UsmSlice<u32> {
        self.usm[stretch.place - SHAPES.len()].slice(stretch.range()).unwrap()
    }

    fn action(&self, op: &DeviceOp) -> Action {
        let mut used = Vec::new();
        let mut target = None;
        let command = match *op {
            DeviceOp::Advance { part, factor, addend, on_host: true } => {
                let accessor = part.of(self.buffers[part.buffer].read_write());
                Command::host_task_with(accessor, move |part| {
                    part.iter_mut().for_each(|x| *x = x.wrapping_mul(factor).wrapping_add(addend));
                })
            }
            DeviceOp::Advance { part, factor, addend, on_host: false } => {
                let [_, rows, columns] = SHAPES[part.buffer];
                let accessor = part.of(self.buffers[part.buffer].read_write());
                let call = advance_tile(accessor, columns as u64, (rows * columns) as u64, factor, addend);
                let [planes, rows, columns] = part.extent;
                Command::parallel_for([columns, rows, planes], call)
            }
            DeviceOp::Number { buffer, first } => {
                Command::parallel_for(LEN, number(self.buffers[buffer].write().no_init(), first))
            }
            DeviceOp::Combine { from, to, factor, on_host: true } => {
                let accessors = (self.buffers[from].read(), self.buffers[to].read_write());
                Command::host_task_with(accessors, move |(from, to)| {
                    let pairs = to.iter_mut().zip(from);
                    pairs.for_each(|(x, y)| *x = x.wrapping_mul(factor).wrapping_add(*y));
                })
            }
            DeviceOp::Combine { from, to, factor, on_host: false } => {
                let call = combine(self.buffers[from].read(), self.buffers[to].read_write(), factor);
                Command::parallel_for(LEN, call)
            }
            DeviceOp::Fill { to, value } => {
                used.push(to);
                match to.place {
                    0 => Command::fill(&self.accessor(to), value),
                    _ => Command::fill(&self.memory(to), value),
                }
            }
            DeviceOp::Copy { from, to } => {
                used.extend([from, to]);
                match (from.place, to.place) {
                    (0, 0) => Command::copy(&self.accessor(from), &self.accessor(to)),
                    (0, _) => Command::copy(&self.accessor(from), &self.memory(to)),
                    (_, 0) => Command::copy(&self.memory(from), &self.accessor(to)),
                    _ => Command::copy(&self.memory(from), &self.memory(to)),
                }
            }
            DeviceOp::Write { to, first } => {
                used.push(to);
                match to.place {
                    0 => Command::write(&self.accessor(to), numbers(first, to.len)),
                    _ => Command::write(&self.memory(to), numbers(first, to.len)),
                }
            }
            DeviceOp::Read { from } => {
                used.push(from);
                let read = target.insert(HostTarget::new(from.len).unwrap());
                match from.place {
                    0 => Command::read(&self.accessor(from), read),
                    _ => Command::read(&self.memory(from), read),
                }
            }
        };
        let pieces = used.iter().filter_map(|stretch| stretch.place.checked_sub(SHAPES.len())).collect();
        Action { command, pieces, target }
    }

    /// Looks at everything.
    pub(crate) fn finish(mut self) {
        self.writers.clear();
        for (buffer, model) in self.buffers.iter().zip(&self.model.0) {
            assert_eq!(*buffer.host_read().unwrap(), *model);
        }
        for ((memory, last), model) in self.usm.iter().zip(&self.last).zip(&self.model.0[SHAPES.len()..]) {
            last.iter().for_each(|event| event.wait().unwrap());
            assert_eq!(self.machines[0].queues[0].read(memory).unwrap(), model);
        }
        self.wait();
        for (target, expected) in &self.read {
            assert_eq!(target.to_vec().unwrap(), *expected);
        }
    }
}
