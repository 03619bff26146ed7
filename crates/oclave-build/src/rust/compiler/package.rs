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
        ("OVERFLOW_CHECKS", if overflow_checks(config, rustc) { "true" } else { "false" }),
        ("DEBUG_ASSERTIONS", "false"),
    ] {
        set(&format!("CARGO_PROFILE_RELEASE_{key}"), value.to_owned());
    }
    let run = command::run(&cargo, &args, &environment)?;
    if !run.success {
        let what = format!("{} does not compile for devices", source.path.display());
        return Err(run.failure(ErrorKind::Compile, &what));
    }
    let artifacts = artifacts(&run.stdout, &source.path);
    let mut texts = Vec::new();
    for artifact in &artifacts {
        for ir in artifact.files.iter().filter_map(|file| ir_beside(file)) {
            texts.push((artifact.name.clone(), read_text(&ir)?));
        }
    }
    let mut dependencies = vec![source.path.clone()];
    for file in artifacts.iter().filter(|artifact| artifact.is_own).flat_map(|artifact| &artifact.files) {
        let rules = file.with_extension("d");
        if rules.is_file() {
            dependencies.extend(depfile::prerequisites(&read_text(&rules)?));
        }
    }
    Ok(CompiledSource { texts, warnings: run.stderr, dependencies })
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
    /// Whether it is that of the package itself.
    is_own: bool,
    files: Vec<PathBuf>,
}

/// Reads cargo's messages.
fn artifacts(messages: &[u8], manifest: &Path) -> Vec<Artifact> {
    let manifest = manifest.canonicalize().unwrap_or_else(|_| manifest.to_path_buf());
    let text = String::from_utf8_lossy(messages);
    let artifact = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let text = |value: &Value| Some(value.as_str()?.to_owned());
        if message.get("reason")?.as_str()? != "compiler-artifact" {
            return None;
        }
        let files = message.get("filenames")?.as_array()?;
        let path = PathBuf::from(message.get("manifest_path")?.as_str()?);
        Some(Artifact {
            name: text(message.get("target")?.get("name")?)?,
            is_own: path.canonicalize().unwrap_or(path) == manifest,
            files: files.iter().filter_map(|file| Some(PathBuf::from(file.as_str()?))).collect(),
        })
    };
    text.lines().filter_map(artifact).collect()
}

/// The IR that rustc wrote beside `libNAME-HASH.rmeta`.
fn ir_beside(file: &Path) -> Option<PathBuf> {
    let stem = file.file_stem()?.to_str()?.strip_prefix("lib")?;
    let ir = file.with_file_name(format!("{stem}.ll"));
    (file.extension()? == "rmeta" && ir.is_file()).then_some(ir)
}
