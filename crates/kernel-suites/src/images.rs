//! Device images of programs: made where the compiler is, loaded where the device is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::suite::Program;

/// The file of a program's folder that says why it did not compile.
const ERROR: &str = "error";
/// The file that says that the folder is complete, and of what.
const DONE: &str = "done";

/// The folder of a program's images.
pub(crate) fn folder(images: &Path, program: &str) -> PathBuf {
    images.join(program.replace('/', "+"))
}

/// Compiles a program, unless that was done before by this version of this program. What the
/// compiler refuses is noted for [`load`].
///
/// # Errors
/// Files that cannot be written.
pub(crate) fn build(images: &Path, program: &Program, arguments: &[String]) -> Result<(), String> {
    let folder = folder(images, &program.name);
    let io = |error: std::io::Error| format!("{}: {error}", folder.display());
    let me = std::env::current_exe().and_then(fs::metadata).and_then(|me| me.modified()).map_err(io)?;
    let inputs = format!("{me:?}\n{:?}\n{arguments:?}\n{}", program.options, program.source);
    if fs::read_to_string(folder.join(DONE)).is_ok_and(|done| done == inputs) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(io)?;
    }
    let sources = folder.join("source");
    fs::create_dir_all(&sources).map_err(io)?;
    let path = sources.join(&program.file);
    fs::write(&path, &program.source).map_err(io)?;
    let mut config = oclave_build::Config::new();
    // Cargo's variables, where it runs this, are about another package.
    for variable in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "TARGET", "OUT_DIR", "NUM_JOBS"] {
        config.env(variable, "");
    }
    config.out_dir(&folder).out_name("program");
    program.includes.iter().for_each(|include| {
        config.include(include);
    });
    // Levels are an option of the build, since clang runs no pass itself.
    let level = arguments.iter().rev().find_map(|argument| argument.strip_prefix("-O")?.parse().ok());
    level.into_iter().for_each(|level| {
        config.opt_level(level);
    });
    let is_other = |argument: &&String| !argument.starts_with("-O");
    config.extra_args(program.options.iter().chain(arguments.iter().filter(is_other)));
    config.fp_contract(arguments.iter().any(|argument| argument == "-ffp-contract=on"));
    match config.compile_images(&[path]) {
        Ok(made) => {
            for (number, bytes) in made.images.iter().enumerate() {
                fs::write(folder.join(format!("{number}.oclimg")), bytes).map_err(io)?;
            }
        }
        Err(error) => fs::write(folder.join(ERROR), format!("{error:#}")).map_err(io)?,
    }
    fs::write(folder.join(DONE), inputs).map_err(io)
}

/// The images of a program.
///
/// # Errors
/// Why the program did not compile.
pub(crate) fn load(images: &Path, program: &str) -> Result<Vec<Vec<u8>>, String> {
    let folder = folder(images, program);
    if let Ok(error) = fs::read_to_string(folder.join(ERROR)) {
        return Err(error);
    }
    if !folder.join(DONE).exists() {
        return Err(format!("{program} was not compiled: run kernel-suites build"));
    }
    Ok((0..).map_while(|number| fs::read(folder.join(format!("{number}.oclimg"))).ok()).collect())
}

/// The file of what the driver's own compiler left behind in all memory of a case.
fn kept(images: &Path, program: &str, device: &str, number: usize) -> PathBuf {
    folder(images, program).join(format!("{device}-{number}.bin"))
}

/// Keeps the contents of all memory after a case that the driver's own compiler ran.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn keep(
    images: &Path,
    program: &str,
    device: &str,
    number: usize,
    contents: &[Vec<u8>],
) -> Result<(), String> {
    let path = kept(images, program, device, number);
    let mut bytes = Vec::new();
    for memory in contents {
        bytes.extend((memory.len() as u64).to_le_bytes());
        bytes.extend(memory);
    }
    fs::create_dir_all(folder(images, program))
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// What [`keep`] kept, if anything.
pub(crate) fn recall(images: &Path, program: &str, device: &str, number: usize) -> Option<Vec<Vec<u8>>> {
    let bytes = fs::read(kept(images, program, device, number)).ok()?;
    let (mut rest, mut contents) = (&bytes[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        contents.push(after.get(..length)?.to_vec());
        rest = after.get(length..)?;
    }
    Some(contents)
}

/// Forgets what [`keep`] kept, so that an older run is not compared with.
pub(crate) fn forget(images: &Path, program: &str, device: &str, number: usize) {
    // What is not there need not go.
    let _ = fs::remove_file(kept(images, program, device, number));
}
