//! Kernels whose source the program has at run time: the compiler of `oclave-build`, and what it
//! made before.

mod cached;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use oclave_build::{Config, ErrorKind as Step};
use oclave_image::DeviceImage;

use super::bundle::KernelBundle;
use super::disk::{CacheKey, CacheKeyBuilder, DiskCache};
use crate::MakeError as _;
use crate::driver::sync::Mutex;
use crate::{Context, Error, ErrorKind, Result};

/// OpenCL C, or C++ for OpenCL, that is compiled while the program runs.
///
/// A source is named like a file, by which the compiler's messages call it. A name that ends in
/// `.cl` is OpenCL C 3.0, one that ends in `.clcpp` is C++ for OpenCL 2021. All sources of one
/// value are one program and may use each other's functions.
///
/// ```no_run
/// # fn main() -> oclave::Result<()> {
/// # let context = oclave::Context::new(&oclave::Device::select()?)?;
/// use oclave::kernel::{KernelBundle, KernelSource};
///
/// let text = "kernel void scale(global float *x) { x[get_global_id(0)] *= FACTOR; }";
/// let source = KernelSource::new("scale.cl", text).define("FACTOR", "2.0f");
/// // SAFETY: each work-item writes one element, and the range has as many as the memory.
/// let bundle = unsafe { KernelBundle::from_source(&context, &source) }?;
/// let scale = bundle.kernel("scale")?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct KernelSource {
    sources: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    config: Config,
    /// An argument that clang accepts and that has no effect.
    lost_option: Option<&'static str>,
}

/// Options that clang accepts, and that have no form in SPIR-V: they speak to the driver's compiler.
const LOST_OPTIONS: [&str; 3] =
    ["-cl-denorms-are-zero", "-cl-fp32-correctly-rounded-divide-sqrt", "-cl-uniform-work-group-size"];

impl KernelSource {
    /// A program of one source.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut config = Config::new();
        // Variables that cargo sets for programs that it runs do not concern this compilation.
        for variable in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "TARGET", "OUT_DIR", "NUM_JOBS"] {
            config.env(variable, "");
        }
        let sources = vec![(name.into(), text.into())];
        Self { sources, headers: Vec::new(), config, lost_option: None }
    }

    /// Adds a source to the program.
    pub fn source(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.sources.push((name.into(), text.into()));
        self
    }

    /// Adds a header that is no file: `header("lib/tiles.h", text)` is found by `#include
    /// "lib/tiles.h"`.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Adds a folder where the compiler looks for headers (`-I`).
    pub fn include(mut self, folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        self.config.include(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
        self
    }

    /// Defines a macro: `define("TILE", "16")`, or `define("FAST", None)` for one without a value.
    pub fn define<'a>(mut self, name: impl Into<String>, value: impl Into<Option<&'a str>>) -> Self {
        self.config.define(name, value);
        self
    }

    /// The compiler's optimisation level, 0 to 3; 2 unless set.
    pub fn opt_level(mut self, level: u32) -> Self {
        self.config.opt_level(level);
        self
    }

    /// Lets the driver round `a * b + c` once instead of twice. The default is off.
    pub fn fp_contract(mut self, fp_contract: bool) -> Self {
        self.config.fp_contract(fp_contract);
        self
    }

    /// Lets the last work-groups of a launch be smaller than the others, on devices that have such
    /// groups. The default is off, which makes some kernels faster.
    pub fn non_uniform_work_groups(mut self, non_uniform: bool) -> Self {
        self.config.non_uniform_work_groups(non_uniform);
        self
    }

    /// How deep virtual calls that may lead back to themselves nest, in all kernels that do not say
    /// it themselves.
    pub fn virtual_call_depth(mut self, depth: u32) -> Self {
        self.config.virtual_call_depth(depth);
        self
    }

    /// Adds arguments for clang, after all others: `-cl-fast-relaxed-math`, `-cl-std=CL1.2`, ….
    ///
    /// SPIR-V cannot hold what some options of OpenCL mean: `-cl-denorms-are-zero`,
    /// `-cl-fp32-correctly-rounded-divide-sqrt` and `-cl-uniform-work-group-size`. Loading refuses
    /// them. Give them to the driver: [`ContextBuilder::compiler_options`](crate::context::ContextBuilder::compiler_options).
    ///
    /// Headers that only they name (`-include`, `-isystem`) are not looked at again when the cache
    /// has the program.
    pub fn compiler_args<S: Into<std::ffi::OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        let args: Vec<std::ffi::OsString> = args.into_iter().map(Into::into).collect();
        let lost = args.iter().find_map(|arg| LOST_OPTIONS.into_iter().find(|lost| arg == *lost));
        self.lost_option = self.lost_option.or(lost);
        self.config.extra_args(args);
        self
    }

    /// Replaces an environment variable for this compilation: `OCLAVE_CLANG`, `PATH`, ….
    pub fn env(
        mut self,
        variable: impl Into<std::ffi::OsString>,
        value: impl Into<std::ffi::OsString>,
    ) -> Self {
        self.config.env(variable, value);
        self
    }

    /// The images of the program, from the cache or from the compiler.
    fn images(&self, disk: Option<&DiskCache>) -> Result<Vec<Vec<u8>>> {
        if let Some(option) = self.lost_option {
            return Err(Error::invalid(format!(
                "the compiler's argument `{option}` has no effect, as SPIR-V cannot hold it"
            ))
            .remedy(format!(
                "give it to the driver: `Context::builder(&devices).compiler_options(\"{option}\")`"
            )));
        }
        for (name, _) in &self.sources {
            if plain_path(name).is_none_or(|path| path.components().count() != 1) {
                return Err(Error::invalid(format!(
                    "\"{name}\" is no name of a source: it is a file name such as scale.cl"
                )));
            }
        }
        let Some(disk) = disk else { return Ok(self.compile()?.images) };
        let key = self.key(&self.toolchain()?);
        if let Some(images) = disk.load(&key).and_then(|entry| cached::read(&entry)) {
            return Ok(images);
        }
        let made = self.compile()?;
        match cached::entry(&made) {
            Ok(entry) => disk.store(&key, &entry),
            Err(error) => log::debug!("kernel source is not cached: {error}"),
        }
        Ok(made.images)
    }

    /// The compiler that would be used. Asking for its version takes longer than a look into the
    /// cache, so the answer is kept for the process.
    fn toolchain(&self) -> Result<String> {
        static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
        let known = || KNOWN.lock();
        let variables = std::iter::once("PATH").chain(oclave_build::TOOL_VARIABLES);
        let values: Vec<_> = variables.map(std::env::var_os).collect();
        let environment = format!("{values:?} {:?}", self.config);
        if let Some(found) = known().get(&environment) {
            return Ok(found.clone());
        }
        let found = self.config.toolchain().map_err(|error| refused(&error, error.to_string()))?;
        known().insert(environment, found.clone());
        Ok(found)
    }

    /// The inputs of the images, but for headers in files.
    fn key(&self, toolchain: &str) -> CacheKey {
        let options = format!("{:?}", self.config);
        let mut key = CacheKeyBuilder::new()
            .part(b"source")
            .part(&cached::VERSION.to_le_bytes())
            .part(toolchain.as_bytes())
            .part(options.as_bytes())
            .part(&self.sources.len().to_le_bytes());
        for (name, text) in self.sources.iter().chain(&self.headers) {
            key = key.part(name.as_bytes()).part(text.as_bytes());
        }
        key.finish()
    }

    fn compile(&self) -> Result<cached::Made> {
        let io = |error: std::io::Error| {
            Error::new(ErrorKind::Io, "cannot write the source for the compiler")
                .with_source(error)
                .remedy("free space in the folder for temporary files, or name another one with TMPDIR")
        };
        let folder = tempfile::Builder::new().prefix("oclave-").tempdir().map_err(io)?;
        let root = folder.path().join("source");
        let mut paths = Vec::new();
        for (name, text) in self.sources.iter().chain(&self.headers) {
            let Some(relative) = plain_path(name) else {
                return Err(Error::invalid(format!("\"{name}\" is no path below a folder")));
            };
            let path = root.join(relative);
            std::fs::create_dir_all(path.parent().unwrap_or(&root)).map_err(io)?;
            std::fs::write(&path, text).map_err(io)?;
            paths.push(path);
        }
        paths.truncate(self.sources.len());
        let mut config = self.config.clone();
        // Static device globals of different sources are different variables.
        let identity = self.key("");
        let hash: String = identity.as_bytes().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        config.include(&root).out_dir(folder.path()).out_name(format!("source-{hash}"));
        let prefix = format!("{}/", root.display());
        let name = self.sources.first().map_or("", |(name, _)| name);
        log::info!("compiling kernel source `{name}`");
        let start = std::time::Instant::now();
        let made = config.compile_images(&paths).map_err(|error| diagnosed(&error, &prefix))?;
        log::info!("compiled kernel source `{name}` in {:.1?}", start.elapsed());
        made.warnings.iter().for_each(|line| log::warn!("{}", line.replace(&prefix, "")));
        let headers = made.dependencies.into_iter().filter(|path| !path.starts_with(folder.path())).collect();
        Ok(cached::Made { images: made.images, headers })
    }
}

/// A relative path that stays below its folder.
fn plain_path(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && !name.is_empty()).then_some(path)
}

/// The first error in one line, with the compiler's whole output as the build log. `prefix` is the
/// folder of the sources.
fn diagnosed(error: &oclave_build::Error, prefix: &str) -> Error {
    let text = error.to_string().replace(prefix, "");
    let first = text
        .lines()
        .find(|line| line.contains(": error: ") || line.contains(": fatal error: "))
        .or_else(|| text.lines().next())
        .unwrap_or_default()
        .to_owned();
    let error = refused(error, first);
    if text.lines().nth(1).is_some() { error.with_build_log(text) } else { error }
}

fn refused(error: &oclave_build::Error, message: String) -> Error {
    let kind = match error.kind() {
        Step::Config => ErrorKind::Invalid,
        Step::Io => ErrorKind::Io,
        _ => ErrorKind::Build,
    };
    Error::new(kind, message)
}

impl KernelBundle {
    /// The kernels of source code, compiled now.
    ///
    /// This needs what `oclave-build` needs, on the machine that the program runs on: a `clang` and
    /// an `llvm-spirv` of one version. The context's [`ProgramCache`](crate::kernel::ProgramCache) keeps
    /// the result. The compiler runs again when the text, the options, the compiler or a header
    /// changed.
    ///
    /// # Errors
    /// [`ErrorKind::Build`] when the source does not compile, or there is no compiler.
    /// [`Error::build_log`] has the compiler's words. [`ErrorKind::Invalid`] for options that make
    /// no sense.
    ///
    /// # Safety
    /// As for [`KernelBundle::from_spirv`]: the kernels access only memory that they are given,
    /// whatever arguments and ranges the program launches them with. Text from a stranger is code
    /// from a stranger.
    #[expect(unsafe_code, reason = "the caller promises what nobody can check; nothing unsafe is done here")]
    pub unsafe fn from_source(context: &Context, source: &KernelSource) -> Result<Self> {
        let name = source.sources.first().map_or("", |(name, _)| name);
        let place = |error: Error| error.at(format!("kernel source `{name}`"));
        let containers = source.images(context.programs().disk()).map_err(place)?;
        let images = containers
            .iter()
            .map(|bytes| DeviceImage::from_bytes(bytes).map_err(|error| place(error.into())))
            .collect::<Result<Vec<_>>>()?;
        Self::new(context, images, &containers.concat())
    }
}
