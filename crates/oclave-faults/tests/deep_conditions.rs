//! Wide switches and deep conditions, for devices that forget conditions that are too deep: programs
//! compute the same before and after.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::collections::HashMap;

use oclave_faults::Fault;
use oclave_image::{Aspects, DeviceImage, DeviceTarget, ImageError, legalize};
use oclave_spirv::check;
use oclave_spirv::{Capability, Definitions, Instruction, Module, Op, Version};
use proptest::prelude::*;
use support::{assemble, assert_valid, of_kernel, with_string};

const UINT: u32 = 3;
const BOOL: u32 = 4;
const LONG: u32 = 5;
const PARAMETER: u32 = 21;
/// Constants: `CONSTANTS + n` is n.
const CONSTANTS: u32 = 30;
const NUMBERS: u32 = 64;
const FUNCTION: u32 = 20;
const KERNEL: u32 = 22;
const FIRST: u32 = 100;

fn o(op: Op, operands: &[u32]) -> (Op, Vec<u32>) {
    (op, operands.to_vec())
}

/// A module with the function `uint f(uint)` of these blocks, and a kernel that calls it.
fn module(blocks: Vec<(Op, Vec<u32>)>) -> Module {
    let mut all = of_kernel(
        &[Capability::Int64],
        [
            (Op::EntryPoint, with_string(&[6, KERNEL], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[UINT, 32, 0]),
            o(Op::TypeBool, &[BOOL]),
            o(Op::TypeInt, &[LONG, 64, 0]),
            o(Op::TypeFunction, &[6, UINT, UINT]),
            o(Op::TypeFunction, &[7, 1, UINT]),
        ],
    );
    all.extend((0..NUMBERS).map(|n| o(Op::Constant, &[UINT, CONSTANTS + n, n])));
    all.extend([o(Op::Function, &[UINT, FUNCTION, 0, 6]), o(Op::FunctionParameter, &[UINT, PARAMETER])]);
    all.extend(blocks);
    all.extend([
        o(Op::FunctionEnd, &[]),
        o(Op::Function, &[1, KERNEL, 0, 7]),
        o(Op::FunctionParameter, &[UINT, 23]),
        o(Op::Label, &[24]),
        o(Op::FunctionCall, &[UINT, 25, FUNCTION, 23]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]);
    let mut words = assemble(Version::V1_2, &all).words().to_vec();
    words[3] = 1 << 20;
    Module::from_words(words).unwrap()
}

fn legal(module: &Module) -> Result<Module, ImageError> {
    let image =
        DeviceImage { name: "test".to_owned(), spirv: module.words().to_vec(), ..DeviceImage::default() };
    let target =
        DeviceTarget { aspects: Aspects::all(), faults: Fault::Q42.into(), ..DeviceTarget::default() };
    legalize(&image, &target).map(|words| Module::from_words(words).unwrap())
}

/// What the function gives for an argument.
fn run(module: &Module, argument: u32) -> u64 {
    let definitions = Definitions::new(module);
    let code: Vec<Instruction<'_>> = module
        .instructions()
        .skip_while(|i| i.result_id() != Some(FUNCTION) || !i.is(Op::Function))
        .take_while(|i| !i.is(Op::FunctionEnd))
        .collect();
    let labels: HashMap<u32, usize> = code
        .iter()
        .enumerate()
        .filter(|(_, i)| i.is(Op::Label))
        .map(|(at, i)| (i.result_id().unwrap(), at))
        .collect();
    let mut values: HashMap<u32, u64> = HashMap::from([(PARAMETER, argument.into())]);
    let mut memory: HashMap<u32, u64> = HashMap::new();
    let (mut from, mut block) = (0, code.iter().find(|i| i.is(Op::Label)).unwrap().result_id().unwrap());
    for _ in 0..100_000 {
        let mut phis = Vec::new();
        let mut next = None;
        for i in &code[labels[&block] + 1..] {
            if !i.is(Op::Phi) {
                values.extend(std::mem::take(&mut phis));
            }
            let value = |id: u32| definitions.int_constant(id).unwrap_or_else(|| values[&id]);
            let result = match i.op().unwrap() {
                Op::Variable => continue,
                Op::Phi => {
                    let pair = i.operands().chunks(2).find(|pair| pair[1] == from).unwrap();
                    phis.push((i.result_id().unwrap(), value(pair[0])));
                    continue;
                }
                Op::IAdd => (value(i.operands()[0]) + value(i.operands()[1])) & 0xffff_ffff,
                Op::UConvert => value(i.operands()[0]),
                Op::BitwiseAnd => value(i.operands()[0]) & value(i.operands()[1]),
                Op::IEqual => u64::from(value(i.operands()[0]) == value(i.operands()[1])),
                Op::ULessThan => u64::from(value(i.operands()[0]) < value(i.operands()[1])),
                Op::Load => memory[&i.operands()[0]],
                Op::Store => {
                    memory.insert(i.operands()[0], value(i.operands()[1]));
                    continue;
                }
                Op::ReturnValue => return value(i.operands()[0]),
                Op::Branch => {
                    next = Some(i.operands()[0]);
                    break;
                }
                Op::BranchConditional => {
                    let no = usize::from(value(i.operands()[0]) == 0);
                    next = Some(i.operands()[1 + no]);
                    break;
                }
                Op::Switch => {
                    let words = definitions.literal_words(i.operands()[0]);
                    let key = |case: &[u32]| (0..words).map(|w| u64::from(case[w]) << (32 * w)).sum::<u64>();
                    let mut cases = i.operands()[2..].chunks(words + 1);
                    let case = cases.find(|case| key(case) == value(i.operands()[0]));
                    next = Some(case.map_or(i.operands()[1], |case| case[words]));
                    break;
                }
                other => panic!("{other:?}"),
            };
            values.insert(i.result_id().unwrap(), result);
        }
        (from, block) = (block, next.unwrap());
    }
    panic!("no end")
}

/// The most blocks that a switch of the module leads to.
fn widest(module: &Module) -> usize {
    let definitions = Definitions::new(module);
    let switches = module.instructions().filter(|i| i.is(Op::Switch));
    let targets = switches.map(|i| {
        let cases = i.operands()[2..].chunks(definitions.literal_words(i.operands()[0]) + 1);
        cases.map(|case| *case.last().unwrap()).collect::<std::collections::BTreeSet<u32>>().len()
    });
    targets.max().unwrap_or(0)
}

/// `switch (x)` over these numbers of 32 or 64 bits, with their targets. A target goes on to the end or
/// to the next target.
fn switch(keys: &[u64], targets: &[u32], wide: bool, goes_on: bool) -> Module {
    let (end, default, target) = (101, 102, 200);
    let selector = if wide { 110 } else { PARAMETER };
    let mut operands = vec![selector, default];
    for (key, to) in keys.iter().zip(targets) {
        operands.push(*key as u32);
        if wide {
            operands.push((*key >> 32) as u32);
        }
        operands.push(target + to);
    }
    let count = targets.iter().max().unwrap() + 1;
    let used: Vec<u32> = (0..count).filter(|n| targets.contains(n)).collect();
    let mut blocks = vec![o(Op::Label, &[FIRST])];
    blocks.push(o(Op::UConvert, &[LONG, 110, PARAMETER]));
    blocks.push(o(Op::Switch, &operands));
    let mut phi = vec![UINT, 103, PARAMETER, default];
    for (at, n) in used.iter().enumerate() {
        let (label, value) = (target + n, 1000 + n);
        blocks.push(o(Op::Label, &[label]));
        let before = at.checked_sub(1).map(|at| used[at]).filter(|_| goes_on);
        let mut inner = vec![UINT, 2000 + n, CONSTANTS + 7, FIRST];
        before.iter().for_each(|n| inner.extend([1000 + n, target + n]));
        blocks.push((Op::Phi, inner));
        blocks.push(o(Op::IAdd, &[UINT, value, 2000 + n, CONSTANTS + n % NUMBERS]));
        match used.get(at + 1).filter(|_| goes_on) {
            Some(next) => blocks.push(o(Op::Branch, &[target + next])),
            None => {
                blocks.push(o(Op::Branch, &[end]));
                phi.extend([value, label]);
            }
        }
    }
    blocks.push(o(Op::Label, &[default]));
    blocks.push(o(Op::Branch, &[end]));
    blocks.push(o(Op::Label, &[end]));
    blocks.push((Op::Phi, phi));
    blocks.push(o(Op::ReturnValue, &[103]));
    module(blocks)
}

#[test]
fn wide_switches_are_searched_by_halves() {
    for (cases, targets, wide, goes_on) in
        [(100, 100, false, false), (400, 400, true, false), (100, 100, false, true), (300, 20, true, false)]
    {
        let keys: Vec<u64> = (0..cases).map(|n| n * 3 + 1).collect();
        let to: Vec<u32> = (0..cases as u32).map(|n| n % targets).collect();
        let before = switch(&keys, &to, wide, goes_on);
        check::check(&before).unwrap();
        let after = legal(&before).unwrap();
        assert_valid("halves", &after);
        assert!(widest(&after) <= 4, "{}", widest(&after));
        for x in 0..cases as u32 * 3 + 5 {
            assert_eq!(run(&before, x), run(&after, x), "{cases} cases, {x}");
        }
    }
    let keys: Vec<u64> = (0..50).collect();
    let before = switch(&keys, &[0, 1, 2, 3, 4, 5, 6, 7].repeat(7)[..50], false, false);
    assert_eq!(legal(&before).unwrap(), before, "cases that lead to eight blocks stay");
}

/// Makes the blocks of a structured function.
struct Maker {
    code: Vec<(Op, Vec<u32>)>,
    choices: std::vec::IntoIter<u8>,
    next: u32,
    label: u32,
    /// Values that are there.
    values: Vec<u32>,
    /// Loops around the code.
    loops: u32,
}

impl Maker {
    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn choice(&mut self) -> u32 {
        self.choices.next().unwrap_or(0).into()
    }

    fn push(&mut self, op: Op, operands: &[u32]) {
        self.code.push(o(op, operands));
    }

    fn start(&mut self, label: u32) {
        self.push(Op::Label, &[label]);
        self.label = label;
    }

    fn value(&mut self) -> u32 {
        let at = self.choice() as usize % self.values.len();
        self.values[at]
    }

    fn compute(&mut self, op: Op, ty: u32, a: u32, b: u32) -> u32 {
        let id = self.id();
        self.push(op, &[ty, id, a, b]);
        id
    }

    /// `deep` conditions inside conditions, with code before, behind and in the other branch; or a
    /// loop around them; or a return.
    fn conditions(&mut self, deep: u32) {
        let (old, by) = (self.value(), CONSTANTS + self.choice() % NUMBERS);
        let value = self.compute(Op::IAdd, UINT, old, by);
        self.values.push(value);
        if deep == 0 {
            return;
        }
        let kind = self.choice() % 16;
        if kind == 0 && self.loops < 4 {
            return self.rounds(deep - 1);
        }
        let (old, mask) = (self.value(), CONSTANTS + 1 + self.choice() % 31);
        let bits = self.compute(Op::BitwiseAnd, UINT, old, mask);
        let condition = self.compute(Op::ULessThan, BOOL, bits, CONSTANTS + 1 + mask % 16);
        let [yes, no, join] = std::array::from_fn(|_| self.id());
        self.push(Op::BranchConditional, &[condition, yes, no]);
        let count = self.values.len();

        self.start(yes);
        if kind.is_multiple_of(2) {
            self.conditions(deep - 1);
        }
        let (a, from_a) = (self.value(), self.label);
        self.push(Op::Branch, &[join]);
        self.values.truncate(count);

        self.start(no);
        if kind % 2 == 1 {
            self.conditions(deep - 1);
        }
        let (b, from_b) = (self.value(), self.label);
        if kind == 2 {
            self.push(Op::ReturnValue, &[b]);
        } else {
            self.push(Op::Branch, &[join]);
        }
        self.values.truncate(count);

        self.start(join);
        let phi = self.id();
        let pairs = if kind == 2 { vec![a, from_a] } else { vec![a, from_a, b, from_b] };
        self.push(Op::Phi, &[&[UINT, phi], pairs.as_slice()].concat());
        self.values.push(phi);
    }

    /// A loop of three rounds.
    fn rounds(&mut self, deep: u32) {
        let [head, body, out, counter, next, sum] = std::array::from_fn(|_| self.id());
        let (first, before) = (self.value(), self.label);
        self.push(Op::Branch, &[head]);
        self.start(head);
        let at = self.code.len();
        self.push(Op::Phi, &[UINT, counter, CONSTANTS, before, next, 0]);
        self.push(Op::Phi, &[UINT, sum, first, before, 0, 0]);
        let more = self.compute(Op::ULessThan, BOOL, counter, CONSTANTS + 3);
        self.push(Op::BranchConditional, &[more, body, out]);
        self.values.push(sum);
        let count = self.values.len();
        self.start(body);
        self.loops += 1;
        self.conditions(deep);
        self.loops -= 1;
        let last = self.value();
        self.push(Op::IAdd, &[UINT, next, counter, CONSTANTS + 1]);
        let latch = self.label;
        self.push(Op::Branch, &[head]);
        self.code[at].1[5] = latch;
        self.code[at + 1].1[4..].copy_from_slice(&[last, latch]);
        self.values.truncate(count);
        self.start(out);
    }
}

/// A function with conditions that are `deep` inside others.
fn nested(choices: Vec<u8>, deep: u32) -> Module {
    let mut maker = Maker {
        code: Vec::new(),
        choices: choices.into_iter(),
        next: 1000,
        label: 0,
        values: vec![PARAMETER],
        loops: 0,
    };
    maker.start(FIRST);
    maker.conditions(deep);
    let last = *maker.values.last().unwrap();
    maker.push(Op::ReturnValue, &[last]);
    module(maker.code)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deep_conditions_compute_the_same(
        choices in prop::collection::vec(any::<u8>(), 4000),
        deep in 50..200_u32,
    ) {
        let before = nested(choices, deep);
        check::check(&before).unwrap();
        let after = match legal(&before) {
            Ok(after) => after,
            Err(ImageError::DeviceLacks { what }) if what.contains("kernel `k`") => return Ok(()),
            Err(other) => panic!("{other}"),
        };
        check::check(&after).unwrap();
        assert_valid("deep", &after);
        for x in (0..40).chain([1 << 20, u32::MAX]) {
            prop_assert_eq!(run(&before, x), run(&after, x), "{}", x);
        }
    }

    #[test]
    fn switches_compute_the_same(
        cases in prop::collection::btree_map(any::<u8>(), 0..60_u32, 1..120),
        wide in any::<bool>(),
        goes_on in any::<bool>(),
    ) {
        let (keys, targets): (Vec<u64>, Vec<u32>) = cases.iter().map(|(key, to)| (u64::from(*key), *to)).unzip();
        let before = switch(&keys, &targets, wide, goes_on);
        check::check(&before).unwrap();
        let after = legal(&before).unwrap();
        assert_valid("switches", &after);
        prop_assert!(widest(&after) <= 8);
        for x in 0..260 {
            prop_assert_eq!(run(&before, x), run(&after, x), "{}", x);
        }
    }
}

#[test]
fn deep_conditions_are_mended_or_refused() {
    let deep = |levels: u32| nested([0, 0, 4, 0, 7].repeat(levels as usize), levels);
    let shallow = deep(40);
    assert_eq!(legal(&shallow).unwrap(), shallow, "it is not deep");
    let before = deep(150);
    let after = legal(&before).unwrap();
    assert_valid("deep", &after);
    assert!(after.instructions().any(|i| i.is(Op::Switch)), "a loop around a switch");
    for x in 0..100 {
        assert_eq!(run(&before, x), run(&after, x));
    }

    // A barrier keeps the function as it is.
    let mut words = before.words().to_vec();
    let label = before.instructions().find(|i| i.is(Op::Label)).unwrap();
    let two = CONSTANTS + 2;
    words.splice(label.at + 2..label.at + 2, [4 << 16 | Op::ControlBarrier as u32, two, two, CONSTANTS + 16]);
    let with_barrier = Module::from_words(words).unwrap();
    match legal(&with_barrier) {
        Err(ImageError::DeviceLacks { what }) => {
            let names = ["150 deep", "kernel `k`", "image \"test\"", "barriers"];
            assert!(names.iter().all(|name| what.contains(name)), "{what}");
        }
        other => panic!("{other:?}"),
    }
}
