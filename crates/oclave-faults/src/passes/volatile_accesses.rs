//! Accesses that compilers must neither repeat, move nor join.

use oclave_spirv::{Editor, Instruction, Op, VOLATILE};

/// Makes a load or a store volatile. Other instructions stay as they are.
pub(in crate::passes) fn make_volatile(edit: &mut Editor<'_>, access: &Instruction<'_>) {
    let (op, at) = match access.op() {
        Some(Op::Load) => (Op::Load, 3),
        Some(Op::Store) => (Op::Store, 2),
        _ => return,
    };
    let mut words = access.words.get(1..).unwrap_or_default().to_vec();
    match words.get_mut(at) {
        Some(flags) => *flags |= VOLATILE,
        None => words.push(VOLATILE),
    }
    edit.replace(access, op, &words);
}
