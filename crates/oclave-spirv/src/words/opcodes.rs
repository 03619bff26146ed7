//! Groups of opcodes that several passes ask for.

use ::spirv::{BuiltIn, MemoryAccess, Op};

/// Whether a block of a function must end with an opcode of this kind.
pub fn is_terminator(op: Op) -> bool {
    matches!(
        op,
        Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue
            | Op::Kill
            | Op::Unreachable
            | Op::TerminateInvocation
    )
}

/// Whether an opcode ends a block or is the hint about control flow that stands before the end.
pub fn is_block_end(op: Op) -> bool {
    is_terminator(op) || matches!(op, Op::LoopMerge | Op::SelectionMerge)
}

/// Whether an opcode makes a pointer to a part of what its first operand points to.
pub fn is_access_chain(op: Op) -> bool {
    first_chain_index(op).is_some()
}

/// Which operand of an access chain is the first index into the pointee; `None` for other opcodes. The operand before it
/// is the base, or an index that counts whole pointees.
pub fn first_chain_index(op: Op) -> Option<usize> {
    match op {
        Op::AccessChain | Op::InBoundsAccessChain => Some(1),
        Op::PtrAccessChain | Op::InBoundsPtrAccessChain => Some(2),
        _ => None,
    }
}

/// Whether an opcode decorates one id, or a member of it.
pub fn is_decoration(op: Op) -> bool {
    matches!(
        op,
        Op::Decorate | Op::MemberDecorate | Op::DecorateId | Op::DecorateString | Op::MemberDecorateString
    )
}

/// Whether the number of an opcode is one of those from `first` to `last`.
pub fn is_within(op: Op, first: Op, last: Op) -> bool {
    (first as u32..=last as u32).contains(&(op as u32))
}

/// Whether an opcode converts a value to another type.
pub fn is_conversion(op: Op) -> bool {
    is_within(op, Op::ConvertFToU, Op::Bitcast)
}

/// Whether an opcode converts, calculates, compares, shifts or counts bits.
pub fn is_calculation(op: Op) -> bool {
    is_within(op, Op::ConvertFToU, Op::SMulExtended) || is_within(op, Op::Any, Op::BitCount)
}

/// Whether an opcode makes a value of nothing but its operands: it calculates, or takes, joins or
/// copies parts of values.
pub fn is_pure(op: Op) -> bool {
    is_within(op, Op::VectorExtractDynamic, Op::Transpose) || is_calculation(op)
}

/// Whether an opcode compares integers.
pub fn is_integer_comparison(op: Op) -> bool {
    is_within(op, Op::IEqual, Op::SLessThanEqual)
}

/// Whether an opcode is a collective function or an asynchronous copy of a work-group or sub-group.
pub fn is_group(op: Op) -> bool {
    is_within(op, Op::GroupAsyncCopy, Op::GroupSMax)
}

/// Whether an opcode combines the values of a group: a reduction or a scan.
pub fn is_group_reduction(op: Op) -> bool {
    is_within(op, Op::GroupIAdd, Op::GroupSMax)
}

/// Whether an opcode is a vote, a broadcast, a reduction or a scan of a group. All its work-items must come to it.
pub fn is_group_function(op: Op) -> bool {
    is_within(op, Op::GroupAll, Op::GroupSMax)
}

/// Whether an opcode accesses memory atomically.
pub fn is_atomic(op: Op) -> bool {
    is_within(op, Op::AtomicLoad, Op::AtomicXor)
        || matches!(
            op,
            Op::AtomicFlagTestAndSet
                | Op::AtomicFlagClear
                | Op::AtomicFAddEXT
                | Op::AtomicFMinEXT
                | Op::AtomicFMaxEXT
        )
}

/// The bit of memory operands for a volatile access.
pub const VOLATILE: u32 = MemoryAccess::VOLATILE.bits();

/// The bit of memory operands that says that an alignment in bytes follows.
pub const ALIGNED: u32 = MemoryAccess::ALIGNED.bits();

/// The scope of a work-group, as a literal of scope operands.
pub const SCOPE_WORKGROUP: u64 = 2;

/// Built-in variables that only code with sub-groups has.
pub fn is_sub_group_builtin(builtin: BuiltIn) -> bool {
    matches!(
        builtin,
        BuiltIn::SubgroupSize
            | BuiltIn::SubgroupMaxSize
            | BuiltIn::NumSubgroups
            | BuiltIn::NumEnqueuedSubgroups
            | BuiltIn::SubgroupId
            | BuiltIn::SubgroupLocalInvocationId
            | BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask
    )
}

/// Instructions of sub-groups that do not say so by their scope.
pub fn is_sub_group_op(op: Op) -> bool {
    is_within(op, Op::GroupNonUniformElect, Op::GroupNonUniformQuadSwap)
        || is_within(op, Op::SubgroupShuffleINTEL, Op::SubgroupImageMediaBlockWriteINTEL)
        || matches!(
            op,
            Op::SubgroupBallotKHR
                | Op::SubgroupFirstInvocationKHR
                | Op::SubgroupAllKHR
                | Op::SubgroupAnyKHR
                | Op::SubgroupAllEqualKHR
                | Op::SubgroupReadInvocationKHR
                | Op::GroupNonUniformRotateKHR
        )
}
