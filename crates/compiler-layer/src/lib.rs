//! A layer of the OpenCL loader that builds programs' sources by oclave. Whole programs of others, with tests of their own, then run kernels that
//! took oclave's path.
//!
//! The loader loads it where `OPENCL_LAYERS` names its file. The compiler need not be where the device is, so there are two runs:
//!
//! 1. `COMPILER_LAYER=record:FOLDER`: builds pass to the driver. Each source and its options are written to `FOLDER/KEY.cl` and `FOLDER/KEY.options`,
//!    an option a line. `kernel-suites build recorded=FOLDER IMAGES` compiles them.
//! 2. `COMPILER_LAYER=images:IMAGES`: a program whose images are there is built of them, adapted for the device. For others, the driver compiles the
//!    source.
//!
//! `COMPILER_LAYER_LOG` names a file that gets a line for each build: `adapted KEY`, `recorded KEY`, or `source KEY REASON`.

mod adapt;
mod layer;
mod options;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What happens to programs that are built from source.
enum Mode {
    /// The driver compiles them. Sources are written to the folder.
    Record(PathBuf),
    /// The images of the folder replace them.
    Images(PathBuf),
}

impl Mode {
    /// The mode that `COMPILER_LAYER` names, if any.
    fn of_environment() -> Option<Self> {
        let words = std::env::var("COMPILER_LAYER").ok()?;
        match words.split_once(':')? {
            ("record", folder) => Some(Self::Record(folder.into())),
            ("images", folder) => Some(Self::Images(folder.into())),
            _ => None,
        }
    }
}

/// Names a source with options.
fn key(source: &str, options: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    options.iter().for_each(|option| {
        hasher.update(option.as_bytes()).update(b"\0");
    });
    hasher.update(source.as_bytes());
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Writes a source and its options.
fn record(folder: &Path, key: &str, source: &str, options: &[String]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{key}.options")), options.join("\n"))?;
    fs::write(folder.join(format!("{key}.cl")), source)
}

/// Appends a line to the log, if there is one.
fn log(line: &str) {
    let Ok(path) = std::env::var("COMPILER_LAYER_LOG") else { return };
    let appended = OpenOptions::new().create(true).append(true).open(&path);
    // One write, as several processes share the file.
    if let Err(error) = appended.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
        eprintln!("compiler-layer: {path}: {error}");
    }
}
