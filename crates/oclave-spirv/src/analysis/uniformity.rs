//! What all work-items of a group do together: values, loops, and where barriers stand.

use std::collections::BTreeSet;

use super::calls::with_callers;
use super::control_flow::{Flow, Loop};
use super::references::kernel_entry;
use crate::{
    BuiltIn, Definitions, Instruction, Op, StorageClass, is_access_chain, is_calculation, is_pure, is_within,
};

/// The most conversions between a built-in variable and a value that counts as an id.
const MOST_CONVERSIONS: usize = 8;

/// Answers questions about the functions of a module. What is not known counts as different for
/// each work-item.
#[derive(Debug)]
pub struct Uniformity<'a, 'm> {
    definitions: &'a Definitions<'m>,
    /// Built-in variables that are the same for a group.
    of_group: BTreeSet<u32>,
    /// The ids of a work-item in its group and in the range.
    ids: BTreeSet<u32>,
    /// Functions that come to a barrier, themselves or by what they call.
    barriers: BTreeSet<u32>,
    /// Functions whose parameters are arguments of a kernel.
    kernels: BTreeSet<u32>,
}

impl<'a, 'm> Uniformity<'a, 'm> {
    /// Reads the built-in variables and the calls of a module. `flows` are all of its functions.
    pub fn new(definitions: &'a Definitions<'m>, flows: &[Flow<'_>]) -> Self {
        let built_ins = |is_meant: fn(u32) -> bool| {
            let all = definitions.module().built_ins();
            all.filter(|(_, number)| is_meant(*number)).map(|(id, _)| id).collect()
        };
        let (of_group, ids) = (built_ins(is_of_group), built_ins(is_id));
        let entries = definitions.module().instructions().filter_map(|i| kernel_entry(&i));
        let kernels = entries.map(|entry| entry.function).collect();
        let barriers = with_callers(flows, |flow| flow.blocks.iter().any(|block| block.barrier));
        let mut all = Self { definitions, of_group, ids, barriers, kernels };
        all.kernels = all.bodies(flows);
        all
    }

    /// The functions of entry points. If one does nothing but call a function, that function counts instead: translators write such entry
    /// points, and drivers drop them.
    fn bodies(&self, flows: &[Flow<'_>]) -> BTreeSet<u32> {
        let calls = || flows.iter().flat_map(|flow| &flow.blocks).flat_map(|block| &block.calls);
        let body = |entry: u32| {
            let flow = flows.iter().find(|flow| flow.function == entry)?;
            let [only] = flow.blocks.as_slice() else { return None };
            let &[callee] = only.calls.as_slice() else { return None };
            let call = self.definitions.block(only.label).find(|i| i.is(Op::FunctionCall))?;
            let is_body = !only.barrier
                && flows.iter().any(|flow| flow.function == callee)
                && calls().filter(|other| **other == callee).count() == 1
                && self.is_uniform(flow, call.operands().get(1..)?.to_vec());
            is_body.then_some(callee)
        };
        self.kernels.iter().map(|entry| body(*entry).unwrap_or(*entry)).collect()
    }

    /// The functions of entry points. A function that an entry point only calls counts instead of it.
    pub fn kernels(&self) -> &BTreeSet<u32> {
        &self.kernels
    }

    /// Whether the function comes to a barrier.
    pub fn has_barriers(&self, function: u32) -> bool {
        self.barriers.contains(&function)
    }

    /// Whether a block has a barrier, or calls what has one.
    pub fn is_barrier(&self, flow: &Flow<'_>, block: usize) -> bool {
        flow.blocks
            .get(block)
            .is_some_and(|b| b.barrier || b.calls.iter().any(|callee| self.has_barriers(*callee)))
    }

    /// Whether a block of a loop is a barrier, as [`is_barrier`](Self::is_barrier) says.
    pub fn has_barrier(&self, flow: &Flow<'_>, of: &Loop) -> bool {
        of.blocks.iter().any(|block| self.is_barrier(flow, *block))
    }

    /// Whether all work-items of a group take as many rounds.
    pub fn keeps_together(&self, flow: &Flow<'_>, of: &Loop) -> bool {
        // The rules of OpenCL say so where it has a barrier.
        self.has_barrier(flow, of)
            || (!flow.irreducible && self.is_uniform(flow, self.exit_conditions(flow, of)))
    }

    fn exit_conditions(&self, flow: &Flow<'_>, of: &Loop) -> Vec<u32> {
        flow.exiting(of).into_iter().filter_map(|block| condition(flow, block)).collect()
    }

    /// Whether these values are the same for all work-items of a group.
    pub fn is_uniform(&self, flow: &Flow<'_>, values: Vec<u32>) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = values;
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(instruction) = self.definitions.instruction(id) else { return false };
            let Some(op) = instruction.op() else { return false };
            match op {
                op if is_within(op, Op::ConstantTrue, Op::SpecConstantOp) => {}
                Op::FunctionParameter if self.kernels.contains(&flow.function) => {}
                Op::Load if instruction.operand(0).is_some_and(|from| self.of_group.contains(&from)) => {}
                Op::Phi => {
                    // Only what a loop counts is followed: other values depend on the way that was
                    // taken.
                    let of = flow.phis.get(&id).and_then(|at| flow.loops.iter().find(|l| l.header == *at));
                    let Some(of) = of.filter(|of| is_counter(flow, of, &instruction)) else {
                        return false;
                    };
                    open.extend(instruction.operands().iter().step_by(2));
                    open.extend(self.exit_conditions(flow, of));
                }
                op if is_pure(op) => {
                    let values = match op {
                        Op::CompositeExtract => instruction.operands().get(..1),
                        Op::CompositeInsert | Op::VectorShuffle => instruction.operands().get(..2),
                        _ => Some(instruction.operands()),
                    };
                    open.extend(values.into_iter().flatten());
                }
                _ => return false,
            }
        }
        true
    }

    /// Whether a loop loads what ends it from memory that work-items share.
    pub fn is_ended_by_memory(&self, flow: &Flow<'_>, of: &Loop) -> bool {
        let loads = flow.loop_code(self.definitions, of).filter(|i| self.loads_shared(i));
        let loads: BTreeSet<u32> = loads.filter_map(|i| i.result_id()).collect();
        let (mut seen, mut open) = (BTreeSet::new(), self.exit_conditions(flow, of));
        while let Some(id) = open.pop() {
            if loads.contains(&id) {
                return true;
            }
            let Some(instruction) = self.definitions.instruction(id).filter(|_| seen.insert(id)) else {
                continue;
            };
            match instruction.op() {
                Some(Op::Phi) => open.extend(instruction.operands().iter().step_by(2)),
                Some(op) if is_pure(op) => open.extend(instruction.operands()),
                _ => {}
            }
        }
        false
    }

    /// Whether an instruction loads from memory that work-items share.
    fn loads_shared(&self, instruction: &Instruction<'_>) -> bool {
        let class = || {
            let pointer = self.definitions.instruction(instruction.operand(0)?)?;
            self.definitions.instruction(pointer.result_type()?)?.operand(0)
        };
        let shared = [StorageClass::Workgroup, StorageClass::CrossWorkgroup, StorageClass::Generic];
        let reads = |op| op == Op::Load || is_within(op, Op::AtomicLoad, Op::AtomicXor);
        instruction.op().is_some_and(reads)
            && class().is_some_and(|class| shared.iter().any(|one| *one as u32 == class))
    }

    /// Whether the counter of a loop begins with the id of the work-item, and ends at a bound that is the same for a group.
    /// The loop is left at the end of the block `exit`.
    pub fn counts_from_id(&self, flow: &Flow<'_>, of: &Loop, exit: usize) -> bool {
        let test = condition(flow, exit).and_then(|value| self.definitions.instruction(value));
        let is_comparison = |op| is_within(op, Op::IEqual, Op::SLessThanEqual);
        let Some(test) = test.filter(|test| test.op().is_some_and(is_comparison)) else { return false };
        let &[a, b] = test.operands() else { return false };
        let counts =
            |value, bound| self.begins_with_id(flow, of, value) && self.is_uniform(flow, vec![bound]);
        counts(a, b) || counts(b, a)
    }

    /// Whether a value is the counter of a loop, or what it is in the next iteration, and begins with an id.
    fn begins_with_id(&self, flow: &Flow<'_>, of: &Loop, value: u32) -> bool {
        let is_phi = |value: u32| flow.phis.get(&value) == Some(&of.header);
        let Some(instruction) = self.definitions.instruction(value) else { return false };
        let counter = match (instruction.op(), instruction.operands()) {
            _ if is_phi(value) => value,
            (Some(Op::IAdd), &[counter, step] | &[step, counter])
                if is_phi(counter) && self.is_uniform(flow, vec![step]) =>
            {
                counter
            }
            _ => return false,
        };
        let Some(phi) = self.definitions.instruction(counter) else { return false };
        let is_inside = |label: u32| flow.find(label).is_some_and(|at| of.blocks.contains(&at));
        phi.operands().chunks_exact(2).all(|pair| match *pair {
            [value, label] => is_inside(label) || self.is_id(value),
            _ => false,
        })
    }

    /// Whether a value is an id of the work-item, perhaps with another number of bits.
    fn is_id(&self, mut value: u32) -> bool {
        for _ in 0..MOST_CONVERSIONS {
            let Some(instruction) = self.definitions.instruction(value) else { return false };
            let Some(from) = instruction.operand(0) else { return false };
            match instruction.op() {
                Some(Op::Load) => return self.ids.contains(&from),
                Some(Op::CompositeExtract | Op::UConvert | Op::SConvert) => value = from,
                _ => return false,
            }
        }
        false
    }

    /// Whether it is known that all work-items of a group come to a loop together, as often as each
    /// other.
    pub fn is_reached_together(&self, flow: &Flow<'_>, of: &Loop) -> bool {
        if !self.kernels.contains(&flow.function) {
            return false;
        }
        let around: Vec<&Loop> = flow.loops_around(of.header).filter(|l| l.header != of.header).collect();
        around.iter().all(|l| self.keeps_together(flow, l))
            && around.iter().copied().chain([of]).all(|l| {
                let is_uniform = |block: usize| {
                    condition(flow, block).is_none_or(|value| self.is_uniform(flow, vec![value]))
                };
                self.is_entered(flow, l, is_uniform, |_| {})
            })
    }

    /// Whether a loop comes in each round of the loop around it, but for branches that are
    /// `allowed`, and `found`.
    fn is_entered(
        &self,
        flow: &Flow<'_>,
        of: &Loop,
        allowed: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize),
    ) -> bool {
        let top = flow.loops_around(of.header).find(|l| l.header != of.header).map_or(0, |l| l.header);
        let Some(mut at) = flow.preheader(of) else { return of.header == 0 };
        while at != top && !flow.postdominates(at, top) {
            let Some(before) = flow.predecessor(at) else { return false };
            if !allowed(before) {
                return false;
            }
            if !flow.postdominates(at, before) {
                found(before);
            }
            at = before;
        }
        true
    }

    /// Whether a block that heads no loop chooses its way by a phi of its own, or by what one
    /// instruction makes of that phi.
    pub fn chooses_by_phi(&self, flow: &Flow<'_>, block: usize) -> bool {
        let is_own = |value: &u32| flow.phis.get(value) == Some(&block);
        let chooses = condition(flow, block).is_some_and(|value| {
            let by = self.definitions.instruction(value).filter(|by| by.op().is_some_and(is_calculation));
            is_own(&value) || by.is_some_and(|by| by.operands().iter().any(is_own))
        });
        chooses && flow.loops.iter().all(|of| of.header != block)
    }

    /// Whether barriers are where not all compilers follow them: under conditions, or in loops with
    /// several ends.
    pub fn has_tangled_barriers(&self, flow: &Flow<'_>) -> bool {
        let barriers: Vec<usize> = (0..flow.blocks.len()).filter(|at| self.is_barrier(flow, *at)).collect();
        (flow.irreducible && !barriers.is_empty()) || barriers.iter().any(|at| self.is_tangled(flow, *at))
    }

    fn is_tangled(&self, flow: &Flow<'_>, barrier: usize) -> bool {
        let mut around = flow.loops_around(barrier);
        let always = match around.next() {
            Some(inner) => inner.latches.iter().all(|latch| flow.dominates(barrier, *latch)),
            None => flow.postdominates(barrier, 0),
        };
        let plain = |of: &Loop| {
            flow.exiting(of).len() == 1
                && self.is_entered(flow, of, |guard| self.is_guard(flow, guard), |_| {})
        };
        !always || !flow.loops_around(barrier).all(plain)
    }

    /// Whether a block leads past a loop, and nowhere else: what compilers put before loops that
    /// are tested at their end. Nothing else may take the detour past the loop: drivers go wrong if a
    /// path out of the loop joins it (Q13).
    fn is_guard(&self, flow: &Flow<'_>, block: usize) -> bool {
        self.join(flow, block).is_some()
    }

    /// Where the ways behind a guard meet.
    fn join(&self, flow: &Flow<'_>, block: usize) -> Option<usize> {
        let successors = |at: usize| flow.blocks.get(at).map(|b| b.successors.as_slice()).unwrap_or_default();
        let past = |to: usize| match successors(to) {
            _ if flow.postdominates(to, block) => Some(to),
            [then]
                if !self.is_barrier(flow, to)
                    && flow.predecessor(to) == Some(block)
                    && flow.postdominates(*then, block) =>
            {
                Some(*then)
            }
            _ => None,
        };
        if successors(block).len() > 2 { None } else { successors(block).iter().find_map(|to| past(*to)) }
    }

    /// Whether all work-items of a group come to a loop and leave it together.
    pub fn is_run_together(&self, flow: &Flow<'_>, of: &Loop) -> bool {
        self.keeps_together(flow, of) && self.common_conditions(flow, of).is_some()
    }

    /// The conditions on the way to a loop, from the inside. `None` where work-items of a group may
    /// come to it at different times.
    pub fn common_conditions(&self, flow: &Flow<'_>, of: &Loop) -> Option<Vec<usize>> {
        let conditions = flow.conditions_above(of.header);
        let values = conditions.iter().filter_map(|at| condition(flow, *at)).collect();
        (self.is_reached_together(flow, of) && self.is_uniform(flow, values)).then_some(conditions)
    }

    /// Blocks before loops with barriers, and blocks behind them. At the end of the former and at
    /// the start of the latter, all work-items of a group are together.
    pub fn around_barrier_loops(&self, flow: &Flow<'_>) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut before, mut behind) = (BTreeSet::new(), BTreeSet::new());
        for of in flow.loops.iter().filter(|of| self.has_barrier(flow, of)) {
            let &[exit] = flow.exiting(of).as_slice() else { continue };
            let mut guards = BTreeSet::new();
            let all = self.is_entered(
                flow,
                of,
                |guard| self.is_guard(flow, guard),
                |guard| {
                    guards.insert(guard);
                },
            );
            match flow.preheader(of) {
                Some(preheader) if all && guards.is_empty() && exit == of.header => {
                    // At a barrier of the loop's own test, work-items are together already. Another
                    // barrier right before it goes wrong (Q15).
                    if !self.is_barrier(flow, exit) {
                        before.insert(preheader);
                    }
                    let successors =
                        flow.blocks.get(exit).map(|b| b.successors.as_slice()).unwrap_or_default();
                    behind.extend(successors.iter().filter(|to| !of.blocks.contains(to)));
                }
                _ if all => {
                    behind.extend(guards.iter().filter_map(|guard| self.join(flow, *guard)));
                    before.extend(guards);
                }
                _ => {}
            }
        }
        (before, behind)
    }
}

/// Whether a phi of a loop's header has one value on all ways to the loop, and one on all ways back. Otherwise it depends on the way.
fn is_counter(flow: &Flow<'_>, of: &Loop, phi: &Instruction<'_>) -> bool {
    let is_inside = |label: u32| flow.find(label).is_some_and(|at| of.blocks.contains(&at));
    let pairs = || phi.operands().chunks_exact(2);
    pairs().all(|one| {
        let is_same = |other: &[u32]| match (one, other) {
            (&[value, label], &[other, from]) => value == other || is_inside(label) != is_inside(from),
            _ => false,
        };
        pairs().all(is_same)
    })
}

/// What a block's end depends on.
pub fn condition(flow: &Flow<'_>, block: usize) -> Option<u32> {
    let terminator = flow.blocks.get(block)?.terminator?;
    match terminator.op() {
        Some(Op::BranchConditional | Op::Switch) => terminator.operand(0),
        _ => None,
    }
}

/// Whether an instruction makes a value of its operands, or of what they point to, and does nothing
/// else. Built-in functions count as such.
pub fn makes_value(op: Op) -> bool {
    is_pure(op) || is_access_chain(op) || matches!(op, Op::Load | Op::Phi | Op::ExtInst)
}

fn is_id(number: u32) -> bool {
    matches!(BuiltIn::from_u32(number), Some(BuiltIn::LocalInvocationId | BuiltIn::GlobalInvocationId))
}

fn is_of_group(number: u32) -> bool {
    use BuiltIn as B;
    matches!(
        BuiltIn::from_u32(number),
        Some(
            B::WorkDim
                | B::GlobalSize
                | B::GlobalOffset
                | B::WorkgroupId
                | B::NumWorkgroups
                | B::WorkgroupSize
                | B::EnqueuedWorkgroupSize
        )
    )
}
