//! Values that go from block to block in variables.
//!
//! Where the control flow of a kernel changes, a block may use a value that another block calculates on some paths only. Variables need no
//! phis there. Drivers make values of them again.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::Op;

use super::barriers::reachable_without;
use super::builder::{TypeId, ValueId};
use super::code::{Inst, effect, ids, targets};
use super::function::Lower;

/// A variable for values of a type.
#[derive(Clone, Copy)]
struct Variable {
    id: ValueId,
    ty: TypeId,
    /// The type of the variable: bytes for booleans.
    stored: TypeId,
}

impl Lower<'_, '_> {
    /// Puts all values that other blocks use into variables, phis included.
    pub(super) fn keep_all_in_variables(&mut self) {
        // Block → what it stores at its end.
        let mut stores: BTreeMap<u32, Vec<Inst>> = BTreeMap::new();
        for at in 0..self.blocks.len() {
            let phis = self.blocks.get_mut(at).map(|block| std::mem::take(&mut block.phis));
            let mut loads = Vec::new();
            for phi in phis.into_iter().flatten() {
                let Some((ty, id)) = phi.result else { continue };
                let variable = self.variable_for(ty);
                for pair in phi.operands.chunks_exact(2) {
                    if let &[value, from] = pair {
                        stores.entry(from).or_default().extend(self.store_value(value, variable));
                    }
                }
                loads.extend(self.load_value(id, variable));
            }
            if let Some(block) = self.blocks.get_mut(at) {
                block.code.splice(0..0, loads);
            }
        }
        for block in &mut self.blocks {
            block.code.extend(stores.remove(&block.label.word()).into_iter().flatten());
        }
        self.demote_where(|_, _| true);
    }

    /// Puts values that do not dominate all their uses into variables.
    pub(super) fn demote(&mut self) {
        let (_, edges) = self.edges();
        let mut without: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        self.demote_where(|own, places| {
            let reached = without.entry(own).or_insert_with(|| reachable_without(&edges, own));
            !places.is_disjoint(reached)
        });
    }

    /// Puts some values into variables, by their block and the others that use them.
    fn demote_where(&mut self, mut is_demoted: impl FnMut(usize, &BTreeSet<usize>) -> bool) {
        let (index, _) = self.edges();
        let mut defined: BTreeMap<u32, (usize, TypeId)> = BTreeMap::new();
        for (at, block) in self.blocks.iter().enumerate() {
            for (ty, id) in block.phis.iter().chain(&block.code).filter_map(|inst| inst.result) {
                defined.insert(id.word(), (at, ty));
            }
        }
        // Value → the blocks other than its own that use it.
        let mut used: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        let mut note = |id: u32, at: usize| {
            if defined.get(&id).is_some_and(|(own, _)| *own != at) {
                used.entry(id).or_default().insert(at);
            }
        };
        for (at, block) in self.blocks.iter().enumerate() {
            for inst in block.code.iter().chain(&block.end) {
                for place in ids(inst.op, inst.operands.len()) {
                    inst.operands.get(place).into_iter().for_each(|id| note(*id, at));
                }
            }
            for pair in block.phis.iter().flat_map(|phi| phi.operands.chunks_exact(2)) {
                if let [value, from] = pair
                    && let Some(from) = index.get(from)
                {
                    note(*value, *from);
                }
            }
        }
        let demoted: Vec<(u32, usize, TypeId, BTreeSet<usize>)> = used
            .into_iter()
            .filter_map(|(id, places)| {
                let &(own, ty) = defined.get(&id)?;
                is_demoted(own, &places).then_some((id, own, ty, places))
            })
            .collect();
        for (id, own, ty, places) in demoted {
            self.demote_value(id, own, ty, &places, &index);
        }
    }

    /// Stores a value where it is calculated, and loads it in the blocks that use it.
    fn demote_value(
        &mut self,
        id: u32,
        own: usize,
        ty: TypeId,
        places: &BTreeSet<usize>,
        index: &BTreeMap<u32, usize>,
    ) {
        let variable = self.variable_for(ty);
        let store = self.store_value(id, variable);
        if let Some(block) = self.blocks.get_mut(own) {
            let is_it = |inst: &Inst| inst.result.is_some_and(|(_, result)| result.word() == id);
            let after = block.code.iter().position(is_it).map_or(0, |position| position + 1);
            block.code.splice(after..after, store);
        }
        for &place in places {
            let new = self.output.builder.value();
            let load = self.load_value(new, variable);
            let Some(block) = self.blocks.get_mut(place) else { continue };
            for inst in block.code.iter_mut().chain(&mut block.end) {
                for at in ids(inst.op, inst.operands.len()) {
                    if let Some(word) = inst.operands.get_mut(at).filter(|word| **word == id) {
                        *word = new.word();
                    }
                }
            }
            block.code.splice(0..0, load);
            for target in targets(block).iter().filter_map(|label| index.get(label).copied()) {
                let from = self.blocks.get(place).map_or(0, |block| block.label.word());
                let Some(target) = self.blocks.get_mut(target) else { continue };
                for phi in &mut target.phis {
                    for pair in phi.operands.chunks_exact_mut(2) {
                        if let [value, label] = pair
                            && (*value, *label) == (id, from)
                        {
                            *value = new.word();
                        }
                    }
                }
            }
        }
    }

    fn variable_for(&mut self, ty: TypeId) -> Variable {
        let stored = if ty == self.bool() { self.int(8) } else { ty };
        Variable { id: self.variable(stored, None), ty, stored }
    }

    fn store_value(&mut self, value: u32, variable: Variable) -> Vec<Inst> {
        let Variable { id, ty, stored } = variable;
        if ty == stored {
            return vec![effect(Op::Store, &[id.word(), value])];
        }
        let (zero, one) = (self.number(8, 0), self.number(8, 1));
        let byte = self.output.builder.value();
        let operands = vec![value, one.word(), zero.word()];
        vec![
            Inst { op: Op::Select, result: Some((stored, byte)), operands },
            effect(Op::Store, &[id.word(), byte.word()]),
        ]
    }

    fn load_value(&mut self, result: ValueId, variable: Variable) -> Vec<Inst> {
        let Variable { id, ty, stored } = variable;
        let load = |result| Inst { op: Op::Load, result: Some((stored, result)), operands: vec![id.word()] };
        if ty == stored {
            return vec![load(result)];
        }
        let (zero, byte) = (self.number(8, 0), self.output.builder.value());
        let operands = vec![byte.word(), zero.word()];
        vec![load(byte), Inst { op: Op::INotEqual, result: Some((ty, result)), operands }]
    }
}
