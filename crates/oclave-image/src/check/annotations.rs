//! Memory model, entry points, execution modes, names and decorations.

use std::collections::{HashMap, HashSet};

use super::layout::Layout;
use super::{Context, broken};
use crate::Result;
use crate::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, Instruction,
    LinkageType, MemoryModel, Op, StorageClass, Type,
};
use crate::transform::strip::{USER_SEMANTIC, is_kernel_language};

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
    for instruction in context.module.instructions().take_while(|i| !i.is(Op::Function)) {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Source), &[language, ..]) if !is_kernel_language(language) => {
                return Err(broken(&instruction, format!("source language {language}")));
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
                for &id in instruction.after_string(2).unwrap_or_default() {
                    if !context.definitions.instruction(id).is_some_and(|i| i.is(Op::Variable)) {
                        return Err(broken(&instruction, format!("%{id} in its interface is no variable")));
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
                execution_mode(&instruction, mode)?;
            }
            (Some(Op::MemberName), &[ty, member, ..]) => member_of(context, &instruction, ty, member)?,
            (Some(Op::Decorate), &[target, decoration, ..]) => {
                decorate(context, layout, &instruction, target, decoration)?;
            }
            (Some(Op::MemberDecorate), &[ty, member, ..]) => member_of(context, &instruction, ty, member)?,
            (Some(Op::GroupDecorate | Op::GroupMemberDecorate), &[group, ..])
                if !context.definitions.instruction(group).is_some_and(|i| i.is(Op::DecorationGroup)) =>
            {
                return Err(broken(&instruction, format!("%{group} is no decoration group")));
            }
            _ => {}
        }
    }
    let missing = |what: &str| crate::ImageError::Spirv { word: 5, what: what.to_owned() };
    if !kernel {
        return Err(missing("no OpCapability Kernel: not a module for OpenCL"));
    }
    if !model {
        return Err(missing("no OpMemoryModel"));
    }
    Ok(())
}

fn execution_mode(instruction: &Instruction<'_>, mode: &[u32]) -> Result<()> {
    let Some((&mode, literals)) = mode.split_first() else { return Ok(()) };
    let count = match ExecutionMode::from_u32(mode) {
        Some(ExecutionMode::LocalSize | ExecutionMode::LocalSizeHint) => {
            if mode == ExecutionMode::LocalSize as u32 && literals.contains(&0) {
                return Err(broken(instruction, "a local size of 0"));
            }
            3
        }
        Some(
            ExecutionMode::VecTypeHint | ExecutionMode::SubgroupSize | ExecutionMode::SubgroupsPerWorkgroup,
        ) => 1,
        Some(ExecutionMode::ContractionOff) => 0,
        Some(
            ExecutionMode::DenormPreserve
            | ExecutionMode::DenormFlushToZero
            | ExecutionMode::SignedZeroInfNanPreserve
            | ExecutionMode::RoundingModeRTE
            | ExecutionMode::RoundingModeRTZ,
        ) => 1,
        Some(ExecutionMode::LocalSizeId | ExecutionMode::LocalSizeHintId) => 3,
        Some(ExecutionMode::SubgroupsPerWorkgroupId) => 1,
        // Those of extensions.
        _ if mode > 4000 => return Ok(()),
        _ => return Err(broken(instruction, format!("mode {mode} is none of kernels"))),
    };
    if literals.len() != count {
        return Err(broken(
            instruction,
            format!("mode {mode} takes {count} operands, not {}", literals.len()),
        ));
    }
    Ok(())
}

fn member_of(context: &Context<'_, '_>, instruction: &Instruction<'_>, ty: u32, member: u32) -> Result<()> {
    match context.ty(ty) {
        Some(Type::Struct { members }) if (member as usize) < members.len() => Ok(()),
        Some(Type::Struct { .. }) => Err(broken(instruction, format!("%{ty} has no member {member}"))),
        _ => Err(broken(instruction, format!("%{ty} is no struct"))),
    }
}

fn decorate(
    context: &Context<'_, '_>,
    layout: &Layout<'_>,
    instruction: &Instruction<'_>,
    target: u32,
    decoration: u32,
) -> Result<()> {
    use Decoration as D;
    let fail = |what: String| Err(broken(instruction, what));
    let literals = instruction.operands().get(2..).unwrap_or_default();
    let one = match literals {
        &[one] => Some(one),
        _ => None,
    };
    let group = context.definitions.instruction(target).is_some_and(|i| i.is(Op::DecorationGroup));
    match D::from_u32(decoration) {
        Some(D::LinkageAttributes) => {
            let linkage = instruction.after_string(2).unwrap_or_default();
            let known =
                linkage.len() == 1 && linkage.first().is_some_and(|&l| LinkageType::from_u32(l).is_some());
            let global = layout.block_of.value(target) == 0;
            let linkable = global
                && context
                    .definitions
                    .instruction(target)
                    .is_some_and(|i| i.is(Op::Function) || i.is(Op::Variable));
            if !known || !(linkable || group) {
                return fail(format!("a linkage that is none, or of %{target}, which cannot be linked"));
            }
        }
        Some(D::BuiltIn) => return built_in(context, instruction, target, one),
        Some(D::Alignment) if !one.is_some_and(|a| a.is_power_of_two() && a <= 1 << 29) => {
            return fail(format!("alignment {literals:?} is no power of two"));
        }
        Some(D::FuncParamAttr) => {
            let Some(attribute @ 0..=8) = one else { return fail(format!("attribute {literals:?}")) };
            let extends = attribute <= 1;
            let definition = context.definitions.instruction(target);
            // Extension (0, 1) is of integers and may be of a function's result; all others are of pointers.
            let ty = match definition.and_then(|d| d.op()) {
                Some(Op::FunctionParameter) => context.value_type(target),
                Some(Op::Function) if extends => definition.and_then(|d| d.result_type()),
                _ if group => return Ok(()),
                _ => return fail(format!("%{target} is no parameter")),
            };
            let fits = match ty.and_then(|ty| context.ty(ty)) {
                Some(Type::Int { .. } | Type::Bool) => extends,
                Some(Type::Pointer { .. }) => !extends,
                _ => false,
            };
            if !fits {
                return fail(format!("attribute {attribute} is not for the type of %{target}"));
            }
        }
        Some(D::FPRoundingMode) if one > Some(3) || one.is_none() => {
            return fail(format!("mode {literals:?}"));
        }
        Some(D::SpecId) => {
            let constant = context.definitions.instruction(target).and_then(|i| i.op());
            let specializes = matches!(
                constant,
                Some(Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse | Op::DecorationGroup)
            );
            if one.is_none() || !specializes {
                return fail(format!("%{target} is no specialization constant"));
            }
        }
        Some(D::FPFastMathMode | D::MaxByteOffset) if one.is_none() => {
            return fail("one literal is missing".to_owned());
        }
        _ if decoration == USER_SEMANTIC => return fail("is an annotation; strip it first".to_owned()),
        _ => {}
    }
    Ok(())
}

/// Drivers replace these variables by calls, and trust their types.
fn built_in(
    context: &Context<'_, '_>,
    instruction: &Instruction<'_>,
    target: u32,
    which: Option<u32>,
) -> Result<()> {
    use BuiltIn as B;
    let variable = context.definitions.instruction(target).filter(|i| i.is(Op::Variable));
    let Some((class, pointee)) = variable.and_then(|_| context.pointer(target)) else {
        return Err(broken(instruction, format!("%{target} is no variable")));
    };
    let address = context.types.pointer_bytes() * 8;
    let is_int =
        |ty: Option<Type<'_>>| matches!(ty, Some(Type::Int { width }) if width == 32 || width == address);
    let ty = context.ty(pointee);
    let fits = match which.and_then(B::from_u32) {
        Some(
            B::NumWorkgroups
            | B::WorkgroupSize
            | B::WorkgroupId
            | B::LocalInvocationId
            | B::GlobalInvocationId
            | B::GlobalSize
            | B::EnqueuedWorkgroupSize
            | B::GlobalOffset,
        ) => matches!(ty, Some(Type::Vector { component, count: 3 }) if is_int(context.ty(component))),
        Some(
            B::LocalInvocationIndex
            | B::WorkDim
            | B::GlobalLinearId
            | B::SubgroupSize
            | B::SubgroupMaxSize
            | B::NumSubgroups
            | B::NumEnqueuedSubgroups
            | B::SubgroupId
            | B::SubgroupLocalInvocationId,
        ) => is_int(ty),
        Some(
            B::SubgroupEqMask | B::SubgroupGeMask | B::SubgroupGtMask | B::SubgroupLeMask | B::SubgroupLtMask,
        ) => {
            matches!(ty, Some(Type::Vector { component, count: 4 }) if is_int(context.ty(component)))
        }
        _ => return Err(broken(instruction, format!("built-in {which:?} is none of kernels"))),
    };
    if !fits || class != StorageClass::Input as u32 {
        return Err(broken(
            instruction,
            format!("%{target} has not the type or storage class of this built-in"),
        ));
    }
    Ok(())
}
