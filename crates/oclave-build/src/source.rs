//! The sources of one program: which files, in which language, and the names that follow from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::{Error, Result};

/// A language that kernels are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// OpenCL C 3.0.
    OpenClC,
    /// C++ for OpenCL 2021.
    CppForOpenCl,
    /// Rust.
    Rust,
}

impl Language {
    /// What makes clang read it.
    pub(crate) fn arguments(self) -> &'static [&'static str] {
        match self {
            // The version of the device, which clang leaves to drivers to define.
            Self::OpenClC => &["-x", "cl", "-cl-std=CL3.0", "-D__OPENCL_VERSION__=300"],
            // Exceptions and guarded statics do not exist on devices. Run-time type information
            // stays: it tells post-link who derives from whom, and goes no further. Objects that
            // are copied bytewise and then called break under strict aliasing. With constructor
            // aliases, clang may put the base class's destructor into a vtable at some levels
            // only. Vtables of one class would then differ. Clang 15 crashes where placement new looks for a form with an
            // alignment, which is only declared by the C++ library.
            Self::CppForOpenCl => &[
                "-x",
                "clcpp",
                "-cl-std=CLC++2021",
                "-D__OPENCL_VERSION__=300",
                "-fno-exceptions",
                "-fno-threadsafe-statics",
                "-fno-strict-aliasing",
                "-fno-aligned-allocation",
                "-Xclang",
                "-mno-constructor-aliases",
            ],
            Self::Rust => &[],
        }
    }
}

/// A source file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// File name without extension: the name of its image and of its Rust module.
    pub(crate) stem: String,
    pub(crate) language: Language,
}

/// The file that makes a folder a package of Rust.
pub(crate) const MANIFEST: &str = "Cargo.toml";

impl Source {
    /// Whether it is a package of Rust, by its manifest.
    pub(crate) fn is_package(&self) -> bool {
        self.path.file_name().is_some_and(|name| name == MANIFEST)
    }

    /// The name that tells this source's static variables from those of all other sources in an
    /// application, other programs and packages included: `package/program/stem`.
    pub(crate) fn unit(&self, config: &Config) -> String {
        let package = config.environment.var("CARGO_PKG_NAME").unwrap_or_default();
        let unit = format!("{}/{}/{}", package.to_string_lossy(), config.out_name, self.stem);
        // Quotes and commas mean something where it is used.
        unit.replace(['"', '\\', ',', '\n'], "_")
    }

    /// The path for generated code and for the manifest of checked-in images.
    ///
    /// It has `/` on every system, and is relative to the package if possible. So the same sources
    /// give the same text everywhere.
    pub(crate) fn display(&self, package: Option<&Path>) -> String {
        portable(&self.path, package)
    }
}

/// See [`Source::display`].
pub(crate) fn portable(path: &Path, package: Option<&Path>) -> String {
    let relative = package.and_then(|package| path.strip_prefix(package).ok()).unwrap_or(path);
    relative.to_string_lossy().replace('\\', "/")
}

/// The kernel sources (`.cl`, `.clcpp`) of a folder, sorted, folders inside it not included.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io) where the folder cannot be read.
pub fn sources_in(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let folder = folder.as_ref();
    let entries = std::fs::read_dir(folder).map_err(|error| Error::io("read the folder", folder, error))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cl" || extension == "clcpp"))
        .collect();
    paths.sort();
    Ok(paths)
}

/// Takes the sources of a program, in order.
pub(crate) fn sources<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Source>> {
    if paths.is_empty() {
        return Err(Error::config("no kernel sources are given; a program has at least one"));
    }
    let mut stems: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut sources = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let language = match path.extension().and_then(|extension| extension.to_str()) {
            Some("cl") => Language::OpenClC,
            Some("clcpp") => Language::CppForOpenCl,
            Some("rs") => Language::Rust,
            _ if path.file_name().is_some_and(|name| name == MANIFEST) => Language::Rust,
            _ => {
                return Err(Error::config(format!(
                    "{}: kernel sources end in .cl (OpenCL C 3.0), .clcpp (C++ for OpenCL 2021) or .rs (Rust)",
                    path.display()
                )));
            }
        };
        if !path.is_file() {
            return Err(Error::config(format!(
                "there is no kernel source {}; paths are relative to the package's folder",
                path.display()
            )));
        }
        // A package has the name of its folder.
        let is_package = path.file_name().is_some_and(|name| name == MANIFEST);
        let named = if is_package { path.parent().unwrap_or(path) } else { path };
        // `.` and `..` are no names.
        let folder = named.file_name().is_none().then(|| named.join(".").canonicalize().ok()).flatten();
        let named = folder.as_deref().unwrap_or(named);
        let Some(stem) = named.file_stem().and_then(|stem| stem.to_str()) else {
            return Err(Error::config(format!("{}: the file name is not UTF-8", path.display())));
        };
        if let Some(other) = stems.insert(crate::codegen::module_name(stem), path.to_path_buf()) {
            return Err(Error::config(format!(
                "{} and {} would share one Rust module; rename one, or compile them as two programs with `out_name`",
                other.display(),
                path.display()
            )));
        }
        sources.push(Source { path: path.to_path_buf(), stem: stem.to_owned(), language });
    }
    Ok(sources)
}
