//! Device images of programs: made where the compiler is, loaded where the device is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::suite::Program;

/// The file of a program's folder that says why it did not compile.
const ERROR: &str = "error";
/// The file that says that the folder is complete, and of what.
const DONE: &str = "done";
/// The file that lists the headers of a program.
const HEADERS: &str = "headers";
/// The variables that name tools of `oclave-build`.
const TOOLS: [&str; 4] = ["OCLAVE_CLANG", "OCLAVE_OPT", "OCLAVE_LLVM_LINK", "OCLAVE_LLVM_SPIRV"];

/// The folder of a program's images.
pub(crate) fn folder(images: &Path, program: &str) -> PathBuf {
    images.join(program.replace('/', "+"))
}

/// Compiles a program, unless that was done before by this version of this program, with the same compiler
/// and headers. What the compiler refuses is noted for [`load`].
///
/// # Errors
/// Files that cannot be written.
pub(crate) fn build(images: &Path, program: &Program, arguments: &[String]) -> Result<(), String> {
    let folder = folder(images, &program.name);
    let io = |error: std::io::Error| format!("{}: {error}", folder.display());
    let me = std::env::current_exe().and_then(fs::metadata).and_then(|me| me.modified()).map_err(io)?;
    let inputs = format!("{me:?}\n{}{:?}\n{arguments:?}\n{}", compiler(), program.options, program.source);
    let headers = fs::read_to_string(folder.join(HEADERS)).unwrap_or_default();
    let is_done = |done| done == format!("{}{inputs}", times(&headers));
    if fs::read_to_string(folder.join(DONE)).is_ok_and(is_done) {
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
    let mut headers = String::new();
    match config.compile_images(&[&path]) {
        Ok(made) => {
            let others = made.dependencies.iter().filter(|file| **file != path);
            headers = others.map(|file| format!("{}\n", file.display())).collect();
            for (number, bytes) in made.images.iter().enumerate() {
                fs::write(folder.join(format!("{number}.oclimg")), bytes).map_err(io)?;
            }
        }
        Err(error) => fs::write(folder.join(ERROR), format!("{error:#}")).map_err(io)?,
    }
    fs::write(folder.join(HEADERS), &headers).map_err(io)?;
    fs::write(folder.join(DONE), format!("{}{inputs}", times(&headers))).map_err(io)
}

/// The compiler that a build takes now: its programs, when they changed, and their versions.
fn compiler() -> &'static str {
    static COMPILER: OnceLock<String> = OnceLock::new();
    COMPILER.get_or_init(|| {
        let tools = TOOLS.map(|name| times(&std::env::var(name).unwrap_or_default()));
        let found = oclave_build::Config::new().toolchain().unwrap_or_default();
        format!("{}{found}\n", tools.concat())
    })
}

/// Files, a line each, with the times when they changed.
fn times(files: &str) -> String {
    let time = |file: &str| fs::metadata(file).and_then(|file| file.modified()).ok();
    files.lines().map(|file| format!("{file} {:?}\n", time(file))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Needs;

    #[test]
    fn another_header_or_compiler_makes_other_images() {
        if oclave_build::Config::new().toolchain().is_err() {
            println!("skipped: no compiler");
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let header = root.path().join("by.h");
        let program = Program {
            name: "k".to_owned(),
            file: "k.cl".to_owned(),
            source: "#include \"by.h\"\nkernel void k(global int *x) { x[0] += BY; }\n".to_owned(),
            includes: vec![root.path().to_owned()],
            options: Vec::new(),
            needs: Needs::default(),
            is_invalid: false,
            cases: Vec::new(),
            compare: None,
        };
        let images = || {
            build(root.path(), &program, &[]).unwrap();
            load(root.path(), "k").unwrap()
        };
        fs::write(&header, "#define BY 3\n").unwrap();
        let first = images();
        // An image that is not made again stays as it is here.
        let file = root.path().join("k/0.oclimg");
        fs::write(&file, b"kept").unwrap();
        assert_eq!(images(), [b"kept"]);
        fs::write(&header, "#define BY 4\n").unwrap();
        let second = images();
        assert!(second != first && second != [b"kept"]);
        // The file names the compiler, too.
        let done = fs::read_to_string(root.path().join("k/done")).unwrap();
        assert!(done.contains("by.h") && done.contains(compiler()), "{done}");
    }

    #[test]
    fn files_have_their_times() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let before = times(&format!("{path}\n"));
        assert!(before.starts_with(&path) && before.contains("Some("), "{before}");
        file.as_file().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert!(times(&path) != before);
        assert!(times("/nowhere/clang").contains("None") && times("").is_empty());
    }
}
