//! Wide switches as searches by halves.
//!
//! Mesa makes an `if` of each block that a switch leads to. Each is in the `else` of the one
//! before. llvmpipe keeps 80 nested conditions, and forgets deeper ones. So a switch with 80 such
//! blocks is wrong there. A search by halves nests as deep as a logarithm:
//!
//! ```text
//! if (value < 8) { if (value < 4) switch (value) { 0 … 3 } else switch (value) { 4 … 7 } } else …
//! ```

use std::collections::{BTreeSet, HashMap};

use crate::passes::Result;
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Cursor, Definitions, Editor, Instruction, Module, Op, Type, TypeTable};

/// The most blocks that a switch leads to, its default not counted, to stay as it is.
const MOST_TARGETS: usize = 8;
/// The most cases of the switches at the end of a search.
const CASES_AT_END: usize = 4;

/// The module with searches for wide switches; `None` where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn halve(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    for flow in analyses.flows() {
        let mut searches: HashMap<u32, Search<'_>> = HashMap::new();
        for block in &flow.blocks {
            if let Some(switch) = block.terminator.filter(|end| end.is(Op::Switch))
                && let Some(search) = Search::of(definitions, &types, &switch, block.label, &mut edit)
            {
                search.write(&mut edit.instead_of(&switch));
                searches.insert(block.label, search);
            }
        }
        if searches.is_empty() {
            continue;
        }
        for (phi, block) in &flow.phis {
            let (Some(phi), Some(block)) = (definitions.instruction(*phi), flow.blocks.get(*block)) else {
                continue;
            };
            change_phi(&mut edit, &phi, block.label, &searches);
        }
    }
    Ok(edit.finish()?)
}

/// A case of a switch.
struct Case<'m> {
    /// The literal, without bits beyond its type.
    key: u64,
    literal: &'m [u32],
    target: u32,
}

/// A block of a search.
enum Node {
    /// Keys below this one are in the first block, others in the second.
    Half(u64, [u32; 2]),
    /// A switch over cases from one place to another.
    End(usize, usize),
}

/// What is written for a switch.
struct Search<'m> {
    selector: u32,
    width: u32,
    default: u32,
    /// In the order of their keys.
    cases: Vec<Case<'m>>,
    /// The first is in the block of the switch; each other has a label.
    nodes: Vec<(u32, Node)>,
}

impl<'m> Search<'m> {
    /// `None` for a switch that stays as it is.
    fn of(
        definitions: &Definitions<'_>,
        types: &TypeTable<'_>,
        switch: &Instruction<'m>,
        label: u32,
        edit: &mut Editor<'_>,
    ) -> Option<Self> {
        let &[selector, default, ref listed @ ..] = switch.operands() else { return None };
        let Type::Int { width } = types.ty(definitions.type_of(selector)?)? else { return None };
        if !matches!(width, 8 | 16 | 32 | 64) {
            return None;
        }
        let words = definitions.literal_words(selector);
        let case = |words: &'m [u32]| {
            let (target, literal) = words.split_last()?;
            let high = literal.get(1).copied().unwrap_or(0);
            let key = u64::from(*literal.first()?) | u64::from(high) << 32;
            Some(Case { key: key & (u64::MAX >> (64 - width)), literal, target: *target })
        };
        let mut cases: Vec<Case<'m>> = listed.chunks_exact(words + 1).filter_map(case).collect();
        let targets: BTreeSet<u32> =
            cases.iter().map(|case| case.target).filter(|target| *target != default).collect();
        if targets.len() <= MOST_TARGETS {
            return None;
        }
        cases.sort_by_key(|case| case.key);
        let mut search = Self { selector, width, default, cases, nodes: Vec::new() };
        search.divide(label, edit);
        Some(search)
    }

    fn divide(&mut self, label: u32, edit: &mut Editor<'_>) {
        let mut open = vec![(label, 0_usize, self.cases.len())];
        while let Some((label, from, to)) = open.pop() {
            let middle = from.midpoint(to);
            match self.cases.get(middle) {
                Some(case) if to - from > CASES_AT_END => {
                    let halves = [edit.fresh_id(), edit.fresh_id()];
                    self.nodes.push((label, Node::Half(case.key, halves)));
                    let [low, high] = halves;
                    open.extend([(high, middle, to), (low, from, middle)]);
                }
                _ => self.nodes.push((label, Node::End(from, to))),
            }
        }
    }

    fn write(&self, at: &mut Cursor<'_, '_>) {
        let truth = at.bool_type();
        for (number, (label, node)) in self.nodes.iter().enumerate() {
            if number > 0 {
                at.push(Op::Label, &[*label]);
            }
            match node {
                Node::Half(key, [low, high]) => {
                    let key = at.int_constant(self.width, *key);
                    let is_below = at.emit(Op::ULessThan, truth, &[self.selector, key]);
                    at.push(Op::BranchConditional, &[is_below, *low, *high]);
                }
                Node::End(from, to) => {
                    let mut operands = vec![self.selector, self.default];
                    for case in self.cases.get(*from..*to).unwrap_or_default() {
                        operands.extend_from_slice(case.literal);
                        operands.push(case.target);
                    }
                    at.push(Op::Switch, &operands);
                }
            }
        }
    }

    /// The labels of the blocks that lead to a block.
    fn leading_to(&self, target: u32) -> impl Iterator<Item = u32> {
        self.nodes.iter().filter_map(move |(label, node)| {
            let Node::End(from, to) = node else { return None };
            let cases = self.cases.get(*from..*to).unwrap_or_default();
            let leads = target == self.default || cases.iter().any(|case| case.target == target);
            leads.then_some(*label)
        })
    }
}

/// Lets a phi of a block take from the ends of a search what it took from the switch.
fn change_phi(edit: &mut Editor<'_>, phi: &Instruction<'_>, block: u32, searches: &HashMap<u32, Search<'_>>) {
    let mut operands: Vec<u32> = phi.result_type().into_iter().chain(phi.result_id()).collect();
    let mut seen = BTreeSet::new();
    for pair in phi.operands().chunks_exact(2) {
        let &[value, from] = pair else { continue };
        match searches.get(&from) {
            // Some modules have a pair for each case.
            Some(search) if seen.insert(from) => {
                operands.extend(search.leading_to(block).flat_map(|label| [value, label]));
            }
            Some(_) => {}
            None => operands.extend([value, from]),
        }
    }
    if !seen.is_empty() {
        edit.replace(phi, Op::Phi, &operands);
    }
}
