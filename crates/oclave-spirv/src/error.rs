//! The error of everything that reads or changes a module.

/// The error of a SPIR-V module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The words are not SPIR-V, or break its structure.
    #[error("malformed SPIR-V at word {word}: {what}")]
    Malformed {
        /// Index of the word where the instruction starts.
        word: usize,
        /// The rule that is broken.
        what: String,
    },
    /// The module is sound, but the result cannot be encoded.
    #[error("unsupported: {0}")]
    Unsupported(String),
}
