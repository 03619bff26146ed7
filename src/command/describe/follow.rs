//! The parts of commands that follow parameters of graphs.

use super::argument::Argument;
use super::command::CommandKind;
use super::compare::is_same;
use super::parameter::{Binding, newest_of};
use crate::MakeError as _;
use crate::{Error, Result};

/// The parts of a command that follow parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    Nothing,
    /// Arguments by value, of a kernel that runs.
    Values,
    /// More than that.
    Other,
}

impl CommandKind {
    /// The arguments that follow a parameter.
    pub(crate) fn bindings(&self) -> &[Binding] {
        match self {
            Self::Kernel { call, .. } => call.bindings(),
            Self::Control(flow) => flow.value.bindings(),
            _ => &[],
        }
    }

    /// Refuses arguments that follow a parameter of anything but this graph; `None`: the command is
    /// for a queue.
    pub(crate) fn check_bindings(&self, graph: Option<u64>) -> Result<()> {
        let Some(foreign) = self.bindings().iter().find(|binding| Some(binding.parameter.graph) != graph)
        else {
            return Ok(());
        };
        let owner = foreign.parameter.graph;
        let error = match graph {
            Some(_) => {
                Error::invalid(format!("a dynamic parameter of graph {owner} was given to another graph"))
                    .remedy("make a parameter for each graph")
            }
            None => Error::invalid(format!(
                "a dynamic parameter of graph {owner} was given to a command that is run at once"
            ))
            .remedy("give it a value, or add the command to the graph"),
        };
        Err(error.at(format!("argument {}", foreign.argument)))
    }

    /// The parts of the command that parameters may change.
    pub(crate) fn follows(&self) -> Follows {
        let (range, call) = match self {
            Self::Kernel { range, call } => (range, call),
            Self::Control(flow) if !flow.value.bindings().is_empty() => return Follows::Other,
            _ => return Follows::Nothing,
        };
        let is_value = |binding: &Binding| match call.arguments().get(binding.argument) {
            Some(Argument::Value(value)) => !value.is_raw(),
            _ => false,
        };
        match call.bindings() {
            [] => Follows::Nothing,
            bindings if bindings.iter().all(is_value) && !range.global().is_empty() => Follows::Values,
            _ => Follows::Other,
        }
    }

    /// Whether an argument that follows a parameter is not what that is now.
    pub(crate) fn is_behind(&self) -> bool {
        let call = match self {
            Self::Kernel { call, .. } => call,
            Self::Control(flow) => return flow.value.is_behind(),
            _ => return false,
        };
        newest_of(self.bindings()).any(|Binding { argument, parameter }| {
            call.arguments().get(*argument).is_some_and(|before| !is_same(before, &parameter.current()))
        })
    }

    /// Gives all arguments that follow a parameter its value.
    pub(crate) fn follow(&mut self) {
        match self {
            Self::Kernel { call, .. } => call.follow(),
            Self::Control(flow) => flow.value.follow(),
            _ => {}
        }
    }
}
