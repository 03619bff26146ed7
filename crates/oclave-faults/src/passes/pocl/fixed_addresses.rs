//! Addresses that do not change in a loop with barriers.
//!
//! PoCL 6.0 lets LLVM calculate such addresses before the loop. It keeps what lies on both sides of a barrier in memory, for each work-item.
//! A product of 16 numbers of one tile and 16 of another needs 32 such addresses then, and each iteration gathers by them. In truth they
//! are a few numbers and constants.
//!
//! So a zero that compilers do not know is added to their indices. It is the loop's counter with all bits masked, so that it may change in each
//! iteration.

use std::collections::{HashMap, HashSet};

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{converted, hidden_zero};
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU_6, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::{
    BuiltIn, Cursor, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable, is_access_chain,
};

fault! {
    /// **Q80. PoCL 6.0 on CPUs.** Addresses in local memory that do not change in a loop with barriers are calculated before the loop. They are kept
    /// in memory for each work-item. A product of matrices by tiles, with the inner loop unrolled, took 1.6 times as long as with addresses that are
    /// calculated in the loop. So a zero that compilers do not know, and that depends on the loop's counter, is added to their indices.
    Q80 {
        affects: [POCL_CPU_6],
        seen: Measurements,
        symptom: "Addresses that do not change in a loop with barriers are kept in memory.",
        remedy: "A zero that changes in each iteration is added to their indices (`fixed_addresses`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q80, "fixed_addresses", |on| vary(on.analyses, on.target.address_bits));

/// Loops with fewer such addresses stay as they are.
const LEAST: usize = 8;
/// How far back the calculation of an index is followed.
const DEPTH: u32 = 8;

/// An address that gets a zero.
struct Address<'m> {
    step: Instruction<'m>,
    /// The place of the index among the operands, and the index without the constant that is added to it.
    place: usize,
    index: u32,
    index_type: u32,
    constant: Option<u32>,
}

/// The module with such zeroes; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn vary(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let flows = analyses.flows();
    let built_ins = analyses.module().built_ins().map(|(variable, _)| variable).collect();
    let finder = Finder { analyses, types: &types, built_ins };
    let mut known: HashSet<u32> = HashSet::new();
    let mut edit = Editor::new(definitions);
    let mut group = None;
    for flow in flows {
        let has_barrier = |at: &usize| flow.blocks.get(*at).is_some_and(|block| block.barrier);
        let mut mask = None;
        // Inner loops come first.
        for of in flow.loops.iter().filter(|of| of.blocks.iter().any(has_barrier)) {
            let Some(header) = flow.blocks.get(of.header) else { continue };
            let phis = flow.phis.iter().filter(|(_, at)| **at == of.header).map(|(phi, _)| *phi);
            let Some((counter, bits)) = phis.filter_map(|phi| Some((phi, finder.int_width(phi)?))).min()
            else {
                continue;
            };
            let found = finder.addresses(flow, of, &known);
            if found.len() < LEAST {
                continue;
            }
            known.extend(found.iter().filter_map(|address| address.step.result_id()));
            let group = group
                .get_or_insert_with(|| BuiltInVector::add(&mut edit, BuiltIn::WorkgroupId, address_bits));
            let ty = edit.int_type(group.width);
            let mask = *mask.get_or_insert_with(|| {
                let mut at = edit.at_entry(flow.function);
                let n = group.read(&mut at, 0);
                let zero = hidden_zero(&mut at, n, group.width);
                at.emit(Op::SNegate, ty, &[zero])
            });
            let mut at = edit.at_start(header.label);
            let counter = converted(&mut at, &types, (counter, bits), ty);
            let zero = at.emit(Op::BitwiseAnd, ty, &[counter, mask]);
            for address in found {
                address.write(&mut edit.instead_of(&address.step), &types, (zero, group.width));
            }
        }
    }
    Ok(edit.finish()?)
}

impl Address<'_> {
    /// Writes the address with a zero, which has some bits.
    fn write(&self, at: &mut Cursor<'_, '_>, types: &TypeTable<'_>, zero: (u32, u32)) {
        let (Some(ty), Some(result)) = (self.step.result_type(), self.step.result_id()) else { return };
        let zero = converted(at, types, zero, self.index_type);
        let index = at.emit(Op::IAdd, self.index_type, &[self.index, zero]);
        let mut operands = self.step.operands().to_vec();
        if let Some(operand) = operands.get_mut(self.place) {
            *operand = index;
        }
        // A step without the constant may lead out of bounds.
        let op = match self.step.op() {
            Some(Op::InBoundsAccessChain | Op::AccessChain) => Op::AccessChain,
            _ => Op::PtrAccessChain,
        };
        match self.constant {
            Some(constant) => {
                let first = at.emit(op, ty, &operands);
                at.push(Op::PtrAccessChain, &[ty, result, first, constant]);
            }
            None => at.push(op, &[&[ty, result], &*operands].concat()),
        }
    }
}

/// Finds addresses that do not change in loops.
struct Finder<'a, 'm> {
    analyses: &'a Analyses<'m>,
    types: &'a TypeTable<'a>,
    built_ins: HashSet<u32>,
}

impl<'m> Finder<'_, 'm> {
    /// The bits of an integer.
    fn int_width(&self, id: u32) -> Option<u32> {
        match self.types.ty(self.analyses.definitions().type_of(id)?)? {
            Type::Int { width } => Some(width),
            _ => None,
        }
    }

    /// The addresses of a loop that inner loops have not got.
    fn addresses(&self, flow: &Flow<'m>, of: &Loop, known: &HashSet<u32>) -> Vec<Address<'m>> {
        let definitions = self.analyses.definitions();
        let mut are_fixed = HashMap::new();
        let is_new = |step: &Instruction<'_>| step.result_id().is_some_and(|id| !known.contains(&id));
        flow.loop_code(definitions, of)
            .filter(|step| self.leads_to_local(step) && is_new(step))
            .filter_map(|step| {
                let operands = step.operands();
                if !operands.iter().all(|operand| self.is_fixed(*operand, of, &mut are_fixed, DEPTH)) {
                    return None;
                }
                let is_variable =
                    |at: &usize| operands.get(*at).is_some_and(|id| definitions.int_constant(*id).is_none());
                let place = (1..operands.len()).rev().find(is_variable)?;
                let index = *operands.get(place)?;
                let split = self.split(index).filter(|_| place + 1 == operands.len());
                let (index, constant) =
                    split.map_or((index, None), |(part, constant)| (part, Some(constant)));
                self.int_width(index)?;
                let index_type = definitions.type_of(index)?;
                Some(Address { step, place, index, index_type, constant })
            })
            .collect()
    }

    /// Whether an instruction is an access chain into local memory.
    fn leads_to_local(&self, step: &Instruction<'_>) -> bool {
        let ty = step.result_type().filter(|_| step.op().is_some_and(is_access_chain));
        let pointer = ty.and_then(|ty| self.types.pointer(ty));
        pointer.is_some_and(|(class, _)| class == StorageClass::Workgroup as u32)
    }

    /// The parts of a sum with a constant.
    fn split(&self, index: u32) -> Option<(u32, u32)> {
        let definitions = self.analyses.definitions();
        let sum = definitions.instruction(index).filter(|sum| sum.is(Op::IAdd))?;
        let &[a, b] = sum.operands() else { return None };
        let is_constant = |id| definitions.int_constant(id).is_some();
        match (is_constant(a), is_constant(b)) {
            (false, true) => Some((a, b)),
            (true, false) => Some((b, a)),
            _ => None,
        }
    }

    /// Whether a value is the same in all iterations, as far as LLVM can calculate it before them.
    fn is_fixed(&self, id: u32, of: &Loop, known: &mut HashMap<u32, bool>, depth: u32) -> bool {
        if !self.analyses.is_defined_in(id, of) {
            return true;
        }
        if let Some(is_fixed) = known.get(&id) {
            return *is_fixed;
        }
        let instruction = self.analyses.definitions().instruction(id).filter(|_| depth > 0);
        let Some(instruction) = instruction else { return false };
        let operands = instruction.operands();
        let is_fixed = match instruction.op() {
            Some(Op::Load) => operands.first().is_some_and(|from| self.built_ins.contains(from)),
            Some(Op::CompositeExtract) => {
                operands.first().is_some_and(|from| self.is_fixed(*from, of, known, depth - 1))
            }
            Some(
                Op::IAdd
                | Op::ISub
                | Op::IMul
                | Op::ShiftLeftLogical
                | Op::UConvert
                | Op::SConvert
                | Op::Bitcast
                | Op::AccessChain
                | Op::InBoundsAccessChain
                | Op::PtrAccessChain
                | Op::InBoundsPtrAccessChain,
            ) => operands.iter().all(|operand| self.is_fixed(*operand, of, known, depth - 1)),
            _ => false,
        };
        known.insert(id, is_fixed);
        is_fixed
    }
}
