//! Writes values that depend on the work-item where others were: a zero is added that does. Pointers become another
//! one in a work-item that does not exist.

use std::collections::HashMap;

use super::zeros::Zeros;
use super::{Changes, Values};
use crate::passes::Result;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{copy_phi, is_largest, select};
use oclave_spirv::{BuiltIn, Definitions, Instruction, Module, Op, Rewriter, is_block_end};

/// The module with these changes.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn write(
    definitions: &Definitions<'_>,
    values: &Values<'_, '_>,
    found: &HashMap<u32, Changes>,
    address_bits: u32,
) -> Result<Module> {
    let mut new = Rewriter::new(definitions);
    let local = BuiltInVector::of(&mut new, BuiltIn::LocalInvocationId, address_bits);
    let mut writer =
        Writer { values, local, changes: None, begun: None, changed: HashMap::new(), count: 0, label: 0 };
    let mut is_done = false;
    for instruction in definitions.module().instructions() {
        match instruction.op() {
            Some(Op::Function) => {
                writer.changes = instruction.result_id().and_then(|id| found.get(&id));
                writer.begun = None;
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
    Ok(new.finish()?)
}

struct Writer<'a, 'd, 'm> {
    values: &'a Values<'d, 'm>,
    local: BuiltInVector,
    changes: Option<&'a Changes>,
    /// What the function begins with.
    begun: Option<Begun>,
    /// Values and the labels of the blocks that change them → what they become. Constants and
    /// parameters are changed where the function begins, with 0 for a label.
    changed: HashMap<(u32, u32), Changed>,
    /// The number of changed values in the function.
    count: usize,
    label: u32,
}

/// What the changed values of a function are made with.
struct Begun {
    /// The condition that is never true.
    never: u32,
    zeros: Zeros,
}

#[derive(Clone, Copy)]
struct Changed {
    id: u32,
    /// A number in the function.
    number: usize,
}

impl Writer<'_, '_, '_> {
    fn place(&self, value: u32, label: u32) -> (u32, u32) {
        (value, if self.values.is_early(value) { 0 } else { label })
    }

    /// Takes ids for all changed values of a function: phis may use them before they are written.
    fn reserve(&mut self, new: &mut Rewriter<'_>) {
        self.changed.clear();
        self.count = 0;
        let Some(changes) = self.changes else { return };
        for ((_, label), value) in &changes.phis {
            self.reserve_one(new, self.place(*value, *label));
        }
        for value in changes.selects.values().flatten().filter(|value| self.values.is_early(**value)) {
            self.reserve_one(new, (*value, 0));
        }
    }

    fn reserve_one(&mut self, new: &mut Rewriter<'_>, place: (u32, u32)) {
        if !self.changed.contains_key(&place) {
            let changed = self.fresh(new);
            self.changed.insert(place, changed);
        }
    }

    fn fresh(&mut self, new: &mut Rewriter<'_>) -> Changed {
        self.count += 1;
        Changed { id: new.fresh_id(), number: self.count }
    }

    /// Writes what the values are changed with, and what is changed where the function begins.
    fn begin(&mut self, new: &mut Rewriter<'_>) {
        if self.begun.is_some() {
            return;
        }
        let zeros = Zeros::write(new, &self.local);
        self.begun = Some(Begun { never: is_largest(new, &self.local), zeros });
        self.write_all(new, 0);
    }

    /// Writes what is changed where the block ends.
    fn end(&self, new: &mut Rewriter<'_>) {
        if self.label != 0 {
            self.write_all(new, self.label);
        }
    }

    fn write_all(&self, new: &mut Rewriter<'_>, label: u32) {
        let here = self.changed.iter().filter(|((_, at), _)| *at == label);
        let mut here: Vec<(u32, Changed)> = here.map(|((value, _), changed)| (*value, *changed)).collect();
        here.sort_unstable_by_key(|(value, _)| *value);
        for (value, changed) in here {
            self.change(new, value, changed);
        }
    }

    fn change(&self, new: &mut Rewriter<'_>, value: u32, changed: Changed) {
        let Some((begun, ty)) = self.begun.as_ref().zip(self.values.definitions.type_of(value)) else {
            return;
        };
        let (types, value) = (&self.values.types, [value, ty, changed.id]);
        if !begun.zeros.add(new, types, changed.number, value) {
            select(new, types, begun.never, value);
        }
    }

    fn of_phi(&self, phi: u32, from: u32) -> Option<u32> {
        let value = self.changes?.phis.get(&(phi, from))?;
        self.changed.get(&self.place(*value, from)).map(|changed| changed.id)
    }

    fn select(&mut self, new: &mut Rewriter<'_>, instruction: &Instruction<'_>) {
        let id = instruction.result_id();
        let values = id.and_then(|id| self.changes?.selects.get(&id).copied());
        let (Some(values), Some(ty), &[condition, ..]) =
            (values, instruction.result_type(), instruction.operands())
        else {
            return new.copy(instruction);
        };
        let [first, second] = values.map(|value| match self.changed.get(&(value, 0)) {
            Some(early) => early.id,
            None => {
                let fresh = self.fresh(new);
                self.change(new, value, fresh);
                fresh.id
            }
        });
        new.replace(instruction, Op::Select, &[ty, id.unwrap_or(0), condition, first, second]);
    }
}
