//! Values that follow parameters, straight to what was prepared.
//!
//! While only values of its parameters have changed, a node of an executable shares its command
//! with the graph. A commit takes the values from the parameters. It neither reads nor copies those
//! of the command. They are in the prepared step or the block of the task then, and come into the
//! command when somebody reads it there.

use std::sync::{Arc, MutexGuard};

use crate::command::{Argument, Binding, CommandKind, Parameter, newest_of};
use crate::driver::mutable::Patches;
use crate::graph::exec::partition::PartitionExec;
use crate::graph::exec::prepare::{Place, PreparedPart, Steps};
use crate::graph::plan::flatten::Flat;
use crate::{Error, Result};

/// A node of the flat graph that gets the values of its parameters, and the partition that it is
/// in.
#[derive(Clone, Copy)]
pub(super) struct Follower {
    pub(super) node: u32,
    pub(super) partition: u32,
}

impl Follower {
    /// The partition, as changes of what may be in none have it.
    pub(super) fn part(&self) -> Option<u32> {
        Some(self.partition)
    }
}

/// Reads parameters, which are locked no more often than another one comes.
#[derive(Default)]
struct Reader<'a>(Option<(&'a Arc<Parameter>, MutexGuard<'a, Argument>)>);

impl<'a> Reader<'a> {
    fn value(&mut self, parameter: &'a Arc<Parameter>) -> Option<&[u8]> {
        if !self.0.as_ref().is_some_and(|(last, _)| Arc::ptr_eq(last, parameter)) {
            // One at a time.
            self.0 = None;
            self.0 = Some((parameter, parameter.current()));
        }
        match self.0.as_ref().map(|(_, current)| &**current) {
            Some(Argument::Value(value)) => Some(value.bytes()),
            _ => None,
        }
    }
}

/// Gives what was prepared for nodes of a partition the values that their parameters have now.
pub(super) fn set_values(
    part: &mut PartitionExec,
    nodes: &[Follower],
    flat: &mut Flat,
    places: &[Option<Place>],
    patches: &mut Patches,
) -> Result<()> {
    for Follower { node, .. } in nodes {
        flat.set_behind(*node as usize, true);
    }
    let flat = &*flat;
    part.set_arguments(places, patches, |steps, places, patches| {
        steps.set_values(nodes, flat, places, patches)
    })
}

impl PreparedPart {
    /// Gives a node that is at this place the values and the memory of another command that
    /// [differs in nothing else](CommandKind::differs_in_arguments).
    pub(super) fn set_arguments(
        &mut self,
        place: Option<&Option<Place>>,
        before: &CommandKind,
        command: &CommandKind,
        patches: &mut Patches,
    ) -> Result<()> {
        match (place.and_then(Option::as_ref).map(|place| &place.step), &self.tasks) {
            (Some(Steps::One(step)), _) => {
                self.sequence.set_kernel(*step as usize, command.driver_arguments(), None, patches)
            }
            (Some(Steps::Task { task, .. }), Some(tasks)) => {
                tasks.set_arguments(*task, before, command, &mut self.sequence)
            }
            _ => Ok(()),
        }
    }

    fn set_values(
        &mut self,
        nodes: &[Follower],
        flat: &Flat,
        places: &[Option<Place>],
        patches: &mut Patches,
    ) -> Result<()> {
        // Found in a loop of its own, as processors then fetch many commands at once.
        let mut found = Vec::with_capacity(nodes.len());
        for Follower { node, .. } in nodes {
            let place = places.get(*node as usize).and_then(Option::as_ref);
            let command = flat.command(*node as usize);
            let (place, command) = place.zip(command).ok_or_else(|| nothing_prepared(*node))?;
            found.push((*node, &place.step, command.bindings()));
        }
        let mut reader = Reader::default();
        let mut tasks = self.tasks.as_ref().map(|tasks| tasks.values());
        for (node, step, bindings) in found {
            for Binding { argument, parameter } in newest_of(bindings) {
                let Some(value) = reader.value(parameter) else { continue };
                match (step, &mut tasks) {
                    (Steps::One(step), _) => {
                        self.sequence.set_value(*step as usize, *argument, value, patches)?
                    }
                    (Steps::Task { task, .. }, Some(tasks)) => tasks.set(*task, *argument, value)?,
                    (Steps::Task { .. }, None) => return Err(nothing_prepared(node)),
                    (Steps::Left(_), _) => {}
                }
            }
            if let Steps::One(step) = step {
                patches.end_step(*step, None);
            }
        }
        Ok(())
    }
}

fn nothing_prepared(node: u32) -> Error {
    Error::bug(format!("node {node} has values and nothing that was prepared for it"))
}
