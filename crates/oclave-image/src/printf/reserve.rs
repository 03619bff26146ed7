//! The function that gives records their places.

use super::PrintBuffer;
use oclave_spirv::{ALIGNED, Cursor, FunctionControl, Op, StorageClass};

/// Volatile and aligned access, followed by the alignment.
const VOLATILE_ALIGNED: u32 = 3;
/// The scope of atomics.
const DEVICE: u64 = 1;

/// Writes `uint reserve(uint words)`: the place of a record in the buffer, or
/// [`PrintBuffer::NOWHERE`]. `variable` holds the buffer's address.
///
/// A function rather than code in place, because it has a loop, and the blocks around a `printf`
/// shall stay as they are.
pub(super) fn add_reserve(to: &mut Cursor<'_, '_>, variable: u32) -> u32 {
    let uint = to.int_type(32);
    let bool = to.bool_type();
    let pointer = to.pointer_type(StorageClass::CrossWorkgroup, uint);
    let ty = to.function_type(uint, &[uint]);
    let mut constant = |value: usize| to.int_constant(32, value as u64);
    let fields = [PrintBuffer::HEAD, PrintBuffer::TAIL, PrintBuffer::LOST].map(&mut constant);
    let [one, mask] = [1, PrintBuffer::RING_WORDS - 1].map(&mut constant);
    let [ring, size, nowhere] =
        [PrintBuffer::RING, PrintBuffer::RING_WORDS, PrintBuffer::NOWHERE].map(&mut constant);
    let (device, relaxed) = (constant(DEVICE as usize), constant(0));
    let [entry, again, take, retry, done, full] = [(); 6].map(|()| to.fresh_id());
    let [old, seen] = [(); 2].map(|()| to.fresh_id());

    let function = to.emit(Op::Function, uint, &[FunctionControl::NONE.bits(), ty]);
    let words = to.emit(Op::FunctionParameter, uint, &[]);
    to.push(Op::Label, &[entry]);
    let buffer = to.emit(Op::Load, pointer, &[variable, ALIGNED, 8]);
    let [head, tail, lost] =
        fields.map(|field| to.emit(Op::InBoundsPtrAccessChain, pointer, &[buffer, field]));
    let first = to.emit(Op::Load, uint, &[head, VOLATILE_ALIGNED, 4]);
    to.push(Op::Branch, &[again]);
    to.push(Op::Label, &[again]);
    to.push(Op::Phi, &[uint, old, first, entry, seen, retry]);
    let given_back = to.emit(Op::Load, uint, &[tail, VOLATILE_ALIGNED, 4]);
    let end = to.emit(Op::IAdd, uint, &[old, words]);
    let used = to.emit(Op::ISub, uint, &[end, given_back]);
    let fits = to.emit(Op::ULessThanEqual, bool, &[used, size]);
    to.push(Op::BranchConditional, &[fits, take, full]);
    to.push(Op::Label, &[take]);
    to.push(Op::AtomicCompareExchange, &[uint, seen, head, device, relaxed, relaxed, end, old]);
    let same = to.emit(Op::IEqual, bool, &[seen, old]);
    to.push(Op::BranchConditional, &[same, done, retry]);
    to.push(Op::Label, &[retry]);
    to.push(Op::Branch, &[again]);
    to.push(Op::Label, &[done]);
    let offset = to.emit(Op::BitwiseAnd, uint, &[old, mask]);
    let place = to.emit(Op::IAdd, uint, &[offset, ring]);
    to.push(Op::ReturnValue, &[place]);
    to.push(Op::Label, &[full]);
    to.emit(Op::AtomicIAdd, uint, &[lost, device, relaxed, one]);
    to.push(Op::ReturnValue, &[nowhere]);
    to.push(Op::FunctionEnd, &[]);
    to.name(function, "__oclave_reserve_print");
    function
}
