//! How the program calls shared functions: the agreement between the C and the Rust that are
//! generated for them.
//!
//! Each function has a wrapper with C linkage and a unique name. Pointers and scalars other than
//! half and bool are passed directly, and references as pointers. Everything else is passed by
//! address, because compilers pass vectors and structs differently. Such a result is written to the
//! address in the last argument.

use oclave_image::{Scalar, ValueType};

use crate::ast::{SharedFunction, SharedType};
use crate::config::Config;

/// How one value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    AsItIs,
    ByAddress,
}

impl SharedType {
    pub(crate) fn passing(&self) -> Passing {
        match self {
            Self::Value(ValueType::Scalar(Scalar::F16)) => Passing::ByAddress,
            Self::Value(ValueType::Scalar(_)) => Passing::AsItIs,
            Self::Value(_) => Passing::ByAddress,
            _ => Passing::AsItIs,
        }
    }
}

/// The linker's name of the wrapper of a function: the `index`-th shared one of the source with
/// this unit name.
pub(crate) fn symbol(config: &Config, unit: &str, index: usize, function: &SharedFunction) -> String {
    format!("oclave_shared_{}_{index}_{}", hash(config, unit), function.name)
}

/// The name of the library with the wrappers of a program.
pub(crate) fn library(config: &Config) -> String {
    let package = config.environment.var("CARGO_PKG_NAME").unwrap_or_default();
    format!("oclave_shared_{}", hash(config, &format!("{}/{}", package.to_string_lossy(), config.out_name)))
}

/// Tells the sources of all packages and versions of an application apart.
fn hash(config: &Config, what: &str) -> String {
    let version = config.environment.var("CARGO_PKG_VERSION").unwrap_or_default();
    let digest = blake3::hash(format!("{what}@{}", version.to_string_lossy()).as_bytes());
    digest.as_bytes().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
