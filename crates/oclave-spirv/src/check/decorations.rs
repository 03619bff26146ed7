//! Decorations: known, of what they may be of, and once.

use std::collections::HashSet;

use super::annotations::member_of;
use super::layout::{Function, Layout};
use super::{Context, broken};
use crate::Result;
use crate::transform::capabilities::declared;
use crate::transform::hints::FAST_MATH_INTEL;
use crate::transform::strip::USER_SEMANTIC;
use crate::{BuiltIn, Decoration, Instruction, LinkageType, Op, StorageClass, Type};

/// Checks all decorations.
pub(super) fn check(context: &Context<'_, '_>, layout: &Layout<'_>) -> Result<()> {
    let mut seen = HashSet::new();
    let mut imported = HashSet::new();
    for instruction in context.module.global_instructions() {
        let (op, operands) = (instruction.op(), instruction.operands());
        match (op, operands) {
            (
                Some(Op::Decorate | Op::DecorateId | Op::DecorateString),
                &[target, decoration, ref rest @ ..],
            ) => {
                if decoration == USER_SEMANTIC {
                    return Err(broken(&instruction, "is an annotation; strip it first"));
                }
                let ids = op == Some(Op::DecorateId);
                context.requirements.decoration(&instruction, decoration, rest, ids)?;
                if decoration == Decoration::LinkageAttributes as u32
                    && rest.last() == Some(&(LinkageType::Import as u32))
                {
                    imported.insert(target);
                }
                decorate(context, layout, &instruction, target, decoration)?;
                // Drivers refuse a decoration that stands twice. Parameters have several
                // attributes.
                let several = decoration == Decoration::FuncParamAttr as u32;
                if !seen.insert((target, None, decoration, if several { rest } else { &[] }))
                    && is_core(decoration)
                {
                    return Err(broken(&instruction, format!("decoration {decoration} stands twice")));
                }
            }
            (
                Some(Op::MemberDecorate | Op::MemberDecorateString),
                &[ty, member, decoration, ref rest @ ..],
            ) => {
                member_of(context, &instruction, ty, member)?;
                context.requirements.decoration(&instruction, decoration, rest, false)?;
                if !seen.insert((ty, Some(member), decoration, &[])) && is_core(decoration) {
                    return Err(broken(&instruction, format!("decoration {decoration} stands twice")));
                }
            }
            _ => {}
        }
    }
    for function in layout.functions.iter().filter(|f| f.blocks.is_empty()) {
        if !function.begin.result_id().is_some_and(|id| imported.contains(&id)) {
            return Err(broken(&function.begin, "has neither a body nor the linkage Import"));
        }
    }
    Ok(())
}

/// The bits of a fast-math mode that need no extension.
const FAST_MATH: u32 = 0x1f;

/// `RuntimeAlignedINTEL`.
const RUNTIME_ALIGNED: u32 = 5940;

/// Decorations of extensions may stand several times: annotations, cache controls.
fn is_core(decoration: u32) -> bool {
    decoration < 4000
}

/// Whether an id is an operation that may overflow.
fn wraps(context: &Context<'_, '_>, id: u32) -> bool {
    let instruction = context.definitions.instruction(id);
    let op = match instruction.as_ref().and_then(|i| i.op()) {
        Some(Op::SpecConstantOp) => instruction.and_then(|i| i.operand(0)).and_then(Op::from_u32),
        op => op,
    };
    matches!(op, Some(Op::IAdd | Op::ISub | Op::IMul | Op::ShiftLeftLogical | Op::SNegate | Op::ExtInst))
}

/// Whether an id is a variable, or a parameter that is a pointer.
fn is_memory_object(context: &Context<'_, '_>, id: u32) -> bool {
    match context.definitions.instruction(id).and_then(|i| i.op()) {
        Some(Op::Variable | Op::UntypedVariableKHR) => true,
        Some(Op::FunctionParameter) => context.pointer(id).is_some(),
        _ => false,
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
    let definition = context.definitions.instruction(target);
    let group = definition.is_some_and(|i| i.is(Op::DecorationGroup));
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
            let kind = linkage.first().and_then(|&l| LinkageType::from_u32(l));
            if kind == Some(LinkageType::LinkOnceODR)
                && !context.requirements.has_extension("SPV_KHR_linkonce_odr")
            {
                return fail("LinkOnceODR needs the extension SPV_KHR_linkonce_odr".to_owned());
            }
            let initial = definition.filter(|i| i.is(Op::Variable)).and_then(|i| i.operand(1));
            if kind == Some(LinkageType::Import) && initial.is_some() {
                return fail(format!("%{target} has an initial value and is imported"));
            }
            let has_body = |f: &Function<'_>| f.begin.result_id() == Some(target) && !f.blocks.is_empty();
            if kind == Some(LinkageType::Import) && layout.functions.iter().any(has_body) {
                return fail(format!("%{target} has a body and is imported"));
            }
        }
        Some(D::BuiltIn) => return built_in(context, instruction, target, one),
        Some(D::Alignment) if !one.is_some_and(|a| a.is_power_of_two() && a <= 1 << 29) => {
            return fail(format!("alignment {literals:?} is no power of two"));
        }
        Some(D::FuncParamAttr) => {
            let Some(attribute @ (0..=7 | RUNTIME_ALIGNED)) = one else {
                return fail(format!("attribute {literals:?}"));
            };
            let extends = attribute <= 1;
            // Extension (0, 1) is of integers and may be of a function's result; all others are of
            // pointers.
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
        Some(D::NoSignedWrap | D::NoUnsignedWrap) if !group && !wraps(context, target) => {
            return fail(format!("%{target} is no operation on integers"));
        }
        Some(D::Constant) if !group && !definition.is_some_and(|i| i.is(Op::Variable)) => {
            return fail(format!("%{target} is no variable"));
        }
        Some(D::Restrict | D::Aliased | D::Volatile | D::Coherent | D::NonWritable | D::NonReadable)
            if !group && !is_memory_object(context, target) =>
        {
            return fail(format!("%{target} is neither a variable nor a parameter that is a pointer"));
        }
        Some(D::CPacked) if !group && !matches!(context.ty(target), Some(Type::Struct { .. })) => {
            return fail(format!("%{target} is no struct"));
        }
        Some(D::FPFastMathMode)
            if one.is_some_and(|mode| mode & !FAST_MATH != 0)
                && !declared(context.module).any(|c| c == FAST_MATH_INTEL) =>
        {
            return fail(format!("mode {literals:?}"));
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
