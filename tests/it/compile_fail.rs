//! What rustc must refuse: wrong arguments of kernels, access that a device global does not grant,
//! and the like.
//!
//! Each program has a file with the compiler's messages. `OCLAVE_BLESS=1 cargo test -p oclave-tests --test it
//! compile_fail` writes them again.
//!
//! rustc compiles the programs against the library that cargo has built for this test. trybuild would build
//! it again, with all its dependencies and kernels. That takes minutes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

/// The programs: of hosts, and kernels in Rust.
const FOLDERS: [&str; 2] = ["tests/it/compile_fail", "tests/it/compile_fail/rust"];
/// What `include_kernels!("tests")` includes.
const KERNELS: (&str, &str) = ("OCLAVE_KERNELS_tests", env!("OCLAVE_KERNELS_tests"));
/// Libraries that the programs use.
const LIBRARIES: [&str; 2] = ["oclave", "oclave_kernel"];

/// The repository. Cargo compiled the library there, so messages name its files from there.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn programs_that_must_not_compile() {
    let files = FOLDERS.into_iter().flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let mut programs: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    assert!(programs.len() > 25, "{} programs", programs.len());
    programs.sort();
    let rustc = Rustc::new();
    let (rest, failures) = (Mutex::new(programs), Mutex::new(Vec::new()));
    let work = || {
        while let Some(program) = { rest.lock().unwrap().pop() } {
            let failure = rustc.check(&program).err();
            failures.lock().unwrap().extend(failure);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

struct Rustc {
    deps: PathBuf,
    libraries: Vec<(String, PathBuf)>,
    out: tempfile::TempDir,
}

impl Rustc {
    fn new() -> Self {
        let program = std::env::current_exe().unwrap();
        let deps = program.parent().unwrap().to_owned();
        let linked = modified(&program);
        let libraries = LIBRARIES.map(|name| (name.to_owned(), linked_library(&deps, name, linked)));
        Self { deps, libraries: libraries.into(), out: tempfile::tempdir().unwrap() }
    }

    /// Compiles a program, and compares the messages.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, program: &Path) -> Result<(), String> {
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--color=never"]);
        let name = program.strip_prefix(root()).unwrap();
        rustc.current_dir(root()).arg(name).arg("--out-dir").arg(self.out.path());
        rustc.arg("-L").arg(format!("dependency={}", self.deps.display()));
        for (name, path) in &self.libraries {
            rustc.arg("--extern").arg(format!("{name}={}", path.display()));
        }
        // The kernels of the programs are those of this package's build script.
        rustc.env("OUT_DIR", env!("OUT_DIR")).env(KERNELS.0, KERNELS.1);
        let output = rustc.output().unwrap();
        let name = name.display();
        if output.status.success() {
            return Err(format!("{name} compiles"));
        }
        let said = normalized(&String::from_utf8_lossy(&output.stderr));
        let golden = program.with_extension("stderr");
        if std::env::var_os("OCLAVE_BLESS").is_some() {
            std::fs::write(&golden, said).unwrap();
            return Ok(());
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if said == expected {
            Ok(())
        } else {
            Err(format!("{name}: expected:\n{expected}\nrustc says:\n{said}"))
        }
    }
}

/// The library that this test links: the last one that cargo built before the test's program. Builds with other
/// features of the library leave theirs in the same folder, later.
fn linked_library(deps: &Path, name: &str, linked: SystemTime) -> PathBuf {
    let prefix = format!("lib{name}-");
    let files = std::fs::read_dir(deps).unwrap().map(|entry| entry.unwrap());
    let libraries = files.filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with(&prefix) && name.ends_with(".rlib")
    });
    let libraries = libraries.map(|file| file.path()).filter(|library| modified(library) <= linked);
    let last = libraries.max_by_key(|library| modified(library));
    last.unwrap_or_else(|| panic!("no library {name} beside the test"))
}

fn modified(file: &Path) -> SystemTime {
    file.metadata().unwrap().modified().unwrap()
}

/// Messages without what differs from machine to machine, or with each change of the library: other folders, and line
/// numbers of other files.
fn normalized(said: &str) -> String {
    let said = said.replace(env!("OUT_DIR"), "$OUT_DIR").replace(&format!("{}/", root().display()), "");
    let endings =
        ["error: aborting due to", "For more information about", "Some errors have detailed explanations"];
    let lines = said.lines().filter(|line| !endings.iter().any(|ending| line.starts_with(ending)));
    let mut text: String = lines.map(|line| normalized_line(line) + "\n").collect();
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn normalized_line(line: &str) -> String {
    // The margin is as wide as the longest line number.
    let content = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
    let line = match content.chars().next() {
        Some('|' | '=') => format!("  {content}"),
        _ if content == "..." || content.starts_with("-->") || content.starts_with(":::") => {
            format!(" {content}")
        }
        _ => line.to_owned(),
    };
    if let Some((file, _)) =
        line.split_once(".rs:").filter(|_| line.starts_with(" -->") && !line.contains(FOLDERS[0]))
    {
        return format!("{file}.rs");
    }
    // How many other types implement a trait changes with every type.
    match line.split_once("and ").and_then(|(before, rest)| Some((before, rest.strip_suffix(" others")?))) {
        Some((before, count)) if count.parse::<u32>().is_ok() => format!("{before}and $N others"),
        _ => line,
    }
}
