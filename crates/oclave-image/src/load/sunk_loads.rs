//! Keeps LLVM's `instcombine` from a check that ends the process, in PoCL 6.0.
//!
//! PoCL 6.0 stores the values of phis in private variables. Then it runs `instcombine`, which checks
//! that a second run would find nothing to do. LLVM 18 aborts if that check fails.
//!
//! It fails for `if (c) w = f(v);` where a phi before the condition makes `v`, and only the branch
//! uses `v`. The first run removes the store of `w`. Only then can the load of `v` move into the
//! branch, so the second run finds work. One of 250 random kernels has this form. LLVM 18's
//! `opt -passes=instcombine` shows the abort, and `-instcombine-code-sinking=false` cures it.
//!
//! So this pass adds a second use of `v` before the condition. There, `w` becomes 0 if `v` is 0 and
//! the group's id is the largest number. No group has that id, so no result changes.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::built_in_vector::BuiltInVector;
use super::never::{copy_phi, emit, first_lane, is_largest, select};
use crate::Result;
use crate::analysis::control_flow::Flow;
use crate::analysis::references::kernel_entry;
use crate::spirv::{
    BuiltIn, Definitions, Instruction, Module, Op, Rewriter, Role, Type, TypeTable, is_block_end,
};

/// How many blocks in a row count as one branch.
const ROW: usize = 8;

/// The module with these uses; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn keep(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let found = find(&definitions, &types);
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let group = BuiltInVector::of(&mut new, BuiltIn::WorkgroupId, address_bits);
    let ids: HashMap<(u32, u32), u32> =
        found.iter().map(|(block, use_)| ((use_.phi, *block), new.fresh_id())).collect();
    let (mut label, mut is_done) = (0, false);
    for instruction in module.instructions() {
        let is_end = instruction.op().is_some_and(is_block_end);
        if is_end
            && !is_done
            && let Some(use_) = found.get(&label)
            && let Some(id) = ids.get(&(use_.phi, label))
        {
            is_done = true;
            use_.write(&mut new, &types, &group, *id);
        }
        match instruction.op() {
            Some(Op::Label) => {
                (label, is_done) = (instruction.result_id().unwrap_or(0), false);
                new.copy(&instruction);
            }
            Some(Op::Phi) => {
                let phi = instruction.result_id().unwrap_or(0);
                copy_phi(&mut new, &instruction, |from| ids.get(&(phi, from)).copied());
            }
            Some(Op::EntryPoint) => group.copy_entry_point(&mut new, &instruction),
            _ => new.copy(&instruction),
        }
    }
    new.finish().map(Some)
}

/// A second use of values, before a condition.
struct Use {
    /// The values that only the branch behind the condition uses, with their types.
    values: Vec<(u32, u32)>,
    /// The phi where the branches meet, its type, and what it takes from the block of the condition.
    phi: u32,
    ty: u32,
    taken: u32,
}

/// Blocks that end with such a condition, by label.
fn find(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> HashMap<u32, Use> {
    let module = definitions.module();
    let flows = Flow::of_functions(module);
    let functions = functions_with_builtins(definitions);
    let phis = Phis::new(definitions, types);
    let mut found = HashMap::new();
    for flow in flows.iter().filter(|flow| functions.contains(&flow.function)) {
        for (at, block) in flow.blocks.iter().enumerate() {
            if let Some(use_) = phis.use_before(flow, at) {
                found.insert(block.label, use_);
            }
        }
    }
    found
}

/// The phis of a module and what uses them.
struct Phis<'a, 'm> {
    types: &'a TypeTable<'m>,
    /// The phis of each block, by label.
    of_block: HashMap<u32, Vec<Instruction<'m>>>,
    /// The labels of the blocks that use each phi; phis without any are left out.
    users: HashMap<u32, BTreeSet<u32>>,
}

impl<'a, 'm> Phis<'a, 'm> {
    fn new(definitions: &Definitions<'m>, types: &'a TypeTable<'m>) -> Self {
        let mut of_block: HashMap<u32, Vec<Instruction<'m>>> = HashMap::new();
        let mut label = 0;
        for instruction in definitions.module().instructions() {
            match instruction.op() {
                Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
                Some(Op::Phi) => of_block.entry(label).or_default().push(instruction),
                _ => {}
            }
        }
        Self { types, of_block, users: users_of_phis(definitions) }
    }

    fn of(&self, label: u32) -> &[Instruction<'m>] {
        self.of_block.get(&label).map(Vec::as_slice).unwrap_or_default()
    }

    /// What needs a second use before the condition at a block's end; `None` where nothing does.
    fn use_before(&self, flow: &Flow<'_>, at: usize) -> Option<Use> {
        let block = flow.blocks.get(at)?;
        let &[then, other] = block.successors.as_slice() else { return None };
        if then == other || !block.terminator.is_some_and(|end| end.is(Op::BranchConditional)) {
            return None;
        }
        [(then, other), (other, then)].into_iter().find_map(|(branch, meeting)| {
            let labels = labels_of_branch(flow, at, branch, meeting)?;
            let values = self.used_only_in(block.label, &labels);
            if values.is_empty() {
                return None;
            }
            let meeting = flow.blocks.get(meeting)?.label;
            let (phi, ty, taken) = self.taken(block.label, meeting)?;
            Some(Use { values, phi, ty, taken })
        })
    }

    /// The phis of a block that only other blocks use, with their types.
    fn used_only_in(&self, label: u32, labels: &BTreeSet<u32>) -> Vec<(u32, u32)> {
        let is_only_there = |phi: &&Instruction<'_>| {
            let users = phi.result_id().and_then(|id| self.users.get(&id));
            users.is_some_and(|users| users.is_subset(labels))
        };
        let phis = self.of(label).iter().filter(is_only_there);
        let typed = phis.filter_map(|phi| phi.result_id().zip(phi.result_type()));
        typed.filter(|(_, ty)| is_comparable(self.types, *ty)).collect()
    }

    /// A phi of the block `meeting`, its type, and what it takes from the block `from`.
    fn taken(&self, from: u32, meeting: u32) -> Option<(u32, u32, u32)> {
        self.of(meeting).iter().find_map(|phi| {
            let ty = phi.result_type().filter(|ty| is_comparable(self.types, *ty))?;
            let mut pairs = phi.operands().chunks_exact(2);
            let pair = pairs.find(|pair| pair.get(1) == Some(&from))?;
            Some((phi.result_id()?, ty, *pair.first()?))
        })
    }
}

/// The labels of the blocks of a branch, from the condition to where the branches meet; `None` if
/// the branch leads elsewhere.
fn labels_of_branch(flow: &Flow<'_>, from: usize, branch: usize, meeting: usize) -> Option<BTreeSet<u32>> {
    let (mut before, mut at, mut labels) = (from, branch, BTreeSet::new());
    for _ in 0..ROW {
        let block = flow.blocks.get(at)?;
        let &[next] = block.successors.as_slice() else { return None };
        if at == meeting || flow.predecessor(at) != Some(before) {
            return None;
        }
        labels.insert(block.label);
        if next == meeting {
            return Some(labels);
        }
        (before, at) = (at, next);
    }
    None
}

/// Kernels, and functions that ask for a built-in variable: PoCL 6.0 does not find it in others.
fn functions_with_builtins(definitions: &Definitions<'_>) -> HashSet<u32> {
    let module = definitions.module();
    let mut found: HashSet<u32> =
        module.instructions().filter_map(|i| kernel_entry(&i)).map(|entry| entry.function).collect();
    let variables: HashSet<u32> = module.built_ins().map(|(id, _)| id).collect();
    let mut function = 0;
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => function = instruction.result_id().unwrap_or(0),
            Some(Op::Load) if instruction.operand(0).is_some_and(|from| variables.contains(&from)) => {
                found.insert(function);
            }
            _ => {}
        }
    }
    found
}

/// The labels of blocks that use the results of phis. A phi uses a value where it comes from.
fn users_of_phis(definitions: &Definitions<'_>) -> HashMap<u32, BTreeSet<u32>> {
    let module = definitions.module();
    let mut users: HashMap<u32, BTreeSet<u32>> = HashMap::new();
    for id in module.instructions().filter(|i| i.is(Op::Phi)).filter_map(|i| i.result_id()) {
        users.insert(id, BTreeSet::new());
    }
    let mut label = 0;
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
            Some(Op::Phi) => {
                for pair in instruction.operands().chunks_exact(2) {
                    if let [value, from] = pair
                        && let Some(users) = users.get_mut(value)
                    {
                        users.insert(*from);
                    }
                }
            }
            _ if label != 0 => {
                instruction.visit_ids(definitions, |at, role| {
                    if role == Role::Id
                        && let Some(users) = instruction.word(at).and_then(|id| users.get_mut(&id))
                    {
                        users.insert(label);
                    }
                });
            }
            _ => {}
        }
    }
    // A phi that nothing uses is removed before the fault can show.
    users.retain(|_, users| !users.is_empty());
    users
}

/// Whether a value of a type can be compared with 0, or its first lane can.
fn is_comparable(types: &TypeTable<'_>, ty: u32) -> bool {
    match types.ty(ty) {
        Some(Type::Vector { component, .. }) => is_scalar(types, component),
        _ => is_scalar(types, ty),
    }
}

fn is_scalar(types: &TypeTable<'_>, ty: u32) -> bool {
    matches!(types.ty(ty), Some(Type::Bool | Type::Int { .. } | Type::Float { .. }))
}

impl Use {
    /// Writes what the phi takes.
    fn write(&self, new: &mut Rewriter<'_>, types: &TypeTable<'_>, group: &BuiltInVector, result: u32) {
        let bool_type = new.bool_type();
        let mut never = is_largest(new, group);
        for (value, ty) in &self.values {
            let (lane, ty) = first_lane(new, types, *value, *ty);
            let is_zero = match types.ty(ty) {
                Some(Type::Bool) => lane,
                Some(Type::Float { .. }) => {
                    let zero = new.null_constant(ty);
                    emit(new, Op::FOrdEqual, bool_type, &[lane, zero])
                }
                _ => {
                    let zero = new.null_constant(ty);
                    emit(new, Op::IEqual, bool_type, &[lane, zero])
                }
            };
            never = emit(new, Op::LogicalAnd, bool_type, &[never, is_zero]);
        }
        select(new, types, never, [self.taken, self.ty, result]);
    }
}
