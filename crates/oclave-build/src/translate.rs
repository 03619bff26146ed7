//! From bitcode to one SPIR-V module: `llvm-link` when there are several sources, then `llvm-spirv`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oclave_image::spirv::Module;

use crate::cargo::Cargo;
use crate::command;
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
) -> Result<(Vec<Unit>, Module)> {
    let opt_level = compiler.config.opt_level;
    let units = compiler.compile(sources, opt_level)?;
    for unit in &units {
        unit.warnings.iter().for_each(|warning| cargo.warning(warning));
        unit.dependencies.iter().for_each(|path| cargo.rerun_if_changed(path));
    }
    let error = match translate(compiler, &units) {
        Ok(module) => return Ok((units, module)),
        Err(error) if error.kind() == ErrorKind::Translate && opt_level > 0 => error,
        Err(error) => return Err(error),
    };
    let names: Vec<String> = sources.iter().map(|source| source.path.display().to_string()).collect();
    let names = names.join(", ");
    let words = error.to_string().lines().nth(1).unwrap_or_default().to_owned();
    let unoptimised = compiler.compile(sources, 0).and_then(|units| {
        let module = translate(compiler, &units)?;
        Ok((units, module))
    });
    let (units, module) = unoptimised.map_err(|unoptimised| {
        let what = format!(
            "llvm-spirv refuses {names} at -O{opt_level}:\n{error}\n\nand it does not work at -O0 either"
        );
        Error::new(ErrorKind::Translate, what).with_source(unoptimised)
    })?;
    cargo.warning(&format!(
        "{names}: llvm-spirv refuses what clang writes at -O{opt_level} ({words}); compiled at -O0 instead"
    ));
    Ok((units, module))
}

/// What the translator says of virtual functions and other pointers to functions unless it may use the extension.
const NEEDS_FUNCTION_POINTERS: &str = "Can't translate function pointer";
const FUNCTION_POINTERS: &str = "--spirv-ext=+SPV_INTEL_function_pointers";

/// Translates; with the extension for function pointers, which post-link removes, only if the translator asks for it.
fn translate(compiler: &Compiler<'_>, units: &[Unit]) -> Result<Module> {
    let bitcode = link(compiler, units)?;
    let spirv = compiler.work.join("program.spv");
    let run = |extension: Option<&str>| {
        let mut args: Vec<OsString> = vec!["--preserve-ocl-kernel-arg-type-metadata-through-string".into()];
        args.extend(extension.map(OsString::from));
        args.extend(compiler.config.translator_args.iter().cloned());
        args.extend([bitcode.clone().into(), "-o".into(), spirv.clone().into()]);
        command::run(&compiler.toolchain.llvm_spirv.path, &args, &compiler.config.environment)
    };
    let mut translated = run(None)?;
    if !translated.success && translated.stderr.contains(NEEDS_FUNCTION_POINTERS) {
        translated = run(Some(FUNCTION_POINTERS))?;
    }
    if !translated.success {
        return Err(translated.failure(ErrorKind::Translate, "the bitcode does not translate to SPIR-V"));
    }
    module(&spirv)
}

fn module(spirv: &Path) -> Result<Module> {
    Module::from_bytes(&files::read(spirv)?).map_err(|error| {
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
