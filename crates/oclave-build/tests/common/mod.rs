//! Folders with sources, builds with their cargo instructions, and whether this machine has a
//! toolchain.

// Each test binary uses a part of this.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use oclave_build::{Config, ErrorKind, Output, Result};
use tempfile::TempDir;

/// Whether there is a real toolchain. Says aloud when not; with `OCLAVE_REQUIRE_TOOLCHAIN=1` that
/// is a failure.
pub fn toolchain_is_here() -> bool {
    let folder = Folder::new();
    folder.write("probe.cl", "kernel void probe(void) {}");
    let error = match folder.build(&mut Config::new(), &["probe.cl"]).result {
        Err(error) if error.kind() == ErrorKind::Toolchain => error,
        _ => return true,
    };
    assert!(std::env::var_os("OCLAVE_REQUIRE_TOOLCHAIN").is_none_or(|value| value == "0"), "{error}");
    println!("skipped: {error}");
    false
}

/// A package's folder, removed at the end.
pub struct Folder(TempDir);

/// A build with what it told cargo.
pub struct Built {
    pub result: Result<Output>,
    pub cargo: String,
}

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Builds sources of this folder into a new output folder `out…`, as a package of its own
    /// would.
    pub fn build(&self, config: &mut Config, sources: &[&str]) -> Built {
        let out = tempfile::Builder::new().prefix("out").tempdir_in(self.path()).unwrap().keep();
        let sources: Vec<PathBuf> = sources.iter().map(|source| self.path().join(source)).collect();
        let mut cargo = Vec::new();
        let result =
            config.out_dir(out).env("CARGO_MANIFEST_DIR", self.path()).compile_to(&sources, &mut cargo);
        Built { result, cargo: String::from_utf8(cargo).unwrap() }
    }

    /// A folder with programs for `PATH`, each a shell script.
    #[cfg(unix)]
    pub fn programs(&self, name: &str, scripts: &[(&str, &str)]) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let folder = self.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        for (program, script) in scripts {
            let path = self.write(&format!("{name}/{program}"), &format!("#!/bin/sh\n{script}\n"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }
}

impl Built {
    /// The error, which must be of this kind.
    pub fn error(&self, kind: ErrorKind) -> String {
        let error = self.result.as_ref().expect_err("the build succeeded");
        assert_eq!(error.kind(), kind, "{error}");
        error.to_string()
    }

    pub fn rust(&self) -> String {
        fs::read_to_string(&self.result.as_ref().unwrap().rust).unwrap()
    }

    pub fn warnings(&self) -> Vec<&str> {
        self.cargo.lines().filter_map(|line| line.strip_prefix("cargo::warning=")).collect()
    }
}

/// Fails with the whole text when a part is missing.
#[track_caller]
pub fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}

/// A program on this machine's `PATH`, as far as a shell finds it.
#[cfg(unix)]
pub fn which(name: &str) -> Option<String> {
    let output =
        std::process::Command::new("sh").arg("-c").arg(format!("command -v {name}")).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}
