//! What goes wrong in a translation.

use oclave_image::ImageError;

/// Why a module has no PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PtxError {
    /// The module breaks the rules of SPIR-V, or cannot be linked with the library.
    #[error(transparent)]
    Module(#[from] ImageError),
    /// The module is sound, but PTX cannot say it.
    #[error("kernel `{kernel}`, {instruction}: {what}")]
    Unsupported {
        /// The kernel, or one of the kernels that call the function.
        kernel: String,
        /// The instruction: opcode, id, word of the module.
        instruction: String,
        /// What is not possible, and what to do instead.
        what: String,
    },
    /// The module as a whole has no PTX.
    #[error("no PTX for this module: {0}")]
    Refused(String),
    /// The library of OpenCL C's built-in functions is missing, or lacks a function.
    #[error("{0}")]
    Library(String),
}

impl From<oclave_spirv::Error> for PtxError {
    fn from(error: oclave_spirv::Error) -> Self {
        ImageError::from(error).into()
    }
}

/// Why an instruction has no translation; the place is added where it is known.
#[derive(Debug)]
pub(crate) enum Stop {
    Unsupported(String),
    /// The module is not what the checker promised.
    Broken(&'static str),
}

impl Stop {
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }
}

pub(crate) type Step<T = ()> = Result<T, Stop>;

/// The operand of an instruction, or the error that it is missing.
pub(crate) fn need<T>(value: Option<T>) -> Step<T> {
    value.ok_or(Stop::Broken("an operand is missing or of the wrong kind"))
}
