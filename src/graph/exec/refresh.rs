//! Bringing executables up to date: what is due for a submission, and better steps where there are
//! some.

use std::sync::RwLockReadGuard;

use super::executable::{ExecutableGraph, State};
use super::partition::{Better, PartitionState};
use super::prepare::{Place, PreparedPart, Source, Steps};
use super::versions::{Changes, TaskChange, What};
use crate::Result;
use crate::command::Binding;
use crate::graph::plan::flatten::Flat;

/// What an executable is brought up to date for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum Moment {
    /// The next submission.
    Submission,
    /// A submission that is put on a queue now.
    Run(u64),
    /// An update.
    Update,
}

impl ExecutableGraph {
    /// Brings a partition up to date. Before a submission it is planned again if a command no
    /// longer fits its place, or if the race of plans has found a better one. Updates that are due
    /// are applied then, unless a deferred submission needs the present version.
    pub(in crate::graph) fn refresh(&self, state: &mut State, index: usize, moment: Moment) -> Result<()> {
        if moment == Moment::Submission {
            self.plan_submission(state, index)?;
        }
        let Some(Some(PartitionState { exec, versions })) = state.device.get_mut(index) else {
            return Ok(());
        };
        let until = match moment {
            Moment::Run(submission) => submission,
            _ if versions.must_wait() => return Ok(()),
            _ => u64::MAX,
        };
        while let Some(what) = versions.next_for(until) {
            match what {
                What::Changes(Changes { steps, tasks }) => {
                    // Other plans were prepared without these changes.
                    exec.cancel_race();
                    for (index, step) in steps {
                        exec.set_step(index, step)?;
                    }
                    for (task, TaskChange { before, command, .. }) in tasks {
                        exec.set_task(task, &before, &command, &self.inner().queue)?;
                    }
                }
                What::Rebuilt(new) => {
                    let (new, places) = *new;
                    exec.replace_steps(new);
                    for (now, new) in self.places_mut().iter_mut().zip(places) {
                        *now = new.or(now.take());
                    }
                }
            }
        }
        Ok(())
    }

    /// Prepares what the next submission of a partition runs, if it is not what there is.
    fn plan_submission(&self, state: &mut State, index: usize) -> Result<()> {
        let (Some(partition), Some(Some(part))) =
            (self.inner().partitions.get(index), state.device.get_mut(index))
        else {
            return Ok(());
        };
        let better = part.exec.better();
        if better.is_none() && !part.versions.must_plan {
            return Ok(());
        }
        self.settle(state, partition.nodes.iter().map(|node| *node as usize));
        let Some(Some(PartitionState { exec, versions })) = state.device.get_mut(index) else {
            return Ok(());
        };
        let (flat, queue, options) = (self.flat(), &self.inner().queue, self.inner().options);
        let nodes = partition.nodes.as_slice();
        let source = Source { flat: &flat, nodes, partition: index as u32, queue, options };
        let new = match better {
            // Steps that won were made for the nodes as they were before a command came that does
            // not fit.
            Some(Better::Steps(steps)) if !versions.must_plan => {
                (exec.with_steps(source, steps.steps), steps.places)
            }
            _ => exec
                .again(source)
                .map_err(|error| self.at(error))
                .inspect_err(|_| versions.must_plan = true)?,
        };
        versions.rebuild(Box::new(new));
        Ok(())
    }

    /// Notes that a part is submitted, and gives the number of the submission.
    pub(in crate::graph) fn enter(&self, part: usize) -> Result<u64> {
        let mut state = self.state();
        self.refresh(&mut state, part, Moment::Submission)?;
        match state.device.get_mut(part) {
            Some(Some(part)) if self.is_updatable() => Ok(part.versions.submit()),
            _ => Ok(0),
        }
    }

    /// Notes that a part that was submitted is on a queue, or never will be.
    pub(in crate::graph) fn leave(&self, part: usize) {
        if let Some(Some(part)) = self.state().device.get_mut(part) {
            part.versions.end_submission();
        }
    }

    /// The commands with the values that were committed last.
    pub(crate) fn settled(&self) -> RwLockReadGuard<'_, Flat> {
        if self.is_updatable() {
            self.settle(&self.state(), 0..self.len());
        }
        self.flat()
    }

    /// Brings commands up to the values of what was prepared for them.
    pub(in crate::graph) fn settle(&self, state: &State, nodes: impl Iterator<Item = usize>) {
        let (mut flat, places) = (self.flat_mut(), self.places());
        for node in nodes {
            if !flat.set_behind(node, false) {
                continue;
            }
            let part = |place: &Place| state.device.get(place.partition as usize)?.as_ref();
            let place = places.get(node).and_then(Option::as_ref);
            let (Some((place, part)), Some(command)) =
                (place.and_then(|place| Some((place, part(place)?))), flat.command(node).cloned())
            else {
                debug_assert!(false, "node {node} has values and nothing that was prepared for it");
                continue;
            };
            let PreparedPart { sequence, tasks, .. } = &part.exec.steps;
            let tasks = tasks.as_ref().map(|tasks| tasks.values());
            for Binding { argument, .. } in command.bindings() {
                let value = match (&place.step, &tasks) {
                    (Steps::One(step), _) => sequence.value(*step as usize, *argument),
                    (Steps::Task { task, .. }, Some(tasks)) => tasks.get(*task, *argument),
                    _ => None,
                };
                if let Some(value) = value {
                    flat.set_value(node, *argument, value);
                }
            }
        }
    }
}
