//! Second phis where two ways that load something meet.
//!
//! LLVM 18's `instcombine` loads behind both ways, if they load in the same way and write nothing after
//! that:
//!
//! ```text
//! if (c) { v = in[a] * 3; } else { w = f(w); v = in[b] * 3; w = g(w); }
//! ```
//!
//! In groups of three and more, PoCL 6.0 makes stores of phis, at the end of each way. There,
//! `instcombine` joins the two last stores, say those of `v`. At once, it also joins the products,
//! and comes to the loads. But the stores of `w` still follow these. It joins the stores of `w`
//! later, and only the second run joins the loads.
//!
//! Nothing is joined that has two uses. So the second phi takes `~v` from one of the ways.

use std::collections::{HashMap, HashSet};

use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::{Definitions, Instruction, Op, StorageClass, TypeTable, is_calculation};

use super::{Second, class_of};

/// How far loads are looked for behind a value.
const DEPTH: usize = 4;

/// The most other ways with which one is compared.
const WAYS: usize = 16;

/// Where loads and stores are.
pub(super) struct Accesses<'a, 'm> {
    definitions: &'a Definitions<'m>,
    /// The block of each load, by label.
    loads: HashMap<u32, u32>,
    /// Blocks that store something.
    storing: HashSet<u32>,
}

impl<'a, 'm> Accesses<'a, 'm> {
    pub(super) fn new(definitions: &'a Definitions<'m>, types: &TypeTable<'_>) -> Self {
        let (mut loads, mut storing, mut label) = (HashMap::new(), HashSet::new(), 0);
        for instruction in definitions.module().instructions() {
            match (instruction.op(), instruction.result_id()) {
                (Some(Op::Label), Some(id)) => label = id,
                (Some(Op::Store), _) => {
                    storing.insert(label);
                }
                // Ids and sizes are loaded first.
                (Some(Op::Load), Some(id)) => {
                    let class = instruction.operand(0).and_then(|from| class_of(definitions, types, from));
                    if class != Some(StorageClass::Input as u32) {
                        loads.insert(id, label);
                    }
                }
                _ => {}
            }
        }
        Self { definitions, loads, storing }
    }

    /// The phis of a block that take what ways to there load, with the ways on which a second phi takes
    /// something else.
    pub(super) fn at(&self, flow: &Flow<'_>, meeting: usize, phis: &[Instruction<'m>]) -> Vec<Second> {
        let Some(block) = flow.blocks.get(meeting) else { return Vec::new() };
        let label = |at: usize| flow.blocks.get(at).map(|block| block.label);
        let storing =
            block.predecessors.iter().filter_map(|at| label(*at)).filter(|way| self.storing.contains(way));
        // Without another store, nothing follows the loads.
        if phis.len() < 2 && storing.count() < 2 {
            return Vec::new();
        }
        let chain = std::iter::successors(Some(meeting), |at| flow.dominator(*at));
        let above: HashSet<u32> = chain.filter_map(label).collect();
        phis.iter().filter_map(|phi| self.of(phi, &above)).collect()
    }

    /// The same of one phi. `above` has the blocks that all ways lead through.
    fn of(&self, phi: &Instruction<'m>, above: &HashSet<u32>) -> Option<Second> {
        let mut second = Second::new(phi.result_id()?, phi.result_type()?, None);
        second.is_own = true;
        let mut values: Vec<(u32, bool)> = Vec::new();
        for pair in phi.operands().chunks_exact(2) {
            let &[value, from] = pair else { continue };
            // Of two ways that could be joined, one is inverted.
            let mut others = values.iter().rev().take(WAYS);
            let other = others.find(|(other, _)| self.load_alike(*other, value, DEPTH, above));
            let is_inverted = other.is_some_and(|(_, is_inverted)| !is_inverted);
            values.push((value, is_inverted));
            second.inverted.extend(is_inverted.then_some((from, value)));
        }
        (!second.inverted.is_empty()).then_some(second)
    }

    /// Whether two values are computed in the same way from two loads on different ways.
    fn load_alike(&self, first: u32, second: u32, depth: usize, above: &HashSet<u32>) -> bool {
        if let (Some(one), Some(other)) = (self.loads.get(&first), self.loads.get(&second)) {
            return one != other && !above.contains(one) && !above.contains(other);
        }
        let [Some(one), Some(other)] = [first, second].map(|id| self.definitions.instruction(id)) else {
            return false;
        };
        let is_alike = one.op() == other.op()
            && one.op().is_some_and(|op| op == Op::CompositeExtract || is_calculation(op));
        depth > 1
            && is_alike
            && one.operands().iter().any(|one| {
                let mut others = other.operands().iter();
                others.any(|other| self.load_alike(*one, *other, depth - 1, above))
            })
    }
}
