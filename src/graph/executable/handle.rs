//! Executable graphs.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::awaited::Awaited;
use super::layout::Layout;
use super::memory;
use super::names::Names;
use super::prepared::{OfBodies, Prepared};
use crate::MakeError as _;
use crate::command::{Command, CommandKind, ControlBody, GraphCommand, of_body};
use crate::dag::NodeId;
use crate::driver::sync::{Mutex, MutexGuard};
use crate::graph::exec::options::{Options, ReplayStrategy};
use crate::graph::model::control::GraphBody;
use crate::graph::model::dynamics::{Changes, Dynamics};
use crate::graph::model::node::Node;
use crate::graph::model::snapshot::{External, Frozen};
use crate::graph::plan::commands::Commands;
use crate::graph::plan::flatten::SubGraph;
use crate::graph::plan::memory::Memory;
use crate::graph::plan::partition::Partition;
use crate::{Context, Device, Error, Event, Graph, Result};

/// A graph that is ready to run, again and again (`sycl_ext_oneapi_graph`, section 7.5.1); from
/// [`Graph::finalize`](crate::Graph::finalize).
///
/// It is put on a queue like one command: [`Queue::submit_graph`](crate::Queue::submit_graph), or
/// [`Command::graph`](crate::Command::graph) for one with dependencies. On a recording queue, and
/// when it is added to another graph, it becomes a sub-graph. One instance runs at a time: a
/// submission waits for the one before it, on whatever queue (section 7.6.5).
///
/// A handle: clones are of the same executable, and equal. It keeps alive all that its commands
/// use, the graph that it was made from not needed; it may be dropped while it runs. It may be
/// submitted by many threads.
///
/// ```no_run
/// # use oclave::graph::DynamicParameter;
/// # use oclave::{Graph, Queue, Result};
/// # fn f(queue: &Queue, graph: &Graph, alpha: &DynamicParameter<f32>) -> Result<()> {
/// let executable = graph.finalizer().updatable().finalize()?;
/// for step in 0..100 {
///     executable.set(alpha, step as f32)?;
///     queue.submit_graph(&executable)?; // after the submission before
/// }
/// queue.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "an executable graph does nothing until it is submitted"]
pub struct ExecutableGraph(Arc<Inner>);

/// The state that all handles of an executable share.
///
/// # Locks
/// One lock has all that changes: `prepared`. `turn` only puts submissions and updates in an order.
/// It is held for all of a submission, whose commands lock `prepared` when they are put on a
/// queue, be it on this thread or, deferred, on another.
///
/// The order is `turn`, `prepared`, the state of the graph that it was made from, a parameter's
/// value. No thread locks two executables at once.
pub(in crate::graph) struct Inner {
    id: u64,
    pub(in crate::graph) layout: Layout,
    /// By partition: the bodies of a loop or a condition.
    bodies: Vec<Vec<ExecutableGraph>>,
    /// Of the graph's nodes, and how many of them all nodes of this have.
    changes: Arc<Changes>,
    seen: AtomicU64,
    warned: AtomicBool,
    /// The event of the last submission, as far as the next one must wait for it.
    turn: Mutex<Option<Event>>,
    pub(super) awaited: Awaited,
    prepared: Mutex<Prepared>,
}

impl ExecutableGraph {
    /// `around`: memory of graphs that it is a body of.
    pub(in crate::graph) fn new(
        frozen: Frozen,
        options: Options,
        around: Memory,
        ends: &[u32],
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (changes, seen) = frozen.changes.clone();
        if options.strategy == ReplayStrategy::CommandBuffer {
            frozen.device.require_command_buffers()?;
        }
        let subs = sub_graphs(&frozen)?;
        let sub_graph = |node| {
            let sub = subs.get(&node).ok_or_else(|| no_sub_graph(node))?;
            Ok(SubGraph { flat: &sub.layout().flat, commands: sub.commands() })
        };
        let mut inside: Vec<_> = subs.iter().collect();
        inside.sort_by_key(|(node, _)| **node);
        let inside = inside.into_iter().flat_map(|(_, sub)| sub.layout().owners.iter().copied());
        let owners = [frozen.graph].into_iter().chain(inside).collect();
        let (mut layout, commands) = Layout::new(&frozen, options, owners, ends, sub_graph)?;
        layout.names = Names::new(&frozen, &layout.flat, |node| {
            let sub = subs.get(&node)?.layout();
            Some((&sub.flat, &sub.names))
        });
        for (node, sub) in &subs {
            let inside = sub.layout().externals.iter().cloned();
            layout.externals.extend(inside.map(|external| External { node: *node as u32, ..external }));
        }
        let (plan, memory) =
            memory::allocate(&layout.queue, (&layout.flat, &layout.owners), &commands, around)?;
        let bodies = bodies(&layout, &commands, &memory)?;
        let commands = Commands::new(commands, memory)
            .map_err(|(node, error)| error.at(format!("node {}", layout.flat.origin(node))))?;
        let prepared = Prepared::new(&layout, commands, plan, frozen, requirements(&bodies))?;
        Ok(Self(Arc::new(Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            layout,
            bodies,
            changes,
            seen: AtomicU64::new(seen),
            warned: AtomicBool::new(false),
            turn: Mutex::new(None),
            awaited: Awaited::default(),
            prepared: Mutex::new(prepared),
        })))
    }

    /// The executable graph that a command runs; the layer of commands does not know its type.
    pub(in crate::graph) fn of(command: &Arc<dyn GraphCommand>) -> Result<Self> {
        let any = Arc::clone(command) as Arc<dyn Any + Send + Sync>;
        any.downcast().map(Self).map_err(|_| Error::bug("a graph command runs no executable graph"))
    }

    pub(super) fn from_inner(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    pub(in crate::graph) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    pub(in crate::graph) fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// By partition: the bodies of a loop or a condition.
    pub(in crate::graph) fn bodies(&self) -> &[Vec<Self>] {
        &self.0.bodies
    }

    /// The accesses of its bodies to parts of buffers.
    pub(in crate::graph) fn requirements_of_bodies(&self) -> OfBodies {
        requirements(self.bodies())
    }

    pub(crate) fn context(&self) -> &Context {
        self.layout().queue.context()
    }

    pub(crate) fn device(&self) -> &Device {
        self.layout().queue.device()
    }

    pub(in crate::graph) fn id(&self) -> u64 {
        self.0.id
    }

    /// How many commands there are, those of sub-graphs included.
    pub fn len(&self) -> usize {
        self.layout().flat.len()
    }

    /// Whether there is no command.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(in crate::graph) fn is_updatable(&self) -> bool {
        self.layout().options.updatable
    }

    /// The commands of all nodes, as they are now; with what stands for memory of graphs.
    pub(in crate::graph) fn commands(&self) -> Vec<Arc<CommandKind>> {
        let mut all = self.prepared().commands.all_unlocated();
        let layout = self.layout();
        for (partition, bodies) in
            layout.partitions.iter().zip(self.bodies()).filter(|(_, bodies)| !bodies.is_empty())
        {
            let command = partition.nodes.first().and_then(|node| all.get_mut(*node as usize));
            if let Some(CommandKind::Control(flow)) = command.map(Arc::make_mut) {
                flow.bodies =
                    bodies.iter().map(|body| Arc::new(body.clone()) as Arc<dyn ControlBody>).collect();
            }
        }
        all
    }

    /// The event of the last submission. Nobody else submits or updates while it is locked.
    pub(in crate::graph) fn turn(&self) -> MutexGuard<'_, Option<Event>> {
        self.0.turn.lock()
    }

    pub(in crate::graph) fn prepared(&self) -> MutexGuard<'_, Prepared> {
        self.0.prepared()
    }

    /// Notes that nodes were updated. Those that were changed and are not among them lack changes.
    pub(in crate::graph) fn note_updated(
        &self,
        prepared: &mut Prepared,
        dynamics: &Dynamics,
        updated: &[&Node],
    ) {
        let (outdated, known) = &mut prepared.outdated;
        outdated.extend(dynamics.changed_after(*known).map(NodeId::index));
        // Two sorted runs, most often, which a stable sort merges.
        outdated.sort();
        outdated.dedup();
        let mut updated: Vec<usize> = updated.iter().map(|node| node.index()).collect();
        updated.sort_unstable();
        let mut updated = updated.into_iter().peekable();
        let flat = &self.layout().flat;
        // Both are sorted. A search for each of a thousand nodes would take a quarter of an update.
        outdated.retain(|node| {
            while updated.next_if(|other| other < node).is_some() {}
            updated.peek() != Some(node) && flat.position(*node).is_some()
        });
        *known = dynamics.changes().count();
        if outdated.is_empty() {
            self.0.seen.store(*known, Ordering::Relaxed);
        }
    }

    /// Says in the log, once, that nodes of the graph were changed and this was not updated with
    /// all of them.
    #[inline]
    pub(in crate::graph) fn warn_if_behind(&self) {
        let Inner { changes, seen, warned, layout, id, .. } = &*self.0;
        let is_behind = layout.options.updatable && changes.count() != seen.load(Ordering::Relaxed);
        if is_behind && !warned.swap(true, Ordering::Relaxed) {
            let graph = layout.graph;
            log::warn!(
                "executable graph {id} runs with old values: parameters or nodes of graph {graph} were changed, and it was not \
                 updated with all of these nodes; call `executable.set(&parameter, value)`, or `executable.update(&nodes)` after the change"
            );
        }
    }

    pub(in crate::graph) fn at(&self, error: Error) -> Error {
        self.layout().at(error)
    }
}

impl Inner {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn prepared(&self) -> MutexGuard<'_, Prepared> {
        self.prepared.lock()
    }
}

/// The executables that are sub-graphs of a graph, by the index of their nodes.
fn sub_graphs(frozen: &Frozen) -> Result<HashMap<usize, ExecutableGraph>> {
    let subs = frozen.commands.iter().enumerate().filter_map(|(node, command)| match &**command {
        CommandKind::Graph(sub) => Some(ExecutableGraph::of(sub).map(|sub| (node, sub))),
        _ => None,
    });
    subs.collect()
}

fn no_sub_graph(node: usize) -> Error {
    Error::bug(format!("node {node} of a snapshot is no sub-graph"))
}

impl PartialEq for ExecutableGraph {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ExecutableGraph {}

impl Hash for ExecutableGraph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Debug for ExecutableGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { graph, flat, .. } = &self.layout;
        write!(f, "ExecutableGraph({} of graph {graph}, {} commands)", self.id, flat.len())
    }
}

/// The bodies of loops and conditions, by partition.
fn bodies(
    layout: &Layout,
    commands: &[Arc<CommandKind>],
    memory: &Memory,
) -> Result<Vec<Vec<ExecutableGraph>>> {
    let bodies = |partition: &Partition| {
        let node = partition.nodes.first().copied().filter(|_| partition.host);
        let command = node.and_then(|node| Some((node, commands.get(node as usize)?)));
        let Some((node, CommandKind::Control(flow))) = command.map(|(node, command)| (node, &**command))
        else {
            return Ok(Vec::new());
        };
        let used: Vec<_> = flow.bodies.iter().flat_map(|body| body.memory()).map(|(key, _)| key).collect();
        let bodies =
            flow.bodies.iter().map(|body| executable(body, layout, memory.only(used.iter().copied())));
        let bodies = bodies.collect::<Result<Vec<_>>>();
        bodies
            .map_err(|error| error.at(format!("{} node {}", flow.name(), layout.flat.origin(node as usize))))
    };
    layout.partitions.iter().map(bodies).collect()
}

/// The accesses of bodies to parts of buffers.
fn requirements(bodies: &[Vec<ExecutableGraph>]) -> OfBodies {
    let of_partition = |bodies: &Vec<ExecutableGraph>| {
        let all = bodies.iter().flat_map(|body| body.prepared().requirements.clone());
        all.map(of_body).collect()
    };
    bodies.iter().map(of_partition).collect()
}

/// A body as an executable graph of its own.
fn executable(body: &Arc<dyn ControlBody>, layout: &Layout, around: Memory) -> Result<ExecutableGraph> {
    let (queue, options) = (&layout.queue, layout.options);
    let any = Arc::clone(body) as Arc<dyn Any + Send + Sync>;
    let graph = any.downcast_ref::<GraphBody>();
    graph.map_or(Ok(()), GraphBody::check_unchanged)?;
    let frozen = frozen(body, queue.context(), queue.device())?;
    let at = |error: Error| match graph {
        Some(body) => body.graph.at(error),
        None => error,
    };
    let executable = ExecutableGraph::new(frozen, options, around, &[]).map_err(at)?;
    match executable.layout().externals.iter().any(|external| external.is_used) {
        true => Err(at(waits_outside())),
        false => Ok(executable),
    }
}

/// A body as a graph, as it is now. An executable is the only node of one, and nothing is one without nodes.
pub(in crate::graph) fn frozen(
    body: &Arc<dyn ControlBody>,
    context: &Context,
    device: &Device,
) -> Result<Frozen> {
    let any = Arc::clone(body) as Arc<dyn Any + Send + Sync>;
    if let Some(body) = any.downcast_ref::<GraphBody>() {
        return body.graph.freeze();
    }
    let graph = Graph::builder(context, device).allow_device_globals().build()?;
    if let Some(body) = any.downcast_ref::<ExecutableGraph>() {
        graph.add(Command::graph(body))?;
    }
    graph.inner().freeze()
}

fn waits_outside() -> Error {
    Error::invalid("a body waits for an event from outside")
        .remedy("let the node of the loop or condition wait for the event")
}
