//! Pointers to global memory that do not come from a kernel's arguments.

use std::collections::BTreeSet;

use oclave_spirv::analysis::references::References;
use oclave_spirv::{Definitions, Instruction, Module, Op, StorageClass, Type, TypeTable};

/// The names of the kernels that follow pointers which are in memory, in structs by value, or made
/// of integers; of all they call, too.
///
/// Drivers have to be told that kernels do so. Pointers that -O0 keeps in private variables do not
/// count, as they came from elsewhere.
pub fn kernels_that_follow_pointers(module: &Module) -> BTreeSet<String> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let pointers = Pointers { definitions: &definitions, types: &types };
    let mut functions = BTreeSet::new();
    let mut function = None;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            function = instruction.result_id();
        }
        if function.is_some() && pointers.comes_from_elsewhere(&instruction) {
            functions.extend(function);
        }
    }
    if functions.is_empty() {
        return BTreeSet::new();
    }
    let references = References::new(&definitions);
    let kernels = references.entry_points().iter();
    kernels
        .filter(|kernel| references.reachable(kernel.function).iter().any(|id| functions.contains(id)))
        .map(|kernel| kernel.name.clone())
        .collect()
}

struct Pointers<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
}

impl Pointers<'_, '_> {
    fn comes_from_elsewhere(&self, instruction: &Instruction<'_>) -> bool {
        if !self.is_to_global(instruction.result_type()) {
            return false;
        }
        let from = instruction.operand(0);
        match instruction.op() {
            Some(Op::ConvertUToPtr | Op::CompositeExtract) => true,
            Some(Op::Bitcast) => !self.is_pointer(from),
            Some(Op::Load) => !from.is_some_and(|from| self.definitions.is_private_variable(from)),
            _ => false,
        }
    }

    fn is_to_global(&self, ty: Option<u32>) -> bool {
        let Some(Type::Pointer { class, .. }) = ty.and_then(|ty| self.types.ty(ty)) else { return false };
        class == StorageClass::CrossWorkgroup as u32 || class == StorageClass::Generic as u32
    }

    fn is_pointer(&self, id: Option<u32>) -> bool {
        let ty = id.and_then(|id| self.definitions.type_of(id)).and_then(|ty| self.types.ty(ty));
        matches!(ty, Some(Type::Pointer { .. }))
    }
}
