//! Updates of executables: from the nodes of the graph to the prepared commands
//! (`sycl_ext_oneapi_graph`, section 7.5.2).

use std::sync::{Arc, PoisonError};

use super::compare;
use super::values::{Follower, set_values};
use crate::command::{CommandKind, Follows};
use crate::driver::launch::WorkSize;
use crate::driver::mutable::Patches;
use crate::driver::step::Step;
use crate::graph::exec::draft::{lost, memory_of};
use crate::graph::exec::executable::{ExecutableGraph, State};
use crate::graph::exec::list::Tasks;
use crate::graph::exec::partition::PartitionState;
use crate::graph::exec::prepare::{Place, Steps};
use crate::graph::exec::refresh::Moment;
use crate::graph::exec::versions::{Changes, TaskChange};
use crate::graph::model::state::{self, GraphInner};
use crate::graph::plan::flatten::Flat;
use crate::{Error, Graph, Handles, Node, NodeType, Queue, Result};

/// What is to be done for nodes, by their places in the flat graph.
#[derive(Default)]
struct Chosen {
    /// Nothing but the values of their parameters has changed.
    values: Vec<Follower>,
    /// What their commands shall be.
    changes: Vec<(usize, Arc<CommandKind>)>,
}

/// A command of the flat graph that is replaced.
struct Change {
    node: usize,
    command: Arc<CommandKind>,
    /// `None`: a host task, for which nothing was prepared, as submissions take it from the
    /// command.
    partition: Option<u32>,
    how: How,
}

/// Changes, with the index spaces that they refer to by number.
struct Plan {
    changes: Vec<Change>,
    sizes: Vec<WorkSize>,
}

/// What becomes of the step that was prepared for it.
enum How {
    /// There is none.
    Host,
    /// The same kernel gets other values and memory, at once.
    Arguments,
    /// The same kernel gets other arguments, and the index space with this number if there is one.
    Patch { step: usize, size: Option<usize> },
    /// The task of a list gets other arguments, another range or another kernel.
    Task(u32),
    /// It does not fit where it is: the partition is planned again.
    Plan,
    /// Another step.
    Replace { step: usize, new: Box<Step> },
}

impl ExecutableGraph {
    /// Updates one node or several: their arguments, ranges and commands become those that the
    /// nodes have now in the graph that this was finalized from.
    ///
    /// Submissions that were made before keep what they had, whether they have run or not; nothing
    /// is waited for. Nodes of kernels, copies, fills and host tasks can be updated; edges stay as
    /// they are. All nodes are updated, or none if one fails. The driver is told of all of them in
    /// one call.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the executable was not finalized as
    /// [updatable](crate::Finalizer::updatable). The same when a node is of another graph, was
    /// added after `finalize`, or has a type that cannot be updated. Otherwise the errors of a
    /// queue that refuses the node's command.
    pub fn update<'a>(&self, nodes: impl Handles<'a, Node>) -> Result<()> {
        self.check_updatable()?;
        let nodes: Vec<&Node> = nodes.handles().collect();
        let Some(first) = nodes.first() else { return Ok(()) };
        let graph = first.graph();
        if graph.id() != self.inner().graph {
            return Err(self.at(foreign(first)));
        }
        self.locked(|state| {
            let mut source = graph.state();
            let chosen = self.choose(state, &mut source, graph, &nodes)?;
            let before = self.commit(state, chosen)?;
            self.note_updated(state, &source.dynamics, &nodes);
            Ok(before)
        })
    }

    /// What is to be done for nodes.
    fn choose(
        &self,
        state: &State,
        source: &mut state::State,
        graph: &Arc<GraphInner>,
        nodes: &[&Node],
    ) -> Result<Chosen> {
        let (flat, places) = (self.flat(), self.places());
        let mut chosen = Chosen::default();
        chosen.values.reserve(nodes.len());
        for node in nodes {
            if !Arc::ptr_eq(node.graph(), graph) {
                return Err(foreign(node));
            }
            let named = |error: Error| error.at(format!("node {}", node.index()));
            let Some(position) = flat.position(node.index()) else {
                return Err(named(
                    Error::invalid("the node was added after the graph was finalized")
                        .remedy("finalize the graph once more"),
                ));
            };
            let command = source.dag.payload(node.id()).map(|data| &data.command);
            let follows = command.and_then(|command| flat.shares(position as usize, command));
            if follows == Some(Follows::Values)
                && let Some(partition) = takes_values(state, &places, position)
            {
                chosen.values.push(Follower { node: position, partition });
                continue;
            }
            source.follow(node.id());
            let data = source.dag.payload(node.id());
            let data = data.ok_or_else(|| named(Error::bug("the node is not in its graph")))?;
            let ty = NodeType::of(&data.command);
            if !ty.is_updatable() {
                return Err(named(Error::invalid(format!("a {ty} cannot be updated"))));
            }
            chosen.changes.push((position as usize, Arc::clone(&data.command)));
        }
        Ok(chosen)
    }

    /// Updates all nodes from a graph with the same nodes and edges, made in the same order. The
    /// kernels of this one get the arguments and ranges of its kernels. Sub-graphs are compared and
    /// updated command by command. That it is the same is checked.
    ///
    /// Graphs with host tasks, copies and other nodes are refused, as the specification demands of
    /// `update` with a graph (`sycl_ext_oneapi_graph`, section 7.5.5). Update such nodes with
    /// [`Node::update_command`] and [`Self::update`].
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the executable is not
    /// [updatable](crate::Finalizer::updatable), and for another context or device. Also for nodes
    /// other than kernels, sub-graphs, empty nodes and barriers. A graph that is not the same is
    /// refused with the first difference, a command as a queue would refuse it. Nothing has changed
    /// then.
    pub fn update_graph(&self, source: &Graph) -> Result<()> {
        self.check_updatable()?;
        let frozen = source.inner().freeze()?;
        if frozen.context != *self.context() || frozen.device != *self.device() {
            let message = format!("graph {} is of another context or device", source.id());
            return Err(self.at(Error::invalid(message)));
        }
        for command in &frozen.commands {
            if let CommandKind::Graph(sub) = &**command {
                drop(ExecutableGraph::of(sub)?.settled());
            }
        }
        self.locked(|state| {
            let Some(target) = &state.frozen else { return Ok(Vec::new()) };
            let changes = compare::whole(target, &self.flat(), &frozen)?;
            self.commit(state, Chosen { changes, values: Vec::new() })
        })
    }

    pub(super) fn check_updatable(&self) -> Result<()> {
        if self.is_updatable() {
            return Ok(());
        }
        Err(self.at(Error::invalid("the executable cannot be updated")
            .remedy("finalize it with `graph.finalizer().updatable().finalize()`")))
    }

    /// Changes what submissions to come run, and drops the commands that are replaced. A submission
    /// is either before all of this or behind.
    fn locked(&self, change: impl FnOnce(&mut State) -> Result<Vec<Arc<CommandKind>>>) -> Result<()> {
        let turn = self.inner().turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        for part in 0..state.device.len() {
            // What waited for submissions that are gone now.
            self.refresh(&mut state, part, Moment::Update)?;
        }
        let before = change(&mut state).map_err(|error| self.at(error))?;
        drop((state, turn));
        // Memory and closures are dropped without a lock.
        drop(before);
        Ok(())
    }

    /// Makes changes, all of them or none, and gives the commands that were there before.
    fn commit(&self, state: &mut State, chosen: Chosen) -> Result<Vec<Arc<CommandKind>>> {
        let Chosen { values, mut changes } = chosen;
        changes.sort_by_key(|(node, _)| *node);
        changes.dedup_by_key(|(node, _)| *node);
        self.settle(state, changes.iter().map(|(node, _)| *node));
        let plan = {
            let (flat, places) = (self.flat(), self.places());
            let mut plan = Plan { changes: Vec::with_capacity(changes.len()), sizes: Vec::new() };
            for (node, command) in changes {
                match self.plan(state, &flat, &places, (node, command), &mut plan.sizes) {
                    Ok(change) => plan.changes.extend(change),
                    Err(error) => return Err(error.at(format!("node {}", flat.origin(node)))),
                }
            }
            plan
        };
        self.apply(state, plan, values)
    }

    /// Prepares a change; `None` when the command is what it was. Adds the index space that it needs.
    fn plan(
        &self,
        state: &State,
        flat: &Flat,
        places: &[Option<Place>],
        (node, command): (usize, Arc<CommandKind>),
        sizes: &mut Vec<WorkSize>,
    ) -> Result<Option<Change>> {
        let current = flat.command(node).ok_or_else(|| Error::bug("the node has no command"))?;
        if Arc::ptr_eq(current, &command) {
            return Ok(None);
        }
        let now = places.get(node).and_then(Option::as_ref);
        let part = now.and_then(|place| state.device.get(place.partition as usize)?.as_ref());
        let newest = part.and_then(|part| part.versions.newest());
        let place = newest.map_or(now, |(_, places)| places.get(node).and_then(Option::as_ref));
        let is_patched =
            !part.is_some_and(|part| part.versions.must_wait()) && current.is_patched_by(&command);
        let queue = &self.inner().queue;
        // Planning it again prepares it again: whether that can be done is known now.
        let plan_again = || command.step(queue).map(|_| How::Plan);
        let how = match place.map(|place| &place.step) {
            None => How::Host,
            // What did nothing may be given something to do.
            Some(Steps::Left(_)) if !NodeType::of(&command).is_updatable() => return Ok(None),
            Some(Steps::Left(_)) => plan_again()?,
            Some(_) if part.is_some_and(|part| part.versions.must_plan) => plan_again()?,
            Some(_) if is_patched && current.differs_in_arguments(&command) => How::Arguments,
            Some(Steps::Task { task, .. }) => {
                let part = newest.map(|(part, _)| part).or(part.map(|part| &part.exec));
                let fits = |tasks: &Tasks| tasks.fits(*task, current, &command, queue);
                match part.and_then(|part| part.steps.tasks.as_ref()).map(fits).transpose()? {
                    Some(true) => How::Task(*task),
                    _ => plan_again()?,
                }
            }
            Some(Steps::One(step)) if is_patched => {
                let size = match current.range() == command.range() {
                    true => None,
                    false => command.work_size(self.context(), self.device())?,
                };
                let number = size.is_some().then_some(sizes.len());
                sizes.extend(size);
                How::Patch { step: *step as usize, size: number }
            }
            Some(Steps::One(step)) => {
                How::Replace { step: *step as usize, new: Box::new(command.step(queue)?) }
            }
        };
        Ok(Some(Change { node, command, partition: place.map(|place| place.partition), how }))
    }

    /// Makes changes, and gives nodes the values of their parameters. It goes partition by
    /// partition, so that one call tells the driver all changes of a partition.
    fn apply(
        &self,
        state: &mut State,
        plan: Plan,
        mut values: Vec<Follower>,
    ) -> Result<Vec<Arc<CommandKind>>> {
        let State { device, patches, .. } = state;
        let (mut flat, places) = (self.flat_mut(), self.places());
        let (mut before, mut buffers) = (Vec::new(), false);
        // Most often there is one partition, so that they are sorted.
        let Plan { changes: mut plan, sizes } = plan;
        plan.sort_by_key(|change| change.partition);
        values.sort_by_key(|follower| follower.partition);
        let (mut plan, mut values) = (plan.into_iter(), values.as_slice());
        loop {
            let change = plan.as_slice().first().map(|change| change.partition);
            let value = values.first().map(Follower::part);
            let Some(partition) = [change, value].into_iter().flatten().min() else { break };
            let of_others = values.iter().position(|follower| follower.part() != partition);
            let (own, others) = values.split_at(of_others.unwrap_or(values.len()));
            values = others;
            let mut part = partition.and_then(|partition| device.get_mut(partition as usize)?.as_mut());
            patches.clear();
            if let Some(part) = &mut part {
                set_values(&mut part.exec, own, &mut flat, &places, patches)?;
            }
            while plan.as_slice().first().is_some_and(|change| change.partition == partition) {
                let Some(Change { node, command, how, .. }) = plan.next() else { break };
                let now = flat.command(node);
                let now = now.ok_or_else(|| Error::bug(format!("node {node} to update has no command")))?;
                let is_patch = match &how {
                    How::Arguments | How::Patch { .. } => true,
                    How::Task(_) => now.differs_in_arguments(&command),
                    How::Host | How::Plan | How::Replace { .. } => false,
                };
                if let Some(part) = &mut part {
                    part.change((node, now, &command), (how, &sizes), &self.inner().queue, &places, patches)?;
                }
                before.extend(match is_patch {
                    true => flat.patch(node, &command),
                    false => {
                        buffers |= !command.requirements().is_empty() || !now.requirements().is_empty();
                        flat.replace(node, command)
                    }
                });
            }
            if let Some(part) = part.filter(|_| !patches.is_empty()) {
                part.exec.replay.patch(&part.exec.steps.sequence, patches);
            }
        }
        drop((flat, places));
        if buffers {
            self.find_requirements();
        }
        Ok(before)
    }
}

impl PartitionState {
    /// Changes what was prepared for a command, or has it changed before the submissions to come.
    fn change(
        &mut self,
        (node, before, command): (usize, &Arc<CommandKind>, &Arc<CommandKind>),
        (how, sizes): (How, &[WorkSize]),
        queue: &Queue,
        places: &[Option<Place>],
        patches: &mut Patches,
    ) -> Result<()> {
        if !matches!(how, How::Arguments) {
            self.exec.cancel_race();
        }
        let Self { exec, versions } = self;
        let must_wait = versions.must_wait();
        match how {
            How::Host => Ok(()),
            How::Arguments => exec.set_arguments(places, patches, |steps, places, patches| {
                steps.set_arguments(places.get(node), before, command, patches)
            }),
            How::Plan => {
                versions.must_plan = true;
                Ok(())
            }
            How::Task(task) if must_wait => {
                let memory = memory_of(command, queue)?;
                let Changes { tasks, .. } = versions.changes().ok_or_else(lost)?;
                let first = tasks.remove(&task).map_or_else(|| Arc::clone(before), |later| later.before);
                let command = Arc::clone(command);
                tasks.insert(task, TaskChange { before: first, command, memory });
                Ok(())
            }
            How::Task(task) => exec.set_task(task, before, command, queue),
            How::Replace { step, new } if must_wait => {
                versions.changes().ok_or_else(lost)?.steps.insert(step, *new);
                Ok(())
            }
            How::Replace { step, new } => exec.set_step(step, *new),
            How::Patch { step, size } => {
                let size = size.map(|number| sizes.get(number).ok_or_else(|| no_size(number))).transpose()?;
                exec.steps.sequence.set_kernel(step, command.driver_arguments(), size, patches)
            }
        }
    }
}

/// The partition of a node, if what was prepared for the node can be given other values at once.
fn takes_values(state: &State, places: &[Option<Place>], node: u32) -> Option<u32> {
    let Place { partition, step } = places.get(node as usize)?.as_ref()?;
    let part = state.device.get(*partition as usize)?.as_ref()?;
    (!matches!(step, Steps::Left(_)) && part.versions.is_idle()).then_some(*partition)
}

fn foreign(node: &Node) -> Error {
    Error::invalid(format!("node {} is of graph {}", node.index(), node.graph().id()))
}

fn no_size(number: usize) -> Error {
    Error::bug(format!("an update has no index space {number}"))
}
