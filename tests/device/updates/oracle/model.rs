//! Random graphs and changes of them, and a model of what they compute.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernels::buffers::{advance, number};
use oclave::graph::{DynamicCommandGroup, DynamicParameter, Node};
use oclave::memory::usm;
use oclave::{Command, Context, Graph, Queue, UsmSlice};
use proptest::prelude::*;
use proptest::sample::Index;

pub(crate) const LEN: usize = 8;
/// Nodes of a lane follow each other and use its cells only.
pub(crate) const LANES: usize = 2;
pub(crate) const CELLS: usize = 3;

pub(crate) type Cells = [[[u32; LEN]; CELLS]; LANES];

/// A value, or that of the lane's parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<T> {
    Fixed(T),
    Parameter,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Advance {
        cell: Of<usize>,
        addend: Of<u32>,
        range: usize,
    },
    Number {
        cell: Of<usize>,
        first: Of<u32>,
        range: usize,
    },
    Copy {
        from: usize,
        to: usize,
    },
    /// From the host: no command buffer holds it.
    Write {
        cell: usize,
        value: u32,
    },
    Fill {
        cell: usize,
        value: u32,
    },
    Task {
        value: u32,
    },
}

/// An operation without parameters.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    pub(crate) lane: usize,
    pub(crate) op: Op,
}

#[derive(Debug, Clone)]
pub(crate) enum Item {
    Op(Op),
    /// Alternatives, for so many nodes.
    Group(Vec<Op>, usize),
}

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Value {
        lane: usize,
        value: u32,
    },
    Cell {
        lane: usize,
        cell: usize,
    },
    Range {
        node: Index,
        range: usize,
    },
    Activate {
        node: Index,
        which: Index,
    },
    Replace {
        node: Index,
        op: Op,
    },
    Commit(Vec<Index>),
    CommitAll,
    /// From the graph itself.
    Whole,
    /// Run as a sub-graph of another one.
    Nest,
    Submit {
        queue: Index,
        behind_task: bool,
    },
    Wait,
}

fn of<T: std::fmt::Debug + Clone + 'static>(
    fixed: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Of<T>> {
    prop_oneof![fixed.prop_map(Of::Fixed), Just(Of::Parameter)]
}

pub(crate) fn kernel() -> impl Strategy<Value = Op> {
    prop_oneof![
        (of(0..CELLS), of(0..9_u32), 0..=LEN).prop_map(|(cell, addend, range)| Op::Advance {
            cell,
            addend,
            range
        }),
        (of(0..CELLS), of(0..9_u32), 1..=LEN).prop_map(|(cell, first, range)| Op::Number {
            cell,
            first,
            range
        }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => kernel(),
        1 => (0..CELLS, 1..CELLS).prop_map(|(from, by)| Op::Copy { from, to: (from + by) % CELLS }),
        1 => (0..CELLS, any::<u32>()).prop_map(|(cell, value)| Op::Write { cell, value }),
        1 => (0..CELLS, any::<u32>()).prop_map(|(cell, value)| Op::Fill { cell, value }),
        1 => any::<u32>().prop_map(|value| Op::Task { value }),
    ]
}

pub(crate) fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        4 => op().prop_map(Item::Op),
        1 => (prop::collection::vec(kernel(), 1..4), 1..3_usize).prop_map(|(ops, nodes)| Item::Group(ops, nodes)),
    ]
}

pub(crate) fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0..LANES, 0..99_u32).prop_map(|(lane, value)| Action::Value { lane, value }),
        3 => (0..LANES, 0..CELLS).prop_map(|(lane, cell)| Action::Cell { lane, cell }),
        2 => (any::<Index>(), 0..=LEN).prop_map(|(node, range)| Action::Range { node, range }),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(node, which)| Action::Activate { node, which }),
        2 => (any::<Index>(), op()).prop_map(|(node, op)| Action::Replace { node, op }),
        4 => prop::collection::vec(any::<Index>(), 1..6).prop_map(Action::Commit),
        2 => Just(Action::CommitAll),
        1 => Just(Action::Whole),
        1 => Just(Action::Nest),
        4 => (any::<Index>(), prop::bool::weighted(0.3))
            .prop_map(|(queue, behind_task)| Action::Submit { queue, behind_task }),
        1 => Just(Action::Wait),
    ]
}

impl Op {
    pub(crate) fn resolved(&self, lane: usize, values: &[u32; LANES], cells: &[usize; LANES]) -> Fixed {
        let value = |of: Of<u32>| Of::Fixed(if let Of::Fixed(value) = of { value } else { values[lane] });
        let cell = |of: Of<usize>| Of::Fixed(if let Of::Fixed(cell) = of { cell } else { cells[lane] });
        let op = match self.clone() {
            Self::Advance { cell: c, addend, range } => {
                Self::Advance { cell: cell(c), addend: value(addend), range }
            }
            Self::Number { cell: c, first, range } => {
                Self::Number { cell: cell(c), first: value(first), range }
            }
            other => other,
        };
        Fixed { lane, op }
    }

    pub(crate) fn same_type(&self, other: &Self) -> bool {
        let class = |op: &Self| match op {
            Self::Advance { .. } | Self::Number { .. } => 0,
            Self::Copy { .. } | Self::Write { .. } => 1,
            Self::Fill { .. } => 2,
            Self::Task { .. } => 3,
        };
        class(self) == class(other)
    }

    pub(crate) fn set_range(&mut self, to: usize) -> bool {
        match self {
            Self::Advance { range, .. } | Self::Number { range, .. } => {
                *range = to;
                true
            }
            _ => false,
        }
    }
}

fn mix(sum: u32, value: u32) -> u32 {
    sum.wrapping_mul(31).wrapping_add(value)
}

impl Fixed {
    pub(crate) fn apply(&self, cells: &mut Cells, sums: &mut [u32; LANES]) {
        let cells = &mut cells[self.lane];
        match self.op {
            Op::Advance { cell: Of::Fixed(cell), addend: Of::Fixed(addend), range } => {
                cells[cell][..range].iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(addend));
            }
            Op::Number { cell: Of::Fixed(cell), first: Of::Fixed(first), range } => {
                (0..range).for_each(|i| cells[cell][i] = first + i as u32);
            }
            Op::Copy { from, to } => cells[to] = cells[from],
            Op::Fill { cell, value } | Op::Write { cell, value } => cells[cell] = [value; LEN],
            Op::Task { value } => sums[self.lane] = mix(sums[self.lane], value),
            _ => panic!("not resolved"),
        }
    }
}

/// Memory and parameters of a test, and the commands for its operations.
pub(crate) struct Bench {
    pub(crate) graph: Graph,
    pub(crate) cells: Vec<Vec<UsmSlice<u32, usm::DeviceOnly>>>,
    pub(crate) sums: [Arc<AtomicU32>; LANES],
    pub(crate) values: Vec<DynamicParameter<u32>>,
    pub(crate) places: Vec<DynamicParameter<UsmSlice<u32, usm::DeviceOnly>>>,
}

impl Bench {
    pub(crate) fn new(context: &Context) -> Self {
        let lane = |_| (0..CELLS).map(|_| context.alloc_device(LEN).unwrap()).collect();
        Self::with_cells(context, (0..LANES).map(lane).collect())
    }

    pub(crate) fn with_cells(context: &Context, cells: Vec<Vec<UsmSlice<u32, usm::DeviceOnly>>>) -> Self {
        let graph = Graph::new(context, context.device()).unwrap();
        let values = (0..LANES).map(|_| DynamicParameter::new(&graph, 1_u32)).collect();
        let places =
            cells.iter().map(|cells: &Vec<_>| DynamicParameter::new(&graph, cells[0].clone())).collect();
        Self { graph, cells, sums: Default::default(), values, places }
    }

    pub(crate) fn command(&self, lane: usize, op: &Op) -> Command {
        let cell = |cell: usize| &self.cells[lane][cell];
        let (place, value) = (&self.places[lane], &self.values[lane]);
        match *op {
            Op::Advance { cell: c, addend, range } => {
                let call = match (c, addend) {
                    (Of::Fixed(c), Of::Fixed(addend)) => advance(cell(c), 3, addend),
                    (Of::Fixed(c), Of::Parameter) => advance(cell(c), 3, value),
                    (Of::Parameter, Of::Fixed(addend)) => advance(place, 3, addend),
                    (Of::Parameter, Of::Parameter) => advance(place, 3, value),
                };
                Command::parallel_for(range, call)
            }
            Op::Number { cell: c, first, range } => {
                let call = match (c, first) {
                    (Of::Fixed(c), Of::Fixed(first)) => number(cell(c), first),
                    (Of::Fixed(c), Of::Parameter) => number(cell(c), value),
                    (Of::Parameter, Of::Fixed(first)) => number(place, first),
                    (Of::Parameter, Of::Parameter) => number(place, value),
                };
                Command::parallel_for(range, call)
            }
            Op::Copy { from, to } => Command::copy(cell(from), cell(to)),
            Op::Write { cell: c, value } => Command::write(cell(c), vec![value; LEN]),
            Op::Fill { cell: c, value } => Command::fill(cell(c), value),
            Op::Task { value } => {
                let sum = Arc::clone(&self.sums[lane]);
                Command::host_task(move || {
                    sum.store(mix(sum.load(Ordering::Relaxed), value), Ordering::Relaxed)
                })
            }
        }
    }

    pub(crate) fn contents(&self, queue: &Queue) -> (Cells, [u32; LANES]) {
        let cell =
            |lane: usize, cell: usize| queue.read(&self.cells[lane][cell]).unwrap().try_into().unwrap();
        let cells = std::array::from_fn(|lane| std::array::from_fn(|at| cell(lane, at)));
        (cells, std::array::from_fn(|lane| self.sums[lane].load(Ordering::Relaxed)))
    }
}

/// A node as the test knows it.
pub(crate) enum Model {
    Op(Op),
    Group(usize),
}

pub(crate) struct Nodes {
    pub(crate) nodes: Vec<Node>,
    pub(crate) models: Vec<(usize, Model)>,
    pub(crate) groups: Vec<(DynamicCommandGroup, Vec<Op>)>,
}

impl Nodes {
    /// Adds items to lanes in turn, some behind nodes of the other lane, too.
    pub(crate) fn build(bench: &Bench, items: &[(Item, Vec<Index>)]) -> Self {
        let mut all = Self { nodes: Vec::new(), models: Vec::new(), groups: Vec::new() };
        let mut last: [Option<Node>; LANES] = Default::default();
        for (at, (item, more)) in items.iter().enumerate() {
            let lane = at % LANES;
            let count = match item {
                Item::Op(_) => 1,
                Item::Group(_, nodes) => *nodes,
            };
            if let Item::Group(ops, _) = item {
                let commands = ops.iter().map(|op| bench.command(lane, op));
                all.groups.push((DynamicCommandGroup::new(&bench.graph, commands).unwrap(), ops.clone()));
            }
            for _ in 0..count {
                let others =
                    more.iter().filter(|_| !all.nodes.is_empty()).map(|index| index.get(&all.nodes).clone());
                let after: Vec<Node> = last[lane].clone().into_iter().chain(others).collect();
                let builder = bench.graph.after(&after);
                let (node, model) = match item {
                    Item::Op(op) => (builder.add(bench.command(lane, op)).unwrap(), Model::Op(op.clone())),
                    Item::Group(..) => {
                        let group = all.groups.len() - 1;
                        (builder.add(&all.groups[group].0).unwrap(), Model::Group(group))
                    }
                };
                last[lane] = Some(node.clone());
                all.nodes.push(node);
                all.models.push((lane, model));
            }
        }
        all
    }

    pub(crate) fn op(&mut self, node: usize) -> (usize, &mut Op) {
        match &mut self.models[node] {
            (lane, Model::Op(op)) => (*lane, op),
            (lane, Model::Group(group)) => {
                let (group, ops) = &mut self.groups[*group];
                (*lane, &mut ops[group.active_index()])
            }
        }
    }
}
