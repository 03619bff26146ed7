//! Groups of opcodes that several passes ask for.

use ::spirv::Op;

/// Whether a block of a function must end with an opcode of this kind.
pub(crate) fn is_terminator(op: Op) -> bool {
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
pub(crate) fn is_block_end(op: Op) -> bool {
    is_terminator(op) || matches!(op, Op::LoopMerge | Op::SelectionMerge)
}

/// Whether an opcode makes a pointer to a part of what its first operand points to.
pub(crate) fn is_access_chain(op: Op) -> bool {
    matches!(op, Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain)
}

/// Whether an opcode decorates one id, or a member of it.
pub(crate) fn is_decoration(op: Op) -> bool {
    matches!(
        op,
        Op::Decorate | Op::MemberDecorate | Op::DecorateId | Op::DecorateString | Op::MemberDecorateString
    )
}

/// Whether an opcode converts, calculates, compares, shifts or counts bits.
pub(crate) fn is_calculation(op: Op) -> bool {
    let is_in = |first: Op, last: Op| (first as u32..=last as u32).contains(&(op as u32));
    is_in(Op::ConvertFToU, Op::SMulExtended) || is_in(Op::Any, Op::BitCount)
}

/// Whether an opcode compares integers.
pub(crate) fn is_integer_comparison(op: Op) -> bool {
    (Op::IEqual as u32..=Op::SLessThanEqual as u32).contains(&(op as u32))
}

/// Whether an opcode accesses memory atomically.
pub(crate) fn is_atomic(op: Op) -> bool {
    (Op::AtomicLoad as u32..=Op::AtomicXor as u32).contains(&(op as u32))
        || matches!(
            op,
            Op::AtomicFlagTestAndSet
                | Op::AtomicFlagClear
                | Op::AtomicFAddEXT
                | Op::AtomicFMinEXT
                | Op::AtomicFMaxEXT
        )
}
