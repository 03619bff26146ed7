//! Edge detection on a photograph: a pipeline of nine kernels whose parameters sit in device globals, with a chain of
//! polymorphic filters that lives in device memory.
//!
//! ```text
//! cargo run --release --example filters -- [PICTURE] [--out DIR] [--runs N] [--tones CHAIN]
//!     [--radius PIXELS] [--edges PERCENT]
//! ```
//! `PICTURE` is a PNG or PNM file (default: the photograph beside this source). The device is `OCLAVE_DEVICE`, or the best
//! one found. `CHAIN` is what happens to each luminance: gain=FACTOR:OFFSET, clip=LOW:HIGH, invert and posterize=STEP,
//! separated by commas. Every output is compared with the same pipeline in plain Rust; a difference makes the program fail.
//! It writes the pictures of the stages, `histogram.csv` and `timings.csv` to `DIR` (default `target/demo`).

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use oclave::Device;

use crate::picture::Picture;
use crate::pipeline::{Pipeline, Timing};
use crate::reference::Outputs;
use crate::settings::{MAX_RADIUS, Settings};

mod kernels {
    oclave::include_kernels!("filters");
}
mod picture;
mod pipeline;
mod reference;
mod settings;
mod tones;

/// The command line.
struct Arguments {
    picture: PathBuf,
    out: PathBuf,
    runs: usize,
    settings: Settings,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("filters: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut parsed = Arguments {
        picture: Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/filters/data/grace_hopper.png"),
        out: PathBuf::from("target/demo"),
        runs: 5,
        settings: Settings::default(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--out" => parsed.out = value()?.into(),
            "--runs" => parsed.runs = in_range(&word, &value()?, 1, 10_000)?,
            "--tones" => parsed.settings.tones = tones::parse(&value()?)?,
            "--radius" => parsed.settings.blur_radius = in_range(&word, &value()?, 0, MAX_RADIUS)?,
            "--edges" => parsed.settings.edge_percent = in_range(&word, &value()?, 0, 100)?,
            option if option.starts_with('-') => {
                return Err(format!(
                    "unknown option {option}; known are --out, --runs, --tones, --radius and --edges"
                )
                .into());
            }
            path => parsed.picture = path.into(),
        }
    }
    Ok(parsed)
}

fn in_range<T>(option: &str, word: &str, lowest: T, highest: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let number = word.parse::<T>().ok().filter(|number| (&lowest..=&highest).contains(&number));
    number.ok_or_else(|| format!("{option} takes a number from {lowest} to {highest}, not {word:?}"))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let picture = Picture::read(&arguments.picture)?;
    let device = Device::select()?;
    println!("device:  {} ({})", device.name(), device.platform().name());
    println!("picture: {}, {} x {} pixels", arguments.picture.display(), picture.width, picture.height);

    let started = Instant::now();
    let expected = reference::run(&picture.rgb, picture.width, &arguments.settings);
    let reference_time = started.elapsed();

    let pipeline = Pipeline::new(&device, picture.width, picture.height)?;
    let checked_run = || -> Result<(Outputs, Vec<Timing>), Box<dyn Error>> {
        let (outputs, timings) = pipeline.run(&picture, &arguments.settings)?;
        compare(&outputs, &expected).map_err(|what| format!("the device differs from plain Rust: {what}"))?;
        Ok((outputs, timings))
    };
    let (mut outputs, mut fastest) = checked_run()?;
    for _ in 1..arguments.runs {
        let timings;
        (outputs, timings) = checked_run()?;
        if total(&timings) < total(&fastest) {
            fastest = timings;
        }
    }
    println!("result:  {} runs, each equal to plain Rust in every byte", arguments.runs);

    write_outputs(&arguments.out, &outputs, picture.width)?;
    let table = timing_table(&fastest, reference_time);
    write(&arguments.out.join("timings.csv"), &table)?;
    print!("{}", table.replace(',', "\t"));
    println!(
        "threshold {} marks {} of {} pixels; pictures and tables are in {}",
        outputs.threshold,
        outputs.edge_count,
        outputs.mask.len(),
        arguments.out.display()
    );
    Ok(())
}

/// Names the first output that differs.
fn compare(outputs: &Outputs, expected: &Outputs) -> Result<(), String> {
    let planes = [
        ("luminance", &outputs.luminance, &expected.luminance),
        ("tones", &outputs.toned, &expected.toned),
        ("blur", &outputs.blurred, &expected.blurred),
        ("sobel", &outputs.gradient, &expected.gradient),
        ("threshold", &outputs.mask, &expected.mask),
    ];
    for (stage, found, wanted) in planes {
        if let Some(at) = (0..wanted.len().max(found.len())).find(|&i| found.get(i) != wanted.get(i)) {
            return Err(format!("{stage}, pixel {at}: {:?} instead of {:?}", found.get(at), wanted.get(at)));
        }
    }
    if outputs != expected {
        let numbers = |o: &Outputs| format!("threshold {}, {} edge pixels", o.threshold, o.edge_count);
        return Err(format!("histogram, {} instead of {}", numbers(outputs), numbers(expected)));
    }
    Ok(())
}

fn total(timings: &[Timing]) -> Duration {
    timings.iter().map(|timing| timing.time).sum()
}

fn timing_table(timings: &[Timing], reference: Duration) -> String {
    let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
    let mut table = String::from("stage,microseconds\n");
    for Timing { stage, time } in timings {
        let _ = writeln!(table, "{stage},{:.1}", microseconds(*time));
    }
    let _ = writeln!(table, "all kernels,{:.1}", microseconds(total(timings)));
    let _ = writeln!(table, "plain Rust,{:.1}", microseconds(reference));
    table
}

/// The pictures of the stages, and the histogram of gradients.
fn write_outputs(out: &Path, outputs: &Outputs, width: usize) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(out).map_err(|error| format!("cannot make {}: {error}", out.display()))?;
    let planes = [
        ("1-luminance.png", &outputs.luminance),
        ("2-tones.png", &outputs.toned),
        ("3-blur.png", &outputs.blurred),
        ("4-sobel.png", &outputs.gradient),
        ("5-edges.png", &outputs.mask),
    ];
    for (name, pixels) in planes {
        picture::write_gray(&out.join(name), pixels, width)?;
    }
    let bins = outputs.histogram.iter().enumerate();
    let histogram: String = bins.map(|(level, count)| format!("{level},{count}\n")).collect();
    write(&out.join("histogram.csv"), &format!("gradient,pixels\n{histogram}"))
}

fn write(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}
