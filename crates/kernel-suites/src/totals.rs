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

/// What became of a case, by its mode: outcome and reason.
type Modes = BTreeMap<String, (String, String)>;

/// The rows of a run.
struct Rows {
    exceptions: Vec<Exception>,
    /// (device, program, case) → mode → outcome and reason
    cases: BTreeMap<[String; 3], Modes>,
}

/// How a row compares with the driver's own compiler.
enum Verdict<'r> {
    /// It is right.
    Pass,
    /// It is not, and neither is the driver's own compiler, or the device lacks something.
    Skip,
    /// It is worse, for a reason that is known.
    Exception(&'r str),
    /// It is worse.
    Worse,
}

impl Rows {
    fn read(exceptions: Option<&str>, files: &[&str]) -> Result<Self, String> {
        let read = |file: &str| fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
        let exceptions: Vec<Exception> = match exceptions {
            None => Vec::new(),
            Some(file) => read(file)?
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .map(Exception::parse)
                .collect::<Result<_, _>>()?,
        };
        let mut cases: BTreeMap<[String; 3], Modes> = BTreeMap::new();
        for file in files {
            for line in read(file)?.lines() {
                let words: Vec<&str> = line.split('\t').collect();
                let [program, case, device, mode, word, reason] = *words else {
                    return Err(format!("{file}: a row has {} columns, not 6: {line}", words.len()));
                };
                let key = [device, program, case].map(str::to_owned);
                cases.entry(key).or_default().insert(mode.to_owned(), (word.to_owned(), reason.to_owned()));
            }
        }
        if cases.is_empty() {
            return Err("nothing ran".to_owned());
        }
        Ok(Self { exceptions, cases })
    }

    fn verdict(&self, [device, program, case]: &[String; 3], modes: &Modes, mode: &str) -> Verdict<'_> {
        let word = modes.get(mode).map_or("fail", |(word, _)| word);
        match (word, modes.get("source").map_or("pass", |(word, _)| word)) {
            ("pass", _) => Verdict::Pass,
            ("skip", _) => Verdict::Skip,
            (_, "pass") => {
                match self.exceptions.iter().find(|one| one.is_of([device, mode, program, case])) {
                    Some(exception) => Verdict::Exception(&exception.reason),
                    None => Verdict::Worse,
                }
            }
            _ => Verdict::Skip,
        }
    }
}

/// Prints, for each device and mode, how many rows have which outcome. Then each case whose result is
/// worse than that of the driver's own compiler, unless the file of exceptions names it. Fails if
/// there is one.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn print(exceptions: Option<&str>, files: &[&str]) -> Result<ExitCode, String> {
    let rows = Rows::read(exceptions, files)?;
    let mut counts: BTreeMap<(&str, &str), [usize; WORDS.len()]> = BTreeMap::new();
    let (mut worse, mut named) = (0, BTreeMap::new());
    for (key, modes) in &rows.cases {
        let [device, program, case] = key;
        for (mode, (word, reason)) in modes {
            let count = counts.entry((device, mode)).or_default();
            if let Some(at) = WORDS.iter().position(|one| one == word) {
                count.iter_mut().skip(at).take(1).for_each(|count| *count += 1);
            }
            if mode == "source" {
                continue;
            }
            match rows.verdict(key, modes, mode) {
                Verdict::Pass | Verdict::Skip => {}
                Verdict::Exception(reason) => *named.entry(reason).or_insert(0) += 1,
                Verdict::Worse => {
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
    let programs: BTreeSet<&String> = rows.cases.keys().map(|[_, program, _]| program).collect();
    println!(
        "{} programs, {} cases: {worse} rows are worse than the driver's own compiler, and {named} are named exceptions",
        programs.len(),
        rows.cases.len()
    );
    Ok(if worse == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a line for each row of oclave: `pass`, `fail` or `skip`, the suite with the mode, the case,
/// the reason. Tabs are between them.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn results(suite: &str, exceptions: Option<&str>, files: &[&str]) -> Result<ExitCode, String> {
    let rows = Rows::read(exceptions, files)?;
    for (key, modes) in &rows.cases {
        let [_, program, case] = key;
        for (mode, (word, reason)) in modes.iter().filter(|(mode, _)| *mode != "source") {
            let (status, reason) = match rows.verdict(key, modes, mode) {
                Verdict::Pass => ("pass", String::new()),
                Verdict::Skip if word == "skip" => ("skip", reason.clone()),
                Verdict::Skip => ("skip", "the driver's own compiler is wrong, too".to_owned()),
                Verdict::Exception(reason) => ("skip", reason.to_owned()),
                Verdict::Worse => ("fail", format!("{word}: {reason}")),
            };
            println!("{status}\t{suite}-{mode}\t{program}: {case}\t{reason}");
        }
    }
    Ok(ExitCode::SUCCESS)
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
