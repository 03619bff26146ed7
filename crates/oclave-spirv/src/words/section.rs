//! The sections of a module, in the order that the specification wants ("Logical Layout of a
//! Module", section 2.4).

use ::spirv::Op;

use super::instruction::Instruction;
use super::opcodes::is_within;

/// A section of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// `OpCapability`.
    Capabilities,
    /// `OpExtension`.
    Extensions,
    /// `OpExtInstImport`.
    ExtInstImports,
    /// `OpMemoryModel`.
    MemoryModel,
    /// `OpEntryPoint`.
    EntryPoints,
    /// `OpExecutionMode`, `OpExecutionModeId`.
    ExecutionModes,
    /// `OpString`, `OpSource` and its like.
    DebugStrings,
    /// `OpName`, `OpMemberName`.
    Names,
    /// `OpModuleProcessed`.
    ModuleProcessed,
    /// `OpDecorate` and its like.
    Annotations,
    /// Types, constants, module-scope variables, debug information.
    Types,
    /// Functions without blocks.
    Declarations,
    /// Functions with blocks.
    Definitions,
}

impl Section {
    /// How many there are.
    pub(super) const COUNT: usize = Self::Definitions as usize + 1;

    /// The section of an instruction outside of functions; `previous` for what may stand anywhere
    /// or is not known.
    pub fn of(instruction: &Instruction<'_>, previous: Self) -> Self {
        instruction.op().and_then(Self::of_op).unwrap_or(previous)
    }

    /// The only section in which `op` is allowed. `None` for instructions of functions, and for
    /// those allowed anywhere.
    pub fn of_op(op: Op) -> Option<Self> {
        Some(match op {
            Op::Capability => Self::Capabilities,
            Op::Extension => Self::Extensions,
            Op::ExtInstImport => Self::ExtInstImports,
            Op::MemoryModel => Self::MemoryModel,
            Op::EntryPoint => Self::EntryPoints,
            Op::ExecutionMode | Op::ExecutionModeId => Self::ExecutionModes,
            Op::String | Op::Source | Op::SourceExtension | Op::SourceContinued => Self::DebugStrings,
            Op::Name | Op::MemberName => Self::Names,
            Op::ModuleProcessed => Self::ModuleProcessed,
            Op::Decorate
            | Op::MemberDecorate
            | Op::GroupDecorate
            | Op::GroupMemberDecorate
            | Op::DecorationGroup
            | Op::DecorateId
            | Op::DecorateString
            | Op::MemberDecorateString => Self::Annotations,
            _ if is_module_scope(op) => Self::Types,
            _ => return None,
        })
    }
}

/// Whether `op` may stand among types, constants and module-scope variables.
pub(super) fn is_module_scope(op: Op) -> bool {
    is_type(op)
        || is_constant(op)
        || matches!(
            op,
            Op::Variable
                | Op::UntypedVariableKHR
                | Op::Undef
                | Op::ExtInst
                | Op::ConstantFunctionPointerINTEL
                | Op::AsmTargetINTEL
                | Op::AsmINTEL
                | Op::AliasDomainDeclINTEL
                | Op::AliasScopeDeclINTEL
                | Op::AliasScopeListDeclINTEL
                | Op::SamplerImageAddressingModeNV
        )
}

/// Whether `op` declares a type.
pub fn is_type(op: Op) -> bool {
    is_within(op, Op::TypeVoid, Op::TypeForwardPointer)
        || matches!(
            op,
            Op::TypePipeStorage
                | Op::TypeNamedBarrier
                | Op::TypeBufferSurfaceINTEL
                | Op::TypeUntypedPointerKHR
                | Op::TypeCooperativeMatrixKHR
        )
        || is_within(op, Op::TypeVmeImageINTEL, Op::TypeAvcSicResultINTEL)
}

/// Whether `op` declares a constant, specialization constants included.
pub fn is_constant(op: Op) -> bool {
    is_within(op, Op::ConstantTrue, Op::SpecConstantOp)
        || matches!(
            op,
            Op::ConstantPipeStorage
                | Op::ConstantCompositeContinuedINTEL
                | Op::SpecConstantCompositeContinuedINTEL
                | Op::TypeStructContinuedINTEL
        )
}
