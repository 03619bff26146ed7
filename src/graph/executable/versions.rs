//! Versions of what was prepared, for submissions that are deferred.
//!
//! A submission runs the graph as it was when it was submitted. Most are with the driver by then,
//! which keeps what it was given. One that the runtime defers, after a host task, is put on its
//! queue later, and what was updated since must not reach it. Such changes are kept here until a
//! submission is put on a queue that they are for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::command::CommandKind;
use crate::driver::step::Step;
use crate::driver::usm::Allocation;
use crate::graph::exec::prepare::Location;

/// The versions of a partition that is prepared as a `P`.
pub(in crate::graph) struct Versions<P> {
    submissions: u64,
    /// Submissions that were neither put on a queue nor given up.
    deferred: u32,
    later: VecDeque<Version<P>>,
    /// Whether all nodes must be prepared again for the next submission: a command does not fit
    /// where it is.
    pub(in crate::graph) must_rebuild: bool,
}

/// Changes that apply from one submission on.
struct Version<P> {
    from: u64,
    pending: Pending<P>,
}

/// A change of the prepared steps.
pub(in crate::graph) enum Pending<P> {
    Changes(StepChanges),
    /// All of it, and what the nodes are in it.
    Rebuilt(Box<(P, Vec<Option<Location>>)>),
}

/// Steps and tasks that change, by number.
#[derive(Default)]
pub(in crate::graph) struct StepChanges {
    pub(in crate::graph) steps: HashMap<usize, Step>,
    pub(in crate::graph) tasks: HashMap<u32, TaskChange>,
}

pub(in crate::graph) struct TaskChange {
    pub(in crate::graph) before: Arc<CommandKind>,
    pub(in crate::graph) command: Arc<CommandKind>,
    pub(in crate::graph) memory: Vec<Arc<Allocation>>,
}

impl<P> Default for Versions<P> {
    fn default() -> Self {
        Self { submissions: 0, deferred: 0, later: VecDeque::new(), must_rebuild: false }
    }
}

impl<P> Versions<P> {
    /// Notes a submission, and gives its number.
    pub(in crate::graph) fn submit(&mut self) -> u64 {
        let number = self.submissions;
        self.submissions += 1;
        self.deferred += 1;
        number
    }

    /// Notes that a submission is on a queue, or never will be.
    pub(in crate::graph) fn end_submission(&mut self) {
        debug_assert!(self.deferred > 0, "a submission that ended twice");
        self.deferred = self.deferred.saturating_sub(1);
    }

    /// Whether a submission is deferred that an update must not reach.
    pub(in crate::graph) fn must_wait(&self) -> bool {
        self.deferred > 0
    }

    /// Whether changes are made at once, to the steps that there are.
    pub(in crate::graph) fn is_idle(&self) -> bool {
        self.deferred == 0 && self.later.is_empty() && !self.must_rebuild
    }

    /// The changes for the next submission.
    pub(in crate::graph) fn changes(&mut self) -> Option<&mut StepChanges> {
        let from = self.submissions;
        let goes_on = |last: &Version<P>| last.from == from && matches!(last.pending, Pending::Changes(_));
        if !self.later.back().is_some_and(goes_on) {
            self.later.push_back(Version { from, pending: Pending::Changes(StepChanges::default()) });
        }
        match &mut self.later.back_mut()?.pending {
            Pending::Changes(changes) => Some(changes),
            Pending::Rebuilt(_) => None,
        }
    }

    /// The steps that the next submission runs.
    pub(in crate::graph) fn rebuild(&mut self, new: Box<(P, Vec<Option<Location>>)>) {
        let from = self.submissions;
        // Changes for this submission are in it.
        self.later.retain(|later| later.from < from);
        self.later.push_back(Version { from, pending: Pending::Rebuilt(new) });
        self.must_rebuild = false;
    }

    /// What the next submission runs, and what nodes are in it, if it is not what runs now.
    pub(in crate::graph) fn newest(&self) -> Option<&(P, Vec<Option<Location>>)> {
        self.later.iter().rev().find_map(|later| match &later.pending {
            Pending::Rebuilt(new) => Some(&**new),
            Pending::Changes(_) => None,
        })
    }

    /// The next of what a submission waits for.
    pub(in crate::graph) fn next_for(&mut self, submission: u64) -> Option<Pending<P>> {
        if self.later.front()?.from > submission {
            return None;
        }
        self.later.pop_front().map(|later| later.pending)
    }

    pub(in crate::graph) fn all(&self) -> impl Iterator<Item = &Pending<P>> {
        self.later.iter().map(|later| &later.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of what was rebuilt, up to a submission.
    fn rebuilt(versions: &mut Versions<u32>, submission: u64) -> Vec<u32> {
        let next = || match versions.next_for(submission)? {
            Pending::Rebuilt(new) => Some(new.0),
            Pending::Changes(_) => Some(0),
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn submissions_get_what_there_was_when_they_were_made() {
        let mut versions = Versions::default();
        let [first, second] = [(); 2].map(|()| versions.submit());
        versions.rebuild(Box::new((1, Vec::new())));
        let third = versions.submit();
        versions.rebuild(Box::new((2, Vec::new())));
        assert_eq!(rebuilt(&mut versions, first), [0_u32; 0]);
        assert_eq!(rebuilt(&mut versions, second), [0_u32; 0]);
        assert_eq!(rebuilt(&mut versions, third), [1]);
        assert_eq!(versions.newest().map(|newest| newest.0), Some(2));
        assert!(!versions.is_idle());
        (0..3).for_each(|_| versions.end_submission());
        assert_eq!(rebuilt(&mut versions, u64::MAX), [2]);
        assert!(versions.is_idle());
    }

    #[test]
    fn changes_of_one_submission_are_together_and_go_with_what_is_rebuilt() {
        let mut versions = Versions::<u32>::default();
        versions.submit();
        assert!(versions.changes().is_some() && versions.changes().is_some());
        assert_eq!(versions.all().count(), 1);
        versions.must_rebuild = true;
        versions.rebuild(Box::new((1, Vec::new())));
        assert_eq!((versions.all().count(), versions.must_rebuild), (1, false));
    }
}
