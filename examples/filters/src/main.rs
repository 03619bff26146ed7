//! Edge detection on the frames of a camera that pans over a photograph.
//!
//! The pipeline has kernels with parameters in device globals, a chain of polymorphic filters in
//! device memory, and a step on the host. It is recorded once as a command graph. Each frame
//! updates the strength and the part of the edges and replays the graph. Each frame also runs
//! command by command, for comparison.
//!
//! ```text
//! cargo run --release -p filters -- [PICTURE] [--out DIR] [--runs N] [--eager] [--tones CHAIN]
//!     [--radius PIXELS] [--edges PERCENT]
//! ```
//! `PICTURE` is a PNG or PNM file (default: the photograph beside this source). The device is
//! `OCLAVE_DEVICE`, or the best one found. `CHAIN` lists the filters for each luminance, separated
//! by commas. Filters are gain=FACTOR:OFFSET, clip=LOW:HIGH, invert and posterize=STEP. `N` is the
//! number of frames. `--eager` runs them without the graph.
//!
//! Every output is compared with the same pipeline in plain Rust, and a difference makes the
//! program fail. The program writes to `DIR` (default `target/demo`): the pictures of the first
//! frame's stages, `histogram.csv`, `timings.csv`, and `pipeline.dot` with the graph. It also
//! writes `pipeline.svg` if Graphviz is installed, and `trace.json` for `chrome://tracing` or
//! Perfetto.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use oclave::Device;

use crate::picture::Picture;
use crate::pipeline::{Pipeline, Way};
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
    frames: usize,
    ways: Vec<Way>,
    settings: Settings,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("filters: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut parsed = Arguments {
        picture: Path::new(env!("CARGO_MANIFEST_DIR")).join("data/grace_hopper.png"),
        out: PathBuf::from("target/demo"),
        frames: 5,
        ways: vec![Way::Eager, Way::Graph],
        settings: Settings::default(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--out" => parsed.out = value()?.into(),
            "--runs" => parsed.frames = in_range(&word, &value()?, 1, 10_000)?,
            "--eager" => parsed.ways = vec![Way::Eager],
            "--tones" => parsed.settings.tones = tones::parse(&value()?)?,
            "--radius" => parsed.settings.blur_radius = in_range(&word, &value()?, 0, MAX_RADIUS)?,
            "--edges" => parsed.settings.edge_percent = in_range(&word, &value()?, 0, 100)?,
            option if option.starts_with('-') => {
                return Err(format!(
                    "unknown option {option}; known are --out, --runs, --eager, --tones, --radius and --edges"
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

    let pipeline = Pipeline::new(&device, picture.width, picture.height, &arguments.settings)?;
    let mut times = vec![Vec::new(); arguments.ways.len()];
    let mut reference_times = Vec::new();
    let mut first = None;
    for frame in 0..arguments.frames {
        let rgb = panned(&picture, frame);
        let started = Instant::now();
        let settings = arguments.settings.of_frame(frame);
        let expected = reference::run(&rgb, picture.width, &settings);
        reference_times.push(started.elapsed());
        for (way, times) in arguments.ways.iter().zip(&mut times) {
            let (outputs, time) = pipeline.run(*way, &rgb, &settings)?;
            compare(&outputs, &expected)
                .map_err(|what| format!("frame {frame}, {}: differs from plain Rust: {what}", way.name()))?;
            times.push(time);
            first.get_or_insert(outputs);
        }
    }
    let outputs = first.ok_or("no frames")?;
    println!("result:  {} frames, each equal to plain Rust in every byte", arguments.frames);
    write_outputs(&arguments.out, &outputs, picture.width)?;

    let mut table = String::from("way,stage,microseconds\n");
    let mut row = |way: &str, stage: &str, time: Duration| {
        let _ = writeln!(table, "{way},{stage},{:.1}", time.as_secs_f64() * 1e6);
    };
    for way in &arguments.ways {
        let (timings, timeline) = pipeline.measure(*way, &picture.rgb, &arguments.settings)?;
        timings.iter().for_each(|timing| row(way.name(), &timing.stage, timing.time));
        if let Some(timeline) = timeline {
            write(&arguments.out.join("trace.json"), &timeline.to_chrome_trace())?;
        }
    }
    for (way, times) in arguments.ways.iter().zip(&mut times) {
        row(way.name(), "whole frame", median(times));
    }
    row("plain Rust", "whole frame", median(&mut reference_times));
    write(&arguments.out.join("timings.csv"), &table)?;
    print!("{}", table.replace(',', "\t"));
    if arguments.ways.contains(&Way::Graph) {
        let drawn =
            if pipeline.draw(&arguments.out)? { "pipeline.svg" } else { "pipeline.dot (no Graphviz here)" };
        println!(
            "the graph runs in {} pieces; {drawn} shows it, trace.json when its nodes ran",
            pipeline.partitions()
        );
    }
    println!(
        "threshold {} marks {} of {} pixels; pictures and tables are in {}",
        outputs.threshold,
        outputs.edge_count,
        outputs.mask.len(),
        arguments.out.display()
    );
    Ok(())
}

/// The picture as a camera sees it that has turned by some pixels a frame, around what repeats.
fn panned(picture: &Picture, frame: usize) -> Vec<u8> {
    const STEP: usize = 8;
    let mut rgb = picture.rgb.clone();
    for row in rgb.chunks_exact_mut(3 * picture.width) {
        row.rotate_left(3 * (STEP * frame % picture.width));
    }
    rgb
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
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
