//! What a build script can choose.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oclave_image::SplitMode;

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::program::{self, Images, Output};
use crate::toolchain::Toolchain;

/// How a program is compiled. Each `compile` is one program: its sources may use each other's
/// functions and variables.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// oclave_build::Config::new()
///     .include("kernels/include")
///     .define("TILE", "16")
///     .out_name("filters")
///     .compile(&["kernels/blur.cl", "kernels/sobel.cl"])?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) defines: Vec<(String, Option<String>)>,
    pub(crate) opt_level: u32,
    pub(crate) split: SplitMode,
    pub(crate) virtual_call_depth: Option<u32>,
    pub(crate) out_name: String,
    pub(crate) out_dir: Option<PathBuf>,
    pub(crate) extra_args: Vec<OsString>,
    pub(crate) translator_args: Vec<OsString>,
    pub(crate) driver_functions: Vec<String>,
    pub(crate) single_pass: bool,
    pub(crate) fp_contract: bool,
    pub(crate) non_uniform_work_groups: bool,
    pub(crate) checked_in: Option<PathBuf>,
    pub(crate) update_checked_in: bool,
    pub(crate) environment: Environment,
    /// A device configuration file, and which of its targets.
    pub(crate) device_config: Option<(PathBuf, Vec<String>)>,
    pub(crate) nvidia: bool,
    pub(crate) panics: Panics,
    /// The manifests of packages of kernels in Rust.
    pub(crate) rust_packages: Vec<PathBuf>,
}

/// What the host learns of panics of kernels in Rust. See [`Config::panics`].
///
/// The checks that lead to panics stay in any case, since they keep kernels within their memory. No
/// variant ends the whole launch, as a trap does on CUDA: OpenCL has no instruction for it. An endless loop, or
/// an access to no memory, has that effect on some devices. On others it hangs the device or ends the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Panics {
    /// The next wait returns an error with message, place and work-item.
    ///
    /// Each place that may panic adds two stores on the path that is not taken. The kernel also gets the
    /// device global that they write. The host looks at it after each wait, which is a read of 16 bytes from memory
    /// that the device shares with it.
    #[default]
    Report,
    /// Nothing. The work-item ends, and what it should have written is missing. Kernels have no device global
    /// and no messages.
    Ignore,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            includes: Vec::new(),
            defines: Vec::new(),
            opt_level: 2,
            split: SplitMode::default(),
            virtual_call_depth: None,
            out_name: "oclave_kernels".to_owned(),
            out_dir: None,
            extra_args: Vec::new(),
            translator_args: Vec::new(),
            driver_functions: Vec::new(),
            single_pass: false,
            fp_contract: false,
            non_uniform_work_groups: false,
            checked_in: None,
            update_checked_in: false,
            environment: Environment::default(),
            device_config: None,
            nvidia: false,
            panics: Panics::default(),
            rust_packages: Vec::new(),
        }
    }
}

impl Config {
    /// The defaults: `-O2`, one image per source, output named `oclave_kernels`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder where the compiler looks for headers (`-I`).
    pub fn include(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.includes.push(folder.into());
        self
    }

    /// Defines a macro: `define("TILE", "16")`, or `define("FAST", None)` for one without a value.
    pub fn define<'a>(&mut self, name: impl Into<String>, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.defines.push((name.into(), value.into().map(str::to_owned)));
        self
    }

    /// The compiler's optimisation level, 0 to 3; 2 unless set, whatever the profile of the Rust
    /// code.
    pub fn opt_level(&mut self, level: u32) -> &mut Self {
        self.opt_level = level;
        self
    }

    /// How kernels are distributed over device images. Kernels of different optional features
    /// always part.
    pub fn split(&mut self, split: SplitMode) -> &mut Self {
        self.split = split;
        self
    }

    /// How deep virtual calls that may lead back to themselves nest, in all kernels that do not say
    /// it themselves (`CALLS_INDIRECTLY(set, depth=N)`); 1 to 64.
    ///
    /// Devices have no recursion: the functions are linked once for each level, and a deeper call
    /// is reported as an error. Unless set, kernels with such calls are refused.
    pub fn virtual_call_depth(&mut self, depth: u32) -> &mut Self {
        self.virtual_call_depth = Some(depth);
        self
    }

    /// Chooses and links the images for targets of a device configuration file
    /// ([`DeviceConfig`](crate::DeviceConfig)) now, and not when the program runs.
    ///
    /// Kernels that none of the targets can run are dropped. A set of virtual functions is dropped
    /// as a whole if no target has the features that it needs. Other programs cannot add to the
    /// sets.
    ///
    /// Targets may ask for PTX. Every file has the target `nvidia`, whose images hold PTX for
    /// compute capability 7.0, which all newer devices run as well.
    pub fn ahead_of_time<S: Into<String>>(
        &mut self,
        device_config: impl Into<PathBuf>,
        targets: impl IntoIterator<Item = S>,
    ) -> &mut Self {
        self.device_config = Some((device_config.into(), targets.into_iter().map(Into::into).collect()));
        self
    }

    /// Puts the functions of OpenCL C's library that the kernels call (`sin`, `pow`, …) into the
    /// images. The default is off.
    ///
    /// NVIDIA's driver has none of them. Without this setting, such kernels run on NVIDIA's devices
    /// only if the library is installed (one of Debian's and Ubuntu's packages `libclc-15`, 17, 18
    /// and 19). With it, only the machine that compiles the kernels needs the library, and the
    /// images grow by the SPIR-V of these functions. Other devices ignore it.
    ///
    /// [`Config::ahead_of_time`] for a target with PTX does this without being asked.
    pub fn nvidia(&mut self, nvidia: bool) -> &mut Self {
        self.nvidia = nvidia;
        self
    }

    /// The name of the program's output, as given to `oclave::include_kernels!`; `oclave_kernels`
    /// unless set.
    pub fn out_name(&mut self, name: impl Into<String>) -> &mut Self {
        self.out_name = name.into();
        self
    }

    /// The folder of the output; `OUT_DIR` unless set. `include_kernels!` finds it.
    pub fn out_dir(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Adds arguments for clang, after all others.
    pub fn extra_args<S: Into<OsString>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.extra_args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds arguments for llvm-spirv, such as `--spirv-ext=+SPV_INTEL_subgroups`.
    pub fn translator_args<S: Into<OsString>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.translator_args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Compiles the bodies of `if_device` and `if_host` in one pass. The default is off.
    ///
    /// The program gets images for devices and images for the host. The latter run on a CPU device
    /// in that role (`Device::as_host`). Each image has only the bodies of its side, and needs only
    /// the features of these bodies. `SHARED` functions then have no native code and no Rust
    /// functions.
    pub fn single_pass(&mut self, single_pass: bool) -> &mut Self {
        self.single_pass = single_pass;
        self
    }

    /// Lets the driver round `a * b + c` once instead of twice, wherever it likes. The default is
    /// off.
    ///
    /// If this is off, every product is rounded before the addition, even in `mad`. A kernel then
    /// computes the same bits in launches and in graphs. `SHARED` functions on the host compute the
    /// same bits, too. So do devices whose divisions and functions round alike. `fma` always rounds
    /// once.
    ///
    /// On, kernels that mostly multiply and add may be launched faster. Drivers decide by what
    /// stands around an expression, so the last bits may differ between a launch and a graph of the
    /// same kernel. Intel's compiler also calls a function for it in the interpreter of graphs,
    /// which is slow.
    pub fn fp_contract(&mut self, fp_contract: bool) -> &mut Self {
        self.fp_contract = fp_contract;
        self
    }

    /// Lets the last work-groups of a launch be smaller than the others. The default is off.
    ///
    /// If this is off, every device refuses a launch whose work-group size does not divide its
    /// range. SYCL does so, too (SYCL 2020, section 4.9.1.2). Drivers then need no code for smaller
    /// work-groups. On Intel's CPU runtime, some kernels with barriers are up to 12 times as fast.
    /// A range without a work-group size may have any length.
    ///
    /// On, the launch succeeds on devices that have smaller work-groups, and is refused on others.
    pub fn non_uniform_work_groups(&mut self, non_uniform: bool) -> &mut Self {
        self.non_uniform_work_groups = non_uniform;
        self
    }

    /// Names a folder, kept under version control, with this program's images for machines that
    /// have no compiler.
    ///
    /// They are used only where there is no compiler, and only if sources, headers and options are
    /// unchanged. The build prints a warning then. Set the environment variable
    /// `OCLAVE_UPDATE_CHECKED_IN=1` on a machine with a compiler to write them.
    pub fn checked_in(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.checked_in = Some(folder.into());
        self
    }

    /// Rewrites the checked-in images, as `OCLAVE_UPDATE_CHECKED_IN=1` does.
    pub fn update_checked_in(&mut self, update: bool) -> &mut Self {
        self.update_checked_in = update;
        self
    }

    /// Replaces an environment variable for this build: `OCLAVE_CLANG`, `PATH`, …. Tools get it
    /// too.
    pub fn env(&mut self, variable: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.environment.set(variable.into(), value.into());
        self
    }

    /// Names functions that kernels declare by themselves and the driver brings along. Any other
    /// function without a body is an error of the build.
    pub fn driver_functions<S: Into<String>>(&mut self, names: impl IntoIterator<Item = S>) -> &mut Self {
        self.driver_functions.extend(names.into_iter().map(Into::into));
        self
    }

    /// What the host learns of panics of kernels in Rust.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), oclave_build::Error> {
    /// let mut config = oclave_build::Config::new();
    /// config.panics(oclave_build::Panics::Ignore).compile(&["kernels/step.rs"])?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn panics(&mut self, panics: Panics) -> &mut Self {
        self.panics = panics;
        self
    }

    /// Adds a package of kernels in Rust: a folder with a `Cargo.toml` that depends on `oclave-kernel`, and on
    /// other `no_std` crates as it likes. The cargo that runs the build script compiles it, for devices.
    /// The Rust module of its kernels has the name of the folder.
    ///
    /// This is a cargo of its own: `--locked` and `--offline` of the program's build do not reach it. It reads
    /// the package's `Cargo.lock`, and writes one where it is missing. `CARGO_NET_OFFLINE=true` keeps both from
    /// the network.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// oclave_build::Config::new().rust_package("kernels").compile::<&str>(&[])?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn rust_package(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.rust_packages.push(folder.into().join(crate::source::MANIFEST));
        self
    }

    /// The sources of a program, packages included.
    fn sources<P: AsRef<Path>>(&self, sources: &[P]) -> Vec<PathBuf> {
        let sources = sources.iter().map(|source| source.as_ref().to_path_buf());
        sources.chain(self.rust_packages.iter().cloned()).collect()
    }

    /// How long one run of a tool (clang, llvm-link, llvm-spirv, …) may take before it is ended and
    /// the build fails; 10 minutes unless set.
    pub fn tool_limit(&mut self, limit: Duration) -> &mut Self {
        self.environment.set_tool_limit(limit);
        self
    }

    /// Compiles a program and tells cargo what it depends on.
    ///
    /// # Errors
    /// See [`ErrorKind`](crate::ErrorKind). A toolchain is missing. A tool failed; the error has
    /// its output and command line. A rule of device globals is broken. A file cannot be read or
    /// written.
    pub fn compile<P: AsRef<Path>>(&self, sources: &[P]) -> Result<Output> {
        self.compile_to(sources, &mut std::io::stdout().lock())
    }

    /// Like [`Config::compile`], with cargo's instructions written to `cargo` instead of standard
    /// output.
    ///
    /// # Errors
    /// As [`Config::compile`].
    pub fn compile_to<P: AsRef<Path>>(&self, sources: &[P], cargo: &mut dyn Write) -> Result<Output> {
        self.check()?;
        program::build(self, &self.sources(sources), cargo)
    }

    /// Compiles a program to device images, without Rust, and without a word to cargo.
    ///
    /// This is for programs that compile kernels while they run. Intermediate files are written to
    /// the output folder ([`Config::out_dir`]), the images are not. Checked-in images are not used.
    ///
    /// # Errors
    /// As [`Config::compile`].
    pub fn compile_images<P: AsRef<Path>>(&self, sources: &[P]) -> Result<Images> {
        self.check()?;
        program::images(self, &self.sources(sources))
    }

    /// Names the compiler that would be used, with the versions of its programs.
    ///
    /// # Errors
    /// [`ErrorKind::Toolchain`](crate::ErrorKind::Toolchain) where there is none.
    pub fn toolchain(&self) -> Result<String> {
        Toolchain::find(&self.environment).map(|toolchain| toolchain.describe())
    }

    fn check(&self) -> Result<()> {
        if self.opt_level > 3 {
            return Err(Error::config(format!("opt_level is 0 to 3, not {}", self.opt_level)));
        }
        if let Some(depth) = self.virtual_call_depth.filter(|depth| !(1..=64).contains(depth)) {
            return Err(Error::config(format!("virtual_call_depth is 1 to 64, not {depth}")));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.out_name.is_empty() || !self.out_name.chars().all(plain) {
            return Err(Error::config(format!(
                "out_name \"{}\" names a file: use letters, digits, `_` and `-`",
                self.out_name
            )));
        }
        Ok(())
    }

    pub(crate) fn output_folder(&self) -> Result<PathBuf> {
        let folder = self.out_dir.clone().or_else(|| self.environment.var("OUT_DIR").map(PathBuf::from));
        folder.ok_or_else(|| {
            Error::config("OUT_DIR is not set: call this from a build script, or set Config::out_dir")
        })
    }

    /// The machine that the Rust program is built for, where cargo tells it.
    pub(crate) fn target(&self) -> Option<String> {
        self.environment.var("TARGET").map(|target| target.to_string_lossy().into_owned())
    }

    /// The folder of the package that is built, where cargo tells it.
    pub(crate) fn package(&self) -> Option<PathBuf> {
        self.environment.var("CARGO_MANIFEST_DIR").map(PathBuf::from)
    }
}
