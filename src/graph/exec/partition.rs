//! A partition for the device: its prepared steps, and how they are put on queues.

use std::sync::Arc;

use super::options::ReplayStrategy;
use super::prepare::{Location, PreparedPart, Source, Steps};
use super::strategy::{self, Replay};
use super::tasks::Tasks;
use crate::MakeError as _;
use crate::command::CommandKind;
use crate::driver::event::Event;
use crate::driver::mutable::Patches;
use crate::driver::queue as driver;
use crate::driver::step::Step;
use crate::graph::plan::commands::Commands;
use crate::{Error, Queue, Result};

/// A partition for the device.
pub(in crate::graph) struct PartitionExec {
    pub(in crate::graph) steps: PreparedPart,
    pub(in crate::graph) replay: Box<dyn Replay>,
    /// The events that its next run follows: that of its last run, and of those that failed half-way
    /// and may run on.
    last: Vec<Event>,
}

impl PartitionExec {
    pub(in crate::graph) fn new(source: Source<'_>, steps: PreparedPart) -> Self {
        let Source { queue, options, .. } = source;
        let replay = strategy::choose(queue.context(), queue.device(), options);
        Self { steps, replay, last: Vec::new() }
    }

    /// Takes the steps of another one that was made for the same nodes.
    pub(in crate::graph) fn replace_steps(&mut self, new: Self) {
        *self = Self { last: std::mem::take(&mut self.last), ..new };
    }

    pub(in crate::graph) fn set_task(
        &mut self,
        task: u32,
        before: &CommandKind,
        command: &CommandKind,
        queue: &Queue,
    ) -> Result<()> {
        let PreparedPart { tasks, sequence, .. } = &mut self.steps;
        tasks.as_mut().map_or(Ok(()), |tasks| tasks.update(task, before, command, queue, sequence))
    }

    pub(in crate::graph) fn set_step(&mut self, index: usize, step: Step) -> Result<()> {
        self.steps.sequence.replace(index, step)?;
        self.replay.changed(&[index]);
        Ok(())
    }

    pub(in crate::graph) fn strategy(&self) -> ReplayStrategy {
        if self.steps.tasks.is_some() { ReplayStrategy::Interpreter } else { self.replay.strategy() }
    }

    /// Puts something on a queue after events and the last run: `put` gets this and the events.
    pub(in crate::graph) fn run(
        &mut self,
        queue: &Arc<driver::Queue>,
        after: &[&Event],
        put: impl FnOnce(&mut Self, &[&Event]) -> Result<Event>,
    ) -> Result<Event> {
        // Events that have ended need no wait.
        let mut last = std::mem::take(&mut self.last);
        last.retain(|last| !last.is_behind());
        let all: Vec<&Event> = after.iter().copied().chain(&last).collect();
        match put(self, &all) {
            Ok(event) => {
                self.last = vec![event.clone()];
                Ok(event)
            }
            Err(error) => {
                last.extend(queue.abandoned());
                self.last = last;
                Err(error)
            }
        }
    }
}

impl PreparedPart {
    /// Gives a node that is here the values and the memory of another command that [differs in
    /// nothing else](CommandKind::differs_in_arguments).
    pub(in crate::graph) fn set_arguments(
        &mut self,
        location: Option<&Option<Location>>,
        before: &CommandKind,
        command: &CommandKind,
        patches: &mut Patches,
    ) -> Result<()> {
        match (location.and_then(Option::as_ref).map(|location| &location.step), &self.tasks) {
            (Some(Steps::One(step)), _) => {
                self.sequence.set_kernel(*step as usize, command.driver_arguments(), None, patches)
            }
            (Some(Steps::Task { task, .. }), Some(tasks)) => {
                tasks.set_arguments(*task, before, command, &mut self.sequence)
            }
            _ => Ok(()),
        }
    }

    /// Gives nodes the values that were committed for them.
    pub(in crate::graph) fn set_values(
        &mut self,
        nodes: impl Iterator<Item = u32>,
        commands: &Commands,
        locations: &[Option<Location>],
        patches: &mut Patches,
    ) -> Result<()> {
        let mut tasks = self.tasks.as_ref().map(Tasks::values);
        for node in nodes {
            let location = locations.get(node as usize).and_then(Option::as_ref);
            let step = location.map(|location| &location.step).ok_or_else(|| not_prepared(node))?;
            for (argument, value) in commands.values(node as usize) {
                let argument = *argument as usize;
                match (step, &mut tasks) {
                    (Steps::One(step), _) => {
                        self.sequence.set_value(*step as usize, argument, value.bytes(), patches)?
                    }
                    (Steps::Task { task, .. }, Some(tasks)) => tasks.set(*task, argument, value.bytes())?,
                    (Steps::Task { .. }, None) => return Err(not_prepared(node)),
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

fn not_prepared(node: u32) -> Error {
    Error::bug(format!("node {node} has values and nothing that was prepared for it"))
}
