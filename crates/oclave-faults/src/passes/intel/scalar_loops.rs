//! Loops that Intel's CPU runtime must not vectorise, or vectorises wrongly.
//!
//! Its vectoriser of loops crashes, or leaves a module on which a later pass crashes. Two forms of
//! loops do this. In one, a built-in function is called with a value that depends on the path (`s
//! += rotate(i < a ? p[i] : b, 9)`). In the other, the call is under a condition that the loop does
//! not change (`v = (b == a ? rotate(b, i) : v) + 1`). A volatile access keeps a loop from being
//! vectorised, so each block with such a call gets one.
//!
//! Kernels whose work-items are vectorised do not crash, and small loops took up to three times as
//! long with such an access. So only some kernels get it: those that use the id of a work-item in
//! comparisons only (`if (get_local_id(0) == 0) for …`). The compiler turns such comparisons into
//! bounds of the group, and no work-items are left to vectorise. Kernels of interpreter modules
//! that run work-items in loops are among them.
//!
//! Its vectoriser of work-items is wrong in loops that have loops inside. Work-items that do not fill
//! a vector get wrong values: `for (i < b) { v = id + i; for (j < a) if (i & 1) v = 9 + j; }` takes
//! the `i` of the next round. A volatile access in the outer loop keeps it right. It costs little where
//! the inner loop has many rounds: 4.2 and 4.6 ms of CPU time with 40. With two rounds it costs much:
//! 0.37 and 0.94 to 1.1 ms.
//!
//! Only loops are wrong whose inner loop gives a value to code behind it. Of 900 random kernels
//! without such a value none was wrong, of 450 with one 22. The loops of interpreter modules give
//! nothing, so they need no access.
//!
//! The inner loop must also choose between values, by a branch or a selection. Of 480 small kernels, 24 of the
//! 240 with such a choice were wrong, and none of the others. A product of matrices has none, and took 1.4 times as long with
//! the access.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::analysis::work_items::WorkItems;
use oclave_spirv::{Decoration, Definitions, Editor, Instruction, Module, Op, Role, StorageClass, VOLATILE};

fault! {
    /// **Q26. Intel's CPU runtime 2026.2.** Its vectoriser of loops crashes the process, in
    /// `vplan-vec` or in `adce` after it. Two kinds of calls of built-in functions do that. One has
    /// a value that depends on the path. The other is under a condition that the loop does not
    /// change. From source, this does: `for (uint i = 0; i < n; i++) { uint r = i < a ? in[i] : b;
    /// s += rotate(r, 9u); }`. `min`, `sqrt`, `popcount` and saturating conversions crash as well.
    /// Kernels whose work-items are vectorised do not show it. Loops of interpreter modules over
    /// work-items do. Such loops are kept from being vectorised.
    ///
    /// Kernels that only compare the number of a work-item count as not vectorised: the compiler makes
    /// `if (get_local_id(0) == 0) for …` the bounds of the group. In kernels that are vectorised the
    /// volatile access would make small loops up to three times slower (0.8 and 2.5 ms).
    ///
    /// Its vectoriser of work-items is wrong in loops with loops inside. The work-items of a group
    /// that do not fill a vector of 16 get wrong values:
    /// `for (i < b) { v = id + i; for (j < a) if (i & 1) v = 9 + j; }` takes the `i` of the next
    /// round. From source, only `-cl-opt-disable` is right. The inner loop gives a value to code
    /// behind it in all that are wrong. The same pass puts a volatile access into such outer loops.
    Q26 {
        affects: [INTEL],
        seen: Programs,
        symptom: "The vectoriser of loops crashes at built-in functions of values that depend on the path.",
        remedy: "Such loops are not vectorised (`scalar_loops`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q26, "scalar_loops", |on| keep(on.analyses));

/// The module with these accesses; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn keep(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let flows = analyses.flows();
    let crashing = crashing(analyses);
    let mut edit = Editor::new(definitions);
    for flow in flows {
        let mut blocks = wrong_loops(analyses, flow);
        blocks.extend(crashing.get(&flow.function).into_iter().flatten());
        let entry = flow.blocks.first().and_then(|block| definitions.instruction(block.label));
        let Some(entry) = entry.filter(|_| !blocks.is_empty()) else { continue };
        let (word, zero) = (edit.int_type(32), edit.int_constant(32, 0));
        let pointer = edit.pointer_type(StorageClass::Function, word);
        let variable = edit.after(&entry).emit(Op::Variable, pointer, &[StorageClass::Function as u32, zero]);
        for label in blocks {
            edit.at_start(label).emit(Op::Load, word, &[variable, VOLATILE]);
        }
    }
    Ok(edit.finish()?)
}

/// Functions, and their blocks in loops that crash, as far as kernels come there whose work-items
/// are not vectorised.
fn crashing(analyses: &Analyses<'_>) -> HashMap<u32, BTreeSet<u32>> {
    let (module, flows) = (analyses.module(), analyses.flows());
    let facts = Facts { analyses, conversions: functions_that_convert(module) };
    let mut found: HashMap<u32, BTreeSet<u32>> =
        flows.iter().map(|flow| (flow.function, facts.blocks(flow))).collect();
    found.retain(|_, blocks| !blocks.is_empty());
    if found.is_empty() {
        return found;
    }
    let items = WorkItems::new(analyses.definitions(), flows);
    let mut scalar = BTreeSet::new();
    for entry in module.instructions().filter_map(|i| kernel_entry(&i)) {
        let reached = items.reached(entry.function);
        if reached.iter().any(|function| found.contains_key(function)) && !items.are_used(&reached) {
            scalar.extend(reached);
        }
    }
    found.retain(|function, _| scalar.contains(function));
    found
}

/// What a module defines and calls.
struct Facts<'a, 'm> {
    analyses: &'a Analyses<'m>,
    /// The results of conversions that are functions.
    conversions: HashSet<u32>,
}

impl<'m> Facts<'_, 'm> {
    /// The arguments of a built-in function, if an instruction calls one.
    fn arguments(&self, instruction: &Instruction<'m>) -> Option<&'m [u32]> {
        let first = match instruction.op() {
            Some(Op::ExtInst) => 2,
            Some(Op::BitCount | Op::BitReverse | Op::SatConvertSToU | Op::SatConvertUToS) => 0,
            _ if instruction.result_id().is_some_and(|id| self.conversions.contains(&id)) => 0,
            _ => return None,
        };
        Some(instruction.operands().get(first..).unwrap_or_default())
    }

    /// The blocks of a function in loops that crash.
    fn blocks(&self, flow: &Flow<'m>) -> BTreeSet<u32> {
        let mut calls: HashMap<usize, Vec<u32>> = HashMap::new();
        for (block, instruction) in flow.code(self.analyses.definitions()) {
            if let Some(arguments) = self.arguments(&instruction) {
                calls.entry(block).or_default().extend(arguments);
            }
        }
        let mut found = BTreeSet::new();
        for of in &flow.loops {
            for (block, arguments) in of.blocks.iter().filter_map(|at| Some((*at, calls.get(at)?))) {
                if arguments.iter().any(|id| self.is_joined(flow, *id, of))
                    || block != of.header && self.is_uniform(flow, of, block)
                {
                    found.extend(flow.blocks.get(block).map(|block| block.label));
                }
            }
        }
        found
    }

    /// Whether several paths in a loop lead to a value. Without optimisation such values are in
    /// variables, and results of functions may be joined once these are inlined.
    fn is_joined(&self, flow: &Flow<'_>, id: u32, of: &Loop) -> bool {
        let definitions = self.analyses.definitions();
        let is_header = |block: &usize| flow.loops.iter().any(|one| one.header == *block);
        self.analyses.is_defined_in(id, of)
            && definitions.instruction(id).is_some_and(|from| match from.op() {
                Some(Op::Phi) => !flow.phis.get(&id).is_some_and(is_header),
                Some(Op::FunctionCall) => true,
                Some(Op::Load) => from.operand(0).is_some_and(|id| definitions.is_private_variable(id)),
                _ => false,
            })
    }

    /// Whether a condition that the loop does not change leads to a block.
    fn is_uniform(&self, flow: &Flow<'_>, of: &Loop, block: usize) -> bool {
        let before = flow.blocks.get(block).map(|block| block.predecessors.as_slice()).unwrap_or_default();
        before.iter().filter(|before| of.blocks.contains(before)).any(|before| {
            flow.blocks.get(*before).and_then(|before| before.terminator).is_some_and(|end| {
                (end.is(Op::BranchConditional) || end.is(Op::Switch))
                    && !end.operand(0).is_some_and(|id| self.analyses.is_defined_in(id, of))
            })
        })
    }
}

/// The headers of loops with a loop inside that gives a value to code behind it, and may choose that value.
fn wrong_loops(analyses: &Analyses<'_>, flow: &Flow<'_>) -> BTreeSet<u32> {
    let definitions = analyses.definitions();
    // Blocks → the others that use what they define.
    let mut used_in: HashMap<usize, BTreeSet<usize>> = HashMap::new();
    // Variables may become values.
    let mut has_variables = false;
    for (block, instruction) in flow.code(definitions) {
        has_variables |= instruction.is(Op::Variable);
        instruction.visit_ids(definitions, |index, role| {
            let from = instruction.word(index).and_then(|id| analyses.block_of(id));
            if let Some(from) = from.filter(|from| *from != block && role != Role::Result) {
                used_in.entry(from).or_default().insert(block);
            }
        });
    }
    let is_used_outside = |of: &Loop| {
        let mut uses = of.blocks.iter().filter_map(|from| used_in.get(from));
        uses.any(|uses| !uses.is_subset(&of.blocks))
    };
    let gives = |of: &&Loop| has_variables || is_used_outside(of) && may_choose(definitions, flow, of);
    let giving: Vec<usize> = flow.loops.iter().filter(gives).map(|of| of.header).collect();
    let is_wrong = |of: &&Loop| giving.iter().any(|inner| *inner != of.header && of.blocks.contains(inner));
    let label = |of: &Loop| flow.blocks.get(of.header).map(|block| block.label);
    flow.loops.iter().filter(is_wrong).filter_map(label).collect()
}

/// Whether a loop may choose between values. Only its one end is no choice. Functions may choose.
fn may_choose(definitions: &Definitions<'_>, flow: &Flow<'_>, of: &Loop) -> bool {
    let exits = flow.exiting(of);
    let branches = of.blocks.iter().filter(|at| exits != [**at]).filter_map(|at| flow.blocks.get(*at));
    let mut ends = branches.filter_map(|block| block.terminator);
    let is_choice = |i: Instruction<'_>| matches!(i.op(), Some(Op::Select | Op::ExtInst | Op::FunctionCall));
    ends.any(|end| end.is(Op::BranchConditional) || end.is(Op::Switch))
        || flow.loop_code(definitions, of).any(is_choice)
}

/// Conversions that round or saturate as they say: these are functions, too.
fn functions_that_convert(module: &Module) -> HashSet<u32> {
    let decorations = [Decoration::SaturatedConversion as u32, Decoration::FPRoundingMode as u32];
    let annotations = module.global_instructions();
    let is_function = |i: &Instruction<'_>| {
        i.is(Op::Decorate) && i.operand(1).is_some_and(|decoration| decorations.contains(&decoration))
    };
    annotations.filter(is_function).filter_map(|i| i.operand(0)).collect()
}
