//! Device globals become pointers to memory that all images of a device share.
//!
//! A variable without `device_image_scope` becomes the `usmptr` of the DPC++ design ("Device global
//! variables"). That is a module-scope pointer, initially null. Every function that uses the
//! variable loads it once, at its start. Expressions on the variable's address at module scope move
//! there, too. A variable with `device_image_scope` stays; an object of the class template becomes
//! its bare value. Both get their unique id as linkage name.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::analysis::declared_globals::DeclaredGlobal;
use crate::build::markers::is_user_semantic;
use crate::error::diagnostic;
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::transform::localize::Localizer;
use oclave_spirv::{
    Capability, Decoration, FunctionControl, Instruction, LinkageType, Module, Op, Rewriter, StorageClass,
    Type, TypeTable, Version,
};

/// Function controls that functions with variables in global memory lose. They read memory that the optimiser did not know
/// of. llvm-spirv and the drivers based on it also swap the two. They take readnone for Pure, and readonly for Const.
const MISLEADING: FunctionControl = FunctionControl::PURE.union(FunctionControl::CONST);

/// `MemoryAccess` bit that says that an alignment follows.
pub(crate) const ALIGNED: u32 = 2;

/// Rewrites the variables of `globals`, and removes the markers.
///
/// # Errors
/// [`ImageError::Diagnostic`](crate::ImageError::Diagnostic) where the address of a shared variable
/// initializes another variable.
pub(crate) fn rewrite(
    references: &References<'_>,
    types: &TypeTable<'_>,
    facts: &VariableFacts,
    globals: &[DeclaredGlobal],
) -> Result<Module> {
    let definitions = references.definitions();
    let by_variable: BTreeMap<u32, &DeclaredGlobal> = globals.iter().map(|g| (g.variable, g)).collect();
    let shared: BTreeSet<u32> =
        globals.iter().filter(|g| !g.info.device_image_scope).map(|g| g.variable).collect();
    let localized: BTreeSet<u32> =
        globals.iter().filter(|g| !g.info.device_image_scope || g.in_class).map(|g| g.variable).collect();
    let variables: BTreeSet<u32> = references.module().variables(StorageClass::CrossWorkgroup).collect();
    let mut rewrite = Rewrite {
        references,
        types,
        by_variable,
        shared: &shared,
        localizer: Localizer::new(references, facts, &localized, &shared).map_err(diagnostic)?,
        users: references.users(&variables),
        new: Rewriter::new(definitions),
        in_function: false,
    };
    for instruction in definitions.module().instructions() {
        rewrite.instruction(&instruction)?;
    }
    rewrite.decorate(globals);
    Ok(rewrite.new.finish()?)
}

struct Rewrite<'a, 'm> {
    references: &'a References<'m>,
    types: &'a TypeTable<'m>,
    by_variable: BTreeMap<u32, &'a DeclaredGlobal>,
    shared: &'a BTreeSet<u32>,
    localizer: Localizer<'a, 'm>,
    /// Everything that uses variables in global memory, itself or through what it calls.
    users: BTreeSet<u32>,
    new: Rewriter<'m>,
    in_function: bool,
}

impl Rewrite<'_, '_> {
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        self.in_function |= instruction.is(Op::Function);
        if self.in_function {
            self.function_instruction(instruction)?;
        } else if !self.is_dropped(instruction) {
            self.at_module_scope(instruction);
        }
        self.in_function &= !instruction.is(Op::FunctionEnd);
        Ok(())
    }

    /// Markers, and names and decorations that the variables and constants lose.
    fn is_dropped(&self, instruction: &Instruction<'_>) -> bool {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Decorate), operands @ &[id, decoration, ..]) => {
                let marker = is_user_semantic(operands)
                    && instruction.string(2).is_some_and(|text| text.starts_with("oclave:"));
                marker
                    || self.shared.contains(&id)
                    || self.localizer.is_derived(id)
                    || decoration == Decoration::LinkageAttributes as u32
                        && self.by_variable.contains_key(&id)
            }
            (Some(Op::Name), &[id, ..]) => self.localizer.is_derived(id),
            _ => instruction.result_id().is_some_and(|id| self.localizer.is_derived(id)),
        }
    }

    fn at_module_scope(&mut self, instruction: &Instruction<'_>) {
        if instruction.is(Op::EntryPoint) {
            return self.entry_point(instruction);
        }
        if let Some(global) = instruction.result_id().and_then(|id| self.by_variable.get(&id))
            && global.info.device_image_scope
            && global.in_class
        {
            let class = StorageClass::CrossWorkgroup;
            let pointer = self.new.pointer_type(class, global.ty);
            let mut operands = vec![pointer, global.variable, class as u32];
            operands.extend(global.initializer);
            return self.new.replace(instruction, Op::Variable, &operands);
        }
        let shared = instruction.result_id().filter(|id| self.shared.contains(id));
        let (Some(variable), Some(pointer)) = (shared, instruction.result_type()) else {
            return self.new.copy(instruction);
        };
        let class = StorageClass::CrossWorkgroup;
        let pointer_to_pointer = self.new.pointer_type(class, pointer);
        let null = self.new.null_constant(pointer);
        self.new.replace(instruction, Op::Variable, &[pointer_to_pointer, variable, class as u32, null]);
    }

    /// Copies an entry point. llvm-spirv leaves variables out of its interface that only constants
    /// of the module use.
    fn entry_point(&mut self, instruction: &Instruction<'_>) {
        let (&[_, function, ..], Some(interface)) = (instruction.operands(), instruction.after_string(2))
        else {
            return self.new.copy(instruction);
        };
        let missing: Vec<u32> = if self.references.module().version() >= Version::V1_4
            && self.users.contains(&function)
        {
            let used = self.references.reachable(function);
            self.shared.iter().copied().filter(|id| used.contains(id) && !interface.contains(id)).collect()
        } else {
            Vec::new()
        };
        self.new.replace(instruction, Op::EntryPoint, &[instruction.operands(), &missing].concat());
    }

    fn function_instruction(&mut self, instruction: &Instruction<'_>) -> Result<()> {
        let (definitions, pointer_bytes) = (self.references.definitions(), self.types.pointer_bytes());
        let shared = self.shared;
        self.localizer.advance(&mut self.new, instruction, |new, variable| {
            let ty = definitions.type_of(variable)?;
            let pointer = new.fresh_id();
            if shared.contains(&variable) {
                new.push(Op::Load, &[ty, pointer, variable, ALIGNED, pointer_bytes]);
            } else {
                // Only the value is left of the object; code sees it through the type that the
                // object had.
                new.push(Op::Bitcast, &[ty, pointer, variable]);
            }
            Some(pointer)
        })?;
        match (instruction.op(), instruction.words) {
            (Some(Op::Function), &[_, ty, id, control, function_type]) if self.users.contains(&id) => {
                let operands = [ty, id, control & !MISLEADING.bits(), function_type];
                self.new.replace(instruction, Op::Function, &operands);
            }
            _ => self.localizer.copy(&mut self.new, instruction),
        }
        Ok(())
    }

    fn decorate(&mut self, globals: &[DeclaredGlobal]) {
        if !globals.is_empty() {
            self.new.capability(Capability::Linkage);
        }
        for global in globals {
            self.new.decorate_linkage(global.variable, &global.info.id, LinkageType::Export);
            if !global.info.device_image_scope {
                self.new.decorate(global.variable, Decoration::Alignment, &[self.types.pointer_bytes()]);
            }
        }
    }
}

/// Whether a variable is the pointer that stands for a shared device global: a pointer in global
/// memory to global memory.
pub(crate) fn is_pointer_variable(types: &TypeTable<'_>, ty: u32) -> Option<u32> {
    let global = StorageClass::CrossWorkgroup as u32;
    match types.ty(ty)? {
        Type::Pointer { class, pointee } if class == global => match types.ty(pointee)? {
            Type::Pointer { class, .. } if class == global => Some(pointee),
            _ => None,
        },
        _ => None,
    }
}
