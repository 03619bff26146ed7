//! Panics. The work-item notes the place for the host, and ends.
//!
//! The note is a device global of 64-bit words: a code, the id of the kernel, a checksum and the values of the message.
//! Virtual calls that reach no function use the first two. The upper 24 bits of a panic's code are the number of its
//! place, from 1 on. The lower 40 are the work-item's global linear id.
//!
//! Functions note a panic for their kernel in its private memory. This note has the number of the place, the part of the
//! checksum that comes from the values, and the values.

use super::messages::{MOST_VALUES, string_in};
use crate::Place;
use crate::llvm::tree::{Kind, Operand, Type, Typed};
use crate::memory::{self, Image};
use crate::program::Program;

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
