//! Computes the size of a sub-group, which Mesa's llvmpipe takes for the size of whole ones.
//!
//! The last sub-group of a group may be a part of one. Its size is what is left of the group.

use std::collections::BTreeSet;

use crate::Fault;
use crate::passes::built_in_vector::{BuiltInVector, copy_entry_point};
use crate::passes::opaque_values::emit;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::{
    BuiltIn, Decoration, Definitions, Module, Op, Rewriter, Section, StorageClass, Type, TypeTable,
};

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
    pass(Fault::Q64, "sub_group_sizes", |on| compute(on.module, on.target.address_bits));

/// The module with a computation for each load of the size; `None` where there is none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn compute(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let built_ins = module.built_ins().filter(|(_, number)| *number == BuiltIn::SubgroupSize as u32);
    let sizes: BTreeSet<u32> = built_ins.map(|(id, _)| id).collect();
    let is_size = |id: u32| sizes.contains(&id);
    if !module.instructions().any(|i| i.is(Op::Load) && i.operand(0).is_some_and(is_size)) {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let mut new = Rewriter::new(&definitions);
    let group = BuiltInVector::of(&mut new, BuiltIn::WorkgroupSize, address_bits);
    let most = number(&mut new, BuiltIn::SubgroupMaxSize);
    let place = number(&mut new, BuiltIn::SubgroupId);
    for instruction in module.instructions() {
        let from = instruction.operand(0).filter(|_| instruction.is(Op::Load)).filter(|from| is_size(*from));
        match (instruction.op(), from, instruction.result_type(), instruction.result_id()) {
            (Some(Op::EntryPoint), ..) => {
                copy_entry_point(&mut new, &instruction, &[group.variable, most, place]);
            }
            (_, Some(_), Some(ty), Some(result)) if matches!(types.ty(ty), Some(Type::Int { width: 32 })) => {
                let mut items = group.load(&mut new, 0);
                let wide = new.int_type(group.width);
                for axis in [1, 2] {
                    let more = group.load(&mut new, axis);
                    items = emit(&mut new, Op::IMul, wide, &[items, more]);
                }
                if group.width != 32 {
                    items = emit(&mut new, Op::UConvert, ty, &[items]);
                }
                let most = emit(&mut new, Op::Load, ty, &[most]);
                let place = emit(&mut new, Op::Load, ty, &[place]);
                let before = emit(&mut new, Op::IMul, ty, &[place, most]);
                let left = emit(&mut new, Op::ISub, ty, &[items, before]);
                let truth = new.bool_type();
                let is_part = emit(&mut new, Op::ULessThan, truth, &[left, most]);
                new.push(Op::Select, &[ty, result, is_part, left, most]);
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(Some(new.finish()?))
}

/// The built-in variable of the module with a number of 32 bits, or a new one.
fn number(new: &mut Rewriter<'_>, wanted: BuiltIn) -> u32 {
    let mut built_ins = new.definitions().module().built_ins();
    if let Some((variable, _)) = built_ins.find(|(_, number)| *number == wanted as u32) {
        return variable;
    }
    let ty = new.int_type(32);
    let pointer = new.pointer_type(StorageClass::Input, ty);
    let variable = new.fresh_id();
    new.push_in(Section::Types, Op::Variable, &[pointer, variable, StorageClass::Input as u32]);
    new.decorate(variable, Decoration::BuiltIn, &[wanted as u32]);
    new.decorate(variable, Decoration::Constant, &[]);
    variable
}
