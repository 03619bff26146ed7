//! From bitcode to one SPIR-V module: `llvm-link` when there are several sources, then
//! `llvm-spirv`.

mod fallback;
mod place;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oclave_spirv::Module;

use crate::cargo::Cargo;
use crate::command::{self, Run};
use crate::compile::{Compiler, Effort, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::ir;
use crate::source::Source;

/// Compiles the sources and translates them together. Sources that the translator refuses because
/// of what the optimiser wrote are compiled with less optimisation, and the build says so.
pub(crate) fn program(
    compiler: &Compiler<'_>,
    sources: &[Source],
    cargo: &mut Cargo<'_>,
) -> Result<(Vec<Unit>, Translated)> {
    let effort = Effort::level(compiler.config.opt_level);
    let mut units = compiler.compile(sources, effort)?;
    for unit in &units {
        unit.warnings.iter().for_each(|warning| cargo.warning(warning));
        unit.dependencies.iter().for_each(|path| cargo.rerun_if_changed(path));
    }
    let error = match translate(compiler, sources, &units) {
        Ok(translated) => return Ok((units, translated)),
        Err(error) if error.kind() == ErrorKind::Translate => error,
        Err(error) => return Err(error),
    };
    if !fallback::replace_refused(compiler, sources, &mut units, effort, cargo)? {
        return Err(error);
    }
    let translated = translate(compiler, sources, &units)?;
    Ok((units, translated))
}

fn paths(sources: &[Source]) -> String {
    let paths: Vec<String> = sources.iter().map(|source| source.path.display().to_string()).collect();
    paths.join(", ")
}

/// What the translator made of a program.
pub(crate) struct Translated {
    pub(crate) module: Module,
    /// Of several sources with virtual functions: each by itself, for what linking loses.
    pub(crate) sources: Vec<Module>,
}

/// What the translator says of virtual functions and other pointers to functions unless it may use
/// the extension.
const NEEDS_FUNCTION_POINTERS: &str = "Can't translate function pointer";
/// What it says of a vbase offset that clang 15 loads at -O0.
const WRONG_LOADS: [&str; 3] = [
    "Explicit load/store type does not match pointee type",
    "Explicit call type does not match pointee type",
    "Callee is not a pointer type",
];
/// What it says before the name of an extension that it may not use.
const NEEDS_EXTENSION: &str = "requires ";
const FUNCTION_POINTERS: &str = "--spirv-ext=+SPV_INTEL_function_pointers";

/// Translates; with the extension for function pointers, which post-link removes, only if the
/// translator asks for it.
fn translate(compiler: &Compiler<'_>, sources: &[Source], units: &[Unit]) -> Result<Translated> {
    let bitcode = link(compiler, sources, units)?;
    let (translated, extension) = run(compiler, &bitcode)?;
    let mut alone = Vec::new();
    // Without types of pointers the code itself says the classes of calls.
    let typed = ir::has_typed_pointers(compiler.toolchain.clang.version.major);
    if extension.is_some() && units.len() > 1 && typed {
        for (source, unit) in sources.chunks(1).zip(units) {
            let run = spirv_of(compiler, &unit.bitcode, extension)?;
            alone.push(module(compiler, source, &run)?);
        }
        let again = spirv_of(compiler, &bitcode, extension)?;
        return Ok(Translated { module: module(compiler, sources, &again)?, sources: alone });
    }
    Ok(Translated { module: module(compiler, sources, &translated)?, sources: alone })
}

/// Translates bitcode, and says which extension that took.
fn run(compiler: &Compiler<'_>, bitcode: &Path) -> Result<(Run, Option<&'static str>)> {
    let run = spirv_of(compiler, bitcode, None)?;
    if run.success || !run.stderr.contains(NEEDS_FUNCTION_POINTERS) {
        return Ok((run, None));
    }
    Ok((spirv_of(compiler, bitcode, Some(FUNCTION_POINTERS))?, Some(FUNCTION_POINTERS)))
}

fn spirv_of(compiler: &Compiler<'_>, bitcode: &Path, extension: Option<&str>) -> Result<Run> {
    let mut args: Vec<OsString> = vec!["--preserve-ocl-kernel-arg-type-metadata-through-string".into()];
    args.extend(extension.map(OsString::from));
    if !compiler.config.fp_contract {
        // Kernels without such an expression may call virtual functions that have one.
        args.push("--spirv-fp-contract=off".into());
    }
    args.extend(compiler.config.translator_args.iter().cloned());
    args.extend([bitcode.into(), "-o".into(), spirv_path(compiler).into()]);
    command::run(&compiler.toolchain.llvm_spirv.path, &args, &compiler.config.environment)
}

/// Where the translator writes.
fn spirv_path(compiler: &Compiler<'_>) -> PathBuf {
    compiler.work.join("program.spv")
}

/// What a run of the translator wrote.
fn module(compiler: &Compiler<'_>, sources: &[Source], run: &Run) -> Result<Module> {
    if !run.success {
        let what =
            format!("the bitcode of {} does not translate to SPIR-V{}", paths(sources), hint(&run.stderr));
        return Err(run.failure(ErrorKind::Translate, &what));
    }
    Module::from_bytes(&files::read(&spirv_path(compiler))?).map_err(|error| {
        Error::new(ErrorKind::Translate, "llvm-spirv wrote a malformed module").with_source(error)
    })
}

/// What to do about it, for what the translator says.
fn hint(words: &str) -> String {
    if WRONG_LOADS.iter().any(|wrong| words.contains(wrong)) {
        return " (clang writes wrong code for virtual base classes without optimisation: compile with opt_level 1 or more)"
            .to_owned();
    }
    match extension(words) {
        Some(extension) => format!(
            " (it needs the extension {extension}, which not every device has; to allow it, call \
             `Config::translator_args([\"--spirv-ext=+{extension}\"])`)"
        ),
        None => String::new(),
    }
}

/// The extension that the translator asks for.
fn extension(words: &str) -> Option<&str> {
    let name = words.get(words.find(NEEDS_EXTENSION)?..)?;
    let name = name.get(name.find("SPV_")?..)?;
    name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

fn link(compiler: &Compiler<'_>, sources: &[Source], units: &[Unit]) -> Result<PathBuf> {
    if let [unit] = units {
        return Ok(unit.bitcode.clone());
    }
    let environment = &compiler.config.environment;
    let llvm_link = compiler.toolchain.llvm_link(environment)?;
    // The files of sources have other extensions.
    let linked = compiler.work.join("program.linked");
    let mut args: Vec<OsString> = units.iter().map(|unit| unit.bitcode.clone().into()).collect();
    args.extend(["-o".into(), linked.clone().into()]);
    let run = command::run(&llvm_link.path, &args, environment)?;
    if !run.success {
        let hint = hint(&run.stderr);
        // A hint means that one source is wrong. That source fails to translate by itself, too.
        let is_wrong = |unit: &Unit| self::run(compiler, &unit.bitcode).is_ok_and(|(run, _)| !run.success);
        let culprit = sources.iter().zip(units).find(|(_, unit)| !hint.is_empty() && is_wrong(unit));
        let what = match culprit {
            Some((source, _)) => format!("{} does not link{hint}", source.path.display()),
            None => "the sources do not link".to_owned(),
        };
        return Err(run.failure(ErrorKind::Link, &what));
    }
    Ok(linked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_extension_is_named_with_the_remedy() {
        let words = "RequiresExtension: Feature requires the following SPIR-V extension:\nSPV_INTEL_variable_length_array\n";
        assert_eq!(extension(words), Some("SPV_INTEL_variable_length_array"));
        assert!(
            hint(words)
                .contains("Config::translator_args([\"--spirv-ext=+SPV_INTEL_variable_length_array\"])")
        );
        assert_eq!(hint("InvalidBitWidth: 31"), "");
    }
}
