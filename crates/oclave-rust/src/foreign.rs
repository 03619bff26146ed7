//! Functions of other languages: those that kernels in Rust call, and those of Rust that they call.

/// The type of a parameter or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignType {
    /// No result.
    Nothing,
    /// An integer of 8, 16, 32 or 64 bits.
    Int(u32),
    /// A floating-point number of 16, 32 or 64 bits.
    Float(u32),
    /// A pointer to numbers.
    Pointer(ForeignMemory, ForeignNumber),
    /// Anything else.
    Other,
}

/// What a pointer points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignNumber {
    /// Integers of a width.
    Int(u32),
    /// Floating-point numbers of a width.
    Float(u32),
}

/// Where a pointer points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ForeignMemory {
    Private,
    Global,
    Local,
    Constant,
    Generic,
}

/// A function of another language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFunction {
    /// Its symbol.
    pub name: String,
    /// Types of its parameters.
    pub parameters: Vec<ForeignType>,
    /// Type of its result.
    pub returns: ForeignType,
    /// Whether it is defined there. Otherwise it is called there, and may be defined in Rust.
    pub is_defined: bool,
}
