//! Changed texts are read or refused: no panic, and no work without end.
//!
//! `FUZZ_SECONDS` sets how long it takes, `SEED` its first number.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

mod support;

use std::time::{Duration, Instant};

use oclave_rust::{Text, compile};
use support::Compiler;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// What is put into texts.
const PIECES: &[&str] = &[
    "i1",
    "i65",
    "i128",
    "i9999999",
    "float",
    "ptr",
    "void",
    "label",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "(",
    ")",
    "\"",
    ",",
    "=",
    "@",
    "%",
    "!",
    "-1",
    "0",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0x7FF8000000000000",
    "f0x3FC90FDB",
    "-inf",
    "+snan(0x1)",
    "undef",
    "poison",
    "null",
    "zeroinitializer",
    "phi",
    "br",
    "switch",
    "call",
    "invoke",
    "ret",
    "unreachable",
    "store",
    "load",
    "getelementptr",
    "alloca",
    "c\"\\00",
    "...",
    "#0",
    "vscale",
    "splat (",
    "[4294967295 x [4294967295 x i64]]",
    "\u{fffd}",
];

/// Changes a text in one place.
fn change(text: &mut String, random: &mut Random) {
    let mut at = random.below(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let mut end = (at + random.below(12)).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = end.max(at);
    let line = text[..at].rfind('\n').map_or(0, |before| before + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |after| at + after);
    match random.below(7) {
        0 => text.replace_range(at..end, ""),
        1 => text.replace_range(at..end, PIECES[random.below(PIECES.len())]),
        2 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
        3 => text.replace_range(line..line_end, ""),
        4 => text.truncate(at),
        5 => {
            // Another word in the place of this one.
            let words: Vec<(usize, &str)> = text[line..line_end].split(' ').map(|word| (0, word)).collect();
            let (_, word) = words[random.below(words.len())];
            let word = word.to_owned();
            text.insert_str(at, &word);
        }
        _ => {
            // Another line in the place of this one.
            let mut other = random.below(text.len());
            while !text.is_char_boundary(other) {
                other -= 1;
            }
            let from = text[..other].rfind('\n').map_or(0, |before| before + 1);
            let to = text[other..].find('\n').map_or(text.len(), |after| other + after);
            let copied = text[from..to].to_owned();
            text.replace_range(line..line_end, &copied);
        }
    }
}

#[test]
fn changed_texts() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let limit = Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(10));
    let mut random = Random(number("SEED").unwrap_or(1));
    let compiler = Compiler::new();
    let own = compiler.kernel_crate();
    let bases: Vec<String> = [
        include_str!("../../../examples/rust/kernels/step.rs"),
        include_str!("../../../examples/rust/kernels/mix.rs"),
    ]
    .iter()
    .map(|source| compiler.text(source))
    .collect();
    let begin = Instant::now();
    let (mut runs, mut lowered, mut slowest) = (0_u32, 0_u32, Duration::ZERO);
    while begin.elapsed() < limit {
        let mut text = bases[random.below(bases.len())].clone();
        for _ in 0..=random.below(3) {
            change(&mut text, &mut random);
        }
        let one = Instant::now();
        let texts = [Text { name: "changed", ir: &text }, Text { name: "oclave_kernel", ir: &own }];
        let result = std::panic::catch_unwind(|| compile(&texts));
        let Ok(result) = result else {
            let path = std::env::temp_dir().join(format!("oclave-rust-{}.ll", std::process::id()));
            std::fs::write(&path, &text).unwrap();
            panic!("run {runs} panicked; its text is {}", path.display());
        };
        slowest = slowest.max(one.elapsed());
        lowered += u32::from(result.is_ok());
        runs += 1;
    }
    println!("{runs} runs, of which {lowered} gave a module; the slowest took {slowest:?}");
    assert!(slowest < Duration::from_secs(20), "a run took {slowest:?}");
    assert!(runs < 100 || lowered > runs / 50, "only {lowered} of {runs} changed texts were lowered");
}
