//! Translation of modules of 3 MB: `cargo bench -p oclave-ptx --bench translate`.
//!
//! Rows are `name,device,n,ours_us,reference_us,ratio`, where n is the module's bytes. The
//! reference is the time at 5 MB of SPIR-V a second, the least that is asked for. A comment after
//! each row tells the throughput.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use std::collections::HashMap;
use std::time::Instant;

use oclave_ptx::{PtxTarget, translate};
use oclave_spirv::{Definitions, Editor, Module, Op};

const BYTES: usize = 3_000_000;

fn main() {
    let target: PtxTarget = "sm_90".parse().unwrap();
    // A copy of the folder with this crate (`ci/ptx-pack`), or the folder itself.
    let crates = std::env::var("OCLAVE_CRATES").unwrap_or(format!("{}/..", env!("CARGO_MANIFEST_DIR")));
    println!("name,device,n,ours_us,reference_us,ratio");
    for name in ["arith8.O2", "conv.O2", "loops.O0", "vls.O2", "geo.O2", "calls.O2"] {
        let path = format!("{crates}/oclave-ptx/tests/fixtures/{name}.spv");
        let small = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        let module = grow(&small);
        let bytes = module.words().len() * 4;
        let mut times = Vec::new();
        let mut written = 0;
        for _ in 0..5 {
            let begin = Instant::now();
            written = translate(&module, &target).unwrap().len();
            times.push(begin.elapsed());
        }
        times.sort();
        let median = times[times.len() / 2];
        let asked = bytes as f64 / 5.0;
        let ratio = median.as_secs_f64() * 1e6 / asked;
        println!("ptx_{name},host,{bytes},{},{asked:.0},{ratio:.3}", median.as_micros());
        println!("# {:.1} MB/s, {written} bytes of PTX", bytes as f64 / median.as_secs_f64() / 1e6);
    }
}

/// The module with its functions repeated, ids and a kernel of their own each, until it has
/// [`BYTES`].
fn grow(small: &Module) -> Module {
    let definitions = Definitions::new(small);
    let mut new = Editor::new(&definitions);
    let functions: Vec<_> = small.instructions().skip_while(|i| !i.is(Op::Function)).collect();
    let entries: Vec<_> = small.instructions().filter(|i| i.is(Op::EntryPoint)).collect();
    let words: usize = functions.iter().map(|i| i.words.len()).sum();
    for copy in 0..(BYTES / 4 - small.words().len()).div_ceil(words) {
        let ids: HashMap<u32, u32> =
            functions.iter().filter_map(|i| i.result_id()).map(|id| (id, new.fresh_id())).collect();
        for entry in &entries {
            let function = ids[&entry.operand(1).unwrap()];
            let name = format!("{}_{copy}", entry.string(2).unwrap());
            new.entry_point(function, &name, entry.after_string(2).unwrap());
        }
        for instruction in &functions {
            new.append_mapped(instruction, |id| ids.get(&id).copied().unwrap_or(id));
        }
    }
    new.finish().unwrap().unwrap()
}
