//! The file of one entry: a header that binds the binary to its key, then the binary.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use super::folder;
use super::{CacheKey, FORMAT_VERSION};

const MAGIC: &[u8; 8] = b"OCLVPROG";
/// Magic, version, reserved, key, size of the binary, hash of key and binary.
pub(super) const HEADER_BYTES: usize = 8 + 4 + 4 + 32 + 8 + 32;
/// The header, which can be compared before the binary is read.
const KNOWN_BYTES: usize = HEADER_BYTES - 32;

pub(super) fn header(key: &CacheKey, binary: &[u8]) -> Vec<u8> {
    let mut out = known(key, binary.len() as u64);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&key.0).update(binary);
    out.extend_from_slice(hasher.finalize().as_bytes());
    out
}

/// The header as far as it follows from the key and the size.
fn known(key: &CacheKey, size_bytes: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&key.0);
    out.extend_from_slice(&size_bytes.to_le_bytes());
    out
}

/// Reads an entry of at most `limit_bytes`, and marks it as used now. Nothing but its header is
/// read of a file that is not an entry of this key and size.
pub(super) fn read(path: &Path, key: &CacheKey, limit_bytes: u64) -> io::Result<Vec<u8>> {
    // Looked at before it is opened: opening a FIFO waits for a writer, and opening a device may do
    // anything.
    folder::check(&fs::symlink_metadata(path)?, folder::Kind::Entry)?;
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    folder::check(&metadata, folder::Kind::Entry)?;
    let binary = parse(&mut file, metadata.len(), key, limit_bytes)?;
    // The time of last use, for eviction; access times are unreliable (relatime, noatime).
    let _ = file.set_modified(SystemTime::now());
    Ok(binary)
}

/// Reads the content of an entry, which is `size_bytes` long.
pub(super) fn parse(
    file: &mut impl Read,
    size_bytes: u64,
    key: &CacheKey,
    limit_bytes: u64,
) -> io::Result<Vec<u8>> {
    let Some(binary_bytes) = size_bytes.checked_sub(HEADER_BYTES as u64).filter(|&bytes| bytes > 0) else {
        return Err(invalid("shorter than its header"));
    };
    if size_bytes > limit_bytes {
        return Err(invalid("larger than the whole cache may be"));
    }
    let mut found = [0; HEADER_BYTES];
    file.read_exact(&mut found)?;
    if found.get(..KNOWN_BYTES) != Some(known(key, binary_bytes).as_slice()) {
        return Err(invalid("its header is not that of this key and size"));
    }
    let mut binary = Vec::new();
    let capacity = usize::try_from(binary_bytes).map_err(|_| invalid("too large"))?;
    binary.try_reserve_exact(capacity).map_err(|_| invalid("too large"))?;
    // A file that grows meanwhile is not read on.
    file.take(binary_bytes).read_to_end(&mut binary)?;
    if found.as_slice() != header(key, &binary) {
        return Err(invalid("header and content do not match"));
    }
    Ok(binary)
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
