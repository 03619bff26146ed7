//! Where a program keeps its interpreter programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use super::InterpreterProgram;
use crate::Result;
use crate::program::flight::lock;

type Built = Result<Arc<InterpreterProgram>>;

/// The interpreter programs of a program, each for some of its kernels, or why there is none.
#[derive(Debug, Default)]
pub(crate) struct InterpreterSlot(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    kernels: BTreeSet<String>,
    built: Arc<OnceLock<Built>>,
}

impl InterpreterSlot {
    /// A program that has these kernels, or the reason why there is none; `None` while nobody built
    /// it.
    pub(crate) fn find(&self, kernels: &BTreeSet<String>) -> Option<Built> {
        let entries = lock(&self.0);
        let has_all = entries.iter().filter(|entry| entry.kernels.is_superset(kernels));
        let mut built = has_all.filter_map(|entry| Some((entry.built.get()?, entry.kernels == *kernels)));
        // The failure of a larger one says nothing of this one.
        built.find(|(built, is_exact)| built.is_ok() || *is_exact).map(|(built, _)| built.clone())
    }

    /// Whether this one is among them.
    pub(crate) fn holds(&self, program: &Arc<InterpreterProgram>) -> bool {
        let is_it =
            |entry: &Entry| matches!(entry.built.get(), Some(Ok(built)) if Arc::ptr_eq(built, program));
        lock(&self.0).iter().any(is_it)
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
            let mut entries = lock(&self.0);
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
