//! The error of the build: which step failed, on what, with which tool's words, and what to do
//! about it.

use std::fmt;
use std::path::Path;

/// Result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The step that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration contradicts itself, or names what does not exist.
    Config,
    /// There is no usable pair of `clang` and `llvm-spirv`.
    Toolchain,
    /// The compiler refused a source.
    Compile,
    /// `llvm-link` refused the sources together.
    Link,
    /// `llvm-spirv` refused what the compiler wrote, at `-O0` too.
    Translate,
    /// The compiler's description of the declarations could not be read.
    Declarations,
    /// A rule of device images or device globals is broken.
    PostLink,
    /// There is no compiler, and the checked-in images do not serve.
    CheckedIn,
    /// A file could not be read or written.
    Io,
}

/// What every fallible function of this crate returns.
///
/// `Display` and `Debug` both give the readable text, since a build script that returns an error
/// prints its `Debug`.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    pub(crate) fn io(action: &str, path: &Path, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("cannot {action} {}", path.display())).with_source(source)
    }

    /// Adds another way out to the message.
    pub(crate) fn or_else_do(mut self, what: &str) -> Self {
        self.message.push_str(", ");
        self.message.push_str(what);
        self
    }

    /// The step that failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
