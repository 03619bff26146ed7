//! Runs other people's kernels, by oclave and by the driver's own compiler.
//!
//! ```text
//! kernel-suites build SUITE IMAGES [--argument CLANG-ARGUMENT]… [--part K/N] [PROGRAM…]
//! kernel-suites run SUITE IMAGES ROWS [--modes source,launch,graph] [--limit SECONDS] [--part K/N] [PROGRAM…]
//! kernel-suites check SUITE IMAGES FINDINGS ROWS…
//! kernel-suites bench FOLDER IMAGES… [-- NAME…]
//! kernel-suites bench-programs classics|real
//! kernel-suites totals [--exceptions FILE] ROWS…
//! kernel-suites results SUITE --exceptions FILE ROWS…
//! ```
//! SUITE is `classics`, `piglit=FOLDER` (see `ci/piglit`) or `real=FOLDER` (see `ci/real`). `build` also takes `recorded=FOLDER`
//! (see `ci/programs`).
//!
//! - `build` compiles the programs to device images. It runs where the compiler is.
//! - `run` runs the cases on a device, each program in a process of its own. It appends a row to the
//!   file ROWS for each case and mode: file, case, device, mode, outcome, reason.
//! - `check` runs the cases of ROWS that are worse than the driver's own compiler by Oclgrind, which
//!   finds undefined behavior. It appends rows to the file FINDINGS.
//! - `bench` times kernels of both suites by the driver's own compiler and by oclave, in turns. FOLDER is that
//!   of `ci/real`. Each IMAGES has the images of the suites in `classics` and `real`.
//! - `totals` counts rows. It fails if oclave is worse than the driver's own compiler, unless Oclgrind
//!   found undefined behavior or the file of exceptions names the case.
//! - `results` prints the rows of oclave as `ci/test` counts them.

mod bench;
mod case;
mod classics;
mod images;
mod ours;
mod outcome;
mod piglit;
mod real;
mod run;
mod source;
mod suite;
mod supervisor;
mod totals;
mod worker;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::outcome::Mode;
use crate::suite::{Suite, suite};

const USAGE: &str = "usage: kernel-suites build SUITE IMAGES [--argument CLANG-ARGUMENT]… [--part K/N] [PROGRAM…]
       kernel-suites run SUITE IMAGES ROWS [--modes source,launch,graph] [--limit SECONDS] [--part K/N] [PROGRAM…]
       kernel-suites check SUITE IMAGES FINDINGS ROWS…
       kernel-suites bench FOLDER IMAGES… [-- NAME…]
       kernel-suites bench-programs classics|real
       kernel-suites totals [--exceptions FILE] ROWS…
       kernel-suites results SUITE --exceptions FILE ROWS…";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match *words {
        ["build", name, images, ref rest @ ..] => build(name, Path::new(images), rest),
        ["run", name, images, rows, ref rest @ ..] => run(name, Path::new(images), Path::new(rows), rest),
        ["bench", real, ref rest @ ..] => bench::run(real, &device(), rest),
        ["bench-programs", suite] => bench::programs(suite),
        ["one", name, images, program, mode, from, how] => {
            one(name, Path::new(images), program, mode, from, how == "alone")
        }
        ["check", name, images, rows, ref rest @ ..] => check(name, Path::new(images), Path::new(rows), rest),
        ["totals", "--exceptions", exceptions, ref files @ ..] => totals::print(Some(exceptions), files),
        ["results", name, "--exceptions", exceptions, ref files @ ..] => {
            totals::results(name, Some(exceptions), files)
        }
        ["totals", ref files @ ..] => totals::print(None, files),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Options of a command, and the words that are none.
struct Options<'a> {
    modes: Vec<Mode>,
    limit: Duration,
    arguments: Vec<String>,
    /// Only programs whose number leaves this remainder, for this divisor.
    part: (usize, usize),
    names: Vec<&'a str>,
}

fn options<'a>(words: &[&'a str]) -> Result<Options<'a>, String> {
    let mut all = Options {
        modes: Mode::ALL.to_vec(),
        limit: Duration::from_secs(60),
        arguments: Vec::new(),
        part: (0, 1),
        names: Vec::new(),
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| format!("{word} needs a value"));
        match word {
            "--modes" => {
                let mode = |name: &str| Mode::of(name).ok_or_else(|| format!("there is no mode {name}"));
                all.modes = value()?.split(',').map(mode).collect::<Result<_, _>>()?;
            }
            "--limit" => {
                let seconds = value()?.parse().map_err(|_| "--limit takes seconds".to_owned())?;
                all.limit = Duration::from_secs(seconds);
            }
            "--part" => {
                let numbers =
                    value()?.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
                all.part =
                    numbers.filter(|(k, n)| k < n).ok_or("--part takes K/N, with K from 0 to N - 1")?;
            }
            "--argument" => all.arguments.push(value()?.to_owned()),
            _ if word.starts_with("--") => return Err(format!("there is no option {word}\n{USAGE}")),
            _ => all.names.push(word),
        }
    }
    Ok(all)
}

/// The programs of the given names, or the part of all.
fn chosen(suite: &dyn Suite, options: &Options<'_>) -> Result<Vec<String>, String> {
    let (names, (remainder, divisor)) = (&options.names, options.part);
    let all = suite.names();
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|one| one == *name)) {
        return Err(format!("the suite has no program {unknown}"));
    }
    let wanted = all.into_iter().filter(|name| names.is_empty() || names.contains(&name.as_str()));
    Ok(wanted.enumerate().filter(|(at, _)| at % divisor == remainder).map(|(_, name)| name).collect())
}

fn build(name: &str, images: &Path, rest: &[&str]) -> Result<ExitCode, String> {
    let suite = suite(name)?;
    let options = options(rest)?;
    let names = chosen(suite.as_ref(), &options)?;
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(one) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let program = suite.program(one, images);
                    let made =
                        program.and_then(|program| images::build(images, &program, &options.arguments));
                    if let Err(error) = made {
                        eprintln!("{one}: {error}");
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    println!("{} programs, {failed} not read or written", names.len());
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(name: &str, images: &Path, rows: &Path, rest: &[&str]) -> Result<ExitCode, String> {
    let suite = suite(name)?;
    let options = options(rest)?;
    let names = chosen(suite.as_ref(), &options)?;
    let device = device();
    let images = PathBuf::from(images);
    let settings = supervisor::Settings {
        suite: name,
        images: &images,
        device: &device,
        modes: &options.modes,
        limit: options.limit,
    };
    let told = |error: std::io::Error| format!("{}: {error}", rows.display());
    let mut file = OpenOptions::new().create(true).append(true).open(rows).map_err(told)?;
    supervisor::run(&settings, suite.as_ref(), &names, &mut file).map_err(told)?;
    Ok(ExitCode::SUCCESS)
}

fn check(name: &str, images: &Path, rows: &Path, files: &[&str]) -> Result<ExitCode, String> {
    let suite = suite(name)?;
    let device = device();
    let settings = supervisor::Settings {
        suite: name,
        images,
        device: &device,
        modes: &[],
        limit: Duration::from_secs(120),
    };
    let told = |error: std::io::Error| format!("{}: {error}", rows.display());
    let suspects = totals::suspects(files)?;
    let mut file = OpenOptions::new().create(true).append(true).open(rows).map_err(told)?;
    supervisor::check(&settings, suite.as_ref(), &suspects, &mut file).map_err(told)?;
    Ok(ExitCode::SUCCESS)
}

/// What `ci/on` calls the device.
fn device() -> String {
    std::env::var("OCLAVE_CI_DEVICE").unwrap_or_else(|_| "device".to_owned())
}

fn one(
    name: &str,
    images: &Path,
    program: &str,
    mode: &str,
    from: &str,
    alone: bool,
) -> Result<ExitCode, String> {
    let mode = Mode::of(mode).ok_or_else(|| format!("there is no mode {mode}"))?;
    let from = from.parse().map_err(|_| format!("{from} is no number of a case"))?;
    let device = device();
    let task = worker::Task { images, program, mode, device: &device, from, alone };
    worker::run(suite(name)?.as_ref(), task)?;
    Ok(ExitCode::SUCCESS)
}
