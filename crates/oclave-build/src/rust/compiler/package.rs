//! Packages of kernels in Rust, compiled by cargo with all that they depend on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::read_text;
use super::{CompiledSource, Rustc, defines, device_cfgs, overflow_checks};
use crate::command;
use crate::config::Config;
use crate::depfile;
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// Flags of rustc that cargo gives by itself.
const OF_CARGO: [&str; 5] = ["--edition", "--crate-type", "-Cpanic", "-Ccodegen-units", "-Cdebuginfo"];

/// Compiles a package.
pub(super) fn compile(
    config: &Config,
    rustc: &Rustc,
    source: &Source,
    work: &Path,
) -> Result<CompiledSource> {
    let target = work.join(format!("{}.cargo", source.stem));
    let name = config.environment.var("CARGO").unwrap_or_else(|| "cargo".into());
    let cargo = config.environment.program(&name).ok_or_else(|| {
        let what = format!(
            "there is no cargo for {}: {} is no program on PATH",
            source.path.display(),
            name.display()
        );
        Error::new(ErrorKind::Toolchain, what)
    })?;
    let mut args: Vec<OsString> =
        ["build", "--release", "--lib", "--quiet", "--message-format=json-render-diagnostics"]
            .map(OsString::from)
            .into();
    args.extend(["--manifest-path".into(), source.path.clone().into()]);
    args.extend(["--target-dir".into(), target.into(), "--target".into(), rustc.host.clone().into()]);
    let mut environment = config.environment.clone();
    let mut set = |key: &str, value: String| environment.set(key.into(), value.into());
    set("CARGO_ENCODED_RUSTFLAGS", flags(config).join("\u{1f}"));
    set("CARGO_INCREMENTAL", "0".to_owned());
    // Clippy looks at the package by itself.
    set("RUSTC_WORKSPACE_WRAPPER", String::new());
    for (key, value) in [
        ("CODEGEN_UNITS", "1"),
        ("PANIC", "abort"),
        ("DEBUG", "line-tables-only"),
        ("STRIP", "none"),
        ("LTO", "off"),
        ("OPT_LEVEL", if config.opt_level < 2 { "1" } else { "3" }),
        ("OVERFLOW_CHECKS", if overflow_checks(config, Some(rustc)) { "true" } else { "false" }),
        ("DEBUG_ASSERTIONS", "false"),
    ] {
        set(&format!("CARGO_PROFILE_RELEASE_{key}"), value.to_owned());
    }
    let run = command::run(&cargo, &args, &environment)?;
    if !run.success {
        let what = format!("{} does not compile for devices", source.path.display());
        return Err(run.failure(ErrorKind::Compile, &what));
    }
    let artifacts = artifacts(&run.stdout);
    let mut texts = Vec::new();
    for artifact in &artifacts {
        for ir in artifact.files.iter().filter_map(|file| beside(file, "ll")) {
            texts.push((artifact.name.clone(), read_text(&ir)?));
        }
    }
    let (mut dependencies, mut variables) = (settings(config, &cargo, source)?, Vec::new());
    for artifact in artifacts.iter().filter(|artifact| artifact.is_local) {
        dependencies.push(artifact.manifest.clone());
        for file in &artifact.files {
            // Cargo's file has the sources of all local packages, rustc's the variables.
            let of_cargo = file.with_extension("d");
            if of_cargo.is_file() {
                dependencies.extend(depfile::prerequisites(&read_text(&of_cargo)?));
            }
            if let Some(of_rustc) = beside(file, "d") {
                variables.extend(depfile::variables(&read_text(&of_rustc)?));
            }
        }
    }
    Ok(CompiledSource { texts, warnings: run.stderr, dependencies, variables })
}

/// The files that tell cargo how to build the package. These are its manifest, the manifest and the lock file
/// of its workspace, and cargo's configuration in the current folder and those above.
fn settings(config: &Config, cargo: &Path, source: &Source) -> Result<Vec<PathBuf>> {
    let args = ["locate-project", "--workspace", "--message-format=plain", "--manifest-path"];
    let args: Vec<OsString> =
        args.map(OsString::from).into_iter().chain([source.path.clone().into()]).collect();
    let run = command::run(cargo, &args, &config.environment)?;
    if !run.success {
        let what = format!("cargo does not find the workspace of {}", source.path.display());
        return Err(run.failure(ErrorKind::Compile, &what));
    }
    let manifest = PathBuf::from(String::from_utf8_lossy(&run.stdout).trim());
    let lock = manifest.with_file_name("Cargo.lock");
    let here = std::env::current_dir().unwrap_or_default();
    let configuration = here
        .ancestors()
        .flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(".cargo").join(name)));
    // Cargo builds again each time where a file is missing.
    let found = std::iter::once(lock).chain(configuration).filter(|file| file.is_file());
    Ok([source.path.clone(), manifest].into_iter().chain(found).collect())
}

/// What rustc is given beside what cargo gives it.
fn flags(config: &Config) -> Vec<String> {
    let own =
        oclave_rust::RUSTC_FLAGS.iter().filter(|flag| !OF_CARGO.iter().any(|known| flag.starts_with(known)));
    let mut flags: Vec<String> = own.map(|flag| (*flag).to_owned()).collect();
    flags.push("--emit=llvm-ir".to_owned());
    flags.extend(device_cfgs(config));
    flags.extend(defines(config));
    flags
}

/// A crate that cargo compiled.
struct Artifact {
    name: String,
    /// That of its package.
    manifest: PathBuf,
    /// Whether the package is in a folder of the user, not from a registry or a repository.
    is_local: bool,
    files: Vec<PathBuf>,
}

/// Reads cargo's messages.
fn artifacts(messages: &[u8]) -> Vec<Artifact> {
    let text = String::from_utf8_lossy(messages);
    let artifact = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let text = |value: &Value| Some(value.as_str()?.to_owned());
        if message.get("reason")?.as_str()? != "compiler-artifact" {
            return None;
        }
        let files = message.get("filenames")?.as_array()?;
        Some(Artifact {
            name: text(message.get("target")?.get("name")?)?,
            manifest: text(message.get("manifest_path")?)?.into(),
            // Before 1.77: `NAME VERSION (path+file://…)`.
            is_local: message.get("package_id")?.as_str()?.contains("path+file://"),
            files: files.iter().filter_map(|file| Some(PathBuf::from(file.as_str()?))).collect(),
        })
    };
    text.lines().filter_map(artifact).collect()
}

/// The file with this extension that rustc wrote beside `libNAME-HASH.rmeta`.
fn beside(file: &Path, extension: &str) -> Option<PathBuf> {
    let stem = file.file_stem()?.to_str()?.strip_prefix("lib")?;
    let other = file.with_file_name(format!("{stem}.{extension}"));
    (file.extension()? == "rmeta" && other.is_file()).then_some(other)
}
