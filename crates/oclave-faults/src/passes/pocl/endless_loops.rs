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

use std::collections::HashMap;

use crate::Fault;
use crate::passes::opaque_values::emit;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU, fault};
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::{
    Capability, Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable, is_terminator,
};

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
    pass(Fault::Q53, "endless_loops", |on| leave(on.module, on.target.address_bits));

/// The module in which such loops have ends; `None` where it has none of them.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn leave(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let flows = Flow::of_functions(module);
    let found: HashMap<u32, u32> = flows.iter().flat_map(|flow| endless(&definitions, flow)).collect();
    let mut new = Rewriter::new(&definitions);
    let counters: Vec<Counter> = flows
        .iter()
        .flat_map(|flow| without_ends(flow).map(move |of| (flow, of)))
        .filter_map(|(flow, of)| Counter::new(&mut new, flow, of))
        .collect();
    if found.is_empty() && counters.is_empty() {
        return Ok(None);
    }
    let types = TypeTable::new(&definitions);
    let of_header: HashMap<u32, &Counter> =
        counters.iter().map(|counter| (counter.header, counter)).collect();
    let of_latch: HashMap<u32, &Counter> = counters.iter().map(|counter| (counter.latch, counter)).collect();
    let (mut returns, mut label) = (0, 0);
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => returns = instruction.result_type().unwrap_or(0),
            Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
            _ => {}
        }
        let (onward, header, latch) = (found.get(&label), of_header.get(&label), of_latch.get(&label));
        match (instruction.op(), onward, header, latch) {
            (Some(Op::Label), _, Some(counter), _) => {
                new.copy(&instruction);
                counter.count(&mut new, address_bits);
            }
            (Some(Op::Phi), _, Some(counter), _) => {
                new.copy_mapped(&instruction, |id| if id == counter.latch { counter.split } else { id });
            }
            (Some(Op::LoopMerge), Some(_), ..) | (Some(Op::LoopMerge), _, Some(_), _) => {}
            (Some(Op::BranchConditional), Some(to), ..) => new.push(Op::Branch, &[*to]),
            (Some(op), _, _, Some(counter)) if is_terminator(op) => {
                new.copy_mapped(&instruction, |id| if id == counter.header { counter.split } else { id });
                let is_void = types.ty(returns) == Some(Type::Void);
                counter.leave(&mut new, address_bits, (!is_void).then_some(returns));
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(Some(new.finish()?))
}

/// The loops of a function that nothing leads out of.
fn without_ends<'f>(flow: &'f Flow<'_>) -> impl Iterator<Item = &'f Loop> {
    flow.loops.iter().filter(|of| flow.exiting(of).is_empty())
}

/// The counter of a loop.
struct Counter {
    header: u32,
    /// The blocks before the header, without `latch`.
    before: Vec<u32>,
    /// A block that leads back to the header.
    latch: u32,
    /// A new block between that and the header.
    split: u32,
    value: u32,
    next: u32,
}

impl Counter {
    fn new(new: &mut Rewriter<'_>, flow: &Flow<'_>, of: &Loop) -> Option<Self> {
        let label = |at: usize| flow.blocks.get(at).map(|block| block.label);
        let latch = label(*of.latches.first()?)?;
        let mut before: Vec<u32> =
            flow.blocks.get(of.header)?.predecessors.iter().filter_map(|at| label(*at)).collect();
        before.sort_unstable();
        before.dedup();
        before.retain(|label| *label != latch);
        let [split, value, next] = [new.fresh_id(), new.fresh_id(), new.fresh_id()];
        Some(Self { header: label(of.header)?, before, latch, split, value, next })
    }

    /// Writes the counter, with which the header begins. Only rounds by way of `latch` count.
    fn count(&self, new: &mut Rewriter<'_>, width: u32) {
        let (ty, zero) = (new.int_type(width), new.int_constant(width, 0));
        let mut operands = vec![ty, self.value];
        operands.extend(self.before.iter().flat_map(|label| [zero, *label]));
        operands.extend([self.next, self.split]);
        new.push(Op::Phi, &operands);
    }

    /// Writes the block behind the latch, and one that returns.
    fn leave(&self, new: &mut Rewriter<'_>, width: u32, returns: Option<u32>) {
        if width == 64 {
            new.capability(Capability::Int64);
        }
        let (ty, truth, out) = (new.int_type(width), new.bool_type(), new.fresh_id());
        let [zero, one] = [0, 1].map(|number| new.int_constant(width, number));
        new.push(Op::Label, &[self.split]);
        new.push(Op::IAdd, &[ty, self.next, self.value, one]);
        let is_over = emit(new, Op::IEqual, truth, &[self.next, zero]);
        new.push(Op::BranchConditional, &[is_over, out, self.header]);
        new.push(Op::Label, &[out]);
        match returns {
            Some(ty) => {
                let value = emit(new, Op::Undef, ty, &[]);
                new.push(Op::ReturnValue, &[value]);
            }
            None => new.push(Op::Return, &[]),
        }
    }
}

/// The blocks of a function that are such loops, and where they lead.
fn endless(definitions: &Definitions<'_>, flow: &Flow<'_>) -> HashMap<u32, u32> {
    let mut code: HashMap<u32, Vec<Instruction<'_>>> = HashMap::new();
    let mut label = 0;
    for instruction in definitions.body(flow.function) {
        match instruction.result_id().filter(|_| instruction.is(Op::Label)) {
            Some(id) => label = id,
            None => code.entry(label).or_default().push(instruction),
        }
    }
    let is_free = |i: &Instruction<'_>| {
        matches!(i.op(), Some(Op::BranchConditional | Op::LoopMerge | Op::Line | Op::NoLine))
    };
    flow.loops
        .iter()
        .filter(|of| of.blocks.len() == 1)
        .filter_map(|of| {
            let block = flow.blocks.get(of.header)?;
            // Nothing in it, so the condition comes from elsewhere.
            if !code.get(&block.label)?.iter().all(is_free) {
                return None;
            }
            let onward = block.successors.iter().find(|to| **to != of.header)?;
            Some((block.label, flow.blocks.get(*onward)?.label))
        })
        .collect()
}
