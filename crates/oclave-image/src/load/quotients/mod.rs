//! Unsigned quotients that decide how often a loop runs, kept from Intel's vectoriser.
//!
//! Where the work-items of a group do not fill a vector, what is left of the last vector has other
//! quotients. If a loop runs as often as a quotient says, it goes on for these. If it also has a
//! condition, work-items take values of rounds that they do not have:
//!
//! ```text
//! uint n = a / b;
//! for (uint i = 0; i < n; i++) if (id & 1) v = i;
//! ```
//!
//! Such quotients and remainders go through a volatile variable. Constant divisors are right, and so
//! are loops without such a condition. These would become three to five times slower. Some steps of
//! counters go through such a variable as well, as LLVM divides by them (`steps`).

mod steps;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::Result;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::{condition, makes_value};
use oclave_spirv::{Definitions, Instruction, Module, Op, Rewriter, Role, StorageClass};

/// Operand of memory accesses (`MemoryAccess::VOLATILE`).
const VOLATILE: u32 = 1;

/// The module with these variables; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn keep(module: &Module) -> Result<Option<Module>> {
    let is_quotient = |i: &Instruction<'_>| matches!(i.op(), Some(Op::UDiv | Op::UMod));
    let has_quotients = module.instructions().any(|i| is_quotient(&i));
    if !has_quotients && !steps::are_in(module) {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let is_variable = |i: &Instruction<'_>| {
        let divisor = i.operand(1).and_then(|divisor| definitions.instruction(divisor));
        is_quotient(i) && !divisor.is_some_and(|d| d.is(Op::Constant) || d.is(Op::ConstantComposite))
    };
    let flows = Flow::of_functions(module);
    let reached = if has_quotients { Sources::new(&definitions).of_exits(&flows) } else { HashSet::new() };
    let steps = steps::find(&definitions, &flows);
    let is_kept =
        |i: &Instruction<'_>, id: u32| is_variable(i) && reached.contains(&id) || steps.contains(&id);
    let mut new = Rewriter::new(&definitions);
    // Function → the types of such values.
    let mut types: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    // Such a value → its new name, by which it is stored.
    let mut values: HashMap<u32, u32> = HashMap::new();
    let mut function = 0;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            function = instruction.result_id().unwrap_or(0);
        }
        if let Some(id) = instruction.result_id().filter(|id| is_kept(&instruction, *id)) {
            types.entry(function).or_default().extend(instruction.result_type());
            values.insert(id, new.fresh_id());
        }
    }
    if types.is_empty() {
        return Ok(None);
    }
    let mut waits: Option<&BTreeSet<u32>> = None;
    let mut variables: HashMap<u32, u32> = HashMap::new();
    for instruction in module.instructions() {
        match (instruction.op(), instruction.result_id(), instruction.result_type()) {
            (Some(Op::Function), Some(id), _) => {
                (waits, variables) = (types.get(&id), HashMap::new());
            }
            (Some(Op::Label), ..) => {
                new.copy(&instruction);
                for ty in waits.take().into_iter().flatten() {
                    let pointer = new.pointer_type(StorageClass::Function, *ty);
                    let variable = new.fresh_id();
                    new.push(Op::Variable, &[pointer, variable, StorageClass::Function as u32]);
                    variables.insert(*ty, variable);
                }
                continue;
            }
            // What is said of the value is not true of a load.
            (Some(Op::Decorate), ..) => {
                new.copy_mapped(&instruction, |id| values.get(&id).copied().unwrap_or(id));
                continue;
            }
            (Some(op), Some(id), Some(ty)) => {
                if let (Some(&value), Some(&variable)) = (values.get(&id), variables.get(&ty)) {
                    new.push(op, &[&[ty, value], instruction.operands()].concat());
                    new.push(Op::Store, &[variable, value, VOLATILE]);
                    new.push(Op::Load, &[ty, id, variable, VOLATILE]);
                    continue;
                }
            }
            _ => {}
        }
        new.copy(&instruction);
    }
    Ok(Some(new.finish()?))
}

/// What values are computed of, also through private variables and calls.
struct Sources<'a, 'm> {
    definitions: &'a Definitions<'m>,
    /// Parameter → the arguments for it.
    arguments: HashMap<u32, Vec<u32>>,
    /// Function → what it returns.
    returned: HashMap<u32, Vec<u32>>,
    /// Private variable → the stored value.
    stored: HashMap<u32, Vec<u32>>,
    /// The labels of blocks with selections.
    selects: HashSet<u32>,
}

impl<'a, 'm> Sources<'a, 'm> {
    fn new(definitions: &'a Definitions<'m>) -> Self {
        let mut parameters: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut calls: Vec<Instruction<'m>> = Vec::new();
        let (mut returned, mut stored) = (HashMap::new(), HashMap::new());
        let mut selects = HashSet::new();
        let (mut function, mut label) = (0, 0);
        for instruction in definitions.module().instructions() {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::Function), _) => function = instruction.result_id().unwrap_or(0),
                (Some(Op::Label), _) => label = instruction.result_id().unwrap_or(0),
                (Some(Op::Select), _) => {
                    selects.insert(label);
                }
                (Some(Op::FunctionParameter), _) => {
                    parameters.entry(function).or_default().extend(instruction.result_id());
                }
                (Some(Op::FunctionCall), _) => calls.push(instruction),
                (Some(Op::ReturnValue), &[value]) => {
                    returned.entry(function).or_insert_with(Vec::new).push(value);
                }
                (Some(Op::Store), &[to, value, ..]) if definitions.is_private_variable(to) => {
                    stored.entry(to).or_insert_with(Vec::new).push(value);
                }
                _ => {}
            }
        }
        let mut arguments: HashMap<u32, Vec<u32>> = HashMap::new();
        for call in calls {
            let Some((function, given)) = call.operands().split_first() else { continue };
            let parameters = parameters.get(function).map(Vec::as_slice).unwrap_or_default();
            for (parameter, argument) in parameters.iter().zip(given) {
                arguments.entry(*parameter).or_default().push(*argument);
            }
        }
        Self { definitions, arguments, returned, stored, selects }
    }

    /// Whether a loop has a condition besides those by which it ends. In code of `-O0` all of them count.
    fn has_choices(&self, flow: &Flow<'_>, of: &Loop) -> bool {
        let ends = flow.exiting(of);
        of.blocks.iter().any(|block| {
            let selects = || flow.blocks.get(*block).is_some_and(|block| self.selects.contains(&block.label));
            condition(flow, *block).is_some() && !ends.contains(block) || selects()
        })
    }

    /// All that the conditions are computed of by which loops end that have such a condition.
    fn of_exits(&self, flows: &[Flow<'_>]) -> HashSet<u32> {
        let exits = flows.iter().flat_map(|flow| {
            let loops = flow.loops.iter().filter(|of| self.has_choices(flow, of));
            loops.flat_map(|of| flow.exiting(of)).filter_map(|block| condition(flow, block))
        });
        let (mut open, mut seen): (Vec<u32>, HashSet<u32>) = (exits.collect(), HashSet::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            open.extend(self.arguments.get(&id).into_iter().flatten());
            let Some(instruction) = self.definitions.instruction(id) else { continue };
            match (instruction.op(), instruction.operand(0)) {
                (Some(Op::Load), Some(from)) => open.extend(self.stored.get(&from).into_iter().flatten()),
                (Some(Op::FunctionCall), Some(to)) => {
                    open.extend(self.returned.get(&to).into_iter().flatten());
                }
                (Some(op), _) if makes_value(op) => {
                    instruction.visit_ids(self.definitions, |at, role| {
                        if role == Role::Id {
                            open.extend(instruction.word(at));
                        }
                    });
                }
                _ => {}
            }
        }
        seen
    }
}
