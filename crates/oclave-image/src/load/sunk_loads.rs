//! Values that PoCL 6.0 must not load where they are used.
//!
//! PoCL 6.0 writes phis as private variables and runs LLVM's `instcombine` behind that, with a check
//! that a second run would find nothing. LLVM 18 ends the process where the check fails. It does so
//! for a way past a condition (`if (c) w = f(v);`) where phis before it make `v`, and nothing but the
//! way uses it: the store for `w` goes first, and only then can the load of `v` sink into the way. One
//! of 250 random kernels has this form. LLVM 18's `opt -passes=instcombine` shows the abort, and
//! `-instcombine-code-sinking=false` cures it.
//!
//! So such a value gets a second use before the condition. `w` is 0 there if the number of the
//! group is the largest one, which it never is, and if `v` is 0.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::built_in_vector::BuiltInVector;
use crate::Result;
use crate::analysis::control_flow::Flow;
use crate::analysis::references::kernel_entry;
use crate::spirv::{
    BuiltIn, Definitions, Instruction, Module, Op, Rewriter, Role, Type, TypeTable, is_block_end,
};

/// How many blocks in a row count as one way.
const ROW: usize = 8;

/// The module with these uses; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn keep(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let found = find(&definitions);
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let group = BuiltInVector::of(&mut new, BuiltIn::WorkgroupId, address_bits);
    let added: Vec<u32> = group.is_new.then_some(group.variable).into_iter().collect();
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
            use_.write(&mut new, &group, *id);
        }
        match instruction.op() {
            Some(Op::Label) => {
                (label, is_done) = (instruction.result_id().unwrap_or(0), false);
                new.copy(&instruction);
            }
            Some(Op::Phi) => {
                let phi = instruction.result_id().unwrap_or(0);
                // Behind the opcode, the type and the result.
                let mut words = instruction.words.get(1..).unwrap_or_default().to_vec();
                for pair in words.get_mut(2..).unwrap_or_default().chunks_exact_mut(2) {
                    if let [value, from] = pair
                        && let Some(id) = ids.get(&(phi, *from))
                    {
                        *value = *id;
                    }
                }
                new.replace(&instruction, Op::Phi, &words);
            }
            Some(Op::EntryPoint) if !added.is_empty() => {
                new.replace(&instruction, Op::EntryPoint, &[instruction.operands(), &added].concat());
            }
            _ => new.copy(&instruction),
        }
    }
    new.finish().map(Some)
}

/// A second use of values, before a condition.
struct Use {
    /// The values that only the way behind the condition uses, with their types.
    values: Vec<(u32, u32)>,
    /// The phi where the ways meet, its type, and what it takes from the block of the condition.
    phi: u32,
    ty: u32,
    taken: u32,
}

/// Blocks that end with such a condition, by label.
fn find(definitions: &Definitions<'_>) -> HashMap<u32, Use> {
    let module = definitions.module();
    let flows = Flow::of_functions(module);
    let functions = functions_with_builtins(definitions);
    let users = users_of_phis(definitions);
    let types = TypeTable::new(definitions);
    let mut phis: HashMap<u32, Vec<Instruction<'_>>> = HashMap::new();
    let mut label = 0;
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
            Some(Op::Phi) => phis.entry(label).or_default().push(instruction),
            _ => {}
        }
    }
    let phis_of = |label: u32| phis.get(&label).map(Vec::as_slice).unwrap_or_default();
    let mut found = HashMap::new();
    for flow in flows.iter().filter(|flow| functions.contains(&flow.function)) {
        for (at, block) in flow.blocks.iter().enumerate() {
            let &[then, other] = block.successors.as_slice() else { continue };
            if then == other || !block.terminator.is_some_and(|end| end.is(Op::BranchConditional)) {
                continue;
            }
            for (way, meeting) in [(then, other), (other, then)] {
                let Some(labels) = labels_of_way(flow, at, way, meeting) else { continue };
                let is_only_there = |phi: &&Instruction<'_>| {
                    let users = phi.result_id().and_then(|id| users.get(&id));
                    users.is_some_and(|users| users.is_subset(&labels))
                };
                let values: Vec<(u32, u32)> = phis_of(block.label)
                    .iter()
                    .filter(is_only_there)
                    .filter_map(|phi| phi.result_id().zip(phi.result_type()))
                    .filter(|(_, ty)| is_comparable(&types, *ty))
                    .collect();
                let meeting = flow.blocks.get(meeting).map(|block| block.label).unwrap_or(0);
                let taken = phis_of(meeting).iter().find_map(|phi| {
                    let ty = phi.result_type().filter(|ty| is_comparable(&types, *ty))?;
                    let mut pairs = phi.operands().chunks_exact(2);
                    let pair = pairs.find(|pair| pair.get(1) == Some(&block.label))?;
                    Some((phi.result_id()?, ty, *pair.first()?))
                });
                if let Some((phi, ty, taken)) = taken
                    && !values.is_empty()
                {
                    found.insert(block.label, Use { values, phi, ty, taken });
                }
            }
        }
    }
    found
}

/// The labels of blocks in a row from a condition to where its ways meet; `None` if they lead
/// elsewhere.
fn labels_of_way(flow: &Flow<'_>, from: usize, way: usize, meeting: usize) -> Option<BTreeSet<u32>> {
    let (mut before, mut at, mut labels) = (from, way, BTreeSet::new());
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
    // What nothing uses goes away.
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
    fn write(&self, new: &mut Rewriter<'_>, group: &BuiltInVector, result: u32) {
        let types = TypeTable::new(new.definitions());
        let bool_type = new.bool_type();
        let number = group.load(new, 0);
        let last = new.int_constant(group.width, u64::MAX >> (64 - group.width.clamp(1, 64)));
        let mut never = emit(new, Op::IEqual, bool_type, &[number, last]);
        for (value, ty) in &self.values {
            let (lane, ty) = first_lane(new, &types, *value, *ty);
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
        let (lane, lane_type) = first_lane(new, &types, self.taken, self.ty);
        let zero = new.null_constant(lane_type);
        if lane_type == self.ty {
            new.push(Op::Select, &[self.ty, result, never, zero, lane]);
        } else {
            let lane = emit(new, Op::Select, lane_type, &[never, zero, lane]);
            new.push(Op::CompositeInsert, &[self.ty, result, lane, self.taken, 0]);
        }
    }
}

/// The first lane of a vector and its type; another value as it is.
fn first_lane(new: &mut Rewriter<'_>, types: &TypeTable<'_>, value: u32, ty: u32) -> (u32, u32) {
    match types.ty(ty) {
        Some(Type::Vector { component, .. }) => {
            (emit(new, Op::CompositeExtract, component, &[value, 0]), component)
        }
        _ => (value, ty),
    }
}

fn emit(new: &mut Rewriter<'_>, op: Op, ty: u32, operands: &[u32]) -> u32 {
    let id = new.fresh_id();
    new.push(op, &[&[ty, id], operands].concat());
    id
}
