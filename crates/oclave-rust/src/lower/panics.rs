//! Panics. The work-item notes the place for the host, and ends.
//!
//! The note is a device global of 64-bit words: a code, the id of the kernel, a checksum and the values of the message.
//! Virtual calls that reach no function use the first two. The upper 24 bits of a panic's code are the number of its
//! place, from 1 on. The lower 40 are the work-item's global linear id.
//!
//! Functions note a panic for their kernel in its private memory. This note has the number of the place, the part of the
//! checksum that comes from the values, and the values.

use std::collections::BTreeSet;

use oclave_spirv::{ALIGNED, BuiltIn, FunctionControl, Op};

use super::Output;
use super::builder::{TypeId, ValueId};
use super::code::{Block, Inst, assemble, effect};
use super::function::Lower;
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

/// A panic of a kernel that the host is told of.
#[derive(Debug)]
pub(super) struct Report {
    /// The block that notes it.
    pub(super) block: usize,
    /// Its upper bits are the number of the place.
    pub(super) number: ValueId,
    /// The part of the checksum that comes from the values, if there are any.
    pub(super) checksum: Option<ValueId>,
    pub(super) values: Vec<ValueId>,
}

impl Lower<'_, '_> {
    /// Writes what tells the host of panics. In kernels whose work-items do not wait for others, all panics go on to one block. Devices may
    /// calculate for all work-items what few of them get to.
    pub(super) fn write_reports(&mut self) {
        let reports = std::mem::take(&mut self.reports);
        if reports.len() < 2 || self.waits_for_others() {
            for Report { block, number, checksum, values } in reports {
                let report = self.output.panic_report(&self.copy.symbol.name, number, checksum, &values);
                if let Some(block) = self.blocks.get_mut(block) {
                    block.code.push(report);
                }
            }
            return;
        }
        let most = reports.iter().map(|report| report.values.len()).max().unwrap_or(0);
        let (ulong, zero) = (self.int(64), self.number(64, 0));
        let mut last = Block::new(self.output.builder.value());
        let mut joined = |of: &dyn Fn(&Report) -> Option<ValueId>| {
            let labels =
                reports.iter().filter_map(|report| Some((report, self.blocks.get(report.block)?.label)));
            let operands =
                labels.flat_map(|(report, label)| [of(report).unwrap_or(zero).word(), label.word()]);
            let id = self.output.builder.value();
            last.phis.push(Inst { op: Op::Phi, result: Some((ulong, id)), operands: operands.collect() });
            id
        };
        let number = joined(&|report| Some(report.number));
        let checksum = (most > 0).then(|| joined(&|report| report.checksum));
        let values: Vec<ValueId> =
            (0..most).map(|index| joined(&|report| report.values.get(index).copied())).collect();
        last.code.push(self.output.panic_report(&self.copy.symbol.name, number, checksum, &values));
        last.end = Some(effect(Op::Return, &[]));
        for report in &reports {
            if let Some(block) = self.blocks.get_mut(report.block) {
                block.end = Some(effect(Op::Branch, &[last.label.word()]));
            }
        }
        self.panic_exits = BTreeSet::from([self.blocks.len()]);
        self.blocks.push(last);
    }
}

impl Output<'_> {
    /// The call that writes a panic to the device global. The upper bits of `number` are the number of the place. `checksum` is
    /// the part of the checksum that comes from the values.
    pub(super) fn panic_report(
        &mut self,
        function: &str,
        number: ValueId,
        checksum: Option<ValueId>,
        values: &[ValueId],
    ) -> Inst {
        let report = self.report_function(checksum.is_some(), values.len());
        let kernel = self.builder.int_constant(64, kernel_id(function));
        let result = (self.builder.void_type(), self.builder.value());
        let operands = [report, number, kernel].into_iter().chain(checksum).chain(values.iter().copied());
        op(Op::FunctionCall, result, &operands.collect::<Vec<_>>())
    }

    /// The function that writes panics with a number of values. It is not inlined: Intel's compiler would calculate several
    /// work-items of its caller more slowly.
    fn report_function(&mut self, has_checksum: bool, values: usize) -> ValueId {
        let key = format!("report{}d{}", self.dimensions, values + usize::from(has_checksum));
        if let Some(function) = self.helpers.get(&key) {
            return *function;
        }
        let ulong = self.builder.int_type(64);
        let mut parameter = || (ulong, self.builder.value());
        let [number, kernel] = [parameter(), parameter()];
        let checksum = has_checksum.then(&mut parameter);
        let values: Vec<(TypeId, ValueId)> = (0..values).map(|_| parameter()).collect();
        let (variable, to) = self.panic_variable();
        let mask = self.builder.int_constant(64, (1 << WORK_ITEM_BITS) - 1);
        let factor = self.builder.int_constant(64, FACTOR);
        let [item_bits, code, first] = [(); 3].map(|()| self.builder.value());
        let mut block = Block::new(self.builder.value());
        let item = self.number_in_range(&mut block.code);
        block.code.extend([
            op(Op::BitwiseAnd, (ulong, item_bits), &[item, mask]),
            op(Op::BitwiseOr, (ulong, code), &[number.1, item_bits]),
            op(Op::Bitcast, (to, first), &[variable]),
        ]);
        let mut words = vec![code, kernel.1];
        if let Some((_, checksum)) = checksum {
            let [of_code, of_both, sum] = [(); 3].map(|()| self.builder.value());
            block.code.extend([
                op(Op::IMul, (ulong, of_code), &[code, factor]),
                op(Op::BitwiseXor, (ulong, of_both), &[checksum, of_code]),
                op(Op::BitwiseXor, (ulong, sum), &[of_both, kernel.1]),
            ]);
            words.push(sum);
        }
        words.extend(values.iter().map(|(_, value)| *value));
        block.code.extend(self.store_words(first, &words, Storage::Global));
        block.end = Some(effect(Op::Return, &[]));
        let parameters: Vec<_> = [number, kernel].into_iter().chain(checksum).chain(values).collect();
        let (void, function) = (self.builder.void_type(), self.builder.value());
        self.builder.name(function, &format!("{}.{key}", self.kernel));
        let code = assemble(&[], &[block]);
        self.add_function(function, FunctionControl::DONT_INLINE, void, &parameters, code);
        self.helpers.insert(key, function);
        function
    }

    /// The number of the work-item in its range. Only ids of dimensions that the range may have are read. Some drivers calculate all
    /// ids of a kernel where it begins, and divide for each.
    fn number_in_range(&mut self, code: &mut Vec<Inst>) -> ValueId {
        let mut number = None;
        for axis in (0..self.dimensions).rev() {
            let id = self.part_of(BuiltIn::GlobalInvocationId, axis, code);
            let offset = self.part_of(BuiltIn::GlobalOffset, axis, code);
            let place = self.calculate(Op::ISub, id, offset, code);
            number = Some(match number {
                Some(before) => {
                    let size = self.part_of(BuiltIn::GlobalSize, axis, code);
                    let first = self.calculate(Op::IMul, before, size, code);
                    self.calculate(Op::IAdd, first, place, code)
                }
                None => place,
            });
        }
        number.unwrap_or_else(|| self.builder.int_constant(64, 0))
    }

    fn calculate(&mut self, what: Op, a: ValueId, b: ValueId, code: &mut Vec<Inst>) -> ValueId {
        let result = (self.builder.int_type(64), self.builder.value());
        code.push(op(what, result, &[a, b]));
        result.1
    }

    /// A part of a vector that is built in.
    fn part_of(&mut self, what: BuiltIn, axis: u8, code: &mut Vec<Inst>) -> ValueId {
        let (ulong, (variable, vectors)) = (self.builder.int_type(64), self.built_in(what, true));
        let [vector, part] = [(); 2].map(|()| self.builder.value());
        code.push(load(vectors, vector, variable));
        let operands = vec![vector.word(), axis.into()];
        code.push(Inst { op: Op::CompositeExtract, result: Some((ulong, part)), operands });
        part
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
