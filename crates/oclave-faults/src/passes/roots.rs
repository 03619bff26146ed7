//! What pointers are made of.

use std::collections::{BTreeSet, HashSet};

use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::{Definitions, Module, Op, is_access_chain};

/// The pointer that casts and access chains lead from to `pointer`: a variable, a parameter, or what a
/// phi, a selection or a load gives.
pub(crate) fn root(definitions: &Definitions<'_>, pointer: u32) -> u32 {
    let (mut id, mut seen) = (pointer, HashSet::new());
    while seen.insert(id) {
        let Some(instruction) = definitions.instruction(id) else { break };
        id = match (instruction.op(), instruction.operands()) {
            (Some(Op::Bitcast | Op::CopyObject), &[base]) => base,
            (Some(Op::SpecConstantOp), &[_, base, ..]) => base,
            (Some(op), &[base, ..]) if is_access_chain(op) => base,
            _ => break,
        };
    }
    id
}

/// The parameters of kernels.
pub(crate) fn kernel_parameters(module: &Module) -> BTreeSet<u32> {
    let kernels: HashSet<u32> =
        module.instructions().filter_map(|i| kernel_entry(&i)).map(|entry| entry.function).collect();
    let (mut is_kernel, mut parameters) = (false, BTreeSet::new());
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => is_kernel = instruction.result_id().is_some_and(|id| kernels.contains(&id)),
            Some(Op::FunctionParameter) if is_kernel => parameters.extend(instruction.result_id()),
            _ => {}
        }
    }
    parameters
}
