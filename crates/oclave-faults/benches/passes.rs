//! Times of the passes, on kernels of the tests, repeated until a module has 10,000 and 100,000 instructions:
//! `cargo bench -p oclave-faults --bench passes`.
//!
//! Rows are `name,device,n,ours_us,reference_us,ratio`, where n is the number of instructions. A name is that of a driver, and of
//! a pass that changes the module. The row `all` has all passes of the driver and the rest of the adaptation. The reference is
//! the time of one check of the module. Words as arguments choose rows: `pocl6/uneven`. Comments tell how many times longer the larger module takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

#[path = "../tests/support/targets.rs"]
mod targets;

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::time::{Duration, Instant};

use oclave_image::passes::legalize_watched;
use oclave_image::{DeviceImage, DeviceTarget};
use oclave_spirv::{Definitions, Editor, Module, Op, Section, check};

const SIZES: [usize; 2] = [10_000, 100_000];
const KERNELS: [&str; 4] = ["in_groups.O2", "ways.O2", "neighbours.O2", "uneven.O2"];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("name,device,n,ours_us,reference_us,ratio");
    for kernel in KERNELS {
        let path = format!("{}/../oclave-image/tests/fixtures/{kernel}.spv", env!("CARGO_MANIFEST_DIR"));
        let small = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        let modules = SIZES.map(|size| grown(&small, size));
        let checks = modules.each_ref().map(|module| time(|| check::check(module).unwrap()));
        for (driver, target) in targets::targets() {
            let is_wanted = |word: &String| format!("{driver}/{kernel}").contains(word);
            if !wanted.is_empty() && !wanted.iter().any(is_wanted) {
                continue;
            }
            let times = modules.each_ref().map(|module| by_pass(module, &target));
            for (size, (times, check)) in SIZES.iter().zip(times.iter().zip(checks)) {
                for (pass, time) in times {
                    let (ours, reference) = (micros(*time), micros(check));
                    println!(
                        "{driver}/{kernel}/{pass},none,{size},{ours:.1},{reference:.1},{:.2}",
                        ours / reference
                    );
                }
            }
            for (pass, large) in &times[1] {
                if let Some(small) = times[0].get(pass) {
                    println!(
                        "# {driver}/{kernel}/{pass}: {:.1} times as long",
                        micros(*large) / micros(*small)
                    );
                }
            }
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The shortest time of several runs.
fn time<R>(mut run: impl FnMut() -> R) -> Duration {
    let once = || {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    std::iter::repeat_with(once).take(5).min().unwrap()
}

/// The times of the passes that change a module, from the change before to theirs, and of all in the row `all`.
fn by_pass(module: &Module, target: &DeviceTarget) -> BTreeMap<&'static str, Duration> {
    let image =
        DeviceImage { name: "bench".to_owned(), spirv: module.words().to_vec(), ..DeviceImage::default() };
    let mut best: BTreeMap<&'static str, Duration> = BTreeMap::new();
    for _ in 0..5 {
        let start = Instant::now();
        let mut last = start;
        let mut times: Vec<(&'static str, Duration)> = Vec::new();
        let mut watch = |change: oclave_faults::passes::Change<'_>| {
            times.push((change.pass, last.elapsed()));
            last = Instant::now();
        };
        legalize_watched(&image, target, Ok, &mut watch).unwrap();
        times.push(("all", start.elapsed()));
        for (pass, time) in times {
            best.entry(pass).and_modify(|best| *best = time.min(*best)).or_insert(time);
        }
    }
    best
}

/// The module with its functions repeated, each kernel under another name, until it has so many instructions.
fn grown(small: &Module, size: usize) -> Module {
    let definitions = Definitions::new(small);
    let is_function = |op: &oclave_spirv::Instruction<'_>| !op.is(Op::Function);
    let functions: Vec<_> = small.instructions().skip_while(is_function).collect();
    let copies = size.saturating_sub(small.instructions().count()).div_ceil(functions.len());
    let mut new = Editor::new(&definitions);
    let maps: Vec<HashMap<u32, u32>> = (0..copies)
        .map(|_| functions.iter().filter_map(|i| i.result_id()).map(|id| (id, new.fresh_id())).collect())
        .collect();
    for instruction in small.instructions() {
        for (number, map) in maps.iter().enumerate() {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::EntryPoint), [_, function, ..]) => {
                    let name = format!("{}_{number}", instruction.string(2).unwrap());
                    let interface = instruction.after_string(2).unwrap();
                    new.entry_point(map[function], &name, interface);
                }
                (Some(Op::Decorate), [id, rest @ ..]) if map.contains_key(id) => {
                    new.push_in(Section::Annotations, Op::Decorate, &[&[map[id]], rest].concat());
                }
                _ => {}
            }
        }
    }
    for map in &maps {
        for instruction in &functions {
            new.append_mapped(instruction, |id| map.get(&id).copied().unwrap_or(id));
        }
    }
    let module = new.finish().unwrap().unwrap();
    check::check(&module).unwrap();
    module
}
