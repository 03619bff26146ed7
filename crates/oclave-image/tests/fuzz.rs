//! The fuzz target's body on the corpus and on what is made of it: words flipped, cut, copied,
//! swapped.
//!
//! `PROPTEST_CASES` sets how many modules the tests of proptest make, `FUZZ_SECONDS` how long the
//! others run, `SEED` where they begin. `FUZZ_LAST` names a folder that keeps the last input of each.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_image::{PostLinkOptions, TranslationUnit, post_link};
use oclave_spirv::Module;
use oclave_spirv::check;
use proptest::prelude::*;
use support::fuzz::everything;
use support::mutate::Mutator;

/// One change to a module. Positions and choices are taken modulo what there is.
#[derive(Debug, Clone)]
enum Change {
    FlipBit {
        word: usize,
        bit: u32,
    },
    SetWord {
        word: usize,
        value: u32,
    },
    /// Puts the word of another place here: mostly an id for another.
    CopyWord {
        from: usize,
        to: usize,
    },
    Truncate {
        words: usize,
    },
    RemoveInstruction {
        instruction: usize,
    },
    RepeatInstruction {
        instruction: usize,
        before: usize,
    },
    SwapInstructions {
        a: usize,
        b: usize,
    },
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<usize>;
    prop_oneof![
        4 => (at(), 0..32_u32).prop_map(|(word, bit)| Change::FlipBit { word, bit }),
        4 => (at(), prop_oneof![0..300_u32, any::<u32>()]).prop_map(|(word, value)| Change::SetWord { word, value }),
        8 => (at(), at()).prop_map(|(from, to)| Change::CopyWord { from, to }),
        1 => at().prop_map(|words| Change::Truncate { words }),
        3 => at().prop_map(|instruction| Change::RemoveInstruction { instruction }),
        3 => (at(), at()).prop_map(|(instruction, before)| Change::RepeatInstruction { instruction, before }),
        3 => (at(), at()).prop_map(|(a, b)| Change::SwapInstructions { a, b }),
    ]
}

fn apply(words: &mut Vec<u32>, change: &Change) {
    // Where instructions start, as far as the words still tell.
    let instructions: Vec<std::ops::Range<usize>> = Module::from_words(words.clone())
        .map(|m| m.instructions().map(|i| i.at..i.at + i.words.len()).collect())
        .unwrap_or_default();
    let one = |i: usize| instructions.get(i.checked_rem(instructions.len())?).cloned();
    let count = words.len().max(1);
    match *change {
        Change::FlipBit { word, bit } => {
            words.get_mut(word % count).map(|w| *w ^= 1 << bit).unwrap_or_default()
        }
        Change::SetWord { word, value } => {
            words.get_mut(word % count).map(|w| *w = value).unwrap_or_default()
        }
        Change::CopyWord { from, to } => {
            if let Some(&word) = words.get(from % count) {
                words[to % count] = word;
            }
        }
        Change::Truncate { words: left } => words.truncate(left % count),
        Change::RemoveInstruction { instruction } => {
            if let Some(range) = one(instruction) {
                words.drain(range);
            }
        }
        Change::RepeatInstruction { instruction, before } => {
            if let (Some(range), Some(place)) = (one(instruction), one(before)) {
                let copy = words[range].to_vec();
                words.splice(place.start..place.start, copy);
            }
        }
        Change::SwapInstructions { a, b } => {
            if let (Some(a), Some(b)) = (one(a), one(b)) {
                let (a, b) = if a.start < b.start { (a, b) } else { (b, a) };
                if a.end <= b.start {
                    let (first, second) = (words[a.clone()].to_vec(), words[b.clone()].to_vec());
                    words.splice(b, first);
                    words.splice(a, second);
                }
            }
        }
    }
}

#[test]
fn the_corpus_itself() {
    for (_, bytes) in support::corpus() {
        everything(&bytes);
    }
}

/// Inputs that once showed a fault. Passes make sound modules of those in `sound`; `check` refuses
/// those in `refused`, as `spirv-val` does.
#[test]
fn what_was_found() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let files = |name: &str| {
        let mut files: Vec<_> =
            std::fs::read_dir(folder.join(name)).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty());
        files
    };
    for path in files("sound") {
        let bytes = std::fs::read(&path).unwrap();
        check::check(&Module::from_bytes(&bytes).unwrap())
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        everything(&bytes);
        support::fuzz::interpreted(&bytes);
        support::fuzz::link(&[bytes.clone(), bytes].concat());
    }
    for path in files("refused") {
        let bytes = std::fs::read(&path).unwrap();
        assert!(check::check(&Module::from_bytes(&bytes).unwrap()).is_err(), "{} is taken", path.display());
        everything(&bytes);
    }
}

/// Seconds that the bounded run may take; `FUZZ_SECONDS` sets more.
fn seconds(otherwise: u64) -> std::time::Duration {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
    std::time::Duration::from_secs(seconds)
}

/// Runs `body` on changed copies of `bases` until `seconds` have passed or, without `FUZZ_SECONDS`,
/// `most` were made.
fn run(name: &str, most: u64, bases: &[Vec<u8>], change: fn(&mut Mutator, &mut Vec<u8>), body: fn(&[u8])) {
    let seed = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut mutator, begin, limit) = (Mutator::new(seed), std::time::Instant::now(), seconds(5));
    let most = if std::env::var_os("FUZZ_SECONDS").is_some() { u64::MAX } else { most };
    let mut executions = 0;
    while executions < most && begin.elapsed() < limit {
        let mut bytes = bases[mutator.below(bases.len())].clone();
        change(&mut mutator, &mut bytes);
        keep_last(name, &bytes);
        if let Err(panic) = std::panic::catch_unwind(|| in_time(name, &bytes, body)) {
            let path = keep(name, &bytes);
            println!("{name}: execution {executions} panicked; its input is {}", path.display());
            std::panic::resume_unwind(panic);
        }
        executions += 1;
    }
    println!("{name}: {executions} executions in {:?}", begin.elapsed());
}

/// Runs `body`, and ends the process where that takes more than a minute. The input is kept then.
fn in_time(name: &str, bytes: &[u8], body: fn(&[u8])) {
    let (done, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let waited = wait.recv_timeout(std::time::Duration::from_secs(60));
            if waited == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let path = keep(name, bytes);
                eprintln!("{name}: an input takes more than a minute; it is {}", path.display());
                std::process::abort();
            }
        });
        // Also where `body` panics: the other thread ends as soon as this one drops its end.
        let _done = done;
        body(bytes);
    });
}

/// Writes an input to a file.
fn keep(name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("oclave-fuzz-{name}-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// Writes an input into the folder `FUZZ_LAST`, where there is one. A stack that overflows ends the
/// process, and leaves nothing else to look at.
fn keep_last(name: &str, bytes: &[u8]) {
    if let Some(folder) = std::env::var_os("FUZZ_LAST") {
        let path = std::path::Path::new(&folder).join(format!("last-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn change_words(mutator: &mut Mutator, bytes: &mut Vec<u8>) {
    let mut words: Vec<u32> =
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
    mutator.module(&mut words);
    *bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
}

fn bytes_of(corpus: &[Vec<u32>]) -> Vec<Vec<u8>> {
    corpus.iter().map(|words| words.iter().flat_map(|w| w.to_le_bytes()).collect()).collect()
}

#[test]
fn changed_containers() {
    let modules = corpus().iter().filter_map(|words| Module::from_words(words.clone()).ok());
    let units: Vec<_> = modules.map(|module| TranslationUnit::new("fuzz", module)).collect();
    let images = units.iter().flat_map(|unit| {
        post_link(std::slice::from_ref(unit), &PostLinkOptions::default()).unwrap_or_default()
    });
    let images: Vec<Vec<u8>> = images.map(|image| image.to_bytes()).collect();
    assert!(images.len() >= 20);
    run("containers", 2000, &images, Mutator::bytes, support::fuzz::container);
}

#[test]
fn changed_modules_in_links() {
    run("links", 500, &bytes_of(corpus()), change_words, |bytes| {
        support::fuzz::link(&[bytes, bytes].concat());
    });
}

#[test]
fn changed_modules_in_every_pass() {
    run("modules", 500, &bytes_of(corpus()), change_words, everything);
}

#[test]
fn changed_modules_in_the_interpreter() {
    run("interpreter", 500, &bytes_of(corpus()), change_words, support::fuzz::interpreted);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
    ) })]

    #[test]
    fn changed_modules(which in any::<usize>(), changes in prop::collection::vec(change(), 1..6)) {
        let corpus = corpus();
        let mut words = corpus[which % corpus.len()].clone();
        changes.iter().for_each(|change| apply(&mut words, change));
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        keep_last("changed_modules", &bytes);
        in_time("changed_modules", &bytes, everything);
    }

    #[test]
    fn any_words(words in prop::collection::vec(any::<u32>(), 0..64)) {
        let mut module = vec![0x0723_0203, 0x0001_0400, 0, 4_000_000, 0];
        module.extend(words);
        let bytes: Vec<u8> = module.iter().flat_map(|w| w.to_le_bytes()).collect();
        everything(&bytes);
        everything(&bytes[20..]);
    }
}

/// The corpus as words, stripped as well as raw, so that many stay sound after a change.
fn corpus() -> &'static [Vec<u32>] {
    static CORPUS: std::sync::OnceLock<Vec<Vec<u32>>> = std::sync::OnceLock::new();
    CORPUS.get_or_init(|| {
        let raw: Vec<Module> =
            support::corpus().iter().map(|(_, bytes)| Module::from_bytes(bytes).unwrap()).collect();
        let stripped = raw.iter().map(|m| oclave_spirv::transform::strip::strip(m, |_| true).unwrap());
        stripped.chain(raw.iter().cloned()).map(Module::into_words).collect()
    })
}
