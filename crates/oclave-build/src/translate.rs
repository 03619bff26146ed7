//! From bitcode to one SPIR-V module: `llvm-link` when there are several sources, then `llvm-spirv`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oclave_image::spirv::Module;

use crate::cargo::Cargo;
use crate::command::{self, Run};
use crate::compile::{Compiler, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::source::Source;

/// Compiles the sources and translates them together. What the translator refuses because of what the optimiser wrote is
/// tried again without optimisation, and the build says so.
pub(crate) fn program(
    compiler: &Compiler<'_>,
    sources: &[Source],
    cargo: &mut Cargo<'_>,
) -> Result<(Vec<Unit>, Translated)> {
    let opt_level = compiler.config.opt_level;
    let units = compiler.compile(sources, opt_level)?;
    for unit in &units {
        unit.warnings.iter().for_each(|warning| cargo.warning(warning));
        unit.dependencies.iter().for_each(|path| cargo.rerun_if_changed(path));
    }
    let error = match translate(compiler, sources, &units) {
        Ok(translated) => return Ok((units, translated)),
        Err(error) if error.kind() == ErrorKind::Translate && opt_level > 0 => error,
        Err(error) => return Err(error),
    };
    let names = paths(sources);
    let words = error.to_string().lines().nth(1).unwrap_or_default().to_owned();
    let unoptimised = compiler.compile(sources, 0).and_then(|units| {
        let translated = translate(compiler, sources, &units)?;
        Ok((units, translated))
    });
    let (units, translated) = unoptimised.map_err(|unoptimised| {
        let what = format!(
            "llvm-spirv refuses {names} at -O{opt_level}:\n{error}\n\nand it does not work at -O0 either"
        );
        Error::new(ErrorKind::Translate, what).with_source(unoptimised)
    })?;
    cargo.warning(&format!(
        "{names}: llvm-spirv refuses what clang writes at -O{opt_level} ({words}); compiled at -O0 instead"
    ));
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

/// What the translator says of virtual functions and other pointers to functions unless it may use the extension.
const NEEDS_FUNCTION_POINTERS: &str = "Can't translate function pointer";
/// What it says of a vbase offset that clang 15 loads at -O0.
const WRONG_LOAD: &str = "Explicit load/store type does not match pointee type";
const FUNCTION_POINTERS: &str = "--spirv-ext=+SPV_INTEL_function_pointers";

/// Translates; with the extension for function pointers, which post-link removes, only if the translator asks for it.
fn translate(compiler: &Compiler<'_>, sources: &[Source], units: &[Unit]) -> Result<Translated> {
    let bitcode = link(compiler, units)?;
    let mut translated = spirv_of(compiler, &bitcode, None)?;
    let mut alone = Vec::new();
    if !translated.success && translated.stderr.contains(NEEDS_FUNCTION_POINTERS) {
        if units.len() > 1 {
            for (source, unit) in sources.chunks(1).zip(units) {
                let run = spirv_of(compiler, &unit.bitcode, Some(FUNCTION_POINTERS))?;
                alone.push(module(compiler, source, &run)?);
            }
        }
        translated = spirv_of(compiler, &bitcode, Some(FUNCTION_POINTERS))?;
    }
    Ok(Translated { module: module(compiler, sources, &translated)?, sources: alone })
}

fn spirv_of(compiler: &Compiler<'_>, bitcode: &Path, extension: Option<&str>) -> Result<Run> {
    let mut args: Vec<OsString> = vec!["--preserve-ocl-kernel-arg-type-metadata-through-string".into()];
    args.extend(extension.map(OsString::from));
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
        let hint = if run.stderr.contains(WRONG_LOAD) {
            " (clang writes wrong code for virtual base classes without optimisation: compile with opt_level 1 or more)"
        } else {
            ""
        };
        let what = format!("the bitcode of {} does not translate to SPIR-V{hint}", paths(sources));
        return Err(run.failure(ErrorKind::Translate, &what));
    }
    Module::from_bytes(&files::read(&spirv_path(compiler))?).map_err(|error| {
        Error::new(ErrorKind::Translate, "llvm-spirv wrote a malformed module").with_source(error)
    })
}

fn link(compiler: &Compiler<'_>, units: &[Unit]) -> Result<PathBuf> {
    if let [unit] = units {
        return Ok(unit.bitcode.clone());
    }
    let environment = &compiler.config.environment;
    let llvm_link = compiler.toolchain.llvm_link(environment)?;
    let linked = compiler.work.join("program.bc");
    let mut args: Vec<OsString> = units.iter().map(|unit| unit.bitcode.clone().into()).collect();
    args.extend(["-o".into(), linked.clone().into()]);
    let run = command::run(&llvm_link.path, &args, environment)?;
    if !run.success {
        return Err(run.failure(ErrorKind::Link, "the sources do not link"));
    }
    Ok(linked)
}
