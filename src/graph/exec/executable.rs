//! Executable graphs.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::options::{Options, ReplayStrategy};
use super::partition::{PartitionExec, PartitionState};
use super::prepare::{Place, Source, Steps};
use crate::command::{CommandKind, GraphCommand};
use crate::dag::NodeId;
use crate::driver::mutable::Patches;
use crate::graph::model::dynamics::{Changes, Dynamics};
use crate::graph::model::snapshot::Frozen;
use crate::graph::plan::flatten::Flat;
use crate::graph::plan::partition::{Partition, partition};
use crate::memory::buffer::{self, Requirement};
use crate::{Context, Device, Error, Event, Node, Queue, Result};

/// A graph that is ready to run, again and again (`sycl_ext_oneapi_graph`, section 7.5.1); from
/// [`Graph::finalize`](crate::Graph::finalize).
///
/// It is put on a queue like one command: [`Queue::submit_graph`], or
/// [`Command::graph`](crate::Command::graph) for one with dependencies. On a recording queue, and
/// when it is added to another graph, it becomes a sub-graph. One instance runs at a time: a
/// submission waits for the one before it, on whatever queue (section 7.6.5).
///
/// A handle: clones are of the same executable, and equal. It keeps alive all that its commands
/// use, the graph that it was made from not needed; it may be dropped while it runs. It may be
/// submitted by many threads.
///
/// ```no_run
/// # use oclave::{DynamicParameter, Graph, Queue, Result};
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

pub(in crate::graph) struct Inner {
    pub(super) id: u64,
    pub(in crate::graph) graph: u64,
    /// Of the graph's nodes, and how many of them all nodes of this have.
    changes: Arc<Changes>,
    seen: AtomicU64,
    warned: AtomicBool,
    /// For commands to be prepared with; of the context and device. All executables share it.
    pub(in crate::graph) queue: Queue,
    pub(in crate::graph) options: Options,
    flat: RwLock<Flat>,
    pub(in crate::graph) partitions: Vec<Partition>,
    pub(super) requirements: RwLock<Vec<Arc<Requirement>>>,
    /// Where each node of `flat` went. Changes with the state only.
    places: RwLock<Vec<Option<Place>>>,
    state: Mutex<State>,
    /// The event of the last submission, as far as the next one must wait for it.
    pub(in crate::graph) turn: Mutex<Option<Event>>,
}

/// What submissions and updates take turns at.
pub(in crate::graph) struct State {
    /// By partition; `None` for host tasks.
    pub(in crate::graph) device: Vec<Option<PartitionState>>,
    /// What it was made from; for updates.
    pub(in crate::graph) frozen: Option<Frozen>,
    /// For updates.
    pub(in crate::graph) patches: Patches,
    /// The numbers of nodes that lack one of the first so many changes.
    pub(in crate::graph) outdated: (Vec<usize>, u64),
}

impl ExecutableGraph {
    pub(in crate::graph) fn new(frozen: Frozen, options: Options) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (graph, (changes, seen)) = (frozen.graph, frozen.changes.clone());
        if options.strategy == ReplayStrategy::CommandBuffer {
            frozen.device.require_command_buffers()?;
        }
        let queue = Queue::internal(&frozen.context, &frozen.device)?;
        let subs = sub_graphs(&frozen)?;
        let settled = |node| subs.get(&node).map(Self::settled).ok_or_else(|| no_sub_graph(node));
        let flat = Flat::new(&frozen, settled)?;
        let partitions = partition(&flat)?;
        let mut places = vec![None; flat.len()];
        let mut parts = Vec::with_capacity(partitions.len());
        for (index, partition) in (0..).zip(&partitions) {
            let nodes = partition.nodes.as_slice();
            let source = Source { flat: &flat, nodes, partition: index, queue: &queue, options };
            let exec = (!partition.host).then(|| PartitionExec::new(source, &mut places)).transpose()?;
            parts.push(exec.map(PartitionState::new));
        }
        let requirements = requirements(&flat);
        Ok(Self(Arc::new(Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            graph,
            changes,
            seen: AtomicU64::new(seen),
            warned: AtomicBool::new(false),
            queue,
            options,
            flat: RwLock::new(flat),
            partitions,
            requirements: RwLock::new(requirements),
            places: RwLock::new(places),
            state: Mutex::new(State {
                device: parts,
                frozen: options.updatable.then(|| frozen.without_commands()),
                patches: Patches::default(),
                outdated: (Vec::new(), seen),
            }),
            turn: Mutex::new(None),
        })))
    }

    pub(crate) fn context(&self) -> &Context {
        self.0.queue.context()
    }

    pub(crate) fn device(&self) -> &Device {
        self.0.queue.device()
    }

    pub(super) fn from_inner(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    /// It, as the layer of commands knows it.
    pub(super) fn command(&self) -> Arc<dyn GraphCommand> {
        Arc::clone(&self.0) as Arc<dyn GraphCommand>
    }

    pub(in crate::graph) fn id(&self) -> u64 {
        self.0.id
    }

    /// How many commands there are, those of sub-graphs included.
    pub fn len(&self) -> usize {
        self.flat().len()
    }

    /// Whether there is no command.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_updatable(&self) -> bool {
        self.0.options.updatable
    }

    /// Notes that nodes were updated. Those that were changed and are not among them lack changes.
    pub(in crate::graph) fn note_updated(&self, state: &mut State, dynamics: &Dynamics, updated: &[&Node]) {
        let (outdated, known) = &mut state.outdated;
        outdated.extend(dynamics.changed_after(*known).map(NodeId::index));
        outdated.sort_unstable();
        outdated.dedup();
        let mut updated: Vec<usize> = updated.iter().map(|node| node.index()).collect();
        updated.sort_unstable();
        let mut updated = updated.into_iter().peekable();
        let flat = self.flat();
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
        let Inner { options, changes, seen, warned, graph, id, .. } = &*self.0;
        let is_behind = options.updatable && changes.count() != seen.load(Ordering::Relaxed);
        if is_behind && !warned.swap(true, Ordering::Relaxed) {
            log::warn!(
                "executable graph {id} runs with old values: parameters or nodes of graph {graph} were changed, and it was not \
                 updated with all of these nodes; call `executable.set(&parameter, value)`, or `executable.update(&nodes)` after the change"
            );
        }
    }

    pub(crate) fn flat(&self) -> RwLockReadGuard<'_, Flat> {
        self.0.flat.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// For updates, which have the state.
    pub(in crate::graph) fn flat_mut(&self) -> RwLockWriteGuard<'_, Flat> {
        self.0.flat.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commands with buffers have changed.
    pub(in crate::graph) fn find_requirements(&self) {
        let requirements = requirements(&self.flat());
        *self.0.requirements.write().unwrap_or_else(PoisonError::into_inner) = requirements;
    }

    pub(in crate::graph) fn inner(&self) -> &Inner {
        &self.0
    }

    /// The first part, where it is all there is and for the device, so that it can be put on a
    /// queue at once.
    pub(in crate::graph) fn is_one_device_part(&self) -> bool {
        matches!(self.0.partitions.as_slice(), [Partition { host: false, .. }])
    }

    /// Where a node of the flat graph went.
    pub(in crate::graph) fn place(&self, node: u32) -> Option<Steps> {
        self.places().get(node as usize)?.as_ref().map(|place| place.step.clone())
    }

    pub(in crate::graph) fn places(&self) -> RwLockReadGuard<'_, Vec<Option<Place>>> {
        self.0.places.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// For updates, which have the state.
    pub(in crate::graph) fn places_mut(&self) -> RwLockWriteGuard<'_, Vec<Option<Place>>> {
        self.0.places.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the partitions for the device, with their numbers and nodes.
    pub(in crate::graph) fn each_part(&self, mut look: impl FnMut(usize, &[u32], &PartitionExec)) {
        let state = self.state();
        for (index, (partition, part)) in self.0.partitions.iter().zip(&state.device).enumerate() {
            part.iter().for_each(|part| look(index, &partition.nodes, &part.exec));
        }
    }

    pub(in crate::graph) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::graph) fn at(&self, error: Error) -> Error {
        self.0.at(error)
    }
}

impl Inner {
    pub(super) fn at(&self, error: Error) -> Error {
        error.at(format!("graph {}", self.graph))
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

/// What the commands do to parts of buffers, each once.
fn requirements(flat: &Flat) -> Vec<Arc<Requirement>> {
    let commands = (0..flat.len()).filter_map(|node| flat.command(node));
    let all: Vec<Arc<Requirement>> = commands.flat_map(|command| command.requirements()).collect();
    buffer::joined(all.iter())
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
        let commands = self.flat.read().unwrap_or_else(PoisonError::into_inner).len();
        write!(f, "ExecutableGraph({} of graph {}, {commands} commands)", self.id, self.graph)
    }
}
