//! The error of this crate.

use std::fmt;

use crate::Place;

/// Result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why kernels cannot become SPIR-V.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is not LLVM IR as rustc writes it.
    Syntax {
        /// Name of the module.
        module: String,
        /// Line of the text, from 1 on.
        line: u32,
        /// What stands there.
        what: String,
    },
    /// A kernel reaches what devices do not have, or what this crate does not know.
    Unsupported {
        /// The function, as the source calls it as far as that is known.
        function: String,
        /// The calls that were inlined there, the innermost first. Empty without debug information.
        places: Vec<Place>,
        /// What it is.
        what: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Modules or kernels do not fit each other.
    Link(String),
    /// The module that was made is malformed. This is a fault of this crate.
    Spirv(oclave_spirv::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { module, line, what } => {
                write!(f, "cannot read the LLVM IR that rustc wrote, {module}, line {line}: {what}")
            }
            Self::Unsupported { function, places, what, remedy } => {
                // The first place in the user's own file tells more than one in the standard library.
                let own = places.iter().find(|place| !is_of_the_library(&place.file)).or(places.first());
                if let Some(place) = own {
                    write!(f, "{place}: ")?;
                }
                write!(f, "`{function}`: {what}; {remedy}")?;
                match places.first().filter(|first| Some(*first) != own) {
                    Some(inner) => write!(f, " (inlined from {inner})"),
                    None => Ok(()),
                }
            }
            Self::Link(what) => f.write_str(what),
            Self::Spirv(error) => {
                write!(
                    f,
                    "the lowering of kernels in Rust wrote a malformed module; this is a bug in oclave: {error}"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Spirv(error) => Some(error),
            _ => None,
        }
    }
}

impl From<oclave_spirv::Error> for Error {
    fn from(error: oclave_spirv::Error) -> Self {
        Self::Spirv(error)
    }
}

/// Whether a file belongs to the standard library.
fn is_of_the_library(file: &str) -> bool {
    ["core", "std", "alloc"].iter().any(|name| file.contains(&format!("library/{name}/src/")))
}
