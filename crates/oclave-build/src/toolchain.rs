//! Finds a `clang` and an `llvm-spirv` of one version: environment, then `PATH`, then an error that
//! says what to install.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::command;
use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};

/// Environment variables that name the tools of LLVM, in place of those on `PATH`.
pub const TOOL_VARIABLES: [&str; 5] =
    ["OCLAVE_CLANG", "OCLAVE_LLVM_SPIRV", "OCLAVE_OPT", "OCLAVE_LLVM_LINK", "OCLAVE_LLVM_AR"];
/// The first version whose OpenCL C 3.0 and C++ for OpenCL 2021 are complete enough.
const OLDEST: u32 = 14;
/// The newest version that the tests ran with; newer ones are taken only where there is no other.
const NEWEST: u32 = 22;
/// Its translator writes images as pointers in some kernels, and gives initial values with addresses,
/// images and samplers types that SPIR-V does not allow.
const FAULTY: u32 = 16;

/// How long a tool may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

const INSTALL: &str = "install a matching pair (Debian 12: `apt install clang-15 llvm-15 llvm-spirv-15`, Debian 13: \
    `apt install clang-19 llvm-19 llvm-spirv-19`, Ubuntu 24.04: `apt install clang-18 llvm-18 llvm-spirv-18`, \
    Fedora: `dnf install clang llvm spirv-llvm-translator-tools`, Arch: `pacman -S clang llvm spirv-llvm-translator`), \
    or name one with OCLAVE_CLANG and OCLAVE_LLVM_SPIRV";

/// The version that a tool says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    minor: u32,
    patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A program with its version.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) path: PathBuf,
    pub(crate) version: Version,
}

/// A pair that works together.
#[derive(Debug, Clone)]
pub(crate) struct Toolchain {
    pub(crate) clang: Tool,
    pub(crate) llvm_spirv: Tool,
    /// The optimiser of this LLVM. The packages of some systems leave it out.
    pub(crate) opt: Option<Tool>,
}

impl Toolchain {
    /// The highest pair of one major version up to [`NEWEST`], or else the lowest above it; not
    /// [`FAULTY`].
    pub(crate) fn find(environment: &Environment) -> Result<Self> {
        let clangs = candidates(environment, "OCLAVE_CLANG", "clang")?;
        let translators = candidates(environment, "OCLAVE_LLVM_SPIRV", "llvm-spirv")?;
        let pair = |(major, clang): (&u32, _)| match *major {
            FAULTY => None,
            _ => Some((clang, translators.get(major)?)),
        };
        let pair = clangs
            .range(..=NEWEST)
            .rev()
            .find_map(pair)
            .or_else(|| clangs.range(NEWEST + 1..).find_map(pair));
        match pair {
            Some((clang, llvm_spirv)) if clang.version.major >= OLDEST => {
                let (clang, llvm_spirv) = (clang.clone(), llvm_spirv.clone());
                let opt =
                    of_the_same_llvm(&clang, environment, "OCLAVE_OPT", "opt")?.remove(&clang.version.major);
                Ok(Self { clang, llvm_spirv, opt })
            }
            Some((clang, _)) => Err(missing(format!(
                "the newest pair of clang and llvm-spirv here is {}, too old: kernels need {OLDEST} or later",
                clang.version
            ))),
            None if [&clangs, &translators].iter().all(|tools| tools.contains_key(&FAULTY)) => {
                Err(missing(format!(
                    "the only pair of clang and llvm-spirv here is of LLVM {FAULTY}, whose translator gives images and initial \
                     values wrong types"
                )))
            }
            None if clangs.is_empty() && translators.is_empty() => {
                Err(missing("there is neither clang nor llvm-spirv on PATH".to_owned()))
            }
            None if translators.is_empty() => Err(missing(format!(
                "no clang and llvm-spirv of one version: found clang {} and llvm-spirv none (clang's own SPIR-V back end \
                 cannot take its place)",
                versions(&clangs)
            ))),
            None => Err(missing(format!(
                "no clang and llvm-spirv of one version: found clang {} and llvm-spirv {}",
                versions(&clangs),
                versions(&translators)
            ))),
        }
    }

    /// The `llvm-link` that reads what this clang writes.
    pub(crate) fn llvm_link(&self, environment: &Environment) -> Result<Tool> {
        let mut found = of_the_same_llvm(&self.clang, environment, "OCLAVE_LLVM_LINK", "llvm-link")?;
        let major = self.clang.version.major;
        found.remove(&major).ok_or_else(|| {
            Error::new(
                ErrorKind::Toolchain,
                format!(
                    "several sources need llvm-link of version {major}, found {}; install it (Debian and Ubuntu: `apt install \
                     llvm-{major}`, Fedora and Arch: package `llvm`), or name it with OCLAVE_LLVM_LINK",
                    versions(&found)
                ),
            )
        })
    }

    /// What makes static libraries: `llvm-ar` of any version, or the system's `ar`.
    pub(crate) fn archiver(&self, environment: &Environment) -> Result<PathBuf> {
        let mut found = candidates(environment, "OCLAVE_LLVM_AR", "llvm-ar")?;
        let own = found.remove(&self.clang.version.major).or_else(|| found.pop_last().map(|(_, tool)| tool));
        own.map(|tool| tool.path)
            .or_else(|| beside(&self.clang, "llvm-ar"))
            .or_else(|| environment.program("ar".as_ref()))
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Toolchain,
                    format!(
                        "SHARED functions need llvm-ar or ar to make a library of them; install one (Debian and Ubuntu: `apt \
                         install llvm-{}` or `binutils`), or name it with OCLAVE_LLVM_AR",
                        self.clang.version.major
                    ),
                )
            })
    }

    /// The tools that make images and their versions, as recorded in images.
    pub(crate) fn describe(&self) -> String {
        let opt = self.opt.as_ref().map(|opt| format!(", opt {}", opt.version)).unwrap_or_default();
        format!("clang {}, llvm-spirv {}{opt}", self.clang.version, self.llvm_spirv.version)
    }
}

/// A tool that the distribution keeps beside the real clang, away from PATH.
fn beside(clang: &Tool, name: &str) -> Option<PathBuf> {
    let clang = std::fs::canonicalize(&clang.path).ok()?;
    let beside = clang.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    beside.is_file().then_some(beside)
}

/// The tools of a name by major version: the one of the variable alone if it is set, else the one beside clang, else all on `PATH`.
fn of_the_same_llvm(
    clang: &Tool,
    environment: &Environment,
    variable: &str,
    name: &str,
) -> Result<BTreeMap<u32, Tool>> {
    if environment.var(variable).is_none()
        && let Some(beside) = beside(clang, name)
        && let Ok(tool) = ask(&beside, environment)
        && tool.version.major == clang.version.major
    {
        return Ok(BTreeMap::from([(tool.version.major, tool)]));
    }
    candidates(environment, variable, name)
}

fn missing(what: String) -> Error {
    Error::new(ErrorKind::Toolchain, format!("{what}; {INSTALL}"))
}

fn versions(tools: &BTreeMap<u32, Tool>) -> String {
    if tools.is_empty() {
        return "none".to_owned();
    }
    tools.values().map(|tool| tool.version.to_string()).collect::<Vec<_>>().join(", ")
}

/// The tools of a name by major version: the one of the variable alone if it is set, else all on
/// `PATH`, first come first.
fn candidates(environment: &Environment, variable: &str, name: &str) -> Result<BTreeMap<u32, Tool>> {
    if let Some(value) = environment.var(variable) {
        let path = environment.program(&value).ok_or_else(|| {
            Error::new(
                ErrorKind::Toolchain,
                format!(
                    "{variable} names {}, which is neither a file nor a program on PATH; correct or unset it",
                    value.to_string_lossy()
                ),
            )
        })?;
        let tool = ask(&path, environment)?;
        return Ok(BTreeMap::from([(tool.version.major, tool)]));
    }
    let mut found = BTreeMap::new();
    // Two folders are often one: on most systems `/bin` is a link to `/usr/bin`.
    let mut seen = HashSet::new();
    let mut is_new = |folder: &&PathBuf| {
        seen.insert(std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf()))
    };
    for path in environment
        .search_path()
        .iter()
        .filter(|folder| is_new(folder))
        .flat_map(|folder| named(folder, name))
    {
        // A program that does not tell its version is not one of ours: another one may be.
        if let Ok(tool) = ask(&path, environment) {
            found.entry(tool.version.major).or_insert(tool);
        }
    }
    Ok(found)
}

/// `name` and `name-N` in a folder, sorted.
fn named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let file = entry.file_name();
            let Some(file) = file.to_str() else { return false };
            let Some(rest) =
                file.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(file).strip_prefix(name)
            else {
                return false;
            };
            rest.is_empty()
                || rest.strip_prefix('-').is_some_and(|number| {
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                })
        })
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
}

/// A program: its path, when it changed, and its length.
type Identity = (PathBuf, SystemTime, u64);

/// What programs told: a build script with many programs asks each tool once.
static VERSIONS: LazyLock<Mutex<HashMap<Identity, Version>>> = LazyLock::new(Mutex::default);

/// The version of a tool.
fn ask(path: &Path, environment: &Environment) -> Result<Tool> {
    // Variables of the caller may lead a tool to other libraries.
    let file = path.metadata().ok().filter(|_| environment.overrides().next().is_none());
    let key: Option<Identity> =
        file.and_then(|file| Some((path.to_path_buf(), file.modified().ok()?, file.len())));
    let versions = || VERSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(key) = &key
        && let Some(version) = versions().get(key).copied()
    {
        return Ok(Tool { path: path.to_path_buf(), version });
    }
    let tool = told(path, environment)?;
    if let Some(key) = key {
        versions().insert(key, tool.version);
    }
    Ok(tool)
}

/// What a tool tells of its version.
fn told(path: &Path, environment: &Environment) -> Result<Tool> {
    // A program that does not answer at once is no tool, and there may be many to ask.
    let limit = environment.tool_limit().min(VERSION_LIMIT);
    let run = command::run_within(path, &["--version"], environment, limit)?;
    let words = String::from_utf8_lossy(&run.stdout);
    match parse_version(&words) {
        Some(version) if run.success => Ok(Tool { path: path.to_path_buf(), version }),
        _ => Err(Error::new(
            ErrorKind::Toolchain,
            format!(
                "{} does not tell its version; `--version` says: {}",
                path.display(),
                words.lines().next().unwrap_or("nothing")
            ),
        )),
    }
}

/// The number after the first `version` of what `--version` prints.
fn parse_version(words: &str) -> Option<Version> {
    let mut after = words.split("version ").skip(1).flat_map(|rest| rest.split_whitespace().next());
    let number = after.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    Some(Version {
        major: parts.next()??,
        minor: parts.next().flatten().unwrap_or(0),
        patch: parts.next().flatten().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_distributions_are_read() {
        let version = |words| parse_version(words).map(|v| v.to_string());
        assert_eq!(version("Debian clang version 15.0.6\nTarget: x86_64").as_deref(), Some("15.0.6"));
        assert_eq!(version("LLVM (http://llvm.org/):\n  LLVM version 19.1.7\n").as_deref(), Some("19.1.7"));
        assert_eq!(version("clang version 20.1.0-rc2 (Fedora)").as_deref(), Some("20.1.0"));
        assert_eq!(version("Ubuntu clang version 18 (1ubuntu1)").as_deref(), Some("18.0.0"));
        assert_eq!(version("gcc (Debian) 12.2"), None);
        assert_eq!(version("version unknown"), None);
    }
}
