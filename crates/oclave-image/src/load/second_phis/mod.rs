//! Keeps LLVM's `instcombine` from a check that ends the process, in PoCL 6.0 (Q30, record 126).
//!
//! PoCL 6.0 stores the values of phis in private variables. Then it runs `instcombine`, which checks
//! that a second run would find nothing to do. LLVM 18 aborts if that check fails.
//!
//! It fails for `if (c) w = f(v);` where a phi before the condition makes `v`, and only the branch
//! uses `v`. Both ways store `w`. The first run looks at the load of `v`, and then joins the two
//! stores where the ways meet. Only without the store before the condition can the load move into
//! the branch, so the second run finds work. LLVM 18's `opt -passes=instcombine` shows the abort,
//! and `-instcombine-code-sinking=false` cures it.
//!
//! `instcombine` joins the stores only if the branch has one store and no other access. So this
//! pass adds a second phi where the ways meet, with `~w` from the branch. It is the value if the
//! size of the group is the largest number, which no size is. PoCL knows the size later, and then
//! LLVM removes the second phi. If there are several phis, each may become the next one of its
//! type instead. LLVM may find that only one of them is needed.
//!
//! LLVM makes most of these forms itself. It moves conditions and loops, adds phis behind loops,
//! and removes loops. So the pass does not look for `v`. LLVM also removes private variables, and
//! ways that nothing takes. So the branch may access such variables, and other ways may lead to where
//! the ways meet. Then a place may be where several branches meet their ways around. The second phi
//! tells each branch from its way around.
//!
//! The way around may have code that goes, too: PoCL loads ids before the condition, and LLVM may know
//! what is in a private array. An array into which only a constant is copied becomes that constant.
//!
//! An address is such a value, too: in `l[i] = c ? m[f(v)] : l[i]`, LLVM loads once behind both ways, from
//! the address that a phi gives. Its second phi takes the next address from the branch.
//!
//! Loops that run once at most are in `single_rounds`, ways that load something in `loading_ways`, and
//! selections in `choices`.

mod choices;
mod loading_ways;
mod rounds_writer;
mod single_rounds;
mod writer;

use std::collections::{BTreeSet, HashMap, HashSet};

use loading_ways::Accesses;
use writer::has_other;

use super::built_in_vector::functions_with_built_ins;
use crate::Result;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::{
    Definitions, Instruction, Module, Op, Role, StorageClass, Type, TypeTable, is_access_chain,
    is_conversion, is_pure,
};

/// The most blocks of a branch.
const BLOCKS: usize = 32;

/// The module with these phis; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`](oclave_spirv::Rewriter::finish).
pub(crate) fn add(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let passes = [single_rounds::add, add_phis, choices::hide];
    passes.into_iter().try_fold(None, |new: Option<Module>, pass| {
        let changed = pass(new.as_ref().unwrap_or(module), address_bits)?;
        Ok(changed.or(new))
    })
}

/// The module with second phis behind branches; `None` where it needs none.
fn add_phis(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let found = find(&definitions, &types);
    if found.is_empty() {
        return Ok(None);
    }
    writer::write(&definitions, &types, &found, address_bits).map(Some)
}

/// A second phi.
struct Second {
    /// The first phi, and its type.
    phi: u32,
    ty: u32,
    /// Blocks of the branch and what the first phi takes from them. The second one takes something
    /// else.
    inverted: Vec<(u32, u32)>,
    /// The branches that change it, by number.
    branches: BTreeSet<usize>,
    /// Whether no other phi can be taken for it.
    is_own: bool,
    /// Another phi of the block, and its type, that is taken for the second one.
    partner: Option<(u32, u32)>,
    /// A parameter of the function, and its type, where the function has no ids.
    number: Option<(u32, u32)>,
}

/// Phis that need a second one.
fn find(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> HashMap<u32, Second> {
    let module = definitions.module();
    let functions = functions_with_built_ins(definitions);
    let code = Code::new(definitions, types);
    let mut found = HashMap::new();
    for flow in &Flow::of_functions(module) {
        let mut number = None;
        if !functions.contains(&flow.function) {
            number = number_parameter(definitions, types, flow.function);
            if number.is_none() {
                continue;
            }
        }
        let loaded = code.loaded(flow).into_iter();
        found.extend(loaded.map(|second| (second.phi, Second { number, ..second })));
        // Inner branches come first.
        let branches = flow.reverse_postorder().into_iter().rev().flat_map(|at| code.behind(flow, at));
        for (branch, changes) in branches.enumerate() {
            for change in changes {
                let mut new = Second::new(change.phi, change.ty, number);
                // LLVM should see where an address comes from.
                new.is_own = matches!(types.ty(change.ty), Some(Type::Pointer { .. }));
                found.entry(change.phi).or_insert(new).add(branch, change);
            }
        }
    }
    code.find_partners(&mut found);
    found
}

/// What a branch changes of a phi.
struct Change {
    phi: u32,
    ty: u32,
    /// The block from which the way around the branch comes.
    around: u32,
    /// Blocks of the branch and what the phi takes from them.
    taken: Vec<(u32, u32)>,
}

/// A parameter of a function that is an integer, and its type.
fn number_parameter(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    function: u32,
) -> Option<(u32, u32)> {
    let parameters = definitions.body(function).filter(|i| i.is(Op::FunctionParameter));
    let mut typed = parameters.filter_map(|i| i.result_id().zip(i.result_type()));
    typed.find(|(_, ty)| matches!(types.ty(*ty), Some(Type::Int { width: 32.. })))
}

/// What is in blocks.
struct Code<'a, 'm> {
    types: &'a TypeTable<'m>,
    /// The phis of each block, by label.
    phis: HashMap<u32, Vec<Instruction<'m>>>,
    /// Blocks that only compute, by label, and how much.
    pure: HashMap<u32, usize>,
    /// Blocks that at most load something and convert it, or compute with private memory, by label.
    light: HashSet<u32>,
    /// Values that something uses.
    used: HashSet<u32>,
    accesses: Accesses<'a, 'm>,
}

impl<'a, 'm> Code<'a, 'm> {
    fn new(definitions: &'a Definitions<'m>, types: &'a TypeTable<'m>) -> Self {
        let mut phis: HashMap<u32, Vec<Instruction<'m>>> = HashMap::new();
        let (mut pure, mut light, mut used) = (HashMap::new(), HashSet::new(), HashSet::new());
        let mut reading = HashSet::new();
        let mut label = 0;
        for instruction in definitions.module().instructions() {
            match instruction.op() {
                Some(Op::Label) => {
                    label = instruction.result_id().unwrap_or(0);
                    pure.insert(label, 0);
                    light.insert(label);
                }
                // Blocks need not end with the function: the last one may lead to others.
                Some(Op::FunctionEnd) => label = 0,
                Some(Op::Phi) => phis.entry(label).or_default().push(instruction),
                _ if !only_computes(definitions, types, &instruction) => {
                    pure.remove(&label);
                }
                _ if instruction.result_id().is_some() => {
                    pure.entry(label).and_modify(|count| *count += 1);
                }
                _ => {}
            }
            if !is_light(&instruction) {
                light.remove(&label);
            }
            if is_private_load(definitions, types, &instruction) {
                reading.insert(label);
            }
            if label != 0 {
                instruction.visit_ids(definitions, |at, role| {
                    used.extend(instruction.word(at).filter(|_| role == Role::Id));
                });
            }
        }
        // LLVM may know what is in a private variable, and so what is computed from it.
        light.extend(reading.into_iter().filter(|label| pure.contains_key(label)));
        let accesses = Accesses::new(definitions, types);
        Self { types, phis, pure, light, used, accesses }
    }

    /// What the condition at a block's end needs, where the ways behind it meet.
    fn behind(&self, flow: &Flow<'_>, at: usize) -> Vec<Vec<Change>> {
        let Some(block) = flow.blocks.get(at) else { return Vec::new() };
        // LLVM may remove cases of a switch until one is left beside the default.
        if block.successors.len() < 2 {
            return Vec::new();
        }
        // PoCL moves what a light block does before the condition, or LLVM removes it. Then the way has
        // no code.
        let around = |way: usize| {
            let block = flow.blocks.get(way).filter(|block| self.light.contains(&block.label))?;
            match (block.successors.as_slice(), block.predecessors.len()) {
                (&[meeting], 1) => Some((way, meeting)),
                _ => None,
            }
        };
        let ways = || block.successors.iter().flat_map(|&other| [Some((at, other)), around(other)]).flatten();
        let mut found = Vec::new();
        for &branch in &block.successors {
            for (from, meeting) in ways().filter(|&(from, meeting)| from != branch && meeting != branch) {
                found.extend(self.of_ways(flow, (at, from), branch, meeting));
            }
        }
        found
    }

    /// What phis need where a branch meets the way around it.
    fn of_ways(
        &self,
        flow: &Flow<'_>,
        (at, from): (usize, usize),
        branch: usize,
        meeting: usize,
    ) -> Option<Vec<Change>> {
        let phis = self.phis.get(&flow.blocks.get(meeting)?.label)?;
        let labels = self.branch(flow, at, branch, meeting)?;
        let from = flow.blocks.get(from)?.label;
        Some(phis.iter().filter_map(|phi| self.change(phi, from, &labels)).collect())
    }

    /// Phis that take what ways load.
    fn loaded(&self, flow: &Flow<'_>) -> Vec<Second> {
        let phis = |at: usize| self.phis.get(&flow.blocks.get(at)?.label).map(|phis| (at, phis));
        let all = (0..flow.blocks.len()).filter_map(phis);
        let loaded = all.flat_map(|(at, phis)| self.accesses.at(flow, at, phis));
        loaded.filter(|second| self.is_meant(second.phi, second.ty)).collect()
    }

    /// Finds other phis that may replace these.
    fn find_partners(&self, found: &mut HashMap<u32, Second>) {
        for phis in self.phis.values() {
            let ids = phis.iter().filter_map(|phi| phi.result_id());
            let here: Vec<u32> = ids.filter(|id| found.contains_key(id)).collect();
            for (at, id) in here.iter().enumerate() {
                let behind = here.iter().cycle().skip(at + 1).take(here.len() - 1);
                let mut others = behind.filter_map(|other| found.get(other));
                let Some(of) = found.get(id).filter(|of| !of.is_own) else { continue };
                let partner = others.find(|other| {
                    self.types.lane(other.ty) == self.types.lane(of.ty)
                        && other.branches.is_superset(&of.branches)
                });
                let partner = partner.map(|other| (other.phi, other.ty));
                found.entry(*id).and_modify(|of| of.partner = partner);
            }
        }
    }

    /// The labels of a branch that only computes, up to where it meets the way around it. LLVM may
    /// remove other ways to there, so there may be any.
    fn branch(&self, flow: &Flow<'_>, from: usize, branch: usize, meeting: usize) -> Option<BTreeSet<u32>> {
        let (mut found, mut open) = (BTreeSet::new(), vec![branch]);
        while let Some(at) = open.pop() {
            if at == meeting || !found.insert(at) {
                continue;
            }
            let block = flow.blocks.get(at)?;
            let goes_on = at != from && found.len() <= BLOCKS && !block.successors.is_empty();
            if !goes_on || !self.pure.contains_key(&block.label) {
                return None;
            }
            open.extend(&block.successors);
        }
        let blocks = || found.iter().filter_map(|at| flow.blocks.get(*at));
        let is_inside = |at: &usize| *at == from || found.contains(at);
        let is_branch = blocks().all(|block| block.predecessors.iter().all(is_inside))
            // LLVM makes a selection of an empty branch.
            && blocks().any(|block| self.pure.get(&block.label).is_some_and(|count| *count > 0));
        is_branch.then(|| blocks().map(|block| block.label).collect())
    }

    /// What a branch changes of a phi.
    fn change(&self, phi: &Instruction<'_>, from: u32, labels: &BTreeSet<u32>) -> Option<Change> {
        let (id, ty) = (phi.result_id()?, phi.result_type()?);
        let pairs =
            || phi.operands().chunks_exact(2).filter_map(|pair| Some((*pair.get(1)?, *pair.first()?)));
        let (_, around) = pairs().find(|(at, _)| *at == from)?;
        let taken: Vec<(u32, u32)> =
            pairs().filter(|(at, value)| labels.contains(at) && *value != around).collect();
        (!taken.is_empty() && self.is_meant(id, ty)).then_some(Change { phi: id, ty, around: from, taken })
    }

    /// Whether something uses a phi, and it may have another value.
    fn is_meant(&self, phi: u32, ty: u32) -> bool {
        self.used.contains(&phi) && has_other(self.types, ty)
    }
}

/// Whether an instruction only computes, as far as LLVM may see.
fn only_computes(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    instruction: &Instruction<'_>,
) -> bool {
    let class = |id: u32| class_of(definitions, types, id);
    let takes_none = |from: usize| instruction.operands().iter().skip(from).all(|id| class(*id).is_none());
    match instruction.op() {
        // LLVM may remove a private variable, so that its accesses are none.
        Some(op @ (Op::Load | Op::Store)) => {
            let (class, access) =
                (instruction.operand(0).and_then(class), if op == Op::Load { 1 } else { 2 });
            let is_volatile = instruction.operand(access).is_some_and(|access| access & 1 != 0);
            class == Some(StorageClass::Function as u32) && !is_volatile
                || op == Op::Load && class == Some(StorageClass::Input as u32)
        }
        Some(Op::FunctionCall) => takes_none(1),
        Some(Op::ExtInst) => takes_none(2),
        Some(Op::Branch | Op::BranchConditional | Op::Switch | Op::SelectionMerge | Op::LoopMerge) => true,
        Some(Op::Line | Op::NoLine | Op::Undef) => true,
        Some(op) => is_access_chain(op) || is_pure(op),
        None => false,
    }
}

/// Whether an instruction loads from private memory.
fn is_private_load(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    instruction: &Instruction<'_>,
) -> bool {
    let address = instruction.operand(0).filter(|_| instruction.is(Op::Load));
    address.and_then(|id| class_of(definitions, types, id)) == Some(StorageClass::Function as u32)
}

/// The storage class of an address; `None` for other values.
fn class_of(definitions: &Definitions<'_>, types: &TypeTable<'_>, id: u32) -> Option<u32> {
    match definitions.type_of(id).and_then(|ty| types.ty(ty)) {
        Some(Type::Pointer { class, .. }) => Some(class),
        _ => None,
    }
}

/// Whether PoCL moves an instruction before a condition: it loads a built-in variable, takes parts
/// of values or converts them.
fn is_light(instruction: &Instruction<'_>) -> bool {
    match instruction.op() {
        Some(Op::Label | Op::Load | Op::Branch | Op::Line | Op::NoLine) => true,
        Some(op) => op == Op::CompositeExtract || is_conversion(op),
        None => false,
    }
}

impl Second {
    fn new(phi: u32, ty: u32, number: Option<(u32, u32)>) -> Self {
        let (inverted, branches) = (Vec::new(), BTreeSet::new());
        Self { phi, ty, inverted, branches, is_own: false, partner: None, number }
    }

    /// Adds a branch. The second phi tells it from the way around it.
    fn add(&mut self, branch: usize, change: Change) {
        self.branches.insert(branch);
        let inverts = |label: u32| self.inverted.iter().any(|(at, _)| *at == label);
        let around = inverts(change.around);
        if change.taken.iter().all(|(at, _)| inverts(*at) == around) {
            self.inverted
                .extend(change.taken.into_iter().filter(|(at, _)| !inverts(*at)).collect::<Vec<_>>());
        }
    }
}
