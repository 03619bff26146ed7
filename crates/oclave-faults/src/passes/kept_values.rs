//! Values that a rewritten function keeps in variables, since their definitions no longer dominate all uses.

use std::collections::{BTreeMap, BTreeSet};

use super::pieces::Pieces;
use oclave_spirv::{Cursor, Editor, Instruction, Op};

/// The variables of a function's values.
pub(crate) struct KeptValues {
    /// Value → its variable, and its type.
    variables: BTreeMap<u32, (u32, u32)>,
    /// Phi that becomes a variable → this variable.
    inlets: BTreeMap<u32, u32>,
}

/// A piece, and one whose phis became variables → what the end of the former stores for these: value, variable.
pub(crate) type Passed = BTreeMap<(usize, usize), Vec<(u32, u32)>>;

impl KeptValues {
    /// Variables for the kept values of a function, and for its phis that become variables.
    pub(crate) fn new(edit: &mut Editor<'_>, pieces: &Pieces<'_, '_>) -> Self {
        let mut variable = |ty| edit.variable(pieces.flow.function, ty, None);
        let variables = pieces.kept.iter().map(|(id, ty)| (*id, (variable(*ty), *ty))).collect();
        let phis = pieces.phis().filter(|(piece, _)| pieces.entered.contains(piece));
        let inlets = phis.filter_map(|(_, phi)| Some((phi.result_id()?, variable(phi.result_type()?))));
        Self { variables, inlets: inlets.collect() }
    }

    /// Writes the phis, with the new label of each piece. They take values that are loaded at the ends of pieces.
    pub(crate) fn write_phis(
        &self,
        edit: &mut Editor<'_>,
        pieces: &Pieces<'_, '_>,
        labels: &[u32],
    ) -> Passed {
        let ends = pieces.ends();
        let missing: BTreeSet<(u32, usize)> =
            pieces.phis().flat_map(|(piece, phi)| pieces.missing(phi, *piece)).collect();
        let mut loaded = BTreeMap::new();
        for (id, piece) in missing {
            let Some(end) = ends.get(&piece) else { continue };
            loaded.insert((id, piece), self.load(&mut edit.before(end), id));
        }
        let at_end = |id: u32, piece: usize| loaded.get(&(id, piece)).copied().unwrap_or(id);
        let (mut passed, mut starts) = (Passed::new(), BTreeMap::new());
        for (piece, phi) in pieces.phis() {
            let (Some(ty), Some(id), Some(label)) = (phi.result_type(), phi.result_id(), labels.get(*piece))
            else {
                continue;
            };
            if let Some(variable) = self.inlets.get(&id).copied() {
                for (value, from) in pieces.uses(phi, *piece) {
                    passed.entry((from, *piece)).or_default().push((at_end(value, from), variable));
                }
                edit.replace(phi, Op::Load, &[ty, id, variable]);
            } else {
                let pairs = pieces.uses(phi, *piece).into_iter();
                let pairs = pairs.filter_map(|(value, from)| Some([at_end(value, from), *labels.get(from)?]));
                let operands: Vec<u32> = [ty, id].into_iter().chain(pairs.flatten()).collect();
                edit.replace(phi, Op::Phi, &operands);
            }
            starts.insert(id, *label);
        }
        for (id, label) in starts {
            self.store(&mut edit.at_start(label), id);
        }
        passed
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
