//! The two sides of a program that was compiled once for both (`if_device.hpp` with
//! `OCLAVE_SINGLE_PASS`).
//!
//! The body of one side is a function that is not inlined. It begins with a call of its guard,
//! `__oclave_on_device` or `__oclave_on_host`. The guard is imported, so the optimiser knows
//! neither answer and assumes nothing about the body. A function that calls a guard belongs to that
//! side, even if it is a copy that the optimiser made (copies lose annotations). The pass removes
//! the other side's functions with their calls, and replaces the guards by constants.

use std::collections::{BTreeMap, BTreeSet};

use crate::{ImageError, Result, Side};
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::{Decoration, Definitions, FunctionControl, Instruction, Module, Op, Rewriter, Role};

/// The guards of `if_device.hpp`.
const GUARDS: [(&str, Side); 2] = [("__oclave_on_device", Side::Device), ("__oclave_on_host", Side::Host)];

/// Whether the module has code for one side only.
pub(crate) fn has_sides(module: &Module) -> bool {
    !guards(module).is_empty()
}

/// The module as one side has it.
///
/// # Errors
/// [`ImageError::Unsupported`] where a function of the other side is used other than by a call; as
/// [`Rewriter::finish`].
pub(crate) fn keep_side(module: &Module, side: Side) -> Result<Module> {
    let definitions = Definitions::new(module);
    let sides = Sides::new(module, side);
    sides.check_uses(&definitions)?;
    let mut new = Rewriter::new(&definitions);
    let answers: BTreeMap<u32, u32> = sides
        .answers
        .iter()
        .map(|(call, (ty, yes))| {
            (*call, new.intern(if *yes { Op::ConstantTrue } else { Op::ConstantFalse }, &[*ty]))
        })
        .collect();
    let mut goes = false;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            goes = instruction.result_id().is_some_and(|id| sides.gone.contains(&id));
        }
        if goes || sides.is_gone(&instruction) {
            continue;
        }
        let asks =
            instruction.result_id().filter(|id| instruction.is(Op::Function) && sides.asking.contains(id));
        match (asks, instruction.words) {
            (Some(_), &[_, ty, id, control, function_type]) => {
                let control = control & !FunctionControl::DONT_INLINE.bits();
                new.replace(&instruction, Op::Function, &[ty, id, control, function_type]);
            }
            (_, &[_, group, ref targets @ ..]) if instruction.is(Op::GroupDecorate) => {
                let staying = targets.iter().copied().filter(|id| !sides.gone.contains(id));
                let operands: Vec<u32> = std::iter::once(group).chain(staying).collect();
                new.replace(&instruction, Op::GroupDecorate, &operands);
            }
            _ => new.copy_mapped(&instruction, |id| answers.get(&id).copied().unwrap_or(id)),
        }
    }
    Ok(new.finish()?)
}

/// The guards that a module imports: function → the side that it asks for.
fn guards(module: &Module) -> BTreeMap<u32, Side> {
    let linkage = Decoration::LinkageAttributes as u32;
    let decorations = module.instructions().take_while(|i| !i.is(Op::Function));
    decorations
        .filter(|i| i.is(Op::Decorate) && i.operand(1) == Some(linkage))
        .filter_map(|i| {
            let (_, side) = GUARDS.iter().find(|(name, _)| i.string_is(2, name))?;
            Some((i.operand(0)?, *side))
        })
        .collect()
}

/// What changes when one side is kept.
#[derive(Debug, Default)]
struct Sides {
    /// Ids that the new module does not have: the guards, the other side's functions and all that
    /// these define, and the results of their calls.
    gone: BTreeSet<u32>,
    /// The functions that go.
    functions: BTreeSet<u32>,
    /// Call of a guard in what stays → type and value of the answer.
    answers: BTreeMap<u32, (u32, bool)>,
    /// Functions of the kept side.
    asking: BTreeSet<u32>,
}

impl Sides {
    fn new(module: &Module, kept: Side) -> Self {
        let guards = guards(module);
        let kernels: BTreeSet<u32> =
            module.instructions().filter_map(|i| kernel_entry(&i)).map(|entry| entry.function).collect();
        let mut sides = Self::default();
        let mut function = 0;
        for instruction in module.instructions() {
            if instruction.is(Op::Function) {
                function = instruction.result_id().unwrap_or_default();
            }
            let Some(asked) = call(&instruction).and_then(|callee| guards.get(&callee)) else { continue };
            sides.answers.extend(
                instruction
                    .result_id()
                    .zip(instruction.result_type())
                    .map(|(id, ty)| (id, (ty, *asked == kept))),
            );
            if *asked == kept {
                sides.asking.insert(function);
            } else if !kernels.contains(&function) {
                sides.functions.insert(function);
            }
        }
        // A function of both sides, should a compiler make one, stays with its answers.
        let both: Vec<u32> = sides.asking.intersection(&sides.functions).copied().collect();
        both.iter().for_each(|function| {
            sides.functions.remove(function);
        });
        sides.functions.extend(guards.keys());
        sides.find_gone(module);
        sides
    }

    fn find_gone(&mut self, module: &Module) {
        let mut goes = false;
        for instruction in module.instructions() {
            if instruction.is(Op::Function) {
                goes = instruction.result_id().is_some_and(|id| self.functions.contains(&id));
            }
            let Some(id) = instruction.result_id() else {
                goes &= !instruction.is(Op::FunctionEnd);
                continue;
            };
            if goes {
                self.answers.remove(&id);
            }
            if goes || call(&instruction).is_some_and(|callee| self.functions.contains(&callee)) {
                self.gone.insert(id);
            }
        }
    }

    /// Whether an instruction outside of the functions that go goes with them.
    fn is_gone(&self, instruction: &Instruction<'_>) -> bool {
        match instruction.op() {
            Some(Op::Name | Op::MemberName | Op::Decorate | Op::DecorateId | Op::DecorateString) => {
                instruction.operand(0).is_some_and(|id| self.gone.contains(&id))
            }
            Some(Op::FunctionCall) => instruction.result_id().is_some_and(|id| self.gone.contains(&id)),
            _ => false,
        }
    }

    /// Checks that what stays needs nothing of what goes.
    fn check_uses(&self, definitions: &Definitions<'_>) -> Result<()> {
        let module = definitions.module();
        let mut goes = false;
        for instruction in module.instructions() {
            if instruction.is(Op::Function) {
                goes = instruction.result_id().is_some_and(|id| self.functions.contains(&id));
            }
            if !goes && !self.is_gone(&instruction) && !instruction.is(Op::GroupDecorate) {
                let mut used = None;
                instruction.visit_ids(definitions, |index, role| {
                    let id = instruction.word(index).unwrap_or_default();
                    if matches!(role, Role::Result | Role::MaybeId) || self.answers.contains_key(&id) {
                        return;
                    }
                    if self.gone.contains(&id) {
                        used = Some(id);
                    }
                });
                if let Some(id) = used {
                    let names: BTreeMap<u32, String> = module.names().collect();
                    let name = names.get(&id).map_or("?", String::as_str);
                    return Err(ImageError::Unsupported(format!(
                        "`{name}`, a body of if_device or if_host, is used other than by a call; compile the program \
                         for each side on its own (without `single_pass`)"
                    )));
                }
            }
            goes &= !instruction.is(Op::FunctionEnd);
        }
        Ok(())
    }
}

fn call(instruction: &Instruction<'_>) -> Option<u32> {
    if instruction.is(Op::FunctionCall) { instruction.operand(0) } else { None }
}
