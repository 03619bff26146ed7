//! Counts the rows of a run, and names what is worse than the driver's own compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::ExitCode;

/// The outcomes in the order of reports.
const WORDS: [&str; 6] = ["pass", "fail", "skip", "refused", "crash", "timeout"];

/// A case that may be worse than the driver's own compiler, with the reason.
struct Exception {
    /// Device, mode, program and case. `*` stands for any text.
    patterns: [String; 4],
    reason: String,
}

impl Exception {
    /// Reads a line: device, mode, program, case, reason, with tabs between them.
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split('\t').filter(|word| !word.is_empty()).collect();
        let [device, mode, program, case, reason] = *words else {
            return Err(format!("an exception has {} columns, not 5: {line}", words.len()));
        };
        Ok(Self { patterns: [device, mode, program, case].map(str::to_owned), reason: reason.to_owned() })
    }

    fn is_of(&self, row: [&str; 4]) -> bool {
        self.patterns.iter().zip(row).all(|(pattern, text)| matches(pattern, text))
    }
}

/// Whether a text is that of a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| rest.get(at..).is_some_and(|rest| matches(after, rest)))
}

/// Prints, for each device and mode, how many rows have which outcome. Then each case whose result is
/// worse than that of the driver's own compiler, unless the file of exceptions names it. Fails if
/// there is one.
///
/// # Errors
/// Files that cannot be read.
pub fn print(exceptions: Option<&str>, files: &[&str]) -> Result<ExitCode, String> {
    let read = |file: &str| fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
    let exceptions: Vec<Exception> = match exceptions {
        None => Vec::new(),
        Some(file) => read(file)?
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(Exception::parse)
            .collect::<Result<_, _>>()?,
    };
    let mut counts: BTreeMap<(String, String), [usize; WORDS.len()]> = BTreeMap::new();
    // (device, program, case) → mode → outcome and reason
    let mut cases: BTreeMap<[String; 3], BTreeMap<String, (String, String)>> = BTreeMap::new();
    for file in files {
        for line in read(file)?.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let [program, case, device, mode, word, reason] = *words else {
                return Err(format!("{file}: a row has {} columns, not 6: {line}", words.len()));
            };
            let count = counts.entry((device.to_owned(), mode.to_owned())).or_default();
            if let Some(at) = WORDS.iter().position(|one| *one == word) {
                count.iter_mut().skip(at).take(1).for_each(|count| *count += 1);
            }
            let key = [device, program, case].map(str::to_owned);
            cases.entry(key).or_default().insert(mode.to_owned(), (word.to_owned(), reason.to_owned()));
        }
    }
    if cases.is_empty() {
        return Err("nothing ran".to_owned());
    }
    let (mut worse, mut named) = (0, BTreeMap::new());
    for ([device, program, case], modes) in &cases {
        let source = modes.get("source").map_or("pass", |(word, _)| word.as_str());
        for (mode, (word, reason)) in modes.iter().filter(|(mode, _)| *mode != "source") {
            if source != "pass" || word == "pass" {
                continue;
            }
            match exceptions.iter().find(|one| one.is_of([device, mode, program, case])) {
                Some(exception) => *named.entry(exception.reason.as_str()).or_insert(0) += 1,
                None => {
                    worse += 1;
                    println!("WORSE {device} {mode} {program}: {case}: {word}: {reason}");
                }
            }
        }
    }
    for ((device, mode), count) in &counts {
        let parts: Vec<String> =
            WORDS.iter().zip(count).map(|(word, count)| format!("{count} {word}")).collect();
        println!("{device} {mode}: {}", parts.join(", "));
    }
    for (reason, count) in &named {
        println!("exception: {count} rows: {reason}");
    }
    let named: usize = named.values().sum();
    let programs: BTreeSet<&String> = cases.keys().map(|[_, program, _]| program).collect();
    println!(
        "{} programs, {} cases: {worse} rows are worse than the driver's own compiler, and {named} are named exceptions",
        programs.len(),
        cases.len()
    );
    Ok(if worse == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::{Exception, matches};

    #[test]
    fn stars_stand_for_any_text() {
        assert!(matches("a*c", "abbc") && matches("*", "") && matches("a*", "a") && matches("a", "a"));
        assert!(!matches("a*c", "abb") && !matches("a", "ab") && !matches("", "a"));
    }

    #[test]
    fn exceptions_have_five_columns() {
        assert!(Exception::parse("intel\tlaunch\tfile").is_err());
        let exception = Exception::parse("intel\t*\tfile\t* in groups of 9\ta reason").ok();
        assert!(exception.is_some_and(|one| one.is_of(["intel", "graph", "file", "k in groups of 9"])));
    }
}
