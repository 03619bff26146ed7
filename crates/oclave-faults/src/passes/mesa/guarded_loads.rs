//! Loads behind conditions that Mesa's llvmpipe does although no work-item asks for them.
//!
//! Where an address is the same for all work-items, llvmpipe loads once for all of them. Such a load
//! has no mask. A condition with few instructions behind it is no branch there, and the code behind a
//! `break` goes on with an empty mask. So `if (p) v = *p;` loads from address 0, and
//! `for (;;) { if (i >= n) break; i = in[i]; }` loads `in[n]`, which may end the process.
//!
//! llvmpipe loads under a mask where addresses may differ. So such an address becomes
//! `address == id of the work-item ? 0 : address`. No memory has an address that small.

use std::collections::{BTreeSet, HashSet};

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::{Uniformity, makes_value};
use oclave_spirv::analysis::work_items::made_of_ids;
use oclave_spirv::{
    BuiltIn, Cursor, Definitions, Editor, Instruction, Module, Op, StorageClass, TypeTable, is_access_chain,
    is_terminator,
};

fault! {
    /// **Q46. Mesa's rusticl 26.1.6 on llvmpipe.** A load from an address that is the same for all
    /// work-items has no mask. Few instructions behind a condition are no branch, and code behind a
    /// `break` goes on. From source, `if (a == 77) v = *p;` ends the process with SIGSEGV for an invalid
    /// `p`. So such addresses become `address == id ? 0 : address`.
    Q46 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "Loads from addresses that are the same for all work-items run without their condition.",
        remedy: "Such addresses depend on the work-item (`guarded_loads`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q46, "guarded_loads", |on| spread(on.analyses, on.target.address_bits));

/// From how many instructions on llvmpipe surely branches. It counts eight of its own. Ours may become
/// fewer there.
const SURE_TO_BRANCH: usize = 16;

/// The module with these addresses; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn spread(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let flows = analyses.flows();
    let uniformity = Uniformity::new(definitions, flows);
    let types = TypeTable::new(definitions);
    let values = Values { definitions, types: &types, differ: made_of_ids(definitions) };
    let mut found: Vec<(Instruction<'_>, u32)> = Vec::new();
    for flow in flows {
        let weight = |label| definitions.block(label).filter(|i| values.counts(i)).count();
        let weights = flow.blocks.iter().map(|block| weight(block.label)).collect();
        let is_kernel = uniformity.kernels().contains(&flow.function);
        let headers = flow.loops.iter().map(|of| of.header).collect();
        let search = Search { flow, headers, weights, is_kernel };
        for (at, block) in flow.blocks.iter().enumerate() {
            let code = definitions.block(block.label);
            let mut loads = code.filter_map(|i| Some((i, values.loaded_from(&i)?))).peekable();
            if loads.peek().is_some() && search.is_exposed(at) {
                found.extend(loads);
            }
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut edit = Editor::new(definitions);
    let local = BuiltInVector::add(&mut edit, BuiltIn::LocalInvocationId, address_bits);
    for (load, address) in found {
        let mut at = edit.instead_of(&load);
        let other = differing(&mut at, &local, address).unwrap_or(address);
        at.copy_mapped(&load, |id| if id == address { other } else { id });
    }
    Ok(edit.finish()?)
}

/// Writes an address that differs for all that llvmpipe knows.
fn differing(at: &mut Cursor<'_, '_>, local: &BuiltInVector, address: u32) -> Option<u32> {
    let ty = at.definitions().type_of(address)?;
    let (bool_type, number_type) = (at.bool_type(), at.int_type(local.width));
    let (null, id) = (at.null_constant(ty), local.read(at, 0));
    let number = at.emit(Op::ConvertPtrToU, number_type, &[address]);
    let never = at.emit(Op::IEqual, bool_type, &[number, id]);
    Some(at.emit(Op::Select, ty, &[never, null, address]))
}

struct Values<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    differ: HashSet<u32>,
}

impl Values<'_, '_> {
    /// The address in global memory that an instruction reads, if it may be the same for all work-items.
    fn loaded_from(&self, instruction: &Instruction<'_>) -> Option<u32> {
        let address = match (instruction.op()?, instruction.operands()) {
            (Op::Load, &[from, ..]) | (Op::CopyMemory | Op::CopyMemorySized, &[_, from, ..]) => from,
            (Op::ExtInst, &[set, number, _, from, ..])
                if self.definitions.opencl_std() == Some(set) && VLOADS.contains(&number) =>
            {
                from
            }
            _ => return None,
        };
        let class = self.class(address)?;
        let is_global =
            class == StorageClass::CrossWorkgroup as u32 || class == StorageClass::UniformConstant as u32;
        (is_global && !self.differ.contains(&address) && !self.is_variable(address)).then_some(address)
    }

    fn class(&self, pointer: u32) -> Option<u32> {
        Some(self.types.pointer(self.definitions.type_of(pointer)?)?.0)
    }

    /// Whether an address is in a variable of the module.
    fn is_variable(&self, address: u32) -> bool {
        let root = self.definitions.instruction(self.definitions.root(address));
        root.is_some_and(|root| root.is(Op::Variable))
    }

    /// Whether an instruction surely stays one for llvmpipe.
    fn counts(&self, instruction: &Instruction<'_>) -> bool {
        let is_private = |pointer: Option<u32>| {
            pointer.and_then(|pointer| self.class(pointer)) == Some(StorageClass::Function as u32)
        };
        match instruction.op() {
            Some(Op::Load | Op::Store) => !is_private(instruction.operand(0)),
            Some(Op::ControlBarrier) => true,
            Some(Op::Bitcast | Op::CopyObject | Op::Phi | Op::FunctionCall) | None => false,
            Some(op) if is_access_chain(op) || is_terminator(op) => false,
            Some(Op::UConvert | Op::SConvert | Op::ConvertPtrToU | Op::ConvertUToPtr) => false,
            Some(Op::CompositeExtract | Op::CompositeInsert | Op::CompositeConstruct) => false,
            Some(op) => makes_value(op),
        }
    }
}

/// `vloadn`, `vload_half`, `vload_halfn` and `vloada_halfn` of OpenCL.std.
const VLOADS: [u32; 4] = [171, 173, 174, 179];

/// The search in a function.
struct Search<'a, 'm> {
    flow: &'a Flow<'m>,
    /// The blocks where loops begin.
    headers: BTreeSet<usize>,
    weights: Vec<usize>,
    is_kernel: bool,
}

impl Search<'_, '_> {
    /// Whether llvmpipe may run a block although no work-item comes to it.
    fn is_exposed(&self, block: usize) -> bool {
        let of = self.flow.loops_around(block).next();
        let entry = of.map_or(0, |of| of.header);
        if (of.is_some() || self.is_kernel) && self.is_on_all_ways(entry, block, of) {
            return false;
        }
        let mut at = block;
        loop {
            if at != entry && self.is_behind_condition(at, of) {
                return !(self.is_on_all_ways(at, block, of) && self.surely_branches(at, of));
            }
            let above = self.flow.dominator(at).filter(|_| at != entry);
            let Some(above) = above.filter(|at| of.is_none_or(|of| of.blocks.contains(at))) else {
                return true;
            };
            at = above;
        }
    }

    /// Whether a block is entered by one side of a condition, and the other side stays in the loop.
    fn is_behind_condition(&self, block: usize, of: Option<&Loop>) -> bool {
        let before = self.flow.predecessor(block).and_then(|at| self.flow.blocks.get(at));
        let Some(before) = before else { return false };
        let sides: BTreeSet<usize> = before.successors.iter().copied().collect();
        sides.len() > 1 && of.is_none_or(|of| sides.is_subset(&of.blocks))
    }

    /// Whether no way leads from one block to the end of a round, or of the function, past another.
    fn is_on_all_ways(&self, from: usize, block: usize, of: Option<&Loop>) -> bool {
        let (mut open, mut seen) = (vec![from], BTreeSet::new());
        while let Some(at) = open.pop() {
            if at == block || !seen.insert(at) {
                continue;
            }
            let successors = self.flow.blocks.get(at).map(|block| block.successors.as_slice());
            let successors = successors.unwrap_or_default();
            let ends = |to: &usize| of.is_some_and(|of| *to == of.header || !of.blocks.contains(to));
            if successors.is_empty() || successors.iter().any(ends) {
                return false;
            }
            open.extend(successors);
        }
        true
    }

    /// Whether llvmpipe branches around what is behind a condition.
    fn surely_branches(&self, first: usize, of: Option<&Loop>) -> bool {
        let mut weight = 0;
        for (at, own) in self.weights.iter().enumerate() {
            if self.flow.dominates(first, at) && of.is_none_or(|of| of.blocks.contains(&at)) {
                weight += if self.headers.contains(&at) { SURE_TO_BRANCH } else { *own };
            }
        }
        weight >= SURE_TO_BRANCH
    }
}
