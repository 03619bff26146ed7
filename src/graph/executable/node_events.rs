//! Events of nodes, for submissions that are still to be made.
//!
//! Such a node ends a partition ([`partition`](crate::graph::plan::partition)). Its event is a promise
//! that the next submission fulfils with the event of the partition. Executables without such nodes
//! are divided and submitted as ever.

use std::sync::Arc;

use super::awaited::NodePromises;
use super::handle::ExecutableGraph;
use crate::event::Promise;
use crate::graph::model::node::Node;
use crate::{Error, Event, MakeError as _, Queue, Result};

impl ExecutableGraph {
    /// An event of the next submission, which is complete when the node is. Commands of any queue
    /// may depend on it, and the host may wait for it or await it, before the graph is submitted and
    /// after. The node must have been named to [`Finalizer::events_of`](crate::graph::Finalizer::events_of).
    ///
    /// Until the next submission, each call for a node gives the same event; from then on, that of the
    /// submission after. The event fails if the node does, if the submission fails, and if the executable
    /// is dropped without one. A submission that is refused as its events from outside are not all given
    /// is none.
    ///
    /// A wait before the submission takes until another thread makes it. As a sub-graph, an executable
    /// gives no events: name the node of the sub-graph when the outer graph is finalized.
    ///
    /// ```no_run
    /// # use oclave::graph::Node;
    /// # use oclave::{Graph, Queue, Result, UsmSlice};
    /// # fn f(graph: &Graph, edges: &Node, queue: &Queue, io: &Queue, x: &UsmSlice<f32>) -> Result<()> {
    /// let executable = graph.finalizer().events_of(edges).finalize()?;
    /// for _ in 0..10 {
    ///     let found = executable.event_of(edges)?;
    ///     queue.submit_graph(&executable)?;
    ///     let sent = io.after(&found).read_async(x)?; // while the rest of the graph runs
    ///     println!("{:?}", sent.wait()?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a node of another graph, and one that was not named.
    /// A submission is [`Invalid`](crate::ErrorKind::Invalid) if it would come after a command that
    /// waits for the event, as both would wait for ever.
    pub fn event_of(&self, node: &Node) -> Result<Event> {
        let layout = self.layout();
        if node.graph().id() != layout.graph {
            return Err(self.at(of_another_graph(node)));
        }
        let Some(partition) = layout.ends.get(&(node.index() as u32)) else {
            return Err(self.at(Error::invalid(format!("{} was not named for events", node.place()))
                .remedy("finalize the graph with `graph.finalizer().events_of(&node)`")));
        };
        let mut awaited = self.inner().awaited.0.lock();
        let promise = match awaited.iter().find(|(other, _)| other == partition) {
            Some((_, promise)) => Arc::clone(promise),
            None => {
                let promise = Promise::new(layout.options.profiling);
                awaited.push((*partition, Arc::clone(&promise)));
                promise
            }
        };
        Ok(Event::promised(promise))
    }

    /// Takes the promises that a submission which begins now must fulfil. It is to come after `before`,
    /// and after the deferred commands of the queue.
    ///
    /// # Errors
    /// When it would come after what waits for it.
    pub(super) fn take_promises(
        &self,
        queue: &Queue,
        before: impl Iterator<Item = Arc<Promise>>,
    ) -> Result<NodePromises> {
        if self.layout().ends.is_empty() {
            return Ok(NodePromises(Vec::new()));
        }
        let mut awaited = self.inner().awaited.0.lock();
        if awaited.is_empty() {
            return Ok(NodePromises(Vec::new()));
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

pub(super) fn of_another_graph(node: &Node) -> Error {
    let (number, graph) = (node.index(), node.graph().id());
    Error::invalid(format!("node {number} belongs to graph {graph}"))
        .remedy("name a node of the graph itself; of a sub-graph or a loop, the node that it is")
}
