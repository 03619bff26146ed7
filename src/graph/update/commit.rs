//! Updates of executables: from the nodes of the graph to the prepared commands
//! (`sycl_ext_oneapi_graph`, section 7.5.2).

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use super::compare;
use super::parameter::{DynamicParameter, DynamicValue};
use crate::MakeError as _;
use crate::command::{CommandKind, Follows};
use crate::driver::launch::WorkSize;
use crate::driver::mutable::Patches;
use crate::driver::step::Step;
use crate::graph::exec::draft::{lost, memory_of};
use crate::graph::exec::prepare::{Location, Steps};
use crate::graph::executable::handle::ExecutableGraph;
use crate::graph::executable::layout::Layout;
use crate::graph::executable::part::Part;
use crate::graph::executable::prepared::{Prepared, RefreshFor};
use crate::graph::executable::versions::{StepChanges, TaskChange};
use crate::graph::model::describe::NodeType;
use crate::graph::model::node::Node;
use crate::graph::model::state::{self, GraphInner};
use crate::graph::plan::commands::{Commands, Reader};
use crate::graph::plan::memory::MemoryPlan;
use crate::graph::tune::survey;
use crate::handles::Handles;
use crate::{Error, Graph, Queue, Result};

/// The changes of a commit, by the places of nodes in the flat graph.
#[derive(Default)]
struct Chosen {
    /// Nothing but the values of their parameters has changed.
    followers: Vec<Follower>,
    /// Their new commands.
    changes: Vec<(usize, Arc<CommandKind>)>,
}

/// A node of the flat graph that gets the values of its parameters, and its partition.
#[derive(Clone, Copy)]
struct Follower {
    node: u32,
    partition: u32,
}

/// A command of the flat graph that is replaced.
struct Change {
    node: usize,
    /// As it is in the graph.
    command: Arc<CommandKind>,
    /// With memory that is there, if it uses memory of the graph.
    located: Option<Arc<CommandKind>>,
    /// `None`: a host task, for which nothing was prepared, as submissions take it from the
    /// command.
    partition: Option<u32>,
    fit: Fit,
}

/// Changes that can be made, with the index spaces that they refer to by number.
struct Checked {
    changes: Vec<Change>,
    sizes: Vec<WorkSize>,
    /// When memory of the graph is used then, if that is not as it was.
    memory: Option<MemoryPlan>,
}

/// How a command fits the step that was prepared for the one before it.
enum Fit {
    /// There is none.
    Host,
    /// The same kernel gets other values and memory, at once.
    Arguments,
    /// The same kernel gets other arguments, and the index space with this number if there is one.
    Patch { step: usize, size: Option<usize> },
    /// The task of a list gets other arguments, another range or another kernel.
    Task(u32),
    /// It does not: the partition is prepared again.
    Rebuild,
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
    /// [updatable](crate::graph::Finalizer::updatable). The same when a node is of another graph, was
    /// added after `finalize`, or has a type that cannot be updated. Otherwise the errors of a
    /// queue that refuses the node's command.
    pub fn update<'a>(&self, nodes: impl Handles<'a, Node>) -> Result<()> {
        self.check_updatable()?;
        let nodes: Vec<&Node> = nodes.handles().collect();
        let Some(first) = nodes.first() else { return Ok(()) };
        let mut before = Vec::new();
        let turn = self.turn();
        let outcome = self.update_nodes(first.graph(), &nodes, &mut before);
        drop(turn);
        // Memory and closures are dropped without a lock.
        drop(before);
        let is_known = outcome?;
        if is_known { Ok(()) } else { Err(self.at(foreign(first))) }
    }

    /// Updates nodes of its graph, or of a body that is that graph; whether there was one. `before`
    /// gets the commands that are replaced.
    fn update_nodes(
        &self,
        graph: &Arc<GraphInner>,
        nodes: &[&Node],
        before: &mut Vec<Arc<CommandKind>>,
    ) -> Result<bool> {
        if graph.id() == self.layout().graph {
            let replaced = self.locked(|prepared| {
                let mut source = graph.state();
                let chosen = choose(prepared, self.layout(), &mut source, graph, nodes)?;
                let before = commit(prepared, self.layout(), chosen)?;
                self.note_updated(prepared, &source.dynamics, nodes);
                Ok(before)
            })?;
            before.extend(replaced);
            return Ok(true);
        }
        let mut is_known = false;
        for body in self.bodies().iter().flatten() {
            is_known |= body.update_nodes(graph, nodes, before)?;
        }
        if is_known {
            let of_bodies = self.requirements_of_bodies();
            self.prepared().set_requirements_of_bodies(self.layout(), of_bodies);
        }
        Ok(is_known)
    }

    /// The layout of the executable, or of a body, that was made from a graph.
    fn layout_of(&self, graph: u64) -> Option<&Layout> {
        let layout = self.layout();
        match layout.graph == graph {
            true => Some(layout),
            false => self.bodies().iter().flatten().find_map(|body| body.layout_of(graph)),
        }
    }

    /// Gives a parameter a value, and updates this executable with the nodes that follow the
    /// parameter: in one call what [`DynamicParameter::update`] and [`ExecutableGraph::update`] do.
    /// Nodes that were added after it was finalized are left out.
    ///
    /// Other executables of the graph keep the value that they have. If one is submitted like that,
    /// the log has a warning.
    ///
    /// ```no_run
    /// # use oclave::graph::{DynamicParameter, ExecutableGraph};
    /// # use oclave::{Queue, Result};
    /// # fn f(queue: &Queue, executable: &ExecutableGraph, alpha: &DynamicParameter<f32>) -> Result<()> {
    /// for step in 0..10 {
    ///     executable.set(alpha, step as f32)?;
    ///     queue.submit_graph(executable)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As those two. [`Invalid`](crate::ErrorKind::Invalid) when the parameter is of another graph.
    /// [`KernelArgument`](crate::ErrorKind::KernelArgument) when a kernel would write an image that it
    /// is given twice: update the other parameter first.
    /// If a command is refused with the value, the graph has the value and the executable has not.
    pub fn set<V: DynamicValue>(&self, parameter: &DynamicParameter<V>, value: impl Borrow<V>) -> Result<()> {
        self.check_updatable()?;
        let graph = parameter.graph();
        let Some(layout) = self.layout_of(graph.id()) else {
            let message = format!(
                "the parameter is of graph {}, the executable of graph {}",
                graph.id(),
                self.layout().graph
            );
            return Err(Error::invalid(message).at("dynamic parameter"));
        };
        parameter.update(value)?;
        let nodes = {
            let state = graph.state();
            let followers = state.dynamics.followers(parameter.id());
            graph.nodes_of(followers.filter(|node| layout.flat.position(node.index()).is_some()))
        };
        self.update(&nodes)
    }

    /// Updates all nodes from a graph with the same nodes and edges, made in the same order. The
    /// kernels of this one get the arguments and ranges of its kernels. Sub-graphs are compared and
    /// updated command by command. That it is the same is checked.
    ///
    /// Bodies of loops and conditions are compared and updated in the same way, and what these
    /// decide by.
    ///
    /// Graphs with host tasks, copies and other nodes are refused, as the specification demands of
    /// `update` with a graph (`sycl_ext_oneapi_graph`, section 7.5.5). Update such nodes with
    /// [`Node::update_command`] and [`Self::update`].
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the executable is not
    /// [updatable](crate::graph::Finalizer::updatable), and for another context or device. Also for nodes
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
        let turn = self.turn();
        let mut all = Vec::new();
        let mut open = vec![(self.clone(), frozen)];
        // Graphs of this, by those that they are updated with.
        let mut owners = HashMap::new();
        // All are compared before any is changed.
        while let Some((graph, source)) = open.pop() {
            let subs = compare::sub_graphs(&source)?;
            let prepared = graph.prepared();
            let Some(target) = &prepared.frozen else { continue };
            let found = compare::whole(target, &graph, &prepared.commands, &source, &subs);
            let (mut changes, bodies) = found.map_err(|error| graph.at(error))?;
            owners.extend(compare::owners(target, &graph, &source, &subs)?);
            for (node, command) in &mut changes {
                let translated = prepared.commands.memory().translate(command, &owners);
                let named =
                    |error: Error| graph.at(error.at(format!("node {}", graph.layout().flat.origin(*node))));
                *command = translated.map_err(named)?;
            }
            drop(prepared);
            open.extend(bodies);
            all.push((graph, changes));
        }
        // Nothing is changed before it is known that all can be.
        let checked = |(graph, changes): (Self, Vec<(usize, Arc<CommandKind>)>)| {
            let checked = graph.refreshed(|prepared| check_all(prepared, graph.layout(), changes))?;
            Ok((graph, checked))
        };
        let all = all.into_iter().map(checked).collect::<Result<Vec<_>>>()?;
        // Bodies come before what is around them, which looks at their buffers.
        let mut before = Vec::new();
        for (graph, checked) in all.into_iter().rev() {
            let of_bodies = graph.requirements_of_bodies();
            let has_bodies = graph.bodies().iter().any(|bodies| !bodies.is_empty());
            let replaced = graph.locked(|prepared| {
                let before = apply(prepared, graph.layout(), checked, Vec::new());
                if has_bodies {
                    prepared.set_requirements_of_bodies(graph.layout(), of_bodies);
                }
                before
            })?;
            before.extend(replaced);
        }
        drop(turn);
        drop(before);
        Ok(())
    }

    fn check_updatable(&self) -> Result<()> {
        if self.is_updatable() {
            return Ok(());
        }
        Err(self.at(Error::invalid("the executable cannot be updated")
            .remedy("finalize it with `graph.finalizer().updatable().finalize()`")))
    }

    /// Changes what submissions to come run, and gives the commands that are replaced. The caller
    /// has the turn, so that a submission is either before all of this or after.
    fn locked(
        &self,
        change: impl FnOnce(&mut Prepared) -> Result<Vec<Arc<CommandKind>>>,
    ) -> Result<Vec<Arc<CommandKind>>> {
        self.refreshed(|prepared| {
            let before = change(prepared)?;
            prepared.edits += 1;
            Ok(before)
        })
    }

    /// Passes on the commands and steps, after changes that waited for submissions which are gone now.
    fn refreshed<R>(&self, look: impl FnOnce(&mut Prepared) -> Result<R>) -> Result<R> {
        let mut prepared = self.prepared();
        for part in 0..prepared.parts.len() {
            prepared.refresh(self.layout(), part, RefreshFor::Update)?;
        }
        look(&mut prepared).map_err(|error| self.at(error))
    }
}

/// Chooses the changes for nodes.
fn choose(
    prepared: &Prepared,
    layout: &Layout,
    source: &mut state::State,
    graph: &Arc<GraphInner>,
    nodes: &[&Node],
) -> Result<Chosen> {
    let mut chosen = Chosen::default();
    chosen.followers.reserve(nodes.len());
    for node in nodes {
        if !Arc::ptr_eq(node.graph(), graph) {
            return Err(foreign(node));
        }
        let named = |error: Error| error.at(format!("node {}", node.index()));
        let Some(position) = layout.flat.position(node.index()) else {
            return Err(named(
                Error::invalid("the node was added after the graph was finalized")
                    .remedy("finalize the graph once more"),
            ));
        };
        let command = source.dag.payload(node.id()).map(|data| &data.command);
        let follows = command.and_then(|command| prepared.commands.shares(position as usize, command));
        if follows == Some(Follows::Values)
            && let Some(partition) = takes_values(prepared, position)
        {
            chosen.followers.push(Follower { node: position, partition });
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

/// Makes changes, all of them or none, and gives the commands that were there before.
fn commit(prepared: &mut Prepared, layout: &Layout, chosen: Chosen) -> Result<Vec<Arc<CommandKind>>> {
    let Chosen { followers, changes } = chosen;
    let checked = check_all(prepared, layout, changes)?;
    apply(prepared, layout, checked, followers)
}

/// Whether changes can be made, all of them. Nothing is changed.
fn check_all(
    prepared: &Prepared,
    layout: &Layout,
    mut changes: Vec<(usize, Arc<CommandKind>)>,
) -> Result<Checked> {
    changes.sort_by_key(|(node, _)| *node);
    changes.dedup_by_key(|(node, _)| *node);
    let mut checked = Checked { changes: Vec::with_capacity(changes.len()), sizes: Vec::new(), memory: None };
    for (node, command) in changes {
        match check(prepared, layout, (node, command), &mut checked.sizes) {
            Ok(change) => checked.changes.extend(change),
            Err(error) => return Err(error.at(format!("node {}", layout.flat.origin(node)))),
        }
    }
    checked.memory = memory_for(prepared, layout, &checked.changes)?;
    Ok(checked)
}

/// When memory of the graph is used with changes, if that is not as it was. Refuses changes that let it live at the same
/// time as other memory in its place.
fn memory_for(prepared: &Prepared, layout: &Layout, changes: &[Change]) -> Result<Option<MemoryPlan>> {
    let plan = &prepared.memory;
    if plan.requests.is_empty() {
        return Ok(None);
    }
    let mut uses = Vec::new();
    for Change { node, command, .. } in changes {
        for (key, _) in command.graph_memory() {
            let request = plan.requests.iter().find(|request| request.key == key);
            if request.is_some_and(|request| request.nodes.binary_search(&(*node as u32)).is_err()) {
                uses.push((key, *node as u32));
            }
        }
    }
    let Some((key, node)) = uses.first().copied() else { return Ok(None) };
    match plan.with_uses(layout.flat.len(), |node| layout.flat.waits(node as usize), &uses) {
        Some(new) => Ok(Some(new)),
        None => Err(Error::invalid(format!(
            "it is to use memory {} of the graph, and other memory may be in the same place then",
            key.number
        ))
        .remedy("finalize the graph again, or let the node use the memory before the graph is finalized")
        .at(format!("node {}", layout.flat.origin(node as usize)))),
    }
}

/// Checks and prepares a change; `None` when the command is what it was. Adds the index space that
/// it needs.
fn check(
    prepared: &Prepared,
    layout: &Layout,
    (node, command): (usize, Arc<CommandKind>),
    sizes: &mut Vec<WorkSize>,
) -> Result<Option<Change>> {
    let Prepared { commands, locations, .. } = prepared;
    let current = commands.get(node).ok_or_else(|| Error::bug("the node has no command"))?;
    let located = commands.memory().locate(&command)?;
    let new = located.as_ref().unwrap_or(&command);
    if Arc::ptr_eq(&current, new) {
        return Ok(None);
    }
    let now = locations.get(node).and_then(Option::as_ref);
    let part = now.and_then(|location| prepared.part(location.partition as usize));
    let newest = part.and_then(|part| part.versions.newest());
    let location = newest.map_or(now, |(_, locations)| locations.get(node).and_then(Option::as_ref));
    let is_patched = !part.is_some_and(|part| part.versions.must_wait()) && current.is_patched_by(new);
    let queue = &layout.queue;
    // A rebuild prepares it again: whether that can be done is known now.
    let rebuild = || new.step(queue).map(|_| Fit::Rebuild);
    let fit = match location.map(|location| &location.step) {
        None => Fit::Host,
        // A node without work may get a command.
        Some(Steps::Left(_)) if !NodeType::of(new).is_updatable() => return Ok(None),
        Some(Steps::Left(_)) => rebuild()?,
        Some(_) if part.is_some_and(|part| part.versions.must_rebuild) => rebuild()?,
        Some(_) if is_patched && current.differs_in_arguments(new) => Fit::Arguments,
        Some(Steps::Task { task, .. }) => {
            let tuned = newest.map(|(tuned, _)| tuned).or(part.map(|part| &part.tuned));
            let tasks = tuned.and_then(|tuned| tuned.exec.steps.tasks.as_ref());
            match tasks.map(|tasks| survey::fits(tasks, *task, &current, new, queue)).transpose()? {
                Some(true) => Fit::Task(*task),
                _ => rebuild()?,
            }
        }
        Some(Steps::One(step)) if is_patched => {
            let size = match current.range() == new.range() {
                true => None,
                false => new.work_size(queue.context(), queue.device())?,
            };
            let number = size.is_some().then_some(sizes.len());
            sizes.extend(size);
            Fit::Patch { step: *step as usize, size: number }
        }
        Some(Steps::One(step)) => Fit::Replace { step: *step as usize, new: Box::new(new.step(queue)?) },
    };
    let partition = location.map(|location| location.partition);
    Ok(Some(Change { node, command, located, partition, fit }))
}

/// Makes changes, and gives nodes the values of their parameters. It goes partition by partition, so
/// that one call tells the driver all changes of a partition.
fn apply(
    prepared: &mut Prepared,
    layout: &Layout,
    Checked { mut changes, sizes, memory }: Checked,
    mut followers: Vec<Follower>,
) -> Result<Vec<Arc<CommandKind>>> {
    if let Some(memory) = memory {
        prepared.memory = memory;
    }
    let Prepared { commands, locations, parts, patches, .. } = prepared;
    let (mut before, mut buffers) = (Vec::new(), false);
    // Most often there is one partition, so that they are sorted.
    changes.sort_by_key(|change| change.partition);
    followers.sort_by_key(|follower| follower.partition);
    let (mut changes, mut followers) = (changes.into_iter(), followers.as_slice());
    let mut reader = Reader::default();
    loop {
        let change = changes.as_slice().first().map(|change| change.partition);
        let follower = followers.first().map(|follower| Some(follower.partition));
        let Some(partition) = [change, follower].into_iter().flatten().min() else { break };
        let of_others = followers.iter().position(|follower| Some(follower.partition) != partition);
        let (own, others) = followers.split_at(of_others.unwrap_or(followers.len()));
        followers = others;
        let mut part = partition.and_then(|partition| parts.get_mut(partition as usize)?.as_mut());
        patches.clear();
        if let Some(part) = &mut part {
            set_values(part, own, (&mut *commands, &mut reader), locations, patches)?;
        }
        while changes.as_slice().first().is_some_and(|change| change.partition == partition) {
            let Some(Change { node, command: unlocated, located, fit, .. }) = changes.next() else {
                break;
            };
            let command = located.as_ref().unwrap_or(&unlocated);
            let now = commands.get(node);
            let now = now.ok_or_else(|| Error::bug(format!("node {node} to update has no command")))?;
            let is_patch = match &fit {
                Fit::Arguments | Fit::Patch { .. } => true,
                Fit::Task(_) => now.differs_in_arguments(command),
                Fit::Host | Fit::Rebuild | Fit::Replace { .. } => false,
            };
            if let Some(part) = &mut part {
                part.change((node, &now, command), (fit, &sizes), &layout.queue, locations, patches)?;
            }
            if !is_patch {
                buffers |= !command.requirements().is_empty() || !now.requirements().is_empty();
            }
            before.extend(match is_patch {
                true => commands.patch(node, unlocated, located),
                false => commands.replace(node, unlocated, located),
            });
        }
        if let Some(part) = part.filter(|_| !patches.is_empty()) {
            part.tuned.exec.replay.patch(&part.tuned.exec.steps.sequence, patches);
        }
    }
    if buffers {
        prepared.find_requirements(layout);
    }
    Ok(before)
}

/// Gives nodes of a partition the values that their parameters have now, and what was prepared for
/// them, too.
fn set_values(
    part: &mut Part,
    nodes: &[Follower],
    (commands, reader): (&mut Commands, &mut Reader),
    locations: &[Option<Location>],
    patches: &mut Patches,
) -> Result<()> {
    let nodes = || nodes.iter().map(|follower| follower.node);
    nodes().for_each(|node| commands.follow(node as usize, reader));
    part.tuned.set_arguments(locations, patches, |steps, locations, patches| {
        steps.set_values(nodes(), commands, locations, patches)
    })
}

impl Part {
    /// Changes what was prepared for a command, or has it changed before the submissions to come.
    fn change(
        &mut self,
        (node, before, command): (usize, &Arc<CommandKind>, &Arc<CommandKind>),
        (fit, sizes): (Fit, &[WorkSize]),
        queue: &Queue,
        locations: &[Option<Location>],
        patches: &mut Patches,
    ) -> Result<()> {
        if !matches!(fit, Fit::Arguments) {
            self.tuned.cancel_race();
        }
        let Self { tuned, versions } = self;
        let must_wait = versions.must_wait();
        match fit {
            Fit::Host => Ok(()),
            Fit::Arguments => tuned.set_arguments(locations, patches, |steps, locations, patches| {
                steps.set_arguments(locations.get(node), before, command, patches)
            }),
            Fit::Rebuild => {
                versions.must_rebuild = true;
                Ok(())
            }
            Fit::Task(task) if must_wait => {
                let memory = memory_of(command, queue)?;
                let StepChanges { tasks, .. } = versions.changes().ok_or_else(lost)?;
                let first = tasks.remove(&task).map_or_else(|| Arc::clone(before), |later| later.before);
                let command = Arc::clone(command);
                tasks.insert(task, TaskChange { before: first, command, memory });
                Ok(())
            }
            Fit::Task(task) => tuned.exec.set_task(task, before, command, queue),
            Fit::Replace { step, new } if must_wait => {
                versions.changes().ok_or_else(lost)?.steps.insert(step, *new);
                Ok(())
            }
            Fit::Replace { step, new } => tuned.exec.set_step(step, *new),
            Fit::Patch { step, size } => {
                let size = size.map(|number| sizes.get(number).ok_or_else(|| no_size(number))).transpose()?;
                tuned.exec.steps.sequence.set_kernel(step, command.driver_arguments(), size, patches)
            }
        }
    }
}

/// The partition of a node, if what was prepared for the node can be given other values at once.
fn takes_values(prepared: &Prepared, node: u32) -> Option<u32> {
    let Location { partition, step } = prepared.locations.get(node as usize)?.as_ref()?;
    let part = prepared.part(*partition as usize)?;
    (!matches!(step, Steps::Left(_)) && part.versions.is_idle()).then_some(*partition)
}

fn foreign(node: &Node) -> Error {
    Error::invalid(format!("node {} is of graph {}", node.index(), node.graph().id()))
}

fn no_size(number: usize) -> Error {
    Error::bug(format!("an update has no index space {number}"))
}
