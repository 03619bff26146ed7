//! Loops with barriers that run as often as is known when the kernel is built.
//!
//! LLVM unrolls such loops of kernels in C. In Rust it may not copy barriers, as rustc cannot mark them as `convergent`. Compilers for
//! CPUs run all work-items up to a barrier before any of them goes on, and keep the values of loops in memory. In a loop that is unrolled,
//! its counter is a constant.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::Op;
use oclave_spirv::analysis::control_flow::Tree;

use super::barriers::loops;
use super::builder::Builder;
use super::code::{Block, Inst, edges, effect, merged, redirect, rename_with, without_unreached};
use super::function::Lower;

/// Loops that run more often stay loops.
const MOST_ITERATIONS: usize = 16;
/// The instructions of all iterations, at most.
const MOST_INSTRUCTIONS: usize = 512;
/// How far back the calculation of a condition is followed.
const DEPTH: u32 = 8;

/// A loop that can be unrolled. Blocks are given by their labels.
struct KnownLoop {
    header: u32,
    body: BTreeSet<u32>,
    /// The block that goes back to the header.
    latch: u32,
    /// The block that leaves the loop, and where it goes if it stays in the loop and if it does not.
    leaving: u32,
    stays: u32,
    exit: u32,
    /// The integers that each iteration begins with, by the header's phis.
    iterations: Vec<BTreeMap<u32, Integer>>,
}

/// What the ids of a loop are in one iteration.
type Renamed = BTreeMap<u32, u32>;

/// Bits and value. Constants have no bits, and take those of what they are calculated with.
type Integer = (u32, u64);

impl Lower<'_, '_> {
    /// Unrolls loops with barriers that run a known number of times.
    pub(super) fn unrolled(&mut self, mut blocks: Vec<Block>) -> Vec<Block> {
        let mut is_unrolled = false;
        while let Some(known) = known_loop(&self.output.builder, &blocks) {
            blocks = self.unroll(blocks, &known);
            is_unrolled = true;
        }
        if is_unrolled {
            blocks = merged(blocks);
            self.split_indices(&mut blocks);
        }
        blocks
    }

    fn unroll(&mut self, blocks: Vec<Block>, known: &KnownLoop) -> Vec<Block> {
        let is_inside = |block: &Block| known.body.contains(&block.label.word());
        let before = blocks.iter().take_while(|block| block.label.word() != known.header);
        let place = before.filter(|block| !is_inside(block)).count();
        let (body, mut rest): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(is_inside);
        let mut unrolled: Vec<Block> = Vec::new();
        let mut previous: Option<Renamed> = None;
        let mut iterations = known.iterations.iter().peekable();
        while let Some(integers) = iterations.next() {
            let (mut copies, new) = self.copies(body.clone());
            let mut now: Renamed = new.iter().map(|(old, new)| (*old, new.word())).collect();
            let header = became(&now, known.header);
            let begins = self.begin_iteration(&mut copies, &body, known, (integers, previous.as_ref()));
            for id in now.values_mut() {
                *id = became(&begins, *id);
            }
            let to = if iterations.peek().is_some() { became(&now, known.stays) } else { known.exit };
            let leaving = became(&now, known.leaving);
            for block in copies.iter_mut().filter(|block| block.label.word() == leaving) {
                block.end = Some(effect(Op::Branch, &[to]));
            }
            match &previous {
                // It goes back to its own header so far.
                Some(previous) => {
                    let [latch, own] = [known.latch, known.header].map(|label| became(previous, label));
                    let latch = unrolled.iter_mut().find(|block| block.label.word() == latch);
                    latch.into_iter().for_each(|block| redirect(block, own, header));
                }
                None => rest.iter_mut().for_each(|block| redirect(block, known.header, header)),
            }
            unrolled.append(&mut copies);
            previous = Some(now);
        }
        rename_with(&mut rest, |id| previous.as_ref()?.get(&id).copied());
        rest.splice(place..place, unrolled);
        without_unreached(rest)
    }

    /// Replaces phis of the copied header by what this iteration begins with. Gives these values.
    fn begin_iteration(
        &mut self,
        copies: &mut [Block],
        body: &[Block],
        known: &KnownLoop,
        (integers, previous): (&BTreeMap<u32, Integer>, Option<&Renamed>),
    ) -> Renamed {
        let mut begins = Renamed::new();
        for (block, old) in copies.iter_mut().zip(body).filter(|(_, old)| old.label.word() == known.header) {
            let mut phis = old.phis.iter();
            block.phis.retain_mut(|phi| {
                let old = phis.next();
                let pairs = pairs(old, known.latch, previous);
                let integer = old.and_then(|old| integers.get(&old.result?.1.word()));
                let value = match integer {
                    Some((width, value)) => Some(self.number(*width, *value).word()),
                    None => one_value(&pairs),
                };
                begins.extend(phi.result.map(|(_, id)| id.word()).zip(value));
                phi.operands = pairs.concat();
                value.is_none()
            });
        }
        rename_with(copies, |id| begins.get(&id).copied());
        begins
    }

    /// Makes two steps of those to an element with a constant in its index. Some compilers then calculate several work-items at once.
    fn split_indices(&mut self, blocks: &mut [Block]) {
        let builder = &mut self.output.builder;
        let code = blocks.iter().flat_map(|block| &block.code);
        // Sum → its other part, and the constant.
        let sums = code.filter_map(|inst| match (inst.op, inst.operands.as_slice(), inst.result) {
            (Op::IAdd, &[a, b], Some((_, id))) if builder.integer(a).is_some() => Some((id.word(), [b, a])),
            (Op::IAdd, &[a, b], Some((_, id))) if builder.integer(b).is_some() => Some((id.word(), [a, b])),
            _ => None,
        });
        let sums: BTreeMap<u32, [u32; 2]> = sums.collect();
        for block in blocks {
            for mut inst in std::mem::take(&mut block.code) {
                if matches!(inst.op, Op::PtrAccessChain | Op::InBoundsPtrAccessChain)
                    && let (&[base, index], Some((ty, id))) = (inst.operands.as_slice(), inst.result)
                    && let Some(&[part, constant]) = sums.get(&index)
                {
                    // The first step may lead out of bounds.
                    inst.op = Op::PtrAccessChain;
                    let step = builder.value_like(id);
                    let first = Inst { op: inst.op, result: Some((ty, step)), operands: vec![base, part] };
                    block.code.push(first);
                    inst.operands = vec![step.word(), constant];
                }
                block.code.push(inst);
            }
        }
    }
}

/// What an id became.
fn became(renamed: &Renamed, id: u32) -> u32 {
    renamed.get(&id).copied().unwrap_or(id)
}

/// What a phi of the header has in an iteration: values and the blocks that they come from. The first iteration has no previous one.
fn pairs(phi: Option<&Inst>, latch: u32, previous: Option<&Renamed>) -> Vec<[u32; 2]> {
    let of_pair = |pair: &[u32]| match (pair, previous) {
        (&[value, from], Some(previous)) if from == latch => {
            Some([became(previous, value), became(previous, from)])
        }
        (&[value, from], None) if from != latch => Some([value, from]),
        _ => None,
    };
    phi.into_iter().flat_map(|phi| phi.operands.chunks_exact(2)).filter_map(of_pair).collect()
}

/// The value of a phi, where it has only one.
fn one_value(pairs: &[[u32; 2]]) -> Option<u32> {
    let [value, _] = *pairs.first()?;
    pairs.iter().all(|[other, _]| *other == value).then_some(value)
}

/// An innermost loop with a barrier, with one block that goes back, one that leaves, and a known number of iterations.
fn known_loop(builder: &Builder<'_>, blocks: &[Block]) -> Option<KnownLoop> {
    let (_, edges) = edges(blocks);
    let has_barrier = |at: &usize| {
        blocks.get(*at).is_some_and(|block| block.code.iter().any(|inst| inst.op == Op::ControlBarrier))
    };
    let all = loops(&edges);
    let with_barrier: Vec<_> = all.iter().filter(|(_, body)| body.iter().any(has_barrier)).collect();
    let tree = Tree::new(&edges, 0);
    let label = |at: usize| blocks.get(at).map(|block| block.label.word());
    let to = |at: usize| edges.get(at).into_iter().flatten().copied();
    with_barrier.iter().find_map(|(header, body)| {
        if with_barrier.iter().any(|(other, _)| other != header && body.contains(other)) {
            return None;
        }
        let latch = only(body.iter().copied().filter(|at| to(*at).any(|to| to == *header)))?;
        let leaving = only(body.iter().copied().filter(|at| to(*at).any(|to| !body.contains(&to))))?;
        let exit = only(to(leaving).filter(|to| !body.contains(to)))?;
        let stays = only(to(leaving).filter(|to| body.contains(to)))?;
        if !tree.is_ancestor(leaving, latch) {
            return None;
        }
        let code: Vec<&Inst> =
            body.iter().filter_map(|at| blocks.get(*at)).flat_map(|block| &block.code).collect();
        let mut counter = Counter {
            builder,
            header: blocks.get(*header)?,
            values: BTreeMap::new(),
            code: code.iter().filter_map(|inst| Some((inst.result?.1.word(), *inst))).collect(),
        };
        let end = blocks.get(leaving)?.end.as_ref().filter(|end| end.op == Op::BranchConditional)?;
        let &[condition, yes, ..] = end.operands.as_slice() else { return None };
        let iterations = counter.iterations(condition, Some(yes) == label(stays), label(latch)?)?;
        (code.len() * iterations.len() <= MOST_INSTRUCTIONS).then_some(KnownLoop {
            header: label(*header)?,
            body: body.iter().filter_map(|at| label(*at)).collect(),
            latch: label(latch)?,
            leaving: label(leaving)?,
            stays: label(stays)?,
            exit: label(exit)?,
            iterations,
        })
    })
}

/// The only one, where there is only one.
pub(super) fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next();
    first.filter(|_| all.next().is_none())
}

/// Follows the integers of a loop from iteration to iteration.
struct Counter<'b> {
    builder: &'b Builder<'b>,
    header: &'b Block,
    /// What is known of the header's phis in this iteration.
    values: BTreeMap<u32, Integer>,
    code: BTreeMap<u32, &'b Inst>,
}

impl Counter<'_> {
    /// The integers that each iteration begins with, if it is known how many there are. The loop goes on while `condition` is `stays`.
    fn iterations(&mut self, condition: u32, stays: bool, latch: u32) -> Option<Vec<BTreeMap<u32, Integer>>> {
        let mut iterations = Vec::new();
        self.values = self.next(latch, true);
        while iterations.len() < MOST_ITERATIONS {
            let (_, holds) = self.value(condition, DEPTH)?;
            let next = self.next(latch, false);
            iterations.push(std::mem::replace(&mut self.values, next));
            if (holds != 0) != stays {
                return Some(iterations);
            }
        }
        None
    }

    /// The values of the first or the next iteration.
    fn next(&self, latch: u32, is_first: bool) -> BTreeMap<u32, Integer> {
        let value = |phi: &Inst| {
            let (ty, id) = phi.result?;
            let width = self.builder.int_width(ty)?;
            let mut pairs =
                phi.operands.chunks_exact(2).filter(|pair| (pair.get(1) != Some(&latch)) == is_first);
            let number = |pair: &[u32]| Some(self.value(*pair.first()?, DEPTH)?.1);
            let first = number(pairs.next()?)?;
            pairs.all(|pair| number(pair) == Some(first)).then_some((id.word(), (width, first)))
        };
        self.header.phis.iter().filter_map(value).collect()
    }

    fn value(&self, id: u32, depth: u32) -> Option<Integer> {
        if let Some(known) = self.values.get(&id) {
            return Some(*known);
        }
        if let Some(number) = self.builder.integer(id) {
            return Some((0, number));
        }
        let inst = self.code.get(&id).filter(|_| depth > 0)?;
        let (ty, _) = inst.result?;
        let operands = inst.operands.iter().map(|id| self.value(*id, depth - 1));
        let operands = operands.collect::<Option<Vec<Integer>>>()?;
        let own = operands.iter().map(|(width, _)| *width).max().filter(|width| *width > 0)?;
        let width = self.builder.int_width(ty).unwrap_or(1);
        let values: Vec<u64> = operands.iter().map(|(_, value)| *value).collect();
        let value = calculated(inst.op, own, &values)?;
        Some((width, value & u64::MAX.checked_shr(64 - width)?))
    }
}

/// The result of an instruction with integers of so many bits. It may have more bits than the type of the result.
fn calculated(op: Op, width: u32, operands: &[u64]) -> Option<u64> {
    let unused = 64_u32.checked_sub(width)?;
    let signed = |value: u64| (value << unused).cast_signed() >> unused;
    let value = match (op, operands) {
        (Op::IAdd, &[a, b]) => a.wrapping_add(b),
        (Op::ISub, &[a, b]) => a.wrapping_sub(b),
        (Op::IMul, &[a, b]) => a.wrapping_mul(b),
        (Op::UDiv, &[a, b]) => a.checked_div(b)?,
        (Op::UMod, &[a, b]) => a.checked_rem(b)?,
        (Op::ShiftLeftLogical, &[a, by]) if by < u64::from(width) => a << by,
        (Op::ShiftRightLogical, &[a, by]) if by < u64::from(width) => a >> by,
        (Op::ShiftRightArithmetic, &[a, by]) if by < u64::from(width) => (signed(a) >> by).cast_unsigned(),
        (Op::BitwiseAnd | Op::LogicalAnd, &[a, b]) => a & b,
        (Op::BitwiseOr | Op::LogicalOr, &[a, b]) => a | b,
        (Op::BitwiseXor, &[a, b]) => a ^ b,
        (Op::LogicalNot, &[a]) => a ^ 1,
        (Op::UConvert, &[a]) => a,
        (Op::SConvert, &[a]) => signed(a).cast_unsigned(),
        (Op::IEqual, &[a, b]) => u64::from(a == b),
        (Op::INotEqual, &[a, b]) => u64::from(a != b),
        (Op::ULessThan, &[a, b]) => u64::from(a < b),
        (Op::ULessThanEqual, &[a, b]) => u64::from(a <= b),
        (Op::UGreaterThan, &[a, b]) => u64::from(a > b),
        (Op::UGreaterThanEqual, &[a, b]) => u64::from(a >= b),
        (Op::SLessThan, &[a, b]) => u64::from(signed(a) < signed(b)),
        (Op::SLessThanEqual, &[a, b]) => u64::from(signed(a) <= signed(b)),
        (Op::SGreaterThan, &[a, b]) => u64::from(signed(a) > signed(b)),
        (Op::SGreaterThanEqual, &[a, b]) => u64::from(signed(a) >= signed(b)),
        _ => return None,
    };
    Some(value)
}
