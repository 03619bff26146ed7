//! Kernels of `tests/fixtures/odd.cl`: launched one by one, and from lists.

use super::finalize;
use crate::common::{call, chain, undecided};
use oclave::command::RawArgument;
use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelCall, Local, NdRange};
use oclave::memory::usm;
use oclave::{Command, Context, ErrorKind, Graph, Queue, UsmSlice};

/// What a kernel gets behind `out` and `in`.
enum Given {
    /// A count.
    Count(u32),
    /// So many bytes by value.
    Value(usize),
    /// So many bytes of local memory.
    Local(usize),
    Memory,
}
use Given::{Count, Local as Room, Memory, Value};

const WORDS: usize = 512;

#[device_test(undecided)]
fn odd_kernels_compute_the_same_from_lists(context: Context) {
    let bundle = crate::common::load::spirv(&context, include_bytes!("../../../fixtures/odd.spv")).unwrap();
    let queue = Queue::new(&context).unwrap();
    let [input, out] = [(); 2].map(|()| context.alloc_shared::<u32>(WORDS).unwrap());
    let random = |i: usize| (i as u32 + 1).wrapping_mul(2_654_435_761).rotate_left(13);
    input.write().unwrap().iter_mut().enumerate().for_each(|(i, word)| *word = random(i));

    // Drivers may take less for a kernel than for others; the library refuses more before any call.
    let reversed = |group: usize| {
        let call = call(&bundle, "reversed").pointer_mut::<u32>(&out).pointer::<u32>(&input);
        queue.parallel_for(NdRange::new(1024, group), call.local(Local::<[u8; 1]>::new(4096)))
    };
    let widest = match reversed(1024) {
        Ok(event) => event.wait().map(|()| 1024).unwrap(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NdRange, "{error}");
            assert!(error.to_string().contains("work-items on this device"), "{error}");
            println!("{error}");
            256
        }
    };
    let (items, groups) = (NdRange::from(100), NdRange::new(64, 16));
    let mut kernels: Vec<(&str, NdRange, &[Given])> = vec![
        ("returns_early", items, &[Count(13)]),
        ("duff", items, &[]),
        ("jumps", items, &[]),
        ("selects", groups, &[Count(5)]),
        ("group_loop", NdRange::new([16, 8], [8, 4]), &[Count(13)]),
        ("group_returns", groups, &[]),
        ("group_calls", groups, &[Room(64)]),
        ("calls_kernels", groups, &[Room(64)]),
        ("many_locals", groups, &[Room(16), Room(256), Room(1), Room(128)]),
        ("structs", items, &[Value(15), Value(1), Value(44), Value(3), Value(256), Value(1)]),
        (
            "vectors",
            items,
            &[Value(2), Value(4), Value(8), Value(16), Value(64), Value(16), Value(32), Value(16), Value(1)],
        ),
        ("tables", items, &[Memory]),
        ("two_results", items, &[]),
        ("large", items, &[]),
        ("reversed", NdRange::new(1024, widest), &[Room(4096)]),
        // Once more, behind all those with other groups.
        ("group_loop", NdRange::new([16, 4], [4, 4]), &[Count(7)]),
    ];
    // Mesa does not align private variables, and structs that are given by value are copied to these.
    if context.device().platform().name().contains("rusticl") {
        println!("no kernel `aligned`: private variables have any address here");
    } else {
        kernels.push(("aligned", items, &[Value(1), Value(256)]));
    }
    let call = |name: &str, given: &[Given], out: &UsmSlice<u32, usm::Shared>| -> KernelCall {
        let call = call(&bundle, name).pointer_mut::<u32>(out).pointer::<u32>(&input);
        given.iter().enumerate().fold(call, |call, (i, given)| match given {
            Count(count) => call.value(*count),
            Value(size) => {
                let bytes: Vec<u8> = (0..*size).map(|at| random(at + i * 300) as u8).collect();
                call.raw(RawArgument::bytes(&bytes))
            }
            Room(size) => call.local(Local::<[u8; 1]>::new(*size)),
            Memory => call.pointer::<u32>(&input),
        })
    };
    // One program has all of them, and serves the graphs that need fewer.
    let all = Graph::from_queue(&queue);
    chain(
        &all,
        kernels.iter().map(|(name, range, given)| Command::parallel_for(*range, call(name, given, &out))),
    );
    let _all = finalize(&all, ReplayStrategy::Interpreter);
    for (name, range, given) in &kernels {
        out.write().unwrap().fill(77);
        queue.parallel_for(*range, call(name, given, &out)).unwrap().wait().unwrap();
        let launched = out.read().unwrap().to_vec();
        let graph = Graph::from_queue(&queue);
        out.write().unwrap().fill(77);
        let other = context.alloc_shared::<u32>(WORDS).unwrap();
        chain(&graph, [&other, &out].map(|out| Command::parallel_for(*range, call(name, given, out))));
        let executable = finalize(&graph, ReplayStrategy::Interpreter);
        for told in executable.not_interpreted() {
            let several = match *name {
                "duff" | "jumps" => "it has a loop with several entries",
                "large" => "its private variables have 32",
                "reversed" => "work-items in a group and 4096 bytes of local memory, too many",
                "group_loop" => "it leaves a loop with barriers in several places",
                _ => panic!("{name}: {}", told.reason),
            };
            assert!(told.reason.contains(several), "{name}: {}", told.reason);
            println!("{}", told.reason);
        }
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let replayed = out.read().unwrap().to_vec();
        assert!(replayed == launched, "{name}:\n{replayed:?}\nnot\n{launched:?}");
    }
}
