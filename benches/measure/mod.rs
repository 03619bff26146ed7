//! Measuring two ways of the same work in turns, so that both see the same machine.

// Each program uses a part of this.
#![allow(dead_code, unreachable_pub)]

use std::time::Instant;

/// Rounds, and repetitions in a round, for work on so many bytes.
#[allow(dead_code, reason = "not every benchmark is about bytes")]
pub(crate) fn plan(size_bytes: usize) -> (usize, usize) {
    match size_bytes {
        0..=4096 => (101, 500),
        4097..=1_048_576 => (101, 50),
        _ => (21, 1),
    }
}

/// Runs both in turns and prints a row: the medians, in microseconds for one repetition, and the median of the rounds'
/// ratios (not the ratio of the medians: on a busy machine only neighbours in time can be compared).
pub(crate) fn pair(
    name: &str,
    n: usize,
    rounds: usize,
    repeat: usize,
    mut ours: impl FnMut(),
    mut reference: impl FnMut(),
) {
    let mut times = (Vec::new(), Vec::new());
    // The first rounds warm up.
    for round in 0..rounds + 3 {
        // Who goes first changes, as whoever does may find caches in another state.
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
    let mut ratios: Vec<f64> =
        times.0.iter().zip(&times.1).map(|(ours, reference)| ours / reference).collect();
    let (ours, reference, ratio) = (median(&mut times.0), median(&mut times.1), median(&mut ratios));
    let device = std::env::var("OCLAVE_CI_DEVICE").unwrap_or_else(|_| "device".to_owned());
    println!("{name},{device},{n},{ours:.3},{reference:.3},{ratio:.3}");
}

fn time(repeat: usize, work: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeat {
        work();
    }
    start.elapsed().as_secs_f64() * 1e6 / repeat as f64
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
