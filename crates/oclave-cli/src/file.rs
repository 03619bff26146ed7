//! Reading files that users name.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Files beyond this are refused, so that a wrong path does not fill the memory.
const LARGEST_BYTES: u64 = 1 << 30;

/// The bytes of a device image or module.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let refused = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let metadata = std::fs::metadata(path)?;
    // A device such as /dev/zero has no end, and opening a FIFO waits for a writer.
    if !metadata.is_file() {
        return refused("not a regular file; give the path of a device image or a SPIR-V module".to_owned());
    }
    if metadata.len() > LARGEST_BYTES {
        return refused(format!("{} bytes are too many for a device image", metadata.len()));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    File::open(path)?.take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return refused("the file grew while it was read, and is too large for a device image".to_owned());
    }
    Ok(bytes)
}
