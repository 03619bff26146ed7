//! Private arrays in kernels that PoCL compiles by continuations.
//!
//! There, PoCL gives each work-item an array of its own if several parts of the kernel use it. The parts lie between barriers. An array that
//! only one part uses is shared, as its work-items run one after the other. But PoCL does not count an address from an earlier part as a use.
//! LLVM may keep the address of an element across a barrier. Then all work-items share the array, and each reads what the last one wrote.
//!
//! So the first part and the last one load the first element, for nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU_7, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::calls::callees;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{
    Cursor, Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable, VOLATILE,
    is_access_chain,
};

fault! {
    /// **Q81. PoCL 7.1 on CPUs.** In kernels whose loops have a barrier and several exits, work-items share a private array. They do if behind a
    /// barrier nothing but the address of an element is used, which was calculated before it. LLVM keeps such addresses. So these kernels also
    /// load the first element where they begin and where they end.
    Q81 {
        affects: [POCL_CPU_7],
        seen: Programs,
        symptom: "Work-items share a private array of which only an address is used after a barrier, in kernels that are compiled by continuations.",
        remedy: "Loads of the first element at the beginning and the end (`private_arrays`).",
        upstream: ["pocl-shared-private-arrays.md"],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q81, "private_arrays", |on| load(on.analyses));

/// The module with these loads; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn load(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    for function in continued(analyses) {
        for array in arrays_of(definitions, &types, function) {
            array.load(&mut edit.at_entry(function));
            let returns =
                definitions.body(function).filter(|i| matches!(i.op(), Some(Op::Return | Op::ReturnValue)));
            returns.for_each(|end| array.load(&mut edit.before(&end)));
        }
    }
    Ok(edit.finish()?)
}

/// Functions that PoCL compiles by continuations: those with a loop that has a barrier and several exits, and what they call.
fn continued(analyses: &Analyses<'_>) -> BTreeSet<u32> {
    let flows = analyses.flows();
    let uniformity = Uniformity::new(analyses.definitions(), flows);
    let has_loop = |flow: &&Flow<'_>| {
        let mut loops = flow.loops.iter();
        loops.any(|of| uniformity.has_barrier(flow, of) && flow.exiting(of).len() > 1)
    };
    let with_loop: BTreeSet<u32> = flows.iter().filter(has_loop).map(|flow| flow.function).collect();
    let called = callees(flows, with_loop.iter().copied(), |callee| uniformity.has_barriers(callee));
    &with_loop | &called
}

/// A private array.
struct Array {
    variable: u32,
    /// Type of its first number.
    first: u32,
    /// Steps from the array to it.
    depth: usize,
}

impl Array {
    fn load(&self, at: &mut Cursor<'_, '_>) {
        let pointer = at.pointer_type(StorageClass::Function, self.first);
        let none = at.int_constant(32, 0);
        let steps = [&[self.variable], &*vec![none; self.depth]].concat();
        let address = at.emit(Op::InBoundsAccessChain, pointer, &steps);
        at.emit(Op::Load, self.first, &[address, VOLATILE]);
    }
}

/// The arrays of a function that stay in memory: those with an index that is no constant, and those whose address goes elsewhere.
fn arrays_of(definitions: &Definitions<'_>, types: &TypeTable<'_>, function: u32) -> Vec<Array> {
    let mut arrays = BTreeMap::new();
    // Address → its array.
    let mut addresses: HashMap<u32, u32> = HashMap::new();
    let mut stay: BTreeSet<u32> = BTreeSet::new();
    for instruction in definitions.body(function) {
        let result = instruction.result_id();
        if let Some(variable) = result.filter(|_| instruction.is(Op::Variable)) {
            if let Some(Type::Pointer { pointee, .. }) = instruction.result_type().and_then(|ty| types.ty(ty))
                && let Some((first, depth @ 1..)) = first_number(types, pointee)
            {
                arrays.insert(variable, Array { variable, first, depth });
                addresses.insert(variable, variable);
            }
            continue;
        }
        let of = |id: &u32| addresses.get(id).copied();
        let base = instruction.operand(0).and_then(|id| of(&id));
        match (base, result) {
            (Some(array), Some(result)) if keeps_array(definitions, &instruction) => {
                addresses.insert(result, array);
            }
            (Some(_), _)
                if matches!(instruction.op(), Some(Op::Load | Op::LifetimeStart | Op::LifetimeStop)) => {}
            _ => {
                let is_store = base.is_some() && instruction.is(Op::Store);
                stay.extend(instruction.operands().iter().skip(usize::from(is_store)).filter_map(of));
            }
        }
    }
    arrays.into_values().filter(|array| stay.contains(&array.variable)).collect()
}

/// Whether an instruction gives another address in an array, by constants alone.
fn keeps_array(definitions: &Definitions<'_>, instruction: &Instruction<'_>) -> bool {
    match instruction.op() {
        Some(Op::Bitcast | Op::CopyObject) => true,
        Some(op) if is_access_chain(op) => {
            instruction.operands().iter().skip(1).all(|id| definitions.int_constant(*id).is_some())
        }
        _ => false,
    }
}

/// The type of the first number of an object, and how many steps lead there.
fn first_number(types: &TypeTable<'_>, mut ty: u32) -> Option<(u32, usize)> {
    for depth in 0.. {
        ty = match types.ty(ty)? {
            Type::Array { element, .. } => element,
            Type::Vector { component, .. } => component,
            Type::Struct { members: [first, ..] } => *first,
            Type::Bool | Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. } => {
                return Some((ty, depth));
            }
            _ => return None,
        };
    }
    None
}
