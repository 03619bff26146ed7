//! Where a program keeps its interpreter programs.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};

use super::InterpreterProgram;
use crate::Result;
use crate::driver::sync::{Condvar, Mutex};

type Built = Result<Arc<InterpreterProgram>>;

/// The interpreter programs of a program, each for some of its kernels, or why there is none.
#[derive(Debug, Default)]
pub(crate) struct InterpreterSlot(Mutex<Vec<Entry>>, Mutex<Vec<Request>>);

/// Kernels for which a graph wanted an interpreter program before there was one.
#[derive(Debug)]
struct Request {
    kernels: BTreeSet<String>,
    /// The build in the background, while somebody wants it.
    pending: Weak<PendingProgram>,
}

/// An interpreter program that is being built, or will be.
#[derive(Debug, Default)]
pub(crate) struct PendingProgram {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl PendingProgram {
    pub(crate) fn wait(&self) {
        let over = self.is_over.lock();
        drop(self.changed.wait_while(over, |over| !*over));
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.is_over.lock()
    }

    pub(crate) fn end(&self) {
        *self.is_over.lock() = true;
        self.changed.notify_all();
    }
}

#[derive(Debug)]
struct Entry {
    kernels: BTreeSet<String>,
    built: Arc<OnceLock<Built>>,
}

impl InterpreterSlot {
    /// A program that has these kernels, or the reason why there is none; `None` while nobody built
    /// it.
    pub(crate) fn find(&self, kernels: &BTreeSet<String>) -> Option<Built> {
        let entries = self.0.lock();
        let has_all = entries.iter().filter(|entry| entry.kernels.is_superset(kernels));
        let mut built = has_all.filter_map(|entry| Some((entry.built.get()?, entry.kernels == *kernels)));
        // The failure of a larger one says nothing of this one.
        built.find(|(built, is_exact)| built.is_ok() || *is_exact).map(|(built, _)| built.clone())
    }

    /// Notes that a graph wants a program for these kernels; whether one did before.
    pub(crate) fn request(&self, kernels: &BTreeSet<String>) -> bool {
        let mut requests = self.1.lock();
        let is_known = requests.iter().any(|request| request.kernels == *kernels);
        if !is_known {
            requests.push(Request { kernels: kernels.clone(), pending: Weak::new() });
        }
        is_known
    }

    /// The build of a program for these kernels, and whether it is new, so that the caller must see
    /// to it.
    pub(crate) fn pending(&self, kernels: &BTreeSet<String>) -> (Arc<PendingProgram>, bool) {
        let mut requests = self.1.lock();
        let known = requests.iter_mut().find(|request| request.kernels == *kernels);
        let pending = known.as_ref().and_then(|request| request.pending.upgrade());
        if let Some(pending) = pending.filter(|pending| !pending.is_over()) {
            return (pending, false);
        }
        let new = Arc::<PendingProgram>::default();
        let pending = Arc::downgrade(&new);
        match known {
            Some(request) => request.pending = pending,
            None => requests.push(Request { kernels: kernels.clone(), pending }),
        }
        (new, true)
    }

    /// Whether this one is among them.
    pub(crate) fn holds(&self, program: &Arc<InterpreterProgram>) -> bool {
        let is_it =
            |entry: &Entry| matches!(entry.built.get(), Some(Ok(built)) if Arc::ptr_eq(built, program));
        self.0.lock().iter().any(is_it)
    }

    /// As [`Self::find`]; built if nobody did. Others that ask for the same kernels meanwhile wait.
    pub(in crate::program) fn find_or_build(
        &self,
        kernels: &BTreeSet<String>,
        build: impl FnOnce() -> Built,
    ) -> Built {
        if let Some(built) = self.find(kernels) {
            return built;
        }
        let built = {
            let mut entries = self.0.lock();
            match entries.iter().find(|entry| entry.kernels == *kernels) {
                Some(entry) => Arc::clone(&entry.built),
                None => {
                    let built = Arc::default();
                    entries.push(Entry { kernels: kernels.clone(), built: Arc::clone(&built) });
                    built
                }
            }
        };
        built.get_or_init(build).clone()
    }
}
