//! Times kernels that the driver's own compiler built from source, and the same kernels by oclave, in turns.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::classics::{self, Timed, timed};
use crate::images;
use crate::ours::{self, Ours};
use crate::run::Executor;
use crate::source::Source;
use crate::suite::{Needs, Program};

/// Each side runs at least so many times, and until both had so long together.
const TURNS: usize = 7;
const LIMIT: Duration = Duration::from_millis(1200);
/// Results that differ by less than this part of the largest number are taken for the same.
const TOLERANCE: f64 = 2e-4;

/// Times kernels, each in a process of its own, and prints rows: name, device, work-items, the times of oclave and of the driver's
/// compiler in microseconds, their ratio. The last row has the geometric mean.
///
/// With several folders of images, rows have the name of the folder behind a slash.
///
/// # Errors
/// Words that mean nothing.
pub(crate) fn run(real: &str, device: &str, words: &[&str]) -> Result<ExitCode, String> {
    let (folders, names) = match words.iter().position(|word| *word == "--") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[][..]),
    };
    if folders.is_empty() {
        return Err("bench needs a folder of images".to_owned());
    }
    if let [name] = names {
        stay_on_one_processor()?;
        let one = timed(name).found.ok_or_else(|| format!("there is no kernel {name} to be timed"))?;
        let rows =
            rows(real, device, folders, &one).map_err(|error| format!("{name} on {device}: {error}"))?;
        rows.iter().for_each(|row| println!("{row}"));
        return Ok(ExitCode::SUCCESS);
    }
    let all = timed("").names;
    let names = if names.is_empty() { &all[..] } else { names };
    let mut ratios: HashMap<String, Vec<f64>> = HashMap::new();
    let mut failed = 0;
    for name in names {
        let me = std::env::current_exe().map_err(|error| error.to_string())?;
        let words = [&["bench", real], folders, &["--", *name]].concat();
        let output = Command::new(me).args(words).output().map_err(|error| error.to_string())?;
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            eprintln!("{name} on {device}: {}", output.status);
            failed += 1;
        }
        for row in String::from_utf8_lossy(&output.stdout).lines() {
            let fields: Vec<&str> = row.split(',').collect();
            if let [name, _, _, _, _, ratio] = fields[..]
                && let Ok(ratio) = ratio.parse()
            {
                println!("{row}");
                let folder = name.split_once('/').map_or("", |(_, folder)| folder);
                ratios.entry(folder.to_owned()).or_default().push(ratio);
            }
        }
    }
    for (folder, ratios) in ratios {
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let folder = if folder.is_empty() { folder } else { format!("/{folder}") };
        println!("geometric_mean{folder},{device},{},,,{mean:.3}", ratios.len());
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the programs of a suite that have kernels to be timed.
///
/// # Errors
/// None.
pub(crate) fn programs(suite: &str) -> Result<ExitCode, String> {
    let all = timed("").names.into_iter().filter_map(|name| timed(name).found);
    let of_suite = all.filter(|one| one.is_real == (suite == "real")).map(|one| one.program);
    of_suite.collect::<BTreeSet<_>>().iter().for_each(|program| println!("{program}"));
    Ok(ExitCode::SUCCESS)
}

/// A way to run the case.
trait Side {
    fn reset(&mut self) -> Result<(), String>;
    fn launch(&mut self) -> Result<(), String>;
    fn read(&mut self) -> Result<Vec<Vec<u8>>, String>;
}

struct BySource<'a> {
    source: Source,
    prepared: crate::source::Prepared,
    timed: &'a Timed,
}

impl Side for BySource<'_> {
    fn reset(&mut self) -> Result<(), String> {
        self.source.reset(&self.timed.case, &mut self.prepared).map_err(|error| error.reason().to_owned())
    }

    fn launch(&mut self) -> Result<(), String> {
        self.source.launch(&self.timed.case, &self.prepared).map_err(|error| error.reason().to_owned())
    }

    fn read(&mut self) -> Result<Vec<Vec<u8>>, String> {
        self.source.read(&self.timed.case, &self.prepared).map_err(|error| error.reason().to_owned())
    }
}

struct ByUs {
    ours: Ours,
    prepared: ours::Prepared,
}

impl Side for ByUs {
    fn reset(&mut self) -> Result<(), String> {
        self.ours.reset(&self.prepared).map_err(|error| error.to_string())
    }

    fn launch(&mut self) -> Result<(), String> {
        self.ours.launch_all(&self.prepared).map_err(|error| error.to_string())
    }

    fn read(&mut self) -> Result<Vec<Vec<u8>>, String> {
        self.ours.contents(&self.prepared).map_err(|error| error.to_string())
    }
}

/// Keeps this process, and the threads that drivers start, on one processor. Otherwise [`cpu_time`] may miss the time of a thread that
/// still runs on another processor. That was up to half of a launch.
///
/// # Errors
/// The system refuses.
fn stay_on_one_processor() -> Result<(), String> {
    let refused = |error| format!("cannot choose a processor: {error}");
    let allowed = sched_getaffinity(None).map_err(refused)?;
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).ok_or("no processor is allowed")?;
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).map_err(refused)
}

/// How long all threads of this process ran. On a busy machine, minima of it are steady where those of the wall clock are not.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The rows of a kernel, one for each folder of images.
fn rows(real: &str, device: &str, folders: &[&str], timed: &Timed) -> Result<Vec<String>, String> {
    let program = program(real, timed)?;
    let mut sides: Vec<Box<dyn Side + '_>> = vec![Box::new(by_source(timed, &program)?)];
    for folder in folders {
        let folder = images_of(folder, timed);
        sides.push(Box::new(by_us(timed, &program, &folder)?));
    }
    let mut results = Vec::new();
    for side in &mut sides {
        side.reset()?;
        side.launch()?;
        results.push(side.read()?);
    }
    tell_wrong(device, folders, timed, &results);
    let mut best = vec![Duration::MAX; sides.len()];
    let start = Instant::now();
    for turn in 0.. {
        if turn >= TURNS && start.elapsed() > LIMIT {
            break;
        }
        for (side, best) in sides.iter_mut().zip(&mut best) {
            side.reset()?;
            let start = cpu_time();
            side.launch()?;
            *best = cpu_time().saturating_sub(start).min(*best);
        }
    }
    let items: usize =
        timed.case.launches.iter().map(|launch| launch.space.global.iter().product::<usize>()).sum();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let reference = micros(best[0]);
    let row = |(folder, time): (&&str, &Duration)| {
        let ours = micros(*time);
        let form = Path::new(folder).file_name().map(|form| form.to_string_lossy()).unwrap_or_default();
        let form = if folders.len() > 1 { format!("/{form}") } else { String::new() };
        format!("{}{form},{device},{items},{ours:.1},{reference:.1},{:.3}", timed.name, ours / reference)
    };
    Ok(folders.iter().zip(&best[1..]).map(row).collect())
}

fn program(real: &str, timed: &Timed) -> Result<Program, String> {
    let path =
        if timed.is_real { Path::new(real).join(timed.program) } else { classics::source(timed.program) };
    let source = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Program {
        name: timed.program.to_owned(),
        file: timed.program.to_owned(),
        source: String::from_utf8_lossy(&source).into_owned(),
        includes: Vec::new(),
        options: Vec::new(),
        needs: Needs::default(),
        is_invalid: false,
        cases: Vec::new(),
        compare: None,
    })
}

fn images_of(folder: &str, timed: &Timed) -> PathBuf {
    Path::new(folder).join(if timed.is_real { "real" } else { "classics" })
}

fn by_source<'a>(timed: &'a Timed, program: &Program) -> Result<BySource<'a>, String> {
    let mut source = Source::new(false).map_err(|error| error.reason().to_owned())?;
    source.build_as(program, "").map_err(|error| error.reason().to_owned())?;
    let prepared = source.prepare(&timed.case).map_err(|error| error.reason().to_owned())?;
    Ok(BySource { source, prepared, timed })
}

fn by_us(timed: &Timed, program: &Program, folder: &Path) -> Result<ByUs, String> {
    let made = images::load(folder, timed.program)?;
    let mut ours = Ours::new(made, false).map_err(|error| error.reason().to_owned())?;
    ours.build(program).map_err(|error| error.reason().to_owned())?;
    let prepared = ours.prepare(&timed.case).map_err(|error| error.reason().to_owned())?;
    Ok(ByUs { ours, prepared })
}

/// Says where results are wrong: where they differ from what is known, from those of Intel's compiler, if it ran before, or from each
/// other.
fn tell_wrong(device: &str, folders: &[&str], timed: &Timed, results: &[Vec<Vec<u8>>]) {
    let kept = images_of(folders.first().unwrap_or(&""), timed).join("results");
    let sizes = |contents: &[Vec<u8>]| contents.iter().map(Vec::len).collect::<Vec<_>>();
    let of_same_sizes = |known: &Vec<Vec<u8>>| results.first().is_some_and(|one| sizes(one) == sizes(known));
    let known = images::recall(&kept, timed.name, "intel", 0).filter(of_same_sizes);
    if device == "intel"
        && let Some(source) = results.first()
        && let Err(error) = images::keep(&kept, timed.name, device, 0, source)
    {
        eprintln!("{}: {error}", timed.name);
    }
    let what = std::iter::once("source").chain(folders.iter().copied());
    let judged = known.as_ref().filter(|_| device != "intel").or(results.first());
    for (what, result) in what.zip(results) {
        let by_check = (timed.case.check)(result);
        let different = judged.and_then(|judged| difference(timed, judged, result));
        if let Some(wrong) = by_check.err().or(different) {
            let against = if known.is_some() && device != "intel" { "Intel's" } else { "source's" };
            eprintln!(
                "{} on {device}: the result of {what} is wrong or differs from {against}: {wrong}",
                timed.name
            );
        }
    }
}

/// The first memory in which results differ, and by how much.
fn difference(timed: &Timed, one: &[Vec<u8>], other: &[Vec<u8>]) -> Option<String> {
    one.iter().zip(other).enumerate().find_map(|(index, (one, other))| {
        if one == other {
            return None;
        }
        if timed.floats.contains(&index) {
            let (one, other): (Vec<f32>, Vec<f32>) =
                (crate::case::elements(one), crate::case::elements(other));
            let largest = one.iter().map(|x| f64::from(x.abs())).fold(0.0, f64::max);
            let pairs = one.iter().zip(&other).filter(|(one, other)| one.to_bits() != other.to_bits());
            let by = pairs.map(|(one, other)| (f64::from(*one) - f64::from(*other)).abs());
            let most = by.fold(0.0, |most: f64, by| if by.is_nan() || by > most { by } else { most });
            (most.is_nan() || most > TOLERANCE * largest)
                .then(|| format!("memory {index} differs by {most:.2e} of {largest:.2e}"))
        } else {
            let count = one.iter().zip(other).filter(|(one, other)| one != other).count();
            let most = if timed.close_bytes { 1 } else { 0 };
            let is_close = one.iter().zip(other).all(|(one, other)| one.abs_diff(*other) <= most);
            (!is_close).then(|| format!("{count} bytes of memory {index} differ"))
        }
    })
}
