//! Writes second phis of loops.

use std::collections::HashMap;

use super::single_rounds::Single;
use super::writer::{is_never, push_other, select};
use crate::Result;
use crate::load::built_in_vector::BuiltInVector;
use oclave_spirv::{BuiltIn, Definitions, Instruction, Module, Op, Rewriter, TypeTable, is_block_end};

/// The module with second phis of these loops.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(super) fn write(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    found: &[Single],
    address_bits: u32,
) -> Result<Module> {
    let mut new = Rewriter::new(definitions);
    let size = BuiltInVector::of(&mut new, BuiltIn::WorkgroupSize, address_bits);
    let mut ids = Ids::new(&mut new, definitions, found);
    let (mut label, mut is_done) = (0, false);
    for instruction in definitions.module().instructions() {
        let op = instruction.op();
        if op.is_some_and(is_block_end) && !is_done {
            is_done = true;
            for [value, ty, result] in ids.ends.remove(&label).into_iter().flatten() {
                let value = ids.behind(value, label, label).unwrap_or(value);
                push_other(&mut new, types, [ty, result, value]);
            }
        }
        match op {
            Some(Op::EntryPoint) => size.copy_entry_point(&mut new, &instruction),
            Some(Op::Label) => {
                (label, is_done) = (instruction.result_id().unwrap_or(0), false);
                new.copy(&instruction);
            }
            Some(Op::Phi) => ids.copy_phi(&mut new, &instruction, label),
            Some(Op::BranchConditional) if ids.exits.contains_key(&label) => {
                ids.leave(&mut new, types, &size, &instruction, label);
            }
            // Before code, the label is 0 or that of an earlier function.
            _ if label != 0 => {
                new.copy_mapped(&instruction, |id| ids.behind(id, label, label).unwrap_or(id));
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(new.finish()?)
}

/// The new values.
struct Ids<'f> {
    /// Phi → its loop, its type, the second phi, and the value behind the loop.
    phis: HashMap<u32, (&'f Single, [u32; 3])>,
    /// Phi and block → what the second phi takes from there.
    others: HashMap<(u32, u32), u32>,
    /// Block → what is inverted at its end: the value, its type and the result.
    ends: HashMap<u32, Vec<[u32; 3]>>,
    /// Start of a loop → its loop, and the block that begins behind it.
    exits: HashMap<u32, (&'f Single, u32)>,
}

impl<'f> Ids<'f> {
    fn new(new: &mut Rewriter<'_>, definitions: &Definitions<'_>, found: &'f [Single]) -> Self {
        let (mut phis, mut others, mut exits) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut ends: HashMap<u32, Vec<[u32; 3]>> = HashMap::new();
        for single in found {
            exits.insert(single.header, (single, new.fresh_id()));
            for &(phi, ty) in &single.phis {
                phis.insert(phi, (single, [ty, new.fresh_id(), new.fresh_id()]));
                let pairs = definitions.instruction(phi).map(|phi| phi.operands()).unwrap_or_default();
                for pair in pairs.chunks_exact(2) {
                    if let &[value, from] = pair
                        && single.labels.contains(&from)
                    {
                        others.entry((phi, from)).or_insert_with(|| {
                            let result = new.fresh_id();
                            ends.entry(from).or_default().push([value, ty, result]);
                            result
                        });
                    }
                }
            }
        }
        Self { phis, others, ends, exits }
    }

    /// What stands for a phi of a loop, where a way from one block to another is not in that loop.
    fn behind(&self, value: u32, from: u32, to: u32) -> Option<u32> {
        let (single, [_, _, result]) = self.phis.get(&value)?;
        let is_inside = single.labels.contains(&from) && single.labels.contains(&to);
        (!is_inside).then_some(*result)
    }

    /// Copies a phi, and writes the second one.
    fn copy_phi(&self, new: &mut Rewriter<'_>, phi: &Instruction<'_>, label: u32) {
        // Behind the opcode come the type and the result.
        let mut words = phi.words.get(1..).unwrap_or_default().to_vec();
        for pair in words.get_mut(2..).unwrap_or_default().chunks_exact_mut(2) {
            let [value, from] = pair else { continue };
            *value = self.behind(*value, *from, label).unwrap_or(*value);
            let exit = self.exits.get(from).filter(|(single, _)| single.exit == label);
            *from = exit.map_or(*from, |(_, exit)| *exit);
        }
        new.replace(phi, Op::Phi, &words);
        let Some(id) = phi.result_id() else { return };
        let Some((_, [_, second, _])) = self.phis.get(&id) else { return };
        if let Some(result) = words.get_mut(1) {
            *result = *second;
        }
        for pair in words.get_mut(2..).unwrap_or_default().chunks_exact_mut(2) {
            if let [value, from] = pair {
                *value = self.others.get(&(id, *from)).copied().unwrap_or(*value);
            }
        }
        new.push(Op::Phi, &words);
    }

    /// Writes the end of the block that a loop begins with, and the block behind it.
    fn leave(
        &self,
        new: &mut Rewriter<'_>,
        types: &TypeTable<'_>,
        size: &BuiltInVector,
        branch: &Instruction<'_>,
        label: u32,
    ) {
        let Some((single, exit)) = self.exits.get(&label) else { return };
        let mut words = branch.operands().to_vec();
        for word in words.iter_mut().skip(1).take(2).filter(|word| **word == single.exit) {
            *word = *exit;
        }
        if let Some(condition) = words.first_mut() {
            *condition = self.behind(*condition, label, label).unwrap_or(*condition);
        }
        new.replace(branch, Op::BranchConditional, &words);
        new.push(Op::Label, &[*exit]);
        let never = is_never(new, types, size, single.number);
        for (phi, _) in &single.phis {
            if let Some((_, [ty, second, result])) = self.phis.get(phi) {
                select(new, types, never, [(*second, *ty), (*phi, *ty)], *result);
            }
        }
        new.push(Op::Branch, &[single.exit]);
    }
}
