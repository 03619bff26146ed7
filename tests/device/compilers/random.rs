//! Five random kernels, launched and in graphs that the interpreter runs, against an interpreter in
//! Rust. `ci/random-kernels` runs more of them.
//!
//! The kernels are those of seed 1. `random-kernels` writes their files in `tests/fixtures`:
//!
//! | fixture | command | its file |
//! |---|---|---|
//! | `random.cl` | `random-kernels 1 0 5 FOLDER` | `kernels.cl` |
//! | `random.oclimg` | the same | `random_kernels.kernels.oclimg` |
//! | `random.rs` | `random-kernels --translated 1 0 5 FOLDER` | `kernels0.rs` |
//! | `random_translated.spv`, by `llvm-spirv` 22 | the same | `kernels0.spv` |

use crate::common::{call, chain, load, undecided};
use oclave::graph::ReplayStrategy;
use oclave::kernel::NdRange;
use oclave::{Command, Context, Graph, Queue};
use random_kernels::ast::Kernel;
use random_kernels::evaluate::evaluate;
use random_kernels::{generate, group_sizes, input, print, print_rust};

mod in_rust {
    oclave::include_kernels!("rust_random");
}

const GROUPS: u32 = 3;

fn kernels() -> Vec<Kernel> {
    (0..5).map(|number| generate::kernel(&format!("k{number}"), 1_000_003 + number)).collect()
}

#[test]
fn the_fixture_has_what_the_generator_makes() {
    let text: String = kernels().iter().map(|kernel| print::print(kernel) + "\n").collect();
    assert!(
        text == include_str!("../../fixtures/random.cl"),
        "write tests/fixtures/random.cl and random.oclimg again"
    );
    let text: String = kernels().iter().map(|kernel| print_rust::print(kernel) + "\n").collect();
    assert!(
        format!("{}\n{text}", print_rust::HEAD) == include_str!("../../fixtures/random.rs"),
        "write tests/fixtures/random.rs and random_translated.spv again"
    );
}

#[device_test(undecided)]
fn random_kernels_compute_what_they_say(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = load::image(&context, include_bytes!("../../fixtures/random.oclimg")).unwrap();
    let words = input();
    let given = context.alloc_device::<u32>(words.len()).unwrap();
    queue.write(&given, &words).unwrap();

    let (graph, mut launches, mut wrong) = (Graph::from_queue(&queue), Vec::new(), Vec::new());
    for kernel in kernels() {
        for &[x, y] in group_sizes(&kernel).iter().skip(3).take(1) {
            let wanted = evaluate(&kernel, &words, [x, y], GROUPS, 2_000_000).expect("a short kernel");
            let out = context.alloc_device::<u32>(wanted.len()).unwrap();
            let [a, b] = kernel.params.map(u32::cast_signed);
            let run = call(&bundle, &kernel.name).pointer_mut(&out).pointer(&given).value(a).value(b);
            let range = NdRange::new([(x * GROUPS) as usize, y as usize], [x as usize, y as usize]);
            launches.push((format!("{} in groups of {x} x {y}", kernel.name), range, run, out, wanted));
        }
    }
    let command = |(_, range, run, ..): &(_, NdRange, oclave::kernel::KernelCall, _, _)| {
        Command::parallel_for(*range, run.clone())
    };
    chain(&graph, launches.iter().map(command));
    let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter();
    let executable = finalizer.finalize().unwrap();
    let interpreted: usize = executable.segments().iter().map(|segment| segment.nodes.len()).sum();
    println!("{} launches, {interpreted} of them interpreted", launches.len());
    assert!(interpreted > 0, "{:?}", executable.not_interpreted());
    for how in ["launched", "in a graph"] {
        launches.iter().for_each(|(_, _, _, out, _)| drop(queue.fill(out, 0).unwrap()));
        if how == "launched" {
            launches.iter().for_each(|launch| drop(queue.submit(command(launch)).unwrap()));
        } else {
            queue.submit_graph(&executable).unwrap();
        }
        for (what, _, _, out, wanted) in &launches {
            let seen = queue.read(out).unwrap();
            let differ = seen.iter().zip(wanted).filter(|(seen, wanted)| seen != wanted).count();
            if differ > 0 {
                wrong.push(format!("{what}, {how}: {differ} of {} words", wanted.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same kernels in Rust, lowered by `oclave-rust`, and by `llvm-spirv` from the same IR of rustc.
#[device_test(undecided)]
fn random_kernels_in_rust_compute_the_same_by_llvm_spirv(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let ours: Vec<_> =
        in_rust::IMAGES.containers().iter().map(|bytes| load::image(&context, bytes).unwrap()).collect();
    let translated = load::spirv(&context, include_bytes!("../../fixtures/random_translated.spv")).unwrap();
    let words = input();
    let given = context.alloc_device::<u32>(words.len()).unwrap();
    queue.write(&given, &words).unwrap();
    for kernel in kernels() {
        for &[x, y] in group_sizes(&kernel).iter().skip(2).take(2) {
            let wanted = evaluate(&kernel, &words, [x, y], GROUPS, 2_000_000).expect("a short kernel");
            let out = context.alloc_device::<u32>(wanted.len()).unwrap();
            let [a, b] = kernel.params.map(u32::cast_signed);
            let range = NdRange::new([(x * GROUPS) as usize, y as usize], [x as usize, y as usize]);
            let run = ours.iter().find_map(|bundle| bundle.kernel(&kernel.name).ok()).unwrap().call();
            let run = run.slice_mut(&out).slice_mut(&out).slice(&given).value(a).value(b);
            let (count, length) = (wanted.len() as u64, words.len() as u64);
            let other = call(&translated, &kernel.name).pointer_mut(&out).value(count);
            let other =
                other.pointer_mut(&out).value(count).pointer_mut(&given).value(length).value(a).value(b);
            for (how, run) in [("oclave-rust", run), ("llvm-spirv", other)] {
                queue.fill(&out, 0).unwrap();
                queue.parallel_for(range, run).unwrap();
                assert!(queue.read(&out).unwrap() == wanted, "{} in groups of {x} x {y}, {how}", kernel.name);
            }
        }
    }
}
