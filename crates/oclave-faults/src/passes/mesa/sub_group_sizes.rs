//! Computes the size of a sub-group, which Mesa's llvmpipe takes for the size of whole ones.
//!
//! The last sub-group of a group may be a part of one. Its size is what is left of the group.

use std::collections::BTreeSet;

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::converted;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{BuiltIn, Editor, Instruction, Module, Op, Type, TypeTable};

fault! {
    /// **Q64. Mesa's rusticl 26.1.6 on llvmpipe.** `get_sub_group_size` is 8 in the last sub-group of a group of 9, which has
    /// one work-item. So the size is computed from the size of the group.
    Q64 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "`get_sub_group_size` is 8 in the last sub-group of a group of 9.",
        remedy: "The size is computed (`sub_group_sizes`).",
        upstream: ["rusticl-sub-group-size.md"],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q64, "sub_group_sizes", |on| compute(on.analyses, on.target.address_bits));

/// The module with a computation for each load of the size; `None` where there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn compute(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let module = analyses.module();
    let built_ins = module.built_ins().filter(|(_, number)| *number == BuiltIn::SubgroupSize as u32);
    let sizes: BTreeSet<u32> = built_ins.map(|(id, _)| id).collect();
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let is_wanted = |i: &Instruction<'_>| {
        let is_number = |ty| types.ty(ty) == Some(Type::Int { width: 32 });
        i.is(Op::Load)
            && i.operand(0).is_some_and(|from| sizes.contains(&from))
            && i.result_type().is_some_and(is_number)
    };
    let mut loads = module.instructions().filter(is_wanted).peekable();
    if loads.peek().is_none() {
        return Ok(None);
    }
    let mut edit = Editor::new(definitions);
    let group = BuiltInVector::add(&mut edit, BuiltIn::WorkgroupSize, address_bits);
    let [most, place] = [BuiltIn::SubgroupMaxSize, BuiltIn::SubgroupId].map(|of| number(&mut edit, of));
    let [wide, truth] = [edit.int_type(group.width), edit.bool_type()];
    for load in loads {
        let (Some(ty), Some(result)) = (load.result_type(), load.result_id()) else { continue };
        let mut at = edit.instead_of(&load);
        let mut items = group.read(&mut at, 0);
        for axis in [1, 2] {
            let more = group.read(&mut at, axis);
            items = at.emit(Op::IMul, wide, &[items, more]);
        }
        let items = converted(&mut at, &types, (items, group.width), ty);
        let [most, place] = [most, place].map(|from| at.emit(Op::Load, ty, &[from]));
        let before = at.emit(Op::IMul, ty, &[place, most]);
        let left = at.emit(Op::ISub, ty, &[items, before]);
        let is_part = at.emit(Op::ULessThan, truth, &[left, most]);
        at.push(Op::Select, &[ty, result, is_part, left, most]);
    }
    Ok(edit.finish()?)
}

/// The built-in variable of the module with a number of 32 bits, or a new one. All kernels may use it.
fn number(edit: &mut Editor<'_>, wanted: BuiltIn) -> u32 {
    let mut built_ins = edit.definitions().module().built_ins();
    let known = built_ins.find(|(_, number)| *number == wanted as u32).map(|(variable, _)| variable);
    let variable = known.unwrap_or_else(|| {
        let ty = edit.int_type(32);
        edit.built_in_variable(wanted, ty)
    });
    edit.add_to_interfaces(variable);
    variable
}
