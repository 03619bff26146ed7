//! Calls of rustc.

mod package;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::command::{self, Run};
use crate::config::Config;
use crate::depfile;
use crate::environment::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::source::Source;

/// The variable by which cargo names rustc.
const VARIABLE: &str = "RUSTC";
/// Set where code is compiled for devices.
const DEVICE: &str = "oclave_device";
/// Set where that code has the bodies of both sides.
const SINGLE_PASS: &str = "oclave_single_pass";

/// The files of `oclave-kernel`.
const KERNEL: &[(&str, &str)] = &[
    ("lib.rs", include_str!("sources/oclave_kernel/lib.rs")),
    ("data.rs", include_str!("sources/oclave_kernel/data.rs")),
    ("description.rs", include_str!("sources/oclave_kernel/description.rs")),
    ("division.rs", include_str!("sources/oclave_kernel/division.rs")),
    ("global.rs", include_str!("sources/oclave_kernel/global.rs")),
    ("group.rs", include_str!("sources/oclave_kernel/group.rs")),
    ("half.rs", include_str!("sources/oclave_kernel/half.rs")),
    ("images.rs", include_str!("sources/oclave_kernel/images.rs")),
    ("item.rs", include_str!("sources/oclave_kernel/item.rs")),
    ("math.rs", include_str!("sources/oclave_kernel/math.rs")),
    ("memory.rs", include_str!("sources/oclave_kernel/memory.rs")),
    ("object.rs", include_str!("sources/oclave_kernel/object.rs")),
    ("parameter.rs", include_str!("sources/oclave_kernel/parameter.rs")),
    ("print.rs", include_str!("sources/oclave_kernel/print.rs")),
    ("sides.rs", include_str!("sources/oclave_kernel/sides.rs")),
    ("vector.rs", include_str!("sources/oclave_kernel/vector.rs")),
];
/// Its macros.
const MACROS: &[(&str, &str)] = &[
    ("lib.rs", include_str!("sources/oclave_kernel_macros/lib.rs")),
    ("objects.rs", include_str!("sources/oclave_kernel_macros/objects.rs")),
    ("print.rs", include_str!("sources/oclave_kernel_macros/print.rs")),
];

/// The user's rustc.
#[derive(Debug, Clone)]
pub(crate) struct Rustc {
    path: PathBuf,
    /// Its first line: `rustc 1.95.0 (…)`.
    version: String,
    /// The target that it compiles for by itself.
    host: String,
}

impl Rustc {
    /// The rustc of the cargo that runs the build script, else that on `PATH`.
    pub(crate) fn find(environment: &Environment) -> Result<Self> {
        let name = environment.var(VARIABLE).unwrap_or_else(|| "rustc".into());
        let path = environment.program(&name).ok_or_else(|| {
            Error::new(
                ErrorKind::Toolchain,
                format!(
                    "there is no rustc for kernels in Rust: {} is no program on PATH; install Rust, or set {VARIABLE}",
                    name.to_string_lossy()
                ),
            )
        })?;
        let run = command::run(&path, &["-vV"], environment)?;
        if !run.success {
            return Err(run.failure(ErrorKind::Toolchain, "rustc does not tell its version"));
        }
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let version = text.lines().next().unwrap_or("rustc").to_owned();
        let host = text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        if !["x86_64", "aarch64", "riscv64", "loongarch64"].iter().any(|machine| host.starts_with(machine)) {
            return Err(Error::new(
                ErrorKind::Toolchain,
                format!(
                    "kernels in Rust are compiled on a machine of 64 bits, little-endian, and this is {host}; check images \
                     in beside the sources (`Config::checked_in`) on such a machine"
                ),
            ));
        }
        Ok(Self { path, version, host: host.to_owned() })
    }

    /// The second number of the version: 95 of `rustc 1.95.0 (…)`.
    fn minor(&self) -> u32 {
        let number = self.version.split('.').nth(1);
        number.and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
    }

    /// As recorded in images.
    pub(crate) fn describe(&self) -> &str {
        &self.version
    }
}

/// `oclave-kernel`, compiled for devices.
#[derive(Debug)]
pub(super) struct DeviceCrate {
    folder: PathBuf,
    library: PathBuf,
    pub(super) ir: String,
}

/// A source, compiled.
#[derive(Debug)]
pub(super) struct CompiledSource {
    /// The IR of each crate, with its name.
    pub(super) texts: Vec<(String, String)>,
    /// What rustc said, unchanged.
    pub(super) warnings: String,
    pub(super) dependencies: Vec<PathBuf>,
    /// The variables of the environment that the source reads.
    pub(super) variables: Vec<String>,
}

impl DeviceCrate {
    /// Compiles the macros and the crate, unless an earlier build did.
    pub(super) fn compile(config: &Config, rustc: &Rustc, work: &Path) -> Result<Self> {
        let folder = work.join("oclave_kernel");
        std::fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
        let macros = folder.join(library_name("oclave_kernel_macros"));
        let library = folder.join("liboclave_kernel.rlib");
        let ir = folder.join("oclave_kernel.ll");
        let stamp = folder.join("stamp");
        let wanted = stamp_of(config, rustc);
        let is_there = std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted);
        if !(is_there && macros.is_file() && library.is_file() && ir.is_file()) {
            let of_macros = folder.join("macros");
            std::fs::create_dir_all(&of_macros).map_err(|error| Error::io("create", &of_macros, error))?;
            for (folder, sources) in [(&of_macros, MACROS), (&folder, KERNEL)] {
                for (name, text) in sources {
                    files::write(&folder.join(name), text.as_bytes())?;
                }
            }
            let mut args: Vec<OsString> = [
                "--edition=2024",
                "--crate-type=proc-macro",
                "--crate-name=oclave_kernel_macros",
                "--cap-lints=allow",
            ]
            .map(OsString::from)
            .into();
            args.extend(["-o".into(), macros.clone().into(), of_macros.join("lib.rs").into()]);
            run(
                config,
                rustc,
                &args,
                "the macros of oclave-kernel do not compile; this is a bug in oclave-build",
            )?;
            let mut args = device_arguments(config, rustc, "oclave_kernel", "llvm-ir,metadata,link", &folder);
            args.extend([
                "--cap-lints=allow".into(),
                "--extern".into(),
                named("oclave_kernel_macros", &macros),
            ]);
            args.push(folder.join("lib.rs").into());
            run(config, rustc, &args, "oclave-kernel does not compile; this is a bug in oclave-build")?;
            files::write(&stamp, wanted.as_bytes())?;
        }
        Ok(Self { ir: super::read_text(&ir)?, folder, library })
    }
}

/// What an earlier build must have been made of.
fn stamp_of(config: &Config, rustc: &Rustc) -> String {
    let mut hash = blake3::Hasher::new();
    for (name, text) in KERNEL.iter().chain(MACROS) {
        hash.update(name.as_bytes()).update(text.as_bytes());
    }
    let args = device_arguments(config, rustc, "", "", Path::new(""));
    let args: Vec<_> = args.iter().map(|argument| argument.to_string_lossy()).collect();
    format!("{}\n{}\n{}\n", rustc.version, args.join(" "), hash.finalize().to_hex())
}

/// Compiles a source.
pub(super) fn source(
    config: &Config,
    rustc: &Rustc,
    device: &DeviceCrate,
    source: &Source,
    work: &Path,
) -> Result<CompiledSource> {
    if source.is_package() {
        return package::compile(config, rustc, source, work);
    }
    let folder = work.join(format!("{}.rust", source.stem));
    std::fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
    let name = crate_name(&source.stem);
    let mut args = device_arguments(config, rustc, &name, "llvm-ir,metadata,dep-info", &folder);
    args.extend(["-L".into(), device.folder.clone().into()]);
    args.extend(["--extern".into(), named("oclave_kernel", &device.library)]);
    // The host's program says what of the file is not used, if it includes it.
    args.extend(["-A", "dead_code"].map(OsString::from));
    args.extend(defines(config).into_iter().map(OsString::from));
    args.push(source.path.clone().into());
    let what = format!("{} does not compile for devices", source.path.display());
    let run = run(config, rustc, &args, &what)?;
    let rules = super::read_text(&folder.join(format!("{name}.d")))?;
    Ok(CompiledSource {
        texts: vec![(
            source.path.display().to_string(),
            super::read_text(&folder.join(format!("{name}.ll")))?,
        )],
        warnings: run.stderr,
        dependencies: depfile::prerequisites(rules.split("\n\n").next().unwrap_or_default()),
        variables: depfile::variables(&rules),
    })
}

/// The name of a source's crate.
fn crate_name(stem: &str) -> String {
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("kernels_{name}") }
}

/// Whether overflow is checked, as in the program itself. Before 1.93, cargo did not tell build scripts of
/// debug assertions: there the profile's kind decides.
pub(super) fn overflow_checks(config: &Config, rustc: Option<&Rustc>) -> bool {
    config.environment.has("CARGO_CFG_DEBUG_ASSERTIONS")
        || rustc.is_some_and(|rustc| rustc.minor() < 93)
            && config.environment.var("PROFILE").is_some_and(|profile| profile == "debug")
}

/// How code for devices is compiled.
fn device_arguments(config: &Config, rustc: &Rustc, name: &str, emit: &str, folder: &Path) -> Vec<OsString> {
    // Rust's iterators and closures need the inlining of its third level for what C has at its second.
    let level = match config.opt_level {
        0 | 1 => "1",
        _ => "3",
    };
    let checks = if overflow_checks(config, Some(rustc)) { "on" } else { "off" };
    let mut args: Vec<OsString> = oclave_rust::RUSTC_FLAGS.iter().map(OsString::from).collect();
    args.push(format!("-Copt-level={level}").into());
    args.push(format!("-Coverflow-checks={checks}").into());
    args.push(format!("--crate-name={name}").into());
    args.push(format!("--emit={emit}").into());
    args.extend(device_cfgs(config).into_iter().map(OsString::from));
    args.extend(["--out-dir".into(), folder.into()]);
    args
}

/// What code for devices is compiled with.
fn device_cfgs(config: &Config) -> Vec<String> {
    let own = [Some(DEVICE), config.single_pass.then_some(SINGLE_PASS)];
    let set = own.into_iter().flatten().flat_map(|cfg| ["--cfg".to_owned(), cfg.to_owned()]);
    let known = ["--check-cfg".to_owned(), format!("cfg({DEVICE}, {SINGLE_PASS})")];
    set.chain(known).collect()
}

/// The definitions of [`Config::define`]. A source may ask for other values of them.
fn defines(config: &Config) -> Vec<String> {
    let arguments = |(name, value): &(String, Option<String>)| {
        let value = value.as_ref().map(|value| format!("={value:?}")).unwrap_or_default();
        let known = format!("cfg({name}, values(any()))");
        ["--cfg".to_owned(), format!("{name}{value}"), "--check-cfg".to_owned(), known]
    };
    config.defines.iter().flat_map(arguments).collect()
}

fn named(name: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(format!("{name}="));
    argument.push(path);
    argument
}

fn library_name(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

fn run(config: &Config, rustc: &Rustc, args: &[OsString], what: &str) -> Result<Run> {
    let run = command::run(&rustc.path, args, &config.environment)?;
    if run.success { Ok(run) } else { Err(run.failure(ErrorKind::Compile, what)) }
}
