//! Module-scope variables replaced, function by function, by values that are computed where a
//! function starts.
//!
//! What the module computes from a variable's address at module scope (constant expressions)
//! becomes instructions in every function that uses it.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::references::References;
use crate::analysis::variable_facts::VariableFacts;
use crate::{Definitions, Instruction, Op, Rewriter, Role};
use crate::{Error, Result};

/// Walks the functions of a module and gives each its own values for some variables.
#[derive(Debug)]
pub struct Localizer<'a, 'm> {
    references: &'a References<'m>,
    variables: &'a BTreeSet<u32>,
    /// The module-scope constants that are computed from the address of one of the variables.
    derived: BTreeSet<u32>,
    function: Function,
}

/// The function that is being walked.
#[derive(Debug, Default)]
struct Function {
    id: u32,
    place: Place,
    /// Variables and constants → what takes their place here.
    local: BTreeMap<u32, u32>,
}

/// How far into a function the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    BeforeBlocks,
    /// At the variables of the first block.
    Variables,
    Body,
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
        Ok(Self { references, variables, derived, function: Function::default() })
    }

    /// Whether `id` is a module-scope constant that goes, for every function computes it itself.
    pub fn is_derived(&self, id: u32) -> bool {
        self.derived.contains(&id)
    }

    /// Comes to the next instruction of a function, `OpFunction` included. Before the first one
    /// behind the variables of the first block this writes what the function needs: `load` gives
    /// the value that stands for a variable.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for constants that no instruction computes.
    pub fn advance(
        &mut self,
        new: &mut Rewriter<'m>,
        instruction: &Instruction<'_>,
        load: impl FnMut(&mut Rewriter<'m>, u32) -> Option<u32>,
    ) -> Result<()> {
        match (self.function.place, instruction.op()) {
            (_, Some(Op::Function)) => {
                let id = instruction.result_id().unwrap_or(0);
                self.function = Function { id, ..Function::default() };
            }
            (Place::BeforeBlocks, Some(Op::Label)) => self.function.place = Place::Variables,
            (Place::Variables, Some(Op::Variable)) => self.check_initializer(instruction)?,
            (Place::BeforeBlocks | Place::Body, _) | (Place::Variables, Some(Op::Line | Op::NoLine)) => {}
            (Place::Variables, _) => {
                self.function.place = Place::Body;
                self.start(new, load)?;
            }
        }
        Ok(())
    }

    /// The words of an instruction after the first, with the local values in the place of the
    /// variables.
    pub fn mapped(&self, instruction: &Instruction<'_>) -> Vec<u32> {
        let mut words = instruction.words.to_vec();
        instruction.visit_ids(self.references.definitions(), |index, role| {
            if role == Role::Id
                && let Some(word) = words.get_mut(index)
            {
                *word = self.local(*word);
            }
        });
        words.split_off(1.min(words.len()))
    }

    /// Copies an instruction of a function with the local values in the place of the variables.
    pub fn copy(&self, new: &mut Rewriter<'m>, instruction: &Instruction<'_>) {
        if self.function.local.is_empty() {
            new.copy(instruction);
        } else {
            new.copy_mapped(instruction, |id| self.local(id));
        }
    }

    fn local(&self, id: u32) -> u32 {
        self.function.local.get(&id).copied().unwrap_or(id)
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

    fn start(
        &mut self,
        new: &mut Rewriter<'m>,
        mut load: impl FnMut(&mut Rewriter<'m>, u32) -> Option<u32>,
    ) -> Result<()> {
        let ours = |id: &u32| self.variables.contains(id) || self.derived.contains(id);
        let mut stack = self.references.direct(self.function.id);
        stack.retain(ours);
        // Each constant stands on the stack until what it uses is there.
        let mut waiting = BTreeSet::new();
        while let Some(&id) = stack.last() {
            if self.function.local.contains_key(&id) {
                stack.pop();
            } else if self.variables.contains(&id) {
                stack.pop();
                let value = load(new, id);
                self.function.local.extend(value.map(|value| (id, value)));
            } else if waiting.insert(id) {
                stack.extend(self.references.direct(id).iter().filter(|id| ours(id)));
            } else {
                stack.pop();
                let Some(constant) = self.references.definitions().instruction(id) else { continue };
                let result = new.fresh_id();
                self.compute(new, &constant, result)?;
                self.function.local.insert(id, result);
            }
        }
        Ok(())
    }

    /// Writes a module-scope constant as an instruction.
    fn compute(&self, new: &mut Rewriter<'m>, constant: &Instruction<'_>, result: u32) -> Result<()> {
        let unsupported = || {
            Error::Unsupported(format!(
                "the constant at word {} computes with the address of a device global by an operation that no \
                 instruction does",
                constant.at
            ))
        };
        let words = self.mapped(constant);
        let (op, ty, operands) = match (constant.op(), words.as_slice()) {
            (Some(Op::SpecConstantOp), &[ty, _, op, ref operands @ ..]) => {
                (Op::from_u32(op).ok_or_else(unsupported)?, ty, operands)
            }
            (Some(_), [ty, _, operands @ ..]) => (Op::CompositeConstruct, *ty, operands),
            _ => return Err(unsupported()),
        };
        new.push(op, &[&[ty, result], operands].concat());
        Ok(())
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
    for instruction in definitions.module().instructions().take_while(|i| !i.is(Op::Function)) {
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
