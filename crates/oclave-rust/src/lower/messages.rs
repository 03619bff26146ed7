//! Messages of panics, and the values that they show.
//!
//! A message is a template, as `oclave_image::PanicSite` has it. Its values are arguments of the function that panics, or
//! lie behind the pointers of a `core::fmt::Arguments`. Since 1.93, this is a text of bytes with an array of arguments. Before,
//! it was a struct of the texts between the arguments, the arguments and their formats.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::demangle::{self, Shown};
use crate::llvm::tree::{Constant, Instruction, Kind, Local, Operand, Type, Typed};
use crate::memory::{self, Image};
use crate::program::Program;

/// The values that a note has room for (`oclave_image::PANIC_VALUES`).
pub(super) const MOST_VALUES: usize = 4;
/// A message about a slice has its start, its end and its length.
const RANGE: usize = 3;

/// A message.
#[derive(Debug, Default)]
pub(super) struct Message {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    /// The values from this one on, their type and their format.
    Value(Vec<Source>, &'static str, String),
    /// What has no value on the host.
    Unknown,
}

/// Where a value is.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// An argument, or a value that the block stores.
    Value(Typed),
    /// What a pointer points to.
    Behind(Operand, Type),
    /// What a pointer in memory points to.
    BehindReference(Operand, Type),
}

impl Message {
    fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())] }
    }

    fn push(&mut self, text: &str) {
        self.parts.push(Part::Text(text.to_owned()));
    }

    fn push_value(&mut self, sources: Vec<Source>, shown: Shown) {
        self.parts.push(Part::Value(sources, shown.ty, shown.format.to_owned()));
    }

    fn append(&mut self, other: Self) {
        self.parts.extend(other.parts);
    }

    /// The template, and the values that `lower` has.
    pub(super) fn template<T>(self, mut lower: impl FnMut(&Source) -> Option<T>) -> (String, Vec<T>) {
        let (mut template, mut values) = (String::new(), Vec::new());
        for part in self.parts {
            match part {
                Part::Text(text) => template += &text.replace('{', "{{").replace('}', "}}"),
                Part::Value(sources, ty, format) if values.len() + sources.len() <= MOST_VALUES => {
                    let lowered: Option<Vec<T>> = sources.iter().map(&mut lower).collect();
                    match lowered {
                        Some(lowered) => {
                            let space = if format.is_empty() { "" } else { " " };
                            let _ = write!(template, "{{{} {ty}{space}{format}}}", values.len());
                            values.extend(lowered);
                        }
                        None => template.push('…'),
                    }
                }
                Part::Value(..) | Part::Unknown => template.push('…'),
            }
        }
        (template, values)
    }
}

const USIZE: Shown = Shown { ty: "usize", format: "", is_reference: false };

/// The type of what is shown, in memory.
fn stored_type(shown: Shown) -> Type {
    match shown.ty {
        "bool" | "u8" | "i8" => Type::Int(8),
        "u16" | "i16" => Type::Int(16),
        "u32" | "i32" | "char" => Type::Int(32),
        "f32" => Type::Float,
        "f64" => Type::Double,
        _ => Type::Int(64),
    }
}

/// A call that never returns.
pub(super) struct DivergingCall<'a> {
    pub(super) program: &'a Program,
    pub(super) module: usize,
    /// The instructions of its block before it.
    pub(super) before: &'a [Instruction],
    /// Those of them that are not lowered.
    pub(super) skipped: &'a [&'a Instruction],
    /// Pointers that were calculated from others before: these, and the offset.
    pub(super) addresses: &'a BTreeMap<Local, (Local, u64)>,
    pub(super) name: &'a str,
    pub(super) arguments: &'a [Typed],
}

impl DivergingCall<'_> {
    /// Rust's words for the functions of `core` that panic.
    pub(super) fn message(&self) -> Message {
        let path = demangle::path(self.name);
        let last = path.rsplit("::").next().unwrap_or(&path);
        let known = match last {
            "panic_bounds_check" | "out_of_bounds" => {
                return self.with_numbers(
                    &["index out of bounds: the len is ", " but the index is "],
                    &[1, 0],
                    "",
                );
            }
            "slice_start_index_len_fail" => {
                return self.with_numbers(
                    &["range start index ", " out of range for slice of length "],
                    &[0, 1],
                    "",
                );
            }
            "slice_end_index_len_fail" => {
                return self.with_numbers(
                    &["range end index ", " out of range for slice of length "],
                    &[0, 1],
                    "",
                );
            }
            "slice_index_order_fail" => {
                return self.with_numbers(&["slice index starts at ", " but ends at "], &[0, 1], "");
            }
            "copy_from_slice_impl" | "len_mismatch_fail" => {
                return self.with_numbers(
                    &[
                        "copy_from_slice: source slice length (",
                        ") does not match destination slice length (",
                    ],
                    &[1, 0],
                    ")",
                );
            }
            "slice_index_fail" => return self.range(),
            "assert_failed" => return self.assertion(),
            "unwrap_failed" if path.contains("result") => return self.unwrapped(),
            "no_object" => "a call of memory that holds no object of this program's classes",
            "panic_const_div_by_zero" => "attempt to divide by zero",
            "panic_const_rem_by_zero" => "attempt to calculate the remainder with a divisor of zero",
            "unwrap_failed" if path.contains("option") => "called `Option::unwrap()` on a `None` value",
            "trap" => "aborted",
            _ => operator(&path, last).map_or("", overflow),
        };
        if !known.is_empty() {
            return Message::text(known);
        }
        if let Some(message) = self.formatted(self.arguments) {
            return message;
        }
        // `panic(message, length, location)`, `expect_failed(…)`.
        if let Some(text) = self.text() {
            return Message::text(text);
        }
        if path.contains("panic") {
            return Message::text("panicked");
        }
        Message::text(format!("panicked in `{path}`"))
    }

    /// Texts, each before an argument that is a `usize`.
    fn with_numbers(&self, texts: &[&str], arguments: &[usize], end: &str) -> Message {
        let mut message = Message::default();
        for (text, argument) in texts.iter().zip(arguments) {
            message.push(text);
            match self.arguments.get(*argument) {
                Some(value @ (Type::Int(64), _)) => {
                    message.push_value(vec![Source::Value(value.clone())], USIZE);
                }
                _ => message.parts.push(Part::Unknown),
            }
        }
        message.push(end);
        message
    }

    fn range(&self) -> Message {
        let values: Vec<Source> = self.arguments.iter().take(RANGE).cloned().map(Source::Value).collect();
        let is_number = |source: &Source| matches!(source, Source::Value((Type::Int(64), _)));
        if values.len() < RANGE || !values.iter().all(is_number) {
            return Message::text("slice index out of range");
        }
        Message { parts: vec![Part::Value(values, "range", String::new())] }
    }

    /// `assert_failed(kind, left, right, message, location)`.
    fn assertion(&self) -> Message {
        let [(_, Operand::Constant(kind)), left, right, rest @ ..] = self.arguments else {
            return Message::text("assertion failed");
        };
        let operator = match kind {
            Constant::Int(0) | Constant::Zero => "==",
            Constant::Int(1) => "!=",
            _ => return Message::text("assertion failed"),
        };
        let mut message = Message::text(format!("assertion `left {operator} right` failed"));
        if let Some(text) = self.formatted(rest) {
            message.push(": ");
            message.append(text);
        }
        let shown = demangle::compared(self.name);
        for (position, side, (_, value)) in [(0, "\n  left: ", left), (1, "\n right: ", right)] {
            message.push(side);
            self.push_behind(&mut message, value, shown.and_then(|shown| shown.get(position).copied()));
        }
        message
    }

    /// What the `Debug` in a table of methods shows.
    fn debug_of(&self, table: &Typed) -> Option<Shown> {
        let (Type::Pointer, Operand::Constant(table)) = table else { return None };
        let (Some(name), 0) = memory::address(table)? else { return None };
        let image = Image::of_global(self.program, self.module, &name).ok()?;
        // Its destructor, size and alignment stand before the methods.
        let (method, 0) = image.addresses.get(&24)? else { return None };
        demangle::shown(&method.name)
    }

    /// `unwrap_failed(text, length, error, table, location)` of `Result`.
    fn unwrapped(&self) -> Message {
        let mut message = Message::text(
            self.text().unwrap_or_else(|| "called `Result::unwrap()` on an `Err` value".to_owned()),
        );
        message.push(": ");
        let shown = self.arguments.get(3).and_then(|table| self.debug_of(table));
        match self.arguments.get(2) {
            Some((_, error)) => self.push_behind(&mut message, error, shown),
            None => message.parts.push(Part::Unknown),
        }
        message
    }

    /// Shows what a pointer points to.
    fn push_behind(&self, message: &mut Message, pointer: &Operand, shown: Option<Shown>) {
        match shown {
            Some(shown) => message.push_value(vec![self.behind(pointer, shown)], shown),
            None => message.parts.push(Part::Unknown),
        }
    }

    /// The value that a pointer points to, or the reference there.
    fn behind(&self, pointer: &Operand, shown: Shown) -> Source {
        let ty = stored_type(shown);
        match (self.skipped_store(pointer), shown.is_reference) {
            (Some(value), false) => Source::Value(value.clone()),
            (None, false) => Source::Behind(pointer.clone(), ty),
            (Some((_, reference)), true) => self.behind(reference, Shown { is_reference: false, ..shown }),
            (None, true) => Source::BehindReference(pointer.clone(), ty),
        }
    }

    /// What would be behind a pointer, if the store there were lowered.
    fn skipped_store(&self, pointer: &Operand) -> Option<&Typed> {
        self.skipped.iter().rev().find_map(|instruction| match &instruction.kind {
            Kind::Store { value, pointer: to, .. } if to == pointer => Some(value),
            _ => None,
        })
    }

    /// The text of the first two arguments, its address and its length.
    fn text(&self) -> Option<String> {
        match self.arguments {
            [(Type::Pointer, text), (Type::Int(64), Operand::Constant(Constant::Int(length))), ..] => {
                self.text_of(text, *length as u64)
            }
            _ => None,
        }
    }

    /// The message of a `core::fmt::Arguments`.
    fn formatted(&self, arguments: &[Typed]) -> Option<Message> {
        match arguments {
            // A text without values: the length is twice as large and odd, and in the place of a pointer.
            [
                (Type::Pointer, text @ Operand::Constant(_)),
                (Type::Pointer, Operand::Constant(length)),
                ..,
            ] => match memory::address(length)? {
                (None, length) if length & 1 == 1 => self.text_of(text, length >> 1).map(Message::text),
                _ => None,
            },
            [(Type::Pointer, Operand::Constant(template)), (Type::Pointer, Operand::Local(values)), ..] => {
                self.by_template(template, *values)
            }
            [(Type::Pointer, Operand::Local(of)), ..] => self.by_pieces(*of),
            _ => None,
        }
    }

    /// The template of 1.93 and newer. A byte is the length of a text, or begins the options of a value.
    fn by_template(&self, template: &Constant, values: Local) -> Option<Message> {
        let (Some(name), offset) = memory::address(template)? else { return None };
        let image = Image::of_global(self.program, self.module, &name).ok()?;
        let mut bytes = image.bytes.get(usize::try_from(offset).ok()?..)?;
        let mut number = |count: usize| {
            let (taken, rest) = bytes.split_at_checked(count)?;
            bytes = rest;
            Some(taken)
        };
        let little =
            |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        let (mut message, mut next) = (Message::default(), 0);
        loop {
            let first = *number(1)?.first()?;
            let length = match first {
                0 => return Some(message),
                1..=0x7f => usize::from(first),
                0x80 => usize::try_from(little(number(2)?)).ok()?,
                _ => {
                    let mut option = |bit: u8, bytes: usize| {
                        if first & bit == 0 { Some(None) } else { number(bytes).map(little).map(Some) }
                    };
                    let flags = option(1, 4)?.unwrap_or(0);
                    // The width is left out.
                    option(2, 2)?;
                    // A precision that is an argument itself is not shown.
                    let precision = option(4, 2)?.filter(|_| first & 32 == 0);
                    next = option(8, 2)?.unwrap_or(next);
                    self.push_argument(&mut message, values, next, flags, precision);
                    next += 1;
                    continue;
                }
            };
            message.push(std::str::from_utf8(number(length)?).ok()?);
        }
    }

    /// The struct of versions before 1.93: texts, arguments and, unless all are plain, their formats.
    fn by_pieces(&self, of: Local) -> Option<Message> {
        let constant = |offset: u64| match self.stored(of, offset)? {
            (_, Operand::Constant(value)) => memory::address(value),
            _ => None,
        };
        let image = |offset: u64| match constant(offset)? {
            (Some(name), 0) => Image::of_global(self.program, self.module, &name).ok(),
            _ => None,
        };
        let pieces = image(0)?;
        let values = match self.stored(of, 16)? {
            (_, Operand::Local(values)) => Some((*values, constant(24)?.1)),
            // Without values, it dangles.
            _ => None,
        };
        let formats = image(32);
        let texts = pieces.bytes.len() as u64 / 16;
        let shown = match &formats {
            Some(formats) => formats.bytes.len() as u64 / FORMAT_BYTES,
            None => values.map_or(0, |(_, count)| count),
        };
        let mut message = Message::default();
        // A value may stand before the first text, or behind the last one.
        for index in 0..texts.max(shown.min(texts + 1)) {
            if index < texts {
                message.push(&string_in(self.program, &pieces, index * 16)?);
            }
            let Some((values, _)) = values.filter(|_| index < shown) else { continue };
            let Some(formats) = &formats else {
                self.push_argument(&mut message, values, index, 0, None);
                continue;
            };
            let option = |offset, bytes| formats.number(index * FORMAT_BYTES + offset, bytes);
            let precision = option(2, 2)?;
            let has_precision = option(0, 2)? == 0;
            let (position, flags) = (option(32, 8)?, option(40, 4)?);
            self.push_argument(&mut message, values, position, flags, has_precision.then_some(precision));
        }
        Some(message)
    }

    /// Shows an element of an array of arguments: the address of a value, and the function that shows it.
    fn push_argument(
        &self,
        message: &mut Message,
        values: Local,
        index: u64,
        flags: u64,
        precision: Option<u64>,
    ) {
        let at = index.wrapping_mul(16);
        let shown = match self.stored(values, at.wrapping_add(8)) {
            Some((_, Operand::Constant(Constant::Global(name)))) => demangle::shown(name),
            _ => None,
        };
        let (Some(shown), Some((_, pointer))) = (shown, self.stored(values, at)) else {
            message.parts.push(Part::Unknown);
            return;
        };
        let source = self.behind(pointer, shown);
        let mut format = precision.map_or_else(String::new, |precision| format!(".{precision}"));
        format += if flags & ALTERNATE != 0 { "#" } else { "" };
        format += match shown.format {
            "?" if flags & DEBUG_LOWER_HEX != 0 => "x",
            "?" if flags & DEBUG_UPPER_HEX != 0 => "X",
            other => other,
        };
        message.parts.push(Part::Value(vec![source], shown.ty, format));
    }

    /// What the block stored last at an offset of memory.
    fn stored(&self, of: Local, offset: u64) -> Option<&Typed> {
        self.before.iter().rev().find_map(|instruction| match &instruction.kind {
            Kind::Store { value, pointer: Operand::Local(pointer), .. }
                if self.place(*pointer) == (of, offset) =>
            {
                Some(value)
            }
            _ => None,
        })
    }

    /// What a pointer was calculated from, and by which offset.
    fn place(&self, pointer: Local) -> (Local, u64) {
        let (mut at, mut offset) = (pointer, 0_u64);
        // Blocks that nothing reaches may calculate a pointer from itself.
        for _ in 0..self.addresses.len() {
            let Some((base, bytes)) = self.addresses.get(&at) else { break };
            (at, offset) = (*base, offset.wrapping_add(*bytes));
        }
        (at, offset)
    }

    fn text_of(&self, text: &Operand, length: u64) -> Option<String> {
        let Operand::Constant(constant) = text else { return None };
        let (name, offset) = memory::address(constant)?;
        bytes_of(self.program, self.module, &name?, offset, length)
    }
}

/// The bytes of the options of a value, before 1.93: precision, width, the argument's position, and flags.
const FORMAT_BYTES: u64 = 48;
/// Flags of the options of a value, as `core::fmt` has them.
const ALTERNATE: u64 = 1 << 23;
const DEBUG_LOWER_HEX: u64 = 1 << 25;
const DEBUG_UPPER_HEX: u64 = 1 << 26;

/// The operator of a function for overflow: `panic_const_add_overflow`, or `add` in `core::num::overflow_panic`.
fn operator<'f>(path: &str, function: &'f str) -> Option<&'f str> {
    if path.contains("overflow_panic") {
        return Some(function);
    }
    function.strip_prefix("panic_const_")?.strip_suffix("_overflow")
}

/// What `core` says of an operator that overflows.
fn overflow(operator: &str) -> &'static str {
    match operator {
        "add" => "attempt to add with overflow",
        "sub" => "attempt to subtract with overflow",
        "mul" => "attempt to multiply with overflow",
        "div" => "attempt to divide with overflow",
        "rem" => "attempt to calculate the remainder with overflow",
        "neg" => "attempt to negate with overflow",
        "shl" => "attempt to shift left with overflow",
        "shr" => "attempt to shift right with overflow",
        "cast_integer" => "attempt to cast integer with overflow",
        // Since 1.100.
        "pow" => "attempt to exponentiate with overflow",
        _ => "",
    }
}

/// The `&str` at an offset of a constant: the address of its bytes, and their number.
pub(super) fn string_in(program: &Program, image: &Image, offset: u64) -> Option<String> {
    let length = image.number(offset + 8, 8)?;
    if length == 0 {
        return Some(String::new());
    }
    let (bytes, at) = image.addresses.get(&offset)?;
    bytes_of(program, bytes.module, &bytes.name, *at, length)
}

/// Bytes of a constant as text.
fn bytes_of(program: &Program, module: usize, name: &str, offset: u64, length: u64) -> Option<String> {
    let image = Image::of_global(program, module, name).ok()?;
    let start = usize::try_from(offset).ok()?;
    let bytes = image.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)?;
    String::from_utf8(bytes.to_vec()).ok()
}
