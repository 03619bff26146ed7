//! Updates that come after submissions which are held back, and steps that the replay is ahead of.
//!
//! A submission runs as the graph was when it was submitted. Most are with the driver by then, which keeps what it was given. One that the
//! runtime holds back, behind a host task, is put on its queue later, and what was updated since must not reach it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::command::CommandKind;
use crate::driver::queue::Queue;
use crate::driver::sequence::Step;
use crate::driver::usm::Allocation;
use crate::graph::device_part::DevicePart;
use crate::graph::executable::ExecutableGraph;
use crate::{Context, Device, Result};

/// What a partition must do before it runs, or after.
#[derive(Default)]
pub(crate) struct Pending {
    submissions: u64,
    /// Submissions that were neither put on a queue nor given up.
    held_back: u32,
    later: VecDeque<Later>,
    /// By step: the command that it is behind.
    behind: Vec<Option<Arc<CommandKind>>>,
    any_behind: bool,
}

/// Steps for submissions from one on.
struct Later {
    from: u64,
    steps: HashMap<usize, Step>,
}

impl Pending {
    /// Whether a submission is held back that an update must not reach.
    pub(super) fn must_wait(&self) -> bool {
        self.held_back > 0
    }

    /// Keeps a step for the submissions to come. One that nobody has used is replaced.
    pub(super) fn add(&mut self, step: usize, new: Step) {
        let from = self.submissions;
        match self.later.back_mut() {
            Some(last) if last.from == from => {
                last.steps.insert(step, new);
            }
            _ => self.later.push_back(Later { from, steps: HashMap::from([(step, new)]) }),
        }
    }

    /// Says that the sequence's step is behind a command.
    pub(super) fn is_behind(&mut self, step: usize, command: Arc<CommandKind>) {
        if self.behind.len() <= step {
            self.behind.resize(step + 1, None);
        }
        if let Some(place) = self.behind.get_mut(step) {
            *place = Some(command);
            self.any_behind = true;
        }
    }

    /// The memory that steps to come use.
    pub(crate) fn memory(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.later.iter().flat_map(|later| later.steps.values()).flat_map(Step::memory)
    }
}

impl DevicePart {
    /// Applies what waited, up to a submission.
    pub(crate) fn bring_to(&mut self, submission: u64) -> Result<()> {
        while self.pending.later.front().is_some_and(|later| later.from <= submission) {
            let Some(later) = self.pending.later.pop_front() else { break };
            for (index, step) in later.steps {
                self.set_step(index, step)?;
            }
        }
        Ok(())
    }

    /// Replaces a step.
    pub(super) fn set_step(&mut self, index: usize, step: Step) -> Result<()> {
        self.sequence.replace(index, step)?;
        if let Some(place) = self.pending.behind.get_mut(index) {
            *place = None;
        }
        self.replay.changed(&[index]);
        Ok(())
    }

    /// Brings the kernels of the sequence up to date, if they are about to be used on a queue like this.
    pub(crate) fn catch_up(&mut self, graph: &ExecutableGraph, queue: &Queue) -> Result<()> {
        if !self.pending.any_behind || !self.replay.reads_kernels(queue) {
            return Ok(());
        }
        for step in 0..self.pending.behind.len() {
            let Some(command) = self.pending.behind.get_mut(step).and_then(Option::take) else { continue };
            if let Err(error) = self.set_kernel(step, &command, graph.context(), graph.device()) {
                self.pending.is_behind(step, command);
                return Err(error);
            }
        }
        self.pending.any_behind = false;
        Ok(())
    }

    /// Gives a step the arguments and the range of a command.
    pub(super) fn set_kernel(
        &mut self,
        step: usize,
        command: &CommandKind,
        context: &Context,
        device: &Device,
    ) -> Result<()> {
        let size = command.work_size(context, device)?;
        self.sequence.set_kernel(step, command.driver_arguments(), size.as_ref())
    }
}

impl ExecutableGraph {
    /// Notes that a part is submitted, and gives the number of the submission.
    pub(crate) fn enter(&self, part: usize) -> u64 {
        if !self.is_updatable() {
            return 0;
        }
        match self.state().device.get_mut(part) {
            Some(Some(part)) => {
                let number = part.pending.submissions;
                part.pending.submissions += 1;
                part.pending.held_back += 1;
                number
            }
            _ => 0,
        }
    }

    /// Notes that a part that was submitted is on a queue, or never will be.
    pub(crate) fn leave(&self, part: usize) {
        if let Some(Some(part)) = self.state().device.get_mut(part) {
            part.pending.held_back = part.pending.held_back.saturating_sub(1);
        }
    }
}
