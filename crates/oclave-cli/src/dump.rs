//! `oclave dump`.

use std::io::Write;
use std::path::Path;

use oclave_image::spirv::Module;
use oclave_image::{DeviceImage, disassemble, passes};

use crate::Failure;

/// Files beyond this are refused, so that a wrong path (a disk, say) does not fill the memory.
const LARGEST_BYTES: u64 = 1 << 30;

/// Prints the image or module in a file; `code` adds the module's instructions.
pub(crate) fn print(out: &mut impl Write, path: &Path, code: bool) -> Result<(), Failure> {
    let fail = |what: &dyn std::fmt::Display| Failure::Message(format!("{}: {what}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| fail(&error))?.len();
    if size > LARGEST_BYTES {
        return Err(fail(&format_args!("{size} bytes are too many for a device image")));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(&error))?;
    let image = if is_spirv(&bytes) {
        let module = Module::from_bytes(&bytes).map_err(|error| fail(&error))?;
        let kernels = passes::signatures(&module).map_err(|error| fail(&error))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        DeviceImage { name, kernels, spirv: module.into_words(), ..DeviceImage::default() }
    } else {
        DeviceImage::from_bytes(&bytes).map_err(|error| fail(&error))?
    };
    out.write_all(image.dump().as_bytes())?;
    if code {
        let module = Module::from_words(image.spirv).map_err(|error| fail(&error))?;
        write!(out, "\n{}", disassemble(&module))?;
    }
    Ok(())
}

/// SPIR-V begins with its magic number, in either byte order.
fn is_spirv(bytes: &[u8]) -> bool {
    const MAGIC: u32 = 0x0723_0203;
    let first = bytes.first_chunk::<4>().copied().unwrap_or_default();
    [u32::from_le_bytes(first), u32::from_be_bytes(first)].contains(&MAGIC)
}
