//! Keeps something between a barrier and a loop, on PoCL 6.0.
//!
//! Where the block before a loop ends with a barrier, PoCL 6.0 splits that block. It leaves the tree
//! of dominators as it was, which then lacks the new block. LLVM's `instcombine` takes what comes
//! from such a block for never computed. Phis lose the value that they begin with, and then the
//! whole loop and what follows is removed. The process crashes in the kernel, or an assertion fails.
//!
//! In groups of three work-items and more there are no phis any more at that point. In groups of
//! one or two there are. So a phi of the loop begins with `never ? other : value`, which is
//! computed behind the barrier. The condition is that the group's size is the largest number. PoCL
//! knows the size later, and removes all of it.
//!
//! In a loop around it, LLVM would move this before the outer loop. So the condition then also asks
//! whether a phi of the outer loop is the size in another dimension.

use std::collections::{BTreeMap, HashMap};

use super::built_in_vector::{BuiltInVector, functions_with_built_ins};
use super::never::{emit, is_largest, write_for_phis};
use crate::Result;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::{BuiltIn, Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable};

/// How many blocks in a row are looked at for a barrier before a loop.
const ROW: usize = 8;
/// The first of the numbers that values begin with instead.
const FIRST: u64 = 77;

/// The module with such values; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn separate(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let starts = find(&definitions, &types);
    if starts.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let size = BuiltInVector::of(&mut new, BuiltIn::WorkgroupSize, address_bits);
    let ids: BTreeMap<(u32, u32), u32> =
        starts.iter().map(|(block, start)| ((start.phi, *block), new.fresh_id())).collect();
    let mut count = FIRST;
    let written = write_for_phis(new, &size, &ids, |new, label| {
        if let Some(start) = starts.get(&label)
            && let Some(id) = ids.get(&(start.phi, label))
        {
            start.write(new, &types, &size, count, *id);
            count += 2;
        }
    });
    written.map(Some)
}

/// What a phi of a loop begins with.
struct Start {
    phi: u32,
    ty: u32,
    value: u32,
    /// A phi of the loop around it, and its type.
    outer: Option<(u32, u32)>,
}

/// The values, by the label of the block before the loop.
fn find(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> BTreeMap<u32, Start> {
    let module = definitions.module();
    let functions = functions_with_built_ins(definitions);
    let (behind, phis) = blocks(definitions);
    let mut found = BTreeMap::new();
    for flow in Flow::of_functions(module) {
        let has_barrier = flow.blocks.iter().any(|block| block.barrier);
        if !has_barrier || !functions.contains(&flow.function) {
            continue;
        }
        for of in &flow.loops {
            let Some(before) = flow.preheader(of).and_then(|at| flow.blocks.get(at)) else { continue };
            if is_behind_barrier(&flow, of, &behind)
                && let Some(start) = start(definitions, types, &flow, of, &phis)
            {
                found.insert(before.label, start);
            }
        }
    }
    found
}

/// What stands behind the last barrier of a block.
#[derive(Clone, Copy, PartialEq)]
enum Behind {
    /// There is no barrier, and nothing that stays where it is.
    Nothing,
    Barrier,
    Effect,
}

type Phis<'m> = HashMap<u32, Vec<Instruction<'m>>>;

fn blocks<'m>(definitions: &Definitions<'m>) -> (HashMap<u32, Behind>, Phis<'m>) {
    let (mut behind, mut phis): (_, Phis<'m>) = (HashMap::new(), HashMap::new());
    let mut label = 0;
    for instruction in definitions.module().instructions() {
        match instruction.op() {
            Some(Op::Label) => {
                label = instruction.result_id().unwrap_or(0);
                behind.insert(label, Behind::Nothing);
            }
            Some(Op::Phi) => phis.entry(label).or_default().push(instruction),
            Some(Op::ControlBarrier) => {
                behind.insert(label, Behind::Barrier);
            }
            Some(Op::Store | Op::CopyMemory | Op::CopyMemorySized | Op::MemoryBarrier | Op::FunctionCall) => {
                behind.insert(label, Behind::Effect);
            }
            _ => {}
        }
    }
    (behind, phis)
}

/// Whether nothing stays between a barrier and a loop without barriers.
fn is_behind_barrier(flow: &Flow<'_>, of: &Loop, behind: &HashMap<u32, Behind>) -> bool {
    let has_barrier = of.blocks.iter().any(|at| flow.blocks.get(*at).is_some_and(|block| block.barrier));
    let Some(mut at) = flow.preheader(of).filter(|_| !has_barrier) else { return false };
    for _ in 0..ROW {
        let Some(block) = flow.blocks.get(at).filter(|block| block.successors.len() == 1) else {
            return false;
        };
        match behind.get(&block.label) {
            Some(Behind::Barrier) => return true,
            Some(Behind::Nothing) => {}
            _ => return false,
        }
        // PoCL puts a barrier behind the phis there, if the outer loop has one.
        if flow.loops.iter().any(|of| of.header == at) {
            return true;
        }
        let Some(before) = flow.predecessor(at) else { return false };
        // LLVM moves a test at the start of a loop to its end, and then this block is the first.
        let is_tested = |of: &Loop| of.header == before && of.blocks.contains(&at);
        if flow.loops.iter().any(|of| is_tested(of) && flow.exiting(of).contains(&before)) {
            return true;
        }
        at = before;
    }
    false
}

/// The phi of a loop that can begin with another value.
fn start(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    flow: &Flow<'_>,
    of: &Loop,
    phis: &Phis<'_>,
) -> Option<Start> {
    let phis_of =
        |at: usize| flow.blocks.get(at).and_then(|block| phis.get(&block.label)).into_iter().flatten();
    let is_number = |ty: u32| matches!(types.ty(ty), Some(Type::Int { .. } | Type::Float { .. }));
    let before = flow.blocks.get(flow.preheader(of)?)?.label;
    let is_outer = |outer: &&Loop| outer.header != of.header && outer.blocks.contains(&of.header);
    let around = flow.loops.iter().find(is_outer);
    let outer = around.and_then(|outer| {
        let mut typed = phis_of(outer.header).filter_map(|phi| phi.result_id().zip(phi.result_type()));
        typed.find(|(_, ty)| is_number(*ty))
    });
    if around.is_some() && outer.is_none() {
        return None;
    }
    let starts = phis_of(of.header).filter_map(|phi| {
        let mut pairs = phi.operands().chunks_exact(2);
        let value = *pairs.find(|pair| pair.get(1) == Some(&before))?.first()?;
        let ty = phi.result_type().filter(|ty| is_number(*ty))?;
        Some(Start { phi: phi.result_id()?, ty, value, outer })
    });
    // A loop that begins with a constant is counted best as it is.
    let is_constant = |value| {
        definitions.instruction(value).is_none_or(|i| {
            matches!(i.op(), Some(Op::Constant | Op::ConstantNull | Op::Undef | Op::SpecConstant))
        })
    };
    starts.min_by_key(|start| is_constant(start.value))
}

impl Start {
    /// Writes what the phi begins with; `count` is another number for each loop.
    fn write(
        &self,
        new: &mut Rewriter<'_>,
        types: &TypeTable<'_>,
        size: &BuiltInVector,
        count: u64,
        result: u32,
    ) {
        let truth = new.bool_type();
        let mut never = is_largest(new, size);
        if let Some((phi, ty)) = self.outer {
            // LLVM may know that the phi is no constant. It does not know the size in another dimension.
            let (op, other) = match types.ty(ty) {
                Some(Type::Int { width }) if width == size.width => (Op::IEqual, size.load(new, 1)),
                Some(Type::Int { .. }) => {
                    let other = size.load(new, 1);
                    (Op::IEqual, emit(new, Op::UConvert, ty, &[other]))
                }
                _ => (Op::FOrdEqual, number(new, types, ty, count)),
            };
            let is_equal = emit(new, op, truth, &[phi, other]);
            never = emit(new, Op::LogicalAnd, truth, &[never, is_equal]);
        }
        // Not the number above: LLVM knows `phi == n ? n : phi`.
        let other = number(new, types, self.ty, count + 1);
        new.push(Op::Select, &[self.ty, result, never, other, self.value]);
    }
}

/// A constant of a type. The bits of a float are a small number.
fn number(new: &mut Rewriter<'_>, types: &TypeTable<'_>, ty: u32, count: u64) -> u32 {
    let (low, is_wide) = match types.ty(ty) {
        Some(Type::Int { width } | Type::Float { width }) => {
            (count & (u64::MAX >> (64 - width.clamp(1, 64))), width > 32)
        }
        _ => (count, false),
    };
    let low = u32::try_from(low).unwrap_or(0);
    let words: &[u32] = if is_wide { &[low, 0] } else { &[low] };
    new.intern(Op::Constant, &[&[ty], words].concat())
}
