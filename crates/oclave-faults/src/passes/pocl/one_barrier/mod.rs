//! Kernels whose barriers are one.
//!
//! A kernel becomes a loop around a `switch`. Each round runs the code between two barriers, notes
//! where to go on, and ends at the one barrier that is left. That barrier is under no condition, in
//! a loop with one end. That is the form of barriers that every compiler knows. Values that are
//! needed behind a barrier live in private variables.
//!
//! ```text
//! entry: state = 0
//! head:  switch (state) { 0: what the kernel begins with; 1: what follows its first barrier; … }
//! latch: barrier; if (state != END) goto head
//! ```
//!
//! A loop that may come round without a barrier goes by `latch` as well. Else `head` would lead
//! into the middle of it, and PoCL 6.0 does not end on loops with several entries.

mod writer;

use std::collections::{BTreeMap, BTreeSet};

use crate::passes::Result;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::pieces::Pieces;
use crate::passes::pocl::barrier;
use crate::passes::pocl::barriers::is_tangled;
use crate::table::{POCL_CPU_6, fault};
use oclave_spirv::analysis::control_flow::{Flow, Tree};
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{
    BuiltIn, Definitions, Editor, Instruction, Module, Op, SCOPE_WORKGROUP, is_group_function,
};
use writer::Writer;

fault! {
    /// **Q15. PoCL 6.0 on CPUs.** It takes continuations only where `POCL_WORK_GROUP_METHOD=cbs` is
    /// set. Barriers under conditions, and in loops with several ends, abort the process in one of
    /// a hundred random kernels (`WorkitemLoops.cc:1274`). About as many compute wrong results.
    /// Such kernels get one barrier in one loop (`one_barrier`, decision 91).
    /// Reports of the same kind: pocl#1167 (open), pocl#1747, pocl#1794, pocl#1958.
    Q15 {
        affects: [POCL_CPU_6],
        seen: Programs,
        symptom: "Barriers under conditions, and in loops with several exits, abort the process or are wrong.",
        remedy: "One barrier in one loop (`one_barrier`).",
        upstream: ["pocl#1167", "pocl#1747", "pocl#1794", "pocl#1958", "pocl-inner-loops.md"],
    }
}

/// Semantics of `barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)`.
const BOTH_FENCES: u64 = 0x310;
/// The state of a work-item that has returned.
const END: u64 = 0xffff_ffff;

/// Those of some functions that have barriers that not all compilers follow, and that can be written with
/// one barrier.
pub(crate) fn candidates<'f, 'm>(
    definitions: &'f Definitions<'m>,
    uniformity: &Uniformity<'_, '_>,
    flows: &'f [Flow<'m>],
    functions: &BTreeSet<u32>,
) -> Plans<'f, 'm> {
    let is_meant = |flow: &&Flow<'_>| functions.contains(&flow.function) && is_tangled(uniformity, flow);
    let plans = flows.iter().filter(is_meant);
    plans.filter_map(|flow| Some((flow.function, Plan::new(definitions, uniformity, flow)?))).collect()
}

/// The module with barriers around functions of the work-group in these functions; `None` where they have none.
///
/// PoCL's functions of the work-group have barriers. In a kernel with one barrier, they are in the case of a state, and so under a condition.
/// Behind them, all work-items would take the branch of the first one. With these barriers, each function has a case of its own.
pub(crate) fn part_group_functions(
    definitions: &Definitions<'_>,
    plans: &Plans<'_, '_>,
) -> Result<Option<Module>> {
    let mut edit = Editor::new(definitions);
    for function in plans.keys() {
        for call in definitions.body(*function).filter(|i| waits_for_group(definitions, i)) {
            barrier(&mut edit.before(&call), BOTH_FENCES);
            barrier(&mut edit.after(&call), BOTH_FENCES);
        }
    }
    Ok(edit.finish()?)
}

/// Whether an instruction is a function of the work-group.
fn waits_for_group(definitions: &Definitions<'_>, instruction: &Instruction<'_>) -> bool {
    let scope = || instruction.operand(0).and_then(|scope| definitions.int_constant(scope));
    instruction.op().is_some_and(is_group_function) && scope() == Some(SCOPE_WORKGROUP)
}

/// Functions, and how they are divided.
pub(crate) type Plans<'f, 'm> = BTreeMap<u32, Plan<'f, 'm>>;

/// The module with these functions rewritten; `None` where there are none.
pub(crate) fn gather(
    definitions: &Definitions<'_>,
    plans: &Plans<'_, '_>,
    address_bits: u32,
) -> Result<Option<Module>> {
    let mut edit = Editor::new(definitions);
    let needs_size = plans.values().any(|plan| plan.ways_to_latch() == 2);
    let size = needs_size.then(|| BuiltInVector::add(&mut edit, BuiltIn::WorkgroupSize, address_bits));
    plans.values().for_each(|plan| Writer::write(&mut edit, plan, size.as_ref()));
    Ok(edit.finish()?)
}

/// What is between two barriers of a block, or between a barrier and an end of it.
struct Part {
    /// The label that it has in the old function, if it is the first of its block.
    label: Option<u32>,
    ends_at_barrier: bool,
}

/// How a function is divided.
pub(crate) struct Plan<'f, 'm> {
    definitions: &'f Definitions<'m>,
    flow: &'f Flow<'m>,
    parts: Vec<Part>,
    pieces: Pieces<'f, 'm>,
    /// Ends of blocks that lead back to a loop's header by way of the barrier: last part → the header.
    back: BTreeMap<usize, usize>,
}

impl<'f, 'm> Plan<'f, 'm> {
    /// `None` where a function called has barriers of its own, or a value cannot be kept in a
    /// variable.
    fn new(
        definitions: &'f Definitions<'m>,
        uniformity: &Uniformity<'_, '_>,
        flow: &'f Flow<'m>,
    ) -> Option<Self> {
        let calls_barrier =
            flow.blocks.iter().flat_map(|b| &b.calls).any(|callee| uniformity.has_barriers(*callee));
        if calls_barrier {
            return None;
        }
        if flow.irreducible {
            return None;
        }
        let (parts, last, code) = divide(definitions, flow)?;
        let firsts: BTreeMap<u32, usize> =
            parts.iter().enumerate().filter_map(|(at, part)| Some((part.label?, at))).collect();
        let back = back_edges(flow, &firsts, &last);
        let dominators = dominators(flow, &parts, (&firsts, &last), &back);
        let headers = back.values().copied().collect();
        let pieces = Pieces::new(definitions, flow, code, last, headers, dominators)?;
        Some(Self { definitions, flow, parts, pieces, back })
    }

    /// How many blocks lead to the barrier.
    fn ways_to_latch(&self) -> usize {
        let ends = self.parts.iter().filter(|part| part.ends_at_barrier).count();
        let returns =
            self.flow.blocks.iter().filter(|block| block.terminator.is_some_and(|end| end.is(Op::Return)));
        ends + returns.count() + self.back.len()
    }

    /// Whether the loop leads to a part: after a barrier, or to a header that ends of blocks lead to by way of the barrier.
    fn is_resumed(&self, part: usize) -> bool {
        self.parts.get(part).is_some_and(|of| of.label.is_none()) || self.pieces.entered.contains(&part)
    }
}

/// The parts, the last one of each block, and the instructions behind labels, each with its part.
type Divided<'m> = (Vec<Part>, BTreeMap<u32, usize>, Vec<(usize, Instruction<'m>)>);

fn divide<'m>(definitions: &Definitions<'m>, flow: &Flow<'m>) -> Option<Divided<'m>> {
    let (mut parts, mut last, mut code) = (Vec::<Part>::new(), BTreeMap::new(), Vec::new());
    for block in &flow.blocks {
        parts.push(Part { label: Some(block.label), ends_at_barrier: false });
        for instruction in definitions.block(block.label) {
            match instruction.op() {
                Some(Op::ControlBarrier) => {
                    if definitions.int_constant(instruction.operand(0)?) != Some(SCOPE_WORKGROUP) {
                        return None;
                    }
                    parts.last_mut()?.ends_at_barrier = true;
                    parts.push(Part { label: None, ends_at_barrier: false });
                }
                Some(Op::ReturnValue) => return None,
                _ => {}
            }
            code.push((parts.len() - 1, instruction));
        }
        last.insert(block.label, parts.len() - 1);
    }
    Some((parts, last, code))
}

/// The edges that close loops which may come round without a barrier.
fn back_edges(
    flow: &Flow<'_>,
    firsts: &BTreeMap<u32, usize>,
    last: &BTreeMap<u32, usize>,
) -> BTreeMap<usize, usize> {
    let label = |at: usize| flow.blocks.get(at).map(|block| block.label);
    let is_barrier = |at: &usize| flow.blocks.get(*at).is_some_and(|block| block.barrier);
    let mut edges = BTreeMap::new();
    for of in &flow.loops {
        let barriers: Vec<usize> = of.blocks.iter().copied().filter(is_barrier).collect();
        let always = |latch: &usize| barriers.iter().any(|at| flow.dominates(*at, *latch));
        if !barriers.is_empty() && !of.latches.iter().all(always) {
            let ends = of.latches.iter().filter_map(|latch| last.get(&label(*latch)?));
            edges.extend(ends.filter_map(|end| Some((*end, *firsts.get(&label(of.header)?)?))));
        }
    }
    edges
}

/// Which parts of the new function dominate which.
fn dominators(
    flow: &Flow<'_>,
    parts: &[Part],
    (firsts, last): (&BTreeMap<u32, usize>, &BTreeMap<u32, usize>),
    back: &BTreeMap<usize, usize>,
) -> Tree {
    let (head, latch) = (parts.len(), parts.len() + 1);
    let mut successors: Vec<Vec<usize>> =
        parts.iter().map(|part| if part.ends_at_barrier { vec![latch] } else { Vec::new() }).collect();
    for block in &flow.blocks {
        let Some(at) = last.get(&block.label) else { continue };
        let Some(list) = successors.get_mut(*at) else { continue };
        let next = block.successors.iter().filter_map(|to| firsts.get(&flow.blocks.get(*to)?.label));
        list.extend(next.filter(|to| back.get(at) != Some(to)));
        if list.is_empty() || back.contains_key(at) {
            list.push(latch);
        }
    }
    let is_resumed =
        |(at, part): &(usize, &Part)| part.label.is_none() || back.values().any(|header| header == at);
    let resumed = parts.iter().enumerate().skip(1).filter(is_resumed);
    successors.push(std::iter::once(0).chain(resumed.map(|(at, _)| at)).collect());
    successors.push(vec![head]);
    Tree::new(&successors, head)
}
