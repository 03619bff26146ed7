//! The error of passes.

/// A module that cannot be adapted to a driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The module is not sound, or has what the pass cannot express.
    #[error(transparent)]
    Module(#[from] oclave_spirv::Error),
    /// The driver's compiler gets it wrong in every form.
    #[error("the device lacks {what}")]
    DeviceLacks {
        /// What a driver would need, and the image that needs it.
        what: String,
    },
    /// The driver's compiler gets one kernel wrong in every form. The others are right without it.
    #[error("the device lacks {what}")]
    Kernel {
        /// The name of its entry point.
        kernel: String,
        /// What a driver would need, and the kernel and image that need it.
        what: String,
    },
}

/// Result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub(crate) fn unsupported(what: impl Into<String>) -> Error {
    oclave_spirv::Error::Unsupported(what.into()).into()
}
