//! What runs cases.

use crate::case::{Argument, Case, Memory};
use crate::outcome::Outcome;
use crate::suite::Program;

/// Runs the cases of one program.
pub trait Executor {
    /// Whether the device has what a program needs. What it lacks, if not.
    fn lacks(&self, program: &Program) -> Option<String>;

    /// Builds the program.
    ///
    /// # Errors
    /// Why it does not build.
    fn build(&mut self, program: &Program) -> Result<(), Outcome>;

    /// Runs some of the program's cases, by their numbers. `started` is called before each, as far
    /// as they run one by one. Gives the final contents of all memory of each, with a remark on how
    /// it ran.
    fn run(&mut self, program: &Program, numbers: &[usize], report: &mut dyn Report);
}

/// Hears what an executor does.
pub trait Report {
    /// A case begins.
    fn starts(&mut self, number: usize);
    /// A case ended, with the contents of all memory and a remark on how it ran.
    fn ended(&mut self, number: usize, result: Result<(Vec<Vec<u8>>, String), Outcome>);
}

/// How many bytes follow each buffer, so that small overruns are no crash: some of piglit's tests
/// have more work-items than elements.
pub const MARGIN: usize = 4096;

/// What the bytes after each buffer hold.
pub const PATTERN: u8 = 0xCD;

/// The bytes of a buffer and of its margin.
pub fn with_margin(bytes: &[u8]) -> Vec<u8> {
    let mut all = bytes.to_vec();
    all.resize(bytes.len() + MARGIN, PATTERN);
    all
}

/// Whether the arguments of a case name memory that it has.
///
/// # Errors
/// The first one that does not.
pub fn check_arguments(case: &Case) -> Result<(), Outcome> {
    for launch in &case.launches {
        for argument in &launch.arguments {
            if let Argument::Memory(index) = argument
                && case.memory.get(*index).is_none()
            {
                return Err(Outcome::Fail(format!(
                    "{} names memory {index}, which the case lacks",
                    launch.kernel
                )));
            }
        }
    }
    Ok(())
}

/// Whether a case has images.
pub fn has_images(case: &Case) -> bool {
    case.memory.iter().any(|memory| matches!(memory, Memory::Image { .. }))
}
