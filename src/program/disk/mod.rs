//! The disk cache of program binaries.
//!
//! One file an entry, named by its key. A file is written under a temporary name and renamed, so
//! that other processes see whole entries or none. A header with the key, the size and a hash of
//! key and binary makes a damaged, truncated or foreign file count as absent (`entry.rs`). Files
//! and folders that other users own or may write are not used (`folder.rs`). Nothing here fails:
//! what cannot be read is built again, what cannot be written is logged once.

mod entry;
mod folder;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use crate::environment;

/// Version of the file layout and of what goes into a key; an entry of another version is never
/// read.
const FORMAT_VERSION: u32 = 2;
const EXTENSION: &str = "oclbin";
const DEFAULT_LIMIT_BYTES: u64 = 512 << 20;

/// Where a context keeps the binaries of the programs that it builds.
///
/// A binary is code that the driver runs in this process. The cache trusts the user that the
/// process runs as, and root. It does not use a directory or a file that others own or may write,
/// and logs a warning. It does not protect against anyone who can write files as that user, or the
/// directories above.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramCache {
    /// The environment decides.
    ///
    /// `OCLAVE_CACHE` switches the cache off with `0` or `off`, and on with `1` or `on`. By default it is
    /// on, but keeps no programs of PoCL. PoCL keeps compiled kernels itself. It compiles each kernel
    /// once more when it is asked for a binary.
    ///
    /// The folder is `programs` under `OCLAVE_CACHE_DIR`, or else under the user's cache directory
    /// (`$XDG_CACHE_HOME/oclave`, `~/.cache/oclave`). `OCLAVE_CACHE_MAX_MIB` limits its size (default
    /// 512). The least recently used entries are removed first. The log warns about other values of
    /// these variables.
    #[default]
    Environment,
    /// Nothing is read or written.
    Off,
    /// `programs` under this directory.
    Directory(PathBuf),
}

/// The key of a binary: everything that its bytes depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheKey([u8; 32]);

impl CacheKey {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Hashes the parts of a [`CacheKey`]; each part is preceded by its length, so that parts cannot
/// run into each other.
#[derive(Debug)]
pub(crate) struct CacheKeyBuilder(blake3::Hasher);

impl CacheKeyBuilder {
    pub(crate) fn new() -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&FORMAT_VERSION.to_le_bytes());
        Self(hasher).part(env!("CARGO_PKG_VERSION").as_bytes())
    }

    pub(crate) fn part(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn finish(self) -> CacheKey {
        CacheKey(*self.0.finalize().as_bytes())
    }
}

/// A directory of binaries.
#[derive(Debug)]
pub(crate) struct DiskCache {
    directory: PathBuf,
    limit_bytes: u64,
    /// Whether the program or the environment asked for it; false by default.
    is_chosen: bool,
    warned: AtomicBool,
}

impl DiskCache {
    /// The cache that a context asks for, if any.
    pub(crate) fn open(choice: &ProgramCache) -> Option<Self> {
        let (base, is_chosen) = match choice {
            ProgramCache::Off => return None,
            ProgramCache::Directory(directory) => (directory.clone(), true),
            ProgramCache::Environment => {
                let switch = environment::switch("OCLAVE_CACHE");
                if switch == Some(false) {
                    return None;
                }
                let base = match std::env::var_os("OCLAVE_CACHE_DIR").filter(|value| !value.is_empty()) {
                    Some(directory) => directory.into(),
                    None => directories::ProjectDirs::from("", "", "oclave")?.cache_dir().to_owned(),
                };
                (base, switch.is_some())
            }
        };
        let limit_bytes = environment::number("OCLAVE_CACHE_MAX_MIB")
            .map_or(DEFAULT_LIMIT_BYTES, |mib| mib.saturating_mul(1 << 20));
        Some(Self { is_chosen, ..Self::new(base.join("programs"), limit_bytes) })
    }

    fn new(directory: PathBuf, limit_bytes: u64) -> Self {
        Self { directory, limit_bytes, is_chosen: true, warned: AtomicBool::new(false) }
    }

    /// Whether the program or the environment asked for the cache.
    pub(crate) fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// The binary of a key, when there is a sound entry. Marks the entry as used now.
    pub(crate) fn load(&self, key: &CacheKey) -> Option<Vec<u8>> {
        match folder::check_folder(&self.directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.warn_once(&error);
                return None;
            }
        }
        let path = self.path(key);
        match entry::read(&path, key, self.limit_bytes) {
            Ok(binary) => Some(binary),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                log::debug!(
                    "program cache entry {} is not usable and will be rebuilt: {error:#}",
                    path.display()
                );
                None
            }
        }
    }

    /// Keeps a binary.
    pub(crate) fn store(&self, key: &CacheKey, binary: &[u8]) {
        if let Err(error) = self.write_entry(key, binary) {
            self.warn_once(&error);
            return;
        }
        if let Err(error) = self.evict() {
            self.warn_once(&error);
        }
    }

    /// Drops an entry that the driver refused.
    pub(crate) fn remove(&self, key: &CacheKey) {
        // A failure changes nothing: the entry is about to be replaced.
        let _ = fs::remove_file(self.path(key));
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        let mut name = String::with_capacity(64 + 1 + EXTENSION.len());
        for byte in key.0 {
            for nibble in [byte >> 4, byte & 15] {
                name.push(char::from_digit(nibble.into(), 16).unwrap_or('0'));
            }
        }
        name.push('.');
        name.push_str(EXTENSION);
        self.directory.join(name)
    }

    fn write_entry(&self, key: &CacheKey, binary: &[u8]) -> io::Result<()> {
        folder::create(&self.directory)?;
        folder::check_folder(&self.directory)?;
        // The same extension, so that eviction also clears what a killed process left.
        let mut file =
            tempfile::Builder::new().prefix("tmp-").suffix(".oclbin").tempfile_in(&self.directory)?;
        file.write_all(&entry::header(key, binary))?;
        file.write_all(binary)?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Deletes the entries used longest ago until a quarter of the limit is free, once the limit is
    /// passed.
    fn evict(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut total = 0u64;
        for entry in fs::read_dir(&self.directory)?.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != EXTENSION) {
                continue;
            }
            // Another process may have evicted it since.
            let Ok(metadata) = entry.metadata() else { continue };
            total = total.saturating_add(metadata.len());
            entries.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), path));
        }
        if total <= self.limit_bytes {
            return Ok(());
        }
        entries.sort();
        for (_, size_bytes, path) in entries {
            if total <= self.limit_bytes / 4 * 3 {
                break;
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => total = total.saturating_sub(size_bytes),
            }
        }
        Ok(())
    }

    fn warn_once(&self, error: &io::Error) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            log::warn!(
                "program cache {} cannot be used: {error}; programs are built again at each start; \
                 set OCLAVE_CACHE_DIR to a directory that you own and others cannot write, or OCLAVE_CACHE=0",
                self.directory.display()
            );
        }
    }
}

#[cfg(test)]
mod tests;
