//! Loops that Intel's CPU runtime must not vectorise, or vectorises wrongly.
//!
//! Its vectoriser of loops crashes, or leaves a module on which a later pass crashes. It does so
//! where a loop calls a built-in function with a value that depends on the path (`s += rotate(i < a
//! ? p[i] : b, 9)`). A call under a condition that the loop does not change (`v = (b == a ?
//! rotate(b, i) : v) + 1`) does it, too. A volatile access keeps a loop from being vectorised, so each block with such a call gets one.
//!
//! Kernels whose work-items are vectorised do not crash, and would lose that. So this is for code
//! that a kernel reaches which does not ask for its work-item. Those of interpreter modules are among
//! them, which run work-items in loops.
//!
//! Its vectoriser of work-items is wrong in loops that have loops inside. Work-items that do not fill
//! a vector get wrong values: `for (i < b) { v = id + i; for (j < a) if (i & 1) v = 9 + j; }` takes
//! the `i` of the next round. A volatile access in the outer loop keeps it right, and costs nothing that
//! could be measured.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::Result;
use crate::analysis::control_flow::{Flow, Loop};
use crate::spirv::{BuiltIn, Decoration, Definitions, Instruction, Module, Op, Rewriter, StorageClass};

/// Operand of memory accesses (`MemoryAccess::VOLATILE`).
const VOLATILE: u32 = 1;

/// The module with these accesses; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn keep(module: &Module) -> Result<Option<Module>> {
    let facts = Facts::new(module);
    let reached = facts.reached_without_items(module);
    let blocks = |flow: &Flow<'_>| {
        let mut blocks = outer_loops(flow);
        if reached.contains(&flow.function) {
            blocks.extend(facts.blocks(flow));
        }
        blocks
    };
    let found: HashMap<u32, BTreeSet<u32>> = Flow::of_functions(module)
        .iter()
        .map(|flow| (flow.function, blocks(flow)))
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect();
    if found.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut new = Rewriter::new(&definitions);
    let word = new.int_type(32);
    let (mut blocks, mut variable, mut waits) = (None, None, false);
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => {
                blocks = instruction.result_id().and_then(|id| found.get(&id));
                variable = None;
            }
            Some(Op::Label) => {
                new.copy(&instruction);
                if blocks.is_some() && variable.is_none() {
                    let (ty, zero) =
                        (new.pointer_type(StorageClass::Function, word), new.int_constant(32, 0));
                    let id = new.fresh_id();
                    new.push(Op::Variable, &[ty, id, StorageClass::Function as u32, zero]);
                    variable = Some(id);
                }
                let label = instruction.result_id().unwrap_or(0);
                waits = blocks.is_some_and(|blocks| blocks.contains(&label));
                continue;
            }
            Some(Op::Phi | Op::Line | Op::NoLine) => {}
            _ if waits => {
                waits = false;
                let read = new.fresh_id();
                new.push(Op::Load, &[word, read, variable.unwrap_or(0), VOLATILE]);
            }
            _ => {}
        }
        new.copy(&instruction);
    }
    new.finish().map(Some)
}

/// The headers of loops that have other loops inside.
fn outer_loops(flow: &Flow<'_>) -> BTreeSet<u32> {
    let is_outer = |of: &&Loop| {
        flow.loops.iter().any(|inner| inner.header != of.header && of.blocks.contains(&inner.header))
    };
    let label = |of: &Loop| flow.blocks.get(of.header).map(|block| block.label);
    flow.loops.iter().filter(is_outer).filter_map(label).collect()
}

/// What a module defines and calls.
struct Facts<'m> {
    /// Values of functions → the blocks that define them.
    defined_in: HashMap<u32, u32>,
    /// Blocks → the arguments of the built-in functions that they call.
    calls: HashMap<u32, Vec<u32>>,
    definitions: Definitions<'m>,
}

impl<'m> Facts<'m> {
    fn new(module: &'m Module) -> Self {
        let conversions = functions_that_convert(module);
        let (mut defined_in, mut calls, mut label) = (HashMap::new(), HashMap::new(), 0);
        for instruction in module.instructions() {
            match instruction.op() {
                Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
                Some(Op::FunctionEnd) => label = 0,
                _ if label == 0 => {}
                op => {
                    defined_in.extend(instruction.result_id().map(|id| (id, label)));
                    let first = match op {
                        Some(Op::ExtInst) => 2,
                        Some(Op::BitCount | Op::BitReverse | Op::SatConvertSToU | Op::SatConvertUToS) => 0,
                        _ if instruction.result_id().is_some_and(|id| conversions.contains(&id)) => 0,
                        _ => continue,
                    };
                    let arguments = instruction.operands().get(first..).unwrap_or_default();
                    calls.entry(label).or_insert_with(Vec::new).extend_from_slice(arguments);
                }
            }
        }
        Self { defined_in, calls, definitions: Definitions::new(module) }
    }

    /// Functions that are reached from a kernel that does not ask for its work-item.
    fn reached_without_items(&self, module: &Module) -> HashSet<u32> {
        let items = built_ins_of_items(module);
        let (mut calls, mut asks, mut function) = (HashMap::<u32, Vec<u32>>::new(), HashSet::new(), 0);
        for instruction in module.instructions() {
            match instruction.op() {
                Some(Op::Function) => function = instruction.result_id().unwrap_or(0),
                Some(Op::FunctionCall) => calls.entry(function).or_default().extend(instruction.operand(0)),
                Some(Op::Load) if instruction.operand(0).is_some_and(|from| items.contains(&from)) => {
                    asks.insert(function);
                }
                _ => {}
            }
        }
        let mut all = HashSet::new();
        for entry in module.instructions().filter(|i| i.is(Op::EntryPoint)).filter_map(|i| i.operand(1)) {
            let (mut reached, mut open) = (HashSet::new(), vec![entry]);
            while let Some(function) = open.pop() {
                if reached.insert(function) {
                    open.extend(calls.get(&function).into_iter().flatten());
                }
            }
            if reached.is_disjoint(&asks) {
                all.extend(reached);
            }
        }
        all
    }

    /// The blocks of a function in loops that crash.
    fn blocks(&self, flow: &Flow<'_>) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        for of in &flow.loops {
            let labels: HashSet<u32> =
                of.blocks.iter().filter_map(|block| Some(flow.blocks.get(*block)?.label)).collect();
            for (block, label) in of.blocks.iter().filter_map(|b| Some((*b, flow.blocks.get(*b)?.label))) {
                let Some(arguments) = self.calls.get(&label) else { continue };
                if arguments.iter().any(|id| self.is_joined(flow, *id, &labels))
                    || block != of.header && self.is_uniform(flow, of, block, &labels)
                {
                    found.insert(label);
                }
            }
        }
        found
    }

    /// Whether several paths in a loop lead to a value. Without optimisation such values are in
    /// variables, and results of functions may be joined once these are inlined.
    fn is_joined(&self, flow: &Flow<'_>, id: u32, labels: &HashSet<u32>) -> bool {
        let is_inside = self.defined_in.get(&id).is_some_and(|label| labels.contains(label));
        let is_header = |block: &usize| flow.loops.iter().any(|one| one.header == *block);
        let is_variable = |from: Instruction<'_>| {
            from.is(Op::Variable) && from.operand(0) == Some(StorageClass::Function as u32)
        };
        is_inside
            && self.definitions.instruction(id).is_some_and(|from| match from.op() {
                Some(Op::Phi) => !flow.phis.get(&id).is_some_and(is_header),
                Some(Op::FunctionCall) => true,
                Some(Op::Load) => {
                    from.operand(0).and_then(|id| self.definitions.instruction(id)).is_some_and(is_variable)
                }
                _ => false,
            })
    }

    /// Whether a condition that the loop does not change leads to a block.
    fn is_uniform(&self, flow: &Flow<'_>, of: &Loop, block: usize, labels: &HashSet<u32>) -> bool {
        let before = flow.blocks.get(block).map(|block| block.predecessors.as_slice()).unwrap_or_default();
        before.iter().filter(|before| of.blocks.contains(before)).any(|before| {
            flow.blocks.get(*before).and_then(|before| before.terminator).is_some_and(|end| {
                let from = end.operand(0).and_then(|id| self.defined_in.get(&id));
                (end.is(Op::BranchConditional) || end.is(Op::Switch))
                    && !from.is_some_and(|label| labels.contains(label))
            })
        })
    }
}

/// Conversions that round or saturate as they say: these are functions, too.
fn functions_that_convert(module: &Module) -> HashSet<u32> {
    let decorations = [Decoration::SaturatedConversion as u32, Decoration::FPRoundingMode as u32];
    let annotations = module.instructions().take_while(|i| !i.is(Op::Function));
    let is_function = |i: &Instruction<'_>| {
        i.is(Op::Decorate) && i.operand(1).is_some_and(|decoration| decorations.contains(&decoration))
    };
    annotations.filter(is_function).filter_map(|i| i.operand(0)).collect()
}

/// The variables that tell a work-item which one it is.
fn built_ins_of_items(module: &Module) -> HashSet<u32> {
    let items = [
        BuiltIn::GlobalInvocationId as u32,
        BuiltIn::LocalInvocationId as u32,
        BuiltIn::GlobalLinearId as u32,
        BuiltIn::LocalInvocationIndex as u32,
    ];
    let annotations = module.instructions().take_while(|i| !i.is(Op::Function));
    let is_item = |i: &Instruction<'_>| {
        i.is(Op::Decorate)
            && i.operand(1) == Some(Decoration::BuiltIn as u32)
            && i.operand(2).is_some_and(|built_in| items.contains(&built_in))
    };
    annotations.filter(is_item).filter_map(|i| i.operand(0)).collect()
}
