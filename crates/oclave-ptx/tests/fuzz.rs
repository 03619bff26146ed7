//! The fuzz target's body on the fixtures and on what is made of them: words and instructions
//! changed, moved, removed.
//!
//! The run is short. `FUZZ_SECONDS` sets how long it takes, `SEED` its first number. `ci/sweep fuzz`
//! and `ci/ptx-pack` run more.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/fuzz.rs"]
mod body;
#[allow(dead_code, reason = "it changes bytes, too")]
#[path = "../../oclave-image/tests/support/mutate.rs"]
mod mutate;
mod support;

use std::time::{Duration, Instant};

use oclave_spirv::Module;
use oclave_spirv::transform::strip;

/// How many modules the bounded run makes at most.
const BOUNDED: u64 = 4000;

#[test]
fn the_fixtures_themselves() {
    for (_, bytes) in support::modules() {
        body::everything(&bytes);
    }
}

#[test]
fn changed_modules() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let seconds = number("FUZZ_SECONDS");
    let most = if seconds.is_some() { u64::MAX } else { BOUNDED };
    let (begin, limit) = (Instant::now(), Duration::from_secs(seconds.unwrap_or(5)));
    let mut mutator = mutate::Mutator::new(number("SEED").unwrap_or(1));
    let (bases, mut executions, mut translated) = (bases(), 0, 0_u64);
    while executions < most && begin.elapsed() < limit {
        let mut words = bases[mutator.below(bases.len())].clone();
        mutator.module(&mut words);
        let last = std::panic::AssertUnwindSafe(&words);
        match std::panic::catch_unwind(|| body::module(&last, executions % 2 == 0)) {
            Ok(made) => translated += u64::from(made),
            Err(panic) => {
                let path = std::env::temp_dir().join(format!("oclave-ptx-fuzz-{}.spv", std::process::id()));
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                std::fs::write(&path, bytes).unwrap();
                println!("execution {executions} panicked; its module is {}", path.display());
                std::panic::resume_unwind(panic);
            }
        }
        executions += 1;
    }
    println!("{executions} executions in {:?}, of which {translated} gave PTX", begin.elapsed());
    assert!(executions < 1000 || translated > executions / 100, "most changes must leave a module sound");
}

/// The modules of the tests, without names and debug information: those that are small, so that
/// many are made.
fn bases() -> Vec<Vec<u32>> {
    let read = |(_, bytes): (String, Vec<u8>)| {
        let module = Module::from_bytes(&bytes).ok()?;
        let stripped = strip::strip(&module, |_| false).ok()?.into_words();
        (stripped.len() <= 1000).then_some(stripped)
    };
    let bases: Vec<Vec<u32>> = support::modules().into_iter().filter_map(read).collect();
    assert!(bases.len() > 30, "only {} modules to begin with", bases.len());
    bases
}
