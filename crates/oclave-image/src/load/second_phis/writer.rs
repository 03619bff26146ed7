//! Writes second phis.

use std::collections::HashMap;

use super::Second;
use crate::Result;
use crate::load::built_in_vector::BuiltInVector;
use crate::load::never::{choose, emit, first_lane, is_largest};
use oclave_spirv::{BuiltIn, Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable, is_block_end};

/// The module with these phis.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(super) fn write(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    found: &HashMap<u32, Second>,
    address_bits: u32,
) -> Result<Module> {
    let mut new = Rewriter::new(definitions);
    let size = BuiltInVector::of(&mut new, BuiltIn::WorkgroupSize, address_bits);
    let ids = Ids::new(&mut new, found);
    let (mut label, mut is_done) = (0, false);
    let mut waiting = Vec::new();
    for instruction in definitions.module().instructions() {
        let op = instruction.op();
        if !matches!(op, Some(Op::Phi | Op::Line | Op::NoLine)) {
            for second in waiting.drain(..) {
                ids.choose(&mut new, types, &size, second);
            }
        }
        if op.is_some_and(is_block_end) && !is_done {
            is_done = true;
            ids.invert(&mut new, types, label);
        }
        match op {
            Some(Op::Label) => {
                (label, is_done) = (instruction.result_id().unwrap_or(0), false);
                new.copy(&instruction);
            }
            Some(Op::Phi) => match instruction.result_id().and_then(|id| found.get(&id)) {
                Some(second) => {
                    ids.copy_phi(&mut new, &instruction, second);
                    waiting.push(second);
                }
                None => new.copy(&instruction),
            },
            Some(Op::EntryPoint) => size.copy_entry_point(&mut new, &instruction),
            _ => new.copy(&instruction),
        }
    }
    Ok(new.finish()?)
}

/// The new values.
struct Ids<'f> {
    found: &'f HashMap<u32, Second>,
    /// First phi → what it is called now, and what the second one is called.
    phis: HashMap<u32, (u32, u32)>,
    /// Block and value → what the second phi takes instead.
    others: HashMap<(u32, u32), u32>,
    /// Block → the values that are inverted at its end, with their types.
    ends: HashMap<u32, Vec<(u32, u32)>>,
}

impl<'f> Ids<'f> {
    fn new(new: &mut Rewriter<'_>, found: &'f HashMap<u32, Second>) -> Self {
        let (mut phis, mut others) = (HashMap::new(), HashMap::new());
        let mut ends: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        let mut sorted: Vec<&Second> = found.values().collect();
        sorted.sort_by_key(|second| second.phi);
        for second in sorted {
            phis.insert(second.phi, (new.fresh_id(), new.fresh_id()));
            for (from, value) in second.inverted.iter().filter(|_| second.partner.is_none()) {
                others.entry((*from, *value)).or_insert_with(|| {
                    ends.entry(*from).or_default().push((*value, second.ty));
                    new.fresh_id()
                });
            }
        }
        Self { found, phis, others, ends }
    }

    /// Writes what second phis take from a block.
    fn invert(&self, new: &mut Rewriter<'_>, types: &TypeTable<'_>, label: u32) {
        for (value, ty) in self.ends.get(&label).into_iter().flatten() {
            let Some(result) = self.others.get(&(label, *value)) else { continue };
            push_other(new, types, [*ty, *result, *value]);
        }
    }

    /// Writes the first phi by its new name, and the second one.
    fn copy_phi(&self, new: &mut Rewriter<'_>, phi: &Instruction<'_>, second: &Second) {
        let Some((first, other)) = self.phis.get(&second.phi) else { return };
        new.replace(phi, Op::Phi, &[&[second.ty, *first], phi.operands()].concat());
        if second.partner.is_some() {
            return;
        }
        let mut words = [&[second.ty, *other], phi.operands()].concat();
        for pair in words.get_mut(2..).unwrap_or_default().chunks_exact_mut(2) {
            if let [value, from] = pair
                && second.inverted.contains(&(*from, *value))
            {
                *value = self.others.get(&(*from, *value)).copied().unwrap_or(*value);
            }
        }
        new.push(Op::Phi, &words);
    }

    /// Writes the value of the first phi, which the second one could replace.
    fn choose(&self, new: &mut Rewriter<'_>, types: &TypeTable<'_>, size: &BuiltInVector, second: &Second) {
        let Some((whole, own)) = self.phis.get(&second.phi) else { return };
        let partner = second.partner.filter(|(phi, _)| self.found.contains_key(phi));
        let partner = partner.and_then(|(phi, ty)| Some((self.phis.get(&phi)?.0, ty)));
        let (other, other_type) = partner.unwrap_or((*own, second.ty));
        let never = is_never(new, types, size, second.number);
        select(new, types, never, [(other, other_type), (*whole, second.ty)], second.phi);
    }
}

/// Whether another value of a type can be written. Addresses need something with a size behind them.
pub(super) fn has_other(types: &TypeTable<'_>, ty: u32) -> bool {
    let lane = types.lane(ty);
    match types.ty(lane) {
        Some(Type::Bool | Type::Int { .. } | Type::Float { .. }) => true,
        Some(Type::Pointer { pointee, .. }) if lane == ty => {
            types.size_bytes(pointee).is_some_and(|size| size > 0)
        }
        _ => false,
    }
}

/// Writes another value of a type: the inverse of a number, or the address behind an address.
pub(super) fn push_other(new: &mut Rewriter<'_>, types: &TypeTable<'_>, [ty, result, value]: [u32; 3]) {
    match types.ty(types.lane(ty)) {
        Some(Type::Bool) => new.push(Op::LogicalNot, &[ty, result, value]),
        Some(Type::Float { .. }) => new.push(Op::FNegate, &[ty, result, value]),
        Some(Type::Pointer { .. }) => {
            let one = new.int_constant(32, 1);
            new.push(Op::PtrAccessChain, &[ty, result, value, one]);
        }
        _ => new.push(Op::Not, &[ty, result, value]),
    }
}

/// Writes `never ? other : first`; of a vector, in its first lane. The values come with their types.
pub(super) fn select(
    new: &mut Rewriter<'_>,
    types: &TypeTable<'_>,
    never: u32,
    [(other, other_type), (whole, ty)]: [(u32, u32); 2],
    result: u32,
) {
    let (first, lane) = first_lane(new, types, whole, ty);
    let (other, _) = first_lane(new, types, other, other_type);
    choose(new, [never, other], (first, lane), [whole, ty, result]);
}

/// Writes a condition that is never true; by a number and its type, where there is one. No square has
/// both the bits 1 and 4.
pub(super) fn is_never(
    new: &mut Rewriter<'_>,
    types: &TypeTable<'_>,
    size: &BuiltInVector,
    number: Option<(u32, u32)>,
) -> u32 {
    let number = number.and_then(|(number, ty)| match types.ty(ty) {
        Some(Type::Int { width }) => Some((number, ty, width)),
        _ => None,
    });
    let Some((number, ty, width)) = number else { return is_largest(new, size) };
    let (five, truth) = (new.int_constant(width, 5), new.bool_type());
    let square = emit(new, Op::IMul, ty, &[number, number]);
    let bits = emit(new, Op::BitwiseAnd, ty, &[square, five]);
    emit(new, Op::IEqual, truth, &[bits, five])
}
