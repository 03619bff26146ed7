//! Images of a package, found through cargo.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oclave_image::FILE_EXTENSION;
use serde_json::Value;

use crate::Failure;

/// What the build script of `oclave_build` calls the variable that has a program's file.
const PROGRAM: &str = "OCLAVE_KERNELS_";

/// A package of the workspace in the current folder.
#[derive(clap::Args)]
pub(crate) struct Package {
    /// Takes the images of this package of the workspace, which is built first.
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Takes those of one program of the package, as `include_kernels!` names it.
    #[arg(long, value_name = "NAME", requires = "package")]
    program: Option<String>,
    /// Builds the package with the profile `release`.
    #[arg(long, requires = "package", conflicts_with = "profile")]
    release: bool,
    /// Builds the package with this profile.
    #[arg(long, value_name = "NAME", requires = "package")]
    profile: Option<String>,
    /// Builds the package with these features, separated by commas.
    #[arg(long, value_name = "FEATURES", requires = "package")]
    features: Option<String>,
}

impl Package {
    /// The images of one program.
    pub(crate) fn program_images(&self) -> Result<Vec<PathBuf>, Failure> {
        let programs = self.programs()?;
        match programs.len() {
            1 => Ok(programs.into_values().flatten().collect()),
            _ => {
                let names: Vec<String> = programs.into_keys().collect();
                let names = names.join(", ");
                Err(Failure::Message(format!(
                    "the package has several programs; choose one with --program: {names}"
                )))
            }
        }
    }

    /// The images of all programs, or of the one that was chosen.
    pub(crate) fn images(&self) -> Result<Vec<PathBuf>, Failure> {
        Ok(self.programs()?.into_values().flatten().collect())
    }

    /// Images by program; there is at least one program.
    fn programs(&self) -> Result<BTreeMap<String, Vec<PathBuf>>, Failure> {
        // The command line has a package where it has no image.
        let package = self.package.as_deref().unwrap_or_default();
        let mut programs = BTreeMap::new();
        for (name, rust) in self.built(package)? {
            if self.program.as_ref().is_none_or(|program| *program == name) {
                programs.insert(name, images(&rust)?);
            }
        }
        if programs.is_empty() {
            let program = self.program.as_ref().map(|name| format!(" named `{name}`")).unwrap_or_default();
            return Err(Failure::Message(format!(
                "the build script of package `{package}` compiles no kernels{program}: it calls no \
                 `oclave_build::compile` for them"
            )));
        }
        Ok(programs)
    }

    /// Builds the package, and gives the programs that its build script told of, with their Rust files.
    fn built(&self, package: &str) -> Result<Vec<(String, PathBuf)>, Failure> {
        let mut build = vec!["build", "--package", package, "--message-format=json-render-diagnostics"];
        if self.release {
            build.push("--release");
        }
        for (option, value) in [("--profile", &self.profile), ("--features", &self.features)] {
            build.extend(value.iter().flat_map(|value| [option, value.as_str()]));
        }
        let messages = cargo(&build)?;
        // Behind the build, as it needs a Cargo.lock.
        let id = cargo(&["pkgid", "--package", package])?;
        let mut programs = Vec::new();
        for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let is_wanted = message.get("reason").and_then(Value::as_str) == Some("build-script-executed")
                && message.get("package_id").and_then(Value::as_str) == Some(id.trim());
            let variables = message.get("env").and_then(Value::as_array).filter(|_| is_wanted);
            for pair in variables.into_iter().flatten() {
                let [name, file] = [0, 1].map(|index| pair.get(index).and_then(Value::as_str));
                if let (Some(name), Some(file)) = (name.and_then(|name| name.strip_prefix(PROGRAM)), file) {
                    programs.push((name.to_owned(), PathBuf::from(file)));
                }
            }
        }
        Ok(programs)
    }
}

/// What cargo prints. Its messages for people are shown.
fn cargo(arguments: &[&str]) -> Result<String, Failure> {
    // Set where cargo started this program.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::Message(format!("`{}` does not start: {error}", cargo.display())))?;
    if !output.status.success() {
        return Err(Failure::Message(format!("`cargo {}` failed", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The images that a program's Rust file includes. The folder may have others, of earlier builds.
fn images(rust: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::Message(format!("{}: {error}", rust.display()));
    let text = std::fs::read_to_string(rust).map_err(|error| fail(&error))?;
    let extension = format!(".{FILE_EXTENSION}");
    // As `include_bytes!("name.oclimg")`.
    let literals = text.split("include_bytes!").skip(1).filter_map(|rest| rest.split('"').nth(1));
    let paths: Vec<PathBuf> =
        literals.filter(|name| name.ends_with(&extension)).map(|name| rust.with_file_name(name)).collect();
    match paths.is_empty() {
        true => Err(fail(&"the file includes no device image")),
        false => Ok(paths),
    }
}
