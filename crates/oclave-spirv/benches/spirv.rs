//! Reading, checking and writing of a module of 3 MB: `cargo bench -p oclave-spirv --bench spirv`.
//!
//! Rows are `name,device,n,ours_us,reference_us,ratio`, where n is the module's bytes. The
//! reference is the time of rspirv: to load in rows `read`, to load and assemble in rows
//! `read_check_write`. It is empty where rspirv refuses the module. The ratio is ours to the
//! reference. Comments tell the throughput in MB/s. Most functions of these modules are dead, so
//! that the rows `dce` tell what finding and dropping them takes.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use oclave_spirv::check;
use oclave_spirv::transform::dce;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::version;
use oclave_spirv::{Definitions, Editor, Module, Op, Version};
use rspirv::binary::Assemble;

const BYTES: usize = 3_000_000;

fn main() {
    // `check` as an argument runs only the check, for a profiler.
    let only_check = std::env::args().any(|a| a == "check");
    println!("name,device,n,ours_us,reference_us,ratio");
    for name in ["control.O2", "vectors.O2", "classes.O0", "saxpy.debug"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
        let small = Module::from_bytes(&std::fs::read(format!("{folder}/{name}.spv")).unwrap()).unwrap();
        let bytes = grow(&small).to_bytes();
        check::check(&Module::from_bytes(&bytes).unwrap()).unwrap();
        let module = Module::from_bytes(&bytes).unwrap();

        row(name, "check", bytes.len(), time(|| check::check(&module).unwrap()), None);
        if only_check {
            continue;
        }
        // It refuses some modules, and is no reference there.
        let rspirv_reads = rspirv::dr::load_bytes(&bytes).is_ok();
        let load = time(|| rspirv::dr::load_bytes(&bytes).map(|m| m.types_global_values.len()).ok());
        let load_and_write = time(|| {
            rspirv::dr::load_bytes(&bytes)
                .map(|m| m.assemble().iter().copied().fold(0, u32::wrapping_add))
                .ok()
        });
        row(
            name,
            "read",
            bytes.len(),
            time(|| Module::from_bytes(&bytes).unwrap()),
            rspirv_reads.then_some(load),
        );
        let whole = time(|| {
            let module = Module::from_bytes(&bytes).unwrap();
            check::check(&module).unwrap();
            module.to_bytes()
        });
        row(name, "read_check_write", bytes.len(), whole, rspirv_reads.then_some(load_and_write));
        row(name, "copy", bytes.len(), time(|| copy(&module)), None);
        row(name, "dce", bytes.len(), time(|| dce::eliminate(&module, |_| true).unwrap()), None);
        row(name, "strip", bytes.len(), time(|| strip::strip(&module, |_| false).unwrap()), None);
        row(name, "lower", bytes.len(), time(|| version::lower(&module, Version::V1_0)), None);
    }
}

fn copy(module: &Module) -> Module {
    let definitions = Definitions::new(module);
    let mut new = Editor::new(&definitions);
    new.name(1, "copy");
    new.finish().unwrap().unwrap()
}

/// The module with its functions repeated, ids of their own each, until it has [`BYTES`]. Entry
/// points call theirs.
fn grow(small: &Module) -> Module {
    let definitions = Definitions::new(small);
    let mut new = Editor::new(&definitions);
    let functions: Vec<_> = small.instructions().skip_while(|i| !i.is(Op::Function)).collect();
    let function_words: usize = functions.iter().map(|i| i.words.len()).sum();
    for _ in 0..(BYTES / 4 - small.words().len()).div_ceil(function_words) {
        let ids: HashMap<u32, u32> =
            functions.iter().filter_map(|i| i.result_id()).map(|id| (id, new.fresh_id())).collect();
        for instruction in &functions {
            new.append_mapped(instruction, |id| ids.get(&id).copied().unwrap_or(id));
        }
    }
    new.finish().unwrap().unwrap()
}

/// Time that one run takes, the mean of many. On Linux the time on the processor: on a machine that
/// does other things the time on the clock tells more about those.
fn time<T>(mut run: impl FnMut() -> T) -> Duration {
    black_box(run());
    let begin = Instant::now();
    let before = processor_time();
    let mut runs = 0;
    while runs < 5 || begin.elapsed() < Duration::from_millis(1000) {
        black_box(run());
        runs += 1;
    }
    match before.zip(processor_time()) {
        Some((before, after)) => (after - before) / runs,
        None => begin.elapsed() / runs,
    }
}

/// Nanoseconds that this thread ran, as the scheduler counts them.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

fn row(module: &str, name: &str, bytes: usize, ours: Duration, reference: Option<Duration>) {
    let micros = |d: Duration| d.as_secs_f64() * 1e6;
    let (reference, ratio) = reference.map_or((String::new(), String::new()), |r| {
        (format!("{:.0}", micros(r)), format!("{:.3}", ours.as_secs_f64() / r.as_secs_f64()))
    });
    println!("spirv_{name}_{module},host,{bytes},{:.0},{reference},{ratio}", micros(ours));
    println!("# {:.0} MB/s", bytes as f64 / micros(ours));
}
