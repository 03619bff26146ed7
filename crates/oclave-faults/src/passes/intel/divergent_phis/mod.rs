//! Values that Intel's CPU runtime takes for the same in all work-items, though they are not.
//!
//! Its vectoriser is wrong behind branches that work-items take differently, if one of them has a
//! loop. If a value is the same for all work-items on each branch, it counts as the same for all
//! behind them. This kernel writes 0 everywhere, in work-groups of 16 or more:
//!
//! ```text
//! if (id & 1) { v = 1; do … while (++i < b); } else { v = 0; do … while (++i < b); }
//! out[id] = v;
//! ```
//!
//! So does `for (…) { if (id == 0) v = 1; … }`: the compiler takes the condition out of the loop,
//! and makes two loops. A selection behind the loop that has the condition again is put into their
//! ends. It does not take a condition out of a loop with a barrier.
//!
//! Such values are made to depend on the work-item: a zero is added that does (`zeros`). Pointers
//! become another one in a work-item whose local id is the largest number, which no id is. No such
//! value may stay: loops may be split by several conditions, and then what stayed meets a constant.

mod writer;
mod zeros;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::{Uniformity, condition, makes_value};
use oclave_spirv::analysis::work_items::id_variables;
use oclave_spirv::{Definitions, Instruction, Module, Op, Role, Type, TypeTable};

fault! {
    /// **Q32. Intel's CPU runtime 2026.2.** Its vectoriser is wrong behind branches that work-items
    /// take differently, if one of them has a loop. It takes a value for the same in all work-items
    /// if it is the same for all on each branch. From source, `if (id & 1) { v = 1; do p[id] *= 3;
    /// while (++i < b); } else { v = 0; do p[id] *= 5; while (++i < b); } out[id] = v;` writes 0
    /// everywhere, in groups of 16 and more. Pointers, floats and vectors are wrong, too. So is
    /// `for (…) { if (id == 0) v = 1; p[id] *= 3; }`, whose condition the compiler takes out of the
    /// loop. So are two branches in a loop, behind a condition that is the same for all work-items:
    /// both conditions leave the loop. So is a condition of two parts, one of which is the same for
    /// all and the other one leaves the loop. So is a selection behind a loop that has its condition,
    /// too. Such values are made to depend on the work-item (`divergent_phis`,
    /// decisions 102, 115 and 125). Right
    /// with `-cl-opt-disable`, and with `CL_CONFIG_USE_VECTORIZER=False` in the environment.
    ///
    /// Left as it is: code of clang's `-O0`, which has variables instead of such values.
    Q32 {
        affects: [INTEL],
        seen: RandomKernels,
        symptom: "Values are the same for all work-items after branches with loops that work-items take differently.",
        remedy: "Such values depend on the work-item (`divergent_phis`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q32, "divergent_phis", |on| keep(on.analyses, on.target.address_bits));

/// How many parts of a condition are looked at.
const PARTS: usize = 64;

/// The module with these values; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`](oclave_spirv::Editor::finish).
pub(crate) fn keep(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let flows = analyses.flows();
    let uniformity = Uniformity::new(analyses.definitions(), flows);
    let values = Values::new(analyses);
    let found: Vec<(u32, Changes<'_>)> = flows
        .iter()
        .map(|flow| (flow.function, Search::new(flow, &uniformity, &values).changes()))
        .filter(|(_, changes)| !changes.phis.is_empty() || !changes.selects.is_empty())
        .collect();
    writer::write(&values, &found, address_bits)
}

/// What is written differently in a function.
#[derive(Default)]
struct Changes<'m> {
    /// Phi, and the label from which it takes a value → the value.
    phis: BTreeMap<(u32, u32), u32>,
    /// Selects whose values are both changed.
    selects: Vec<Instruction<'m>>,
}

/// What is known of the values of a module.
struct Values<'d, 'm> {
    analyses: &'d Analyses<'m>,
    definitions: &'d Definitions<'m>,
    types: TypeTable<'m>,
    /// The built-in variables of ids of work-items.
    ids: HashSet<u32>,
    /// Values that depend on the number of the work-item by what they are computed of.
    differ: HashSet<u32>,
    /// Those of `differ` that depend on it by whatever way they come.
    always_differ: HashSet<u32>,
}

impl<'d, 'm> Values<'d, 'm> {
    fn new(analyses: &'d Analyses<'m>) -> Self {
        let definitions = analyses.definitions();
        let code = analyses.flows().iter().flat_map(|flow| flow.code(definitions));
        let code: Vec<Instruction<'m>> = code.map(|(_, instruction)| instruction).collect();
        let types = TypeTable::new(definitions);
        let ids = id_variables(definitions);
        let (differ, always_differ) = (HashSet::new(), HashSet::new());
        let mut values = Self { analyses, definitions, types, ids, differ, always_differ };
        values.differ = values.differing(&code);
        values.always_differ = values.always_differing(&code);
        values
    }

    fn differing(&self, code: &[Instruction<'m>]) -> HashSet<u32> {
        let mut differ: HashSet<u32> = HashSet::new();
        loop {
            let count = differ.len();
            for instruction in code {
                let Some(id) = instruction.result_id().filter(|id| !differ.contains(id)) else { continue };
                let differs = |id: &u32| differ.contains(id);
                let passed = match instruction.op() {
                    // Compilers may take the condition away: see `leaves_loops`.
                    Some(Op::Select) => instruction.operands().iter().skip(1).any(differs),
                    _ => passes_on(instruction) && self.uses(instruction, |id| differs(&id)),
                };
                if passed || self.is_id(instruction) {
                    differ.insert(id);
                }
            }
            if differ.len() == count {
                return differ;
            }
        }
    }

    /// Without phis and selects of which one value is the same for all work-items. Compilers may find
    /// that the other values never come, and then the result is the same for all as well.
    fn always_differing(&self, code: &[Instruction<'m>]) -> HashSet<u32> {
        let mut always = self.differ.clone();
        loop {
            let count = always.len();
            for instruction in code {
                let Some(id) = instruction.result_id().filter(|id| always.contains(id)) else { continue };
                let differs = |id: &u32| always.contains(id);
                let stays = match instruction.op() {
                    Some(Op::Phi) => instruction.operands().iter().step_by(2).all(differs),
                    Some(Op::Select) => instruction.operands().iter().skip(1).all(differs),
                    _ => self.is_id(instruction) || self.uses(instruction, |id| differs(&id)),
                };
                if !stays {
                    always.remove(&id);
                }
            }
            if always.len() == count {
                return always;
            }
        }
    }

    /// Whether a value is the id of a work-item.
    fn is_id(&self, instruction: &Instruction<'_>) -> bool {
        instruction.is(Op::Load) && instruction.operand(0).is_some_and(|from| self.ids.contains(&from))
    }

    /// Whether an operand is such a value.
    fn uses(&self, instruction: &Instruction<'_>, is: impl Fn(u32) -> bool) -> bool {
        let mut found = false;
        instruction.visit_ids(self.definitions, |at, role| {
            found |= role == Role::Id && instruction.word(at).is_some_and(&is);
        });
        found
    }

    /// Whether a value stays the same in a loop, so that compilers can compute it before the loop.
    fn is_invariant(&self, value: u32, of: &Loop) -> bool {
        let (mut open, mut seen) = (vec![value], HashSet::new());
        while let Some(id) = open.pop() {
            if !self.analyses.is_defined_in(id, of) || !seen.insert(id) {
                continue;
            }
            let instruction = self.definitions.instruction(id).filter(|i| passes_on(i) && !i.is(Op::Phi));
            let Some(instruction) = instruction.filter(|_| seen.len() < PARTS) else { return false };
            instruction.visit_ids(self.definitions, |at, role| {
                if role == Role::Id {
                    open.extend(instruction.word(at));
                }
            });
        }
        true
    }

    /// A condition and the conditions that it is made of: `a` and `b` of `a && !b`.
    fn parts(&self, condition: u32) -> BTreeSet<u32> {
        let (mut open, mut parts) = (vec![condition], BTreeSet::new());
        while let Some(part) = open.pop().filter(|_| parts.len() < PARTS) {
            let instruction = self.definitions.instruction(part);
            let is_made = |i: &&Instruction<'_>| {
                matches!(i.op(), Some(Op::LogicalAnd | Op::LogicalOr | Op::LogicalNot | Op::Select))
            };
            if parts.insert(part) {
                open.extend(instruction.as_ref().filter(is_made).into_iter().flat_map(|i| i.operands()));
            }
        }
        parts
    }

    /// Whether there is a 0 of the type that a select can give.
    fn is_plain(&self, ty: u32) -> bool {
        let lane = self.types.lane(ty);
        match self.types.ty(lane) {
            Some(Type::Bool | Type::Int { .. } | Type::Float { .. }) => true,
            Some(Type::Pointer { .. }) => lane == ty,
            _ => false,
        }
    }

    /// Whether a value can be changed where the function begins.
    fn is_early(&self, value: u32) -> bool {
        self.analyses.block_of(value).is_none()
    }
}

/// Whether the result differs where an operand does.
fn passes_on(instruction: &Instruction<'_>) -> bool {
    instruction.op().is_some_and(makes_value)
}

/// The search in a function.
struct Search<'a, 'd, 'm> {
    flow: &'a Flow<'m>,
    uniformity: &'a Uniformity<'d, 'm>,
    values: &'a Values<'d, 'm>,
    /// The loops that compilers may split by a condition. Loops with barriers stay whole.
    split_loops: Vec<&'a Loop>,
}

impl<'a, 'd, 'm> Search<'a, 'd, 'm> {
    fn new(flow: &'a Flow<'m>, uniformity: &'a Uniformity<'d, 'm>, values: &'a Values<'d, 'm>) -> Self {
        let split_loops = flow.loops.iter().filter(|of| !uniformity.has_barrier(flow, of)).collect();
        Self { flow, uniformity, values, split_loops }
    }

    fn changes(&self) -> Changes<'m> {
        let mut changes = Changes::default();
        if self.flow.loops.is_empty() {
            return changes;
        }
        let outside = self.conditions_that_leave_loops();
        for (at, block) in self.flow.blocks.iter().enumerate() {
            let all = |op: Op| self.values.definitions.block(block.label).filter(move |i| i.is(op));
            if all(Op::Phi).next().is_some() && self.joins_after_loops(at) {
                all(Op::Phi).for_each(|phi| self.add_phi(at, &phi, &mut changes));
            }
            for choice in all(Op::Select) {
                let &[condition, a, b] = choice.operands() else { continue };
                let are_same = [a, b].iter().all(|id| !self.values.always_differ.contains(id));
                if are_same
                    && a != b
                    && choice.result_type().is_some_and(|ty| self.values.is_plain(ty))
                    && (self.leaves_loops(at, condition)
                        || !self.values.parts(condition).is_disjoint(&outside))
                {
                    changes.selects.push(choice);
                }
            }
        }
        changes
    }

    /// Conditions in loops, and their parts, that compilers can take out of a loop. Work-items may see
    /// them differently. Code behind the loop that asks for them again is put together with it.
    fn conditions_that_leave_loops(&self) -> BTreeSet<u32> {
        let mut outside = BTreeSet::new();
        for (at, block) in self.flow.blocks.iter().enumerate() {
            if self.split_loops_around(at).next().is_none() {
                continue;
            }
            let selects = self.values.definitions.block(block.label).filter(|i| i.is(Op::Select));
            let conditions = selects.filter_map(|choice| choice.operand(0)).chain(condition(self.flow, at));
            for part in conditions.flat_map(|condition| self.values.parts(condition)) {
                if self.leaves_a_loop(at, part) && self.differs(part) {
                    outside.insert(part);
                }
            }
        }
        outside
    }

    /// Whether work-items may see a condition differently.
    fn differs(&self, condition: u32) -> bool {
        !self.uniformity.is_uniform(self.flow, vec![condition])
    }

    /// The blocks that lead to a block from elsewhere than behind it.
    fn before(&self, at: usize) -> Vec<usize> {
        let all = self.flow.blocks.get(at).map(|block| block.predecessors.as_slice()).unwrap_or_default();
        all.iter().copied().filter(|from| !self.flow.dominates(at, *from)).collect()
    }

    fn add_phi(&self, at: usize, phi: &Instruction<'_>, changes: &mut Changes<'_>) {
        let Some((id, ty)) = phi.result_id().zip(phi.result_type()) else { return };
        if !self.values.is_plain(ty) {
            return;
        }
        let mut same: Vec<(u32, u32)> = Vec::new();
        for from in self.before(at) {
            let Some(label) = self.flow.blocks.get(from).map(|block| block.label) else { continue };
            let pair = phi.operands().chunks_exact(2).find(|pair| pair.get(1) == Some(&label));
            let Some(value) = pair.and_then(|pair| pair.first().copied()) else { continue };
            if !self.values.always_differ.contains(&value) {
                same.push((label, value));
            }
        }
        // One such value beside others that differ is right.
        if same.len() > 1 {
            changes.phis.extend(same.into_iter().map(|(label, value)| ((id, label), value)));
        }
    }

    /// Whether work-items come to a block by different branches. One of these has a loop, or compilers
    /// can give each a loop.
    fn joins_after_loops(&self, at: usize) -> bool {
        let before = self.before(at);
        let Some(top) = self.flow.dominator(at).filter(|_| before.len() > 1) else { return false };
        let (mut between, mut open) = (BTreeSet::new(), before);
        while let Some(block) = open.pop() {
            if block != top && block != at && between.insert(block) {
                let predecessors = self.flow.blocks.get(block).map(|block| block.predecessors.as_slice());
                open.extend(predecessors.into_iter().flatten());
            }
        }
        let conditions: Vec<u32> = between
            .iter()
            .chain([&top])
            .filter_map(|block| condition(self.flow, *block))
            .filter(|value| !self.uniformity.is_uniform(self.flow, vec![*value]))
            .collect();
        let has_loop = |of: &Loop| !of.blocks.contains(&at) && !between.is_disjoint(&of.blocks);
        !conditions.is_empty()
            && (self.flow.loops.iter().any(has_loop)
                || conditions.iter().any(|value| self.leaves_loops(at, *value)))
    }

    /// Whether compilers can take a condition, or a part of it, out of a loop around a block.
    /// Work-items may see that part differently.
    fn leaves_loops(&self, at: usize, condition: u32) -> bool {
        self.split_loops_around(at).next().is_some()
            && self
                .values
                .parts(condition)
                .iter()
                .any(|part| self.leaves_a_loop(at, *part) && self.differs(*part))
    }

    /// Whether compilers can take a value out of a loop around a block.
    fn leaves_a_loop(&self, at: usize, value: u32) -> bool {
        self.split_loops_around(at).any(|of| self.values.is_invariant(value, of))
    }

    fn split_loops_around(&self, at: usize) -> impl Iterator<Item = &Loop> {
        self.split_loops.iter().copied().filter(move |of| of.blocks.contains(&at))
    }
}
