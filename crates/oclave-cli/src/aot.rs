//! `oclave aot`.

use std::io::Write;
use std::path::{Path, PathBuf};

use oclave::Device;
use oclave_build::DeviceConfig;
use oclave_image::{DeviceImage, FILE_EXTENSION};

use crate::Failure;

/// What `oclave aot` is asked for.
#[derive(clap::Args)]
pub(crate) struct Aot {
    /// The device to make binaries for, as OCLAVE_DEVICE names it: `intel`, `pocl`, an index, a part of the name.
    #[arg(long, required_unless_present = "device_config", conflicts_with_all = ["device_config", "target"])]
    device: Option<String>,
    /// A TOML file that tells the aspects of targets: the images are chosen and linked, and stay SPIR-V.
    #[arg(long, requires = "target")]
    device_config: Option<PathBuf>,
    /// A target of the file; several may be given.
    #[arg(long, requires = "device_config")]
    target: Vec<String>,
    /// Leaves out the check of virtual calls that reach no function.
    #[arg(long)]
    no_virtual_call_checks: bool,
    /// The folder to write to.
    #[arg(long)]
    out: PathBuf,
    /// The images of one program (.oclimg).
    #[arg(required = true)]
    images: Vec<PathBuf>,
}

/// Writes the images as they serve the device or the targets, and prints their paths.
pub(crate) fn run(out: &mut impl Write, aot: &Aot) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    for path in &aot.images {
        bytes.push(crate::file::read(path).map_err(|error| fail(path, &error))?);
    }
    let checks = !aot.no_virtual_call_checks;
    let images = match (&aot.device, &aot.device_config) {
        (_, Some(config)) => of_targets(config, &aot.target, &aot.images, &bytes, checks)?,
        (wish, None) => {
            let device = Device::select_by(wish.as_deref().unwrap_or_default())?;
            let made = oclave::build_ahead_of_time(&device, &bytes, checks)?;
            made.iter()
                .map(|bytes| DeviceImage::from_bytes(bytes))
                .collect::<Result<_, _>>()
                .map_err(|error| Failure::Message(error.to_string()))?
        }
    };
    std::fs::create_dir_all(&aot.out).map_err(|error| fail(&aot.out, &error))?;
    for image in images {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let name: String = image.name.chars().map(plain).collect();
        let path = aot.out.join(format!("{name}.{FILE_EXTENSION}"));
        std::fs::write(&path, image.to_bytes()).map_err(|error| fail(&path, &error))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}

fn of_targets(
    config: &Path,
    targets: &[String],
    paths: &[PathBuf],
    bytes: &[Vec<u8>],
    checks: bool,
) -> Result<Vec<DeviceImage>, Failure> {
    let message = |error: &dyn std::fmt::Display| Failure::Message(error.to_string());
    let config = DeviceConfig::read(config).map_err(|error| message(&error))?;
    let mut images = Vec::new();
    for (path, bytes) in paths.iter().zip(bytes) {
        images.push(DeviceImage::from_bytes(bytes).map_err(|error| fail(path, &error))?);
    }
    config.images_for(targets, &images, checks).map_err(|error| message(&error))
}

fn fail(path: &Path, what: &dyn std::fmt::Display) -> Failure {
    Failure::Message(format!("{}: {what}", path.display()))
}
