//! Tasks that the library needs besides a module's kernels: copies, fills, and work to measure
//! with.

use super::arguments::{Parameter, Source};
use super::builtins::{Builtin, Component, Needs};
use super::emit::Body;
use super::kernels::Case;
use super::layout::{
    Block, InterpreterArgument, InterpreterArgumentKind, InterpreterCost, InterpreterKernel,
    InterpreterLayout, InterpreterUnit,
};
use oclave_spirv::{Capability, Declarations, Op, StorageClass};

/// Rounds of a generator of random numbers for each item of [`InterpreterLayout::churn`].
const CHURN_STEPS: u64 = 32;

/// Alignment of their argument blocks, and what their sizes are multiples of.
const BLOCK_ALIGN: usize = 16;

/// One of the library's own tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Copies elements of so many bytes.
    Copy(u32),
    /// Fills with an element of so many bytes.
    Fill(u32),
    Churn,
}

/// In the order of their numbers, those of one kind from wide to narrow; those that
/// [`BoxLaunch`](super::BoxLaunch) has come first.
pub(super) const ALL: [Kind; 9] = [
    Kind::Copy(16),
    Kind::Copy(4),
    Kind::Copy(1),
    Kind::Fill(16),
    Kind::Fill(8),
    Kind::Fill(4),
    Kind::Fill(2),
    Kind::Fill(1),
    Kind::Churn,
];

/// Boxes of bytes: rows of a slice, slices, and how far apart they are in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteBox {
    /// Bytes of a row, and rows, and slices.
    pub extent: [u64; 3],
    /// Bytes from row to row, and from slice to slice, where it is written.
    pub to_pitch: [u64; 2],
    /// The same where it is read; not looked at for fills.
    pub from_pitch: [u64; 2],
}

impl ByteBox {
    /// So many bytes in a row.
    pub fn contiguous(size_bytes: u64) -> Self {
        Self { extent: [size_bytes, 1, 1], to_pitch: [0; 2], from_pitch: [0; 2] }
    }
}

/// One of the library's own tasks as a [`TaskRecord`](super::TaskRecord) takes it: an index space
/// from 0 on, without groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTask {
    /// Its number.
    pub kernel: u32,
    /// Its argument block, aligned to 16.
    pub arguments: Vec<u8>,
    /// Its index space.
    pub items: [u64; 3],
}

impl InterpreterLayout {
    /// The task that copies bytes from one address to another. They must not overlap.
    pub fn copy(&self, to: u64, from: u64, of: &ByteBox) -> Option<OwnTask> {
        let (index, width, pitches) = copy_of(to, from, of)?;
        let words = [&[to, from], pitches.as_slice()].concat();
        Some(OwnTask { kernel: self.number(index), arguments: block(&words), items: items(of, width) })
    }

    /// The task that fills bytes with a pattern again and again; `None` where no task does that
    /// with such a pattern, or where address or extent are no multiples of its length.
    pub fn fill(&self, to: u64, pattern: &[u8], of: &ByteBox) -> Option<OwnTask> {
        let (index, width, pitches, element) = fill_of(to, pattern, of)?;
        let mut arguments = bytes(&[&[to], pitches.as_slice()].concat());
        arguments.resize(arguments.len().next_multiple_of((width as usize).max(8)), 0);
        arguments.extend(element);
        arguments.resize(arguments.len().next_multiple_of(BLOCK_ALIGN), 0);
        Some(OwnTask { kernel: self.number(index), arguments, items: items(of, width) })
    }

    /// A task to measure with: `count` items, each of which computes a while and writes 4 bytes at
    /// `to`.
    pub fn churn(&self, to: u64, count: u64) -> Option<OwnTask> {
        let index = ALL.iter().position(|kind| *kind == Kind::Churn)?;
        Some(OwnTask {
            kernel: self.number(index),
            arguments: block(&[to, CHURN_STEPS]),
            items: [count, 1, 1],
        })
    }

    fn number(&self, index: usize) -> u32 {
        self.own_tasks.saturating_add(index as u32)
    }
}

/// The widest copy that there is between such addresses: its place among all, its width, and the
/// pitches in elements, those of where it writes first.
pub(super) fn copy_of(to: u64, from: u64, of: &ByteBox) -> Option<(usize, u32, Vec<u64>)> {
    let places = [to, from, of.extent.first().copied()?];
    let pitches = [of.to_pitch, of.from_pitch].concat();
    let (index, width) = widest(&places, &pitches, |kind, width| kind == Kind::Copy(width))?;
    Some((index, width, in_elements(&pitches, width)))
}

/// The widest fill that there is, as [`copy_of`], and its element.
pub(super) fn fill_of(to: u64, pattern: &[u8], of: &ByteBox) -> Option<(usize, u32, Vec<u64>, Vec<u8>)> {
    let length = u32::try_from(pattern.len()).ok()?;
    let places = [to, of.extent.first().copied()?];
    let (index, width) = widest(&places, &of.to_pitch, |kind, width| {
        // A longer element may hold the pattern several times.
        kind == Kind::Fill(width) && length != 0 && width % length == 0
    })?;
    let element = pattern.iter().copied().cycle().take(width as usize).collect();
    Some((index, width, in_elements(&of.to_pitch, width), element))
}

/// The widest task that `fits` for addresses, sizes and pitches that are all multiples of its
/// width.
fn widest(places: &[u64], pitches: &[u64], fits: impl Fn(Kind, u32) -> bool) -> Option<(usize, u32)> {
    ALL.iter().enumerate().find_map(|(index, kind)| {
        let (Kind::Copy(width) | Kind::Fill(width)) = *kind else { return None };
        let whole = |value: &u64| value.is_multiple_of(width.into());
        let usable = fits(*kind, width) && places.iter().all(whole) && pitches.iter().all(whole);
        usable.then_some((index, width))
    })
}

fn in_elements(pitches: &[u64], width: u32) -> Vec<u64> {
    pitches.iter().map(|pitch| pitch / u64::from(width)).collect()
}

/// The index space of a task that moves elements of a width.
pub(super) fn items(of: &ByteBox, width: u32) -> [u64; 3] {
    let [row, rows, slices] = of.extent;
    [row / u64::from(width), rows, slices]
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A whole argument block.
fn block(words: &[u64]) -> Vec<u8> {
    let mut block = bytes(words);
    block.resize(block.len().next_multiple_of(BLOCK_ALIGN), 0);
    block
}

/// Writes the functions of the tasks.
pub(super) fn add(new: &mut Declarations<'_>) -> Vec<(Case, InterpreterKernel)> {
    for capability in [Capability::Int8, Capability::Int16, Capability::Int64] {
        new.capability(capability);
    }
    ALL.into_iter().map(|kind| one(new, kind)).collect()
}

/// Element type, type of pointers to it, bytes of an element.
type Types = (u32, u32, u32);

fn one(new: &mut Declarations<'_>, kind: Kind) -> (Case, InterpreterKernel) {
    let function = new.fresh_id();
    let types = kind.types(new);
    let mut block = Block::default();
    let mut list = Vec::new();
    for ty in kind.parameters(new, types) {
        let (kind, align, source) = match ty {
            ty if ty == types.1 => (InterpreterArgumentKind::Pointer, 8, Source::Address),
            ty => {
                let size_bytes = if ty == types.0 { types.2 } else { 8 };
                (
                    InterpreterArgumentKind::Value { size_bytes },
                    size_bytes,
                    Source::Value { align: size_bytes },
                )
            }
        };
        let offset_bytes = block.place(kind.size_bytes(), align).unwrap_or(0);
        list.push(Parameter { argument: InterpreterArgument { offset_bytes, kind }, source, ty });
    }
    let axes = kind.axes();
    let needs: Needs =
        (0..axes as u8).map(|axis| Component { builtin: Builtin::GlobalInvocationId, axis }).collect();
    let ulong = new.int_type(64);
    let parameters: Vec<u32> =
        list.iter().map(|parameter| parameter.ty).chain(std::iter::repeat_n(ulong, axes)).collect();
    let (mut body, ids, _) = Body::new(new, function, &parameters, &[]);
    kind.write(&mut body, &ids, types);
    body.finish();
    let (block_bytes, _) = block.finish();
    let arguments = list.iter().map(|parameter| parameter.argument).collect();
    let case = Case {
        function,
        parameters: list,
        needs,
        unit: InterpreterUnit::Items,
        needs_groups: false,
        in_parts: false,
        is_small: false,
        is_straight: false,
        is_own: true,
    };
    let (name, steps) = match kind {
        Kind::Copy(width) => (format!("copy {width}"), 6),
        Kind::Fill(width) => (format!("fill {width}"), 4),
        Kind::Churn => ("churn".to_owned(), CHURN_STEPS as u32 * 6),
    };
    let kernel = InterpreterKernel {
        name,
        arguments,
        block_bytes: block_bytes.next_multiple_of(BLOCK_ALIGN as u32),
        block_align: BLOCK_ALIGN as u32,
        unit: InterpreterUnit::Items,
        needs_groups: false,
        static_local_bytes: 0,
        private_bytes: 0,
        is_straight: false,
        cost: InterpreterCost { steps, has_loops: kind == Kind::Churn },
    };
    (case, kernel)
}

impl Kind {
    pub(super) fn types(self, new: &mut Declarations<'_>) -> Types {
        let width = match self {
            Self::Copy(width) | Self::Fill(width) => width,
            Self::Churn => 4,
        };
        let element = if width == 16 {
            let uint = new.int_type(32);
            new.vector_type(uint, 4)
        } else {
            new.int_type(width * 8)
        };
        (element, new.pointer_type(StorageClass::CrossWorkgroup, element), width)
    }

    /// The types of its parameters: pointers, pitches or how many steps, the element of a fill.
    pub(super) fn parameters(self, new: &mut Declarations<'_>, (element, pointer, _): Types) -> Vec<u32> {
        let ulong = new.int_type(64);
        match self {
            Self::Copy(_) => vec![pointer, pointer, ulong, ulong, ulong, ulong],
            Self::Fill(_) => vec![pointer, ulong, ulong, element],
            Self::Churn => vec![pointer, ulong],
        }
    }

    /// Of its index space.
    fn axes(self) -> usize {
        if self == Self::Churn { 1 } else { 3 }
    }

    /// Writes what a work-item does: `ids` are those of the parameters, and where it is.
    pub(super) fn write(self, body: &mut Body<'_, '_>, ids: &[u32], (element, pointer, width): Types) {
        match (self, ids) {
            (Self::Copy(_), &[to, from, to_row, to_slice, from_row, from_slice, x, y, z]) => {
                let from = place(body, pointer, from, [from_row, from_slice], [x, y, z]);
                let value = body.load(element, from, width);
                let to = place(body, pointer, to, [to_row, to_slice], [x, y, z]);
                body.store(to, value, width);
            }
            (Self::Fill(_), &[to, row, slice, value, x, y, z]) => {
                let to = place(body, pointer, to, [row, slice], [x, y, z]);
                body.store(to, value, width);
            }
            (Self::Churn, &[to, steps, x]) => churn(body, element, pointer, [to, steps, x]),
            _ => {}
        }
    }
}

/// `base + x + row * y + slice * z`.
fn place(body: &mut Body<'_, '_>, pointer: u32, base: u32, pitch: [u32; 2], item: [u32; 3]) -> u32 {
    let ([row, slice], [x, y, z]) = (pitch, item);
    let (rows, slices) = (body.multiply(row, y), body.multiply(slice, z));
    let offset = body.add(rows, slices);
    let index = body.add(offset, x);
    body.element(pointer, base, index)
}

/// A sequence in memory that compilers keep in a register, but cannot skip through; its length
/// comes with the task.
fn churn(body: &mut Body<'_, '_>, element: u32, pointer: u32, [to, steps, x]: [u32; 3]) {
    let place = body.element(pointer, to, x);
    let [from, step] = [0, 1].map(|value| body.constant(value));
    let start = body.value(Op::UConvert, element, &[x]);
    let one = body.new.int_constant(32, 1);
    let start = body.value(Op::BitwiseOr, element, &[start, one]);
    body.store(place, start, 4);
    let of = body.begin_loop(from, steps, step);
    let mut value = body.load(element, place, 4);
    for (shift, by) in [(Op::ShiftLeftLogical, 13), (Op::ShiftRightLogical, 17), (Op::ShiftLeftLogical, 5)] {
        let by = body.new.int_constant(32, by);
        let shifted = body.value(shift, element, &[value, by]);
        value = body.value(Op::BitwiseXor, element, &[value, shifted]);
    }
    body.store(place, value, 4);
    body.end_loop(&of);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn copies_take_the_widest_elements_that_fit() {
        let layout = InterpreterLayout { own_tasks: 5, ..InterpreterLayout::default() };
        let copy = |to, from, size| layout.copy(to, from, &ByteBox::contiguous(size)).unwrap();
        assert_eq!((copy(32, 64, 48).kernel, copy(32, 64, 48).items), (5, [3, 1, 1]));
        assert_eq!((copy(36, 64, 48).kernel, copy(36, 64, 48).items), (6, [12, 1, 1]));
        assert_eq!((copy(36, 65, 48).kernel, copy(36, 64, 3).items), (7, [3, 1, 1]));
        let rows = ByteBox { extent: [16, 3, 2], to_pitch: [20, 60], from_pitch: [16, 48] };
        let task = layout.copy(0, 0, &rows).unwrap();
        assert_eq!((task.kernel, task.items), (6, [4, 3, 2]));
        assert_eq!(task.arguments, bytes(&[0, 0, 5, 15, 4, 12]));
    }

    #[test]
    fn fills_repeat_short_patterns() {
        let layout = InterpreterLayout::default();
        let fill = |pattern: &[u8], size| layout.fill(64, pattern, &ByteBox::contiguous(size));
        let task = fill(&[1, 2], 32).unwrap();
        assert_eq!((task.kernel, task.items), (3, [2, 1, 1]));
        assert_eq!(task.arguments[32..], [1, 2].repeat(8));
        let narrow = fill(&[1, 2], 6).unwrap();
        assert_eq!((narrow.kernel, narrow.items), (6, [3, 1, 1]));
        assert_eq!(narrow.arguments[24..], [1, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(fill(&[1, 2, 3], 6), None);
        assert_eq!(fill(&[1, 2], 7), None);
        assert_eq!(fill(&[], 8), None);
    }
}
