//! Which loops are unrolled. `tests/unrolled.rs` of the library shows that they compute the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use oclave_spirv::check;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::unroll::unroll;
use oclave_spirv::{LoopControl, Module, Op, StorageClass, Version};
use support::{assemble, assert_valid, corpus, is_valid, of_kernel, with_string};

const VOID: u32 = 1;
const UINT: u32 = 2;
const BOOL: u32 = 3;
const FUNCTION: u32 = 4;
const ONE: u32 = 5;
const ZERO: u32 = 6;
const NINE: u32 = 7;
const KERNEL: u32 = 8;
const END: u32 = 9;
const ENTRY: u32 = 10;
const LOOP: u32 = 11;
const DONE: u32 = 12;
const COUNTER: u32 = 13;
const NEXT: u32 = 14;
const CONDITION: u32 = 15;
const POINTER: u32 = 16;
const WORD: u32 = 17;
const SUM: u32 = 18;

fn o(op: Op, operands: &[u32]) -> (Op, Vec<u32>) {
    (op, operands.to_vec())
}

/// `for (i = start; ; ) { more; i = step(i, by); if (compare(i, end)) continue; else break; }`.
struct Counted {
    start: u32,
    step: Op,
    by: u32,
    compare: Op,
    end: u32,
    more: Vec<(Op, Vec<u32>)>,
    control: LoopControl,
}

const UP: Counted = Counted {
    start: ZERO,
    step: Op::IAdd,
    by: ONE,
    compare: Op::SLessThan,
    end: END,
    more: Vec::new(),
    control: LoopControl::NONE,
};

fn module(of: &Counted) -> Module {
    let mut all = of_kernel(
        &[],
        [
            (Op::EntryPoint, with_string(&[6, KERNEL], "k", &[])),
            o(Op::TypeVoid, &[VOID]),
            o(Op::TypeInt, &[UINT, 32, 0]),
            o(Op::TypeBool, &[BOOL]),
            o(Op::TypeFunction, &[FUNCTION, VOID, UINT]),
            o(Op::Constant, &[UINT, ONE, 1]),
            o(Op::Constant, &[UINT, ZERO, 0]),
            o(Op::Constant, &[UINT, NINE, 9]),
            o(Op::TypePointer, &[POINTER, StorageClass::Function as u32, UINT]),
            o(Op::Function, &[VOID, KERNEL, 0, FUNCTION]),
            o(Op::FunctionParameter, &[UINT, END]),
            o(Op::Label, &[ENTRY]),
            o(Op::Variable, &[POINTER, WORD, StorageClass::Function as u32]),
            o(Op::Branch, &[LOOP]),
            o(Op::Label, &[LOOP]),
            o(Op::Phi, &[UINT, COUNTER, of.start, ENTRY, NEXT, LOOP]),
        ],
    );
    all.extend(of.more.iter().cloned());
    all.extend([
        o(of.step, &[UINT, NEXT, COUNTER, of.by]),
        o(of.compare, &[BOOL, CONDITION, NEXT, of.end]),
        o(Op::LoopMerge, &[DONE, LOOP, of.control.bits()]),
        o(Op::BranchConditional, &[CONDITION, LOOP, DONE]),
        o(Op::Label, &[DONE]),
        o(Op::IAdd, &[UINT, SUM, NEXT, COUNTER]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]);
    assemble(Version::V1_2, &all)
}

fn count(module: &Module, op: Op) -> usize {
    module.instructions().filter(|i| i.is(op)).count()
}

#[track_caller]
fn becomes(of: &Counted, unrolled: bool) {
    let before = module(of);
    check::check(&before).unwrap();
    let after = unroll(before.clone()).unwrap();
    check::check(&after).unwrap();
    assert_valid("an unrolled loop", &after);
    assert_eq!(after != before, unrolled);
    // One in what begins, the new loop, what follows it, and the old one.
    assert_eq!(count(&after, Op::BranchConditional), if unrolled { 4 } else { 1 });
    assert_eq!(count(&after, Op::Phi) > count(&before, Op::Phi), unrolled);
}

#[test]
fn loops_that_count_by_one_are_unrolled() {
    becomes(&UP, true);
    for compare in [Op::ULessThan, Op::INotEqual] {
        becomes(&Counted { compare, ..UP }, true);
    }
    let down = Counted { start: END, step: Op::ISub, compare: Op::INotEqual, end: ZERO, ..UP };
    becomes(&down, true);
    becomes(&Counted { more: vec![o(Op::IMul, &[UINT, 20, COUNTER, NINE])], ..UP }, true);
}

#[test]
fn other_loops_stay() {
    // It counts by nine; to where it began; how often it runs is known.
    becomes(&Counted { by: NINE, ..UP }, false);
    becomes(&Counted { by: COUNTER, ..UP }, false);
    becomes(&Counted { end: COUNTER, ..UP }, false);
    becomes(&Counted { end: NINE, ..UP }, false);
    becomes(&Counted { compare: Op::SLessThanEqual, ..UP }, false);
    becomes(&Counted { step: Op::ISub, ..UP }, false);
    becomes(&Counted { control: LoopControl::DONT_UNROLL, ..UP }, false);
    let many = (20..60).map(|id| o(Op::IMul, &[UINT, id, COUNTER, NINE])).collect();
    becomes(&Counted { more: many, ..UP }, false);
    // Memory would have to be waited for.
    let pointer = vec![o(Op::Load, &[UINT, 20, WORD])];
    becomes(&Counted { more: pointer, ..UP }, false);
    let barrier = vec![o(Op::ControlBarrier, &[NINE, NINE, ZERO])];
    let before = module(&Counted { more: barrier, ..UP });
    assert!(unroll(before.clone()).unwrap() == before, "work-items wait for each other in each round");
}

#[test]
fn loops_are_merged_once_and_before_the_branch() {
    // So does llvm-spirv 15 where the source says `#pragma unroll`.
    let merge = |continues| o(Op::LoopMerge, &[DONE, continues, LoopControl::UNROLL.bits()]);
    let more = vec![merge(DONE), merge(LOOP)];
    let before = module(&Counted { more, control: LoopControl::UNROLL, ..UP });
    check::check(&before).unwrap_err();
    let after = strip::strip(&before, |_| true).unwrap();
    check::check(&after).unwrap();
    assert_valid("a loop that was merged twice", &after);
    assert_eq!(after.words(), module(&Counted { control: LoopControl::UNROLL, ..UP }).words());
}

#[test]
fn modules_stay_sound() {
    let mut changed = 0;
    let loops = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/unrolled.spv");
    let loops = ("unrolled.spv".to_owned(), std::fs::read(loops).unwrap());
    for (name, bytes) in corpus().into_iter().chain([loops]) {
        // Without the compiler's annotations, some of which no driver takes.
        let module = strip::strip(&Module::from_bytes(&bytes).unwrap(), |_| true).unwrap();
        // Those of virtual functions are markers that become tables.
        if check::check(&module).is_err() {
            continue;
        }
        let after = unroll(module.clone()).unwrap();
        check::check(&after).unwrap_or_else(|error| panic!("{name}: {error}"));
        if after != module {
            changed += 1;
            // The translator writes some blocks before those that dominate them.
            if is_valid(&module) == Some(true) {
                assert_valid(&name, &after);
            }
        }
    }
    assert!(changed > 0, "some module has such a loop");
}
