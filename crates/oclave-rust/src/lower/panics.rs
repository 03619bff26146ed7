//! Panics. The work-item notes the place for the host, and ends.
//!
//! The note is a device global of two 64-bit words, a code and the id of the kernel. Virtual calls that
//! reach no function use it, too. The upper 24 bits of a panic's code are the number of its place, from 1
//! on. The lower 40 are the work-item's global linear id.

use crate::Place;
use crate::llvm::tree::{Constant, Instruction, Kind, Operand, Type, Typed};
use crate::memory::{self, Image};
use crate::program::{Program, Symbol};

/// The device global of notes.
pub(crate) const VARIABLE: &str = "__oclave_virtual_fault";
/// Bits of the code below the number of the place.
pub(crate) const WORK_ITEM_BITS: u32 = 40;
/// Places that a code can number.
pub(crate) const MOST_SITES: usize = (1 << 24) - 2;

/// Where kernels may panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanicSite {
    /// Rust's message, as far as it is known when the kernel is built.
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

/// What a call that never returns says. `stores` are the stores before it that prepare its arguments.
pub(super) fn site(
    program: &Program,
    symbol: &Symbol,
    kind: &Kind,
    stores: &[&Instruction],
    places: &[Place],
) -> PanicSite {
    let Kind::Call { callee: crate::llvm::tree::Callee::Function(name), arguments, .. } = kind else {
        return PanicSite { message: "panicked".to_owned(), place: places.last().cloned() };
    };
    let path = crate::demangle::path(name);
    let location = arguments.iter().rev().find_map(|argument| location(program, symbol.module, argument));
    // Without a `Location`, the call that was not inlined is the user's own.
    let place = location.or_else(|| places.last().cloned());
    let message = stored_text(program, symbol.module, arguments, stores)
        .unwrap_or_else(|| message(program, symbol.module, &path, arguments));
    PanicSite { message, place }
}

/// The text of a `panic_fmt` without values, in versions of `core` before 1.93. There, its first argument refers to the parts of the
/// text. Without values, there is one part, and all stores are of constants.
fn stored_text(
    program: &Program,
    module: usize,
    arguments: &[Typed],
    stores: &[&Instruction],
) -> Option<String> {
    let [(Type::Pointer, Operand::Local(of)), (Type::Pointer, _)] = arguments else { return None };
    let mut parts = None;
    for store in stores {
        let Kind::Store { value: (_, Operand::Constant(value)), pointer, .. } = &store.kind else {
            return None;
        };
        if *pointer == Operand::Local(*of) {
            parts = Some(value);
        }
    }
    let (name, 0) = memory::address(parts?)? else { return None };
    let image = Image::of_global(program, module, &name?).ok()?;
    if image.bytes.len() == 16 { string_in(program, &image, 0) } else { None }
}

/// Rust's words for the functions of `core` that panic.
fn message(program: &Program, module: usize, path: &str, arguments: &[Typed]) -> String {
    let last = path.rsplit("::").next().unwrap_or(path);
    let known = match last {
        "panic_bounds_check" | "out_of_bounds" => "index out of bounds",
        "no_object" => "a call of memory that holds no object of this program's classes",
        "panic_const_add_overflow" => "attempt to add with overflow",
        "panic_const_sub_overflow" => "attempt to subtract with overflow",
        "panic_const_mul_overflow" => "attempt to multiply with overflow",
        "panic_const_div_overflow" => "attempt to divide with overflow",
        "panic_const_rem_overflow" => "attempt to calculate the remainder with overflow",
        "panic_const_neg_overflow" => "attempt to negate with overflow",
        "panic_const_shl_overflow" => "attempt to shift left with overflow",
        "panic_const_shr_overflow" => "attempt to shift right with overflow",
        "panic_const_div_by_zero" => "attempt to divide by zero",
        "panic_const_rem_by_zero" => "attempt to calculate the remainder with a divisor of zero",
        "unwrap_failed" if path.contains("option") => "called `Option::unwrap()` on a `None` value",
        "slice_index_fail" | "slice_start_index_len_fail" | "slice_end_index_len_fail" => {
            "slice index out of range"
        }
        "slice_index_order_fail" => "slice index starts behind its end",
        "copy_from_slice_impl" | "len_mismatch_fail" => "slices of different lengths",
        "trap" => "aborted",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    // `panic_fmt` of a text without arguments: the length is twice as large and odd, and in the place of a pointer.
    if let [(Type::Pointer, text), (Type::Pointer, Operand::Constant(length)), ..] = arguments
        && let Some((None, length)) = memory::address(length)
        && length & 1 == 1
        && let Some(text) = text_of(program, module, text, length >> 1)
    {
        return text;
    }
    // `panic(message, length, location)`, `expect_failed(…)`.
    if let [(Type::Pointer, text), (Type::Int(64), Operand::Constant(Constant::Int(length))), ..] = arguments
        && let Some(text) = text_of(program, module, text, *length as u64)
    {
        return text;
    }
    if last == "unwrap_failed" {
        return "called `Result::unwrap()` on an `Err` value".to_owned();
    }
    if path.contains("panicking") || path.contains("panic") {
        return "panicked".to_owned();
    }
    format!("panicked in `{path}`")
}

fn text_of(program: &Program, module: usize, text: &Operand, length: u64) -> Option<String> {
    let Operand::Constant(constant) = text else { return None };
    let (name, offset) = memory::address(constant)?;
    bytes_of(program, module, &name?, offset, length)
}

/// The `&str` at an offset of a constant: the address of its bytes, and their number.
fn string_in(program: &Program, image: &Image, offset: u64) -> Option<String> {
    let (bytes, at) = image.addresses.get(&offset)?;
    bytes_of(program, bytes.module, &bytes.name, *at, image.number(offset + 8, 8)?)
}

/// Bytes of a constant as text.
fn bytes_of(program: &Program, module: usize, name: &str, offset: u64, length: u64) -> Option<String> {
    let image = Image::of_global(program, module, name).ok()?;
    let start = usize::try_from(offset).ok()?;
    let bytes = image.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)?;
    String::from_utf8(bytes.to_vec()).ok()
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
