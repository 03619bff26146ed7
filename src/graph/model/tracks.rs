//! The queues that record to a graph.
//!
//! Lock order: a graph's state, then a queue's recording.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::command::{Recorder, Recording};
use crate::dag::NodeId;

/// A queue among those that ever recorded to one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrackId(u32);

/// The order of a recorded command beside the dependencies that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum Role {
    /// A command like any other.
    Plain,
    /// Joins what came before on its queue.
    Marker,
    /// Joins what came before on its queue, and what comes after it there waits for it.
    Barrier,
}

/// One queue. What it recorded last outlives pauses.
struct Track {
    queue: Weak<Recording>,
    in_order: bool,
    recording: bool,
    /// Itself; or for a queue that began to record because of an event, the queue that gave the
    /// reason for it.
    root: TrackId,
    /// In order: the last node from the queue.
    last: Option<NodeId>,
    /// Out of order: the last barrier from the queue.
    barrier: Option<NodeId>,
    /// Out of order: all nodes that the next barrier may have to wait for. Those that have a
    /// successor from the queue itself are found out when it comes.
    front: Vec<NodeId>,
}

/// The queues that record to a graph, or did.
#[derive(Default)]
pub(in crate::graph) struct Tracks {
    tracks: Vec<Track>,
    by_queue: HashMap<u64, TrackId>,
}

impl Tracks {
    /// Lets a queue record. `Some` when it did not before; an error when it records to another
    /// graph.
    pub(in crate::graph) fn begin(
        &mut self,
        graph: &Weak<dyn Recorder>,
        queue: &Arc<Recording>,
        in_order: bool,
        root: Option<TrackId>,
    ) -> Result<Option<TrackId>, OtherGraph> {
        if !queue.begin(graph).map_err(|_| OtherGraph)? {
            return Ok(None);
        }
        let next = TrackId(self.tracks.len() as u32);
        let id = *self.by_queue.entry(queue.id()).or_insert(next);
        if id == next {
            let queue = Arc::downgrade(queue);
            let (last, barrier, front) = (None, None, Vec::new());
            self.tracks.push(Track { queue, in_order, recording: true, root: id, last, barrier, front });
        }
        if let Some(track) = self.tracks.get_mut(id.0 as usize) {
            track.recording = true;
            track.root = root.unwrap_or(id);
        }
        Ok(Some(id))
    }

    /// Ends the recording of those queues that `which` tells; it is given the queue and its root.
    /// Whether there was one.
    pub(in crate::graph) fn end(
        &mut self,
        graph: &Weak<dyn Recorder>,
        which: impl Fn(TrackId, TrackId) -> bool,
    ) -> bool {
        let mut ended = false;
        for (index, track) in self.tracks.iter_mut().enumerate() {
            if track.recording && which(TrackId(index as u32), track.root) {
                track.recording = false;
                if let Some(queue) = track.queue.upgrade() {
                    ended |= queue.end(graph);
                }
            }
        }
        ended
    }

    pub(in crate::graph) fn id_of(&self, queue: &Recording) -> Option<TrackId> {
        self.by_queue.get(&queue.id()).copied()
    }

    /// The queues that record.
    pub(in crate::graph) fn recording(&self) -> Vec<TrackId> {
        let records = |(_, track): &(u32, &Track)| track.recording && track.queue.strong_count() > 0;
        (0..).zip(&self.tracks).filter(records).map(|(index, _)| TrackId(index)).collect()
    }

    /// The queue whose recording has a number.
    pub(in crate::graph) fn by_number(&self, recording: u64) -> Option<TrackId> {
        self.by_queue.get(&recording).copied()
    }

    /// Whether a queue that still exists records.
    pub(in crate::graph) fn any_recording(&self) -> bool {
        self.tracks.iter().any(|track| track.recording && track.queue.strong_count() > 0)
    }

    pub(in crate::graph) fn is_recording(&self, id: TrackId) -> bool {
        self.track(id).is_some_and(|track| track.recording)
    }

    /// The queue because of which another one records that depends on a node: the root of the node's queue. If that
    /// records no more, or the node is of no queue, it is the first that records.
    pub(in crate::graph) fn root_for(&self, of_node: Option<TrackId>) -> Option<TrackId> {
        let root = of_node.and_then(|id| self.track(id)).map(|track| track.root);
        let first = || self.recording().first().and_then(|id| self.track(*id)).map(|track| track.root);
        root.filter(|root| self.is_recording(*root)).or_else(first)
    }

    /// A queue that records does so because of no other one any more.
    pub(in crate::graph) fn stands_alone(&mut self, queue: &Recording) {
        let Some(id) = self.id_of(queue) else { return };
        if let Some(track) = self.tracks.get_mut(id.0 as usize) {
            track.root = id;
        }
    }

    /// Adds what a command from this queue waits for without saying so (sections 7.6.3 and 7.12.6).
    /// `named` tells whether it names events, `precedes_own` whether a node has a successor from
    /// this queue.
    pub(in crate::graph) fn implicit(
        &self,
        id: TrackId,
        role: Role,
        named: bool,
        precedes_own: impl Fn(NodeId) -> bool,
        predecessors: &mut Vec<NodeId>,
    ) {
        debug_assert!(self.track(id).is_some(), "queue {} of a graph", id.0);
        let Some(track) = self.track(id) else { return };
        if track.in_order {
            predecessors.extend(track.last);
        } else if role == Role::Plain || named {
            predecessors.extend(track.barrier);
        } else {
            predecessors.extend(track.front.iter().copied().filter(|node| !precedes_own(*node)));
        }
    }

    /// Notes a node that was added for a command from this queue.
    pub(in crate::graph) fn note(&mut self, id: TrackId, role: Role, named: bool, node: NodeId) {
        debug_assert!(self.track(id).is_some(), "queue {} of a graph", id.0);
        let Some(track) = self.tracks.get_mut(id.0 as usize) else { return };
        if track.in_order {
            track.last = Some(node);
            return;
        }
        if role == Role::Barrier {
            track.barrier = Some(node);
        }
        if role != Role::Plain && !named {
            // All of them are in front of it now.
            track.front.clear();
        }
        track.front.push(node);
    }

    fn track(&self, id: TrackId) -> Option<&Track> {
        self.tracks.get(id.0 as usize)
    }
}

/// The queue records to another graph.
#[derive(Debug)]
pub(in crate::graph) struct OtherGraph;
