//! Ends for loops without one.
//!
//! `do for (int i = 0; i < b; i++) v++; while (v < 17);` is endless if `b` is not above 0. Clang makes one
//! block of the inner loop. The block leads to itself or on, by a condition that does not change. LLVM
//! 18 takes the condition out of the loop, and leaves an endless loop. That is the same for all
//! work-items, so PoCL 6.0 puts a barrier into it. Work-items that part behind the loop then all
//! take the way of the first one.
//!
//! LLVM takes loops that write nothing for finite. So such a block leads on always.
//!
//! Where clang knows that the condition holds, nothing leads out of the loop. PoCL puts a barrier into
//! that as well. Work-items that do not come to the loop are wrong then, in groups of two or three.
//! Such a loop counts its rounds, and the function returns when the counter is zero again. A condition
//! that does not change is not enough, as LLVM takes it out of the loop.

use std::collections::{BTreeMap, BTreeSet};

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::{Definitions, Editor, Instruction, Module, Op, Type, TypeTable};

fault! {
    /// **Q53. PoCL 6.0 (LLVM 18) on CPUs.** The work-around for Q13 makes the end of a loop depend on
    /// the work-item. The condition that it added kept a work-item that no group has in the loop for
    /// ever. LLVM takes loops for finite, and drops such a condition where the loop writes nothing.
    /// PoCL then puts its barrier into the loop after all. So the condition leaves the loop instead
    /// (decision 124). `two_inner_loops` of `kernels/tests/optimised.cl` was wrong. The old condition
    /// also made kernels wrong that PoCL gets right without it (664/k1 of the random kernels). A loop that
    /// does nothing, and may be endless, leads on always (`endless_loops`; 1352/k52). One that nothing
    /// leads out of ends when a counter of its rounds is zero again (1834/k73, 2014/k74).
    ///
    /// **Also PoCL 7.1 (LLVM 21).** Behind `if (n + in[0] < 0) for (;;);`, a check that all work-items pass, they all take
    /// the same way of a later `if (get_local_id(0) == 0) … else …;`, also from source. Right with a `return` instead
    /// of the loop.
    Q53 {
        affects: [POCL_CPU],
        seen: Programs,
        symptom: "Conditions that keep a loop from ending vanish. After a check with an endless loop, work-items take one branch.",
        remedy: "The condition leaves the loop instead (`barriers`, `endless_loops`).",
        upstream: ["pocl-endless-loops.md"],
    }
}

/// Runs before [`barriers`](super::barriers), which needs loops that end.
pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q53, "endless_loops", |on| leave(on.analyses, on.target.address_bits));

/// The module in which such loops have ends; `None` where it has none of them.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn leave(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let flows = analyses.flows();
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    for flow in flows {
        let mut endless = endless(definitions, flow);
        endless.keys().for_each(|label| remove_merge(&mut edit, *label));
        let returns = definitions.type_of(flow.function).filter(|ty| types.ty(*ty) != Some(Type::Void));
        for of in flow.loops.iter().filter(|of| flow.exiting(of).is_empty()) {
            if let Some(counted) = Counted::new(definitions, flow, of) {
                let leads_on = endless.remove(&counted.latch).is_some();
                counted.write(&mut edit, leads_on, address_bits, returns);
            }
        }
        for (branch, onward) in endless.values() {
            edit.replace(branch, Op::Branch, &[*onward]);
        }
    }
    Ok(edit.finish()?)
}

/// Removes the hint that a block is the header of a loop.
fn remove_merge(edit: &mut Editor<'_>, label: u32) {
    let mut block = edit.definitions().block(label);
    if let Some(merge) = block.find(|i| i.is(Op::LoopMerge)) {
        edit.remove(&merge);
    }
}

/// A loop that nothing leads out of. Its iterations by one of its latches are counted.
struct Counted<'m> {
    header: u32,
    start: Instruction<'m>,
    /// The blocks before the header, without the latch.
    before: BTreeSet<u32>,
    latch: u32,
    end: Instruction<'m>,
}

impl<'m> Counted<'m> {
    fn new(definitions: &Definitions<'m>, flow: &Flow<'m>, of: &Loop) -> Option<Self> {
        let (header, latch) = (flow.blocks.get(of.header)?, flow.blocks.get(*of.latches.first()?)?);
        let label = |at: &usize| flow.blocks.get(*at).map(|block| block.label);
        let before = header.predecessors.iter().filter_map(label).filter(|label| *label != latch.label);
        Some(Self {
            header: header.label,
            start: definitions.instruction(header.label)?,
            before: before.collect(),
            latch: latch.label,
            end: latch.terminator?,
        })
    }

    /// Writes the counter, a block between the latch and the header, and one that returns. A latch that is an inner loop leads on always.
    fn write(&self, edit: &mut Editor<'_>, leads_on: bool, width: u32, returns: Option<u32>) {
        let (ty, truth) = (edit.int_type(width), edit.bool_type());
        let [zero, one] = [0, 1].map(|number| edit.int_constant(width, number));
        let [split, value, next, out] = std::array::from_fn(|_| edit.fresh_id());
        let before = self.before.iter().flat_map(|label| [zero, *label]);
        let operands: Vec<u32> = [ty, value].into_iter().chain(before).chain([next, split]).collect();
        edit.after(&self.start).push(Op::Phi, &operands);
        for phi in edit.definitions().block(self.header).filter(|i| i.is(Op::Phi)) {
            edit.instead_of(&phi).copy_mapped(&phi, |id| if id == self.latch { split } else { id });
        }
        remove_merge(edit, self.header);

        let mut at = edit.instead_of(&self.end);
        if leads_on {
            at.push(Op::Branch, &[split]);
        } else {
            at.copy_mapped(&self.end, |id| if id == self.header { split } else { id });
        }
        at.push(Op::Label, &[split]);
        at.push(Op::IAdd, &[ty, next, value, one]);
        let is_over = at.emit(Op::IEqual, truth, &[next, zero]);
        at.push(Op::BranchConditional, &[is_over, out, self.header]);
        at.push(Op::Label, &[out]);
        match returns {
            Some(ty) => {
                let value = at.emit(Op::Undef, ty, &[]);
                at.push(Op::ReturnValue, &[value]);
            }
            None => at.push(Op::Return, &[]),
        }
    }
}

/// The labels of blocks of a function that are such loops. With each, its branch, and where it leads.
fn endless<'m>(definitions: &Definitions<'_>, flow: &Flow<'m>) -> BTreeMap<u32, (Instruction<'m>, u32)> {
    let is_free = |i: Instruction<'_>| {
        matches!(i.op(), Some(Op::BranchConditional | Op::LoopMerge | Op::Line | Op::NoLine))
    };
    let alone = flow.loops.iter().filter(|of| of.blocks.len() == 1);
    alone
        .filter_map(|of| {
            let block = flow.blocks.get(of.header)?;
            // Nothing in it, so the condition comes from elsewhere.
            if !definitions.block(block.label).all(is_free) {
                return None;
            }
            let onward = block.successors.iter().find(|to| **to != of.header)?;
            Some((block.label, (block.terminator?, flow.blocks.get(*onward)?.label)))
        })
        .collect()
}
