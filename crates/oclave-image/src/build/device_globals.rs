//! Device globals become pointers to memory that all images of a device share.
//!
//! A variable without `device_image_scope` becomes the `usmptr` of the DPC++ design ("Device global
//! variables"). That is a module-scope pointer, initially null. Every function that uses the
//! variable loads it once, at its start. Expressions on the variable's address at module scope move
//! there, too. A variable with `device_image_scope` stays; an object of the class template becomes
//! its bare value. Both get their unique id as linkage name.

use std::collections::BTreeSet;

use crate::Result;
use crate::analysis::declared_globals::DeclaredGlobal;
use crate::build::markers::is_user_semantic;
use crate::error::diagnostic;
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::transform::localize::Localizer;
use oclave_spirv::{
    ALIGNED, Capability, Decoration, Editor, FunctionControl, Instruction, LinkageType, Module, Op,
    StorageClass, Type, TypeTable, Version,
};

/// Function controls that functions with variables in global memory lose. They read memory that the optimiser did not know
/// of. llvm-spirv and the drivers based on it also swap the two. They take readnone for Pure, and readonly for Const.
const MISLEADING: FunctionControl = FunctionControl::PURE.union(FunctionControl::CONST);

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
    let declared: BTreeSet<u32> = globals.iter().map(|g| g.variable).collect();
    let shared: BTreeSet<u32> =
        globals.iter().filter(|g| !g.info.device_image_scope).map(|g| g.variable).collect();
    let localized: BTreeSet<u32> =
        globals.iter().filter(|g| !g.info.device_image_scope || g.in_class).map(|g| g.variable).collect();
    let variables: BTreeSet<u32> = references.module().variables(StorageClass::CrossWorkgroup).collect();
    let users = references.users(&variables);
    let localizer = Localizer::new(references, facts, &localized, &shared).map_err(diagnostic)?;
    let mut edit = Editor::new(definitions);
    localizer.localize(&mut edit, |at, [_, variable]| {
        let ty = definitions.type_of(variable)?;
        Some(if shared.contains(&variable) {
            at.emit(Op::Load, ty, &[variable, ALIGNED, types.pointer_bytes()])
        } else {
            // Only the value is left of the object; code sees it through the type that the object had.
            at.emit(Op::Bitcast, ty, &[variable])
        })
    })?;
    let constants = localizer.derived().filter_map(|id| definitions.instruction(id));
    constants.for_each(|constant| edit.remove(&constant));
    globals.iter().for_each(|global| rewrite_variable(&mut edit, global));
    for instruction in references.module().instructions() {
        match (instruction.op(), instruction.words) {
            (Some(Op::Decorate), &[_, id, ..])
                if is_marker(&instruction)
                    || shared.contains(&id)
                    || instruction.operand(1) == Some(Decoration::LinkageAttributes as u32)
                        && declared.contains(&id) =>
            {
                edit.remove(&instruction);
            }
            (Some(Op::EntryPoint), &[_, _, function, ..]) if users.contains(&function) => {
                complete_interface(&mut edit, &instruction, &references.reachable(function), &shared);
            }
            (Some(Op::Function), &[_, ty, id, control, function_type]) if users.contains(&id) => {
                let operands = [ty, id, control & !MISLEADING.bits(), function_type];
                edit.replace(&instruction, Op::Function, &operands);
            }
            _ => {}
        }
    }
    if !globals.is_empty() {
        edit.capability(Capability::Linkage);
    }
    for global in globals {
        edit.decorate_linkage(global.variable, &global.info.id, LinkageType::Export);
        if !global.info.device_image_scope {
            edit.decorate(global.variable, Decoration::Alignment, &[types.pointer_bytes()]);
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| references.module().clone()))
}

fn is_marker(decoration: &Instruction<'_>) -> bool {
    is_user_semantic(decoration.operands())
        && decoration.string(2).is_some_and(|text| text.starts_with("oclave:"))
}

/// Makes a pointer of a shared variable, and a bare value of an object.
fn rewrite_variable(edit: &mut Editor<'_>, global: &DeclaredGlobal) {
    let Some(variable) = edit.definitions().instruction(global.variable) else { return };
    let class = StorageClass::CrossWorkgroup;
    let (pointee, initial) = match variable.result_type() {
        Some(pointer) if !global.info.device_image_scope => (pointer, Some(edit.null_constant(pointer))),
        Some(_) if global.in_class => (global.ty, global.initializer),
        _ => return,
    };
    let mut operands = vec![edit.pointer_type(class, pointee), global.variable, class as u32];
    operands.extend(initial);
    edit.replace(&variable, Op::Variable, &operands);
}

/// Adds shared variables to the interface of an entry point. llvm-spirv leaves those out that only constants of the module use.
fn complete_interface(
    edit: &mut Editor<'_>,
    entry: &Instruction<'_>,
    used: &BTreeSet<u32>,
    shared: &BTreeSet<u32>,
) {
    let Some(interface) = entry.after_string(2) else { return };
    let missing: Vec<u32> =
        shared.iter().copied().filter(|id| used.contains(id) && !interface.contains(id)).collect();
    if edit.definitions().module().version() >= Version::V1_4 && !missing.is_empty() {
        edit.replace(entry, Op::EntryPoint, &[entry.operands(), &missing].concat());
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
