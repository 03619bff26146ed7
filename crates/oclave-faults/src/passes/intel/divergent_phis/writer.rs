//! Writes values that depend on the work-item where others were: a zero is added that does. Pointers become another
//! one in a work-item that does not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::zeros::Zeros;
use super::{Changes, Values};
use crate::passes::Result;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{change_phi, is_largest, select};
use oclave_spirv::{BuiltIn, Cursor, Editor, Instruction, Module, Op};

/// The module with these changes of functions; `None` where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn write(
    values: &Values<'_, '_>,
    found: &[(u32, Changes<'_>)],
    address_bits: u32,
) -> Result<Option<Module>> {
    if found.is_empty() {
        return Ok(None);
    }
    let mut edit = Editor::new(values.definitions);
    let local = BuiltInVector::add(&mut edit, BuiltIn::LocalInvocationId, address_bits);
    for (function, changes) in found {
        change(&mut edit, values, &local, *function, changes);
    }
    Ok(edit.finish()?)
}

/// The block at whose end a value is changed, if not where the function begins, and the value.
type Place = (Option<u32>, u32);

fn change(
    edit: &mut Editor<'_>,
    values: &Values<'_, '_>,
    local: &BuiltInVector,
    function: u32,
    changes: &Changes<'_>,
) {
    let writer = Writer::begin(&mut edit.at_entry(function), values, local);
    let place = |value: u32, label: u32| ((!values.is_early(value)).then_some(label), value);
    let mut by_id: Vec<&Instruction<'_>> = changes.selects.iter().collect();
    by_id.sort_unstable_by_key(|select| select.result_id());
    let selected = by_id.into_iter().flat_map(|select| select.operands().iter().skip(1));
    let early = selected.filter(|value| values.is_early(**value)).map(|value| (None, *value));
    let mut numbers: BTreeMap<Place, usize> = BTreeMap::new();
    for place in changes.phis.iter().map(|((_, label), value)| place(*value, *label)).chain(early) {
        let number = numbers.len() + 1;
        numbers.entry(place).or_insert(number);
    }
    let mut count = numbers.len();
    let mut changed: BTreeMap<Place, u32> = BTreeMap::new();
    for ((label, value), number) in numbers {
        let mut at = match label {
            Some(label) => edit.at_end(label),
            None => edit.at_entry(function),
        };
        changed.insert((label, value), writer.write(&mut at, number, value));
    }
    for phi in changes.phis.keys().map(|(phi, _)| *phi).collect::<BTreeSet<u32>>() {
        let Some(instruction) = edit.definitions().instruction(phi) else { continue };
        change_phi(edit, &instruction, |from| {
            changed.get(&place(*changes.phis.get(&(phi, from))?, from)).copied()
        });
    }
    for select in &changes.selects {
        let (Some(ty), Some(id), &[condition, a, b]) =
            (select.result_type(), select.result_id(), select.operands())
        else {
            continue;
        };
        let mut at = edit.instead_of(select);
        let [a, b] = [a, b].map(|value| {
            changed.get(&(None, value)).copied().unwrap_or_else(|| {
                count += 1;
                writer.write(&mut at, count, value)
            })
        });
        at.push(Op::Select, &[ty, id, condition, a, b]);
    }
}

/// What the changed values of a function are made with.
struct Writer<'a, 'd, 'm> {
    values: &'a Values<'d, 'm>,
    zeros: Zeros,
    /// The condition that is never true.
    never: u32,
}

impl<'a, 'd, 'm> Writer<'a, 'd, 'm> {
    /// Writes what the values of a function are changed with.
    fn begin(at: &mut Cursor<'_, '_>, values: &'a Values<'d, 'm>, local: &BuiltInVector) -> Self {
        Self { values, zeros: Zeros::write(at, local), never: is_largest(at, local) }
    }

    /// Writes what a value becomes; `number` is that of the changed value in the function.
    fn write(&self, at: &mut Cursor<'_, '_>, number: usize, value: u32) -> u32 {
        let types = &self.values.types;
        let Some(ty) = self.values.definitions.type_of(value) else { return value };
        self.zeros.add(at, types, number, (value, ty)).unwrap_or_else(|| {
            let result = at.fresh_id();
            select(at, types, self.never, [value, ty, result]);
            result
        })
    }
}
