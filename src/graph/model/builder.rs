//! Adding a node after others.

use std::sync::Arc;

use super::graph::Graph;
use super::insert::Origin;
use super::node::Node;
use super::state::GraphInner;
use crate::command::Command;
use crate::dag::NodeId;
use crate::handles::Handles;
use crate::{Error, Result};

/// The dependencies of the next node; from [`Graph::after`] and [`Graph::after_all_leaves`] (sections
/// 7.4.4 and 7.4.5).
#[must_use = "no node is added before `add` or `add_empty`"]
#[derive(Debug)]
pub struct NodeBuilder<'a> {
    graph: &'a Arc<GraphInner>,
    after: Vec<NodeId>,
    all_leaves: bool,
    /// A node of another graph that was named.
    foreign: Option<Error>,
}

impl<'a> NodeBuilder<'a> {
    pub(in crate::graph) fn new(graph: &'a Graph) -> Self {
        Self { graph: graph.inner(), after: Vec::new(), all_leaves: false, foreign: None }
    }

    /// Also after these.
    pub fn after<'b>(mut self, nodes: impl Handles<'b, Node>) -> Self {
        for node in nodes.handles() {
            match self.graph.own(node) {
                Ok(id) => self.after.push(id),
                Err(error) => self.foreign = self.foreign.or(Some(error)),
            }
        }
        self
    }

    /// Also after all nodes that nothing depends on when the node is added.
    pub fn after_all_leaves(mut self) -> Self {
        self.all_leaves = true;
        self
    }

    /// [`Graph::add`].
    ///
    /// # Errors
    /// As there; also [`Invalid`](crate::ErrorKind::Invalid) when a node is of another graph.
    #[allow(clippy::should_implement_trait, reason = "the name that the graph's own function has")]
    pub fn add(self, command: impl NodeSource) -> Result<Node> {
        match self.foreign {
            Some(error) => Err(error),
            None => command.add_to(self.graph, self.after, Origin::Explicit { all_leaves: self.all_leaves }),
        }
    }
}

impl Graph {
    /// Adds a command. It depends on the nodes of the events that it names
    /// ([`Command::after`](crate::Command::after)), and on those that use the same parts of its
    /// buffers.
    ///
    /// A [`DynamicCommandGroup`](crate::graph::DynamicCommandGroup) is added like a command.
    ///
    /// Also while a queue records to the graph; the commands that are recorded do not wait for the
    /// node then, unless they share buffers. Host code that describes the command runs now and once
    /// only; what shall run each time is a host task.
    ///
    /// # Errors
    ///
    /// - [`Invalid`](crate::ErrorKind::Invalid) for barriers. Use an empty node after others.
    /// - [`Invalid`](crate::ErrorKind::Invalid) for events of other graphs and memory of other
    ///   contexts.
    /// - [`Invalid`](crate::ErrorKind::Invalid) for buffers that write back to the host on drop.
    /// - [`Invalid`](crate::ErrorKind::Invalid) for device globals without
    ///   [`allow_device_globals`](crate::graph::GraphBuilder::allow_device_globals).
    /// - What a queue refuses the command for.
    pub fn add(&self, command: impl NodeSource) -> Result<Node> {
        NodeBuilder::new(self).add(command)
    }

    /// For a node that depends on others: `graph.after(&a).add(command)`, `graph.after(&[&a,
    /// &b]).add(command)`.
    pub fn after<'a>(&self, nodes: impl Handles<'a, Node>) -> NodeBuilder<'_> {
        NodeBuilder::new(self).after(nodes)
    }

    /// For a node that depends on all nodes that nothing depends on yet.
    pub fn after_all_leaves(&self) -> NodeBuilder<'_> {
        NodeBuilder::new(self).after_all_leaves()
    }
}

pub(in crate::graph) mod sealed {
    use super::{Arc, GraphInner, Node, NodeId, Origin, Result};

    pub trait Sealed {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "of a sealed trait")]
        fn add_to(self, graph: &Arc<GraphInner>, after: Vec<NodeId>, origin: Origin) -> Result<Node>;
    }
}

/// A source of nodes: a [`Command`] (or a value that can be made one), a
/// [`DynamicCommandGroup`](crate::graph::DynamicCommandGroup).
pub trait NodeSource: sealed::Sealed {}

#[allow(private_interfaces, reason = "of a sealed trait")]
impl<C: Into<Command>> sealed::Sealed for C {
    fn add_to(self, graph: &Arc<GraphInner>, after: Vec<NodeId>, origin: Origin) -> Result<Node> {
        graph.insert(self.into(), after, origin)
    }
}
impl<C: Into<Command>> NodeSource for C {}
