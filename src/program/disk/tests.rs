//! Entries as they are written, changed and removed, and folders that cannot be trusted.
#![allow(clippy::unwrap_used)]

use super::entry::{HEADER_BYTES, header, parse};
use super::*;
use proptest::prelude::*;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

fn key(n: u8) -> CacheKey {
    CacheKeyBuilder::new().part(&[n]).finish()
}

fn cache(limit_bytes: u64) -> (tempfile::TempDir, DiskCache) {
    let dir = tempfile::tempdir().unwrap();
    let cache = DiskCache::new(dir.path().join("programs"), limit_bytes);
    (dir, cache)
}

#[test]
fn stores_and_loads() {
    let (_dir, cache) = cache(1 << 20);
    assert_eq!(cache.load(&key(1)), None);
    cache.store(&key(1), b"binary one");
    cache.store(&key(2), b"binary two");
    assert_eq!(cache.load(&key(1)).unwrap(), b"binary one");
    assert_eq!(cache.load(&key(2)).unwrap(), b"binary two");
    cache.remove(&key(1));
    assert_eq!(cache.load(&key(1)), None);
}

#[test]
fn parts_of_a_key_do_not_run_together() {
    let a = CacheKeyBuilder::new().part(b"ab").part(b"c").finish();
    let b = CacheKeyBuilder::new().part(b"a").part(b"bc").finish();
    assert_ne!(a, b);
}

#[test]
fn every_flipped_bit_and_every_truncation_is_detected() {
    let (_dir, cache) = cache(1 << 20);
    cache.store(&key(1), b"binary");
    let path = cache.path(&key(1));
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            fs::write(&path, bad).unwrap();
            assert_eq!(cache.load(&key(1)), None, "byte {at} bit {bit}");
        }
        fs::write(&path, &good[..at]).unwrap();
        assert_eq!(cache.load(&key(1)), None, "truncated to {at}");
    }
    let mut longer = good.clone();
    longer.push(0);
    fs::write(&path, longer).unwrap();
    assert_eq!(cache.load(&key(1)), None, "one byte longer");
    cache.store(&key(1), b"binary");
    assert_eq!(cache.load(&key(1)).unwrap(), b"binary", "a bad entry is replaced");
}

#[test]
fn an_entry_under_another_key_is_foreign() {
    let (_dir, cache) = cache(1 << 20);
    cache.store(&key(1), b"binary");
    fs::copy(cache.path(&key(1)), cache.path(&key(2))).unwrap();
    assert_eq!(cache.load(&key(2)), None);
}

/// Runs `load` on a thread, so that one that waits fails the test and does not hang it.
fn load_in_time(cache: DiskCache, key: CacheKey) -> Option<Vec<u8>> {
    let (done, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(cache.load(&key)));
    answer.recv_timeout(Duration::from_secs(60)).expect("loading ends")
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let (_dir, cache) = cache(1 << 20);
    cache.store(&key(1), b"binary");
    let (path, directory) = (cache.path(&key(1)), cache.directory.clone());
    let own = directory.join("own");
    fs::rename(&path, &own).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert_eq!(load_in_time(DiskCache::new(directory.clone(), 1 << 20), key(1)), None, "a FIFO");
    fs::remove_file(&path).unwrap();
    for target in [std::path::Path::new("/dev/zero"), &own] {
        std::os::unix::fs::symlink(target, &path).unwrap();
        assert_eq!(load_in_time(DiskCache::new(directory.clone(), 1 << 20), key(1)), None, "{target:?}");
        fs::remove_file(&path).unwrap();
    }
    fs::create_dir(&path).unwrap();
    assert_eq!(cache.load(&key(1)), None, "a folder");
}

#[test]
fn of_a_file_that_is_no_entry_only_the_header_is_read() {
    struct Counting(u64);
    impl io::Read for Counting {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += buffer.len() as u64;
            buffer.fill(0);
            Ok(buffer.len())
        }
    }
    for size in [1 << 20, 1 << 50, u64::MAX] {
        let mut file = Counting(0);
        assert!(entry::parse(&mut file, size, &key(1), u64::MAX).is_err());
        assert!(file.0 <= HEADER_BYTES as u64, "{} bytes read", file.0);
    }
    let mut file = Counting(0);
    assert!(entry::parse(&mut file, 1 << 50, &key(1), 1 << 30).is_err());
    assert_eq!(file.0, 0, "larger than the cache");
}

#[test]
fn folders_and_entries_that_others_may_write_are_not_used() {
    let (_dir, cache) = cache(1 << 20);
    cache.store(&key(1), b"binary");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&cache.directory), mode(&cache.path(&key(1)))), (0o700, 0o600));
    let change = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for shared in [0o620, 0o602] {
        change(&cache.path(&key(1)), shared);
        assert_eq!(cache.load(&key(1)), None, "an entry of mode {shared:o}");
    }
    change(&cache.path(&key(1)), 0o600);
    for shared in [0o770, 0o707, 0o1777] {
        change(&cache.directory, shared);
        assert_eq!(cache.load(&key(1)), None, "a folder of mode {shared:o}");
        cache.store(&key(2), b"binary");
        assert!(!cache.path(&key(2)).exists(), "nothing is written into it");
        assert!(cache.warned.load(Ordering::Relaxed));
    }
    change(&cache.directory, 0o755);
    assert_eq!(cache.load(&key(1)).unwrap(), b"binary");
}

/// Only root can give files away; CI's containers run as root.
#[test]
fn what_belongs_to_others_is_not_used() {
    let (_dir, cache) = cache(1 << 20);
    cache.store(&key(1), b"binary");
    let path = cache.path(&key(1));
    if let Err(error) = std::os::unix::fs::chown(&path, Some(65534), None) {
        return println!("skipped: this user cannot give files away: {error}");
    }
    assert_eq!(cache.load(&key(1)), None, "an entry of another user");
    std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    std::os::unix::fs::chown(&cache.directory, Some(65534), None).unwrap();
    assert_eq!(cache.load(&key(1)), None, "a folder of another user");
}

#[test]
fn a_binary_under_the_header_of_another_is_foreign() {
    let (_dir, cache) = cache(1 << 20);
    cache.store(&key(1), b"binary one");
    cache.store(&key(2), b"binary two");
    let one = fs::read(cache.path(&key(1))).unwrap();
    let two = fs::read(cache.path(&key(2))).unwrap();
    // The key of the first, the hash and the binary of the second.
    let mixed = [&one[..HEADER_BYTES - 32], &two[HEADER_BYTES - 32..]].concat();
    fs::write(cache.path(&key(1)), mixed).unwrap();
    assert_eq!(cache.load(&key(1)), None);
}

#[test]
fn the_entries_used_longest_ago_go_first() {
    let size = 1000;
    let (_dir, cache) = cache(4 * (HEADER_BYTES as u64 + size as u64));
    for n in 0..4 {
        cache.store(&key(n), &vec![n; size]);
        let file = File::options().write(true).open(cache.path(&key(n))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(100 - u64::from(n))).unwrap();
    }
    assert!(cache.load(&key(0)).is_some(), "this use makes entry 0 the newest");
    cache.store(&key(4), &vec![4; size]);
    let left: Vec<u8> = (0..5).filter(|n| cache.load(&key(*n)).is_some()).collect();
    assert_eq!(left, [0, 3, 4]);
}

#[test]
fn a_directory_that_cannot_be_made_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, b"not a directory").unwrap();
    let cache = DiskCache::new(file.join("programs"), 1 << 20);
    cache.store(&key(1), b"binary");
    assert_eq!(cache.load(&key(1)), None);
    assert!(cache.warned.load(Ordering::Relaxed));
}

/// Files may not grow beyond a few blocks in that process, which is what a full disk looks like
/// to `write`.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let child = "program::disk::tests::stores_more_than_fits";
    let output = std::process::Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", child, "--ignored", "--nocapture"])
        .env("OCLAVE_TEST_DIRECTORY", dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(fs::read_dir(dir.path().join("programs")).unwrap().count(), 0);
}

#[test]
#[ignore = "run in a process of its own by another test"]
fn stores_more_than_fits() {
    let dir = PathBuf::from(std::env::var_os("OCLAVE_TEST_DIRECTORY").unwrap());
    let cache = DiskCache::new(dir.join("programs"), 1 << 30);
    cache.store(&key(1), &vec![1; 1 << 20]);
    assert_eq!(cache.load(&key(1)), None);
    assert!(cache.warned.load(Ordering::Relaxed));
}

#[test]
fn other_files_of_the_directory_are_left_alone() {
    let (_dir, cache) = cache(0);
    fs::create_dir_all(&cache.directory).unwrap();
    fs::write(cache.directory.join("letter.txt"), b"dear").unwrap();
    cache.store(&key(1), b"binary");
    assert_eq!(cache.load(&key(1)), None, "a limit of zero keeps nothing");
    assert!(cache.directory.join("letter.txt").exists());
}

proptest! {
    // The number of cases is `PROPTEST_CASES`, as `ci/sweep fuzz` sets it.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Changed entries: what is read is the binary that was written, or there is an error.
    #[test]
    fn changed_entries(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
        limit_bytes in prop_oneof![Just(1 << 20), 0..200_u64],
    ) {
        let written = b"binary";
        let mut bytes = header(&key(1), written);
        bytes.extend_from_slice(written);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let read = parse(&mut bytes.as_slice(), bytes.len() as u64, &key(1), limit_bytes);
        prop_assert!(read.is_err() || read.unwrap() == written);
        // A file whose size lies, as one does that changes while it is read.
        let _ = parse(&mut bytes.as_slice(), limit_bytes, &key(1), 1 << 20);
    }
}
