//! The host's side of a program: its shared functions as a static library that the Rust program
//! links.
//!
//! The same clang compiles each source with shared functions once more, for the machine that the
//! Rust program runs on. Only code that the wrappers of shared functions reach is compiled
//! ([`wrapper`]). The headers `host_*.h` define the built-in functions. Functions that only devices
//! have are errors where they are reached ([`builtins`]).

pub(crate) mod abi;
mod builtins;
mod externals;
mod globals;
mod wrapper;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::command;
use crate::compile::{Compiler, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::source::{Language, Source};
use wrapper::Wrapped;

/// The macro that tells a source that it is compiled for the host.
const MACRO: &str = "-DOCLAVE_HOST=1";

/// A static library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Library {
    /// File name, as the linker looks for it.
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
}

/// The library of a program; `None` where it has no shared functions.
pub(crate) fn library(
    compiler: &Compiler<'_>,
    sources: &[Source],
    units: &[Unit],
) -> Result<Option<Library>> {
    let config = compiler.config;
    let wrapped: Vec<Vec<Wrapped<'_>>> =
        sources.iter().zip(units).map(|(source, unit)| wrapper::wrapped(config, source, unit)).collect();
    if wrapped.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    check_target(compiler)?;
    let mut objects = Vec::new();
    for ((source, unit), own) in sources.iter().zip(units).zip(&wrapped) {
        if own.is_empty() {
            continue;
        }
        let elsewhere: Vec<Wrapped<'_>> = unit
            .declarations
            .shared
            .iter()
            .filter(|function| !function.is_defined)
            .filter_map(|function| {
                let mut all = wrapped.iter().flatten();
                let there = all.find(|there| there.function.symbol == function.symbol)?;
                Some(Wrapped { function, symbol: there.symbol.clone() })
            })
            .collect();
        objects.push(object(compiler, source, unit, &wrapper::text(source, own, &elsewhere))?);
    }
    archive(compiler, &objects).map(Some)
}

/// The file name of a library on the machine that the program is built for.
pub(crate) fn file_name(target: Option<&str>, name: &str) -> String {
    if target.is_some_and(|target| target.ends_with("-msvc")) {
        format!("{name}.lib")
    } else {
        format!("lib{name}.a")
    }
}

/// Addresses are 64-bit numbers on devices, and so are sizes in structs and parameters.
fn check_target(compiler: &Compiler<'_>) -> Result<()> {
    let width = compiler.config.environment.var("CARGO_CFG_TARGET_POINTER_WIDTH");
    if width.as_ref().is_none_or(|width| width == "64") {
        return Ok(());
    }
    Err(Error::config(
        "SHARED functions need a host with 64-bit addresses, as devices have; build for one, or do without SHARED",
    ))
}

/// Clang 21 and newer emit the bodies of kernels for the host, too, and without optimisation they
/// stay. They call what only devices have.
fn opt_level(compiler: &Compiler<'_>) -> u32 {
    let lowest = if compiler.toolchain.clang.version.major >= 21 { 1 } else { 0 };
    compiler.config.opt_level.max(lowest)
}

fn object(compiler: &Compiler<'_>, source: &Source, unit: &Unit, text: &str) -> Result<PathBuf> {
    let config = compiler.config;
    let extension = if source.language == Language::CppForOpenCl { "clcpp" } else { "cl" };
    let wrapper = compiler.work.join(format!("{}.host.{extension}", source.stem));
    files::write(&wrapper, text.as_bytes())?;
    let object = compiler.work.join(format!("{}.host.o", source.stem));
    let mut args: Vec<OsString> = Vec::new();
    if let Some(target) = config.target() {
        args.extend(["-target".into(), target.into()]);
    }
    args.extend(source.language.arguments().iter().map(OsString::from));
    if source.language == Language::CppForOpenCl {
        // Its tables are in the C++ library, which Rust programs do not link.
        args.extend(["-Xclang", "-fno-rtti"].map(OsString::from));
    }
    args.push(MACRO.into());
    let level = opt_level(compiler);
    args.extend(compiler.common_arguments(source, level));
    // The compiler's header comes with the wrapper. Products and sums are rounded one by one,
    // whatever the processor.
    args.extend(["-cl-no-stdinc", "-ffp-contract=off", "-fPIC"].map(OsString::from));
    args.extend(["-Wno-everything", externals::WARNING].map(OsString::from));
    let run_of = |text: &Path, what: &[&str], out: &Path| {
        let mut args = args.clone();
        args.extend(what.iter().map(OsString::from));
        args.extend(["-o".into(), out.into(), text.into()]);
        command::run(&compiler.toolchain.clang.path, &args, &config.environment)
    };
    let run = |what: &[&str], out: &Path| run_of(&wrapper, what, out);
    let failed = format!(
        "{} does not compile for the host, which its SHARED functions are for, too",
        source.path.display()
    );
    let compiled = run(&["-c"], &object)?;
    if !compiled.success {
        return Err(compiled.failure(ErrorKind::Compile, &failed));
    }
    // Names of C stay as they are.
    if source.language == Language::CppForOpenCl && externals::are_used(&compiled.stderr) {
        let plain = compiler.work.join(format!("{}.host.plain.{extension}", source.stem));
        files::write(&plain, wrapper::with_linkage(text).as_bytes())?;
        let ir = compiler.work.join(format!("{}.host.ll", source.stem));
        let plain_ir = plain.with_extension("ll");
        let declared = run_of(&plain, &["-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes"], &plain_ir)?;
        let again = run(&["-S", "-emit-llvm"], &ir)?;
        for run in [declared, again] {
            if !run.success {
                return Err(run.failure(ErrorKind::Compile, &failed));
            }
        }
        let text = |path: &Path| Ok(String::from_utf8_lossy(&files::read(path)?).into_owned());
        let renamed = externals::renamed(&text(&ir)?, &text(&plain_ir)?);
        files::write(&ir, renamed.as_bytes())?;
        let mut args: Vec<OsString> = vec![format!("-O{level}").into()];
        if let Some(target) = config.target() {
            args.extend(["-target".into(), target.into()]);
        }
        args.extend(["-fPIC", "-w", "-x", "ir", "-c", "-o"].map(OsString::from));
        args.extend([object.clone().into(), ir.into()]);
        let assembled = command::run(&compiler.toolchain.clang.path, &args, &config.environment)?;
        if !assembled.success {
            return Err(assembled.failure(ErrorKind::Compile, &failed));
        }
    }
    if !unit.declarations.variables.is_empty() {
        let module = compiler.work.join(format!("{}.host.ll", source.stem));
        let asked =
            run(&["-S", "-emit-llvm", "-gline-tables-only", "-Xclang", "-disable-llvm-passes"], &module)?;
        if !asked.success {
            return Err(asked.failure(ErrorKind::Compile, &failed));
        }
        let words = String::from_utf8_lossy(&files::read(&module)?).into_owned();
        let uses: Vec<String> =
            globals::uses(&words, &unit.declarations.variables).iter().map(ToString::to_string).collect();
        if !uses.is_empty() {
            return Err(Error::new(ErrorKind::Compile, format!("{failed}\n{}", uses.join("\n"))));
        }
    }
    Ok(object)
}

fn archive(compiler: &Compiler<'_>, objects: &[PathBuf]) -> Result<Library> {
    let config = compiler.config;
    let file = file_name(config.target().as_deref(), &abi::library(config));
    let path = compiler.work.join(&file);
    // The archiver would add to an old one.
    if path.exists() {
        std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
    }
    let archiver = compiler.toolchain.archiver(&config.environment)?;
    let mut args: Vec<OsString> = vec!["rcsD".into(), path.clone().into()];
    args.extend(objects.iter().map(OsString::from));
    let run = command::run(&archiver, &args, &config.environment)?;
    if !run.success {
        return Err(run.failure(ErrorKind::Link, "the host's objects do not make a library"));
    }
    Ok(Library { file, bytes: files::read(&path)? })
}
