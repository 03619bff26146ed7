//! Virtual functions: from vtables and calls through function pointers to codes, wrappers and dispatchers.

mod levels;

pub use levels::at_level;
