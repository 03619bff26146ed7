//! Packed structs that a kernel is given by value, as arrays of numbers.
//!
//! Mesa copies such a struct member by member, where a kernel begins. Members that are not aligned are
//! read at the aligned address before. So the kernel takes an array of the same size, which is cast.

use std::collections::{BTreeSet, HashMap};

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::{Editor, Module, Op, Section, StorageClass, Type, TypeTable};

pub(in crate::passes) const PASS: Pass = pass(Fault::Q56, "packed_arguments", |on| as_arrays(on.analyses));

/// The module with such arrays; `None` where no kernel has such an argument.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn as_arrays(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    // Parameter → the one that takes its place.
    let mut changed: HashMap<u32, u32> = HashMap::new();
    let kernels: BTreeSet<u32> =
        module.instructions().filter_map(|i| kernel_entry(&i)).map(|entry| entry.function).collect();
    for kernel in kernels {
        let mut parameter_types = Vec::new();
        let before = changed.len();
        let head = definitions.body(kernel).take_while(|i| !i.is(Op::Label));
        for parameter in head.filter(|i| i.is(Op::FunctionParameter)) {
            let (Some(ty), Some(id)) = (parameter.result_type(), parameter.result_id()) else { continue };
            let Some(packed) = packed_struct(&types, ty) else {
                parameter_types.push(ty);
                continue;
            };
            let (pointer, new) = (pointer_to_array(&mut edit, &types, packed), edit.fresh_id());
            edit.replace(&parameter, Op::FunctionParameter, &[pointer, new]);
            edit.at_entry(kernel).push(Op::Bitcast, &[ty, id, new]);
            parameter_types.push(pointer);
            changed.insert(id, new);
        }
        if let Some(function) = definitions.instruction(kernel).filter(|_| changed.len() > before)
            && let (Some(returns), &[control, _]) = (function.result_type(), function.operands())
        {
            let ty = edit.function_type(returns, &parameter_types);
            edit.replace(&function, Op::Function, &[returns, kernel, control, ty]);
        }
    }
    for annotation in module.global_instructions() {
        if let (Some(op @ (Op::Name | Op::Decorate)), [id, rest @ ..]) =
            (annotation.op(), annotation.operands())
            && let Some(new) = changed.get(id)
        {
            edit.replace(&annotation, op, &[&[*new], rest].concat());
        }
    }
    Ok(edit.finish()?)
}

/// The type of pointers to a struct with an array of numbers, as large as another struct.
fn pointer_to_array(edit: &mut Editor<'_>, types: &TypeTable<'_>, packed: u32) -> u32 {
    let bytes = types.align_bytes(packed).clamp(1, 8);
    let element = edit.int_type(bytes * 8);
    let length = edit.int_constant(32, types.size_bytes(packed).unwrap_or(0) / u64::from(bytes));
    let (array, whole) = (edit.fresh_id(), edit.fresh_id());
    edit.push_in(Section::Types, Op::TypeArray, &[array, element, length]);
    edit.push_in(Section::Types, Op::TypeStruct, &[whole, array]);
    edit.pointer_type(StorageClass::Function, whole)
}

/// The packed struct, or the one with such structs inside, that a parameter of this type has by value.
fn packed_struct(types: &TypeTable<'_>, ty: u32) -> Option<u32> {
    let Type::Pointer { class, pointee } = types.ty(ty)? else { return None };
    let is_packed = class == StorageClass::Function as u32
        && types.parts(pointee).iter().any(|part| types.is_packed(*part))
        && types.size_bytes(pointee).is_some();
    is_packed.then_some(pointee)
}
