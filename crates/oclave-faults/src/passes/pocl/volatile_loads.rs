//! Loads that PoCL 7.1 must not repeat.
//!
//! PoCL runs the work-items of a group one after the other, from barrier to barrier. A value that a
//! work-item computes before a barrier, and needs behind it, has to be kept for each of them. PoCL
//! 7.1 computes some of these values again instead, with the loads that they come from. By then the
//! memory may hold something else: `v = l[id]; l[id] = 9; barrier(…); out[id] = v;` writes 9, from
//! source, too.
//!
//! Barriers that PoCL itself puts into loops count, too: `ImplicitBarriers::Everywhere`.
//!
//! PoCL does not repeat volatile loads. So loads become volatile where their value is needed behind
//! a barrier, and something may have written the memory by then. Work-items run one after the other
//! between two barriers. So writes between the same two barriers count wherever they stand.
//!
//! A value may reach its use through memory, such as an element of a private array: LLVM takes it from the store. So stored values
//! are followed to the loads of the same element.
//!
//! PoCL keeps what depends on a phi at the start of a loop with barriers (`tryToRematerialize` of its
//! `WorkitemLoops.cc`). By then the phi is a variable. So sums such as `sum += l[i]` stay as they are,
//! unless LLVM may move the addition behind the barrier.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::barriers::innermost_loops;
use super::fences::{Access, Addresses};
use crate::Fault;
use crate::passes::volatile_accesses::make_volatile;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU_7, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::calls::callees;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::{Uniformity, makes_value};
use oclave_spirv::{Editor, Instruction, Module, Op, Role, StorageClass, is_terminator};

fault! {
    /// **Q33. PoCL 7.1 on CPUs.** A value from memory that a work-item needs behind a barrier is
    /// loaded again there, when the memory may hold something else. From source, `v = l[id]; l[id]
    /// = 9; barrier(CLK_LOCAL_MEM_FENCE); out[id] = v;` writes 9, in local, global and private
    /// memory. pocl#2269 mends it. PoCL does not repeat volatile loads, so such loads become
    /// volatile. `POCL_PREGION_VALUE_REMAT=0` in the environment
    /// helps, too.
    Q33 {
        affects: [POCL_CPU_7],
        seen: Programs,
        symptom: "A value from memory that is needed after a barrier is loaded again there.",
        remedy: "Volatile loads (`volatile_loads`).",
        upstream: ["pocl#2269"],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q33, "volatile_loads", |on| keep(on.analyses));

/// How long a chain of instructions PoCL computes again, at most.
const STEPS: u32 = 11;

/// The module with these loads; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn keep(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let mut edit = Editor::new(analyses.definitions());
    let found = needed_behind_barriers(analyses, true);
    for load in found.into_iter().filter_map(|at| analyses.module().instruction_at(at)) {
        make_volatile(&mut edit, &load);
    }
    Ok(edit.finish()?)
}

/// The places of loads whose value is needed behind a barrier, when the memory may hold something else. `with_implicit` says whether
/// PoCL's own barriers count.
pub(in crate::passes) fn needed_behind_barriers(
    analyses: &Analyses<'_>,
    with_implicit: bool,
) -> BTreeSet<usize> {
    let definitions = analyses.definitions();
    let flows = analyses.flows();
    let uniformity = Uniformity::new(definitions, flows);
    let addresses = Addresses::new(definitions);
    let below = called_beside_barriers(&uniformity, flows);
    let mut found = BTreeSet::new();
    for flow in flows {
        let is_below = below.contains(&flow.function);
        let has_barriers = is_below || uniformity.has_barriers(flow.function);
        let is_kernel = with_implicit && uniformity.kernels().contains(&flow.function);
        let mut loops = if is_kernel { innermost_loops(&uniformity, flow) } else { Vec::new() };
        loops.retain(|(of, _)| uniformity.is_run_together(flow, of));
        if !has_barriers && loops.is_empty() {
            continue;
        }
        let body = flow.code(definitions).collect();
        let search = Search { flow, body: &body, uniformity: &uniformity, addresses: &addresses };
        let facts = search.facts();
        if has_barriers {
            found.extend(search.loads(&facts, is_below));
        }
        loops.into_iter().for_each(|(of, exit)| found.extend(search.crossing(&facts, of, exit)));
    }
    found
}

/// Functions that have no barrier, and that a function with one calls: PoCL makes them part of it.
fn called_beside_barriers(uniformity: &Uniformity<'_, '_>, flows: &[Flow<'_>]) -> BTreeSet<u32> {
    let with = flows.iter().map(|flow| flow.function).filter(|id| uniformity.has_barriers(*id));
    callees(flows, with, |callee| !uniformity.has_barriers(callee))
}

/// The instructions of a function's blocks, with the numbers of these.
type Body<'m> = Vec<(usize, Instruction<'m>)>;

struct Search<'a, 'd, 'm> {
    flow: &'a Flow<'m>,
    body: &'a Body<'m>,
    uniformity: &'a Uniformity<'d, 'm>,
    addresses: &'a Addresses<'d, 'm>,
}

/// What the instructions of a function do, by their places in it.
struct Facts {
    /// Barriers, and calls of functions with barriers, with the writes between each and the next barriers.
    barriers: BTreeMap<usize, BTreeSet<usize>>,
    /// Instructions that write, and the pointers that they write through; `None` for anywhere.
    writes: Vec<(usize, Option<u32>)>,
    users: HashMap<u32, Vec<usize>>,
    /// Where pointers come from → the loads through them.
    reads: HashMap<u32, Vec<Read>>,
}

/// A load.
struct Read {
    at: usize,
    value: u32,
    access: Access,
}

impl<'m> Search<'_, '_, 'm> {
    /// The places of the function's loads in the module. Where barriers are in the functions that call
    /// this one, what it gives back is needed behind them.
    fn loads(&self, facts: &Facts, is_below: bool) -> Vec<usize> {
        let mut found = Vec::new();
        for (at, (_, load)) in self.body.iter().enumerate().filter(|(_, (_, i))| i.is(Op::Load)) {
            let Some(from) = load.operand(0).filter(|from| self.is_memory(*from)) else { continue };
            let Some(value) = load.result_id() else { continue };
            let barriers = if is_below { Vec::new() } else { self.barriers_at_writes(at, from, facts) };
            if (is_below || !barriers.is_empty())
                && self.is_needed_behind(at, value, &barriers, facts, is_below)
            {
                found.push(load.at);
            }
        }
        found
    }

    /// The barriers after a load behind which another write may have reached its memory: writes before
    /// the barrier, and between it and the next one.
    fn barriers_at_writes(&self, load: usize, from: u32, facts: &Facts) -> Vec<usize> {
        let after_load = self.reached([self.block(load)], None);
        let writes: BTreeSet<usize> = self.later_writes(load, from, &after_load, facts).collect();
        let after_writes = self.reached(writes.iter().map(|at| self.block(*at)), Some(self.block(load)));
        let is_written_before = |barrier: usize| {
            let block = self.block(barrier);
            after_writes.contains(&block) || writes.range(..barrier).any(|at| self.block(*at) == block)
        };
        let barriers = facts.barriers.iter().filter(|(at, _)| self.is_behind(load, **at, &after_load));
        let written = barriers.filter(|(at, next)| is_written_before(**at) || !next.is_disjoint(&writes));
        written.map(|(at, _)| *at).collect()
    }

    /// The places after a load that may write its memory. `reached` are the blocks that can follow the load's.
    fn later_writes(
        &self,
        load: usize,
        from: u32,
        reached: &BTreeSet<usize>,
        facts: &Facts,
    ) -> impl Iterator<Item = usize> {
        let may_change = move |to: Option<u32>| to.is_none_or(|to| self.addresses.may_share_memory(from, to));
        let writes = facts.writes.iter().copied();
        let later = writes.filter(move |(at, to)| self.is_behind(load, *at, reached) && may_change(*to));
        later.map(|(at, _)| at)
    }

    /// Loads whose value is needed behind a barrier of PoCL's own. It stands at the start of this loop
    /// or at its end. This work-item may have written the memory by then. The others may not write
    /// it meanwhile: that barrier is none of OpenCL's.
    fn crossing(&self, facts: &Facts, of: &Loop, exit: usize) -> Vec<usize> {
        let start = self.body.iter().position(|(block, i)| *block == of.header && !i.is(Op::Phi));
        let end = self.body.iter().rposition(|(block, _)| *block == exit);
        let barriers: Vec<usize> = start.into_iter().chain(end).collect();
        let is_repeated = |at: usize, load: &Instruction<'m>| {
            let from = load.operand(0).filter(|from| load.is(Op::Load) && self.is_memory(*from));
            let Some((from, value)) = from.zip(load.result_id()) else { return false };
            let reached = self.reached([self.block(at)], None);
            let writes: Vec<usize> = self.later_writes(at, from, &reached, facts).collect();
            let behind: Vec<usize> =
                barriers.iter().copied().filter(|place| self.is_behind(at, *place, &reached)).collect();
            let is_needed = |places: &[usize]| self.is_needed_behind(at, value, places, facts, false);
            !writes.is_empty() && is_needed(&behind) && is_needed(&writes)
        };
        let loads = self.body.iter().enumerate().filter(|(at, (_, i))| is_repeated(*at, i));
        loads.map(|(_, (_, load))| load.at).collect()
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts {
            barriers: BTreeMap::new(),
            writes: Vec::new(),
            users: HashMap::new(),
            reads: HashMap::new(),
        };
        let definitions = self.addresses.definitions;
        for (at, (_, instruction)) in self.body.iter().enumerate() {
            let called = instruction.operand(0).filter(|_| instruction.is(Op::FunctionCall));
            if instruction.is(Op::ControlBarrier)
                || called.is_some_and(|callee| self.uniformity.has_barriers(callee))
            {
                facts.barriers.insert(at, BTreeSet::new());
            }
            if called.is_some() {
                facts.writes.push((at, None));
            }
            let only_computes = computes(instruction) && !instruction.is(Op::ExtInst);
            instruction.visit_ids(definitions, |word, role| {
                let Some(id) = instruction.word(word).filter(|_| role == Role::Id) else { return };
                facts.users.entry(id).or_default().push(at);
                let is_value = instruction.is(Op::Store) && instruction.operand(0) != Some(id);
                if !only_computes && !is_value && called.is_none() && self.addresses.is_pointer(id) {
                    facts.writes.push((at, Some(id)));
                }
            });
            if instruction.is(Op::Load)
                && let (Some(value), Some(access)) =
                    (instruction.result_id(), self.addresses.touched(instruction))
            {
                facts.reads.entry(access.root).or_default().push(Read { at, value, access });
            }
        }
        let writes: BTreeSet<usize> = facts.writes.iter().map(|(at, _)| *at).collect();
        for (at, next) in &mut facts.barriers {
            next.extend(self.until_barriers(*at).into_iter().flat_map(|places| writes.range(places)));
        }
        facts
    }

    /// The places that work-items reach from a barrier without another one, as ranges in blocks.
    fn until_barriers(&self, barrier: usize) -> Vec<Range<usize>> {
        let (mut found, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![barrier + 1]);
        while let Some(start) = open.pop() {
            let block = self.block(start);
            let rest = self.body.get(start..).unwrap_or_default();
            let count = rest.iter().take_while(|(at, i)| *at == block && !i.is(Op::ControlBarrier)).count();
            found.push(start..start + count);
            let is_whole = rest.get(count).is_none_or(|(at, _)| *at != block);
            for to in self.successors(block).iter().filter(|_| is_whole) {
                if seen.insert(*to) {
                    open.extend(self.body.iter().position(|(at, _)| at == to));
                }
            }
        }
        found
    }

    fn successors(&self, block: usize) -> &[usize] {
        self.flow.blocks.get(block).map_or(&[], |block| block.successors.as_slice())
    }

    /// Whether a pointer leads to memory that may change, and not to a private variable as a whole.
    fn is_memory(&self, pointer: u32) -> bool {
        let never = [StorageClass::UniformConstant as u32, StorageClass::Input as u32];
        !self.addresses.definitions.is_private_variable(pointer)
            && self.addresses.class(pointer).is_some_and(|class| !never.contains(&class))
    }

    fn block(&self, at: usize) -> usize {
        self.body.get(at).map_or(0, |(block, _)| *block)
    }

    /// The blocks that can follow some blocks, on paths around one.
    fn reached(&self, from: impl IntoIterator<Item = usize>, past: Option<usize>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<usize> = from.into_iter().collect();
        while let Some(block) = open.pop() {
            for to in self.successors(block) {
                if Some(*to) != past && reached.insert(*to) {
                    open.push(*to);
                }
            }
        }
        reached
    }

    fn is_behind(&self, from: usize, at: usize, reached: &BTreeSet<usize>) -> bool {
        (at > from && self.block(at) == self.block(from)) || reached.contains(&self.block(at))
    }

    /// Whether a value, or what PoCL may compute of it again, is used behind one of these barriers.
    fn is_needed_behind(
        &self,
        load: usize,
        value: u32,
        barriers: &[usize],
        facts: &Facts,
        is_below: bool,
    ) -> bool {
        let home = self.block(load);
        let behind: BTreeMap<usize, BTreeSet<usize>> = barriers
            .iter()
            // On a path that runs the load again, the later load decides.
            .filter(|barrier| self.block(**barrier) != home || **barrier > load)
            .map(|barrier| (*barrier, self.reached([self.block(*barrier)], Some(home))))
            .collect();
        let is_behind = |block: usize, at: usize| {
            behind.iter().any(|(barrier, reached)| {
                reached.contains(&block) || (self.block(*barrier) == block && *barrier < at)
            })
        };
        let (mut open, mut seen) = (vec![(value, 0)], HashSet::from([value]));
        while let Some((id, steps)) = open.pop() {
            for &at in facts.users.get(&id).into_iter().flatten() {
                let Some((block, user)) = self.body.get(at) else { continue };
                if user.is(Op::Phi) {
                    let is_taken_behind = user.operands().chunks_exact(2).any(|pair| {
                        let from = self.flow.blocks.iter().position(|b| Some(&b.label) == pair.get(1));
                        let end = |block: usize| self.body.iter().rposition(|(at, _)| *at == block);
                        pair.first() == Some(&id)
                            && from.is_some_and(|from| end(from).is_some_and(|at| is_behind(from, at)))
                    });
                    if is_taken_behind {
                        return true;
                    }
                    // Other phis may become selections.
                    if self.flow.loops.iter().any(|of| of.header == *block) {
                        continue;
                    }
                } else if is_behind(*block, at) || (is_below && user.is(Op::ReturnValue)) {
                    return true;
                }
                if steps == STEPS {
                    continue;
                }
                if let Some(result) = user.result_id().filter(|_| computes(user))
                    && !self.is_kept(*block, result, facts)
                    && seen.insert(result)
                {
                    open.push((result, steps + 1));
                }
                if user.is(Op::Store) && user.operand(1) == Some(id) {
                    let reads = self.reads(at, user, facts).into_iter();
                    open.extend(reads.filter(|read| seen.insert(*read)).map(|read| (read, steps + 1)));
                }
            }
        }
        false
    }

    /// The values of loads for which LLVM may take what a store wrote. Behind a barrier it does so in private
    /// memory only.
    fn reads(&self, at: usize, store: &Instruction<'_>, facts: &Facts) -> Vec<u32> {
        let Some(written) = self.addresses.touched(store) else { return Vec::new() };
        let places = if written.is_private() { None } else { Some(self.until_barriers(at)) };
        let is_near = |at: usize| places.as_ref().is_none_or(|places| places.iter().any(|p| p.contains(&at)));
        let reads = facts.reads.get(&written.root).into_iter().flatten();
        let found = reads.filter(|read| is_near(read.at) && written.is_read_by(&read.access));
        found.map(|read| read.value).collect()
    }

    /// Whether PoCL keeps a value, and LLVM leaves it in its block, as a phi takes it at the end of the block.
    fn is_kept(&self, block: usize, value: u32, facts: &Facts) -> bool {
        let label = self.flow.blocks.get(block).map(|block| block.label);
        let users = facts.users.get(&value).into_iter().flatten().filter_map(|at| self.body.get(*at));
        let mut phis = users.filter(|(_, user)| user.is(Op::Phi));
        let takes = |pair: &[u32]| pair.first() == Some(&value) && pair.get(1) == label.as_ref();
        phis.any(|(_, phi)| phi.operands().chunks_exact(2).any(takes)) && self.needs_loop_phi(value)
    }

    /// Whether a value depends on a phi at the start of a loop with barriers. Phis elsewhere may become
    /// selections, so what they depend on does not count.
    fn needs_loop_phi(&self, value: u32) -> bool {
        let definitions = self.addresses.definitions;
        let (mut seen, mut open) = (HashSet::from([value]), vec![value]);
        while let Some(instruction) = open.pop().and_then(|id| definitions.instruction(id)) {
            let header = instruction.result_id().and_then(|id| self.flow.phis.get(&id));
            let of = header.and_then(|header| self.flow.loops.iter().find(|of| of.header == *header));
            if of.is_some_and(|of| self.uniformity.has_barrier(self.flow, of)) {
                return true;
            }
            if of.is_some() || (computes(&instruction) && !instruction.is(Op::Phi)) {
                instruction.visit_ids(definitions, |word, role| {
                    let id = instruction.word(word).filter(|_| role == Role::Id);
                    open.extend(id.filter(|id| seen.insert(*id)));
                });
            }
        }
        false
    }
}

/// Whether an instruction only makes a value, or ends a block.
fn computes(instruction: &Instruction<'_>) -> bool {
    instruction.op().is_some_and(|op| makes_value(op) || is_terminator(op))
}
