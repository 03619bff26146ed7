//! Memory model, entry points, execution modes and names.

use std::collections::{HashMap, HashSet};

use super::layout::Layout;
use super::{Context, broken};
use crate::Result;
use crate::transform::strip::is_kernel_language;
use crate::{AddressingModel, Capability, ExecutionMode, ExecutionModel, Instruction, MemoryModel, Op, Type};

/// Extended instruction sets for kernels.
const SETS: [&str; 4] = ["OpenCL.std", "OpenCL.DebugInfo.100", "DebugInfo", "SPIRV.debug"];

/// Checks everything before types.
pub(super) fn check(context: &Context<'_, '_>, layout: &Layout<'_>) -> Result<()> {
    let kernel =
        crate::transform::capabilities::declared(context.module).any(|c| c == Capability::Kernel as u32);
    let mut model = false;
    let mut entries = HashSet::new();
    let mut names = HashSet::new();
    let defined: HashMap<u32, bool> =
        layout.functions.iter().filter_map(|f| Some((f.begin.result_id()?, !f.blocks.is_empty()))).collect();
    for instruction in context.module.global_instructions() {
        context.requirements.instruction(&instruction)?;
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Source), &[language, ..]) if !is_kernel_language(language) => {
                return Err(broken(&instruction, format!("source language {language}")));
            }
            (Some(Op::Source), &[_, _, file, ..]) if !is_string(context, file) => {
                return Err(broken(&instruction, format!("%{file} is no OpString")));
            }
            (Some(Op::Line), &[file, ..]) if !is_string(context, file) => {
                return Err(broken(&instruction, format!("%{file} is no OpString")));
            }
            (Some(Op::ExtInst), &[set, ..]) if !is_a(context, set, Op::ExtInstImport) => {
                return Err(broken(&instruction, format!("%{set} is no instruction set")));
            }
            (Some(Op::ExtInst), &[set, ..]) if context.definitions.opencl_std() == Some(set) => {
                return Err(broken(&instruction, "computes outside of a function"));
            }
            (Some(Op::ExtInstImport), _) => {
                let set = instruction.string(0).unwrap_or_default();
                if !SETS.contains(&&*set) && !set.starts_with("NonSemantic.") {
                    return Err(broken(
                        &instruction,
                        format!("the instruction set \"{set}\" is none of kernels"),
                    ));
                }
            }
            (Some(Op::MemoryModel), &[addressing, memory]) => {
                let physical = [AddressingModel::Physical32, AddressingModel::Physical64];
                if model
                    || !physical.iter().any(|&p| p as u32 == addressing)
                    || memory != MemoryModel::OpenCL as u32
                {
                    return Err(broken(&instruction, "is not one of Physical32 or Physical64 with OpenCL"));
                }
                if !context.requirements.has(Capability::Addresses) {
                    return Err(broken(
                        &instruction,
                        "needs the capability Addresses, which is not declared",
                    ));
                }
                model = true;
            }
            (Some(Op::EntryPoint), &[execution, function, ..]) => {
                let name = instruction.string(2).unwrap_or_default().into_owned();
                if execution != ExecutionModel::Kernel as u32 {
                    return Err(broken(&instruction, format!("\"{name}\" is no kernel")));
                }
                if defined.get(&function) != Some(&true) {
                    return Err(broken(
                        &instruction,
                        format!("\"{name}\" is %{function}, no function with a body"),
                    ));
                }
                let returns = context.definitions.type_of(function).and_then(|ty| context.ty(ty));
                if returns != Some(Type::Void) {
                    return Err(broken(&instruction, format!("\"{name}\" returns a value")));
                }
                let mut interface = HashSet::new();
                for &id in instruction.after_string(2).unwrap_or_default() {
                    if !interface.insert(id) {
                        return Err(broken(&instruction, format!("%{id} stands twice in its interface")));
                    }
                    if !is_a(context, id, Op::Variable) {
                        return Err(broken(&instruction, format!("%{id} in its interface is no variable")));
                    }
                    if layout.block_of.value(id) != 0 {
                        return Err(broken(&instruction, format!("%{id} in its interface is of a function")));
                    }
                }
                if name.is_empty() || !names.insert(name.clone()) {
                    return Err(broken(&instruction, format!("the name \"{name}\" is empty or taken")));
                }
                entries.insert(function);
            }
            (Some(Op::ExecutionMode | Op::ExecutionModeId), &[function, ref mode @ ..]) => {
                if !entries.contains(&function) {
                    return Err(broken(&instruction, format!("%{function} is no entry point")));
                }
                execution_mode(context, &instruction, mode)?;
            }
            (Some(Op::MemberName), &[ty, member, ..]) => member_of(context, &instruction, ty, member)?,
            (Some(Op::GroupDecorate | Op::GroupMemberDecorate), &[group, ..])
                if !is_a(context, group, Op::DecorationGroup) =>
            {
                return Err(broken(&instruction, format!("%{group} is no decoration group")));
            }
            _ => {}
        }
    }
    super::decorations::check(context, layout)?;
    let missing = |what: &str| crate::Error::Malformed { word: 5, what: what.to_owned() };
    if !kernel {
        return Err(missing("no OpCapability Kernel: not a module for OpenCL"));
    }
    if !model {
        return Err(missing("no OpMemoryModel"));
    }
    Ok(())
}

/// Checks an execution mode, which is one of kernels or of an extension.
fn execution_mode(context: &Context<'_, '_>, instruction: &Instruction<'_>, mode: &[u32]) -> Result<()> {
    use ExecutionMode as E;
    let Some((&mode, operands)) = mode.split_first() else { return Ok(()) };
    match E::from_u32(mode) {
        Some(E::LocalSize) if operands.contains(&0) => {
            return Err(broken(instruction, "a local size of 0"));
        }
        Some(
            E::LocalSize
            | E::LocalSizeHint
            | E::LocalSizeId
            | E::LocalSizeHintId
            | E::VecTypeHint
            | E::ContractionOff
            | E::SubgroupSize
            | E::SubgroupsPerWorkgroup
            | E::SubgroupsPerWorkgroupId,
        ) => {}
        _ if mode > 4000 => {}
        _ => return Err(broken(instruction, format!("mode {mode} is none of kernels"))),
    }
    context.requirements.mode(instruction, mode, operands)
}

/// Whether an id names a file.
pub(super) fn is_string(context: &Context<'_, '_>, id: u32) -> bool {
    is_a(context, id, Op::String)
}

fn is_a(context: &Context<'_, '_>, id: u32, op: Op) -> bool {
    context.definitions.instruction(id).is_some_and(|i| i.is(op))
}

pub(super) fn member_of(
    context: &Context<'_, '_>,
    instruction: &Instruction<'_>,
    ty: u32,
    member: u32,
) -> Result<()> {
    match context.ty(ty) {
        Some(Type::Struct { members }) if (member as usize) < members.len() => Ok(()),
        Some(Type::Struct { .. }) => Err(broken(instruction, format!("%{ty} has no member {member}"))),
        _ => Err(broken(instruction, format!("%{ty} is no struct"))),
    }
}
