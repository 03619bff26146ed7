//! Who may write the cache: only its user, and root.
//!
//! A binary is code that the driver runs in this process. A user who can write the folder or an
//! entry could make this process run any code. So a folder or an entry that others own or may write
//! is not used.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::LazyLock;

/// The type that a file in the cache must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    Entry,
}

/// The user that this process runs as; `None` where the system does not say.
static USER: LazyLock<Option<u32>> =
    LazyLock::new(|| fs::metadata("/proc/self").ok().map(|metadata| metadata.uid()));

/// Makes the folder, for this user alone, where there is none.
pub(super) fn create(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Refuses a folder that others own or may write; one that does not exist is `NotFound`.
pub(super) fn check_folder(path: &Path) -> io::Result<()> {
    check(&fs::metadata(path)?, Kind::Folder)
}

/// Refuses what is not of its kind, and what others own or may write.
pub(super) fn check(metadata: &Metadata, kind: Kind) -> io::Result<()> {
    let denied = |what: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    match kind {
        Kind::Folder if !metadata.is_dir() => {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"));
        }
        Kind::Entry if !metadata.is_file() => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file"));
        }
        _ => {}
    }
    let owner = metadata.uid();
    if owner != 0 && USER.is_none_or(|user| user != owner) {
        return denied(format!("it belongs to user {owner}"));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        return denied(format!("others may write it (mode {mode:03o}); `chmod go-w` makes it private"));
    }
    Ok(())
}
