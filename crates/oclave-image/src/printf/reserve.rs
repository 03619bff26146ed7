//! The function that gives records their places.

use super::PrintBuffer;
use oclave_spirv::{Code, FunctionControl, Op, Rewriter, StorageClass};

/// Volatile and aligned access, followed by the alignment.
const VOLATILE_ALIGNED: u32 = 3;
/// Aligned access, followed by the alignment.
pub(super) const ALIGNED: u32 = 2;
/// The scope of atomics.
const DEVICE: u64 = 1;

/// Adds `uint reserve(uint words)`: the place of a record in the buffer, or
/// [`PrintBuffer::NOWHERE`]. `variable` holds the buffer's address.
///
/// A function rather than code in place, because it has a loop, and the blocks around a `printf`
/// shall stay as they are.
pub(super) fn add_reserve(new: &mut Rewriter<'_>, variable: u32) -> u32 {
    let uint = new.int_type(32);
    let bool = new.bool_type();
    let pointer = new.pointer_type(StorageClass::CrossWorkgroup, uint);
    let ty = new.function_type(uint, &[uint]);
    let mut constant = |value: usize| new.int_constant(32, value as u64);
    let [head, tail, lost] = [PrintBuffer::HEAD, PrintBuffer::TAIL, PrintBuffer::LOST].map(&mut constant);
    let [one, mask] = [1, PrintBuffer::RING_WORDS - 1].map(&mut constant);
    let [ring, size, nowhere] =
        [PrintBuffer::RING, PrintBuffer::RING_WORDS, PrintBuffer::NOWHERE].map(&mut constant);
    let (device, relaxed) = (constant(DEVICE as usize), constant(0));
    let [function, words] = [(); 2].map(|()| new.fresh_id());
    let [entry, again, take, retry, done, full] = [(); 6].map(|()| new.fresh_id());
    let [buffer, head_at, tail_at, lost_at, first] = [(); 5].map(|()| new.fresh_id());
    let [old, given_back, end, used, fits, seen, same] = [(); 7].map(|()| new.fresh_id());
    let [offset, place, more] = [(); 3].map(|()| new.fresh_id());

    let mut code = Code::new();
    let none = FunctionControl::NONE.bits();
    let read = |code: &mut Code, id: u32, at: u32| {
        code.push(Op::Load, &[uint, id, at, VOLATILE_ALIGNED, 4]);
    };
    code.push(Op::Function, &[uint, function, none, ty]);
    code.push(Op::FunctionParameter, &[uint, words]);
    code.push(Op::Label, &[entry]);
    code.push(Op::Load, &[pointer, buffer, variable, ALIGNED, 8]);
    for (at, index) in [(head_at, head), (tail_at, tail), (lost_at, lost)] {
        code.push(Op::InBoundsPtrAccessChain, &[pointer, at, buffer, index]);
    }
    read(&mut code, first, head_at);
    code.push(Op::Branch, &[again]);
    code.push(Op::Label, &[again]);
    code.push(Op::Phi, &[uint, old, first, entry, seen, retry]);
    read(&mut code, given_back, tail_at);
    code.push(Op::IAdd, &[uint, end, old, words]);
    code.push(Op::ISub, &[uint, used, end, given_back]);
    code.push(Op::ULessThanEqual, &[bool, fits, used, size]);
    code.push(Op::BranchConditional, &[fits, take, full]);
    code.push(Op::Label, &[take]);
    code.push(Op::AtomicCompareExchange, &[uint, seen, head_at, device, relaxed, relaxed, end, old]);
    code.push(Op::IEqual, &[bool, same, seen, old]);
    code.push(Op::BranchConditional, &[same, done, retry]);
    code.push(Op::Label, &[retry]);
    code.push(Op::Branch, &[again]);
    code.push(Op::Label, &[done]);
    code.push(Op::BitwiseAnd, &[uint, offset, old, mask]);
    code.push(Op::IAdd, &[uint, place, offset, ring]);
    code.push(Op::ReturnValue, &[place]);
    code.push(Op::Label, &[full]);
    code.push(Op::AtomicIAdd, &[uint, more, lost_at, device, relaxed, one]);
    code.push(Op::ReturnValue, &[nowhere]);
    code.push(Op::FunctionEnd, &[]);
    new.add_function(code);
    new.name(function, "__oclave_reserve_print");
    function
}
