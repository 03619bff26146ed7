//! NVIDIA's assembler, which needs no GPU; `ci/setup ptxas` installs it, and `OCLAVE_PTXAS` names
//! another.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More texts than that are not remembered: all are forgotten.
const MOST_REMEMBERED: usize = 20_000;

/// PTX to assemble.
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) target: &'static str,
    pub(crate) ptx: String,
}

pub(crate) struct Assembler {
    program: PathBuf,
    /// A folder with an empty file for each text that was assembled before.
    remembered: Option<PathBuf>,
}

impl Assembler {
    /// The assembler; `None` where it is not installed.
    pub(crate) fn find() -> Option<Self> {
        let home = std::env::var_os("OCLAVE_HOME").map(PathBuf::from).or_else(|| {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let cache =
                cache.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
            Some(cache.join("oclave"))
        });
        let installed = home.as_ref().map(|home| home.join("ptxas-1/nvidia/cuda_nvcc/bin/ptxas"));
        let named = std::env::var_os("OCLAVE_PTXAS").map(PathBuf::from);
        let program = named.or_else(|| installed.filter(|path| path.is_file()))?;
        let remembered = home.map(|home| home.join("assembled")).filter(|folder| {
            if std::fs::read_dir(folder).is_ok_and(|entries| entries.count() > MOST_REMEMBERED) {
                let _ = std::fs::remove_dir_all(folder);
            }
            std::fs::create_dir_all(folder).is_ok()
        });
        Some(Self { program, remembered })
    }

    /// Assembles all texts, several at a time. Returns how many were assembled now, not in an
    /// earlier run, and what the assembler said of those that it refused.
    pub(crate) fn assemble(&self, texts: &[Text]) -> (usize, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (next, assembled, failures) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let file = folder.path().join(format!("{worker}.ptx"));
                let (next, assembled, failures) = (&next, &assembled, &failures);
                scope.spawn(move || {
                    while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let known = self.remembered.as_ref().map(|folder| folder.join(self.key(text)));
                        if known.as_ref().is_some_and(|known| known.is_file()) {
                            continue;
                        }
                        assembled.fetch_add(1, Ordering::Relaxed);
                        match self.one(text, &file) {
                            Ok(()) => drop(known.map(|known| std::fs::write(known, ""))),
                            Err(said) => failures
                                .lock()
                                .unwrap()
                                .push(format!("{} for {}: {said}", text.name, text.target)),
                        }
                    }
                });
            }
        });
        (assembled.into_inner(), failures.into_inner().unwrap())
    }

    fn one(&self, text: &Text, file: &Path) -> Result<(), String> {
        std::fs::write(file, &text.ptx).unwrap();
        let output = Command::new(&self.program)
            .args(["-O0", &format!("-arch={}", text.target), "-o", "/dev/null"])
            .arg(file)
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(said.lines().take(4).collect::<Vec<_>>().join("\n"))
    }

    /// What a text is remembered by.
    fn key(&self, text: &Text) -> String {
        let mut hasher = DefaultHasher::new();
        let bytes = std::fs::metadata(&self.program).map_or(0, |data| data.len());
        (&self.program, bytes, text.target, &text.ptx).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}
