//! Facts about a module, which no analysis changes.

use std::cell::OnceCell;

use self::control_flow::Flow;
use crate::{Definitions, Module};

pub mod calls;
pub mod control_flow;
pub(crate) mod dominators;
pub mod halves;
pub mod initializer;
pub mod references;
pub mod uniformity;
pub mod variable_facts;
pub mod work_items;

/// The analyses of a module that many passes need. Each is made when it is first asked for, and kept.
///
/// A module does not change: a pass makes a new one, which has analyses of its own.
#[derive(Debug)]
pub struct Analyses<'m> {
    module: &'m Module,
    definitions: OnceCell<Definitions<'m>>,
    flows: OnceCell<Vec<Flow<'m>>>,
}

impl<'m> Analyses<'m> {
    /// The analyses of a module, none of which is made yet.
    pub fn new(module: &'m Module) -> Self {
        Self { module, definitions: OnceCell::new(), flows: OnceCell::new() }
    }

    /// The module.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Where each id is defined.
    pub fn definitions(&self) -> &Definitions<'m> {
        self.definitions.get_or_init(|| Definitions::new(self.module))
    }

    /// The control flow of all functions that have blocks.
    pub fn flows(&self) -> &[Flow<'m>] {
        self.flows.get_or_init(|| Flow::of_functions(self.definitions()))
    }
}
