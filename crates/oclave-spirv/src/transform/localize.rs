//! Module-scope variables replaced, function by function, by values that are computed where a
//! function starts.
//!
//! What the module computes from a variable's address at module scope (constant expressions)
//! becomes instructions in every function that uses it.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::references::References;
use crate::analysis::variable_facts::VariableFacts;
use crate::{Cursor, Definitions, Editor, Instruction, Op, Role};
use crate::{Error, Result};

/// Gives each function of a module its own values for some variables.
#[derive(Debug)]
pub struct Localizer<'a, 'm> {
    references: &'a References<'m>,
    variables: &'a BTreeSet<u32>,
    /// The module-scope constants that are computed from the address of one of the variables.
    derived: BTreeSet<u32>,
}

impl<'a, 'm> Localizer<'a, 'm> {
    /// Initial values of the variables in `moved` do not count: they were moved out of the module.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the address of one of `variables` initializes another
    /// variable.
    pub fn new(
        references: &'a References<'m>,
        facts: &VariableFacts,
        variables: &'a BTreeSet<u32>,
        moved: &BTreeSet<u32>,
    ) -> Result<Self> {
        let derived = derived_constants(references.definitions(), facts, variables, moved)?;
        Ok(Self { references, variables, derived })
    }

    fn check_initializer(&self, instruction: &Instruction<'_>) -> Result<()> {
        match instruction.operand(1) {
            Some(id) if self.variables.contains(&id) || self.derived.contains(&id) => {
                let what =
                    "a local variable is initialized with the address of a device global; assign it instead";
                Err(Error::Unsupported(what.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Gives each function its own values. `load` gets a function and a variable. At the start of the function, it writes the value that
    /// the function uses for the variable.
    ///
    /// # Errors
    /// As [`values`](Self::values).
    pub fn localize(
        &self,
        edit: &mut Editor<'m>,
        mut load: impl FnMut(&mut Cursor<'_, 'm>, [u32; 2]) -> Option<u32>,
    ) -> Result<()> {
        let definitions = self.references.definitions();
        for function in self.references.module().instructions().filter(|i| i.is(Op::Function)) {
            let Some(function) = function.result_id() else { continue };
            let local = self.values(edit, function, |at, variable| load(at, [function, variable]))?;
            for instruction in definitions.body(function).filter(|_| !local.is_empty()) {
                edit.replace_words(&instruction, &self.mapped(&instruction, &local));
            }
        }
        Ok(())
    }

    /// Writes the values of one function at its start. Returns the id of each, by the variable or constant that it replaces. `load` writes the
    /// value for a variable.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for constants that no instruction computes, and where such an address initializes a local variable.
    pub fn values(
        &self,
        edit: &mut Editor<'m>,
        function: u32,
        mut load: impl FnMut(&mut Cursor<'_, 'm>, u32) -> Option<u32>,
    ) -> Result<BTreeMap<u32, u32>> {
        let definitions = self.references.definitions();
        let ours = |id: &u32| self.variables.contains(id) || self.derived.contains(id);
        let mut local = BTreeMap::new();
        // Each constant stands on the stack until what it uses is there.
        let mut stack = self.references.direct(function);
        stack.retain(ours);
        if stack.is_empty() {
            return Ok(local);
        }
        let mut variables = definitions.body(function).filter(|i| i.is(Op::Variable));
        variables.try_for_each(|variable| self.check_initializer(&variable))?;
        let mut at = edit.at_entry(function);
        let mut waiting = BTreeSet::new();
        while let Some(&id) = stack.last() {
            if local.contains_key(&id) {
                stack.pop();
            } else if self.variables.contains(&id) {
                stack.pop();
                local.extend(load(&mut at, id).map(|value| (id, value)));
            } else if waiting.insert(id) {
                stack.extend(self.references.direct(id).iter().filter(|id| ours(id)));
            } else {
                stack.pop();
                let Some(constant) = definitions.instruction(id) else { continue };
                let (op, ty, operands) = self.computation(&constant, &local)?;
                local.insert(id, at.emit(op, ty, &operands));
            }
        }
        Ok(local)
    }

    /// The words of an instruction after the first, with the local values in the place of the variables.
    pub fn mapped(&self, instruction: &Instruction<'_>, local: &BTreeMap<u32, u32>) -> Vec<u32> {
        let mut words = instruction.words.to_vec();
        instruction.visit_ids(self.references.definitions(), |index, role| {
            if role == Role::Id
                && let Some(word) = words.get_mut(index)
            {
                *word = local.get(word).copied().unwrap_or(*word);
            }
        });
        words.split_off(1.min(words.len()))
    }

    /// The module-scope constants that go, for every function computes them itself.
    pub fn derived(&self) -> impl Iterator<Item = u32> {
        self.derived.iter().copied()
    }

    /// The instruction that computes a module-scope constant: opcode, type and operands.
    fn computation(
        &self,
        constant: &Instruction<'_>,
        local: &BTreeMap<u32, u32>,
    ) -> Result<(Op, u32, Vec<u32>)> {
        let words = self.mapped(constant, local);
        let found = match (constant.op(), words.as_slice()) {
            (Some(Op::SpecConstantOp), &[ty, _, op, ref operands @ ..]) => {
                Op::from_u32(op).map(|op| (op, ty, operands.to_vec()))
            }
            (Some(_), [ty, _, operands @ ..]) => Some((Op::CompositeConstruct, *ty, operands.to_vec())),
            _ => None,
        };
        found.ok_or_else(|| {
            Error::Unsupported(format!(
                "the constant at word {} computes with the address of a device global by an operation that no \
                 instruction does",
                constant.at
            ))
        })
    }
}

/// The module-scope constants that are computed from the address of one of `variables`.
///
/// llvm-spirv writes some of them before what they use, so the order in the module tells nothing.
fn derived_constants(
    definitions: &Definitions<'_>,
    facts: &VariableFacts,
    variables: &BTreeSet<u32>,
    moved: &BTreeSet<u32>,
) -> Result<BTreeSet<u32>> {
    let mut users: BTreeMap<u32, Vec<Instruction<'_>>> = BTreeMap::new();
    for instruction in definitions.module().global_instructions() {
        if instruction.result_type().is_none() {
            continue;
        }
        instruction.visit_ids(definitions, |index, role| {
            if role == Role::Id
                && let Some(id) = instruction.word(index)
            {
                users.entry(id).or_default().push(instruction);
            }
        });
    }
    let mut derived = BTreeSet::new();
    let mut open: Vec<(u32, u32)> = variables.iter().map(|&variable| (variable, variable)).collect();
    while let Some((id, variable)) = open.pop() {
        for user in users.get(&id).into_iter().flatten() {
            let Some(result) = user.result_id() else { continue };
            match user.op() {
                Some(Op::SpecConstantOp | Op::ConstantComposite | Op::SpecConstantComposite) => {
                    if derived.insert(result) {
                        open.push((result, variable));
                    }
                }
                Some(Op::Variable) if moved.contains(&result) => {}
                Some(Op::Variable) => {
                    return Err(Error::Unsupported(format!(
                        "variable `{}` is initialized with the address of device global `{}`, which is known only \
                         when the program runs; make that, too, a device global without device_image_scope, or set it \
                         in a kernel",
                        facts.name(result),
                        facts.name(variable)
                    )));
                }
                // Debug information names the variable; that it is a pointer now is no harm.
                Some(Op::ExtInst) => {}
                _ => {
                    let what = format!(
                        "opcode {} at word {} computes with the address of device global `{}` at module scope",
                        user.opcode,
                        user.at,
                        facts.name(variable)
                    );
                    return Err(Error::Unsupported(what));
                }
            }
        }
    }
    Ok(derived)
}
