//! Who names whom in a module: the call graph, and which function uses which types, constants and
//! variables.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Definitions, ExecutionModel, Instruction, Module, Op, Role};

/// A kernel's entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its name in the module.
    pub name: String,
    /// Id of its `OpFunction`.
    pub function: u32,
}

/// The references of a module. Ids that only unknown instructions hold count as used.
#[derive(Debug)]
pub struct References<'m> {
    definitions: &'m Definitions<'m>,
    /// Function → the ids from outside of it that it names, sorted; other functions included.
    functions: BTreeMap<u32, Vec<u32>>,
    entry_points: Vec<EntryPoint>,
}

impl<'m> References<'m> {
    /// Reads all instructions of the module once.
    pub fn new(definitions: &'m Definitions<'m>) -> Self {
        let module = definitions.module();
        let mut entry_points = Vec::new();
        let mut functions = BTreeMap::new();
        let mut current: Option<(u32, usize, BTreeSet<u32>)> = None;
        for instruction in module.instructions() {
            if let Some(entry) = kernel_entry(&instruction) {
                entry_points.push(entry);
            }
            if instruction.is(Op::Function) {
                current = instruction.result_id().map(|id| (id, instruction.at, BTreeSet::new()));
            }
            let Some((_, start, names)) = &mut current else { continue };
            instruction.visit_ids(definitions, |index, role| {
                if role == Role::Result {
                    return;
                }
                let Some(id) = instruction.word(index) else { return };
                // What the function itself defines stands behind its OpFunction; other functions
                // may, too.
                let outside = definitions.word_index(id).is_some_and(|at| {
                    at < *start || module.instruction_at(at).is_some_and(|i| i.is(Op::Function))
                });
                if outside {
                    names.insert(id);
                }
            });
            if instruction.is(Op::FunctionEnd)
                && let Some((id, _, names)) = current.take()
            {
                functions.insert(id, names.into_iter().collect());
            }
        }
        Self { definitions, functions, entry_points }
    }

    /// The definitions that it was made from.
    pub fn definitions(&self) -> &'m Definitions<'m> {
        self.definitions
    }

    /// The module that it was made from.
    pub fn module(&self) -> &'m Module {
        self.definitions.module()
    }

    /// The kernels, in the module's order.
    pub fn entry_points(&self) -> &[EntryPoint] {
        &self.entry_points
    }

    /// The ids that an id names in its definition: a function's body, or a type's, constant's or
    /// variable's operands.
    pub fn direct(&self, id: u32) -> Vec<u32> {
        if let Some(names) = self.functions.get(&id) {
            return names.clone();
        }
        let mut names = Vec::new();
        if let Some(instruction) = self.definitions.instruction(id) {
            instruction.visit_ids(self.definitions, |index, role| {
                if role != Role::Result {
                    names.extend(instruction.word(index));
                }
            });
        }
        names
    }

    /// Everything that can be reached from `root`, which is included.
    pub fn reachable(&self, root: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            for next in self.direct(id) {
                if self.definitions.word_index(next).is_some() && found.insert(next) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// The functions that use one of `targets`, themselves or through constants and what they call.
    pub fn users(&self, targets: &BTreeSet<u32>) -> BTreeSet<u32> {
        if targets.is_empty() {
            return BTreeSet::new();
        }
        let mut users: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&function, names) in &self.functions {
            names.iter().for_each(|&name| users.entry(name).or_default().push(function));
        }
        for instruction in self.module().global_instructions() {
            let Some(id) = instruction.result_id() else { continue };
            instruction.visit_ids(self.definitions, |index, role| {
                if role != Role::Result
                    && let Some(name) = instruction.word(index)
                {
                    users.entry(name).or_default().push(id);
                }
            });
        }
        let mut found = targets.clone();
        let mut open: Vec<u32> = targets.iter().copied().collect();
        while let Some(id) = open.pop() {
            open.extend(users.get(&id).into_iter().flatten().filter(|&&user| found.insert(user)));
        }
        found.retain(|id| self.functions.contains_key(id));
        found
    }
}

/// The entry point that an instruction declares, if it is a kernel's.
pub fn kernel_entry(instruction: &Instruction<'_>) -> Option<EntryPoint> {
    if !instruction.is(Op::EntryPoint) || instruction.operand(0)? != ExecutionModel::Kernel as u32 {
        return None;
    }
    Some(EntryPoint { name: instruction.string(2)?.into_owned(), function: instruction.operand(1)? })
}

/// Name of the interpreter's kernel that runs the work-items of a task in turn.
pub const INTERPRETER_SEQ: &str = "__oclave_interpreter_seq";
/// Name of the interpreter's kernel whose work-items share those of a task.
pub const INTERPRETER_WI: &str = "__oclave_interpreter_wi";
/// The same, with jumps.
pub const INTERPRETER_FLOW: &str = "__oclave_interpreter_flow";

/// Whether a kernel is one of the interpreter's.
pub fn is_interpreter(kernel: &str) -> bool {
    [INTERPRETER_SEQ, INTERPRETER_WI, INTERPRETER_FLOW].contains(&kernel)
}
