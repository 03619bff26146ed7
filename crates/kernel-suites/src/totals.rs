//! Counts the rows of a run, and names what is worse than the driver's own compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::ExitCode;

use crate::outcome::{CLOSE, DIFFERENT, EQUAL, NOTHING_WRITTEN};

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

/// The mode of rows of Oclgrind.
const CHECK: &str = "check";

/// The rows of a run.
struct Rows {
    exceptions: Vec<Exception>,
    /// (program, case) → what Oclgrind found in it
    findings: BTreeMap<[String; 2], String>,
    /// (device, program, case) → mode → outcome and reason
    cases: BTreeMap<[String; 3], Modes>,
}

/// How a row compares with the driver's own compiler.
enum Verdict<'r> {
    /// It is right.
    Pass,
    /// It is not, and neither is the driver's own compiler, or the device lacks something.
    Skip,
    /// It differs, but the kernel's result is undefined. Oclgrind says why.
    Undefined(&'r str),
    /// It is worse, for a reason that is known.
    Exception(&'r str),
    /// It is worse.
    Worse,
}

/// Whether a case ran, and ended early or with other results.
fn is_by_result(word: &str, reason: &str) -> bool {
    matches!(word, "crash" | "timeout") || word == "fail" && reason.starts_with(DIFFERENT)
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
        let mut findings = BTreeMap::new();
        for file in files {
            for line in read(file)?.lines() {
                let words: Vec<&str> = line.split('\t').collect();
                let [program, case, device, mode, word, reason] = *words else {
                    return Err(format!("{file}: a row has {} columns, not 6: {line}", words.len()));
                };
                if mode == CHECK {
                    if word == "skip" {
                        findings.insert([program, case].map(str::to_owned), reason.to_owned());
                    }
                    continue;
                }
                let key = [device, program, case].map(str::to_owned);
                cases.entry(key).or_default().insert(mode.to_owned(), (word.to_owned(), reason.to_owned()));
            }
        }
        if cases.is_empty() {
            return Err("nothing ran".to_owned());
        }
        Ok(Self { exceptions, findings, cases })
    }

    /// For each device and mode whose results are compared with those of the driver's own compiler, a line:
    /// how many are the same, and how many only differ by the rounding of floating-point numbers.
    fn compared(&self) -> Vec<String> {
        let mut lines: BTreeMap<[&String; 2], [usize; 6]> = BTreeMap::new();
        for (key, modes) in &self.cases {
            for (mode, (word, reason)) in modes.iter().filter(|(mode, _)| *mode != "source") {
                let (source, remark) = modes.get("source").map_or(("", ""), |(word, how)| (word, how));
                let count = lines.entry([&key[0], mode]).or_default();
                let at = match (source, &**word) {
                    ("pass", "pass") if remark == NOTHING_WRITTEN => 3,
                    ("pass", "pass") if reason == EQUAL => 0,
                    ("pass", "pass") if reason.starts_with(CLOSE) => 1,
                    ("pass", "fail") if reason.starts_with(DIFFERENT) => 2,
                    ("crash" | "timeout", _) => 4,
                    (_, "crash" | "timeout") => 5,
                    _ => continue,
                };
                if let Some(count) = count.get_mut(at) {
                    *count += 1;
                }
            }
        }
        lines.retain(|_, count| count[..2] != [0, 0]);
        let line = |([device, mode], counts): (&[&String; 2], &[usize; 6])| {
            let [equal, close, different, untouched, theirs, ours] = counts;
            format!(
                "{device} {mode}: {} compared: {equal} equal, {close} close, {different} different; {untouched} write \
                 nothing; {theirs} end the process from source, {ours} only by oclave",
                equal + close + different
            )
        };
        lines.iter().map(line).collect()
    }

    fn verdict(&self, [device, program, case]: &[String; 3], modes: &Modes, mode: &str) -> Verdict<'_> {
        let (word, reason) = modes.get(mode).map_or(("fail", ""), |(word, reason)| (word, reason));
        match (word, modes.get("source").map_or("pass", |(word, _)| word)) {
            ("pass", _) => Verdict::Pass,
            ("skip", _) => Verdict::Skip,
            (_, "pass") => {
                let finding = self.findings.get(&[program.clone(), case.clone()]);
                // Undefined behavior is no reason to refuse a kernel.
                if let Some(finding) = finding.filter(|_| is_by_result(word, reason)) {
                    return Verdict::Undefined(finding);
                }
                match self.exceptions.iter().find(|one| one.is_of([device, mode, program, case])) {
                    Some(exception) => Verdict::Exception(&exception.reason),
                    None => Verdict::Worse,
                }
            }
            _ => Verdict::Skip,
        }
    }
}

/// The cases whose results are worse than those of the driver's own compiler, by their programs, whatever
/// the reason.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn suspects(files: &[&str]) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let rows = Rows::read(None, files)?;
    let mut suspects: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (key, modes) in &rows.cases {
        let [_, program, case] = key;
        let mut own = modes.iter().filter(|(mode, _)| *mode != "source");
        if own.any(|(mode, (word, reason))| {
            is_by_result(word, reason) && matches!(rows.verdict(key, modes, mode), Verdict::Worse)
        }) {
            suspects.entry(program.clone()).or_default().insert(case.clone());
        }
    }
    Ok(suspects)
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
    let (mut worse, mut named, mut undefined) = (0, BTreeMap::new(), BTreeMap::new());
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
                Verdict::Undefined(finding) => *undefined.entry(finding).or_insert(0) += 1,
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
    for line in rows.compared() {
        println!("{line}");
    }
    for (finding, count) in &undefined {
        println!("undefined: {count} rows: {finding}");
    }
    for (reason, count) in &named {
        println!("exception: {count} rows: {reason}");
    }
    let (named, undefined): (usize, usize) = (named.values().sum(), undefined.values().sum());
    let programs: BTreeSet<&String> = rows.cases.keys().map(|[_, program, _]| program).collect();
    println!(
        "{} programs, {} cases: {worse} rows are worse than the driver's own compiler, {named} are named exceptions, \
         and {undefined} have no defined result",
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
                Verdict::Exception(reason) | Verdict::Undefined(reason) => ("skip", reason.to_owned()),
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
