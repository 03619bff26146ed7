//! The pieces of a function that is cut, and the values that some of them need from others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use oclave_spirv::analysis::control_flow::{Flow, Tree};
use oclave_spirv::{Definitions, Instruction, Op, Role};

/// A function that is cut into pieces. Each is a block, or a part of one.
pub(crate) struct Pieces<'f, 'm> {
    definitions: &'f Definitions<'m>,
    pub(crate) flow: &'f Flow<'m>,
    /// The instructions behind labels, each with its piece.
    pub(crate) code: Vec<(usize, Instruction<'m>)>,
    /// Label of a block → its last piece.
    pub(crate) last: BTreeMap<u32, usize>,
    /// The pieces whose phis become variables.
    pub(crate) entered: BTreeSet<usize>,
    /// Which pieces of the new function dominate which.
    dominators: Tree,
    /// The piece of each value that may not reach all others.
    defined: HashMap<u32, usize>,
    /// Values that are used in pieces that they do not reach, with their types.
    pub(crate) kept: BTreeMap<u32, u32>,
}

impl<'f, 'm> Pieces<'f, 'm> {
    /// `None` where no variable can hold a value that needs one.
    pub(crate) fn new(
        definitions: &'f Definitions<'m>,
        flow: &'f Flow<'m>,
        code: Vec<(usize, Instruction<'m>)>,
        last: BTreeMap<u32, usize>,
        entered: BTreeSet<usize>,
        dominators: Tree,
    ) -> Option<Self> {
        // Variables come before all pieces.
        let values = code.iter().filter(|(_, i)| !i.is(Op::Variable));
        let defined = values.filter_map(|(piece, i)| Some((i.result_id()?, *piece))).collect();
        let kept = BTreeMap::new();
        let mut pieces = Self { definitions, flow, code, last, entered, dominators, defined, kept };
        pieces.kept = pieces.find_kept()?;
        Some(pieces)
    }

    fn find_kept(&self) -> Option<BTreeMap<u32, u32>> {
        let storable = |ty: u32| self.definitions.is_storable(ty).then_some(ty);
        let mut kept = BTreeMap::new();
        for (piece, instruction) in &self.code {
            if instruction.is(Op::Phi) && self.entered.contains(piece) {
                storable(instruction.result_type()?)?;
            }
            for (id, _) in self.missing(instruction, *piece) {
                kept.insert(id, storable(self.definitions.type_of(id)?)?);
            }
        }
        Some(kept)
    }

    /// The phis, each with its piece.
    pub(crate) fn phis(&self) -> impl Iterator<Item = &(usize, Instruction<'m>)> {
        self.code.iter().filter(|(_, i)| i.is(Op::Phi))
    }

    /// The instructions that end blocks, by their pieces.
    pub(crate) fn ends(&self) -> BTreeMap<usize, Instruction<'m>> {
        let blocks = self.flow.blocks.iter();
        blocks.filter_map(|block| Some((*self.last.get(&block.label)?, block.terminator?))).collect()
    }

    /// The values that an instruction uses, and the piece in which, or at whose end, it does.
    pub(crate) fn uses(&self, instruction: &Instruction<'_>, piece: usize) -> Vec<(u32, usize)> {
        if instruction.is(Op::Phi) {
            let pairs = instruction.operands().chunks_exact(2);
            return pairs.filter_map(|pair| Some((*pair.first()?, *self.last.get(pair.get(1)?)?))).collect();
        }
        let mut found = Vec::new();
        instruction.visit_ids(self.definitions, |index, role| {
            if role == Role::Id
                && let Some(id) = instruction.word(index)
            {
                found.push((id, piece));
            }
        });
        found
    }

    /// Those of these values that do not reach the piece.
    pub(crate) fn missing(
        &self,
        instruction: &Instruction<'_>,
        piece: usize,
    ) -> impl Iterator<Item = (u32, usize)> {
        let reaches = |id: u32, to: usize| {
            self.defined.get(&id).is_none_or(|from| self.dominators.is_ancestor(*from, to))
        };
        self.uses(instruction, piece).into_iter().filter(move |(id, to)| !reaches(*id, *to))
    }
}
