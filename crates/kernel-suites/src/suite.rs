//! Suites: collections of programs with cases.

use std::path::{Path, PathBuf};

use oclave_image::DeviceImage;

use crate::case::Case;
use crate::real::Comparison;
use crate::{classics, images, piglit, real};

/// A program and its cases.
pub(crate) struct Program {
    /// Unique within its suite. It may have slashes.
    pub name: String,
    /// The file name of the source, for messages.
    pub file: String,
    /// OpenCL C.
    pub source: String,
    /// Folders of headers.
    pub includes: Vec<PathBuf>,
    /// Options of the compiler: macros, the version of the language.
    pub options: Vec<String>,
    /// The device features that the program needs.
    pub needs: Needs,
    /// Whether compilers must refuse the program.
    pub is_invalid: bool,
    /// The cases, in the order of reports.
    pub cases: Vec<Case>,
    /// Set if the right results are unknown. The cases then have no check of their own. The results of
    /// oclave are compared with those of the driver's own compiler instead.
    pub compare: Option<Compare>,
}

/// Compares two runs of a case: the case's number, and the final contents of all its memory after the
/// driver's own compiler and after oclave.
pub(crate) type Compare = Box<dyn Fn(usize, &[Vec<u8>], &[Vec<u8>]) -> Comparison>;

/// The device features that a program needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    /// Extensions of OpenCL.
    pub extensions: Vec<String>,
    /// The oldest version of OpenCL C: 12 for 1.2, 0 for any.
    pub oldest_version: u32,
    /// The newest version of OpenCL C, in the same form.
    pub newest_version: u32,
    /// Whether the program uses images.
    pub images: bool,
    /// The only platform or device that the program is for, if any.
    pub platform: Option<String>,
}

/// A collection of programs.
pub(crate) trait Suite: Sync {
    /// The names of all programs.
    fn names(&self) -> Vec<String>;

    /// The program of a name. `images` is the folder of device images, where they are built.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn program(&self, name: &str, images: &Path) -> Result<Program, String>;
}

/// The kernels of `kernels/classics`. Rust code calculates the right results.
struct Classics;

impl Suite for Classics {
    fn names(&self) -> Vec<String> {
        classics::programs().into_iter().map(|classic| classic.name.to_owned()).collect()
    }

    fn program(&self, name: &str, _images: &Path) -> Result<Program, String> {
        let classic = classics::programs().into_iter().find(|classic| classic.name == name);
        let classic = classic.ok_or_else(|| format!("there is no classic {name}"))?;
        let path = classics::source(name);
        let source =
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Program {
            name: name.to_owned(),
            file: format!("{name}.cl"),
            source,
            includes: Vec::new(),
            options: Vec::new(),
            needs: Needs { oldest_version: 12, ..Needs::default() },
            is_invalid: false,
            cases: (classic.cases)(),
            compare: None,
        })
    }
}

/// The program tests of piglit in a folder.
struct Piglit {
    root: PathBuf,
}

impl Suite for Piglit {
    fn names(&self) -> Vec<String> {
        let files = piglit::files(&self.root).unwrap_or_default();
        files.iter().map(|path| path.display().to_string()).collect()
    }

    fn program(&self, name: &str, _images: &Path) -> Result<Program, String> {
        let piglit::File { program, tests } = piglit::load(&self.root, Path::new(name))?;
        let cases = tests.into_iter().map(|(name, case)| case.map_err(|error| format!("{name}: {error}")));
        Ok(Program {
            name: name.to_owned(),
            options: program.clang_arguments(),
            needs: Needs {
                extensions: program.extensions,
                oldest_version: program.version_min,
                newest_version: program.version_max.unwrap_or(0),
                images: program.needs_images,
                platform: program.platform_pattern.or(program.device_pattern),
            },
            file: program.source_name,
            source: program.source,
            includes: Vec::new(),
            is_invalid: program.expects_build_failure,
            cases: cases.collect::<Result<_, _>>()?,
            compare: None,
        })
    }
}

/// Kernels of other projects: a folder of preprocessed sources, as `ci/real` makes it.
struct Real {
    root: PathBuf,
}

impl Suite for Real {
    fn names(&self) -> Vec<String> {
        let files = real::sources(&self.root).unwrap_or_default();
        files.iter().map(|path| path.display().to_string()).collect()
    }

    fn program(&self, name: &str, images: &Path) -> Result<Program, String> {
        let path = self.root.join(name);
        let source = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let source = String::from_utf8_lossy(&source).into_owned();
        // Without images there are no cases, and the compiler says why.
        let made = images::load(images, name).unwrap_or_default();
        let made: Vec<DeviceImage> =
            made.iter().filter_map(|bytes| DeviceImage::from_bytes(bytes).ok()).collect();
        // A kernel with parameters that no rule fills is no case.
        let kernels: Vec<real::Kernel> =
            real::kernels(&made, &source).into_iter().filter_map(|(_, kernel)| kernel.ok()).collect();
        let (cases, comparers): (Vec<_>, Vec<_>) = kernels.into_iter().map(real::Kernel::into_parts).unzip();
        Ok(Program {
            name: name.to_owned(),
            file: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            source,
            includes: Vec::new(),
            options: real::CLANG_ARGUMENTS.map(str::to_owned).to_vec(),
            needs: Needs { oldest_version: 30, ..Needs::default() },
            is_invalid: false,
            cases,
            compare: Some(Box::new(move |number, source, ours| match comparers.get(number) {
                Some(comparer) => comparer.compare(source, ours),
                None => Comparison::Different(format!("there is no case {number}")),
            })),
        })
    }
}

/// Sources that whole programs built, as `compiler-layer` recorded them. They have no cases: the programs have.
struct Recorded {
    root: PathBuf,
}

impl Suite for Recorded {
    fn names(&self) -> Vec<String> {
        let files = real::sources(&self.root).unwrap_or_default();
        files.iter().map(|path| path.with_extension("").display().to_string()).collect()
    }

    fn program(&self, name: &str, _images: &Path) -> Result<Program, String> {
        let read = |extension: &str| {
            let path = self.root.join(format!("{name}.{extension}"));
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Program {
            name: name.to_owned(),
            file: format!("{name}.cl"),
            source: read("cl")?,
            includes: Vec::new(),
            options: std::iter::once("-w".to_owned())
                .chain(read("options")?.lines().map(str::to_owned))
                .collect(),
            needs: Needs::default(),
            is_invalid: false,
            cases: Vec::new(),
            compare: None,
        })
    }
}

/// The suite of a name: `classics`, `piglit=FOLDER`, `real=FOLDER` or `recorded=FOLDER`.
///
/// # Errors
/// The names that there are.
pub(crate) fn suite(name: &str) -> Result<Box<dyn Suite>, String> {
    match name.split_once('=') {
        None if name == "classics" => Ok(Box::new(Classics)),
        Some(("piglit", root)) => Ok(Box::new(Piglit { root: PathBuf::from(root) })),
        Some(("real", root)) => Ok(Box::new(Real { root: PathBuf::from(root) })),
        Some(("recorded", root)) => Ok(Box::new(Recorded { root: PathBuf::from(root) })),
        _ => Err(format!("there is no suite {name}: use classics, or piglit, real or recorded with =FOLDER")),
    }
}
