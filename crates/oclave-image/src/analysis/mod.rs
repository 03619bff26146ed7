//! What a module says, read and not changed: used by every phase.

pub(crate) mod aspects;
pub(crate) mod declared_globals;
pub(crate) mod indirect;
pub(crate) mod value_types;
