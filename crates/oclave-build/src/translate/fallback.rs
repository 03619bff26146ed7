//! Less optimisation for the sources that the translator refuses, and for no others.

use std::path::Path;

use super::place::{self, Place};
use super::{module, run};
use crate::cargo::Cargo;
use crate::command::Run;
use crate::compile::{Compiler, Effort, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// Compiles each source that the translator refuses by itself with less and less optimisation,
/// until it does not. Gives whether there was one.
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
        if effort.level == 0 || is_about_options(&refused.stderr) {
            return Err(module_error(compiler, source, &refused));
        }
        let place = place::find(compiler, source, effort, &refused);
        let (better, found) = match less(compiler, source, unit, effort)? {
            Ok(found) => found,
            Err(unoptimised) => {
                let what = format!(
                    "llvm-spirv refuses {} at {effort}:\n{}\n\nand it does not work at -O0 either",
                    describe(source, &place),
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

/// The first of the lower efforts that the translator takes, or the error of the last.
fn less(
    compiler: &Compiler<'_>,
    source: &Source,
    unit: &Unit,
    effort: Effort,
) -> Result<std::result::Result<(Effort, Unit), Error>> {
    let too_wide = unit.leftovers.iter().any(|leftover| leftover.cause.starts_with("an integer of"));
    let without = too_wide.then_some(Effort { closed_forms: false, ..effort });
    let mut last = None;
    for lower in without.into_iter().chain((0..effort.level).rev().map(Effort::level)) {
        let unit = compiler.compile_one(source, lower)?;
        let run = translated_alone(compiler, &unit.bitcode)?;
        if run.success {
            return Ok(Ok((lower, unit)));
        }
        last = Some(module_error(compiler, source, &run));
    }
    Ok(Err(last.unwrap_or_else(|| Error::config("there is no lower optimisation level"))))
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
