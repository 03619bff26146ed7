//! SPIR-V: words, types, analyses, changes to modules, and a check of the rules whose breach makes drivers crash. This crate knows
//! no device and no driver.
//!
//! | module | role |
//! |---|---|
//! | [`words`] | the words of a module: read, look up, rewrite. Its items are also at the root of the crate |
//! | [`analysis`] | control flow, dominators, the call graph, values that are the same in all work-items |
//! | [`transform`] | dead code, unused capabilities, hints, duplicate types, the order within blocks, older versions |
//! | [`check`](check::check) | the validator |
//!
//! Internal to oclave: not part of the semver promise.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod check;
mod error;
pub mod transform;
pub mod words;

pub use error::Error;
pub use words::*;

/// Result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Tells one build of this crate's sources from another.
pub const SOURCES_FINGERPRINT: &str = env!("OCLAVE_SOURCES");
