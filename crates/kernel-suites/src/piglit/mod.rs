//! The program tests of piglit: sources of OpenCL C with launches and expected results in a comment.
//!
//! A test passes here as it does by piglit's own program tester, with these differences:
//! - Buffers are followed by [`MARGIN`] more, as some kernels write behind their buffers.
//! - Outputs begin with a pattern, and random inputs are the same each time.
//! - Local memory has the size of the test's buffer, and not just that of a pointer.

mod compare;
mod parse;
mod values;

use std::path::{Path, PathBuf};

use crate::case::{Argument, Case, Check, Launch, Memory, Space};
use crate::run::{MARGIN, PATTERN};
use parse::{Config, Kind, Parameter, Test};

/// A program with its tests.
pub(crate) struct File {
    /// What is compiled.
    pub(crate) program: Program,
    /// In the order of the file. Without any, the program is only built.
    pub(crate) tests: Vec<(String, Result<Case, String>)>,
}

/// A program, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// What the test calls itself; may be empty.
    pub(crate) title: String,
    /// OpenCL C.
    pub(crate) source: String,
    /// The name of the file that the source is from, which ends in `.cl`.
    pub(crate) source_name: String,
    /// For the compiler. Folders of headers are absolute.
    pub(crate) options: Vec<String>,
    /// The lowest version of OpenCL C: 10 is 1.0.
    pub(crate) version_min: u32,
    /// The highest version of OpenCL C.
    pub(crate) version_max: Option<u32>,
    /// Extensions of the device that it needs.
    pub(crate) extensions: Vec<String>,
    /// A POSIX expression that the platform's name must match.
    pub(crate) platform_pattern: Option<String>,
    /// A POSIX expression that the device's name must match.
    pub(crate) device_pattern: Option<String>,
    /// Whether the device needs images.
    pub(crate) needs_images: bool,
    /// Whether a compiler must refuse it.
    pub(crate) expects_build_failure: bool,
}

impl Program {
    /// Arguments for clang, whose version of OpenCL C is 3.0 unless something else is said.
    pub(crate) fn clang_arguments(&self) -> Vec<String> {
        let mut arguments = self.options.clone();
        if let Some(max) = self.version_max.filter(|max| *max < 30 && !self.chooses_version()) {
            arguments.push(standard(max));
        }
        arguments
    }

    fn chooses_version(&self) -> bool {
        self.options.iter().any(|option| option.contains("-cl-std"))
    }
}

fn standard(version: u32) -> String {
    format!("-cl-std=CL{}.{}", version / 10, version % 10)
}

/// All files with tests under piglit's folder, or under another one, relative to it and sorted.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let of_piglit = [root.join("tests/cl/program"), root.join("generated_tests/cl")];
    let mut folders =
        if of_piglit.iter().all(|folder| folder.is_dir()) { of_piglit.into() } else { vec![root.to_owned()] };
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let is_test = path.extension().is_some_and(|ending| ending == "cl" || ending == "program_test");
            if path.is_dir() {
                folders.push(path);
            } else if let Some(path) = path.strip_prefix(root).ok().filter(|_| is_test) {
                found.push(path.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a file of piglit. `path` is relative to `root`, piglit's own folder.
///
/// # Errors
/// A file that cannot be read, or a configuration that piglit would refuse.
pub(crate) fn load(root: &Path, path: &Path) -> Result<File, String> {
    let path = root.join(path);
    let text = read(&path)?;
    let is_program_test = path.extension().is_some_and(|ending| ending == "program_test");
    let configuration = if is_program_test { Some(&*text) } else { parse::comment(&text) };
    let (mut config, tests) = match configuration {
        Some(configuration) => parse::parse(configuration).map_err(|error| error.to_string())?,
        None => (Config::default(), Vec::new()),
    };
    let (source, source_path) = match (is_program_test, config.source.take(), &config.source_file) {
        (true, Some(source), None) => (source, path),
        (true, None, Some(name)) => {
            let path = path.with_file_name(name);
            (read(&path)?, path)
        }
        (false, None, None) => (text, path),
        (true, None, None) => return Err("there is no program".to_owned()),
        _ => return Err("there are several programs".to_owned()),
    };
    let tests = tests.iter().enumerate().map(|(at, test)| {
        let name = format!("{at}:{}", test.name);
        let case = case(&name, test, &config);
        (name, case)
    });
    let tests = tests.collect();
    Ok(File { program: program(config, root, source, &source_path), tests })
}

fn read(path: &Path) -> Result<String, String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn program(config: Config, root: &Path, source: String, path: &Path) -> Program {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Piglit runs its tests in its own folder.
    let mut options: Vec<String> = Vec::new();
    for word in config.options.split_whitespace() {
        let is_folder = options.last().is_some_and(|last| last == "-I");
        options.push(if is_folder { root.join(word).display().to_string() } else { word.to_owned() });
    }
    Program {
        title: config.name.unwrap_or_default(),
        source,
        source_name: if name.ends_with(".cl") { name } else { name + ".cl" },
        options,
        version_min: config.version_min.max(10),
        version_max: (config.version_max > 0).then_some(config.version_max),
        extensions: config.extensions,
        platform_pattern: config.platform_pattern,
        device_pattern: config.device_pattern,
        needs_images: config.needs_images,
        expects_build_failure: config.expects_build_failure,
    }
}

fn case(name: &str, test: &Test, config: &Config) -> Result<Case, String> {
    let kernel = test.kernel.as_ref().or(config.kernel.as_ref()).ok_or("no kernel is named")?;
    let (mut memory, mut outputs, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    let all = || test.inputs.iter().chain(&test.outputs);
    let count = all().map(|parameter| parameter.index + 1).max().unwrap_or(0);
    for index in 0..count {
        let find = |all: &[Parameter]| all.iter().position(|parameter| parameter.index == index);
        let input = find(&test.inputs).and_then(|at| test.inputs.get(at));
        let output = find(&test.outputs).and_then(|at| test.outputs.get(at));
        let parameter = input.or(output).ok_or_else(|| format!("the argument {index} is missing"))?;
        arguments.push(match initial(parameter, input.is_some())? {
            Ok(argument) => argument,
            Err(contents) => {
                memory.push(contents);
                Argument::Memory(memory.len() - 1)
            }
        });
        if let Some(output) = output {
            outputs.push((memory.len() - 1, output.clone()));
        }
    }
    let launch = Launch { kernel: kernel.clone(), arguments, space: space(test)? };
    let check = check(outputs, test.expects_failure);
    Ok(Case { name: name.to_owned(), memory, launches: vec![launch], check })
}

/// The argument for a parameter, or the memory that it needs.
fn initial(parameter: &Parameter, is_input: bool) -> Result<Result<Argument, Memory>, String> {
    let bytes = || parameter.value.clone();
    let pattern = |length| vec![PATTERN; length];
    Ok(match (&parameter.kind, bytes()) {
        (Kind::Value, Some(bytes)) => Ok(Argument::Value(bytes)),
        (Kind::Value, None) => return Err(format!("the argument {} is NULL", parameter.index)),
        (Kind::Buffer, Some(mut bytes)) => {
            if !is_input {
                bytes.fill(PATTERN);
            }
            bytes.extend(pattern(MARGIN));
            Err(Memory::Buffer(bytes))
        }
        (Kind::Buffer, None) => {
            let bytes = parameter.element.total_bytes(parameter.length).unwrap_or(0);
            Ok(Argument::NullOrLocal(bytes.max(size_of::<*const u8>())))
        }
        (Kind::Image { .. }, None) => return Err(format!("the image {} is NULL", parameter.index)),
        (Kind::Image { width, height, order, channel }, Some(bytes)) => Err(Memory::Image {
            width: *width,
            height: *height,
            order: order.clone(),
            channel: channel.clone(),
            is_written: !is_input,
            pixels: if is_input { bytes } else { pattern(bytes.len()) },
        }),
        (Kind::Sampler { is_normalized, addressing, is_linear }, _) => Ok(Argument::Sampler {
            is_normalized: *is_normalized,
            addressing: addressing.clone(),
            is_linear: *is_linear,
        }),
    })
}

/// The work-items, with ones for the dimensions that are not used.
fn space(test: &Test) -> Result<Space, String> {
    let dimensions = usize::try_from(test.dimensions).ok().filter(|count| (1..=3).contains(count));
    let dimensions = dimensions.ok_or_else(|| format!("{} dimensions", test.dimensions))?;
    let used = |mut sizes: [usize; 3], unused| {
        sizes.iter_mut().skip(dimensions).for_each(|size| *size = unused);
        sizes
    };
    Ok(Space {
        dimensions,
        global: used(test.global, 1),
        local: test.local.map(|local| used(local, 1)),
        offset: used(test.offset.unwrap_or_default(), 0),
    })
}

/// Compares all outputs. A test that is to fail needs all of them to be wrong.
fn check(outputs: Vec<(usize, Parameter)>, expects_failure: bool) -> Check {
    Box::new(move |memory| {
        for (at, output) in &outputs {
            let got = memory.get(*at).ok_or_else(|| format!("there is no memory {at}"))?;
            let expected = output.value.as_deref().unwrap_or_default();
            let result = compare::compare(output.element, got, expected, output.tolerance);
            let index = output.index;
            match result {
                Err(error) if !expects_failure => return Err(format!("the argument {index}: {error}")),
                Ok(()) if expects_failure => {
                    return Err(format!("the argument {index} is right, but was to be wrong"));
                }
                _ => {}
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(name: &str, text: &str) -> Result<File, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        load(folder.path(), Path::new(name))
    }

    const TWICE: &str = "/*!
[config]
name: Twice
clc_version_max: 12
build_options: -D N=2 -I headers
kernel_name: twice

[test]
global_size: 2 0 0
arg_out: 1 buffer int[2] 2 4
arg_in: 0 buffer int[2] 1 2
arg_in: 2 buffer int[4] NULL

[test]
expect_test_fail: true
arg_in: 0 buffer int[1] 1
arg_out: 0 buffer int[1] 1

[test]
arg_in: 1 int 1
!*/
kernel void twice() {}
";

    #[test]
    fn tests_become_cases() {
        let file = loaded("twice.cl", TWICE).unwrap();
        assert_eq!(file.program.title, "Twice");
        assert_eq!(file.program.source, TWICE);
        assert!(file.program.options[3].ends_with("/headers"), "{:?}", file.program.options);
        let [(name, Ok(first)), (_, Ok(second)), (_, Err(third))] = &file.tests[..] else { panic!() };
        assert_eq!(name, "0:");
        assert_eq!(first.memory[0].bytes().len(), 8 + MARGIN);
        let launch = &first.launches[0];
        assert_eq!(launch.arguments, [Argument::Memory(0), Argument::Memory(1), Argument::NullOrLocal(16)]);
        let space = Space { dimensions: 1, global: [2, 1, 1], local: Some([1; 3]), offset: [0; 3] };
        assert_eq!(launch.space, space);
        let right = [vec![], vec![2, 0, 0, 0, 4, 0, 0, 0, PATTERN]];
        assert_eq!((first.check)(&right), Ok(()));
        let error = (first.check)(&[vec![], vec![0; 8]]).unwrap_err();
        assert!(error.starts_with("the argument 1: [0] is 0"), "{error}");
        assert!((first.check)(&[]).is_err());
        assert!((second.check)(&[vec![1, 0, 0, 0]]).is_err());
        assert!((second.check)(&[vec![2, 0, 0, 0]]).is_ok());
        assert_eq!(third, "the argument 0 is missing");
    }

    #[test]
    fn programs_know_their_versions() {
        let mut program = loaded("twice.cl", TWICE).unwrap().program;
        assert!(program.clang_arguments().contains(&"-cl-std=CL1.2".to_owned()));
        program.version_max = None;
        assert_eq!(program.clang_arguments().len(), 4);
        (program.options, program.version_max) = (vec!["-cl-std=CL1.1".to_owned()], Some(12));
        assert_eq!(program.clang_arguments(), ["-cl-std=CL1.1"]);
    }

    #[test]
    fn a_program_is_found_once() {
        assert!(loaded("a.cl", "int a;").is_ok_and(|file| file.tests.is_empty()));
        assert!(loaded("a.program_test", "[config]\n").is_err());
        assert!(loaded("a.program_test", "[config]\nprogram_source_file: b.cl").is_err());
        let file = loaded("a.program_test", "[config]\n[program source]\nint a;").unwrap();
        assert_eq!(
            (&file.program.source[..], &file.program.source_name[..]),
            ("int a;", "a.program_test.cl")
        );
        assert!(loaded("a.cl", "/*![config]\nprogram_source_file: b.cl\n!*/").is_err());
    }

    /// Reads piglit itself where `OCLAVE_PIGLIT` says where it is (`ci/piglit fetch` prints that).
    #[test]
    fn all_of_piglit_is_read() {
        let Some(root) = std::env::var_os("OCLAVE_PIGLIT").map(PathBuf::from) else {
            println!("skipped: OCLAVE_PIGLIT is not set");
            return;
        };
        let (mut count, mut bad) = (0, Vec::new());
        let files = files(&root).unwrap();
        for path in &files {
            match load(&root, path) {
                Ok(file) => {
                    count += file.tests.len();
                    let errors = file.tests.into_iter().filter_map(|(name, case)| Some((name, case.err()?)));
                    bad.extend(errors.map(|(name, error)| format!("{} {name}: {error}", path.display())));
                }
                Err(error) => bad.push(format!("{}: {error}", path.display())),
            }
        }
        println!("{} files, {count} tests, {} are bad: {bad:#?}", files.len(), bad.len());
        assert!(bad.is_empty() && files.len() > 600 && count > 4000);
    }
}
