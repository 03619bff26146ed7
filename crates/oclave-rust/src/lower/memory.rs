//! Memory: variables on the stack, loads, stores, atomics, copies.

use std::collections::BTreeMap;

use oclave_spirv::{ALIGNED, Capability, Op};

use super::builder::{TypeId, ValueId};
use super::function::{Lower, Lowering, Refusal};
use super::types::{Leaf, Scalar, class, leaves, storage_width};
use crate::llvm::layout;
use crate::llvm::tree::{AtomicOp, Instruction, Operand, Ordering, Type, Typed};
use crate::memory;
use crate::spaces::Storage;

/// Copies of so many bytes are written as loads and stores.
const SMALL_COPY: u64 = 64;
/// Fills are written as so many stores. Some drivers are slow with loops over private memory.
const SMALL_FILL: u64 = 64;
/// Scopes.
const DEVICE: u64 = 1;
const WORK_GROUP: u64 = 2;

impl Lower<'_, '_> {
    pub(super) fn alloca(
        &mut self,
        instruction: &Instruction,
        ty: &Type,
        count: Option<&Typed>,
        align: u64,
    ) -> Lowering<()> {
        let count = match count {
            None => 1,
            Some((_, Operand::Constant(crate::llvm::tree::Constant::Int(count)))) => *count as u64,
            Some(_) => return Err("memory on the stack of a size that is calculated".into()),
        };
        let bytes = layout::size(ty).saturating_mul(count);
        let align = align.max(layout::align(ty)).clamp(1, 128);
        // Made of the largest integers of its alignment, which drivers then give it.
        let step = [8, 4, 2, 1].into_iter().find(|step| align.is_multiple_of(*step)).unwrap_or(1);
        let element = self.int(step as u32 * 8);
        let array = self.output.builder.array_type(element, bytes.div_ceil(step).max(1));
        let variable = self.variable(array, None);
        if align > step {
            self.output.builder.decorate(variable, oclave_spirv::Decoration::Alignment, &[align as u32]);
        }
        let bytes = self.first_element(variable, element);
        let storage = self.result_storage(instruction);
        let bytes = self.in_storage(bytes, Storage::Function, storage);
        self.set(instruction, vec![bytes]);
        Ok(())
    }

    /// Where the pointers in the memory behind an operand point to.
    pub(super) fn behind(&self, pointer: &Operand) -> Storage {
        match pointer {
            Operand::Local(local) => self.analysis.behind(*local),
            Operand::Constant(constant) => match memory::address(constant) {
                Some((Some(name), _)) => self.analysis.behind_global(&self.symbol(name)),
                _ => Storage::Global,
            },
        }
    }

    pub(super) fn load(
        &mut self,
        instruction: &Instruction,
        pointer: &Operand,
        align: u64,
        atomic: Option<Ordering>,
    ) -> Lowering<()> {
        let behind = self.behind(pointer);
        let (pointer, storage) = self.pointer(pointer)?;
        let parts = in_memory(&instruction.ty)?;
        if let Some(ordering) = atomic {
            let (scalar, ty) = self.atomic_type(&parts)?;
            let typed = self.cast_pointer(pointer, storage, ty);
            let operands = self.atomic_operands(storage, ordering);
            let value = self.op(Op::AtomicLoad, ty, &[&[typed], &operands[..]].concat());
            let value = self.of_atomic(value, scalar);
            self.set(instruction, vec![value]);
            return Ok(());
        }
        let values = self.load_leaves(pointer, storage, &parts, behind, align)?;
        self.set(instruction, values);
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        value: &Typed,
        pointer: &Operand,
        align: u64,
        atomic: Option<Ordering>,
    ) -> Lowering<()> {
        let behind = self.behind(pointer);
        let values = self.operand(&value.0, &value.1, behind)?;
        let (pointer, storage) = self.pointer(pointer)?;
        let parts = in_memory(&value.0)?;
        if let Some(ordering) = atomic {
            let (scalar, ty) = self.atomic_type(&parts)?;
            let Some(value) = values.first() else { return Err("an atomic store of nothing".into()) };
            let value = self.as_atomic(*value, scalar);
            let typed = self.cast_pointer(pointer, storage, ty);
            let [scope, semantics] = self.atomic_operands(storage, ordering);
            let operands = [typed, scope, semantics, value].map(ValueId::word);
            self.effect(Op::AtomicStore, &operands);
            return Ok(());
        }
        self.store_leaves(pointer, storage, &parts, &values, behind, align)
    }

    // A volatile access of Rust is one access of the device. Its compiler is not told more: `Global` and `Local` of
    // oclave-kernel are made of them.

    pub(super) fn load_leaves(
        &mut self,
        pointer: ValueId,
        storage: Storage,
        parts: &[Leaf],
        behind: Storage,
        align: u64,
    ) -> Lowering<Vec<ValueId>> {
        let flags = ALIGNED;
        let mut values = Vec::new();
        for leaf in parts {
            let at = self.part(pointer, storage, leaf.offset);
            let align = common_align(align, leaf.offset);
            values.push(match leaf.scalar {
                Scalar::Bool => {
                    let byte = self.int(8);
                    let typed = self.cast_pointer(at, storage, byte);
                    let value = self.op_words(Op::Load, byte, vec![typed.word(), flags, 1]);
                    let (bool, zero, one) = (self.bool(), self.number(8, 0), self.number(8, 1));
                    let bit = self.op(Op::BitwiseAnd, byte, &[value, one]);
                    self.op(Op::INotEqual, bool, &[bit, zero])
                }
                Scalar::Int(width) if memory_pieces(width).len() > 1 => {
                    let ty = self.int(width);
                    let mut joined = self.number(width, 0);
                    for (offset, bits) in memory_pieces(width) {
                        let at = self.part(at, storage, offset);
                        let piece_type = self.int(bits);
                        let typed = self.cast_pointer(at, storage, piece_type);
                        let align = common_align(align, offset) as u32;
                        let piece = self.op_words(Op::Load, piece_type, vec![typed.word(), flags, align]);
                        let piece = self.op(Op::UConvert, ty, &[piece]);
                        let by = self.number(width, offset * 8);
                        let piece = self.op(Op::ShiftLeftLogical, ty, &[piece, by]);
                        joined = self.op(Op::BitwiseOr, ty, &[joined, piece]);
                    }
                    self.masked(joined, width)
                }
                Scalar::Pointer if may_have_other_null(behind) => {
                    let ulong = self.int(64);
                    let typed = self.cast_pointer(at, storage, ulong);
                    let number = self.op_words(Op::Load, ulong, vec![typed.word(), flags, align as u32]);
                    self.address_of_number(number, behind)
                }
                scalar => {
                    let ty = self.leaf_type(scalar, behind);
                    let typed = self.cast_pointer(at, storage, ty);
                    let value = self.op_words(Op::Load, ty, vec![typed.word(), flags, align as u32]);
                    match scalar {
                        Scalar::Int(width) => self.masked(value, width),
                        _ => value,
                    }
                }
            });
        }
        Ok(values)
    }

    #[allow(clippy::too_many_arguments, reason = "what a store has")]
    pub(super) fn store_leaves(
        &mut self,
        pointer: ValueId,
        storage: Storage,
        parts: &[Leaf],
        values: &[ValueId],
        behind: Storage,
        align: u64,
    ) -> Lowering<()> {
        let flags = ALIGNED;
        for (leaf, value) in parts.iter().zip(values) {
            let at = self.part(pointer, storage, leaf.offset);
            let align = common_align(align, leaf.offset);
            match leaf.scalar {
                Scalar::Bool => {
                    let value = self.of_bool(*value, 8, 1);
                    self.effect(Op::Store, &[at.word(), value.word(), flags, 1]);
                }
                Scalar::Int(width) if memory_pieces(width).len() > 1 => {
                    let ty = self.int(width);
                    for (offset, bits) in memory_pieces(width) {
                        let at = self.part(at, storage, offset);
                        let by = self.number(width, offset * 8);
                        let piece = self.op(Op::ShiftRightLogical, ty, &[*value, by]);
                        let piece_type = self.int(bits);
                        let piece = self.op(Op::UConvert, piece_type, &[piece]);
                        let typed = self.cast_pointer(at, storage, piece_type);
                        let align = common_align(align, offset) as u32;
                        self.effect(Op::Store, &[typed.word(), piece.word(), flags, align]);
                    }
                }
                Scalar::Pointer if may_have_other_null(behind) => {
                    let ulong = self.int(64);
                    let typed = self.cast_pointer(at, storage, ulong);
                    let number = self.number_of_address(*value, behind);
                    self.effect(Op::Store, &[typed.word(), number.word(), flags, align as u32]);
                }
                scalar => {
                    let ty = self.leaf_type(scalar, behind);
                    let typed = self.cast_pointer(at, storage, ty);
                    self.effect(Op::Store, &[typed.word(), value.word(), flags, align as u32]);
                }
            }
        }
        Ok(())
    }

    pub(super) fn part(&mut self, pointer: ValueId, storage: Storage, offset: u64) -> ValueId {
        if offset == 0 { pointer } else { self.offset(pointer, storage, offset) }
    }

    // Atomics.

    /// The scalar of an atomic access, and the type in which it is made.
    fn atomic_type(&mut self, parts: &[Leaf]) -> Lowering<(Scalar, TypeId)> {
        match parts {
            [
                Leaf {
                    scalar: scalar @ (Scalar::Int(width @ (32 | 64)) | Scalar::Float(width @ (32 | 64))),
                    ..
                },
            ] => {
                if *width == 64 {
                    self.output.capability(Capability::Int64Atomics);
                }
                Ok((*scalar, self.int(*width)))
            }
            _ => Err(Refusal::new(
                "an atomic access to what is not 32 or 64 bits wide",
                "use `AtomicU32`, `AtomicI32`, or the types of 64 bits where the device has them",
            )),
        }
    }

    fn of_atomic(&mut self, value: ValueId, scalar: Scalar) -> ValueId {
        match scalar {
            Scalar::Float(_) => {
                let ty = self.leaf_type(scalar, Storage::Global);
                self.op(Op::Bitcast, ty, &[value])
            }
            _ => value,
        }
    }

    fn as_atomic(&mut self, value: ValueId, scalar: Scalar) -> ValueId {
        match scalar {
            Scalar::Float(width) => {
                let ty = self.int(width);
                self.op(Op::Bitcast, ty, &[value])
            }
            _ => value,
        }
    }

    /// Scope and semantics of an atomic access.
    fn atomic_operands(&mut self, storage: Storage, ordering: Ordering) -> [ValueId; 2] {
        let scope = if storage == Storage::Local { WORK_GROUP } else { DEVICE };
        let memory = match storage {
            Storage::Local => 0x100,
            _ => 0x200,
        };
        let semantics = match ordering {
            Ordering::Monotonic => 0,
            Ordering::Acquire => 0x2 | memory,
            Ordering::Release => 0x4 | memory,
            Ordering::AcquireRelease => 0x8 | memory,
            Ordering::SequentiallyConsistent => 0x10 | memory,
        };
        [self.number(32, scope), self.number(32, semantics)]
    }

    pub(super) fn atomic(
        &mut self,
        instruction: &Instruction,
        op: AtomicOp,
        pointer: &Operand,
        value: &Operand,
        ordering: Ordering,
    ) -> Lowering<()> {
        let parts = leaves(&instruction.ty)?;
        let value = self.scalar(&instruction.ty, value)?;
        let (pointer, storage) = self.pointer(pointer)?;
        let (scalar, ty) = self.atomic_type(&parts)?;
        let value = self.as_atomic(value, scalar);
        let typed = self.cast_pointer(pointer, storage, ty);
        let [scope, semantics] = self.atomic_operands(storage, ordering);
        let op = match op {
            AtomicOp::Nand => {
                let before = self.nand(typed, ty, value, storage, ordering);
                self.set(instruction, vec![before]);
                return Ok(());
            }
            AtomicOp::Exchange => Op::AtomicExchange,
            AtomicOp::Add => Op::AtomicIAdd,
            AtomicOp::Sub => Op::AtomicISub,
            AtomicOp::And => Op::AtomicAnd,
            AtomicOp::Or => Op::AtomicOr,
            AtomicOp::Xor => Op::AtomicXor,
            AtomicOp::Max => Op::AtomicSMax,
            AtomicOp::Min => Op::AtomicSMin,
            AtomicOp::UMax => Op::AtomicUMax,
            AtomicOp::UMin => Op::AtomicUMin,
        };
        let before = self.op(op, ty, &[typed, scope, semantics, value]);
        let before = self.of_atomic(before, scalar);
        self.set(instruction, vec![before]);
        Ok(())
    }

    /// Puts the complement of `and` in the place of a value, which takes a loop. Gives the value.
    fn nand(
        &mut self,
        pointer: ValueId,
        ty: TypeId,
        other: ValueId,
        storage: Storage,
        ordering: Ordering,
    ) -> ValueId {
        let [scope, semantics] = self.atomic_operands(storage, ordering);
        let [_, relaxed] = self.atomic_operands(storage, Ordering::Monotonic);
        let bool = self.bool();
        let align = self.output.builder.int_width(ty).unwrap_or(64) / 8;
        let last = self.variable(ty, None);
        let first = self.op(Op::AtomicLoad, ty, &[pointer, scope, relaxed]);
        self.effect(Op::Store, &[last.word(), first.word(), ALIGNED, align]);
        let [head, done] = [(); 2].map(|()| self.output.builder.value());
        self.end(Op::Branch, &[head.word()]);
        self.begin(head);
        let before = self.op_words(Op::Load, ty, vec![last.word(), ALIGNED, align]);
        let both = self.op(Op::BitwiseAnd, ty, &[before, other]);
        let new = self.op(Op::Not, ty, &[both]);
        let seen = self.op(Op::AtomicCompareExchange, ty, &[pointer, scope, semantics, relaxed, new, before]);
        self.effect(Op::Store, &[last.word(), seen.word(), ALIGNED, align]);
        let is_done = self.op(Op::IEqual, bool, &[seen, before]);
        self.end(Op::BranchConditional, &[is_done.word(), done.word(), head.word()]);
        self.begin(done);
        before
    }

    pub(super) fn compare_exchange(
        &mut self,
        instruction: &Instruction,
        pointer: &Operand,
        expected: &Typed,
        new: &Operand,
        success: Ordering,
        failure: Ordering,
    ) -> Lowering<()> {
        let parts = leaves(&expected.0)?;
        let wanted = self.scalar(&expected.0, &expected.1)?;
        let new = self.scalar(&expected.0, new)?;
        let (pointer, storage) = self.pointer(pointer)?;
        let (scalar, ty) = self.atomic_type(&parts)?;
        let (wanted_bits, new) = (self.as_atomic(wanted, scalar), self.as_atomic(new, scalar));
        let typed = self.cast_pointer(pointer, storage, ty);
        let [scope, on_success] = self.atomic_operands(storage, success);
        let [_, on_failure] = self.atomic_operands(storage, failure);
        let operands = [typed, scope, on_success, on_failure, new, wanted_bits];
        let before = self.op(Op::AtomicCompareExchange, ty, &operands);
        let bool = self.bool();
        let same = self.op(Op::IEqual, bool, &[before, wanted_bits]);
        let before = self.of_atomic(before, scalar);
        self.set(instruction, vec![before, same]);
        Ok(())
    }

    pub(super) fn fence(&mut self, ordering: Ordering) {
        let [scope, _] = self.atomic_operands(Storage::Global, ordering);
        let semantics = match ordering {
            Ordering::Monotonic => return,
            Ordering::Acquire => 0x302,
            Ordering::Release => 0x304,
            Ordering::AcquireRelease => 0x308,
            Ordering::SequentiallyConsistent => 0x310,
        };
        let semantics = self.number(32, semantics);
        self.effect(Op::MemoryBarrier, &[scope.word(), semantics.word()]);
    }

    // Copies.

    /// `memcpy` and `memmove`.
    pub(super) fn copy(&mut self, arguments: &[Typed], aligns: &[u64], may_overlap: bool) -> Lowering<()> {
        let [(_, to), (_, from), count, ..] = arguments else {
            return Err("a copy of an unknown form".into());
        };
        let (to, to_storage) = self.pointer(to)?;
        let (from, from_storage) = self.pointer(from)?;
        let align = |at: usize| aligns.get(at).copied().unwrap_or(0).max(1);
        let (to_align, from_align) = (align(0), align(1));
        match constant_count(count) {
            Some(bytes) if bytes <= SMALL_COPY => {
                // All loads come first, so that memory may overlap.
                let parts = pieces(bytes, to_align.min(from_align));
                let values = self.load_leaves(from, from_storage, &parts, Storage::Global, from_align)?;
                self.store_leaves(to, to_storage, &parts, &values, Storage::Global, to_align)
            }
            constant => {
                let count = self.scalar(&count.0, &count.1)?;
                if !may_overlap && constant.is_some() {
                    let align = to_align.min(from_align) as u32;
                    self.effect(Op::CopyMemorySized, &[to.word(), from.word(), count.word(), ALIGNED, align]);
                    return Ok(());
                }
                let to = (to, to_storage);
                let from = Origin::Memory((from, from_storage), may_overlap);
                let align = to_align.min(from_align);
                self.write_bytes(to, from, (count, constant), align);
                Ok(())
            }
        }
    }

    /// `memset`.
    pub(super) fn fill(&mut self, arguments: &[Typed], aligns: &[u64]) -> Lowering<()> {
        let [(_, to), value, count, ..] = arguments else { return Err("a fill of an unknown form".into()) };
        let (to, storage) = self.pointer(to)?;
        let byte = self.scalar(&value.0, &value.1)?;
        let (constant, align) = (constant_count(count), aligns.first().copied().unwrap_or(0).max(1));
        let parts = constant
            .filter(|bytes| bytes.div_ceil(align.min(8)) <= SMALL_FILL)
            .map(|bytes| pieces(bytes, align));
        if let Some(parts) = parts {
            let mut wide: BTreeMap<u32, ValueId> = BTreeMap::new();
            let mut value = |part: &Leaf| match part.scalar {
                Scalar::Int(width) => *wide.entry(width).or_insert_with(|| self.repeated(byte, width)),
                _ => byte,
            };
            let values: Vec<ValueId> = parts.iter().map(&mut value).collect();
            return self.store_leaves(to, storage, &parts, &values, Storage::Global, align);
        }
        let count = self.scalar(&count.0, &count.1)?;
        self.write_bytes((to, storage), Origin::Byte(byte), (count, constant), align);
        Ok(())
    }

    /// An integer each of whose bytes has a value.
    fn repeated(&mut self, byte: ValueId, width: u32) -> ValueId {
        if width == 8 {
            return byte;
        }
        let (ty, each) = (self.int(width), 0x0101_0101_0101_0101_u64);
        if let Some(byte) = self.output.builder.integer(byte.word()) {
            return self.number(width, each.wrapping_mul(byte & 0xff));
        }
        let (wide, each) = (self.op(Op::UConvert, ty, &[byte]), self.number(width, each));
        self.op(Op::IMul, ty, &[wide, each])
    }

    /// Writes bytes by the largest integers of an alignment, and the rest one by one. `constant` is `count` where it is known.
    fn write_bytes(
        &mut self,
        to: (ValueId, Storage),
        from: Origin,
        (count, constant): (ValueId, Option<u64>),
        align: u64,
    ) {
        let fits = |step: &u64| *step <= align && constant.is_none_or(|count| count.is_multiple_of(*step));
        let step = match from {
            // Backwards, the rest would come first.
            Origin::Memory(_, true) if constant.is_none() => None,
            _ => [8, 4, 2].into_iter().find(fits),
        };
        let Some(step) = step else { return self.copy_loop(to, from, count, 1) };
        let (ulong, size) = (self.int(64), self.number(64, step));
        let words = match constant {
            Some(count) => self.number(64, count / step),
            None => self.op(Op::UDiv, ulong, &[count, size]),
        };
        self.copy_loop(to, from, words, step);
        if constant.is_none() {
            let done = self.op(Op::IMul, ulong, &[words, size]);
            let rest = self.op(Op::ISub, ulong, &[count, done]);
            let mut behind = |(first, storage): (ValueId, Storage)| {
                let ty = self.output.byte_pointer(storage);
                (self.op(Op::InBoundsPtrAccessChain, ty, &[first, done]), storage)
            };
            let to = behind(to);
            let from = match from {
                Origin::Memory(from, may_overlap) => Origin::Memory(behind(from), may_overlap),
                byte @ Origin::Byte(_) => byte,
            };
            self.copy_loop(to, from, rest, 1);
        }
    }

    /// A loop over integers of so many bytes: forwards, or backwards where the target lies behind the source and both may
    /// overlap.
    fn copy_loop(&mut self, (to, to_storage): (ValueId, Storage), from: Origin, count: ValueId, step: u64) {
        let (ulong, bool, element) = (self.int(64), self.bool(), self.int(step as u32 * 8));
        let (zero, one) = (self.number(64, 0), self.number(64, 1));
        let backwards = match from {
            Origin::Memory((from, _), true) => {
                let (to, from) =
                    (self.op(Op::ConvertPtrToU, ulong, &[to]), self.op(Op::ConvertPtrToU, ulong, &[from]));
                Some(self.op(Op::UGreaterThan, bool, &[to, from]))
            }
            _ => None,
        };
        let to = self.cast_pointer(to, to_storage, element);
        let from = match from {
            Origin::Memory((from, storage), may_overlap) => {
                Origin::Memory((self.cast_pointer(from, storage, element), storage), may_overlap)
            }
            Origin::Byte(byte) => Origin::Byte(self.repeated(byte, step as u32 * 8)),
        };
        let index = self.variable(ulong, None);
        self.effect(Op::Store, &[index.word(), zero.word(), ALIGNED, 8]);
        let [head, body, done] = [(); 3].map(|()| self.output.builder.value());
        self.end(Op::Branch, &[head.word()]);
        self.begin(head);
        let at = self.op_words(Op::Load, ulong, vec![index.word(), ALIGNED, 8]);
        let goes_on = self.op(Op::ULessThan, bool, &[at, count]);
        self.end(Op::BranchConditional, &[goes_on.word(), body.word(), done.word()]);
        self.begin(body);
        let mut place = at;
        if let Some(backwards) = backwards {
            let last = self.op(Op::ISub, ulong, &[count, one]);
            let mirrored = self.op(Op::ISub, ulong, &[last, at]);
            place = self.op(Op::Select, ulong, &[backwards, mirrored, at]);
        }
        let mut at_place = |first: ValueId, storage: Storage| {
            let ty = self.output.builder.pointer_type(class(storage), element);
            self.op(Op::InBoundsPtrAccessChain, ty, &[first, place])
        };
        let target = at_place(to, to_storage);
        let value = match from {
            Origin::Memory((from, storage), _) => {
                let source = at_place(from, storage);
                self.op_words(Op::Load, element, vec![source.word(), ALIGNED, step as u32])
            }
            Origin::Byte(value) => value,
        };
        self.effect(Op::Store, &[target.word(), value.word(), ALIGNED, step as u32]);
        let next = self.op(Op::IAdd, ulong, &[at, one]);
        self.effect(Op::Store, &[index.word(), next.word(), ALIGNED, 8]);
        self.end(Op::Branch, &[head.word()]);
        self.begin(done);
    }

    /// `memcmp`: the difference of the first bytes that differ, or 0.
    pub(super) fn compare(&mut self, instruction: &Instruction, arguments: &[Typed]) -> Lowering<()> {
        let [(_, left), (_, right), (count_type, count), ..] = arguments else {
            return Err("a comparison of an unknown form".into());
        };
        let (left, right) = (self.pointer(left)?, self.pointer(right)?);
        let count = self.scalar(count_type, count)?;
        let (ulong, uint, byte, bool) = (self.int(64), self.int(32), self.int(8), self.bool());
        let (zero, one, equal) = (self.number(64, 0), self.number(64, 1), self.number(32, 0));
        let (index, result) = (self.variable(ulong, None), self.variable(uint, None));
        self.effect(Op::Store, &[index.word(), zero.word(), ALIGNED, 8]);
        self.effect(Op::Store, &[result.word(), equal.word(), ALIGNED, 4]);
        let [head, body, done] = [(); 3].map(|()| self.output.builder.value());
        self.end(Op::Branch, &[head.word()]);
        self.begin(head);
        let at = self.op_words(Op::Load, ulong, vec![index.word(), ALIGNED, 8]);
        let so_far = self.op_words(Op::Load, uint, vec![result.word(), ALIGNED, 4]);
        let is_left = self.op(Op::ULessThan, bool, &[at, count]);
        let is_same = self.op(Op::IEqual, bool, &[so_far, equal]);
        let goes_on = self.op(Op::LogicalAnd, bool, &[is_left, is_same]);
        self.end(Op::BranchConditional, &[goes_on.word(), body.word(), done.word()]);
        self.begin(body);
        let [a, b] = [left, right].map(|(pointer, storage)| {
            let ty = self.output.byte_pointer(storage);
            let place = self.op(Op::InBoundsPtrAccessChain, ty, &[pointer, at]);
            let value = self.op_words(Op::Load, byte, vec![place.word(), ALIGNED, 1]);
            self.op(Op::UConvert, uint, &[value])
        });
        let difference = self.op(Op::ISub, uint, &[a, b]);
        self.effect(Op::Store, &[result.word(), difference.word(), ALIGNED, 4]);
        let next = self.op(Op::IAdd, ulong, &[at, one]);
        self.effect(Op::Store, &[index.word(), next.word(), ALIGNED, 8]);
        self.end(Op::Branch, &[head.word()]);
        self.begin(done);
        self.set(instruction, vec![so_far]);
        Ok(())
    }

    /// An array in the local memory of a kernel.
    pub(super) fn local_memory(&mut self, bytes: u64) -> ValueId {
        let ulong = self.int(64);
        let array = self.output.builder.array_type(ulong, bytes.div_ceil(8).max(1));
        let pointer = self.output.builder.pointer_type(class(Storage::Local), array);
        let variable = self.output.builder.variable(pointer, class(Storage::Local), None);
        // As clang names it: some drivers find the local memory of kernels by such names.
        let name = format!("{}.local{}", self.output.kernel, variable.word());
        self.output.builder.name(variable, &name);
        let ty = self.output.byte_pointer(Storage::Local);
        self.op(Op::Bitcast, ty, &[variable])
    }
}

/// Whether a null pointer to a kind of memory may be another number than 0, which it is in all of rustc's code. Memory has numbers of
/// addresses in the place of such pointers: rustc writes numbers and reads pointers, and copies or fills bytes.
pub(super) fn may_have_other_null(storage: Storage) -> bool {
    matches!(storage, Storage::Function | Storage::Local)
}

/// The scalars of a value that lies in memory.
fn in_memory(ty: &Type) -> Lowering<Vec<Leaf>> {
    if ty.has_packed_vector() {
        return Err(Refusal::new(
            format!("a value of the type {ty} in memory"),
            "write it without vector instructions of the host's processor",
        ));
    }
    Ok(leaves(ty)?)
}

/// What memory is filled with.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// What a pointer refers to, and whether it may overlap the target.
    Memory((ValueId, Storage), bool),
    /// One byte in all places.
    Byte(ValueId),
}

fn constant_count((_, count): &Typed) -> Option<u64> {
    match count {
        Operand::Constant(crate::llvm::tree::Constant::Int(count)) => u64::try_from(*count).ok(),
        Operand::Constant(crate::llvm::tree::Constant::Zero) => Some(0),
        _ => None,
    }
}

/// Numbers that a copy of memory of an alignment is made of.
fn pieces(bytes: u64, align: u64) -> Vec<Leaf> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < bytes {
        let step = [8, 4, 2, 1].into_iter().find(|step| at + step <= bytes && *step <= align).unwrap_or(1);
        parts.push(Leaf { scalar: Scalar::Int(step as u32 * 8), offset: at });
        at += step;
    }
    parts
}

/// What an integer of a width has in memory: offset in bytes and bits of each piece.
fn memory_pieces(width: u32) -> Vec<(u64, u32)> {
    let bytes = u64::from(width).div_ceil(8);
    if bytes * 8 == u64::from(storage_width(width)) {
        return vec![(0, storage_width(width))];
    }
    pieces(bytes, 8)
        .into_iter()
        .map(|piece| match piece.scalar {
            Scalar::Int(bits) => (piece.offset, bits),
            _ => (piece.offset, 8),
        })
        .collect()
}

/// The alignment of what lies at an offset.
fn common_align(align: u64, offset: u64) -> u64 {
    let of_offset = if offset == 0 { u64::MAX } else { 1 << offset.trailing_zeros() };
    align.min(of_offset).max(1)
}
