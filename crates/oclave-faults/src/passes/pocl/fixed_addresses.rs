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
use oclave_spirv::{
    BuiltIn, Cursor, Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable,
    is_access_chain,
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
    let finder = Finder::new(definitions, &types);
    let mut known: HashSet<u32> = HashSet::new();
    let mut edit = Editor::new(definitions);
    let mut group = None;
    for flow in flows {
        let has_barrier = |at: &usize| flow.blocks.get(*at).is_some_and(|block| block.barrier);
        let mut mask = None;
        // Inner loops come first.
        for of in flow.loops.iter().filter(|of| of.blocks.iter().any(has_barrier)) {
            let labels: HashSet<u32> =
                of.blocks.iter().filter_map(|at| flow.blocks.get(*at)).map(|block| block.label).collect();
            let Some(header) = flow.blocks.get(of.header) else { continue };
            let phis = flow.phis.iter().filter(|(_, at)| **at == of.header).map(|(phi, _)| *phi);
            let Some((counter, bits)) = phis.filter_map(|phi| Some((phi, finder.int_width(phi)?))).min()
            else {
                continue;
            };
            let found = finder.addresses(&labels, &known);
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
struct Finder<'d, 'm> {
    definitions: &'d Definitions<'m>,
    types: &'d TypeTable<'d>,
    /// Value → the label of its block.
    block_of: HashMap<u32, u32>,
    /// Steps to elements of local memory.
    steps: Vec<Instruction<'m>>,
    built_ins: HashSet<u32>,
}

impl<'d, 'm> Finder<'d, 'm> {
    fn new(definitions: &'d Definitions<'m>, types: &'d TypeTable<'d>) -> Self {
        let (mut block_of, mut steps, mut label) = (HashMap::new(), Vec::new(), None);
        let is_local = |ty| matches!(types.ty(ty), Some(Type::Pointer { class, .. }) if class == StorageClass::Workgroup as u32);
        for instruction in definitions.module().instructions() {
            match instruction.op() {
                Some(Op::Label) => label = instruction.result_id(),
                Some(Op::FunctionEnd) => label = None,
                _ => {}
            }
            block_of.extend(instruction.result_id().zip(label));
            if instruction.op().is_some_and(is_access_chain)
                && instruction.result_type().is_some_and(is_local)
            {
                steps.push(instruction);
            }
        }
        let built_ins = definitions.module().built_ins().map(|(variable, _)| variable).collect();
        Self { definitions, types, block_of, steps, built_ins }
    }

    /// The bits of an integer.
    fn int_width(&self, id: u32) -> Option<u32> {
        match self.types.ty(self.definitions.type_of(id)?)? {
            Type::Int { width } => Some(width),
            _ => None,
        }
    }

    /// The addresses of a loop that inner loops have not got.
    fn addresses(&self, labels: &HashSet<u32>, known: &HashSet<u32>) -> Vec<Address<'m>> {
        let mut are_fixed = HashMap::new();
        let is_inside = |id: &u32| {
            self.block_of.get(id).is_some_and(|label| labels.contains(label)) && !known.contains(id)
        };
        let steps = self.steps.iter().filter(|step| step.result_id().as_ref().is_some_and(is_inside));
        steps
            .filter_map(|step| {
                let operands = step.operands();
                if !operands.iter().all(|operand| self.is_fixed(*operand, labels, &mut are_fixed, DEPTH)) {
                    return None;
                }
                let is_variable = |at: &usize| {
                    operands.get(*at).is_some_and(|id| self.definitions.int_constant(*id).is_none())
                };
                let place = (1..operands.len()).rev().find(is_variable)?;
                let index = *operands.get(place)?;
                let split = self.split(index).filter(|_| place + 1 == operands.len());
                let (index, constant) =
                    split.map_or((index, None), |(part, constant)| (part, Some(constant)));
                self.int_width(index)?;
                let index_type = self.definitions.type_of(index)?;
                Some(Address { step: *step, place, index, index_type, constant })
            })
            .collect()
    }

    /// The parts of a sum with a constant.
    fn split(&self, index: u32) -> Option<(u32, u32)> {
        let sum = self.definitions.instruction(index).filter(|sum| sum.is(Op::IAdd))?;
        let &[a, b] = sum.operands() else { return None };
        let is_constant = |id| self.definitions.int_constant(id).is_some();
        match (is_constant(a), is_constant(b)) {
            (false, true) => Some((a, b)),
            (true, false) => Some((b, a)),
            _ => None,
        }
    }

    /// Whether a value is the same in all iterations, as far as LLVM can calculate it before them.
    fn is_fixed(&self, id: u32, labels: &HashSet<u32>, known: &mut HashMap<u32, bool>, depth: u32) -> bool {
        if !self.block_of.get(&id).is_some_and(|label| labels.contains(label)) {
            return true;
        }
        if let Some(is_fixed) = known.get(&id) {
            return *is_fixed;
        }
        let Some(instruction) = self.definitions.instruction(id).filter(|_| depth > 0) else { return false };
        let operands = instruction.operands();
        let is_fixed = match instruction.op() {
            Some(Op::Load) => operands.first().is_some_and(|from| self.built_ins.contains(from)),
            Some(Op::CompositeExtract) => {
                operands.first().is_some_and(|of| self.is_fixed(*of, labels, known, depth - 1))
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
            ) => operands.iter().all(|operand| self.is_fixed(*operand, labels, known, depth - 1)),
            _ => false,
        };
        known.insert(id, is_fixed);
        is_fixed
    }
}
