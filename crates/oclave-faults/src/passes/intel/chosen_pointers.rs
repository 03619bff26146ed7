//! Pointers to private memory that a condition chooses.
//!
//! Intel's compiler calculates several work-items at once, and keeps the elements of their arrays side by side. Where a condition chooses
//! between two private pointers, it calculates wrong addresses: `t = id % 2 ? a : b; *out = t[i];` gives elements of other work-items.
//! Accesses through such a pointer are right if they are volatile.

use std::collections::{BTreeMap, BTreeSet};

use crate::Fault;
use crate::passes::volatile_accesses::make_volatile;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Definitions, Editor, Instruction, Module, Op, StorageClass, TypeTable, is_access_chain};

fault! {
    /// **Q92. Intel's CPU runtime 2026.2.** If work-items choose between two pointers to private memory, accesses through the pointer
    /// go to wrong addresses. From source, `uint *t = x & 1 ? a : b; out[id] = t[i];` is wrong for nearly all work-items, whether `a` and
    /// `b` are two arrays or parts of one. So is a store. With `-cl-opt-disable`, and with volatile accesses, all are right.
    Q92 {
        affects: [INTEL],
        seen: Programs,
        symptom: "Accesses through a private pointer that a condition chooses go to wrong addresses.",
        remedy: "Such accesses are volatile (`chosen_pointers`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q92, "chosen_pointers", |on| keep(on.analyses));

/// The module with these accesses; `None` where it has none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn keep(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let chosen = Chosen::of(module, definitions);
    let mut edit = Editor::new(definitions);
    for access in module.instructions().filter(|i| matches!(i.op(), Some(Op::Load | Op::Store))) {
        if access.operand(0).is_some_and(|pointer| chosen.0.contains(&pointer)) {
            make_volatile(&mut edit, &access);
        }
    }
    Ok(edit.finish()?)
}

/// The pointers that a condition chooses, and those that are made of them.
struct Chosen(BTreeSet<u32>);

impl Chosen {
    fn of(module: &Module, definitions: &Definitions<'_>) -> Self {
        let types = TypeTable::new(definitions);
        let is_of = |id: u32, classes: &[StorageClass]| {
            let pointer = definitions.type_of(id).and_then(|ty| types.pointer(ty));
            pointer.is_some_and(|(class, _)| classes.iter().any(|of| *of as u32 == class))
        };
        let is_private = |id: u32| is_of(id, &[StorageClass::Function, StorageClass::Generic]);
        // Pointer → pointers that are made of it, in the function or in one that is called.
        let mut made: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut open = Vec::new();
        for instruction in module.instructions() {
            let result = instruction.result_id().filter(|id| is_private(*id));
            match (instruction.op(), result) {
                (Some(Op::Select), Some(result)) => open.push(result),
                // The condition may have chosen an integer.
                (Some(Op::ConvertUToPtr), Some(result)) if is_of(result, &[StorageClass::Function]) => {
                    open.push(result);
                }
                (Some(Op::Phi), Some(result)) => {
                    let values = instruction.operands().iter().step_by(2).copied();
                    let others = values.filter(|value| definitions.root(*value) != result);
                    let others: BTreeSet<u32> = others.collect();
                    if others.len() > 1 {
                        open.push(result);
                    }
                    others.into_iter().for_each(|other| made.entry(other).or_default().push(result));
                }
                (Some(_), Some(result)) => {
                    let from = base(&instruction);
                    from.into_iter().for_each(|from| made.entry(from).or_default().push(result));
                }
                _ => {}
            }
            if let (Some(Op::FunctionCall), [function, arguments @ ..]) =
                (instruction.op(), instruction.operands())
            {
                let passed = arguments.iter().zip(definitions.parameters(*function));
                for (argument, parameter) in passed.filter(|(argument, _)| is_private(**argument)) {
                    made.entry(*argument).or_default().push(parameter);
                }
            }
        }
        let mut chosen = BTreeSet::new();
        while let Some(pointer) = open.pop() {
            if chosen.insert(pointer) {
                open.extend(made.get(&pointer).into_iter().flatten());
            }
        }
        Self(chosen)
    }
}

/// The pointer that a pointer is made of.
fn base(instruction: &Instruction<'_>) -> Option<u32> {
    let op = instruction.op()?;
    let casts = matches!(op, Op::Bitcast | Op::CopyObject | Op::PtrCastToGeneric | Op::GenericCastToPtr);
    instruction.operand(0).filter(|_| casts || is_access_chain(op))
}
