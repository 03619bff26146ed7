//! A partition for the device, and its versions.

use std::sync::Arc;

use super::versions::{Pending, StepChanges, Versions};
use crate::driver::step::Step;
use crate::driver::usm::Allocation;
use crate::graph::tune::tuned::TunedPart;

/// A partition for the device: what runs now, and what deferred submissions must not see yet.
pub(in crate::graph) struct Part {
    pub(in crate::graph) tuned: TunedPart,
    pub(in crate::graph) versions: Versions<TunedPart>,
}

impl Part {
    pub(in crate::graph) fn new(tuned: TunedPart) -> Self {
        Self { tuned, versions: Versions::default() }
    }

    /// The memory that it uses, or will.
    pub(in crate::graph) fn memory(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        let later = self.versions.all().flat_map(|pending| -> Box<dyn Iterator<Item = _>> {
            match pending {
                Pending::Changes(StepChanges { steps, tasks }) => Box::new(
                    steps.values().flat_map(Step::memory).chain(tasks.values().flat_map(|task| &task.memory)),
                ),
                Pending::Rebuilt(new) => Box::new(new.0.exec.steps.sequence.memory()),
            }
        });
        self.tuned.exec.steps.sequence.memory().chain(later)
    }
}
