//! LLVM IR of kernels, by the rustc that compiles the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Beside [`oclave_rust::RUSTC_FLAGS`].
const FLAGS: &[&str] = &["-Copt-level=3", "--cap-lints=allow", "--cfg=oclave_device"];

/// A folder with `oclave-kernel`, compiled for devices.
#[derive(Debug)]
pub(crate) struct Compiler {
    folder: tempfile::TempDir,
}

impl Compiler {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let macros = folder.path().join("liboclave_kernel_macros.so");
        let mut command = rustc(folder.path());
        command.args([
            "--edition=2024",
            "--crate-type=proc-macro",
            "--crate-name=oclave_kernel_macros",
            "-o",
        ]);
        run(command.arg(&macros).arg(crates.join("oclave-kernel-macros/src/lib.rs")));
        let mut command = rustc(folder.path());
        command.args(oclave_rust::RUSTC_FLAGS).args(FLAGS).args([
            "--crate-name=oclave_kernel",
            "--emit=llvm-ir,link,metadata",
            "--extern",
        ]);
        command.arg(format!("oclave_kernel_macros={}", macros.display()));
        run(command.arg(crates.join("oclave-kernel/src/lib.rs")));
        Self { folder }
    }

    /// The IR of `oclave-kernel`.
    pub(crate) fn kernel_crate(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("oclave_kernel.ll")).unwrap()
    }

    /// The IR of a source.
    pub(crate) fn text(&self, source: &str) -> String {
        self.file(source, "k.rs", &[])
    }

    /// The IR of a source, with flags of its own.
    pub(crate) fn file(&self, source: &str, name: &str, flags: &[&str]) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, source).unwrap();
        let mut command = rustc(self.folder.path());
        command.args(oclave_rust::RUSTC_FLAGS).args(FLAGS).args([
            "--crate-name=k",
            "--emit=llvm-ir,metadata",
            "-L",
            ".",
            "--extern",
        ]);
        run(command.arg("oclave_kernel=liboclave_kernel.rlib").args(flags).arg(name));
        std::fs::read_to_string(self.folder.path().join("k.ll")).unwrap()
    }

    /// What rustc says of a source that it refuses.
    #[allow(dead_code, reason = "not all tests have such sources")]
    pub(crate) fn errors(&self, source: &str) -> String {
        std::fs::write(self.folder.path().join("refused.rs"), source).unwrap();
        let mut command = rustc(self.folder.path());
        command.args(oclave_rust::RUSTC_FLAGS).args(FLAGS).args(["--emit=metadata", "-L", ".", "--extern"]);
        let output = command.args(["oclave_kernel=liboclave_kernel.rlib", "refused.rs"]).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Where files may be written.
    #[allow(dead_code, reason = "not all tests write files")]
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

fn rustc(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.current_dir(folder);
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
