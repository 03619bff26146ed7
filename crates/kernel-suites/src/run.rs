//! What runs cases.

use crate::case::{Argument, Case};
use crate::outcome::Outcome;
use crate::suite::Program;

/// Runs the cases of one program.
pub(crate) trait Executor {
    /// Whether the device has what a program needs. What it lacks, if not.
    fn lacks(&self, program: &Program) -> Option<String>;

    /// Builds the program.
    ///
    /// # Errors
    /// Why it does not build.
    fn build(&mut self, program: &Program) -> Result<(), Outcome>;

    /// Runs some of the program's cases, by their numbers. `report` hears of each that begins, as far
    /// as they run one by one, and of each that ended.
    fn run(&mut self, program: &Program, numbers: &[usize], report: &mut dyn Report);
}

/// The final contents of all memory of a case, and a remark on how it ran.
pub(crate) type Contents = (Vec<Vec<u8>>, String);

/// Hears what an executor does.
pub(crate) trait Report {
    /// A case begins.
    fn starts(&mut self, number: usize);
    /// A case ended, with the contents of all memory and a remark on how it ran.
    fn ended(&mut self, number: usize, result: Result<Contents, Outcome>);
}

/// How many bytes follow each buffer, so that small overruns are no crash: some of piglit's tests
/// have more work-items than elements.
pub(crate) const MARGIN: usize = 4096;

/// What the bytes after each buffer hold.
pub(crate) const PATTERN: u8 = 0xCD;

/// The bytes of a buffer and of its margin.
pub(crate) fn with_margin(bytes: &[u8]) -> Vec<u8> {
    let mut all = bytes.to_vec();
    all.resize(bytes.len() + MARGIN, PATTERN);
    all
}

/// Whether the arguments of a case name memory that it has.
///
/// # Errors
/// The first one that does not.
pub(crate) fn check_arguments(case: &Case) -> Result<(), Outcome> {
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
