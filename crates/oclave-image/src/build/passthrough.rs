//! Calls that only hid something from the compiler's optimiser give back their argument.
//!
//! From opaque pointers, translators give the call another pointer type than its argument: the type
//! by which the caller reads. Such a call becomes an `OpBitcast`.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use oclave_spirv::{Definitions, Editor, Instruction, Module, Op};

/// The function of `device_global.hpp` between a variable and its value.
const PASSTHROUGH: &str = "__oclave_device_global";

/// Removes the function and its calls; the module is unchanged where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn remove_calls(module: &Module) -> Result<Option<Module>> {
    let functions: BTreeSet<u32> =
        module.linkages().filter(|(_, name, _)| name == PASSTHROUGH).map(|(id, _, _)| id).collect();
    if functions.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for function in &functions {
        edit.remove_function(*function);
        edit.remove_annotations(*function);
    }
    let is_call = |i: &Instruction<'_>| {
        i.is(Op::FunctionCall) && i.operand(0).is_some_and(|function| functions.contains(&function))
    };
    let calls: Vec<Instruction<'_>> = module.instructions().filter(is_call).collect();
    let argument_of = |call: &Instruction<'_>| {
        let argument = call.operand(1)?;
        (definitions.type_of(argument) == call.result_type()).then_some((call.result_id()?, argument))
    };
    let arguments: BTreeMap<u32, u32> = calls.iter().filter_map(argument_of).collect();
    // An argument may be such a call; a malformed module may have a circle of them.
    let argument = |id: u32| {
        let next = |id: &u32| arguments.get(id).copied();
        std::iter::successors(Some(id), next).take(arguments.len() + 1).last().unwrap_or(id)
    };
    for call in &calls {
        let (Some(result), Some(ty), Some(from)) = (call.result_id(), call.result_type(), call.operand(1))
        else {
            continue;
        };
        if arguments.contains_key(&result) {
            edit.remove(call);
            edit.replace_uses(result, argument(result));
        } else {
            edit.replace(call, Op::Bitcast, &[ty, result, argument(from)]);
        }
    }
    Ok(edit.finish()?)
}
