//! The fuzz target's body on the fixtures and on what is made of them: words flipped, copied, removed, swapped.
//!
//! `PROPTEST_CASES` sets how many modules are made.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/fuzz.rs"]
mod body;
mod support;

use body::everything;
use oclave_image::spirv::Module;
use proptest::prelude::*;

/// One change to a module. Positions are taken modulo what there is.
#[derive(Debug, Clone)]
enum Change {
    SetWord { word: usize, value: u32 },
    CopyWord { from: usize, to: usize },
    FlipBit { word: usize, bit: u32 },
    Remove { instruction: usize },
    Repeat { instruction: usize, before: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<usize>;
    prop_oneof![
        4 => (at(), prop_oneof![0..300_u32, any::<u32>()]).prop_map(|(word, value)| Change::SetWord { word, value }),
        8 => (at(), at()).prop_map(|(from, to)| Change::CopyWord { from, to }),
        4 => (at(), 0..32_u32).prop_map(|(word, bit)| Change::FlipBit { word, bit }),
        2 => at().prop_map(|instruction| Change::Remove { instruction }),
        2 => (at(), at()).prop_map(|(instruction, before)| Change::Repeat { instruction, before }),
    ]
}

fn apply(words: &mut Vec<u32>, change: &Change) {
    let instructions: Vec<std::ops::Range<usize>> = Module::from_words(words.clone())
        .map(|m| m.instructions().map(|i| i.at..i.at + i.words.len()).collect())
        .unwrap_or_default();
    let one = |i: usize| instructions.get(i.checked_rem(instructions.len())?).cloned();
    // The header stays: a module that is not read tests nothing here.
    let place = |at: usize| 5 + at % (words.len().max(6) - 5);
    match *change {
        Change::SetWord { word, value } => {
            let at = place(word);
            words.get_mut(at).map(|w| *w = value).unwrap_or_default();
        }
        Change::CopyWord { from, to } => {
            let (from, to) = (place(from), place(to));
            if let Some(&word) = words.get(from) {
                words[to] = word;
            }
        }
        Change::FlipBit { word, bit } => {
            let at = place(word);
            words.get_mut(at).map(|w| *w ^= 1 << bit).unwrap_or_default();
        }
        Change::Remove { instruction } => {
            if let Some(range) = one(instruction) {
                words.drain(range);
            }
        }
        Change::Repeat { instruction, before } => {
            if let (Some(range), Some(place)) = (one(instruction), one(before)) {
                let copy = words[range].to_vec();
                words.splice(place.start..place.start, copy);
            }
        }
    }
}

#[test]
fn the_fixtures_themselves() {
    for (_, bytes) in support::modules() {
        everything(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
    ) })]

    #[test]
    fn changed_modules(which in any::<usize>(), changes in prop::collection::vec(change(), 1..4)) {
        let modules = modules();
        let mut words = modules[which % modules.len()].clone();
        changes.iter().for_each(|change| apply(&mut words, change));
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        everything(&bytes);
    }
}

fn modules() -> &'static [Vec<u32>] {
    static MODULES: std::sync::OnceLock<Vec<Vec<u32>>> = std::sync::OnceLock::new();
    MODULES.get_or_init(|| {
        let read = |(_, bytes): (String, Vec<u8>)| Module::from_bytes(&bytes).ok().map(Module::into_words);
        support::modules().into_iter().filter_map(read).collect()
    })
}
