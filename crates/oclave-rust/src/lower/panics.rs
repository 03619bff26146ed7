//! Panics. The work-item notes the place for the host, and ends.
//!
//! The note is a device global of 64-bit words: a code, the id of the kernel, a checksum and the values of the message.
//! Virtual calls that reach no function use the first two. The upper 24 bits of a panic's code are the number of its
//! place, from 1 on. The lower 40 are the work-item's global linear id.
//!
//! Functions note a panic for their kernel in its private memory. This note has the number of the place, the part of the
//! checksum that comes from the values, and the values.

use oclave_spirv::{BuiltIn, Op, TypeId, ValueId};

use super::Output;
use super::code::{Inst, effect};
use super::messages::{MOST_VALUES, string_in};
use super::types::class;
use crate::Place;
use crate::llvm::tree::{Kind, Operand, Type, Typed};
use crate::memory::{self, Image};
use crate::program::Program;
use crate::spaces::Storage;

/// The device global of notes.
pub(crate) const VARIABLE: &str = "__oclave_virtual_fault";
/// Its words.
pub(crate) const WORDS: u64 = 3 + MOST_VALUES as u64;
/// The words of a note in private memory.
pub(crate) const PRIVATE_WORDS: u64 = 2 + MOST_VALUES as u64;
/// What the parts of a note are multiplied by in its checksum (`oclave_image::PANIC_FACTOR`).
pub(crate) const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The mask of memory operands, followed by the alignment.
const ALIGNED: u32 = 2;
/// Bits of the code below the number of the place.
pub(crate) const WORK_ITEM_BITS: u32 = 40;
/// Places that a code can number.
pub(crate) const MOST_SITES: usize = (1 << 24) - 2;

/// Where kernels may panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanicSite {
    /// Rust's message. It is a template: `{0 u32}` stands for value 0 of the note, a `u32`, and `{{` for a brace.
    pub message: String,
    /// Where, if the panic or debug information tells it.
    pub place: Option<Place>,
}

/// All places so far.
#[derive(Debug, Default)]
pub(super) struct Panics {
    pub(super) sites: Vec<PanicSite>,
}

impl Panics {
    /// The number of a site, from 1 on.
    pub(super) fn number(&mut self, site: PanicSite) -> u64 {
        let known = self.sites.iter().position(|known| *known == site);
        let index = known.unwrap_or_else(|| {
            if self.sites.len() < MOST_SITES {
                self.sites.push(site);
            }
            self.sites.len() - 1
        });
        index as u64 + 1
    }
}

impl Output<'_> {
    /// Writes a panic to the device global. The upper bits of `number` are the number of the place. `checksum` is the
    /// part of the checksum that comes from the values.
    pub(super) fn panic_report(
        &mut self,
        function: &str,
        number: ValueId,
        checksum: Option<ValueId>,
        values: &[ValueId],
    ) -> Vec<Inst> {
        let (variable, to) = self.panic_variable();
        let (built_in, item_type) = self.built_in(BuiltIn::GlobalLinearId, false);
        let ulong = self.builder.int_type(64);
        let mask = self.builder.int_constant(64, (1 << WORK_ITEM_BITS) - 1);
        let factor = self.builder.int_constant(64, FACTOR);
        let kernel = self.builder.int_constant(64, kernel_id(function));
        let [item, item_bits, code, first] = [(); 4].map(|()| self.builder.value());
        let mut report = vec![
            load(item_type, item, built_in),
            op(Op::BitwiseAnd, (ulong, item_bits), &[item, mask]),
            op(Op::BitwiseOr, (ulong, code), &[number, item_bits]),
            op(Op::Bitcast, (to, first), &[variable]),
        ];
        let mut words = vec![code, kernel];
        if let Some(checksum) = checksum {
            let [of_code, of_both, sum] = [(); 3].map(|()| self.builder.value());
            report.extend([
                op(Op::IMul, (ulong, of_code), &[code, factor]),
                op(Op::BitwiseXor, (ulong, of_both), &[checksum, of_code]),
                op(Op::BitwiseXor, (ulong, sum), &[of_both, kernel]),
            ]);
            words.push(sum);
        }
        words.extend(values);
        report.extend(self.store_words(first, &words, Storage::Global));
        report
    }

    /// Loads the words of a note in private memory behind its first. They are the part of the checksum that comes from the
    /// values, and the values.
    pub(super) fn note_values(&mut self, note: ValueId) -> (Vec<Inst>, ValueId, Vec<ValueId>) {
        let ulong = self.builder.int_type(64);
        let mut loads = Vec::new();
        let mut word = |index| {
            let (address, at) = self.word_at(note, index, Storage::Function);
            let word = self.builder.value();
            loads.extend(address);
            loads.push(load(ulong, word, at));
            word
        };
        let checksum = word(1);
        let values = (2..PRIVATE_WORDS).map(word).collect();
        (loads, checksum, values)
    }

    /// Stores 64-bit words one behind the other. The second one is written last: the host looks for it.
    pub(super) fn store_words(&mut self, first: ValueId, words: &[ValueId], storage: Storage) -> Vec<Inst> {
        let second = (1..).zip(words.get(1));
        let others = (0_u64..).zip(words).filter(|(index, _)| *index != 1);
        let mut stores = Vec::new();
        for (index, word) in others.chain(second) {
            let (address, at) = self.word_at(first, index, storage);
            stores.extend(address);
            stores.push(effect(Op::Store, &[at.word(), word.word(), ALIGNED, 8]));
        }
        stores
    }

    /// The address of a 64-bit word behind one, and what calculates it.
    fn word_at(&mut self, first: ValueId, index: u64, storage: Storage) -> (Option<Inst>, ValueId) {
        if index == 0 {
            return (None, first);
        }
        let ulong = self.builder.int_type(64);
        let to = self.builder.pointer_type(class(storage), ulong);
        let (index, at) = (self.builder.int_constant(64, index), self.builder.value());
        (Some(op(Op::InBoundsPtrAccessChain, (to, at), &[first, index])), at)
    }
}

fn op(op: Op, result: (TypeId, ValueId), operands: &[ValueId]) -> Inst {
    Inst { op, result: Some(result), operands: operands.iter().map(|operand| operand.word()).collect() }
}

/// Loads 64 bits, or a `size_t`.
fn load(ty: TypeId, result: ValueId, from: ValueId) -> Inst {
    Inst { op: Op::Load, result: Some((ty, result)), operands: vec![from.word(), ALIGNED, 8] }
}

/// Where a call that never returns is: as its last `Location` says, or where it stands.
pub(super) fn place(program: &Program, module: usize, kind: &Kind, places: &[Place]) -> Option<Place> {
    let arguments = if let Kind::Call { arguments, .. } = kind { arguments.as_slice() } else { &[] };
    let location = arguments.iter().rev().find_map(|argument| location(program, module, argument));
    // Without a `Location`, the call that was not inlined is the user's own.
    location.or_else(|| places.last().cloned())
}

/// The place that an argument refers to, if it is a `core::panic::Location`.
fn location(program: &Program, module: usize, (ty, argument): &Typed) -> Option<Place> {
    let (Type::Pointer, Operand::Constant(constant)) = (ty, argument) else { return None };
    let (name, offset) = memory::address(constant)?;
    let image = Image::of_global(program, module, &name?).ok()?;
    // File, line, column.
    let file = string_in(program, &image, offset)?;
    let line = u32::try_from(image.number(offset + 16, 4)?).ok()?;
    let column = u32::try_from(image.number(offset + 20, 4)?).ok()?;
    let is_path = !file.is_empty() && !file.contains('\0') && line > 0 && column > 0;
    is_path.then_some(Place { file, line, column })
}

/// What tells kernels of Rust apart in the note; never 0.
pub(crate) fn kernel_id(symbol: &str) -> u64 {
    let hash = symbol.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash | 1
}
