//! Updates that come after submissions which are held back.
//!
//! A submission runs as the graph was when it was submitted. Most are with the driver by then, which keeps what it was given. One that the
//! runtime holds back, behind a host task, is put on its queue later, and what was updated since must not reach it.
//!
//! A command that does not fit where it is has its partition planned anew, when that is submitted next.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::Result;
use crate::command::CommandKind;
use crate::driver::step::Step;
use crate::driver::usm::Allocation;
use crate::graph::exec::draft::memory_of;
use crate::graph::exec::executable::{ExecutableGraph, State};
use crate::graph::exec::partition::DevicePart;
use crate::graph::exec::prepare::{Place, PreparedPart, Source};

/// What a partition must do before it runs, or after.
#[derive(Default)]
pub(crate) struct Pending {
    submissions: u64,
    /// Submissions that were neither put on a queue nor given up.
    held_back: u32,
    later: VecDeque<Later>,
    /// Whether the next submission needs other steps than there are: a command does not fit where it is.
    plan_anew: bool,
}

/// What changes for submissions from one on.
struct Later {
    from: u64,
    what: What,
}

enum What {
    Changes(Changes),
    /// All steps, and where the nodes are in them.
    Anew(Box<(DevicePart, Vec<Option<Place>>)>),
}

#[derive(Default)]
struct Changes {
    steps: HashMap<usize, Step>,
    tasks: HashMap<u32, LaterTask>,
}

/// A task's command.
struct LaterTask {
    before: Arc<CommandKind>,
    command: Arc<CommandKind>,
    memory: Vec<Arc<Allocation>>,
}

impl Pending {
    /// Whether a submission is held back that an update must not reach.
    pub(in crate::graph) fn must_wait(&self) -> bool {
        self.held_back > 0
    }

    /// Whether changes are made at once, to the steps that there are.
    pub(in crate::graph) fn is_idle(&self) -> bool {
        self.held_back == 0 && self.later.is_empty() && !self.plan_anew
    }

    /// Keeps a step for the submissions to come. One that nobody has used is replaced.
    pub(in crate::graph) fn add(&mut self, step: usize, new: Step) {
        if let Some(changes) = self.changes() {
            changes.steps.insert(step, new);
        }
    }

    /// Keeps a task's command for the submissions to come.
    pub(in crate::graph) fn add_task(
        &mut self,
        task: u32,
        before: &Arc<CommandKind>,
        command: &Arc<CommandKind>,
        queue: &crate::Queue,
    ) -> Result<()> {
        let memory = memory_of(command, queue)?;
        if let Some(Changes { tasks, .. }) = self.changes() {
            let first = tasks.remove(&task).map_or_else(|| Arc::clone(before), |later| later.before);
            tasks.insert(task, LaterTask { before: first, command: Arc::clone(command), memory });
        }
        Ok(())
    }

    /// The changes for the next submission.
    fn changes(&mut self) -> Option<&mut Changes> {
        let from = self.submissions;
        let goes_on = |last: &Later| last.from == from && matches!(last.what, What::Changes(_));
        if !self.later.back().is_some_and(goes_on) {
            self.later.push_back(Later { from, what: What::Changes(Changes::default()) });
        }
        match &mut self.later.back_mut()?.what {
            What::Changes(changes) => Some(changes),
            What::Anew(_) => None,
        }
    }

    /// Has all steps made anew for the next submission.
    pub(in crate::graph) fn plan_anew(&mut self) {
        self.plan_anew = true;
    }

    pub(in crate::graph) fn is_planned_anew(&self) -> bool {
        self.plan_anew
    }

    /// The steps for the next submission, and where nodes are in them, if these are not those of now.
    pub(in crate::graph) fn newest(&self) -> Option<&(DevicePart, Vec<Option<Place>>)> {
        self.later.iter().rev().find_map(|later| match &later.what {
            What::Anew(new) => Some(&**new),
            What::Changes(_) => None,
        })
    }

    /// The memory that steps to come use.
    pub(crate) fn memory(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.later.iter().flat_map(|later| -> Box<dyn Iterator<Item = &Arc<Allocation>>> {
            match &later.what {
                What::Changes(Changes { steps, tasks }) => Box::new(
                    steps.values().flat_map(Step::memory).chain(tasks.values().flat_map(|task| &task.memory)),
                ),
                What::Anew(new) => Box::new(new.0.steps.sequence.memory()),
            }
        })
    }
}

impl DevicePart {
    /// Applies what waited, up to a submission.
    pub(crate) fn bring_to(
        &mut self,
        submission: u64,
        graph: &ExecutableGraph,
        queue: &crate::Queue,
    ) -> Result<()> {
        while self.pending.later.front().is_some_and(|later| later.from <= submission) {
            match self.pending.later.pop_front().map(|later| later.what) {
                Some(What::Changes(Changes { steps, tasks })) => {
                    // Steps that were made anew for an earlier submission have rivals without these changes.
                    self.stop_learning();
                    for (index, step) in steps {
                        self.set_step(index, step)?;
                    }
                    for (task, LaterTask { before, command, .. }) in tasks {
                        self.set_task(task, &before, &command, queue)?;
                    }
                }
                Some(What::Anew(new)) => {
                    let (new, places) = *new;
                    self.replace_steps(new);
                    for (now, new) in graph.places_mut().iter_mut().zip(places) {
                        *now = new.or(now.take());
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Puts another command in the place of a task's.
    pub(in crate::graph) fn set_task(
        &mut self,
        task: u32,
        before: &CommandKind,
        command: &CommandKind,
        queue: &crate::Queue,
    ) -> Result<()> {
        let PreparedPart { tasks, sequence, .. } = &mut self.steps;
        tasks.as_mut().map_or(Ok(()), |tasks| tasks.update(task, before, command, queue, sequence))
    }

    /// Replaces a step.
    pub(in crate::graph) fn set_step(&mut self, index: usize, step: Step) -> Result<()> {
        self.steps.sequence.replace(index, step)?;
        self.replay.changed(&[index]);
        Ok(())
    }
}

impl ExecutableGraph {
    /// Makes the steps of a partition anew, if a command does not fit where it was; for submissions from the next one on.
    pub(in crate::graph) fn plan_anew(&self, state: &mut State, index: usize) -> Result<()> {
        let Some(partition) = self.inner().partitions.get(index) else { return Ok(()) };
        if !matches!(state.device.get(index), Some(Some(part)) if part.pending.plan_anew) {
            return Ok(());
        }
        self.settle(state, partition.nodes.iter().map(|node| *node as usize));
        let State { queue, device, .. } = state;
        let Some(Some(part)) = device.get_mut(index) else { return Ok(()) };
        let new = {
            let flat = self.flat();
            let options = self.inner().options;
            let nodes = partition.nodes.as_slice();
            let source = Source { flat: &flat, nodes, partition: index as u32, queue, options };
            Box::new(part.anew(source).map_err(|error| self.at(error))?)
        };
        let from = part.pending.submissions;
        // Changes for this submission are in it.
        part.pending.later.retain(|later| later.from < from);
        part.pending.later.push_back(Later { from, what: What::Anew(new) });
        part.pending.plan_anew = false;
        match part.pending.must_wait() {
            true => Ok(()),
            false => part.bring_to(u64::MAX, self, queue),
        }
    }

    /// Notes that a part is submitted, and gives the number of the submission.
    ///
    /// # Errors
    /// When its steps must be made anew, and cannot be.
    pub(crate) fn enter(&self, part: usize) -> Result<u64> {
        let mut state = self.state();
        if let Some(Some(part)) = state.device.get_mut(part)
            && part.is_outdated()
        {
            part.pending.plan_anew();
        }
        self.plan_anew(&mut state, part)?;
        if !self.is_updatable() {
            return Ok(0);
        }
        Ok(match state.device.get_mut(part) {
            Some(Some(part)) => {
                let number = part.pending.submissions;
                part.pending.submissions += 1;
                part.pending.held_back += 1;
                number
            }
            _ => 0,
        })
    }

    /// Notes that a part that was submitted is on a queue, or never will be.
    pub(crate) fn leave(&self, part: usize) {
        if let Some(Some(part)) = self.state().device.get_mut(part) {
            part.pending.held_back = part.pending.held_back.saturating_sub(1);
        }
    }
}
