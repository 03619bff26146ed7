//! Facts about a module, which no analysis changes.

use std::cell::OnceCell;
use std::collections::HashMap;

use self::control_flow::{Flow, Loop};
use crate::{Definitions, Module};

pub mod calls;
pub mod control_flow;
pub mod counters;
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
    blocks: OnceCell<HashMap<u32, usize>>,
}

impl<'m> Analyses<'m> {
    /// The analyses of a module, none of which is made yet.
    pub fn new(module: &'m Module) -> Self {
        Self { module, definitions: OnceCell::new(), flows: OnceCell::new(), blocks: OnceCell::new() }
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

    /// The block that defines a value, as an index into the blocks of its function's flow. `None` for constants, parameters and labels.
    pub fn block_of(&self, value: u32) -> Option<usize> {
        let blocks = self.blocks.get_or_init(|| {
            let code = self.flows().iter().flat_map(|flow| flow.code(self.definitions()));
            code.filter_map(|(block, i)| Some((i.result_id()?, block))).collect()
        });
        blocks.get(&value).copied()
    }

    /// Whether a block of a loop defines a value of the loop's function.
    pub fn is_defined_in(&self, value: u32, of: &Loop) -> bool {
        self.block_of(value).is_some_and(|block| of.blocks.contains(&block))
    }
}
