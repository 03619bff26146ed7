//! Values that a rewritten function keeps in variables, since their definitions no longer dominate all uses.

use std::collections::BTreeMap;

use oclave_spirv::{Op, Rewriter};

/// The variables of a function's values.
pub(crate) struct KeptValues {
    /// Value → its variable, and its type.
    variables: BTreeMap<u32, (u32, u32)>,
}

impl KeptValues {
    /// Variables for these values; `types` has the type of each.
    pub(crate) fn new(new: &mut Rewriter<'_>, types: &BTreeMap<u32, u32>) -> Self {
        Self { variables: types.iter().map(|(id, ty)| (*id, (new.fresh_id(), *ty))).collect() }
    }

    /// The variables, each with the type of its value.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (u32, u32)> {
        self.variables.values().copied()
    }

    /// Stores a value if it is kept.
    pub(crate) fn store(&self, new: &mut Rewriter<'_>, id: u32) {
        if let Some((variable, _)) = self.variables.get(&id) {
            new.push(Op::Store, &[*variable, id]);
        }
    }

    /// Loads a value as `loaded` if it is kept.
    pub(crate) fn load(&self, new: &mut Rewriter<'_>, id: u32, loaded: u32) {
        if let Some((variable, ty)) = self.variables.get(&id) {
            new.push(Op::Load, &[*ty, loaded, *variable]);
        }
    }
}
