//! What the host knows of a `printf` in a module.

/// A `printf` of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintSite {
    /// The format string, without the zero at its end.
    pub format: Vec<u8>,
    /// What stands behind the format.
    pub arguments: Vec<PrintArgument>,
    /// The kernel, if only one gets there.
    pub kernel: Option<String>,
    /// File and line, if the module has them.
    pub source: Option<(String, u32)>,
}

/// An argument of a `printf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrintArgument {
    /// Integers: one, or the lanes of a vector.
    Integer {
        /// Bits of each: 8, 16, 32 or 64.
        width: u32,
        /// How many.
        lanes: u32,
    },
    /// Floating-point numbers: one, or the lanes of a vector.
    Float {
        /// Bits of each: 16, 32 or 64.
        width: u32,
        /// How many.
        lanes: u32,
    },
    /// An address.
    Pointer,
    /// A string literal. It takes no room in records.
    Text(Vec<u8>),
}

impl PrintArgument {
    /// The words that it takes in a record.
    pub(super) fn words(&self) -> usize {
        match self {
            Self::Integer { width, lanes } | Self::Float { width, lanes } => {
                *lanes as usize * if *width > 32 { 2 } else { 1 }
            }
            Self::Pointer => 2,
            Self::Text(_) => 0,
        }
    }
}
