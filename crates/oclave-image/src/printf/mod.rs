//! `printf` of kernels, for programs that want the text themselves. A pass makes kernels write what
//! they print to a buffer. A decoder turns it back into text.
//!
//! ```text
//! printf("%d\n", x);  --lower-->  at = reserve(words); buffer[at + 1 ..] = key, x; buffer[at] = header
//! records + PrintSite --decode--> the text, by the rules of OpenCL C
//! ```
//! The format strings stay on the host, as [`PrintSite`]s. A record names its site, so that it only
//! has the arguments.

mod convert;
mod decode;
mod float;
mod lower;
mod narrow;
mod reserve;
mod site;

pub use decode::decode;
pub use lower::{Printing, lower_printf, prints};
pub(crate) use narrow::narrow_arguments;
pub use site::{PrintArgument, PrintSite};

/// The device global with the address of the buffer.
pub const PRINTS: &str = "__oclave_prints";

/// How the buffer lies in memory, in words of 32 bits. All but the ring's size is fixed.
///
/// Kernels take places in the ring by adding to `HEAD`, and the host gives them back by adding to
/// `TAIL`. Both count on for ever. A record lies in one piece, so that the last one of the ring may
/// reach into the room behind it.
#[derive(Debug, Clone, Copy)]
pub struct PrintBuffer;

impl PrintBuffer {
    /// Word of the number of words that kernels took so far.
    pub const HEAD: usize = 0;
    /// Word of the number of words that the host gave back so far.
    pub const TAIL: usize = 1;
    /// Word of the number of records that found no place.
    pub const LOST: usize = 2;
    /// Where the ring begins.
    pub const RING: usize = 4;
    /// Words of the ring; a power of two.
    pub const RING_WORDS: usize = 1 << 18;
    /// Words of the longest record.
    pub const LONGEST: usize = 1 << 10;
    /// Where records go that found no place; nobody reads them.
    pub const NOWHERE: usize = Self::RING + Self::RING_WORDS + Self::LONGEST;
    /// Words of all of it.
    pub const WORDS: usize = Self::NOWHERE + Self::LONGEST;
    /// Words of a record before its arguments: the header and the key of the module.
    pub const RECORD_HEADER: usize = 3;

    /// The first word of a record, which is written last; never 0.
    pub(crate) fn header(site: usize, words: usize) -> u32 {
        (site as u32) << 11 | words as u32
    }

    /// Site and number of words of a record.
    pub fn parts(header: u32) -> (usize, usize) {
        ((header >> 11) as usize, (header & 0x7ff) as usize)
    }
}

/// Sites of a module that a header can name.
const MOST_SITES: usize = 1 << 21;
