//! One program from sources to images and Rust: the steps in order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use oclave_image::passes::{LinkInput, link_languages};
use oclave_image::{DeviceImage, FILE_EXTENSION, PostLinkOptions, PropertyValue, TranslationUnit, post_link};

use crate::cargo::Cargo;
use crate::checked_in::CheckedIn;
use crate::codegen;
use crate::compile::{Compiler, Unit};
use crate::config::Config;
use crate::device_config::{self, DeviceConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::headers;
use crate::host;
use crate::overlay;
use crate::rust::{self, Rustc};
use crate::source::{self, Language, Source};
use crate::toolchain::{self, Toolchain};
use crate::translate::{self, Translated};
use crate::undefined;
use crate::without_fp64;

/// Switches the rewriting of checked-in images on.
const UPDATE: &str = "OCLAVE_UPDATE_CHECKED_IN";
/// Property set and property that tell which tools made an image.
const BUILD_SET: &str = "oclave/build";
const TOOLCHAIN: &str = "toolchain";

/// What a build wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The generated Rust.
    pub rust: PathBuf,
    /// The device images.
    pub images: Vec<PathBuf>,
    /// The static library with the shared functions, where the program has some.
    pub host_library: Option<PathBuf>,
}

/// Rust files of this process's earlier calls: a second program of one name would replace the first
/// without a word.
static WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

pub(crate) fn build<P: AsRef<Path>>(config: &Config, paths: &[P], cargo: &mut dyn Write) -> Result<Output> {
    let mut cargo = Cargo::new(cargo);
    toolchain::TOOL_VARIABLES.iter().for_each(|variable| cargo.rerun_if_env_changed(variable));
    paths.iter().for_each(|path| cargo.rerun_if_changed(path.as_ref()));
    let sources = source::sources(paths)?;
    let out_dir = config.output_folder()?;
    let checked_in = config.checked_in.as_deref().map(|folder| CheckedIn::new(config, folder, &sources));
    if let Some(checked_in) = &checked_in {
        cargo.rerun_if_env_changed(UPDATE);
        cargo.rerun_if_changed(checked_in.manifest());
    }
    let contents = match (Tools::find(config, &sources), &checked_in) {
        (Ok(tools), _) => {
            let (contents, dependencies) = compile(config, &tools, &sources, &out_dir, &mut cargo)?;
            if let Some(checked_in) = &checked_in {
                if config.update_checked_in || config.environment.flag(UPDATE) {
                    checked_in.update(&contents, &dependencies, &tools.describe())?;
                } else if let Err(stale) = checked_in.load() {
                    cargo.warning(&format!("{stale}; a compiler is here, so this build does not need them"));
                }
            }
            contents
        }
        (Err(error), Some(checked_in)) => {
            let contents = checked_in.load().map_err(|stale| {
                Error::new(ErrorKind::CheckedIn, format!("{stale}; and there is no compiler: {error}"))
            })?;
            checked_in.dependencies().iter().for_each(|path| cargo.rerun_if_changed(path));
            cargo.warning(&format!(
                "no compiler for kernels: using the images checked in at {}, whose sources are unchanged",
                checked_in.folder().display()
            ));
            contents
        }
        (Err(error), None) => {
            return Err(error.or_else_do(
                "or check images in beside the sources (`Config::checked_in`) on a machine that has a compiler",
            ));
        }
    };
    write(config, &out_dir, &contents, &mut cargo)
}

/// What compiles the sources of a program.
struct Tools {
    /// For OpenCL C and C++.
    clang: Option<Toolchain>,
    /// For Rust.
    rustc: Option<Rustc>,
}

impl Tools {
    /// Finds what the languages of a program need.
    fn find(config: &Config, sources: &[Source]) -> Result<Self> {
        let has_rust = sources.iter().any(|source| source.language == Language::Rust);
        let has_others = sources.iter().any(|source| source.language != Language::Rust);
        Ok(Self {
            clang: has_others.then(|| Toolchain::find(&config.environment)).transpose()?,
            rustc: has_rust.then(|| Rustc::find(&config.environment)).transpose()?,
        })
    }

    /// As recorded in images.
    fn describe(&self) -> String {
        let clang = self.clang.as_ref().map(Toolchain::describe);
        let rustc = self.rustc.as_ref().map(|rustc| rustc.describe().to_owned());
        clang.into_iter().chain(rustc).collect::<Vec<_>>().join(", ")
    }
}

/// Where a program is compiled.
#[derive(Clone, Copy)]
struct Folders<'a> {
    headers: &'a Path,
    work: &'a Path,
}

/// What a program consists of: file names and bytes, the Rust last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) images: Vec<(String, Vec<u8>)>,
    pub(crate) library: Option<host::Library>,
    pub(crate) rust: String,
}

/// The device images of a program, for programs that compile kernels while they run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Images {
    /// The images, as the files of [`Output::images`] hold them.
    pub images: Vec<Vec<u8>>,
    /// The sources and the headers that they include, the compiler's own not among them.
    pub dependencies: Vec<PathBuf>,
    /// The compiler's warnings, a line each.
    pub warnings: Vec<String>,
}

/// Compiles a program without the Rust that would launch its kernels.
pub(crate) fn images<P: AsRef<Path>>(config: &Config, paths: &[P]) -> Result<Images> {
    let sources = source::sources(paths)?;
    let tools = Tools::find(config, &sources)?;
    let mut instructions = Vec::new();
    let mut cargo = Cargo::new(&mut instructions);
    let out_dir = config.output_folder()?;
    let headers = headers::write(&out_dir)?;
    let work = work_folder(config, &out_dir)?;
    let folders = Folders { headers: &headers, work: &work };
    let (images, units) = device_images(config, &tools, folders, &sources, &mut cargo)?;
    Ok(Images {
        images: images.iter().map(DeviceImage::to_bytes).collect(),
        dependencies: units.into_iter().flat_map(|unit| unit.dependencies).collect(),
        warnings: cargo.warnings(),
    })
}

fn work_folder(config: &Config, out_dir: &Path) -> Result<PathBuf> {
    let work = out_dir.join(format!("{}.work", config.out_name));
    std::fs::create_dir_all(&work).map_err(|error| Error::io("create", &work, error))?;
    Ok(work)
}

/// The sources of one compiler, and those of the other.
fn by_compiler(sources: &[Source]) -> (Vec<Source>, Vec<Source>) {
    sources.iter().cloned().partition(|source| source.language != Language::Rust)
}

/// Compiles, links, translates and splits a program. The units are in the order of the sources.
fn device_images(
    config: &Config,
    tools: &Tools,
    folders: Folders<'_>,
    sources: &[Source],
    cargo: &mut Cargo<'_>,
) -> Result<(Vec<DeviceImage>, Vec<Unit>)> {
    let (others, in_rust) = by_compiler(sources);
    let compiler = tools.clang.as_ref().map(|toolchain| Compiler {
        config,
        toolchain,
        headers: folders.headers,
        work: folders.work,
    });
    let (mut units, mut linked) = (Vec::new(), Vec::new());
    let mut of_others = None;
    if let Some(compiler) = &compiler {
        let (compiled, translated) = translate::program(compiler, &others, cargo)?;
        units = compiled;
        if config.single_pass {
            // The host's side is an image like the others.
            units.iter_mut().for_each(|unit| unit.declarations.shared.clear());
        }
        of_others = Some(translation_unit(config, &others, &units, translated));
    }
    let mut rust = match &tools.rustc {
        Some(rustc) => {
            let module = of_others.as_ref().map(|unit| &unit.module);
            Some(rust::compile(config, rustc, &in_rust, folders.work, module, cargo)?)
        }
        None => None,
    };
    let mut are_linked = false;
    if let Some(rust) = &rust {
        let translated = Translated { module: rust.module.clone(), sources: Vec::new() };
        let mut unit = translation_unit(config, &in_rust, &rust.units, translated);
        match &mut of_others {
            Some(others) if rust.is_linked_with(&others.module) => {
                join_languages(others, &unit)?;
                others.name.clone_from(&config.out_name);
                are_linked = true;
            }
            Some(_) => {
                unit.name = format!("{}.rust", unit.name);
                linked.push(unit);
            }
            None => linked.push(unit),
        }
    }
    linked.splice(0..0, of_others);
    let mut options = PostLinkOptions::default();
    options.round_products = !config.fp_contract;
    options.non_uniform_work_groups = config.non_uniform_work_groups;
    options.split = config.split;
    options.virtual_call_depth = config.virtual_call_depth;
    let in_rust_alone = linked.last().filter(|_| rust.is_some() && !are_linked).cloned();
    let mut images = post_link(&linked, &options).map_err(|error| {
        let names: Vec<String> = sources.iter().map(|source| source.path.display().to_string()).collect();
        Error::new(ErrorKind::PostLink, format!("post-link of {}", names.join(", "))).with_source(error)
    })?;
    if let Some(compiler) = &compiler {
        undefined::refuse(compiler, &others, &images)?;
        // Doubles in Rust are those that the source writes. Languages that call each other have one form.
        let of_others = kernel_sources(&others, &units);
        if are_linked {
        } else if in_rust.is_empty() {
            without_fp64::add(compiler, &others, &units, &options, &mut images)?;
        } else {
            let is_other =
                |image: &DeviceImage| image.kernels.iter().any(|kernel| of_others.contains_key(&kernel.name));
            let (mut own, rest): (Vec<_>, Vec<_>) = images.into_iter().partition(is_other);
            without_fp64::add(compiler, &others, &units, &options, &mut own)?;
            own.extend(rest);
            images = own;
        }
    }
    if let Some(rust) = &rust {
        images.iter_mut().for_each(|image| rust.describe(image));
        if let Some(unit) = in_rust_alone.filter(|unit| oclave_image::passes::printf::prints(&unit.module)) {
            rust.add_without_fp64(unit, &options, &mut images)?;
        }
    }
    if let Some((path, targets)) = &config.device_config {
        cargo.rerun_if_changed(path);
        cargo.rerun_if_env_changed(oclave_ptx::LIBRARY_VARIABLE);
        images = DeviceConfig::read(path)?.images_for(targets, &images, true)?;
    }
    if config.nvidia {
        cargo.rerun_if_env_changed(oclave_ptx::LIBRARY_VARIABLE);
        for image in &mut images {
            let place = format!("image `{}`", image.name);
            oclave_ptx::add_library(image).map_err(|error| device_config::no_ptx(&place, error))?;
        }
    }
    let units = in_order(sources, units, rust.take().map(|rust| rust.units).unwrap_or_default());
    for image in &mut images {
        overlay::kernels(image, &units);
        let described = tools.describe().into_bytes();
        image.properties.insert(BUILD_SET, TOOLCHAIN, PropertyValue::Bytes(described));
    }
    Ok((images, units))
}

/// Joins the module of sources in Rust with that of the others.
fn join_languages(others: &mut TranslationUnit, in_rust: &TranslationUnit) -> Result<()> {
    let input = |name, module| LinkInput { name, module };
    let inputs = [input("OpenCL C", &others.module), input("Rust", &in_rust.module)];
    others.module = link_languages(&inputs).map_err(|error| {
        Error::new(ErrorKind::Link, "sources in Rust and in OpenCL C do not fit together").with_source(error)
    })?;
    others.kernel_sources.extend(in_rust.kernel_sources.clone());
    Ok(())
}

/// The units of all sources in their order.
fn in_order(sources: &[Source], others: Vec<Unit>, in_rust: Vec<Unit>) -> Vec<Unit> {
    let (mut others, mut in_rust) = (others.into_iter(), in_rust.into_iter());
    let next = |source: &Source| match source.language {
        Language::Rust => in_rust.next(),
        _ => others.next(),
    };
    sources.iter().filter_map(next).collect()
}

/// What post-link starts from.
pub(crate) fn translation_unit(
    config: &Config,
    sources: &[Source],
    units: &[Unit],
    translated: Translated,
) -> TranslationUnit {
    let name = match sources {
        [source] => source.stem.clone(),
        _ => config.out_name.clone(),
    };
    let mut unit = TranslationUnit::new(name, translated.module);
    unit.kernel_sources = kernel_sources(sources, units);
    unit.sources = translated.sources;
    unit
}

fn compile(
    config: &Config,
    tools: &Tools,
    sources: &[Source],
    out_dir: &Path,
    cargo: &mut Cargo<'_>,
) -> Result<(Contents, Vec<PathBuf>)> {
    let headers = headers::write(out_dir)?;
    let work = work_folder(config, out_dir)?;
    let folders = Folders { headers: &headers, work: &work };
    let (images, units) = device_images(config, tools, folders, sources, cargo)?;
    let files = image_files(config, &images);
    let package = config.package();
    let generated: Vec<codegen::Source<'_>> = sources
        .iter()
        .zip(&units)
        .map(|(source, unit)| codegen::Source {
            stem: &source.stem,
            unit: source.unit(config),
            path: source.display(package.as_deref()),
            declarations: &unit.declarations,
        })
        .collect();
    let library = match &tools.clang {
        Some(toolchain) => {
            let compiler = Compiler { config, toolchain, headers: &headers, work: &work };
            host::library(&compiler, sources, &units)?
        }
        None => None,
    };
    let program = codegen::Program {
        config,
        name: &config.out_name,
        sources: &generated,
        images: &images,
        files: &files,
    };
    let codegen::Generated { rust, warnings } = codegen::generate(&program)?;
    warnings.iter().for_each(|warning| cargo.warning(warning));
    let images = files.into_iter().zip(images.iter().map(DeviceImage::to_bytes)).collect();
    let dependencies = units.into_iter().flat_map(|unit| unit.dependencies).collect();
    Ok((Contents { images, library, rust }, dependencies))
}

fn kernel_sources(sources: &[Source], units: &[Unit]) -> BTreeMap<String, String> {
    let of_unit = |(source, unit): (&Source, &Unit)| {
        let stem = source.stem.clone();
        let names: Vec<String> = unit.declarations.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        names.into_iter().map(move |name| (name, stem.clone()))
    };
    sources.iter().zip(units).flat_map(of_unit).collect()
}

/// The names of the images' files.
///
/// They begin with the program's name, which distinguishes several programs. Characters that file
/// names cannot hold become `_`, and equal names get a number.
fn image_files(config: &Config, images: &[DeviceImage]) -> Vec<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let mut used = BTreeSet::new();
    let mut file = |image: &DeviceImage| {
        let name: String = image.name.chars().map(plain).collect();
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let name = names.find(|name| used.insert(name.to_ascii_lowercase())).unwrap_or(name.clone());
        format!("{}.{name}.{FILE_EXTENSION}", config.out_name)
    };
    images.iter().map(&mut file).collect()
}

fn write(config: &Config, out_dir: &Path, contents: &Contents, cargo: &mut Cargo<'_>) -> Result<Output> {
    let rust = out_dir.join(format!("{}.rs", config.out_name));
    if !WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).insert(rust.clone()) {
        return Err(Error::config(format!(
            "two programs of this build are named \"{}\"; give each a name with `out_name`",
            config.out_name
        )));
    }
    let mut images = Vec::new();
    for (name, bytes) in &contents.images {
        let path = out_dir.join(name);
        files::write(&path, bytes)?;
        images.push(path);
    }
    let mut host_library = None;
    if let Some(library) = &contents.library {
        let path = out_dir.join(&library.file);
        files::write(&path, &library.bytes)?;
        cargo.link_search(out_dir);
        host_library = Some(path);
    }
    files::write(&rust, contents.rust.as_bytes())?;
    cargo.program(&config.out_name, &rust);
    Ok(Output { rust, images, host_library })
}
