//! `oclave dump`.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use oclave_faults::FaultSet;
use oclave_faults::passes::Change;
use oclave_image::{Aspects, DeviceImage, DeviceTarget, disassemble, passes};
use oclave_ptx::{PtxTarget, ptx_of, translate_image};
use oclave_spirv::{Module, Version};
use similar::TextDiff;

use crate::Failure;

/// What is printed of an image, beside its description.
pub(crate) struct Parts {
    /// The module's instructions.
    pub(crate) code: bool,
    /// Its kernels as PTX.
    pub(crate) ptx: Option<PtxTarget>,
    /// How the passes against these faults change it.
    pub(crate) faults: Option<FaultSet>,
}

/// Prints images, with an empty line between them.
pub(crate) fn print_all(out: &mut impl Write, paths: &[PathBuf], parts: &Parts) -> Result<(), Failure> {
    for (index, path) in paths.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        print(out, path, parts)?;
    }
    Ok(())
}

/// Prints the image or module in a file.
fn print(out: &mut impl Write, path: &Path, parts: &Parts) -> Result<(), Failure> {
    let fail = |what: &dyn std::fmt::Display| Failure::Message(format!("{}: {what}", path.display()));
    let bytes = crate::file::read(path).map_err(|error| fail(&error))?;
    let image = if is_spirv(&bytes) {
        let module = Module::from_bytes(&bytes).map_err(|error| fail(&error))?;
        let kernels = passes::signatures(&module).map_err(|error| fail(&error))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        DeviceImage { name, kernels, spirv: module.into_words(), ..DeviceImage::default() }
    } else {
        DeviceImage::from_bytes(&bytes).map_err(|error| fail(&error))?
    };
    out.write_all(image.dump().as_bytes())?;
    out.write_all(interpreted(&image).as_bytes())?;
    if parts.code {
        let module = Module::from_words(image.spirv.clone()).map_err(|error| fail(&error))?;
        write!(out, "\n{}", disassemble(&module))?;
    }
    if let Some(target) = &parts.ptx {
        // What the image holds is what a device gets; PTX for an older one is shown only where it
        // is asked for.
        match ptx_of(&image, target).filter(|(held, _)| held == target) {
            Some((_, text)) => write!(out, "\n{text}")?,
            None => {
                let text = translate_image(&image, target).map_err(|error| fail(&error))?;
                write!(out, "\n{text}")?;
            }
        }
    }
    if let Some(faults) = parts.faults {
        write_passes(out, &image, faults).map_err(|error| fail(&error))?;
    }
    Ok(())
}

/// Prints the lines of code that each pass against these faults changes, with three lines around them.
fn write_passes(
    out: &mut impl Write,
    image: &DeviceImage,
    faults: FaultSet,
) -> Result<(), Box<dyn std::error::Error>> {
    let target = DeviceTarget {
        faults,
        aspects: Aspects::all(),
        spirv_version: Version::V1_4,
        vector_argument_bytes: oclave_faults::passes::vector_argument_bytes(),
        ..DeviceTarget::default()
    };
    let mut text = String::new();
    let mut watch = |Change { number, fault, pass, before, after }: Change<'_>| {
        let (before, after) = (disassemble(before), disassemble(after));
        let changes = TextDiff::from_lines(&before, &after);
        // Writing to a String cannot fail.
        let _ = write!(text, "\npass {number} ({fault}, {pass})\n{}", changes.unified_diff());
    };
    passes::legalize_watched(image, &target, Ok, &mut watch)?;
    if text.is_empty() {
        text.push_str("\nno pass changes the module\n");
    }
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// Which kernels the interpreter can run, and why not the others.
fn interpreted(image: &DeviceImage) -> String {
    if image.kernels.is_empty() {
        return String::new();
    }
    let made = image.device_globals().and_then(|globals| {
        let module = Module::from_words(image.spirv.clone())?;
        let module = match globals.as_slice() {
            [] => module,
            globals => passes::lower_globals_to_hidden_argument(&module, globals)?.module,
        };
        passes::interpreter::interpreter_module(&module, &DeviceTarget::default(), u64::MAX)
    });
    let layout = match made {
        Ok(made) => made.layout,
        Err(error) => return format!("\nkernels for the interpreter of graphs: none: {error}\n"),
    };
    let count = layout.module_kernels();
    let mut text = format!("\nkernels for the interpreter of graphs: {count} of {}\n", image.kernels.len());
    for kernel in layout.excluded() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  not {}: {}", kernel.name, kernel.reason);
    }
    text
}

/// SPIR-V begins with its magic number, in either byte order.
fn is_spirv(bytes: &[u8]) -> bool {
    const MAGIC: u32 = 0x0723_0203;
    let first = bytes.first_chunk::<4>().copied().unwrap_or_default();
    [u32::from_le_bytes(first), u32::from_be_bytes(first)].contains(&MAGIC)
}
