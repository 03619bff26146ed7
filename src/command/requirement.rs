//! Requirements: what a command does with parts of buffers. Its place in the order follows from them.

/// What a command does with the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AccessMode {
    Read,
    Write,
    ReadWrite,
}

/// A part of a buffer that a command uses. Commands whose parts overlap run in the order in which they were submitted,
/// unless both only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// Which buffer; sub-buffers have that of their parent.
    pub(crate) buffer: u64,
    /// Where the part begins in each dimension, in elements.
    pub(crate) offset: [usize; 3],
    /// Its size in each dimension, in elements.
    pub(crate) extent: [usize; 3],
    pub(crate) access: AccessMode,
    /// What was in the part before is not needed.
    pub(crate) no_init: bool,
}
