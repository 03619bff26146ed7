//! Changes of one node (`sycl_ext_oneapi_graph`, section 7.4.1), and of its whole command.

use std::sync::Arc;

use crate::MakeError as _;
use crate::command::{Command, CommandKind};
use crate::graph::model::describe::NodeType;
use crate::graph::model::dynamics::Changed;
use crate::graph::model::insert::Origin;
use crate::graph::model::node::Node;
use crate::range::{LaunchRange, NdRange, Range};
use crate::{Error, Result};

impl Node {
    /// Gives a kernel that was added with a plain range another one. An offset stays.
    ///
    /// The graph has it at once, executables when they are updated with the node. On a node of a
    /// [`DynamicCommandGroup`](crate::graph::DynamicCommandGroup) it is the range of the active command,
    /// in all nodes of the group.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the node is no kernel, has work-groups of a
    /// given size, or has a range of another number of dimensions. The launch's errors when the
    /// kernel cannot run with the range on the device. The node has not changed then.
    pub fn update_range(&self, range: impl Into<Range>) -> Result<()> {
        let range = range.into();
        self.set_range(|current| match current.local() {
            Some(_) => {
                Err(Error::invalid("the node has work-groups of a given size, and is given a plain range")
                    .remedy("call `update_nd_range`, or replace its command by `update_command`"))
            }
            None => Ok(current.with_global(range)),
        })
    }

    /// Gives a kernel another range and offset. If it was added with work-groups of a given size,
    /// they get another size, too.
    ///
    /// # Errors
    /// As [`update_range`](Self::update_range); and when one has work-groups of a given size and
    /// the other has not.
    pub fn update_nd_range(&self, range: impl LaunchRange) -> Result<()> {
        let range = range.nd_range();
        self.set_range(|current| {
            match (current.local(), range.local()) {
                (Some(_), None) => {
                    Err(Error::invalid("the node has work-groups of a given size, the new range has none"))
                }
                (None, Some(_)) => Err(Error::invalid(
                    "the node has a plain range, the new one has work-groups of a given size",
                )),
                _ => Ok(range),
            }
            .map_err(|error| error.remedy("replace the node's command by `update_command`"))
        })
    }

    fn set_range(&self, new: impl FnOnce(&NdRange) -> Result<NdRange>) -> Result<()> {
        let graph = self.graph();
        let set = || {
            let mut state = graph.state();
            let owner = state.owner(self.id());
            let Some(CommandKind::Kernel { range, call }) = state.command_of(owner).map(|command| &**command)
            else {
                return Err(Error::invalid("only kernels have a range"));
            };
            let to = new(range)?;
            if to.global().dimensions() != range.global().dimensions() {
                return Err(Error::invalid(format!(
                    "the node has a range of {} dimensions, the new one has {}",
                    range.global().dimensions(),
                    to.global().dimensions()
                )));
            }
            let mut new = CommandKind::Kernel { range: to, call: call.clone() };
            new.follow();
            new.check_parameters(graph.context(), graph.device())?;
            state.change(owner, |command| {
                if let CommandKind::Kernel { range, .. } = command {
                    *range = to;
                }
            });
            state.dynamics.note_change(owner.into());
            Ok(())
        };
        set().map_err(|error| graph.at(error.at(self.place())))
    }

    /// Puts another command of the same type in the place of the node's: another copy, fill, host
    /// task, or kernel, with whatever arguments and range. Its dependencies stay as they are.
    ///
    /// The graph has it at once, executables when they are updated with the node. The specification
    /// has this for kernels only, through dynamic command groups (its issue 10.1).
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the command is of another
    /// [type](Node::node_type), of one that cannot be updated, or names events. The same when the
    /// node's command comes from a [`DynamicCommandGroup`](crate::graph::DynamicCommandGroup). Otherwise
    /// as [`Graph::add`](crate::Graph::add). The node has not changed then.
    pub fn update_command(&self, command: Command) -> Result<()> {
        let graph = self.graph();
        let (kind, events) = command.into_parts();
        let replace = || {
            let (ty, now) = (NodeType::of(&kind), self.node_type());
            if ty != now {
                return Err(Error::invalid(format!("the node is a {now}, the new command is a {ty}")));
            }
            if !ty.is_updatable() {
                return Err(Error::invalid(format!("a {ty} cannot be updated")));
            }
            if let CommandKind::Control(flow) = &kind {
                let state = graph.state();
                let now = state.dag.payload(self.id()).map(|data| Arc::clone(&data.command));
                drop(state);
                if !matches!(now.as_deref(), Some(CommandKind::Control(now)) if now.has_same_bodies(flow)) {
                    return Err(Error::invalid("the new command has other bodies than the node's")
                        .remedy("update the nodes of the bodies, or build the graph again"));
                }
            }
            if !events.is_empty() {
                return Err(Error::invalid("the new command waits for events, but edges stay as they are"));
            }
            let origin = Origin::Explicit { all_leaves: false };
            graph.check(&kind, &kind.requirements(), false, origin)?;
            let mut state = graph.state();
            if state.dag.payload(self.id()).is_some_and(|data| data.group.is_some()) {
                return Err(Error::invalid("the node's command comes from a dynamic command group")
                    .remedy("make another command of the group active"));
            }
            let before = state.replace(self.id(), kind);
            state.dynamics.note_change(Changed::Node(self.id()));
            drop(state);
            drop(before);
            Ok(())
        };
        replace().map_err(|error| match error.place() {
            [first, ..] if first.starts_with("graph ") => error,
            _ => graph.at(error.at(self.place())),
        })
    }
}
