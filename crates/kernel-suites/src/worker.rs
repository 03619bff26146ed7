//! Runs the cases of one program in this process, and says what happens as lines on standard output.
//!
//! A process that ends early has told which case it was at.

use std::io::Write;
use std::path::Path;

use crate::images;
use crate::ours::Ours;
use crate::outcome::{CLOSE, DIFFERENT, EQUAL, Mode, NOTHING_WRITTEN, Outcome, one_line};
use crate::real::Comparison;
use crate::run::{Contents, Executor, Report};
use crate::source::{Driver, Source};
use crate::suite::{Compare, Program, Suite};

/// Begins a line that a case, or the build (`-`), starts.
pub(crate) const STARTS: &str = "@starts";
/// Begins a line with an outcome: case, word, reason.
pub(crate) const ENDED: &str = "@ended";
/// Begins a line with the number of cases.
pub(crate) const CASES: &str = "@cases";
/// Stands for the build of the program in the place of a case's number.
pub(crate) const BUILD: &str = "-";

/// What a process runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    /// The folder of device images.
    pub images: &'a Path,
    /// The program's name.
    pub program: &'a str,
    /// How its cases run.
    pub mode: Mode,
    /// The device's name.
    pub device: &'a str,
    /// The number of the first case.
    pub from: usize,
    /// Whether cases run one by one, also in graphs.
    pub alone: bool,
}

/// Runs the cases of a program.
///
/// # Errors
/// What keeps all cases from running.
pub(crate) fn run(suite: &dyn Suite, task: Task<'_>) -> Result<(), String> {
    let Task { images, program: name, mode, from, alone, .. } = task;
    let program = suite.program(name, images)?;
    say(&[CASES, &program.cases.len().to_string()]);
    say(&[STARTS, BUILD]);
    let driver = Driver::new().map_err(|error| error.reason().to_owned())?;
    let made = images::load(images, name);
    let mut executor: Box<dyn Executor> = match (mode, &made) {
        (Mode::Source | Mode::Check, _) => {
            let source = Source::new(mode == Mode::Check);
            Box::new(source.map_err(|error| error.reason().to_owned())?)
        }
        (_, Err(error)) => {
            let refused = Err(Outcome::Refused(format!("oclave-build: {error}")));
            tell_build(&program, driver.lacks(&program), refused, from);
            return Ok(());
        }
        (Mode::Launch | Mode::Graph, Ok(made)) => {
            let ours = Ours::new(made.clone(), mode == Mode::Graph);
            Box::new(ours.map_err(|error| error.reason().to_owned())?)
        }
    };
    let lacking = executor.lacks(&program);
    let built = if lacking.is_some() { Ok(()) } else { executor.build(&program) };
    if !tell_build(&program, lacking, built, from) {
        return Ok(());
    }
    let mut wanted = Vec::new();
    let most = if mode == Mode::Check { 1 } else { program.cases.len() };
    for (number, case) in program.cases.iter().enumerate().skip(from).take(most) {
        match driver.lacks_groups(case) {
            Some(lacking) => ended(&number.to_string(), &Outcome::Skip(lacking)),
            None => wanted.push(number),
        }
    }
    let mut lines = Lines { program: &program, task, before: None };
    let twice = program.compare.is_some() && mode == Mode::Source;
    if alone || twice {
        for number in &wanted {
            lines.starts(*number);
            executor.run(&program, &[*number], &mut lines);
            if twice && lines.before.is_some() {
                executor.run(&program, &[*number], &mut lines);
            }
        }
    } else {
        executor.run(&program, &wanted, &mut lines);
    }
    Ok(())
}

/// Tells what became of the build, of each case if there are any. Gives whether cases can run.
fn tell_build(program: &Program, lacking: Option<String>, built: Result<(), Outcome>, from: usize) -> bool {
    let outcome = match (lacking, built) {
        (Some(lacking), _) => Outcome::Skip(lacking),
        (None, Ok(())) if program.is_invalid => {
            Outcome::Fail("built, though the program is wrong".to_owned())
        }
        (None, Err(error)) if program.is_invalid => Outcome::Pass(error.reason().to_owned()),
        (None, Ok(())) if program.cases.is_empty() => Outcome::Pass(String::new()),
        (None, Ok(())) => return true,
        (None, Err(error)) => error,
    };
    if program.cases.is_empty() {
        ended(BUILD, &outcome);
    }
    (from..program.cases.len()).for_each(|number| ended(&number.to_string(), &outcome));
    false
}

struct Lines<'a> {
    program: &'a Program,
    task: Task<'a>,
    /// What the last run of a case left behind, if it runs twice.
    before: Option<Vec<Vec<u8>>>,
}

impl Lines<'_> {
    /// Checks the contents of all memory, or compares them with those of the driver's own compiler.
    fn judge(&self, number: usize, contents: &[Vec<u8>], remark: String) -> Outcome {
        let Some(case) = self.program.cases.get(number) else {
            return Outcome::Skip("no such case".to_owned());
        };
        if let (Some(compare), Ok(())) = (&self.program.compare, (case.check)(contents)) {
            return match self.task.mode {
                Mode::Source => self.keep(number, contents),
                Mode::Launch | Mode::Graph => self.compare(number, contents, compare),
                Mode::Check => Outcome::Pass(String::new()),
            };
        }
        match (case.check)(contents) {
            Ok(()) => Outcome::Pass(remark),
            Err(wrong) if remark.is_empty() => Outcome::Fail(wrong),
            Err(wrong) => Outcome::Fail(format!("{wrong} ({remark})")),
        }
    }

    /// Keeps the contents for comparisons, if two runs agree on them.
    fn keep(&self, number: usize, contents: &[Vec<u8>]) -> Outcome {
        let Task { images, program, device, .. } = self.task;
        match &self.before {
            Some(before) if before == contents => {
                match images::keep(images, program, device, number, contents) {
                    Ok(()) if self.is_untouched(number, contents) => {
                        Outcome::Pass(NOTHING_WRITTEN.to_owned())
                    }
                    Ok(()) => Outcome::Pass(String::new()),
                    Err(error) => Outcome::Fail(error),
                }
            }
            _ => Outcome::Skip("two runs have different results".to_owned()),
        }
    }

    /// Whether all memory holds what it held before the launch.
    fn is_untouched(&self, number: usize, contents: &[Vec<u8>]) -> bool {
        let memory = self.program.cases.get(number).map(|case| &case.memory);
        memory.is_some_and(|memory| memory.iter().zip(contents).all(|(memory, now)| memory.bytes() == now))
    }

    fn compare(&self, number: usize, contents: &[Vec<u8>], compare: &Compare) -> Outcome {
        let Task { images, program, device, .. } = self.task;
        match images::recall(images, program, device, number) {
            None => Outcome::Skip("there is no result of the driver's own compiler".to_owned()),
            Some(source) => match compare(number, &source, contents) {
                Comparison::Equal => Outcome::Pass(EQUAL.to_owned()),
                Comparison::Close { ulps, relative } => {
                    Outcome::Pass(format!("{CLOSE}{ulps} ulp, {relative:.1e} of the largest"))
                }
                Comparison::Different(how) => Outcome::Fail(format!("{DIFFERENT}{how}")),
            },
        }
    }
}

impl Report for Lines<'_> {
    fn starts(&mut self, number: usize) {
        if self.program.compare.is_some() && self.task.mode == Mode::Source {
            images::forget(self.task.images, self.task.program, self.task.device, number);
        }
        say(&[STARTS, &number.to_string()]);
    }

    fn ended(&mut self, number: usize, result: Result<Contents, Outcome>) {
        let runs_twice = self.program.compare.is_some() && self.task.mode == Mode::Source;
        let outcome = match result {
            Ok((contents, _)) if runs_twice && self.before.is_none() => {
                self.before = Some(contents);
                return;
            }
            Ok((contents, remark)) => self.judge(number, &contents, remark),
            Err(outcome) => outcome,
        };
        self.before = None;
        ended(&number.to_string(), &outcome);
    }
}

fn ended(case: &str, outcome: &Outcome) {
    say(&[ENDED, case, outcome.word(), &one_line(outcome.reason())]);
}

/// A line of its own, whatever drivers print.
fn say(words: &[&str]) {
    let mut out = std::io::stdout().lock();
    // Whoever reads this is gone if it fails, and ends this process.
    let _ = writeln!(out, "\n{}", words.join("\t"));
    let _ = out.flush();
}
