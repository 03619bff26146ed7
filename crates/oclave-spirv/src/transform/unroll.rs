//! Small counted loops that run four rounds at once, for assemblers that do so themselves too seldom.
//!
//! NVIDIA's assembler makes four rounds of a small loop one. NVIDIA's compiler does the same before
//! it, which makes sixteen. A round of a multiplication and an addition took 10 % longer without.
//!
//! ```text
//! before: p → H;  H: i = φ(start, next), body, next = i ± 1, if next < end → H else → E
//! after:  p → H;  H: if end - start ≥ 4 → M else → L
//!         M: i = φ(start, next of the last body), four bodies, if more than 3 rounds are left → M else → R
//!         R: if no round is left → X else → L
//!         L: i = φ(start, next of M, next), body, next, if next < end → L else → X
//!         X: what E and others use of the loop, from R or L; → E
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::counted_loops::{Count, Loop, Phi, found};
use super::decorations::Decorations;
use super::inline::bodies;
use crate::Result;
use crate::{Cursor, Definitions, Editor, Instruction, Module, Op};

/// Rounds that become one. A power of two.
const ROUNDS: u32 = 4;
/// Instructions of a round, at most.
const MOST_INSTRUCTIONS: usize = 32;

/// The module with small counted loops unrolled. These have one block and use no memory. They count
/// up or down by one, to a value that the loop does not change.
///
/// # Errors
/// As [`Editor::finish`].
pub fn unroll(module: Module) -> Result<Module> {
    let definitions = Definitions::new(&module);
    let bodies = bodies(&module);
    let found = found(&definitions, &bodies, MOST_INSTRUCTIONS);
    if found.is_empty() {
        return Ok(module);
    }
    let decorations = Decorations::of(&definitions, |_| true);
    let mut edit = Editor::new(&definitions);
    let blocks = blocks(&mut edit, &found);
    // What others call values of loops, and where these come from.
    for (label, Blocks { out, used, .. }) in &blocks {
        used.iter().for_each(|(id, outside)| edit.replace_uses(*id, *outside));
        edit.move_end(*label, *out);
    }
    let used = blocks.values().flat_map(|blocks| &blocks.used).map(|(id, outside)| (*id, *outside)).collect();
    let ends = blocks.iter().map(|(label, blocks)| (*label, blocks.out)).collect();
    let mut loops: Vec<(&Loop<'_>, &Blocks)> = found.values().zip(blocks.values()).collect();
    loops.sort_by_key(|(unrolled, _)| definitions.word_index(unrolled.label));
    for (unrolled, blocks) in loops {
        let at = edit.instead_of_block(unrolled.label);
        Unroller { at, decorations: &decorations, unrolled, blocks, used: &used, ends: &ends }.write();
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// Writes the blocks of a loop.
struct Unroller<'a, 'e, 'm> {
    at: Cursor<'e, 'm>,
    decorations: &'a Decorations,
    unrolled: &'a Loop<'m>,
    blocks: &'a Blocks,
    /// What others than their loop call values of loops.
    used: &'a HashMap<u32, u32>,
    /// Where loops go on to what follows them, by their labels.
    ends: &'a HashMap<u32, u32>,
}

/// The blocks of an unrolled loop, and what is used of it behind.
struct Blocks {
    many: u32,
    rest: u32,
    last: u32,
    out: u32,
    /// Values of the loop that others use, and their ids there.
    used: BTreeMap<u32, u32>,
}

/// New labels, and the values of loops that are used outside of their blocks.
fn blocks(edit: &mut Editor<'_>, loops: &BTreeMap<u32, Loop<'_>>) -> BTreeMap<u32, Blocks> {
    let definitions = edit.definitions();
    let mut owner: HashMap<u32, u32> = HashMap::new();
    for found in loops.values() {
        let results = found.round.iter().filter_map(Instruction::result_id);
        owner.extend(found.phis.iter().map(|phi| phi.id).chain(results).map(|id| (id, found.label)));
    }
    let mut outside: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut label = None;
    for instruction in definitions.module().instructions().skip_while(|i| !i.is(Op::Function)) {
        if instruction.is(Op::Label) {
            label = instruction.result_id();
        }
        instruction.visit_ids(definitions, |index, _| {
            let Some(id) = instruction.word(index) else { return };
            if let Some(of) = owner.get(&id).filter(|of| Some(**of) != label) {
                outside.entry(*of).or_default().insert(id);
            }
        });
    }
    loops
        .keys()
        .map(|label| {
            let [many, rest, last, out] = std::array::from_fn(|_| edit.fresh_id());
            let used = outside.remove(label).unwrap_or_default();
            let used = used.into_iter().map(|id| (id, edit.fresh_id())).collect();
            (*label, Blocks { many, rest, last, out, used })
        })
        .collect()
}

impl Unroller<'_, '_, '_> {
    fn write(&mut self) {
        let (unrolled, decorations) = (self.unrolled, self.decorations);
        let &Count { phi: counter, next, end, width, is_down, below } = &unrolled.count;
        let Blocks { many, rest, last, out, used } = self.blocks;
        // Its own values are others in each of its blocks.
        let names = self.used;
        let value = |id: u32| names.get(&id).filter(|_| !used.contains_key(&id)).copied().unwrap_or(id);
        let (number, truth) = (self.at.int_type(width), self.at.bool_type());
        let [none, some, rounds] =
            [0, ROUNDS - 1, ROUNDS].map(|value| self.at.int_constant(width, value.into()));

        self.at.push(Op::Label, &[unrolled.label]);
        let starts: Vec<u32> = unrolled.phis.iter().map(|phi| self.start(phi, &value)).collect();
        let (end, start) = (value(end), starts.get(counter).copied().unwrap_or(0));
        let (minuend, subtrahend) = if is_down { (start, end) } else { (end, start) };
        let all = self.at.emit(Op::ISub, number, &[minuend, subtrahend]);
        let left = self.at.emit(Op::BitwiseAnd, number, &[all, some]);
        let whole = self.at.emit(Op::ISub, number, &[all, left]);
        let step = if is_down { Op::ISub } else { Op::IAdd };
        let end_of_many = self.at.emit(step, number, &[start, whole]);
        let mut enough = self.decide(Op::UGreaterThanEqual, truth, &[all, rounds]);
        if let Some(below) = below {
            let is_below = self.decide(below, truth, &[start, end]);
            enough = self.decide(Op::LogicalAnd, truth, &[enough, is_below]);
        }
        self.at.push(Op::BranchConditional, &[enough, *many, *last]);

        self.at.push(Op::Label, &[*many]);
        let firsts: Vec<u32> = starts.iter().map(|_| self.at.fresh_id()).collect();
        let mut ids: HashMap<u32, u32> =
            unrolled.phis.iter().zip(&firsts).map(|(phi, first)| (phi.id, *first)).collect();
        let mut copies = vec![];
        for round in 0..ROUNDS {
            if round > 0 {
                let next = |phi: &Phi| (phi.id, renamed(&ids, &value, phi.next));
                ids = unrolled.phis.iter().map(next).collect();
            }
            for result in unrolled.round.iter().filter_map(Instruction::result_id) {
                let copy = self.at.fresh_id();
                decorations.copy(&mut self.at, copy, result, |_| true);
                ids.insert(result, copy);
            }
            copies.push(ids.clone());
        }
        let ends = |id: u32| renamed(&ids, &value, id);
        for ((phi, first), start) in unrolled.phis.iter().zip(&firsts).zip(&starts) {
            self.at.push(Op::Phi, &[phi.ty, *first, *start, unrolled.label, ends(phi.next), *many]);
        }
        let first = firsts.get(counter).copied().unwrap_or(0);
        for (round, ids) in (1..).zip(&copies) {
            for instruction in &unrolled.round {
                if instruction.result_id() == Some(next) {
                    // The assembler does not unroll a loop that adds one four times.
                    let rounds = self.at.int_constant(width, round);
                    self.at.push(step, &[number, renamed(ids, &value, next), first, rounds]);
                } else {
                    self.at.copy_mapped(instruction, |id| renamed(ids, &value, id));
                }
            }
        }
        let go_on = self.decide(Op::INotEqual, truth, &[ends(next), end_of_many]);
        self.at.push(Op::BranchConditional, &[go_on, *many, *rest]);

        self.at.push(Op::Label, &[*rest]);
        let done = self.decide(Op::IEqual, truth, &[left, none]);
        self.at.push(Op::BranchConditional, &[done, *out, *last]);

        self.at.push(Op::Label, &[*last]);
        for (phi, start) in unrolled.phis.iter().zip(&starts) {
            let from_many = [ends(phi.next), *rest];
            let own = [value(phi.next), *last];
            let pairs = [[*start, unrolled.label], from_many, own].concat();
            self.at.push(Op::Phi, &[&[phi.ty, phi.id], pairs.as_slice()].concat());
        }
        for instruction in &unrolled.round {
            self.at.copy_mapped(instruction, value);
        }
        let [yes, no] = if unrolled.on_true { [*last, *out] } else { [*out, *last] };
        self.at.push(Op::BranchConditional, &[unrolled.condition, yes, no]);

        self.at.push(Op::Label, &[*out]);
        for (id, outside) in used {
            if let Some(ty) = self.at.definitions().type_of(*id) {
                self.at.push(Op::Phi, &[ty, *outside, ends(*id), *rest, *id, *last]);
            }
        }
        self.at.push(Op::Branch, &[unrolled.exit]);
    }

    /// What a phi begins with.
    fn start(&mut self, phi: &Phi, value: &impl Fn(u32) -> u32) -> u32 {
        if let &[[start, _]] = phi.outer.as_slice() {
            return value(start);
        }
        let end = |label: &u32| self.ends.get(label).copied().unwrap_or(*label);
        let pairs: Vec<u32> = phi.outer.iter().flat_map(|[start, from]| [value(*start), end(from)]).collect();
        self.at.emit(Op::Phi, phi.ty, &pairs)
    }

    /// A condition, which is as uniform as that of the loop.
    fn decide(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.at.emit(op, ty, operands);
        self.decorations.copy(&mut self.at, id, self.unrolled.condition, |_| true);
        id
    }
}

/// The id in a copy of the loop; outside of the loop, what it is called there.
fn renamed(ids: &HashMap<u32, u32>, value: &impl Fn(u32) -> u32, id: u32) -> u32 {
    ids.get(&id).copied().unwrap_or_else(|| value(id))
}
