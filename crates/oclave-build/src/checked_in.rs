//! Images kept beside the sources for machines without a compiler.
//!
//! A manifest lists everything that they were made from. They are used only while all of it is
//! unchanged. The manifest is text: `oclave checked-in images FORMAT, …`, `toolchain …`, `options …`,
//! then lines `source|header|image|library|rust PATH SHA256`. A line `target …` precedes a library,
//! which is for one kind of machine only. Text files are hashed without carriage returns, because
//! version control may add them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use oclave_image::FORMAT_VERSION;

use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::headers::HEADERS;
use crate::host::Library;
use crate::program::Contents;
use crate::rust::overflow_checks;
use crate::source::{Language, Source, portable};

/// The version of the manifest.
const FORMAT: u32 = 2;
/// What writes the generated text. Text of another version may not fit the runtime.
const CODEGEN: [&str; 9] = [
    include_str!("codegen/mod.rs"),
    include_str!("codegen/contents.rs"),
    include_str!("codegen/kernel.rs"),
    include_str!("codegen/names.rs"),
    include_str!("codegen/shared.rs"),
    include_str!("codegen/structs.rs"),
    include_str!("codegen/types.rs"),
    include_str!("codegen/variables.rs"),
    include_str!("host/abi.rs"),
];
const REMEDY: &str = "rewrite them with OCLAVE_UPDATE_CHECKED_IN=1 on a machine that has clang and llvm-spirv, \
    or install these here";

/// The checked-in images of one program.
#[derive(Debug)]
pub(crate) struct CheckedIn {
    folder: PathBuf,
    manifest: PathBuf,
    /// Sources in order, as the manifest names them.
    sources: Vec<String>,
    options: String,
    /// The machine that the Rust program is built for.
    target: String,
    package: Option<PathBuf>,
}

impl CheckedIn {
    pub(crate) fn new(config: &Config, folder: &Path, sources: &[Source]) -> Self {
        let package = config.package();
        Self {
            folder: folder.to_path_buf(),
            manifest: folder.join(format!("{}.manifest", config.out_name)),
            sources: sources.iter().map(|source| source.display(package.as_deref())).collect(),
            options: options(config, package.as_deref(), sources),
            target: config.target().unwrap_or_else(|| "unknown".to_owned()),
            package,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn manifest(&self) -> &Path {
        &self.manifest
    }

    /// Writes images, Rust and manifest.
    pub(crate) fn update(
        &self,
        contents: &Contents,
        dependencies: &[PathBuf],
        toolchain: &str,
    ) -> Result<()> {
        let mut text = format!("{}\ntoolchain {toolchain}\noptions {}\n", first_line(), self.options);
        let mut entry = |kind: &str, name: &str, hash: String| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", format!("{kind} {name} {hash}").trim_end());
        };
        let mut headers: Vec<String> = dependencies
            .iter()
            .map(|path| portable(path, self.package.as_deref()))
            .filter(|path| !self.sources.contains(path))
            .collect();
        headers.sort();
        headers.dedup();
        for source in &self.sources {
            entry("source", source, text_hash(&files::read(&self.locate(source))?));
        }
        for header in &headers {
            entry("header", header, text_hash(&files::read(&self.locate(header))?));
        }
        for (name, bytes) in &contents.images {
            entry("image", name, hash(bytes));
            files::write(&self.folder.join(name), bytes)?;
        }
        if let Some(library) = &contents.library {
            entry("target", &self.target, String::new());
            entry("library", &library.file, hash(&library.bytes));
            files::write(&self.folder.join(&library.file), &library.bytes)?;
        }
        let rust = self.rust_name();
        entry("rust", &rust, text_hash(contents.rust.as_bytes()));
        files::write(&self.folder.join(&rust), contents.rust.as_bytes())?;
        files::write(&self.manifest, text.as_bytes())
    }

    /// The checked-in program, if it was made from what is here now; else what differs, and the
    /// remedy.
    pub(crate) fn load(&self) -> Result<Contents> {
        let text = std::fs::read_to_string(&self.manifest).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                self.stale(&format!("there are no checked-in images (no {})", self.manifest.display()))
            }
            _ => self.stale(&Error::io("read", &self.manifest, error).to_string()),
        })?;
        let mut lines = text.lines();
        if lines.next() != Some(first_line().as_str()) {
            return Err(self.stale("another version of oclave wrote the checked-in images"));
        }
        let mut sources = Vec::new();
        let mut contents = Contents { images: Vec::new(), library: None, rust: String::new() };
        let mut options = "";
        for line in lines {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            if kind == "options" {
                options = rest;
            }
            if kind == "target" && rest != self.target {
                return Err(self.stale(&format!(
                    "the checked-in SHARED functions are compiled for {rest}, and this build is for {}",
                    self.target
                )));
            }
            let Some((name, recorded)) = rest.rsplit_once(' ') else { continue };
            match kind {
                "source" | "header" => {
                    if kind == "source" {
                        sources.push(name.to_owned());
                    }
                    let bytes =
                        files::read(&self.locate(name)).map_err(|error| self.stale(&error.to_string()))?;
                    self.same(name, &text_hash(&bytes), recorded)?;
                }
                "image" => {
                    let bytes = self.own_file(name)?;
                    self.same(name, &hash(&bytes), recorded)?;
                    contents.images.push((name.to_owned(), bytes));
                }
                "library" => {
                    let bytes = self.own_file(name)?;
                    self.same(name, &hash(&bytes), recorded)?;
                    contents.library = Some(Library { file: name.to_owned(), bytes });
                }
                "rust" => {
                    let bytes = self.own_file(name)?;
                    self.same(name, &text_hash(&bytes), recorded)?;
                    contents.rust = String::from_utf8_lossy(&bytes).into_owned();
                }
                _ => {}
            }
        }
        if options != self.options {
            return Err(self.stale(&format!(
                "the checked-in images were compiled with other options ({options}) than asked for now ({})",
                self.options
            )));
        }
        if sources != self.sources {
            return Err(self.stale(&format!(
                "the checked-in images were compiled from {} instead of {}",
                sources.join(", "),
                self.sources.join(", ")
            )));
        }
        if contents.rust.is_empty() {
            return Err(self.stale(&format!("{} is incomplete", self.manifest.display())));
        }
        Ok(contents)
    }

    /// Sources and headers that the manifest lists.
    pub(crate) fn dependencies(&self) -> Vec<PathBuf> {
        let text = std::fs::read_to_string(&self.manifest).unwrap_or_default();
        let path = |line: &str| {
            let (kind, rest) = line.split_once(' ')?;
            let (name, _) = rest.rsplit_once(' ')?;
            match kind {
                "source" | "header" => Some(self.locate(name)),
                "image" | "library" | "rust" => Some(self.folder.join(name)),
                _ => None,
            }
        };
        text.lines().filter_map(path).collect()
    }

    fn rust_name(&self) -> String {
        let stem = self.manifest.file_stem().unwrap_or_default().to_string_lossy();
        format!("{stem}.rs")
    }

    /// A file of the folder; its name comes from the manifest, and may not lead out of the folder.
    fn own_file(&self, name: &str) -> Result<Vec<u8>> {
        if name.contains(['/', '\\']) {
            return Err(self.stale(&format!("{} names a file elsewhere: {name}", self.manifest.display())));
        }
        files::read(&self.folder.join(name)).map_err(|error| self.stale(&error.to_string()))
    }

    fn locate(&self, name: &str) -> PathBuf {
        let path = Path::new(name);
        match &self.package {
            Some(package) if path.is_relative() => package.join(path),
            _ => path.to_path_buf(),
        }
    }

    fn same(&self, name: &str, found: &str, recorded: &str) -> Result<()> {
        if found == recorded {
            return Ok(());
        }
        Err(self.stale(&format!("{name} changed since the checked-in images were written")))
    }

    fn stale(&self, what: &str) -> Error {
        Error::new(ErrorKind::CheckedIn, format!("{what}; {REMEDY}"))
    }
}

/// Says which version of oclave wrote the images.
fn first_line() -> String {
    let codegen = text_hash(CODEGEN.concat().as_bytes());
    format!(
        "oclave checked-in images {FORMAT}, oclave-build {}, image format {FORMAT_VERSION}, generated text {}",
        env!("CARGO_PKG_VERSION"),
        codegen.get(..16).unwrap_or(&codegen)
    )
}

/// Everything besides files that decides what comes out, on one line.
fn options(config: &Config, package: Option<&Path>, sources: &[Source]) -> String {
    let mut text = format!("-O{} {:?}", config.opt_level, config.split);
    if let Some(depth) = config.virtual_call_depth {
        let _ = write!(text, " virtual call depth {depth}");
    }
    if config.single_pass {
        text.push_str(" single-pass");
    }
    if config.fp_contract {
        text.push_str(" contract");
    }
    if config.non_uniform_work_groups {
        text.push_str(" non-uniform work-groups");
    }
    if config.nvidia {
        text.push_str(" nvidia");
    }
    if sources.iter().any(|source| source.language == Language::Rust) {
        let checks = if overflow_checks(config) { "on" } else { "off" };
        let _ = write!(text, " panics {:?}, overflow checks {checks}", config.panics);
    }
    if let Some((file, targets)) = &config.device_config {
        let contents = std::fs::read_to_string(file).unwrap_or_default();
        let _ = write!(text, " targets {targets:?} of {contents:?}");
    }
    for (name, value) in &config.defines {
        let _ = write!(text, " -D{name}={value:?}");
    }
    for include in &config.includes {
        let _ = write!(text, " -I{:?}", portable(include, package));
    }
    for arg in config.extra_args.iter().chain(&config.translator_args) {
        let _ = write!(text, " {arg:?}");
    }
    let mut headers = blake3::Hasher::new();
    HEADERS.iter().for_each(|(path, header)| {
        headers.update(path.as_bytes());
        headers.update(text_hash(header.as_bytes()).as_bytes());
    });
    let _ = write!(text, " headers={}", headers.finalize().to_hex());
    text
}

fn text_hash(bytes: &[u8]) -> String {
    hash(&bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>())
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
