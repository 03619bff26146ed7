//! Reads and writes files with errors that name them.

use std::path::Path;

use crate::error::{Error, Result};

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::io("read", path, error))
}

/// Writes a file and the folders above it. A file that already holds these bytes is not touched, so
/// that nothing that depends on it is rebuilt.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    }
    std::fs::write(path, bytes).map_err(|error| Error::io("write", path, error))
}
