//! What is written differently, and the writing.

use crate::Fault;
use std::collections::{BTreeMap, BTreeSet};

use super::divergent_exits::{Edges, parts, splits_choice};
use super::idle_iterations;
use super::{ImplicitBarriers, interpreters, single_kernels, tangled_functions};
use crate::passes::Result;
use crate::passes::Target;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::pocl::barrier;
use oclave_spirv::analysis::calls::with_callers;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{BuiltIn, Cursor, Definitions, Editor, Instruction, Module, Op, is_block_end};

/// Semantics of `barrier(CLK_LOCAL_MEM_FENCE)`.
const LOCAL_FENCE: u64 = 0x110;
/// Semantics of `barrier(CLK_GLOBAL_MEM_FENCE)`.
const GLOBAL_FENCE: u64 = 0x210;

/// Innermost loops without barriers and with one end, into which the device's compiler may put one,
/// and the blocks that end them.
pub(crate) fn innermost_loops<'f>(
    uniformity: &Uniformity<'_, '_>,
    flow: &'f Flow<'_>,
) -> Vec<(&'f Loop, usize)> {
    let is_meant = |(number, of): (usize, &'f Loop)| {
        // Inner loops come first.
        let has_inner = flow.loops.iter().take(number).any(|inner| of.blocks.contains(&inner.header));
        let &[exit] = flow.exiting(of).as_slice() else { return None };
        (!has_inner && !uniformity.has_barrier(flow, of)).then_some((of, exit))
    };
    flow.loops.iter().enumerate().filter_map(is_meant).collect()
}

/// Those of these loops to which work-items may come one by one. A loop whose counter begins with the id of the
/// work-item is none of them. The device's compiler sees that work-items leave it at different times, and puts no barrier there.
fn lone_loops<'f>(uniformity: &Uniformity<'_, '_>, flow: &'f Flow<'_>) -> Vec<(&'f Loop, usize)> {
    let mut loops = innermost_loops(uniformity, flow);
    loops.retain(|(of, exit)| {
        !uniformity.is_reached_together(flow, of) && !uniformity.counts_from_id(flow, of, *exit)
    });
    loops
}

/// What is written differently.
#[derive(Default)]
pub(super) struct Changes {
    /// Label of a block whose branch gets an end that never comes → whether the branch stays in the
    /// loop when its condition is true.
    ends: BTreeMap<u32, bool>,
    /// Entry blocks of kernels that get a loop with two ends, by label.
    entries: BTreeSet<u32>,
    /// Labels of blocks with a barrier at their end.
    before: BTreeSet<u32>,
    /// Labels of blocks with a barrier at their start.
    behind: BTreeSet<u32>,
    /// As `behind`, with a barrier that LLVM does not take for the same.
    other_branches: BTreeSet<u32>,
}

impl Changes {
    pub(super) fn new(
        definitions: &Definitions<'_>,
        uniformity: &Uniformity<'_, '_>,
        flows: &[Flow<'_>],
        choosing: &BTreeSet<u32>,
        target: &Target,
    ) -> Self {
        let implicit_barriers = ImplicitBarriers::of(target.faults);
        let mut changes = Self::default();
        let single = single_kernels(definitions.module());
        // Groups of 1 × n are not run from lists.
        let interpreters = interpreters(definitions.module());
        if target.faults.has(Fault::Q14) {
            let tangled = tangled_functions(uniformity, flows);
            let lone = with_callers(flows, |flow| {
                implicit_barriers == ImplicitBarriers::Everywhere && !lone_loops(uniformity, flow).is_empty()
            });
            let is_wrong_kernel = |flow: &&Flow<'_>| {
                let id = flow.function;
                let is_wrong = tangled.contains(&id) || (lone.contains(&id) && !single.contains(&id));
                uniformity.kernels().contains(&id) && is_wrong && !choosing.contains(&id)
            };
            changes.entries = flows
                .iter()
                .filter(is_wrong_kernel)
                .filter_map(|flow| flow.blocks.first().map(|block| block.label))
                .collect();
            let choose = flows.iter().filter(|flow| choosing.contains(&flow.function));
            choose
                .filter(|flow| !single.contains(&flow.function))
                .for_each(|flow| changes.add_ends(uniformity, flow));
            if implicit_barriers == ImplicitBarriers::Everywhere {
                let is_left = |flow: &&Flow<'_>| {
                    let first = flow.blocks.first();
                    uniformity.kernels().contains(&flow.function)
                        && !interpreters.contains(&flow.function)
                        && first.is_some_and(|block| !changes.entries.contains(&block.label))
                };
                let left: Vec<&Flow<'_>> = flows.iter().filter(is_left).collect();
                left.into_iter().for_each(|flow| changes.isolate(uniformity, flow, 1));
            }
            return changes;
        }
        for flow in flows {
            let adds = match implicit_barriers {
                ImplicitBarriers::None => false,
                ImplicitBarriers::BesideOthers => uniformity.has_barriers(flow.function),
                ImplicitBarriers::Everywhere => true,
            };
            if target.faults.has(Fault::Q15) && uniformity.kernels().contains(&flow.function) {
                changes.add_barriers(uniformity, flow);
            }
            // 6.0 does not find what stands for the work-item in functions that it does not inline.
            let is_kernel = uniformity.kernels().contains(&flow.function);
            if adds && is_kernel && !single.contains(&flow.function) {
                changes.add_all_ends(definitions, uniformity, flow);
                if !interpreters.contains(&flow.function) {
                    changes.isolate(uniformity, flow, 0);
                }
            }
        }
        changes
    }

    fn add_ends(&mut self, uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) {
        lone_loops(uniformity, flow).into_iter().for_each(|(of, exit)| self.add_end(flow, of, exit));
    }

    /// As `add_ends`, for all loops without barriers to which work-items may come one by one. LLVM may
    /// take the loops out of them, or all ends but one, before the device's compiler looks at them. It
    /// may also make a loop of idle rounds.
    fn add_all_ends(
        &mut self,
        definitions: &Definitions<'_>,
        uniformity: &Uniformity<'_, '_>,
        flow: &Flow<'_>,
    ) {
        for of in &flow.loops {
            if uniformity.has_barrier(flow, of) || uniformity.is_reached_together(flow, of) {
                continue;
            }
            flow.exiting(of).into_iter().for_each(|exit| self.add_end(flow, of, exit));
        }
        for (label, stays) in idle_iterations::ends(definitions, uniformity, flow) {
            self.ends.entry(label).or_insert(stays);
        }
    }

    fn add_end(&mut self, flow: &Flow<'_>, of: &Loop, exit: usize) {
        let Some(block) = flow.blocks.get(exit) else { return };
        if block.terminator.is_some_and(|t| t.is(Op::BranchConditional)) {
            let stays = block.successors.first().is_some_and(|to| of.blocks.contains(to));
            self.ends.entry(block.label).or_insert(stays);
        }
    }

    /// Puts a barrier before each condition on the path to a barrier, or to a loop into which the
    /// device's compiler puts one. Before the `innermost` conditions the compiler does so itself.
    ///
    /// PoCL 7.1 also gets barriers at the join of the branches, and at the start of both. One branch leads to the
    /// barrier or the loop. Without a barrier at its start, the first work-item computes its values with an id that
    /// the group lacks. With that barrier alone, PoCL may find no end of the other branch, and aborts. The two
    /// barriers differ, because LLVM would move equal ones before the condition. The cases of a switch get none: see Q48.
    fn isolate(&mut self, uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>, innermost: usize) {
        let mut add = |conditions: Vec<usize>| {
            let is_nested = |at: &usize| flow.ends_loop(*at) || flow.is_nested(*at);
            let are_nested = conditions.iter().all(is_nested);
            if are_nested {
                let outer = || conditions.iter().copied().skip(innermost).filter(|at| !flow.ends_loop(*at));
                if innermost > 0 {
                    let joins = outer().filter_map(|at| flow.join(at));
                    // The condition inside another one, and that one.
                    let pairs = conditions.iter().copied().zip(conditions.iter().copied().skip(1));
                    let pairs = pairs.filter(|(_, at)| !flow.ends_loop(*at));
                    let branches = pairs.filter_map(|(inner, at)| Some((at, flow.branch_to(at, inner)?)));
                    let (at, branches): (Vec<usize>, Vec<usize>) = branches.unzip();
                    let others = at.into_iter().flat_map(|at| flow.branches(at));
                    self.other_branches.extend(labels(flow, others.collect()));
                    self.behind.extend(labels(flow, joins.chain(branches).collect()));
                }
                self.before.extend(labels(flow, outer().collect()));
            }
            are_nested
        };
        for at in (0..flow.blocks.len()).filter(|at| uniformity.is_barrier(flow, *at)) {
            add(flow.conditions_above(at));
        }
        let mut without = Vec::new();
        for (of, exit) in innermost_loops(uniformity, flow) {
            let Some(conditions) = uniformity.common_conditions(flow, of) else { continue };
            let above = conditions.iter().copied().filter(|at| !flow.ends_loop(*at));
            let mut behind = above.map(|at| (at, false)).chain([(exit, false)]);
            let is_wrong = if innermost == 0 {
                // 6.0 gets no barriers where ways meet, so all edges count.
                behind.any(|barrier| parts(uniformity, flow, Edges::AllWithCopies, barrier))
            } else {
                let outer = conditions.iter().skip(innermost).copied().filter(|at| !flow.ends_loop(*at));
                let joins: BTreeSet<usize> = outer.clone().filter_map(|at| flow.join(at)).collect();
                let mut barriers = behind.chain(joins.iter().map(|join| (*join, true)));
                splits_choice(flow, &conditions)
                    || barriers.any(|barrier| parts(uniformity, flow, Edges::Joined(&joins), barrier))
                    || outer.clone().any(|at| parts(uniformity, flow, Edges::All, (at, false)))
            };
            if is_wrong || !add(conditions) {
                without.push((of, exit));
            }
        }
        without.into_iter().for_each(|(of, exit)| self.add_end(flow, of, exit));
    }

    fn add_barriers(&mut self, uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) {
        let (before, behind) = uniformity.around_barrier_loops(flow);
        self.before.extend(labels(flow, before));
        self.behind.extend(labels(flow, behind));
    }

    /// Barriers at the end of these blocks, by label.
    pub(super) fn with_barriers_before_ends(blocks: BTreeSet<u32>) -> Self {
        Self { before: blocks, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.entries.is_empty() && self.before.is_empty()
    }

    /// The changed module; `None` where it stays as it is.
    ///
    /// # Errors
    /// As [`Editor::finish`].
    pub(super) fn apply(&self, definitions: &Definitions<'_>, target: &Target) -> Result<Option<Module>> {
        let mut edit = Editor::new(definitions);
        if !self.entries.is_empty() {
            let groups = BuiltInVector::add(&mut edit, BuiltIn::NumWorkgroups, target.address_bits);
            for label in &self.entries {
                let rest = add_loop(&mut edit.at_start(*label), &groups);
                edit.move_end(*label, rest);
            }
        }
        // A block that does nothing gets one barrier.
        let has_code = |label: &&u32| definitions.block(**label).any(|i| !is_start_or_end(&i));
        let behind = self.behind.iter().filter(|label| !self.before.contains(label) || has_code(label));
        behind.for_each(|label| barrier(&mut edit.at_start(*label), LOCAL_FENCE));
        let others = self.other_branches.difference(&self.behind);
        others.for_each(|label| barrier(&mut edit.at_start(*label), GLOBAL_FENCE));
        self.before.iter().for_each(|label| barrier(&mut edit.at_end(*label), LOCAL_FENCE));
        if !self.ends.is_empty() {
            let local = BuiltInVector::add(&mut edit, BuiltIn::LocalInvocationId, target.address_bits);
            let leaves = target.faults.has(Fault::Q53);
            for (label, stays) in &self.ends {
                let mut code = definitions.block(*label);
                if let Some(branch) = code.find(|i| i.is(Op::BranchConditional)) {
                    add_end(&mut edit, &local, &branch, *stays, leaves);
                }
            }
        }
        Ok(edit.finish()?)
    }
}

/// The labels of these blocks.
fn labels(flow: &Flow<'_>, blocks: BTreeSet<usize>) -> impl Iterator<Item = u32> {
    blocks.into_iter().filter_map(|at| flow.blocks.get(at)).map(|block| block.label)
}

/// Whether an instruction belongs to the start or the end of a block.
fn is_start_or_end(instruction: &Instruction<'_>) -> bool {
    let is_it = |op| is_block_end(op) || matches!(op, Op::Phi | Op::Variable | Op::Line | Op::NoLine);
    instruction.op().is_some_and(is_it)
}

/// Lets the condition of a branch also ask whether the work-item is one that no group has. That
/// work-item would stay in the loop for ever, or `leaves` it after one iteration.
fn add_end(
    edit: &mut Editor<'_>,
    local: &BuiltInVector,
    branch: &Instruction<'_>,
    stays: bool,
    leaves: bool,
) {
    let &[condition, ref rest @ ..] = branch.operands() else { return };
    let mut at = edit.instead_of(branch);
    let truth = at.bool_type();
    let last = at.int_constant(local.width, u64::MAX >> (64 - local.width.clamp(1, 64)));
    let id = local.read(&mut at, 0);
    let (compare, join) = match stays != leaves {
        true => (Op::IEqual, Op::LogicalOr),
        false => (Op::INotEqual, Op::LogicalAnd),
    };
    let other = at.emit(compare, truth, &[id, last]);
    let both = at.emit(join, truth, &[condition, other]);
    at.push(Op::BranchConditional, &[&[both], rest].concat());
}

/// A loop with two barriers and two exits, the first of which is taken: there is a group. Gives the
/// label of what follows.
fn add_loop(at: &mut Cursor<'_, '_>, groups: &BuiltInVector) -> u32 {
    let [head, latch, rest] = [at.fresh_id(), at.fresh_id(), at.fresh_id()];
    let truth = at.bool_type();
    let none = at.int_constant(groups.width, 0);
    at.push(Op::Branch, &[head]);
    for (label, axis, next) in [(head, 0, latch), (latch, 1, head)] {
        at.push(Op::Label, &[label]);
        barrier(at, LOCAL_FENCE);
        let count = groups.read(at, axis);
        let leaves = at.emit(Op::INotEqual, truth, &[count, none]);
        at.push(Op::BranchConditional, &[leaves, rest, next]);
    }
    at.push(Op::Label, &[rest]);
    rest
}
