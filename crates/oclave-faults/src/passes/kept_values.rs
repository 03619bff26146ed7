//! Values that a rewritten function keeps in variables, since their definitions no longer dominate all uses.

use std::collections::BTreeMap;

use oclave_spirv::{Cursor, Editor, Instruction, Op};

/// The variables of a function's values.
pub(crate) struct KeptValues {
    /// Value → its variable, and its type.
    variables: BTreeMap<u32, (u32, u32)>,
}

impl KeptValues {
    /// Variables of a function for these values; `types` has the type of each.
    pub(crate) fn new(edit: &mut Editor<'_>, function: u32, types: &BTreeMap<u32, u32>) -> Self {
        let variables = types.iter().map(|(id, ty)| (*id, (edit.variable(function, *ty, None), *ty)));
        Self { variables: variables.collect() }
    }

    /// Stores a value if it is kept.
    pub(crate) fn store(&self, at: &mut Cursor<'_, '_>, id: u32) {
        if let Some((variable, _)) = self.variables.get(&id) {
            at.push(Op::Store, &[*variable, id]);
        }
    }

    /// Loads a value if it is kept, and gives the id of the loaded one.
    pub(crate) fn load(&self, at: &mut Cursor<'_, '_>, id: u32) -> u32 {
        match self.variables.get(&id) {
            Some((variable, ty)) => at.emit(Op::Load, *ty, &[*variable]),
            None => id,
        }
    }

    /// Loads the values `loaded` before an instruction that uses them. Stores its result if that is kept. `replaced` has more ids that the
    /// instruction uses, each with the one that takes its place.
    pub(crate) fn change(
        &self,
        edit: &mut Editor<'_>,
        instruction: &Instruction<'_>,
        loaded: impl Iterator<Item = u32>,
        mut replaced: BTreeMap<u32, u32>,
    ) {
        for id in loaded {
            replaced.entry(id).or_insert_with(|| self.load(&mut edit.before(instruction), id));
        }
        if !replaced.is_empty() {
            let other = |id: u32| replaced.get(&id).copied().unwrap_or(id);
            edit.instead_of(instruction).copy_mapped(instruction, other);
        }
        instruction.result_id().into_iter().for_each(|id| self.store(&mut edit.after(instruction), id));
    }
}
