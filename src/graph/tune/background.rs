//! Interpreter programs that are built while the graph runs without them.
//!
//! All executables that want the same program share one build. The last one that goes takes a build
//! back that was not begun. Nobody waits for a build that was begun: it holds all that it needs. At
//! the exit of the process, [`runtime`] waits for it.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use crate::driver::hook;
use crate::program::{InterpreterPart, InterpreterSlot, PendingProgram, joined_kernels};
use crate::runtime;
use crate::{Context, Device};

/// Kernels that an interpreter program is wanted for.
pub(in crate::graph) enum Wanted {
    /// Of one program.
    One(InterpreterPart),
    /// Of several programs.
    Joined { parts: Vec<InterpreterPart>, slot: Arc<InterpreterSlot>, kernels: BTreeSet<String> },
}

impl Wanted {
    /// For a list with jumps, which has kernels of all of these programs.
    pub(in crate::graph) fn joined(context: &Context, parts: Vec<InterpreterPart>) -> Self {
        let (slot, kernels) = (context.programs().joined_slot(&parts), joined_kernels(&parts));
        Self::Joined { parts, slot, kernels }
    }

    /// The programs that the kernels are of.
    pub(in crate::graph) fn parts(&self) -> &[InterpreterPart] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::Joined { parts, .. } => parts,
        }
    }

    /// Where the interpreter program will be, and its kernels.
    pub(in crate::graph) fn place(&self) -> (&Arc<InterpreterSlot>, &BTreeSet<String>) {
        match self {
            Self::One(part) => (&part.slot, &part.kernels),
            Self::Joined { slot, kernels, .. } => (slot, kernels),
        }
    }
}

/// Interpreter programs that are being built on threads of the library.
#[derive(Debug)]
pub(crate) struct Build(Vec<Arc<PendingProgram>>);

impl Build {
    /// Begins to build those that nobody builds yet. Failures are kept where the programs are: who
    /// asks then is told.
    pub(in crate::graph) fn start(context: &Context, device: &Device, all: Vec<Wanted>) -> Self {
        let mut pending = Vec::with_capacity(all.len());
        let mut new = Vec::new();
        for wanted in all {
            let (slot, kernels) = wanted.place();
            let (program, is_new) = slot.pending(kernels);
            if is_new {
                new.push((Last(Arc::downgrade(&program)), wanted));
            }
            pending.push(program);
        }
        if !new.is_empty() {
            let (context, device, session) = (context.clone(), device.clone(), hook::session());
            runtime::spawn(move || {
                let _counted = runtime::Counted::build();
                let _session = session.as_ref().map(|session| session.enter());
                runtime::blocking(|| {
                    for (last, wanted) in new {
                        build(&context, &device, &last, &wanted);
                    }
                });
            });
        }
        Self(pending)
    }

    /// Waits until all is built.
    pub(crate) fn wait(&self) {
        runtime::blocking(|| self.0.iter().for_each(|program| program.wait()));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.iter().all(|program| program.is_over())
    }
}

/// Builds a program if somebody still wants it.
fn build(context: &Context, device: &Device, last: &Last, wanted: &Wanted) {
    // While it is held, others that want the same find it.
    let Some(_program) = last.0.upgrade() else { return };
    if runtime::is_exiting() {
        return;
    }
    let programs = context.programs();
    let built = match wanted {
        Wanted::One(InterpreterPart { target, specs, kernels, .. }) => {
            programs.interpreter(device, target, specs, kernels)
        }
        Wanted::Joined { parts, slot, kernels } => programs.joined_interpreter(device, parts, slot, kernels),
    };
    if let Err(error) = built {
        log::debug!("built in the background: {error:#}");
    }
}

/// Reports the end of a build, however it came.
struct Last(Weak<PendingProgram>);

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(program) = self.0.upgrade() {
            program.end();
        }
    }
}
