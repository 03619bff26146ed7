//! Promises of events of nodes, for submissions that are still to be made.
//!
//! Such a node ends a partition ([`partition`](crate::graph::plan::partition)). Its event is a promise
//! that the next submission fulfils with the event of the partition. Executables without such nodes
//! are divided and submitted as ever.

use std::sync::Arc;

use crate::driver::sync::Mutex;
use crate::event::{Outcome, Promise};
use crate::graph::model::node::Node;
use crate::{Error, ErrorKind, Event, MakeError as _, Queue, Result};

/// The promises for the next submission, by partition.
#[derive(Default)]
pub(super) struct Awaited(Mutex<Vec<(u32, Arc<Promise>)>>);

/// The promises that a submission must fulfil, by partition.
#[derive(Default)]
#[must_use]
pub(super) struct NodePromises(Vec<(u32, Arc<Promise>)>);

impl Awaited {
    /// The promise of a partition.
    pub(super) fn promise(&self, partition: u32, profiling: bool) -> Arc<Promise> {
        let mut awaited = self.0.lock();
        if let Some((_, promise)) = awaited.iter().find(|(other, _)| *other == partition) {
            return Arc::clone(promise);
        }
        let promise = Promise::new(profiling);
        awaited.push((partition, Arc::clone(&promise)));
        promise
    }

    /// Takes the promises that a submission which begins now must fulfil. It is to come after `before`,
    /// and after the deferred commands of the queue.
    ///
    /// # Errors
    /// When it would come after what waits for it.
    pub(super) fn take(
        &self,
        queue: &Queue,
        before: impl Iterator<Item = Arc<Promise>>,
    ) -> Result<NodePromises> {
        let mut awaited = self.0.lock();
        if awaited.is_empty() {
            return Ok(NodePromises::default());
        }
        let mut promises = queue.order().in_the_way();
        promises.extend(before);
        let waits = |own: &Arc<Promise>| promises.iter().any(|promise| promise.waits_for(own));
        if awaited.iter().any(|(_, own)| waits(own)) {
            return Err(Error::invalid("the submission comes after a command that waits for its node")
                .remedy("put commands that wait for `event_of(&node)` on another queue, or submit the graph first"));
        }
        Ok(NodePromises(std::mem::take(&mut *awaited)))
    }
}

impl NodePromises {
    /// Fulfils them with the events of the partitions.
    pub(super) fn fulfil(self, events: &[Event]) {
        for (partition, promise) in self.0 {
            match events.get(partition as usize) {
                Some(event) => promise.follow(event),
                None => fail(&promise, Error::bug("a partition without an event")),
            }
        }
    }

    /// The submission has failed.
    pub(super) fn fail(self, error: &Error) {
        self.0.iter().for_each(|(_, promise)| fail(promise, error.clone()));
    }
}

fn fail(promise: &Promise, error: Error) {
    promise.settle(Outcome::Failed(error));
}

impl Drop for Awaited {
    fn drop(&mut self) {
        for (_, promise) in std::mem::take(&mut *self.0.lock()) {
            let error =
                Error::new(ErrorKind::Runtime, "the executable graph was dropped before a submission");
            fail(&promise, error.remedy("submit it after `event_of`"));
        }
    }
}

pub(super) fn of_another_graph(node: &Node) -> Error {
    let (number, graph) = (node.index(), node.graph().id());
    Error::invalid(format!("node {number} belongs to graph {graph}"))
        .remedy("name a node of the graph itself; of a sub-graph or a loop, the node that it is")
}
