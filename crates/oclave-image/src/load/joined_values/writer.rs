//! Writes values that depend on the work-item where others were.

use std::collections::HashMap;

use super::super::built_in_vector::BuiltInVector;
use super::super::never::{copy_phi, is_largest, select};
use super::{Changes, Values};
use crate::Result;
use crate::spirv::{BuiltIn, Definitions, Instruction, Module, Op, Rewriter, is_block_end};

/// The module with these changes.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(in crate::load) fn write(
    definitions: &Definitions<'_>,
    values: &Values<'_, '_>,
    found: &HashMap<u32, Changes>,
    address_bits: u32,
) -> Result<Module> {
    let mut new = Rewriter::new(definitions);
    let local = BuiltInVector::of(&mut new, BuiltIn::LocalInvocationId, address_bits);
    let mut writer = Writer { values, local, changes: None, never: None, changed: HashMap::new(), label: 0 };
    let mut is_done = false;
    for instruction in definitions.module().instructions() {
        match instruction.op() {
            Some(Op::Function) => {
                writer.changes = instruction.result_id().and_then(|id| found.get(&id));
                writer.never = None;
                writer.reserve(&mut new);
            }
            Some(Op::Label) => (writer.label, is_done) = (instruction.result_id().unwrap_or(0), false),
            Some(Op::Variable | Op::FunctionParameter | Op::Line | Op::NoLine) | None => {}
            _ if writer.changes.is_some() && writer.label != 0 => writer.begin(&mut new),
            _ => {}
        }
        if instruction.op().is_some_and(is_block_end) && !is_done {
            is_done = true;
            writer.end(&mut new);
        }
        match instruction.op() {
            Some(Op::Phi) => {
                let id = instruction.result_id().unwrap_or(0);
                copy_phi(&mut new, &instruction, |from| writer.of_phi(id, from));
            }
            Some(Op::Select) => writer.select(&mut new, &instruction),
            Some(Op::EntryPoint) => writer.local.copy_entry_point(&mut new, &instruction),
            Some(Op::FunctionEnd) => {
                (writer.changes, writer.label) = (None, 0);
                new.copy(&instruction);
            }
            _ => new.copy(&instruction),
        }
    }
    new.finish()
}

struct Writer<'a, 'd, 'm> {
    values: &'a Values<'d, 'm>,
    local: BuiltInVector,
    changes: Option<&'a Changes>,
    /// The condition that is never true, in this function.
    never: Option<u32>,
    /// Values and the labels of the blocks that change them → what they become. Constants and
    /// parameters are changed where the function begins, with 0 for a label.
    changed: HashMap<(u32, u32), u32>,
    label: u32,
}

impl Writer<'_, '_, '_> {
    fn place(&self, value: u32, label: u32) -> (u32, u32) {
        (value, if self.values.is_early(value) { 0 } else { label })
    }

    /// Takes ids for all changed values of a function: phis may use them before they are written.
    fn reserve(&mut self, new: &mut Rewriter<'_>) {
        self.changed.clear();
        let Some(changes) = self.changes else { return };
        for ((_, label), value) in &changes.phis {
            let place = self.place(*value, *label);
            self.changed.entry(place).or_insert_with(|| new.fresh_id());
        }
        for value in changes.selects.values().flatten().filter(|value| self.values.is_early(**value)) {
            self.changed.entry((*value, 0)).or_insert_with(|| new.fresh_id());
        }
    }

    /// Writes the condition and what is changed where the function begins.
    fn begin(&mut self, new: &mut Rewriter<'_>) {
        if self.never.is_some() {
            return;
        }
        self.never = Some(is_largest(new, &self.local));
        self.write_all(new, 0);
    }

    /// Writes what is changed where the block ends.
    fn end(&self, new: &mut Rewriter<'_>) {
        if self.label != 0 {
            self.write_all(new, self.label);
        }
    }

    fn write_all(&self, new: &mut Rewriter<'_>, label: u32) {
        let mut here: Vec<(u32, u32)> = self
            .changed
            .iter()
            .filter(|((_, at), _)| *at == label)
            .map(|((value, _), id)| (*value, *id))
            .collect();
        here.sort_unstable();
        for (value, id) in here {
            self.change(new, value, id);
        }
    }

    fn change(&self, new: &mut Rewriter<'_>, value: u32, result: u32) {
        let ty = self.values.definitions.type_of(value);
        if let (Some(never), Some(ty)) = (self.never, ty) {
            select(new, &self.values.types, never, [value, ty, result]);
        }
    }

    fn of_phi(&self, phi: u32, from: u32) -> Option<u32> {
        let value = self.changes?.phis.get(&(phi, from))?;
        self.changed.get(&self.place(*value, from)).copied()
    }

    fn select(&self, new: &mut Rewriter<'_>, instruction: &Instruction<'_>) {
        let id = instruction.result_id();
        let values = id.and_then(|id| self.changes?.selects.get(&id).copied());
        let (Some(values), Some(ty), &[condition, ..]) =
            (values, instruction.result_type(), instruction.operands())
        else {
            return new.copy(instruction);
        };
        let [first, second] = values.map(|value| match self.changed.get(&(value, 0)) {
            Some(early) => *early,
            None => {
                let fresh = new.fresh_id();
                self.change(new, value, fresh);
                fresh
            }
        });
        new.replace(instruction, Op::Select, &[ty, id.unwrap_or(0), condition, first, second]);
    }
}
