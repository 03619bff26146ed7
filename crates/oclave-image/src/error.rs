//! The error of everything that reads or changes a device image.

/// What is wrong with an image or a SPIR-V module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The words are not SPIR-V, or break its structure.
    #[error("malformed SPIR-V at word {word}: {what}")]
    Spirv {
        /// Index of the word where the instruction starts.
        word: usize,
        /// What is wrong there.
        what: String,
    },
    /// The container's bytes are not a device image, or break its structure.
    #[error("malformed device image at byte {offset}: {what}")]
    Container {
        /// Offset of the bad field.
        offset: usize,
        /// What is wrong there.
        what: String,
    },
    /// The container was written by another version of the format.
    #[error("device image format version {found}, this library reads version {supported}; rebuild the image")]
    Version {
        /// Version in the file.
        found: u32,
        /// Version that this library reads.
        supported: u32,
    },
    /// A property has the wrong shape.
    #[error("property \"{property}\" of set \"{set}\": {what}")]
    Property {
        /// Property set.
        set: String,
        /// Property in the set.
        property: String,
        /// What is wrong with it.
        what: String,
    },
    /// The image is sound, but the device cannot run it.
    #[error("the device lacks {what}")]
    DeviceLacks {
        /// The missing aspect, SPIR-V version, capability or extension, and the image that needs
        /// it.
        what: String,
    },
    /// The module is sound, but uses something that this operation cannot express.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// Modules do not fit together: a symbol is missing, defined twice, or of two types.
    #[error("cannot link: {0}")]
    Link(String),
    /// A source-level rule is broken (post-link diagnostics); the text is for the kernel's author.
    #[error("{0}")]
    Diagnostic(String),
}

impl From<oclave_spirv::Error> for ImageError {
    fn from(error: oclave_spirv::Error) -> Self {
        match error {
            oclave_spirv::Error::Malformed { word, what } => Self::Spirv { word, what },
            oclave_spirv::Error::Unsupported(what) => Self::Unsupported(what),
        }
    }
}

impl From<oclave_faults::passes::Error> for ImageError {
    fn from(error: oclave_faults::passes::Error) -> Self {
        match error {
            oclave_faults::passes::Error::Module(error) => error.into(),
            oclave_faults::passes::Error::DeviceLacks { what }
            | oclave_faults::passes::Error::Kernel { what, .. } => Self::DeviceLacks { what },
        }
    }
}

/// The error of a transformation that fails because of what the kernel's author wrote.
pub(crate) fn diagnostic(error: oclave_spirv::Error) -> ImageError {
    match error {
        oclave_spirv::Error::Unsupported(what) => ImageError::Diagnostic(what),
        other => other.into(),
    }
}
