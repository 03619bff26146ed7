//! Capabilities: which a module has, and which nothing in it needs.

use std::collections::BTreeSet;

use crate::Result;
use crate::analysis::halves::Halves;
use crate::check::implied;
use crate::words::{SCOPE_WORKGROUP, is_sub_group_builtin, is_sub_group_op};
use crate::{
    BuiltIn, Capability, Decoration, Definitions, Editor, ExecutionMode, Module, Op, StorageClass, Type,
    TypeTable, is_atomic, is_group,
};

/// What only code with sub-groups needs. They come and go together: whatever of sub-groups there is
/// keeps all of them.
pub const OF_SUB_GROUPS: [Capability; 17] = [
    Capability::SubgroupDispatch,
    Capability::GroupNonUniform,
    Capability::GroupNonUniformVote,
    Capability::GroupNonUniformArithmetic,
    Capability::GroupNonUniformBallot,
    Capability::GroupNonUniformShuffle,
    Capability::GroupNonUniformShuffleRelative,
    Capability::GroupNonUniformClustered,
    Capability::GroupNonUniformQuad,
    Capability::GroupNonUniformRotateKHR,
    Capability::SubgroupBallotKHR,
    Capability::SubgroupVoteKHR,
    Capability::SubgroupShuffleINTEL,
    Capability::SubgroupBufferBlockIOINTEL,
    Capability::SubgroupImageBlockIOINTEL,
    Capability::SubgroupImageMediaBlockIOINTEL,
    Capability::NamedBarrier,
];

/// Extensions that only serve for capabilities: without these, the module does not need them.
const ENABLING: [(&str, &[Capability]); 9] = [
    (
        "SPV_INTEL_subgroups",
        &[
            Capability::SubgroupShuffleINTEL,
            Capability::SubgroupBufferBlockIOINTEL,
            Capability::SubgroupImageBlockIOINTEL,
        ],
    ),
    ("SPV_INTEL_media_block_io", &[Capability::SubgroupImageMediaBlockIOINTEL]),
    ("SPV_KHR_shader_ballot", &[Capability::SubgroupBallotKHR]),
    ("SPV_KHR_subgroup_vote", &[Capability::SubgroupVoteKHR]),
    ("SPV_KHR_subgroup_rotate", &[Capability::GroupNonUniformRotateKHR]),
    (
        "SPV_INTEL_function_pointers",
        &[Capability::FunctionPointersINTEL, Capability::IndirectReferencesINTEL],
    ),
    ("SPV_EXT_shader_atomic_float_add", &[Capability::AtomicFloat32AddEXT, Capability::AtomicFloat64AddEXT]),
    ("SPV_EXT_shader_atomic_float16_add", &[Capability::AtomicFloat16AddEXT]),
    (
        "SPV_EXT_shader_atomic_float_min_max",
        &[
            Capability::AtomicFloat32MinMaxEXT,
            Capability::AtomicFloat64MinMaxEXT,
            Capability::AtomicFloat16MinMaxEXT,
        ],
    ),
];

/// The capabilities that a module declares, in its order.
pub fn declared(module: &Module) -> impl Iterator<Item = u32> {
    module.instructions().take_while(|i| i.is(Op::Capability) || i.is(Op::Nop)).filter_map(|i| i.operand(0))
}

/// The name of a capability, its number where it has none.
pub fn name(capability: u32) -> String {
    Capability::from_u32(capability).map_or_else(|| format!("capability {capability}"), |c| format!("{c:?}"))
}

/// Drops the capabilities that the module demonstrably does not need, and the extensions that
/// served for them.
///
/// Only capabilities that devices may lack and whose every use is plain to see are considered.
/// These are types (`Float64`, `Float16`, `ImageBasic`, `Pipes` …), the generic storage class,
/// groups, sub-groups, 64-bit atomics and function pointers. All others stay.
///
/// # Errors
/// As [`Editor::finish`].
pub fn prune(module: &Module) -> Result<Module> {
    let unused: BTreeSet<u32> = {
        let candidates: BTreeSet<u32> = declared(module).filter(|&c| is_candidate(c)).collect();
        if candidates.is_empty() {
            return Ok(module.clone());
        }
        let needed = needed(module);
        // One that declares others, too, stays where nothing else declares these.
        let mut left: BTreeSet<u32> = declared(module).collect();
        let goes = |c: &u32| {
            left.remove(c);
            let provided = |i: &u32| left.contains(i) || left.iter().any(|&l| implied(l).contains(i));
            let lost = implied(*c).iter().any(|i| (!is_candidate(*i) || needed.contains(i)) && !provided(i));
            if lost {
                left.insert(*c);
            }
            !lost
        };
        candidates.into_iter().filter(|c| !needed.contains(c)).filter(goes).collect()
    };
    if unused.is_empty() {
        return Ok(module.clone());
    }
    let left: BTreeSet<u32> = declared(module).filter(|c| !unused.contains(c)).collect();
    let serves = |extension: &str| {
        let enabled = ENABLING.iter().find(|(name, _)| *name == extension);
        enabled.is_none_or(|(_, capabilities)| capabilities.iter().any(|&c| left.contains(&(c as u32))))
    };
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for instruction in module.instructions() {
        let goes = match instruction.op() {
            Some(Op::Capability) => instruction.operand(0).is_some_and(|c| unused.contains(&c)),
            Some(Op::Extension) => instruction.string(0).is_some_and(|name| !serves(&name)),
            _ => false,
        };
        if goes {
            edit.remove(&instruction);
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

fn is_candidate(capability: u32) -> bool {
    Capability::from_u32(capability).is_some_and(|c| {
        OF_SUB_GROUPS.contains(&c)
            || matches!(
                c,
                Capability::Float64
                    | Capability::Float16
                    | Capability::Float16Buffer
                    | Capability::Int64Atomics
                    | Capability::ImageBasic
                    | Capability::ImageReadWrite
                    | Capability::ImageMipmap
                    | Capability::Image1D
                    | Capability::Sampled1D
                    | Capability::ImageBuffer
                    | Capability::SampledBuffer
                    | Capability::LiteralSampler
                    | Capability::Pipes
                    | Capability::DeviceEnqueue
                    | Capability::GenericPointer
                    | Capability::Groups
                    | Capability::Vector16
                    | Capability::FunctionPointersINTEL
                    | Capability::IndirectReferencesINTEL
                    | Capability::AtomicFloat32AddEXT
                    | Capability::AtomicFloat64AddEXT
                    | Capability::AtomicFloat16AddEXT
                    | Capability::AtomicFloat32MinMaxEXT
                    | Capability::AtomicFloat64MinMaxEXT
                    | Capability::AtomicFloat16MinMaxEXT
            )
    })
}

/// The candidates that something in the module needs.
fn needed(module: &Module) -> BTreeSet<u32> {
    use Capability as C;
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let halves = Halves::new(&definitions, &types);
    let names_halves = declared(module).any(|c| c == C::Float16Buffer as u32);
    let mut needed = BTreeSet::new();
    let mut need = |capabilities: &[Capability]| needed.extend(capabilities.iter().map(|&c| c as u32));
    for instruction in module.instructions() {
        let Some(op) = instruction.op() else {
            // An instruction of an extension may need any of them.
            return declared(module).collect();
        };
        let ty = instruction.result_type().and_then(|ty| types.ty(ty));
        if halves.computes(&instruction) {
            need(&[C::Float16]);
        }
        match op {
            Op::TypeFloat => match instruction.operand(0) {
                Some(64) => need(&[C::Float64]),
                Some(16) if names_halves => need(&[C::Float16Buffer]),
                Some(16) => need(&[C::Float16]),
                _ => {}
            },
            Op::TypeVector if instruction.operand(1).is_some_and(|n| n > 4) => need(&[C::Vector16]),
            Op::TypeImage => {
                // The dimension: 1D is 0, a buffer 5. The access qualifier: read_write is 2.
                need(&[C::ImageBasic, C::ImageMipmap]);
                match instruction.operand(1) {
                    Some(0) => need(&[C::Image1D, C::Sampled1D]),
                    Some(5) => need(&[C::ImageBuffer, C::SampledBuffer]),
                    _ => {}
                }
                if instruction.operand(7) == Some(2) {
                    need(&[C::ImageReadWrite]);
                }
            }
            Op::TypeSampler | Op::TypeSampledImage => need(&[C::ImageBasic]),
            Op::ConstantSampler => need(&[C::LiteralSampler]),
            Op::TypePipe | Op::TypeReserveId => need(&[C::Pipes]),
            Op::TypeQueue | Op::TypeDeviceEvent => need(&[C::DeviceEnqueue]),
            Op::TypePointer if instruction.operand(0) == Some(StorageClass::Generic as u32) => {
                need(&[C::GenericPointer]);
            }
            Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::GenericCastToPtrExplicit
            | Op::GenericPtrMemSemantics => {
                need(&[C::GenericPointer]);
            }
            Op::ConstantFunctionPointerINTEL | Op::FunctionPointerCallINTEL => {
                need(&[C::FunctionPointersINTEL, C::IndirectReferencesINTEL]);
            }
            Op::TypeFunction | Op::Function => {}
            Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT => match ty {
                Some(Type::Float { width: 16 }) => need(&[C::AtomicFloat16AddEXT, C::AtomicFloat16MinMaxEXT]),
                Some(Type::Float { width: 64 }) => need(&[C::AtomicFloat64AddEXT, C::AtomicFloat64MinMaxEXT]),
                _ => need(&[C::AtomicFloat32AddEXT, C::AtomicFloat32MinMaxEXT]),
            },
            Op::AtomicStore => {
                let value =
                    instruction.operand(3).and_then(|v| definitions.type_of(v)).and_then(|ty| types.ty(ty));
                if !matches!(value, Some(Type::Int { width: 32 } | Type::Float { width: 32 })) {
                    need(&[C::Int64Atomics]);
                }
            }
            _ if is_atomic(op)
                && ty.is_some_and(|ty| {
                    !matches!(ty, Type::Int { width: 32 } | Type::Float { width: 32 } | Type::Bool)
                }) =>
            {
                need(&[C::Int64Atomics]);
            }
            Op::Decorate
                if instruction.operand(1) == Some(Decoration::BuiltIn as u32)
                    && instruction
                        .operand(2)
                        .and_then(BuiltIn::from_u32)
                        .is_some_and(is_sub_group_builtin) =>
            {
                need(&OF_SUB_GROUPS);
            }
            Op::ExecutionMode | Op::ExecutionModeId
                if instruction
                    .operand(1)
                    .and_then(ExecutionMode::from_u32)
                    .is_some_and(is_sub_group_mode) =>
            {
                need(&OF_SUB_GROUPS);
            }
            Op::NamedBarrierInitialize
            | Op::MemoryNamedBarrier
            | Op::GetKernelLocalSizeForSubgroupCount
            | Op::GetKernelMaxNumSubgroups
            | Op::GetKernelNDrangeSubGroupCount
            | Op::GetKernelNDrangeMaxSubGroupSize => need(&OF_SUB_GROUPS),
            _ if is_sub_group_op(op) => need(&OF_SUB_GROUPS),
            _ if is_group(op) => {
                need(&[C::Groups]);
                let scope = instruction.operand(0).and_then(|id| definitions.int_constant(id));
                if scope != Some(SCOPE_WORKGROUP) {
                    need(&OF_SUB_GROUPS);
                }
            }
            _ => {}
        }
        if let Op::TypePointer = op
            && let Some(Type::Function { .. }) = instruction.operand(1).and_then(|ty| types.ty(ty))
        {
            need(&[C::FunctionPointersINTEL, C::IndirectReferencesINTEL]);
        }
    }
    needed
}

fn is_sub_group_mode(mode: ExecutionMode) -> bool {
    use ExecutionMode as E;
    matches!(mode, E::SubgroupSize | E::SubgroupsPerWorkgroup | E::SubgroupsPerWorkgroupId)
}
