//! The cache entry of a program that was compiled from source: its images, and the headers that
//! must not have changed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Version of this layout, a part of the key.
pub(super) const VERSION: u32 = 1;

/// The result of a compilation.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) images: Vec<Vec<u8>>,
    /// Files that the sources include.
    pub(super) headers: Vec<PathBuf>,
}

/// The entry for what was just compiled.
///
/// # Errors
/// Where a header cannot be read any more.
pub(super) fn entry(made: &Made) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    put_number(&mut out, made.headers.len());
    for header in &made.headers {
        put(&mut out, header.as_os_str().as_bytes());
        put(&mut out, &hash(header)?);
    }
    put_number(&mut out, made.images.len());
    made.images.iter().for_each(|image| put(&mut out, image));
    Ok(out)
}

/// The images of an entry whose headers are as they were.
pub(super) fn read(entry: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = entry;
    for _ in 0..take_number(&mut rest)? {
        let path = Path::new(OsStr::from_bytes(take(&mut rest)?));
        if hash(path).ok()?.as_slice() != take(&mut rest)? {
            return None;
        }
    }
    let count = take_number(&mut rest)?;
    let images = (0..count).map(|_| take(&mut rest).map(<[u8]>::to_vec)).collect::<Option<Vec<_>>>()?;
    rest.is_empty().then_some(images)
}

fn hash(path: &Path) -> io::Result<[u8; 32]> {
    Ok(*blake3::hash(&std::fs::read(path)?).as_bytes())
}

fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u64::from_le_bytes(*number)).ok()
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_number(rest)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn an_entry_is_good_while_its_headers_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let header = folder.path().join("h.h");
        std::fs::write(&header, "#define A 1").unwrap();
        let images = vec![b"one".to_vec(), Vec::new()];
        let bytes = entry(&Made { images: images.clone(), headers: vec![header.clone()] }).unwrap();
        assert_eq!(read(&bytes), Some(images));
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes[..length]), None, "the first {length} bytes");
        }
        std::fs::write(&header, "#define A 2").unwrap();
        assert_eq!(read(&bytes), None);
        std::fs::remove_file(&header).unwrap();
        assert_eq!(read(&bytes), None);
    }
}
