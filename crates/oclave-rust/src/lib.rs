//! Kernels in Rust: lowers the LLVM IR that the stable rustc writes (`--emit=llvm-ir`) to a SPIR-V
//! module for OpenCL. It needs no part of LLVM.
//!
//! ```text
//! text --lexer, parser--> modules --program--> what kernels reach --spaces, lower--> SPIR-V
//! ```
//! | module | role |
//! |---|---|
//! | `llvm` | tokens, the tree of a module, sizes of types, places in sources |
//! | `program` | the modules of several crates, linked by name |
//! | `memory` | bytes of constants, and the descriptions of kernels that are among them |
//! | `objects` | classes of objects that one kernel makes and another one calls |
//! | `spaces` | which memory each pointer points to; functions are copied for each combination |
//! | `lower` | the instructions of SPIR-V |
//!
//! Kernels are functions made by the attribute `kernel` of the crate `oclave-kernel`. What a kernel
//! does not reach is not looked at. Internal to oclave: not part of the semver promise.
#![forbid(unsafe_code)]

mod demangle;
mod error;
mod foreign;
mod kernels;
mod llvm;
mod lower;
mod memory;
mod objects;
mod program;
mod spaces;

pub use error::{Error, Result};
pub use foreign::{ForeignFunction, ForeignMemory, ForeignNumber, ForeignType};
pub use kernels::{
    Dimensions, Field, ImageAccess, Kernel, Parameter, ParameterKind, Scalar, TypeDescription, Variable,
};
pub use llvm::metadata::Place;
pub use lower::panics::PanicSite;

use oclave_spirv::Module;

/// How rustc has to be called. The level of optimisation, the checks of overflow and the outputs are free.
pub const RUSTC_FLAGS: &[&str] = &[
    "--edition=2024",
    "--crate-type=rlib",
    "-Cpanic=abort",
    "-Ccodegen-units=1",
    // Drivers vectorise over work-items.
    "-Cno-vectorize-loops",
    "-Cno-vectorize-slp",
    "-Csymbol-mangling-version=v0",
    "-Cdebuginfo=line-tables-only",
    // Barriers must not be copied into branches. See `keep_whole` of oclave-kernel for other passes.
    "-Cllvm-args=-unswitch-threshold=0",
    // No device has tables of addresses. Drivers make tables of numbers themselves.
    "-Cllvm-args=-switch-to-lookup=false",
];

/// The text of one crate.
#[derive(Debug, Clone, Copy)]
pub struct Text<'t> {
    /// For messages.
    pub name: &'t str,
    /// LLVM IR.
    pub ir: &'t str,
}

/// What kernels became.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// A module with an entry point for each kernel.
    pub module: Module,
    /// The kernels, by name.
    pub kernels: Vec<Kernel>,
    /// Where kernels may panic, by number.
    pub panics: Vec<PanicSite>,
    /// Device globals, by name.
    pub device_globals: Vec<Variable>,
    /// Specialization constants, by name.
    pub spec_constants: Vec<Variable>,
    /// Functions in Rust that other languages call, and what tells them in the note of a panic.
    pub exported: Vec<(String, u64)>,
}

/// Links crates and lowers their kernels.
///
/// # Errors
/// [`Error::Syntax`] where a text cannot be read; [`Error::Unsupported`] where a kernel reaches what
/// devices do not have, or an instruction or intrinsic that is not known; [`Error::Link`] where the
/// crates do not fit together.
pub fn compile(texts: &[Text<'_>]) -> Result<Compiled> {
    compile_with(texts, &Options::default())
}

/// Choices of [`compile_with`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Functions of other languages of the program.
    pub foreign: Vec<ForeignFunction>,
    /// Whether panics only end their work-items, and the host is not told of them.
    pub are_panics_ignored: bool,
}

/// As [`compile`], for a program with functions of other languages. Those that it calls are imported,
/// and those in Rust that they call are exported: the module is to be linked with theirs.
///
/// # Errors
/// As there.
pub fn compile_with(texts: &[Text<'_>], options: &Options) -> Result<Compiled> {
    let program = program::Program::read(texts)?;
    let mut kernels = kernels::find(&program)?;
    let device_globals = kernels::device_globals(&program)?;
    let spec_constants = kernels::spec_constants(&program)?;
    let names: Vec<&str> = texts.iter().map(|text| text.name).collect();
    let variables = lower::Surroundings {
        device_globals: &device_globals,
        spec_constants: &spec_constants,
        names: &names,
        foreign: &options.foreign,
        reports_panics: !options.are_panics_ignored,
    };
    let lower::Lowered { module, panics, exported, pixels } = lower::lower(&program, &kernels, variables)?;
    for kernel in &mut kernels {
        for (index, parameter) in kernel.parameters.iter_mut().enumerate() {
            parameter.pixels = pixels.get(&(kernel.name.clone(), index)).copied().unwrap_or(0);
        }
    }
    let exported = exported.into_iter().map(|name| (lower::panics::kernel_id(&name), name));
    let exported = exported.map(|(id, name)| (name, id)).collect();
    Ok(Compiled { module, kernels, panics, device_globals, spec_constants, exported })
}

/// Reads a text and drops it; for fuzzing.
///
/// # Errors
/// [`Error::Syntax`] where it cannot be read.
#[doc(hidden)]
pub fn read_only(text: &str) -> Result<()> {
    llvm::parser::parse("fuzzed", text).map(|_| ())
}
