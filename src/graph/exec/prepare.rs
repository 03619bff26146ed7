//! From the nodes of a partition to a sequence of prepared steps.

use std::sync::Arc;

use super::options::Options;
use super::tasks::Tasks;
use crate::MakeError as _;
use crate::driver::sequence::{NO_LABEL, Sequence};
use crate::graph::model::describe::NodeType;
use crate::graph::plan::commands::Commands;
use crate::graph::plan::flatten::Flat;
use crate::graph::plan::unit::{LaunchReasons, PartitionPlan, Run, Unit};
use crate::program::InterpreterProgram;
use crate::{Error, Queue, Result};

/// Joins are left out where that makes at most so many edges more.
const FEW_EDGES: usize = 64;

/// The step that a node was prepared as, and its partition.
#[derive(Debug, Clone)]
pub(crate) struct Location {
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

/// The nodes of a partition, and what they are prepared for.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) flat: &'a Flat,
    pub(crate) commands: &'a Commands,
    pub(crate) nodes: &'a [u32],
    pub(crate) partition: u32,
    /// Of the context and device.
    pub(crate) queue: &'a Queue,
    pub(crate) options: Options,
}

/// The nodes of a partition as steps.
pub(crate) struct PreparedPart {
    pub(crate) sequence: Sequence,
    /// The nodes that are in lists of tasks, if there are any.
    pub(crate) tasks: Option<Tasks>,
    /// Why others are not.
    pub(in crate::graph) launched: LaunchReasons,
}

/// The prepared commands of a plan, each with the steps that it waits for; a task list is one step.
/// `locations` gets what the nodes became, `programs` are those of the plan.
///
/// Nodes that do nothing become no step, unless they replace many edges. Between a hundred nodes
/// and a hundred others, one join is cheaper than ten thousand edges.
pub(in crate::graph) fn prepare(
    source: Source<'_>,
    locations: &mut [Option<Location>],
    plan: PartitionPlan,
    programs: &[Arc<InterpreterProgram>],
) -> Result<PreparedPart> {
    let mut steps = Builder::new(source, locations);
    let mut tasks = (plan.tasks > 0).then(|| Tasks::new(programs.to_vec(), plan.tasks, plan.cap_ns));
    for unit in &plan.units {
        match (unit, &mut tasks) {
            (Unit::Launch(node), _) => steps.add(*node)?,
            (Unit::TaskList(run), Some(tasks)) => steps.add_list(run, tasks)?,
            (Unit::TaskList(run), None) => run.nodes.iter().try_for_each(|node| steps.add(*node))?,
        }
    }
    Ok(PreparedPart { sequence: steps.sequence, tasks, launched: plan.launched })
}

struct Builder<'a> {
    source: Source<'a>,
    /// By place among the nodes: how many of them wait for it.
    successors: Vec<u32>,
    locations: &'a mut [Option<Location>],
    sequence: Sequence,
    /// Scratch.
    waits: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(source: Source<'a>, locations: &'a mut [Option<Location>]) -> Self {
        let sequence = Sequence::new(source.queue.context().driver(), source.queue.device());
        let successors = successors(source);
        Self { source, successors, locations, sequence, waits: Vec::new() }
    }

    fn add(&mut self, node: u32) -> Result<()> {
        let index = node as usize;
        let command = self.source.commands.get(index).ok_or_else(|| no_node(node))?;
        let origin = self.source.flat.origin(index);
        let step = command.step(self.source.queue).map_err(|error| error.at(format!("node {origin}")))?;
        self.find_waits(&[node], None);
        let behind = find(self.source.nodes, node).and_then(|at| self.successors.get(at));
        let behind = *behind.ok_or_else(|| no_node(node))? as usize;
        // A node without work may get a command later.
        let may_grow = self.source.options.updatable && NodeType::of(&command).is_updatable();
        let step = match step.is_join() && !may_grow && is_left_out(self.waits.len(), behind) {
            true => Steps::Left(self.waits.as_slice().into()),
            false => Steps::One(self.sequence.push(step, &self.waits, origin)?),
        };
        self.put(node, step)
    }

    fn add_list(&mut self, run: &Run, tasks: &mut Tasks) -> Result<()> {
        let id = self.sequence.len() as u32;
        let Source { flat, commands, .. } = self.source;
        let command = |node: &u32| {
            let command = commands.get(*node as usize).ok_or_else(|| no_node(*node))?;
            Ok((flat.origin(*node as usize), command))
        };
        let commands = run.nodes.iter().map(command);
        let (step, tasks) = tasks.add(run, commands, self.source.queue, &mut self.sequence)?;
        for (node, task) in run.nodes.iter().zip(tasks) {
            self.put(
                *node,
                task.map_or_else(|| Steps::Left([id].into()), |task| Steps::Task { step: id, task }),
            )?;
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
        for wait in nodes.iter().flat_map(|node| self.source.flat.waits(*node as usize)) {
            let location = self.locations.get(*wait as usize).and_then(Option::as_ref);
            let own_partition = location.filter(|location| location.partition == self.source.partition);
            let steps = match own_partition.map(|location| &location.step) {
                Some(Steps::One(step) | Steps::Task { step, .. }) => std::slice::from_ref(step),
                Some(Steps::Left(steps)) => steps,
                None => continue,
            };
            waits.extend(steps.iter().filter(|step| Some(**step) != own));
            if waits.len() > tidy_at {
                tidy(waits);
                tidy_at = 64 + 2 * waits.len();
            }
        }
        tidy(waits);
    }

    fn put(&mut self, node: u32, step: Steps) -> Result<()> {
        let entry = self.locations.get_mut(node as usize).ok_or_else(|| no_node(node))?;
        *entry = Some(Location { partition: self.source.partition, step });
        Ok(())
    }
}

fn no_node(node: u32) -> Error {
    Error::bug(format!("node {node} of a plan is not in the graph"))
}

fn tidy(waits: &mut Vec<u32>) {
    waits.sort_unstable();
    waits.dedup();
}

fn is_left_out(waits: usize, successors: usize) -> bool {
    waits <= 1 || successors <= 1 || waits.saturating_mul(successors) <= FEW_EDGES
}

/// By place among the nodes, how many of them wait for each.
fn successors(Source { flat, nodes, .. }: Source<'_>) -> Vec<u32> {
    let mut successors = vec![0_u32; nodes.len()];
    for wait in nodes.iter().flat_map(|node| flat.waits(*node as usize)) {
        if let Some(successors) = find(nodes, *wait).and_then(|at| successors.get_mut(at)) {
            *successors += 1;
        }
    }
    successors
}

/// The place of a node among others, which are in order; most often they are without gaps.
fn find(nodes: &[u32], node: u32) -> Option<usize> {
    let at = node.checked_sub(*nodes.first()?)? as usize;
    if nodes.get(at) == Some(&node) { Some(at) } else { nodes.binary_search(&node).ok() }
}
