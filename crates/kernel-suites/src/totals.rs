//! Counts the rows of a run.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;

/// The outcomes in the order of reports.
const WORDS: [&str; 6] = ["pass", "fail", "skip", "refused", "crash", "timeout"];

/// Prints, for each device and mode, how many rows have which outcome. Then how often oclave's
/// result is worse than that of the driver's own compiler, with a line for each such case.
///
/// # Errors
/// Files that cannot be read.
pub fn print(files: &[&str]) -> Result<ExitCode, String> {
    let mut counts: BTreeMap<(String, String), [usize; WORDS.len()]> = BTreeMap::new();
    // (device, file, case) → mode → outcome and reason
    let mut cases: BTreeMap<[String; 3], BTreeMap<String, (String, String)>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        for line in text.lines() {
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
    let mut worse = 0;
    for ([device, program, case], modes) in &cases {
        let source = modes.get("source").map_or("pass", |(word, _)| word.as_str());
        for (mode, (word, reason)) in modes.iter().filter(|(mode, _)| *mode != "source") {
            if source == "pass" && word != "pass" {
                worse += 1;
                println!("WORSE {device} {mode} {program}: {case}: {word}: {reason}");
            }
        }
    }
    for ((device, mode), count) in &counts {
        let parts: Vec<String> =
            WORDS.iter().zip(count).map(|(word, count)| format!("{count} {word}")).collect();
        println!("{device} {mode}: {}", parts.join(", "));
    }
    println!("{} cases, {worse} rows worse than the driver's own compiler", cases.len());
    Ok(if worse == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
