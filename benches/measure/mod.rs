//! Measuring two ways of the same work in turns, so that both see the same machine.

// Each program uses a part of this.
#![allow(dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use oclave::Device;

/// The selected device; without one that has USM, after saying so, nothing.
pub(crate) fn device() -> Option<Device> {
    match Device::select() {
        Ok(device) if device.capabilities().memory().is_some() => return Some(device),
        Ok(_) => println!("skipped: kernels cannot address memory by pointers on the device"),
        Err(error) => println!("skipped: {error}"),
    }
    None
}

/// The rows of the program that `OCLAVE_CUDA_REFERENCE` names, if it is set: lines of `row,us`.
pub(crate) fn cuda() -> Option<HashMap<String, f64>> {
    let program = std::env::var_os("OCLAVE_CUDA_REFERENCE")?;
    let output = std::process::Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| line.split_once(',').map(|(row, us)| (row.to_owned(), us.trim().parse().unwrap()));
    Some(text.lines().filter_map(row).collect())
}

/// Rounds, and repetitions in a round, for work on so many bytes.
#[allow(dead_code, reason = "not every benchmark is about bytes")]
pub(crate) fn plan(size_bytes: usize) -> (usize, usize) {
    match size_bytes {
        0..=4096 => (101, 500),
        4097..=1_048_576 => (101, 50),
        _ => (21, 1),
    }
}

/// How long a turn of [`steady`] lasts, and how much of it is measured, at the end.
const TURN: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(150);

/// As [`pair`], but a side runs in a loop during its turn, and only the second half of the turn is
/// measured.
///
/// This measures work in a loop. The other side leaves effects in caches, in the driver's threads
/// and in the operating system, which take some tens of milliseconds to disappear. The time of a
/// round is the median of its runs.
pub(crate) fn steady(
    name: &str,
    n: usize,
    rounds: usize,
    mut ours: impl FnMut(),
    mut reference: impl FnMut(),
) {
    let turn = |mut work: &mut dyn FnMut()| {
        let start = Instant::now();
        let mut times = Vec::new();
        while start.elapsed() < TURN || times.is_empty() {
            let is_measured = start.elapsed() + MEASURED >= TURN;
            let time = time(1, &mut work);
            times.extend(is_measured.then_some(time));
        }
        median(&mut times)
    };
    let times = (0..rounds).map(|_| (turn(&mut ours), turn(&mut reference)));
    row(name, n, times.unzip());
}

/// Runs both in turns and prints a row: the medians, in microseconds for one repetition, and the
/// median of the ratios.
///
/// It is not the ratio of the medians, because on a busy machine only neighbours in time can be
/// compared.
///
/// With `OCLAVE_BENCH_STEADY` it is [`steady`]: a side may slow the other one's next turn.
pub(crate) fn pair(
    name: &str,
    n: usize,
    rounds: usize,
    repeat: usize,
    mut ours: impl FnMut(),
    mut reference: impl FnMut(),
) {
    if std::env::var_os("OCLAVE_BENCH_STEADY").is_some() {
        return steady(name, n, 5, ours, reference);
    }
    let mut times = (Vec::new(), Vec::new());
    // The first rounds warm up.
    for round in 0..rounds + 3 {
        // The order alternates, because the first may find caches in another state.
        let (a, b) = if round % 2 == 0 {
            let a = time(repeat, &mut ours);
            (a, time(repeat, &mut reference))
        } else {
            let b = time(repeat, &mut reference);
            (time(repeat, &mut ours), b)
        };
        if round >= 3 {
            times.0.push(a);
            times.1.push(b);
        }
    }
    row(name, n, times);
}

/// Prints a row of a comparison: what each round took, in microseconds for one repetition, in both
/// ways.
pub(crate) fn row(name: &str, n: usize, mut times: (Vec<f64>, Vec<f64>)) {
    let mut ratios: Vec<f64> =
        times.0.iter().zip(&times.1).map(|(ours, reference)| ours / reference).collect();
    let (ours, reference, ratio) = (median(&mut times.0), median(&mut times.1), median(&mut ratios));
    // Where we are hundreds of times faster, three digits would be none.
    let digits = if ratio < 0.1 { 6 } else { 3 };
    println!("{name},{},{n},{ours:.3},{reference:.3},{ratio:.digits$}", shown_device());
}

/// Runs `work` on a new input each round and prints a row: the median, in microseconds for one of
/// `units` pieces.
///
/// The reference is one microsecond. Creating and dropping the input is not measured.
pub(crate) fn budget<T>(
    name: &str,
    n: usize,
    rounds: usize,
    units: f64,
    make: impl Fn() -> T,
    work: impl Fn(&T),
) {
    let mut times = Vec::new();
    // The first rounds warm up.
    for round in 0..rounds + 3 {
        let subject = make();
        let time = time(1, &mut || work(&subject));
        if round >= 3 {
            times.push(time / units);
        }
    }
    let time = median(&mut times);
    println!("{name},{},{n},{time:.4},1.000,{time:.4}", shown_device());
}

/// The name of the device in the rows.
pub(crate) fn shown_device() -> String {
    std::env::var("OCLAVE_CI_DEVICE").unwrap_or_else(|_| "device".to_owned())
}

/// Microseconds of one of some repetitions.
pub(crate) fn time(repeat: usize, work: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeat {
        work();
    }
    start.elapsed().as_secs_f64() * 1e6 / repeat as f64
}

/// The middle one, of as many as there are.
pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
