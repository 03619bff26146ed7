//! Calls that become part of the kernel that makes them.
//!
//! Passes that change barriers and loops only look at a kernel's own blocks, and need this first. The
//! kernels of an interpreter module do nothing but call.

mod inliner;

use std::collections::{BTreeMap, BTreeSet};

use inliner::Inliner;

use crate::analysis::calls::{calls, reaches, with_callers};
use crate::analysis::control_flow::Flow;
use crate::analysis::uniformity::Uniformity;
use crate::{Definitions, Instruction, Module, Op, Result};

/// Calls that become part of a kernel may call in turn. Deeper ones stay calls.
const MOST_ROUNDS: usize = 32;
/// Words that a module does not grow beyond.
const MOST_WORDS: usize = 1 << 22;

/// The module with what its kernels with barriers call inlined, where that has barriers or loops.
///
/// # Errors
/// As [`Editor::finish`](crate::Editor::finish).
pub fn into_kernels_with_barriers(module: Module) -> Result<Module> {
    inline(module, BTreeSet::new(), |module| {
        let definitions = Definitions::new(module);
        let flows = Flow::of_functions(&definitions);
        let uniformity = Uniformity::new(&definitions, &flows);
        let kernels = || uniformity.kernels().iter().filter(|kernel| uniformity.has_barriers(**kernel));
        let loops = with_callers(&flows, |flow| !flow.loops.is_empty());
        let is_wanted = |id: &u32| uniformity.has_barriers(*id) || loops.contains(id);
        // What calls itself stays.
        let calls = calls(&flows);
        let callees = flows
            .iter()
            .map(|flow| flow.function)
            .filter(is_wanted)
            .filter(|id| !uniformity.kernels().contains(id) && !reaches(&calls, *id, *id))
            .collect();
        Wanted { callers: kernels().copied().collect(), callees }
    })
}

/// The module with functions inlined that have loops and are called in one place.
///
/// # Errors
/// As [`Editor::finish`](crate::Editor::finish).
pub fn loops_called_once(module: Module) -> Result<Module> {
    inline(module, BTreeSet::new(), |module| {
        let definitions = Definitions::new(module);
        let flows = Flow::of_functions(&definitions);
        let uniformity = Uniformity::new(&definitions, &flows);
        let calls = calls(&flows);
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        for callee in flows.iter().flat_map(|flow| &flow.blocks).flat_map(|block| &block.calls) {
            *places.entry(*callee).or_default() += 1;
        }
        let is_wanted = |flow: &&Flow<'_>| {
            !flow.loops.is_empty()
                && places.get(&flow.function) == Some(&1)
                && !uniformity.kernels().contains(&flow.function)
                && !reaches(&calls, flow.function, flow.function)
        };
        Wanted {
            callers: flows.iter().map(|flow| flow.function).collect(),
            callees: flows.iter().filter(is_wanted).map(|flow| flow.function).collect(),
        }
    })
}

/// The module with all that its kernels call inlined, but for functions that call themselves and
/// those of more words than `most_words`.
///
/// `abreast` are calls that do not depend on the call before them, of the same function. What has no
/// branches then runs in step for all of them: each instruction for the first, for the second, and so
/// on. So loads of several calls are on their way at once.
///
/// # Errors
/// As [`Editor::finish`](crate::Editor::finish).
pub fn into_kernels(module: Module, most_words: usize, abreast: BTreeSet<u32>) -> Result<Module> {
    inline(module, abreast, |module| {
        let definitions = Definitions::new(module);
        let flows = Flow::of_functions(&definitions);
        let calls = calls(&flows);
        let kernels: BTreeSet<u32> =
            module.instructions().filter(|i| i.is(Op::EntryPoint)).filter_map(|i| i.operand(1)).collect();
        let bodies = bodies(module);
        let body = |id: &u32| bodies.get(id).map(Vec::as_slice).unwrap_or_default();
        let is_small = |id: &u32| words(body(id)) <= most_words && !reaches(&calls, *id, *id);
        let callees = (bodies.keys().copied()).filter(|id| !kernels.contains(id) && is_small(id)).collect();
        Wanted { callers: kernels, callees }
    })
}

/// The words of a function's instructions, without their results.
pub(super) fn words(body: &[Instruction<'_>]) -> usize {
    body.iter().map(|i| i.operands().len() + 1).sum()
}

/// Calls that are to be inlined: those of these callees in these callers.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) callers: BTreeSet<u32>,
    pub(super) callees: BTreeSet<u32>,
}

/// The module with the calls inlined that `wanted` chooses, until there are none.
pub(super) fn inline(
    mut module: Module,
    mut abreast: BTreeSet<u32>,
    wanted: impl Fn(&Module) -> Wanted,
) -> Result<Module> {
    for _ in 0..MOST_ROUNDS {
        let wanted = wanted(&module);
        let next = {
            let definitions = Definitions::new(&module);
            let bodies = bodies(&module);
            let calls = wanted.callers.iter().filter_map(|caller| bodies.get(caller)).flatten();
            let calls = calls.filter(|i| is_call_to(i, &wanted.callees));
            let growth: usize =
                calls.filter_map(|call| bodies.get(&call.operand(0)?)).map(|body| words(body)).sum();
            if growth == 0 || module.words().len().saturating_add(growth) > MOST_WORDS {
                None
            } else {
                Inliner::new(&definitions, &bodies, &mut abreast).write(&wanted)?
            }
        };
        match next {
            Some(next) => module = next,
            None => break,
        }
    }
    Ok(module)
}

/// The instructions of each function that has blocks, from `OpFunction` to `OpFunctionEnd`.
pub(super) type Bodies<'m> = BTreeMap<u32, Vec<Instruction<'m>>>;

pub(super) fn bodies(module: &Module) -> Bodies<'_> {
    let mut bodies = BTreeMap::new();
    let mut body = Vec::new();
    for instruction in module.instructions() {
        if !body.is_empty() || instruction.is(Op::Function) {
            body.push(instruction);
        }
        if instruction.is(Op::FunctionEnd) {
            let body: Vec<Instruction<'_>> = std::mem::take(&mut body);
            let id = body.first().and_then(Instruction::result_id);
            if let Some(id) = id.filter(|_| body.iter().any(|i| i.is(Op::Label))) {
                bodies.insert(id, body);
            }
        }
    }
    bodies
}

fn is_call_to(instruction: &Instruction<'_>, callees: &BTreeSet<u32>) -> bool {
    instruction.is(Op::FunctionCall) && instruction.operand(0).is_some_and(|to| callees.contains(&to))
}
