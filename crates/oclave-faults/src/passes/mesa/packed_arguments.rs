//! Packed structs that a kernel is given by value, as arrays of numbers.
//!
//! Mesa copies such a struct member by member, where a kernel begins. Members that are not aligned are
//! read at the aligned address before. So the kernel takes an array of the same size, which is cast.

use std::collections::HashMap;

use crate::Fault;
use crate::passes::roots::kernel_parameters;
use crate::passes::{Pass, Result, pass};
use oclave_spirv::{
    Capability, Definitions, Instruction, Module, Op, Rewriter, Section, StorageClass, Type, TypeTable,
};

pub(in crate::passes) const PASS: Pass = pass(Fault::Q56, "packed_arguments", |on| as_arrays(on.module));

/// The module with such arrays; `None` where no kernel has such an argument.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn as_arrays(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let packed = packed_parameters(&definitions, &types);
    if packed.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let written: HashMap<u32, Parameter> =
        packed.into_iter().map(|(id, ty)| (id, Parameter::new(&mut new, &types, ty))).collect();
    // Type, result and operand of casts that the function begins with.
    let mut casts: Vec<[u32; 3]> = Vec::new();
    for instruction in module.instructions() {
        let id = instruction.result_id().or(instruction.operand(0));
        let parameter = id.and_then(|id| written.get(&id));
        match (instruction.op(), parameter) {
            (Some(op @ (Op::Name | Op::Decorate)), Some(parameter)) => {
                let rest = instruction.operands().get(1..).unwrap_or_default();
                new.replace(&instruction, op, &[&[parameter.id], rest].concat());
            }
            (Some(Op::Function), _) => {
                casts.clear();
                write_function(&mut new, &instruction, &written);
            }
            (Some(Op::FunctionParameter), Some(parameter)) => {
                new.replace(&instruction, Op::FunctionParameter, &[parameter.pointer, parameter.id]);
                casts.push([instruction.result_type().unwrap_or(0), id.unwrap_or(0), parameter.id]);
            }
            (Some(Op::FunctionParameter | Op::Label | Op::Variable | Op::Line | Op::NoLine), _) => {
                new.copy(&instruction);
            }
            _ => {
                casts.drain(..).for_each(|cast| new.push(Op::Bitcast, &cast));
                new.copy(&instruction);
            }
        }
    }
    Ok(Some(new.finish()?))
}

/// A parameter as it is written.
struct Parameter {
    id: u32,
    /// The type of pointers to the struct with the array.
    pointer: u32,
}

impl Parameter {
    fn new(new: &mut Rewriter<'_>, types: &TypeTable<'_>, ty: u32) -> Self {
        let bytes = types.align_bytes(ty).clamp(1, 8);
        if bytes < 4 {
            new.capability(if bytes == 1 { Capability::Int8 } else { Capability::Int16 });
        }
        let element = new.int_type(bytes * 8);
        let length = new.int_constant(32, types.size_bytes(ty).unwrap_or(0) / u64::from(bytes));
        let (array, whole) = (new.fresh_id(), new.fresh_id());
        new.push_in(Section::Types, Op::TypeArray, &[array, element, length]);
        new.push_in(Section::Types, Op::TypeStruct, &[whole, array]);
        Self { id: new.fresh_id(), pointer: new.pointer_type(StorageClass::Function, whole) }
    }
}

/// Writes the beginning of a function, whose type names those of its parameters.
fn write_function(new: &mut Rewriter<'_>, function: &Instruction<'_>, written: &HashMap<u32, Parameter>) {
    let definitions = new.definitions();
    let parameters = function.result_id().map(|id| definitions.body(id)).into_iter().flatten();
    let parameters = parameters.take_while(|i| !i.is(Op::Label)).filter(|i| i.is(Op::FunctionParameter));
    let mut is_changed = false;
    let types: Vec<u32> = parameters
        .map(|parameter| {
            let changed = parameter.result_id().and_then(|id| written.get(&id));
            is_changed |= changed.is_some();
            changed.map_or(parameter.result_type().unwrap_or(0), |parameter| parameter.pointer)
        })
        .collect();
    match (function.result_type(), function.result_id(), function.operand(0)) {
        (Some(returns), Some(id), Some(control)) if is_changed => {
            let ty = new.function_type(returns, &types);
            new.replace(function, Op::Function, &[returns, id, control, ty]);
        }
        _ => new.copy(function),
    }
}

/// The parameters of kernels that are packed structs by value, or have such structs inside, with the
/// types of the structs.
fn packed_parameters(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> Vec<(u32, u32)> {
    let packed = |id: u32| match types.ty(definitions.type_of(id)?)? {
        Type::Pointer { class, pointee }
            if class == StorageClass::Function as u32
                && types.parts(pointee).iter().any(|part| types.is_packed(*part))
                && types.size_bytes(pointee).is_some() =>
        {
            Some((id, pointee))
        }
        _ => None,
    };
    kernel_parameters(definitions.module()).into_iter().filter_map(packed).collect()
}
