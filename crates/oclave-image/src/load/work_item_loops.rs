//! Forms of kernels that PoCL's compiler makes right loops over work-items of.
//!
//! PoCL runs the work-items of a group one after the other, from barrier to barrier, each part in a
//! loop of its own. Two of its passes go wrong (seen in 6.0 and 7.1, and read in their sources):
//!
//! - To vectorise, `ImplicitLoopBarriers` puts barriers into innermost loops whose bound is the
//!   same for a group. It does so also where work-items come to the loop at different times: in a
//!   loop around it that they leave one by one, or behind `uniform || divergent`. 6.0 does so in
//!   kernels that have barriers anyway, 7.1 in all.
//! - Barriers under conditions, and in loops with several ends, make both compute wrongly or abort
//!   ("Could not find a dominating alternative variable").
//!
//! 7.1 has another way to compile, by continuations, which is right for all of these. It takes that
//! way where an outermost loop with a barrier has several ends. So kernels that would go wrong get
//! such a loop, which is left at once.
//!
//! 6.0 has one more fault. In groups of 1 × n, the first work-item runs twice what is before and
//! behind a loop with barriers. PoCL tries the loop's condition with that work-item alone. So such
//! loops get a barrier before them and one behind.
//!
//! 6.0 takes the other way only if the environment says `POCL_WORK_GROUP_METHOD=cbs`. There kernels
//! with such barriers are written with one barrier (`one_barrier.rs`). The end of a loop into which
//! PoCL would put a barrier is made to depend on the work-item. This changes no result, and PoCL
//! then leaves the loop alone. Both need the loops and barriers in the kernel itself, so
//! functions with them are inlined first.
//!
//! The interpreter's kernels choose by a condition which barriers come next. It is the same for
//! all work-items of a group, and both versions are right there. So these kernels get neither form
//! for that condition alone. One barrier made lists of kernels with barriers 17 times slower.
//!
//! A group of one work-item has none of these faults but the ones at barriers.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::analysis::control_flow::{Flow, Loop};
use crate::analysis::references::{is_interpreter, kernel_entry};
use crate::analysis::uniformity::Uniformity;
use crate::load::built_in_vector::BuiltInVector;
use crate::load::dead_ends;
use crate::load::inline;
use crate::load::interleaved;
use crate::load::legalize::DeviceTarget;
use crate::load::one_barrier;
use crate::spirv::{BuiltIn, Definitions, ExecutionMode, Instruction, Module, Op, Rewriter, is_block_end};

/// Where the device's compiler adds barriers of its own to loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImplicitBarriers {
    /// Nowhere.
    #[default]
    None,
    /// In kernels that have barriers.
    BesideOthers,
    /// In all kernels.
    Everywhere,
}

/// Scope and semantics of `barrier(CLK_LOCAL_MEM_FENCE)`.
const WORKGROUP: u64 = 2;
const LOCAL_FENCE: u64 = 0x110;

/// The module with accesses apart that the device's compiler would join.
///
/// # Errors
/// As [`Rewriter::finish`].
pub fn keep_apart(module: Module, target: &DeviceTarget) -> Result<Module> {
    if target.joins_accesses { interleaved::separate(module) } else { Ok(module) }
}

/// What [`steer`] makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steered {
    /// The module.
    pub module: Module,
    /// Kernels that the device's compiler may still get wrong, by name: those whose barriers should
    /// have become one and could not.
    pub doubtful: Vec<String>,
}

/// The module with loops and barriers in a form that the device's compiler makes right code of.
///
/// # Errors
/// As [`Rewriter::finish`].
pub fn steer(module: Module, target: &DeviceTarget) -> Result<Steered> {
    let mut doubtful = Vec::new();
    if target.implicit_barriers == ImplicitBarriers::None && !target.continuations_for_several_ends {
        return Ok(Steered { module, doubtful });
    }
    let mut module = dead_ends::cut(module)?;
    let choosing = kernels_that_only_choose(&module);
    if target.one_barrier || !choosing.is_empty() {
        module = inline::into_kernels_with_barriers(module)?;
    }
    if target.one_barrier {
        module = with_one_barrier(module, &choosing)?;
        doubtful = tangled_kernels(&module, &choosing);
    }
    let changed = {
        let flows = Flow::of_functions(&module);
        let definitions = Definitions::new(&module);
        let uniformity = Uniformity::new(&definitions, &flows);
        let changes = Changes::new(&module, &uniformity, &flows, &choosing, target);
        if changes.is_empty() { None } else { Some(changes.apply(&definitions, target)?) }
    };
    Ok(Steered { module: changed.unwrap_or(module), doubtful })
}

/// The interpreter's kernels, if what they call has no barriers under conditions and in loops with
/// several ends.
fn kernels_that_only_choose(module: &Module) -> BTreeSet<u32> {
    let entries = module.instructions().filter_map(|i| kernel_entry(&i));
    let interpreter: BTreeSet<u32> =
        entries.filter(|entry| is_interpreter(&entry.name)).map(|entry| entry.function).collect();
    if interpreter.is_empty() {
        return interpreter;
    }
    let flows = Flow::of_functions(module);
    let definitions = Definitions::new(module);
    let uniformity = Uniformity::new(&definitions, &flows);
    let mut called = flows.iter().filter(|flow| !interpreter.contains(&flow.function));
    if called.any(|flow| uniformity.has_tangled_barriers(flow)) { BTreeSet::new() } else { interpreter }
}

/// Kernels whose groups have one work-item.
fn single_kernels(module: &Module) -> BTreeSet<u32> {
    let before = module.instructions().take_while(|i| !i.is(Op::Function));
    let sizes = before.filter(|i| i.is(Op::ExecutionMode));
    sizes
        .filter_map(|i| match *i.operands() {
            [kernel, mode, 1, 1, 1] if mode == ExecutionMode::LocalSize as u32 => Some(kernel),
            _ => None,
        })
        .collect()
}

/// The module with one barrier in kernels whose barriers are under conditions or in loops with
/// several ends, but for those that only choose.
fn with_one_barrier(module: Module, choosing: &BTreeSet<u32>) -> Result<Module> {
    let changed = {
        let flows = Flow::of_functions(&module);
        let definitions = Definitions::new(&module);
        let uniformity = Uniformity::new(&definitions, &flows);
        let plans = one_barrier::candidates(&definitions, &uniformity, &flows, choosing);
        if plans.is_empty() { None } else { Some(one_barrier::gather(&definitions, &plans)?) }
    };
    Ok(changed.unwrap_or(module))
}

/// Kernels with barriers under conditions or in loops with several ends, by name.
pub fn kernels_with_tangled_barriers(module: &Module) -> Vec<String> {
    tangled_kernels(module, &BTreeSet::new())
}

/// As [`kernels_with_tangled_barriers`], without those that only choose.
fn tangled_kernels(module: &Module, choosing: &BTreeSet<u32>) -> Vec<String> {
    let flows = Flow::of_functions(module);
    let definitions = Definitions::new(module);
    let tangled = &tangled_functions(&Uniformity::new(&definitions, &flows), &flows) - choosing;
    let entries = module.instructions().filter_map(|i| kernel_entry(&i));
    entries.filter(|entry| tangled.contains(&entry.function)).map(|entry| entry.name).collect()
}

/// Functions with such barriers, and those that call them.
fn tangled_functions(uniformity: &Uniformity<'_, '_>, flows: &[Flow<'_>]) -> BTreeSet<u32> {
    with_callers(flows, |flow| uniformity.has_tangled_barriers(flow))
}

/// The functions that are so, and those that call them.
pub(super) fn with_callers(flows: &[Flow<'_>], is_so: impl Fn(&Flow<'_>) -> bool) -> BTreeSet<u32> {
    let mut found: BTreeSet<u32> =
        flows.iter().filter(|flow| is_so(flow)).map(|flow| flow.function).collect();
    loop {
        let calls = |flow: &&Flow<'_>| {
            flow.blocks.iter().flat_map(|block| &block.calls).any(|callee| found.contains(callee))
        };
        let more: Vec<u32> =
            flows.iter().filter(calls).map(|flow| flow.function).filter(|f| !found.contains(f)).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The blocks that end innermost loops into which the device's compiler may put a barrier although
/// work-items may come to them one by one.
fn lone_loops<'f>(uniformity: &Uniformity<'_, '_>, flow: &'f Flow<'_>) -> Vec<(&'f Loop, usize)> {
    let is_lone = |(number, of): (usize, &'f Loop)| {
        // Inner loops come first.
        let has_inner = flow.loops.iter().take(number).any(|inner| of.blocks.contains(&inner.header));
        let has_barrier = of.blocks.iter().any(|block| uniformity.is_barrier(flow, *block));
        let &[exit] = flow.exiting(of).as_slice() else { return None };
        let is_left_alone = has_inner || has_barrier || uniformity.is_reached_together(flow, of);
        (!is_left_alone).then_some((of, exit))
    };
    flow.loops.iter().enumerate().filter_map(is_lone).collect()
}

/// What is written differently.
#[derive(Default)]
struct Changes {
    /// Label of a block whose branch gets an end that never comes → whether the branch stays in the
    /// loop when its condition is true.
    ends: BTreeMap<u32, bool>,
    /// Entry blocks of kernels that get a loop with two ends, by label.
    entries: BTreeSet<u32>,
    /// Labels of blocks with a barrier at their end.
    before: BTreeSet<u32>,
    /// Labels of blocks with a barrier at their start.
    behind: BTreeSet<u32>,
}

impl Changes {
    fn new(
        module: &Module,
        uniformity: &Uniformity<'_, '_>,
        flows: &[Flow<'_>],
        choosing: &BTreeSet<u32>,
        target: &DeviceTarget,
    ) -> Self {
        let mut changes = Self::default();
        let single = single_kernels(module);
        if target.continuations_for_several_ends {
            let tangled = tangled_functions(uniformity, flows);
            let lone = with_callers(flows, |flow| {
                target.implicit_barriers == ImplicitBarriers::Everywhere
                    && !lone_loops(uniformity, flow).is_empty()
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
            return changes;
        }
        for flow in flows {
            let adds = match target.implicit_barriers {
                ImplicitBarriers::None => false,
                ImplicitBarriers::BesideOthers => uniformity.has_barriers(flow.function),
                ImplicitBarriers::Everywhere => true,
            };
            if target.one_barrier && uniformity.kernels().contains(&flow.function) {
                changes.add_barriers(uniformity, flow);
            }
            // 6.0 does not find what stands for the work-item in functions that it does not inline.
            let is_kernel = uniformity.kernels().contains(&flow.function);
            if adds && is_kernel && !single.contains(&flow.function) {
                changes.add_ends(uniformity, flow);
            }
        }
        changes
    }

    fn add_ends(&mut self, uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) {
        for (of, exit) in lone_loops(uniformity, flow) {
            let Some(block) = flow.blocks.get(exit) else { continue };
            if block.terminator.is_some_and(|t| t.is(Op::BranchConditional)) {
                let stays = block.successors.first().is_some_and(|to| of.blocks.contains(to));
                self.ends.insert(block.label, stays);
            }
        }
    }

    fn add_barriers(&mut self, uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) {
        let labels = |blocks: BTreeSet<usize>| {
            blocks.into_iter().filter_map(|at| flow.blocks.get(at)).map(|block| block.label)
        };
        let (before, behind) = uniformity.around_barrier_loops(flow);
        self.before.extend(labels(before));
        self.behind.extend(labels(behind));
    }

    fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.entries.is_empty() && self.before.is_empty()
    }

    fn apply(&self, definitions: &Definitions<'_>, target: &DeviceTarget) -> Result<Module> {
        let mut new = Rewriter::new(definitions);
        let builtin = |new: &mut Rewriter<'_>, wanted: BuiltIn, needed: bool| {
            needed.then(|| BuiltInVector::of(new, wanted, target.address_bits))
        };
        let mut ids = Ids {
            local: builtin(&mut new, BuiltIn::LocalInvocationId, !self.ends.is_empty()),
            groups: builtin(&mut new, BuiltIn::NumWorkgroups, !self.entries.is_empty()),
            renamed: BTreeMap::new(),
        };
        let added: Vec<u32> = [&ids.local, &ids.groups]
            .into_iter()
            .flatten()
            .filter(|b| b.is_new)
            .map(|b| b.variable)
            .collect();
        let mut label = 0;
        let (mut at_entry, mut is_behind, mut is_before) = (false, false, false);
        for instruction in definitions.module().instructions() {
            if at_entry && !instruction.is(Op::Variable) && !is_line(&instruction) {
                at_entry = false;
                let rest = add_loop(&mut new, &ids);
                ids.renamed.insert(label, rest);
            }
            let is_end = instruction.op().is_some_and(is_block_end);
            let is_start = is_behind
                && !matches!(instruction.op(), Some(Op::Phi | Op::Variable))
                && !is_line(&instruction);
            if is_start || (is_before && is_end) {
                (is_behind, is_before) = (is_behind && !is_start, is_before && !is_end);
                add_barrier(&mut new);
            }
            match instruction.op() {
                Some(Op::Label) => {
                    label = instruction.result_id().unwrap_or(0);
                    new.copy(&instruction);
                    at_entry = self.entries.contains(&label);
                    (is_behind, is_before) = (self.behind.contains(&label), self.before.contains(&label));
                }
                Some(Op::Phi) if !ids.renamed.is_empty() => {
                    new.copy_mapped(&instruction, |id| ids.renamed.get(&id).copied().unwrap_or(id));
                }
                Some(Op::BranchConditional) if self.ends.contains_key(&label) => {
                    let stays = self.ends.get(&label) == Some(&true);
                    let condition = add_end(&mut new, &ids, &instruction, stays);
                    let operands: Vec<u32> =
                        condition.into_iter().chain(instruction.operands().iter().skip(1).copied()).collect();
                    new.replace(&instruction, Op::BranchConditional, &operands);
                }
                Some(Op::EntryPoint) if !added.is_empty() => {
                    let operands = [instruction.operands(), &added].concat();
                    new.replace(&instruction, Op::EntryPoint, &operands);
                }
                _ => new.copy(&instruction),
            }
        }
        new.finish()
    }
}

struct Ids {
    local: Option<BuiltInVector>,
    groups: Option<BuiltInVector>,
    /// Labels of blocks whose end is in another block now.
    renamed: BTreeMap<u32, u32>,
}

fn is_line(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.op(), Some(Op::Line | Op::NoLine))
}

/// The condition of a branch, which also asks whether the work-item is one that no group has.
fn add_end(new: &mut Rewriter<'_>, ids: &Ids, branch: &Instruction<'_>, stays: bool) -> Option<u32> {
    let (local, condition) = (ids.local.as_ref()?, branch.operand(0)?);
    let truth = new.bool_type();
    let last = new.int_constant(local.width, u64::MAX >> (64 - local.width.clamp(1, 64)));
    let id = local.load(new, 0);
    let (other, both) = (new.fresh_id(), new.fresh_id());
    if stays {
        new.push(Op::IEqual, &[truth, other, id, last]);
        new.push(Op::LogicalOr, &[truth, both, condition, other]);
    } else {
        new.push(Op::INotEqual, &[truth, other, id, last]);
        new.push(Op::LogicalAnd, &[truth, both, condition, other]);
    }
    Some(both)
}

fn add_barrier(new: &mut Rewriter<'_>) {
    let (scope, semantics) = (new.int_constant(32, WORKGROUP), new.int_constant(32, LOCAL_FENCE));
    new.push(Op::ControlBarrier, &[scope, scope, semantics]);
}

/// A loop with two barriers and two ends, the first of which is taken: there is a group. Gives the
/// label of what follows.
fn add_loop(new: &mut Rewriter<'_>, ids: &Ids) -> u32 {
    let [head, latch, rest] = [new.fresh_id(), new.fresh_id(), new.fresh_id()];
    let Some(groups) = &ids.groups else { return rest };
    let truth = new.bool_type();
    let none = new.int_constant(groups.width, 0);
    new.push(Op::Branch, &[head]);
    for (label, axis, next) in [(head, 0, latch), (latch, 1, head)] {
        new.push(Op::Label, &[label]);
        add_barrier(new);
        let count = groups.load(new, axis);
        let leaves = new.fresh_id();
        new.push(Op::INotEqual, &[truth, leaves, count, none]);
        new.push(Op::BranchConditional, &[leaves, rest, next]);
    }
    new.push(Op::Label, &[rest]);
    rest
}
