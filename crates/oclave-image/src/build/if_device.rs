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
use oclave_spirv::{Definitions, Editor, FunctionControl, Instruction, Module, Op, Role};

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
/// [`Editor::finish`].
pub(crate) fn keep_side(module: &Module, side: Side) -> Result<Module> {
    let definitions = Definitions::new(module);
    let sides = Sides::new(&definitions, side);
    sides.check_uses(&definitions)?;
    let mut edit = Editor::new(&definitions);
    sides.functions.iter().for_each(|function| edit.remove_function(*function));
    for id in &sides.gone {
        match definitions.instruction(*id) {
            Some(call) if call.is(Op::FunctionCall) => edit.remove(&call),
            _ => edit.remove_annotations(*id),
        }
    }
    for (call, (ty, yes)) in &sides.answers {
        let answer = edit.intern(if *yes { Op::ConstantTrue } else { Op::ConstantFalse }, &[*ty]);
        edit.replace_uses(*call, answer);
    }
    for function in sides.asking.iter().filter_map(|id| definitions.instruction(*id)) {
        if let &[_, ty, id, control, function_type] = function.words {
            let control = control & !FunctionControl::DONT_INLINE.bits();
            edit.replace(&function, Op::Function, &[ty, id, control, function_type]);
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// The guards that a module imports: function → the side that it asks for.
fn guards(module: &Module) -> BTreeMap<u32, Side> {
    module
        .linkages()
        .filter_map(|(id, name, _)| {
            let (_, side) = GUARDS.iter().find(|(guard, _)| *guard == name)?;
            Some((id, *side))
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
    fn new(definitions: &Definitions<'_>, kept: Side) -> Self {
        let module = definitions.module();
        let guards = guards(module);
        let kernels: BTreeSet<u32> =
            module.instructions().filter_map(|i| kernel_entry(&i)).map(|entry| entry.function).collect();
        let mut sides = Self::default();
        for instruction in module.instructions() {
            let Some(asked) = call(&instruction).and_then(|callee| guards.get(&callee)) else { continue };
            let (Some(id), Some(ty), Some(function)) =
                (instruction.result_id(), instruction.result_type(), definitions.function_of(&instruction))
            else {
                continue;
            };
            sides.answers.insert(id, (ty, *asked == kept));
            if *asked == kept {
                sides.asking.insert(function);
            } else if !kernels.contains(&function) {
                sides.functions.insert(function);
            }
        }
        // A function of both sides, should a compiler make one, stays with its answers.
        sides.functions.retain(|function| !sides.asking.contains(function));
        sides.functions.extend(guards.keys());
        for instruction in module.instructions() {
            let Some(id) = instruction.result_id() else { continue };
            let goes = sides.is_in_gone_function(definitions, &instruction);
            if goes {
                sides.answers.remove(&id);
            }
            if goes || call(&instruction).is_some_and(|callee| sides.functions.contains(&callee)) {
                sides.gone.insert(id);
            }
        }
        sides
    }

    fn is_in_gone_function(&self, definitions: &Definitions<'_>, instruction: &Instruction<'_>) -> bool {
        definitions.function_of(instruction).is_some_and(|function| self.functions.contains(&function))
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
        let goes = |i: &Instruction<'_>| {
            self.is_gone(i) || i.is(Op::GroupDecorate) || self.is_in_gone_function(definitions, i)
        };
        for instruction in module.instructions().filter(|i| !goes(i)) {
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
        Ok(())
    }
}

fn call(instruction: &Instruction<'_>) -> Option<u32> {
    if instruction.is(Op::FunctionCall) { instruction.operand(0) } else { None }
}
