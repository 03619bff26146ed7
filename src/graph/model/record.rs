//! Recording: queues that give their commands to a graph instead of the device (sections 7.6 and
//! 7.11).

use std::any::Any;
use std::sync::{Arc, Weak};

use super::graph::Graph;
use super::insert::Origin;
use super::state::GraphInner;
use super::tracks::{OtherGraph, TrackId};
use crate::MakeError as _;
use crate::command::{Command, Recorder};
use crate::dag::NodeId;
use crate::event::{NodeOwner, Recorded, Waited};
use crate::handles::Handles;
use crate::{Error, Event, Queue, Result};

/// Whether a queue executes commands or records them (`sycl_ext_oneapi_graph`, section 7.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueState {
    /// It gives them to the device.
    Executing,
    /// It gives them to a graph.
    Recording,
}

impl Graph {
    /// Lets a queue, or several, record: their commands become nodes of this graph instead of being
    /// run. This ends with [`end_recording`](Self::end_recording), or when the last handle of the
    /// graph is dropped. Code that puts commands on the queue need not know.
    ///
    /// The commands' dependencies become edges. These are events of commands recorded to the same
    /// graph, buffers that they share, the previous command of an in-order queue, and barriers. A
    /// command on another queue that depends on an event of a recorded one lets that queue record,
    /// too (`sycl_ext_oneapi_graph`, section 7.6.2).
    ///
    /// A queue that records to another graph records to this one until this recording ends, and then
    /// to the other one again. So a library may record a graph of its own inside of a recording, and
    /// submit it to the queue, which makes it a sub-graph. Its commands cannot depend on events of the
    /// outer recording.
    ///
    /// A queue that had joined because of an event goes on when the recording ends which it joined.
    ///
    /// Whether that changed anything: `false` when all of them record to this graph already.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when a queue is of another context or device. The same when a
    /// recording to another graph has begun inside of one to this graph. No queue has changed then.
    pub fn begin_recording<'a>(&self, queues: impl Handles<'a, Queue>) -> Result<bool> {
        let queues: Vec<&Queue> = queues.handles().collect();
        let begun = self.begin(queues.iter().copied())?;
        let mut state = self.inner().state();
        queues.iter().for_each(|queue| state.tracks.stands_alone(queue.recording()));
        Ok(!begun.is_empty())
    }

    /// As [`begin_recording`](Self::begin_recording), until the result is dropped. It also ends the
    /// recording of queues that joined because of events. Queues that recorded to this graph before
    /// go on.
    ///
    /// # Errors
    /// As there.
    pub fn record<'a>(&self, queues: impl Handles<'a, Queue>) -> Result<RecordingGuard<'_>> {
        self.begin(queues.handles()).map(|begun| RecordingGuard { graph: self, begun })
    }

    /// Ends the recording of all queues to this graph. Whether there was one.
    pub fn end_recording(&self) -> bool {
        self.inner().end_all_recording()
    }

    /// Ends the recording of a queue, or of several. Whether that changed anything.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), and no queue has changed, when one records to
    /// another graph.
    pub fn end_recording_of<'a>(&self, queues: impl Handles<'a, Queue>) -> Result<bool> {
        let queues: Vec<&Queue> = queues.handles().collect();
        for queue in &queues {
            if let Some(other) = recorded_to(queue)
                && !Arc::ptr_eq(&other, self.inner())
            {
                let message = format!("the queue records to graph {}", other.id());
                return Err(self.inner().at(Error::invalid(message).at("end of recording")));
            }
        }
        let ids: Vec<TrackId> = {
            let state = self.inner().state();
            queues.iter().filter_map(|queue| state.tracks.id_of(queue.recording())).collect()
        };
        Ok(self.inner().end_recording(|track, _| ids.contains(&track)))
    }

    /// Whether a queue records to this graph.
    pub fn is_recording(&self) -> bool {
        self.inner().state().tracks.any_recording()
    }

    /// Those that did not record before.
    fn begin<'a>(&self, queues: impl Iterator<Item = &'a Queue>) -> Result<Vec<TrackId>> {
        let mut begun = Vec::new();
        for queue in queues {
            match self.inner().begin_recording(queue, None) {
                Ok(Some(track)) => begun.push(track),
                Ok(None) => {}
                Err(error) => {
                    self.inner().end_recording(|track, _| begun.contains(&track));
                    return Err(error);
                }
            }
        }
        Ok(begun)
    }
}

impl GraphInner {
    pub(in crate::graph) fn weak_recorder(self: &Arc<Self>) -> Weak<dyn Recorder> {
        let weak: Weak<Self> = Arc::downgrade(self);
        weak
    }

    /// Lets a queue record; `root` is the queue because of which it does so. `None` when it did
    /// before.
    fn begin_recording(self: &Arc<Self>, queue: &Queue, root: Option<TrackId>) -> Result<Option<TrackId>> {
        let refuse = |message: String| self.at(Error::invalid(message).at("recording"));
        if queue.context() != self.context() || queue.device() != self.device() {
            return Err(refuse(format!(
                "the queue is of another context or device (`{}`) than the graph (`{}`)",
                queue.device().name(),
                self.device().name()
            )));
        }
        let in_order = !queue.is_out_of_order();
        let begun = self.state().tracks.begin(&self.weak_recorder(), queue.recording(), in_order, root);
        begun.map_err(|OtherGraph| {
            refuse("the queue records to another graph, inside of a recording to this one".to_owned())
                .remedy("end the inner recording first")
        })
    }

    fn end_recording(self: &Arc<Self>, which: impl Fn(TrackId, TrackId) -> bool) -> bool {
        self.state().tracks.end(&self.weak_recorder(), which)
    }

    pub(in crate::graph) fn end_all_recording(self: &Arc<Self>) -> bool {
        self.end_recording(|_, _| true)
    }

    /// Lets the queue of a command record, as the command depends on a node of this graph (section
    /// 7.6.2).
    fn join(self: &Arc<Self>, queue: &Queue, command: &Command) -> Result<Option<TrackId>> {
        let root = {
            let state = self.state();
            if !state.tracks.any_recording() {
                return Err(self
                    .at(Error::invalid(
                        "the command depends on an event that was recorded, and the recording has ended",
                    ))
                    .remedy("let it depend on the event of the submitted graph"));
            }
            let cause = command.dependencies().iter().find_map(|event| self.recorded(event));
            let track = cause.and_then(|id| state.dag.payload(id)).and_then(|data| data.track);
            state.tracks.root_for(track)
        };
        self.begin_recording(queue, root)
    }
}

impl GraphInner {
    /// Records a wait: what any recording queue does from now on comes after it.
    fn record_wait(&self, waited: Waited) -> Result<()> {
        let mut state = self.state();
        if !state.tracks.any_recording() {
            return Err(self
                .at(Error::invalid("the recording has ended, and its commands have not run"))
                .remedy("wait for the event of the submitted graph"));
        }
        let name = self.name_of(None, None);
        let (before, own) = match waited {
            Waited::Node(node) => (NodeId::new(node), None),
            Waited::Queue(queue) => {
                let Some(track) = state.tracks.by_number(queue).filter(|id| state.tracks.is_recording(*id))
                else {
                    return Ok(());
                };
                (state.insert_barrier(track, None, name.clone()), Some(track))
            }
        };
        for track in state.tracks.recording() {
            if Some(track) != own {
                state.insert_barrier(track, Some(before), name.clone());
            }
        }
        Ok(())
    }
}

impl Recorder for GraphInner {
    fn record(self: Arc<Self>, queue: &Queue, command: Command) -> Result<Result<Event, Command>> {
        let known = {
            let state = self.state();
            state.tracks.id_of(queue.recording()).filter(|id| state.tracks.is_recording(*id))
        };
        if known.is_none() && !command.dependencies().iter().any(|event| self.recorded(event).is_some()) {
            return Ok(Err(command));
        }
        let joined = if known.is_none() { self.join(queue, &command)? } else { None };
        // Nobody is known when another thread lets the queue join at the same time.
        let track = known.or(joined).or_else(|| self.state().tracks.id_of(queue.recording()));
        let node = match self.insert_unless_ended(command, Vec::new(), Origin::Recorded(track), Some(queue)) {
            Ok(Ok(node)) => node,
            Ok(Err(command)) => return Ok(Err(command)),
            Err(error) => {
                // A queue that joined because of this command leaves again.
                self.end_recording(|candidate, _| Some(candidate) == joined);
                return Err(error);
            }
        };
        Ok(Ok(Event::of_node(Recorded::new(self.weak_recorder(), node.id().number()))))
    }
}

impl NodeOwner for GraphInner {
    fn is_recording(&self) -> bool {
        self.state().tracks.any_recording()
    }

    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn wait_recorded(self: Arc<Self>, waited: Waited) -> Option<Result<()>> {
        self.waits_as_barriers().then(|| self.record_wait(waited))
    }

    fn recorder(self: Arc<Self>) -> Box<dyn Any> {
        let recorder: Arc<dyn Recorder> = self;
        Box::new(recorder)
    }
}

/// The graph that a queue records to.
pub(super) fn recorded_to(queue: &Queue) -> Option<Arc<GraphInner>> {
    queue.recording().recorder()?.any().downcast().ok()
}

impl Queue {
    /// Whether the queue records to a graph. Another thread may have changed it by the time you
    /// look.
    pub fn state(&self) -> QueueState {
        match self.recording().recorder() {
            Some(_) => QueueState::Recording,
            None => QueueState::Executing,
        }
    }

    /// The graph that the queue records to.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when it does not record.
    pub fn graph(&self) -> Result<Graph> {
        match recorded_to(self) {
            Some(graph) => Ok(Graph::of(graph)),
            None => Err(Error::invalid("the queue records to no graph").remedy("ask `queue.state()` before")),
        }
    }
}

/// Queues that record until this is dropped; from [`Graph::record`].
#[must_use = "the recording ends when this is dropped"]
#[derive(Debug)]
pub struct RecordingGuard<'a> {
    graph: &'a Graph,
    begun: Vec<TrackId>,
}

impl RecordingGuard<'_> {
    /// Ends the recording, as dropping does.
    pub fn end(self) {}
}

impl Drop for RecordingGuard<'_> {
    fn drop(&mut self) {
        self.graph.inner().end_recording(|_, root| self.begun.contains(&root));
    }
}
