//! Another level of optimisation for the sources that the translator refuses, and for no others.

use std::path::Path;

use super::place::{self, Place};
use super::{module, run};
use crate::cargo::Cargo;
use crate::command::Run;
use crate::compile::{Compiler, Effort, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::Leftover;
use crate::source::Source;

/// What translators from LLVM 18 on say of a private variable outside of functions.
///
/// clang makes one of a vector literal that initialises a member of a class. The optimiser removes
/// it.
const PRIVATE_VARIABLE: &str = "Global variable cannot have Function storage class";

/// Compiles each source that the translator refuses by itself with less and less optimisation,
/// until it does not; at -O0, with more where that helps. Gives whether there was one.
pub(super) fn replace_refused(
    compiler: &Compiler<'_>,
    sources: &[Source],
    units: &mut [Unit],
    effort: Effort,
    cargo: &mut Cargo<'_>,
) -> Result<bool> {
    let mut replaced = false;
    for (source, unit) in sources.iter().zip(units) {
        let refused = translated_alone(compiler, &unit.bitcode)?;
        if refused.success {
            continue;
        }
        let words = cause(&refused.stderr);
        let others = others(unit, effort, &refused.stderr);
        let Some(&last) = others.last().filter(|_| !is_about_options(&refused.stderr)) else {
            let error = module_error(compiler, source, &refused);
            return Err(match unit.leftovers.first() {
                Some(Leftover { function, cause, .. }) => {
                    let what = format!("{}: `{function}`: {cause}", source.path.display());
                    Error::new(ErrorKind::Translate, what).with_source(error)
                }
                None => error,
            });
        };
        // At -O0, the translator refuses a variable, which is in no function.
        let place = match effort.level {
            0 => Place::default(),
            _ => place::find(compiler, source, effort, &refused),
        };
        let (better, found) = match first_translated(compiler, source, others)? {
            Ok(found) => found,
            Err(unoptimised) => {
                let what = format!(
                    "llvm-spirv refuses {} at {effort}{}:\n{}\n\nand it does not work at {last} either",
                    describe(source, &place),
                    place.cause.map(|cause| format!(" ({cause})")).unwrap_or_default(),
                    module_error(compiler, source, &refused)
                );
                return Err(Error::new(ErrorKind::Translate, what).with_source(unoptimised));
            }
        };
        let words = place.cause.clone().unwrap_or(words);
        cargo.warning(&format!(
            "{}: llvm-spirv refuses what clang writes at {effort} ({words}); compiled at {better} instead",
            describe(source, &place)
        ));
        *unit = found;
        replaced = true;
    }
    Ok(replaced)
}

/// The lower efforts, the highest first. At -O0, the next higher one if the optimiser removes the
/// refused construct.
fn others(unit: &Unit, effort: Effort, refusal: &str) -> Vec<Effort> {
    if effort.level == 0 {
        return refusal.contains(PRIVATE_VARIABLE).then_some(Effort::level(1)).into_iter().collect();
    }
    let too_wide = unit.leftovers.iter().any(|leftover| leftover.cause.contains("an integer of"));
    let without = too_wide.then_some(Effort { closed_forms: false, ..effort });
    without.into_iter().chain((0..effort.level).rev().map(Effort::level)).collect()
}

/// The first of the efforts that the translator takes, or the error of the last.
fn first_translated(
    compiler: &Compiler<'_>,
    source: &Source,
    efforts: Vec<Effort>,
) -> Result<std::result::Result<(Effort, Unit), Error>> {
    let mut last = None;
    for effort in efforts {
        let unit = compiler.compile_one(source, effort)?;
        let run = translated_alone(compiler, &unit.bitcode)?;
        if run.success {
            return Ok(Ok((effort, unit)));
        }
        last = Some(module_error(compiler, source, &run));
    }
    Ok(Err(last.unwrap_or_else(|| Error::config("there is no other optimisation level"))))
}

pub(super) fn translated_alone(compiler: &Compiler<'_>, bitcode: &Path) -> Result<Run> {
    Ok(run(compiler, bitcode)?.0)
}

fn module_error(compiler: &Compiler<'_>, source: &Source, run: &Run) -> Error {
    let malformed = || Error::new(ErrorKind::Translate, "llvm-spirv failed");
    module(compiler, std::slice::from_ref(source), run).err().unwrap_or_else(malformed)
}

/// `file:line: function`.
fn describe(source: &Source, place: &Place) -> String {
    let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
    let function = place.function.as_ref().map(|name| format!(": `{name}`")).unwrap_or_default();
    let file = place.file.clone().unwrap_or_else(|| source.path.display().to_string());
    format!("{file}{line}{function}")
}

/// What no level of optimisation changes.
fn is_about_options(words: &str) -> bool {
    words.contains("Unknown command line argument") || words.contains("for the --spirv-ext option")
}

/// The translator's words on one line.
pub(super) fn cause(words: &str) -> String {
    let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("it said nothing");
    let second = lines.next().filter(|_| first.ends_with(':')).map(|line| {
        let end = line.find(" [Src:").unwrap_or(line.len());
        format!(" {}", line.get(..end).unwrap_or(line))
    });
    format!("{first}{}", second.unwrap_or_default())
}
