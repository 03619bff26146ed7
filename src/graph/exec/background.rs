//! Interpreter programs that are built while the graph runs without them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::driver::hook;
use crate::program::{CallTarget, InterpreterSlot, SpecValue};
use crate::runtime;
use crate::{Context, Device};

/// Kernels of a program that an interpreter program is wanted for.
pub(in crate::graph) struct Wanted {
    /// One of them.
    pub(in crate::graph) target: CallTarget,
    pub(in crate::graph) specs: Vec<SpecValue>,
    /// Of their program.
    pub(in crate::graph) slot: Arc<InterpreterSlot>,
    pub(in crate::graph) kernels: BTreeSet<String>,
}

/// Interpreter programs that are being built on a thread of the library.
#[derive(Debug)]
pub(crate) struct Build(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    is_over: Mutex<bool>,
    changed: Condvar,
    /// Nobody waits for what was not begun.
    given_up: AtomicBool,
}

impl Build {
    /// Begins. Failures are kept where the programs are: who asks then is told.
    pub(in crate::graph) fn start(context: &Context, device: &Device, all: Vec<Wanted>) -> Self {
        let progress = Arc::<Progress>::default();
        let (context, device, told) = (context.clone(), device.clone(), Arc::clone(&progress));
        let session = hook::session();
        runtime::spawn(move || {
            let over = Over(told);
            let _counted = runtime::Counted::build();
            let _session = session.as_ref().map(|session| session.enter());
            runtime::blocking(|| {
                for Wanted { target, specs, kernels, .. } in &all {
                    if over.0.given_up.load(Ordering::Acquire) || runtime::is_exiting() {
                        break;
                    }
                    if let Err(error) = context.programs().interpreter(&device, target, specs, kernels) {
                        log::debug!("built in the background: {error:#}");
                    }
                }
            });
        });
        Self(progress)
    }

    /// Waits until all is built.
    pub(crate) fn wait(&self) {
        runtime::blocking(|| {
            let over = self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.0.changed.wait_while(over, |over| !*over).unwrap_or_else(PoisonError::into_inner));
        });
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Build {
    /// Waits for a program that is being built: a process that ends while Intel's driver compiles
    /// dies of a segmentation fault.
    fn drop(&mut self) {
        self.0.given_up.store(true, Ordering::Release);
        if !self.is_over() {
            self.wait();
        }
    }
}

/// Tells of the end, however it came.
struct Over(Arc<Progress>);

impl Drop for Over {
    fn drop(&mut self) {
        *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}
