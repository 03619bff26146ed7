//! From the nodes of a partition to a sequence of prepared steps.

use super::flatten::Flat;
use crate::driver::sequence::{NO_LABEL, Sequence};
use crate::graph::interpreter::{Plan, Run, Segment, Tasks};
use crate::{NodeType, Queue, Result};

/// Joins are left out where that makes at most so many edges more.
const FEW_EDGES: usize = 64;

/// Where a node went.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) partition: u32,
    pub(crate) step: Steps,
}

#[derive(Debug, Clone)]
pub(crate) enum Steps {
    /// To a step of the partition's sequence.
    One(u32),
    /// To a task of the list that a step runs.
    Task { step: u32, task: u32 },
    /// Nowhere: it does nothing. What waits for it waits for these steps.
    Left(Box<[u32]>),
}

/// The prepared commands of nodes for the device, each with the steps that it waits for.
///
/// Nodes that do nothing become no step, unless they replace many edges: between a hundred nodes and a hundred others, one
/// join is cheaper than ten thousand edges.
///
/// # Errors
/// What a queue would refuse a command for, with the node.
pub(crate) fn sequence(
    flat: &Flat,
    nodes: &[u32],
    partition: u32,
    queue: &Queue,
    updatable: bool,
    places: &mut [Option<Place>],
) -> Result<Sequence> {
    let mut steps = Builder::new(flat, nodes, partition, queue, updatable, places);
    nodes.iter().try_for_each(|node| steps.add(*node))?;
    Ok(steps.sequence)
}

/// As [`sequence`], with the lists of a plan as one step each.
pub(crate) fn planned(
    flat: &Flat,
    nodes: &[u32],
    partition: u32,
    queue: &Queue,
    updatable: bool,
    places: &mut [Option<Place>],
    plan: Plan,
) -> Result<(Sequence, Tasks)> {
    let mut steps = Builder::new(flat, nodes, partition, queue, updatable, places);
    let mut tasks = plan.tasks;
    for segment in &plan.segments {
        match segment {
            Segment::Launch(node) => steps.add(*node)?,
            Segment::List(run) => steps.add_list(run, &mut tasks)?,
        }
    }
    Ok((steps.sequence, tasks))
}

/// A sequence that is being made.
struct Builder<'a> {
    flat: &'a Flat,
    partition: u32,
    queue: &'a Queue,
    updatable: bool,
    /// How many of the nodes wait for each.
    successors: Vec<u32>,
    places: &'a mut [Option<Place>],
    sequence: Sequence,
    /// Scratch.
    waits: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(
        flat: &'a Flat,
        nodes: &[u32],
        partition: u32,
        queue: &'a Queue,
        updatable: bool,
        places: &'a mut [Option<Place>],
    ) -> Self {
        let sequence = Sequence::new(queue.context().driver(), queue.device());
        let successors = successors(flat, nodes, places.len());
        Self { flat, partition, queue, updatable, successors, places, sequence, waits: Vec::new() }
    }

    fn add(&mut self, node: u32) -> Result<()> {
        let index = node as usize;
        let Some(command) = self.flat.command(index) else { return Ok(()) };
        let origin = self.flat.origin(index);
        let step = command.step(self.queue).map_err(|error| error.at(format!("node {origin}")))?;
        self.find_waits(&[node], None);
        let behind = self.successors.get(index).copied().unwrap_or(0) as usize;
        // What runs nothing now may be given something to run.
        let may_grow = self.updatable && NodeType::of(command).is_updatable();
        let place = match step.is_join() && !may_grow && is_left_out(self.waits.len(), behind) {
            true => Steps::Left(self.waits.as_slice().into()),
            false => Steps::One(self.sequence.push(step, &self.waits, origin)?),
        };
        self.put(node, place);
        Ok(())
    }

    fn add_list(&mut self, run: &Run, tasks: &mut Tasks) -> Result<()> {
        let id = self.sequence.len() as u32;
        let flat = self.flat;
        let commands = run.nodes.iter().filter_map(|node| {
            let command = flat.command(*node as usize)?;
            Some((flat.origin(*node as usize), &**command))
        });
        let (step, tasks) = tasks.add(run, commands, self.queue, &mut self.sequence)?;
        for (node, task) in run.nodes.iter().zip(tasks) {
            self.put(
                *node,
                task.map_or_else(|| Steps::Left([id].into()), |task| Steps::Task { step: id, task }),
            );
        }
        self.find_waits(&run.nodes, Some(id));
        self.sequence.push(step, &self.waits, NO_LABEL)?;
        Ok(())
    }

    /// The steps that nodes wait for, but for one that they are all in.
    fn find_waits(&mut self, nodes: &[u32], own: Option<u32>) {
        let waits = &mut self.waits;
        waits.clear();
        let mut tidy_at = 64;
        for wait in nodes.iter().flat_map(|node| self.flat.waits(*node as usize)) {
            let place = self.places.get(*wait as usize).and_then(Option::as_ref);
            let steps = match place.filter(|place| place.partition == self.partition).map(|place| &place.step)
            {
                Some(Steps::One(step) | Steps::Task { step, .. }) => std::slice::from_ref(step),
                Some(Steps::Left(steps)) => steps,
                None => &[],
            };
            waits.extend(steps.iter().filter(|step| Some(**step) != own));
            if waits.len() > tidy_at {
                tidy(waits);
                tidy_at = 64 + 2 * waits.len();
            }
        }
        tidy(waits);
    }

    fn put(&mut self, node: u32, step: Steps) {
        if let Some(entry) = self.places.get_mut(node as usize) {
            *entry = Some(Place { partition: self.partition, step });
        }
    }
}

fn tidy(waits: &mut Vec<u32>) {
    waits.sort_unstable();
    waits.dedup();
}

fn is_left_out(waits: usize, successors: usize) -> bool {
    waits <= 1 || successors <= 1 || waits.saturating_mul(successors) <= FEW_EDGES
}

/// How many of the nodes wait for each.
fn successors(flat: &Flat, nodes: &[u32], count: usize) -> Vec<u32> {
    let mut successors = vec![0_u32; count];
    for wait in nodes.iter().flat_map(|node| flat.waits(*node as usize)) {
        if let Some(successors) = successors.get_mut(*wait as usize) {
            *successors += 1;
        }
    }
    successors
}
