//! `oclave aot`.

use std::io::Write;
use std::path::{Path, PathBuf};

use oclave::Device;
use oclave_build::{DeviceConfig, PtxTarget};
use oclave_image::{DeviceImage, FILE_EXTENSION};

use crate::Failure;
use crate::package::Package;

/// What `oclave aot` is asked for.
#[derive(clap::Args)]
pub(crate) struct Aot {
    /// The device to make binaries for, as OCLAVE_DEVICE names it: `intel`, `pocl`, an index, a
    /// part of the name.
    #[arg(long, required_unless_present = "target", conflicts_with_all = ["device_config", "target"])]
    device: Option<String>,
    /// A TOML file that tells the aspects of targets: the images are chosen and linked, and stay
    /// SPIR-V.
    #[arg(long, requires = "target")]
    device_config: Option<PathBuf>,
    /// A target of the file; several may be given. Without a file there is `nvidia`, whose images
    /// hold PTX as well.
    #[arg(long)]
    target: Vec<String>,
    /// A compute capability that the target `nvidia` gets PTX for: sm_70 unless given, which newer
    /// devices run as well.
    #[arg(long, value_name = "CAPABILITY", requires = "target", conflicts_with = "device_config")]
    compute_capability: Vec<PtxTarget>,
    /// Leaves out the check of virtual calls that reach no function.
    #[arg(long)]
    no_virtual_call_checks: bool,
    /// The folder to write to.
    #[arg(long)]
    out: PathBuf,
    /// The images of one program (.oclimg).
    #[arg(required_unless_present = "package", conflicts_with = "package")]
    images: Vec<PathBuf>,
    #[command(flatten)]
    package: Package,
}

/// Writes the images as they serve the device or the targets, and prints their paths.
pub(crate) fn run(out: &mut impl Write, aot: &Aot) -> Result<(), Failure> {
    let paths = if aot.images.is_empty() { aot.package.program_images()? } else { aot.images.clone() };
    let mut bytes = Vec::new();
    for path in &paths {
        bytes.push(crate::file::read(path).map_err(|error| fail(path, &error))?);
    }
    let images = match &aot.device {
        None => of_targets(aot, &paths, &bytes)?,
        Some(wish) => {
            let device = Device::select_by(wish)?;
            let made = oclave::kernel::build_ahead_of_time(&device, &bytes, !aot.no_virtual_call_checks)?;
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

fn of_targets(aot: &Aot, paths: &[PathBuf], bytes: &[Vec<u8>]) -> Result<Vec<DeviceImage>, Failure> {
    let message = |error: &dyn std::fmt::Display| Failure::Message(error.to_string());
    let config = match &aot.device_config {
        Some(path) => DeviceConfig::read(path).map_err(|error| message(&error))?,
        None => DeviceConfig::nvidia(&aot.compute_capability),
    };
    let mut images = Vec::new();
    for (path, bytes) in paths.iter().zip(bytes) {
        images.push(DeviceImage::from_bytes(bytes).map_err(|error| fail(path, &error))?);
    }
    config.images_for(&aot.target, &images, !aot.no_virtual_call_checks).map_err(|error| message(&error))
}

fn fail(path: &Path, what: &dyn std::fmt::Display) -> Failure {
    Failure::Message(format!("{}: {what}", path.display()))
}
