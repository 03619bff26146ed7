//! Runs each program in a process of its own, and goes on behind those that end early or hang.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::outcome::{Mode, Outcome, one_line};
use crate::suite::Suite;
use crate::worker::{BUILD, CASES, ENDED, STARTS};

/// How a run is done.
#[derive(Debug, Clone)]
pub(crate) struct Settings<'a> {
    /// Its name, for processes of their own.
    pub suite: &'a str,
    /// Where the device images are.
    pub images: &'a Path,
    /// The device's name in the rows.
    pub device: &'a str,
    /// How cases run, in this order.
    pub modes: &'a [Mode],
    /// How long a process may be silent.
    pub limit: Duration,
}

/// After so many early ends of one program and mode, its other cases count as the last one.
const MOST_CRASHES: usize = 60;

/// The same for processes that were stopped, which take longer.
const MOST_TIMEOUTS: usize = 3;

/// Runs programs and writes a row for each case and mode: file, case, device, mode, outcome, reason.
///
/// # Errors
/// Rows that cannot be written, and processes that cannot be started.
pub(crate) fn run(
    settings: &Settings<'_>,
    suite: &dyn Suite,
    names: &[String],
    rows: &mut dyn Write,
) -> std::io::Result<()> {
    for name in names {
        let program = suite.program(name, settings.images);
        let titles: Vec<String> = match &program {
            Ok(program) => program.cases.iter().map(|case| case.name.clone()).collect(),
            Err(_) => Vec::new(),
        };
        drop(program);
        for &mode in settings.modes {
            let outcomes = program_outcomes(settings, name, mode, titles.len())?;
            let title = |at: usize| titles.get(at).map_or("(build)", String::as_str);
            for (at, outcome) in outcomes.iter().enumerate() {
                let (title, device) = (one_line(title(at)), settings.device);
                let (word, reason) = (outcome.word(), one_line(outcome.reason()));
                writeln!(rows, "{name}\t{title}\t{device}\t{mode}\t{word}\t{reason}")?;
            }
            rows.flush()?;
        }
    }
    Ok(())
}

/// What the processes of one program and mode said, for each case, or of the build if there is none.
fn program_outcomes(
    settings: &Settings<'_>,
    name: &str,
    mode: Mode,
    cases: usize,
) -> std::io::Result<Vec<Outcome>> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; cases.max(1)];
    let (mut from, mut alone, mut crashes, mut timeouts) = (0, false, 0, 0);
    loop {
        let end = one_process(settings, name, mode, from, alone, &mut outcomes)?;
        let missing = outcomes.iter().position(Option::is_none);
        let (Some(missing), Some(early)) = (missing, end.early) else {
            let silent = || Outcome::Fail("the process said nothing of it".to_owned());
            return Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(silent)).collect());
        };
        crashes += 1;
        timeouts += usize::from(matches!(early, Outcome::Timeout(_)));
        let goes_on = crashes < MOST_CRASHES && timeouts < MOST_TIMEOUTS;
        match end.at {
            // An earlier case may have overwritten the driver's memory. Alone, this one tells.
            Some(at) if at > from && goes_on => from = at,
            // A case by itself.
            Some(at) if goes_on => {
                if let Some(outcome) = outcomes.get_mut(at) {
                    outcome.get_or_insert(early);
                }
                from = outcomes.iter().position(Option::is_none).unwrap_or(cases);
                if from >= cases {
                    return Ok(outcomes.into_iter().flatten().collect());
                }
            }
            // All cases of a graph at once: then one by one.
            None if !alone && mode == Mode::Graph && cases > 1 && goes_on => {
                (alone, from) = (true, missing);
            }
            _ => {
                return Ok(outcomes
                    .into_iter()
                    .map(|outcome| outcome.unwrap_or_else(|| early.clone()))
                    .collect());
            }
        }
    }
}

/// Runs cases by Oclgrind, each in a process of its own, and writes a row for each. A case in which it
/// finds a wrong access, an uninitialized value or a race is skipped.
///
/// # Errors
/// Rows that cannot be written, and processes that cannot be started.
pub(crate) fn check(
    settings: &Settings<'_>,
    suite: &dyn Suite,
    suspects: &BTreeMap<String, BTreeSet<String>>,
    rows: &mut dyn Write,
) -> std::io::Result<()> {
    for (name, titles) in suspects {
        let program = suite.program(name, settings.images);
        let cases = program.map(|program| program.cases).unwrap_or_default();
        for (number, case) in cases.iter().enumerate().filter(|(_, case)| titles.contains(&case.name)) {
            let mut outcomes = vec![None; cases.len()];
            let end = one_process(settings, name, Mode::Check, number, true, &mut outcomes)?;
            let outcome = match (end.finding, end.early) {
                (Some(fatal), _) if fatal.starts_with(FATAL) => Outcome::Fail(fatal),
                (Some(finding), _) => Outcome::Skip(finding),
                (None, Some(early)) => early,
                (None, None) => {
                    let silent = || Outcome::Fail("the process said nothing of it".to_owned());
                    outcomes.get(number).cloned().flatten().unwrap_or_else(silent)
                }
            };
            let (title, device, mode) = (one_line(&case.name), settings.device, Mode::Check);
            let (word, reason) = (outcome.word(), one_line(outcome.reason()));
            writeln!(rows, "{name}\t{title}\t{device}\t{mode}\t{word}\t{reason}")?;
            rows.flush()?;
        }
    }
    Ok(())
}

/// Begins a finding of what Oclgrind cannot run.
const FATAL: &str = "OCLGRIND FATAL ERROR";

/// How a process ended.
struct End {
    /// The case that it was at, unless it was at the build.
    at: Option<usize>,
    /// Why it ended early, if so.
    early: Option<Outcome>,
    /// The first finding of Oclgrind, without addresses.
    finding: Option<String>,
}

fn one_process(
    settings: &Settings<'_>,
    name: &str,
    mode: Mode,
    from: usize,
    alone: bool,
    outcomes: &mut [Option<Outcome>],
) -> std::io::Result<End> {
    let mut errors = tempfile::tempfile()?;
    let log = tempfile::NamedTempFile::new()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["one", settings.suite])
        .arg(settings.images)
        .args([name, &mode.to_string(), &from.to_string(), if alone { "alone" } else { "together" }])
        .env("OCLGRIND_LOG", log.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors.try_clone()?)
        .spawn()?;
    let (send, receive) = channel();
    let reader = child.stdout.take().map(|stdout| {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        })
    });
    let (mut at, mut is_late, mut heard) = (None, false, Instant::now());
    loop {
        match receive.recv_timeout(settings.limit.saturating_sub(heard.elapsed())) {
            Ok(line) => {
                let words: Vec<&str> = line.split('\t').collect();
                match *words {
                    [STARTS, case] => at = if case == BUILD { None } else { case.parse().ok() },
                    [ENDED, case, word, reason] => {
                        let number = if case == BUILD { Some(0) } else { case.parse().ok() };
                        if let Some(place) = number.and_then(|number: usize| outcomes.get_mut(number)) {
                            *place = place.take().or_else(|| Outcome::of(word, reason));
                        }
                    }
                    [CASES, _] => {}
                    // What the driver prints is no sign of life.
                    _ => continue,
                }
                heard = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                is_late = true;
                child.kill()?;
                break;
            }
        }
    }
    let status = child.wait()?;
    if let Some(reader) = reader {
        // A reader that panicked has sent what it read.
        let _ = reader.join();
    }
    let early = match (is_late, status.success()) {
        (true, _) => Some(Outcome::Timeout(format!("silent for {} s", settings.limit.as_secs()))),
        (false, true) => None,
        (false, false) => Some(Outcome::Crash(format!("{status}: {}", last_line(&mut errors)?))),
    };
    let log = std::fs::read(log.path())?;
    Ok(End { at, early, finding: first_finding(&String::from_utf8_lossy(&log)) })
}

/// The first finding of Oclgrind's log, without addresses. A finding is a paragraph. Its first line says
/// what it is.
fn first_finding(log: &str) -> Option<String> {
    let mut lines = log.lines().filter(|line| !line.trim().is_empty());
    let line = lines.next()?;
    if line.starts_with(FATAL) {
        return Some(format!("{FATAL}: {}", lines.next().unwrap_or_default()));
    }
    let words = line.split_whitespace().filter(|word| !word.starts_with("0x") && *word != "address");
    Some(words.collect::<Vec<_>>().join(" "))
}

fn last_line(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().rfind(|line| !line.trim().is_empty()).map(one_line).unwrap_or_default())
}
