//! Random programs.

use oclave::memory::{AccessKind, Accessor, Shape};
use proptest::prelude::*;

pub(crate) const LEN: usize = 24;
/// Elements of three dimensions, of which the buffers of fewer have the first ones as 1.
pub(crate) const SHAPES: [[usize; 3]; 3] = [[1, 1, LEN], [1, 4, 6], [2, 3, 4]];
/// After the buffers come pieces of USM.
pub(crate) const PLACES: usize = SHAPES.len() + 2;

/// A box of one of the buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) buffer: usize,
    pub(crate) offset: [usize; 3],
    pub(crate) extent: [usize; 3],
}

impl Part {
    /// Indices of its elements, in order.
    pub(crate) fn elements(self) -> Vec<usize> {
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

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.buffer == other.buffer
            && self.elements().iter().any(|element| other.elements().contains(element))
    }

    fn shape(self, sizes: [usize; 3]) -> Shape {
        match self.buffer {
            0 => Shape::from(sizes[2]),
            1 => Shape::from([sizes[1], sizes[2]]),
            _ => Shape::from(sizes),
        }
    }

    pub(crate) fn of<A: AccessKind>(self, whole: Accessor<u32, A>) -> Accessor<u32, A> {
        whole.part(self.shape(self.offset), self.shape(self.extent)).unwrap()
    }
}

/// A stretch of one of the places; of buffers it is the one of one dimension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) place: usize,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl Stretch {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }
}

/// What a queue does; where it says so, by a host task.
#[derive(Debug, Clone)]
pub(crate) enum DeviceOp {
    Advance {
        part: Part,
        factor: u32,
        addend: u32,
        on_host: bool,
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
        on_host: bool,
    },
    Fill {
        to: Stretch,
        value: u32,
    },
    /// The two do not overlap.
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
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Device(DeviceOp, usize),
    /// These, recorded from all queues of the first context and run so many times.
    Graph {
        ops: Vec<(DeviceOp, usize)>,
        times: usize,
        queue: usize,
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

fn stretch() -> impl Strategy<Value = Stretch> {
    let place = prop_oneof![Just(0), SHAPES.len()..PLACES];
    (place, 0..LEN)
        .prop_flat_map(|(place, start)| (0..=LEN - start).prop_map(move |len| Stretch { place, start, len }))
}

fn device_op() -> impl Strategy<Value = DeviceOp> {
    let buffer = || 0..SHAPES.len();
    let copy = (stretch(), stretch()).prop_map(|(mut from, mut to)| {
        let mut len = from.len.min(to.len);
        if from.place == to.place {
            len = len.min(from.start.abs_diff(to.start));
        }
        (from.len, to.len) = (len, len);
        DeviceOp::Copy { from, to }
    });
    prop_oneof![
        8 => (part(), 0..5_u32, any::<u32>(), prop::bool::weighted(0.2))
            .prop_map(|(part, factor, addend, on_host)| DeviceOp::Advance { part, factor, addend, on_host }),
        1 => (buffer(), any::<u32>()).prop_map(|(buffer, first)| DeviceOp::Number { buffer, first }),
        4 => (buffer(), 1..3_usize, any::<u32>(), prop::bool::weighted(0.2)).prop_map(
            |(from, step, factor, on_host)| DeviceOp::Combine { from, to: (from + step) % 3, factor, on_host }
        ),
        2 => (stretch(), any::<u32>()).prop_map(|(to, value)| DeviceOp::Fill { to, value }),
        4 => copy,
        2 => (stretch(), any::<u32>()).prop_map(|(to, first)| DeviceOp::Write { to, first }),
        2 => stretch().prop_map(|from| DeviceOp::Read { from }),
    ]
}

fn on_queue() -> impl Strategy<Value = (DeviceOp, usize)> {
    (device_op(), any::<usize>())
}

/// `graphs`: how many of a hundred ops.
pub(crate) fn program(graphs: u32) -> impl Strategy<Value = Vec<Op>> {
    let graph = (prop::collection::vec(on_queue(), 1..12), 1..3_usize, any::<usize>())
        .prop_map(|(ops, times, queue)| Op::Graph { ops, times, queue });
    let op = prop_oneof![
        70 - graphs => on_queue().prop_map(|(op, queue)| Op::Device(op, queue)),
        graphs => graph,
        6 => part().prop_map(|part| Op::HostRead { part }),
        10 => (part(), any::<u32>()).prop_map(|(part, first)| Op::HostWrite { part, first }),
        10 => Just(Op::Close),
        3 => Just(Op::Wait),
    ];
    prop::collection::vec(op, 1..80)
}
