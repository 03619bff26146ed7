//! The variables of the class template `oclave::device_global`, which have no marker of their own.
//!
//! An object of it is `{T value; ulong properties; constant char *unit}`. Its initial value points
//! to the variable `unit` of the source that defines it, whose annotation `oclave:unit,name` tells
//! which source that is. Names of types would be no help: llvm-link takes types of equal layout for
//! one and keeps one of their names.

use std::collections::BTreeSet;

use crate::build::markers::{DeviceGlobalMarker, Markers};
use crate::{HostAccess, ImageError, InitMode, Result};
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::{Definitions, Instruction, Op, Type, TypeTable};

/// Where the parts of an object stand.
const PROPERTIES: usize = 1;
const UNIT: usize = 2;
const PARTS: usize = 3;

/// Adds the variables of the class template to the device globals of `markers`.
///
/// # Errors
/// [`ImageError::Diagnostic`] for objects that are no variables at namespace scope.
pub(crate) fn find(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    facts: &VariableFacts,
    markers: &mut Markers,
) -> Result<()> {
    if markers.units.is_empty() {
        return Ok(());
    }
    let module = definitions.module();
    for variable in module.global_instructions().filter(|i| i.is(Op::Variable)) {
        let (Some(id), Some(initializer)) = (variable.result_id(), variable.operand(1)) else { continue };
        let diagnostic =
            |what: &str| ImageError::Diagnostic(format!("device global `{}`: {what}", facts.name(id)));
        if let Some((unit, properties)) = object(definitions, markers, initializer) {
            if facts.name(id).starts_with("_ZZ") {
                return Err(diagnostic(
                    "it is declared in a function; declare device_global variables at namespace scope or as static \
                     members",
                ));
            }
            let marker = marker(unit, properties)
                .ok_or_else(|| diagnostic("its properties are not known; use a newer oclave-build"))?;
            markers.device_globals.insert(id, marker);
        } else if holds_unit(definitions, markers, initializer) {
            let array = variable
                .result_type()
                .and_then(|ty| match types.ty(ty) {
                    Some(Type::Pointer { pointee, .. }) => types.ty(pointee),
                    _ => None,
                })
                .is_some_and(|ty| matches!(ty, Type::Array { .. }));
            return Err(diagnostic(if array {
                "it is an array of device_global, which is not allowed; write device_global<T[N]>"
            } else {
                "it contains a device_global, which must be a variable or static member of its own"
            }));
        }
    }
    Ok(())
}

/// Code that runs before the kernels: drivers do not run it, so that variables would silently be
/// zero, and objects without their class.
///
/// # Errors
/// [`ImageError::Diagnostic`] where there is some.
pub(crate) fn check_constructors(definitions: &Definitions<'_>) -> Result<()> {
    for entry in definitions.module().instructions().filter(|i| i.is(Op::EntryPoint)) {
        let name = entry.string(2).unwrap_or_default();
        if let Some(source) = name.strip_prefix("_GLOBAL__sub_I_") {
            return Err(ImageError::Diagnostic(format!(
                "{source}: a variable at program scope has an initializer that is no constant, and devices run no \
                 code before kernels; give it a constant expression"
            )));
        }
    }
    Ok(())
}

/// The unit and the properties of an object of the class.
fn object<'m>(
    definitions: &Definitions<'_>,
    markers: &'m Markers,
    initializer: u32,
) -> Option<(&'m str, u64)> {
    let instruction = definitions.instruction(initializer).filter(|i| i.is(Op::ConstantComposite))?;
    let parts = instruction.operands();
    if parts.len() != PARTS {
        return None;
    }
    let unit = markers.units.get(&pointed_to(definitions, *parts.get(UNIT)?)?)?;
    let properties = *parts.get(PROPERTIES)?;
    let null = definitions.instruction(properties)?.is(Op::ConstantNull);
    Some((unit, if null { 0 } else { definitions.int_constant(properties)? }))
}

/// What the address constant `id` points to, casts looked through.
fn pointed_to(definitions: &Definitions<'_>, mut id: u32) -> Option<u32> {
    for _ in 0..8 {
        let instruction: Instruction<'_> = definitions.instruction(id)?;
        match instruction.op()? {
            Op::Variable => return Some(id),
            Op::SpecConstantOp => id = instruction.operand(1)?,
            _ => return None,
        }
    }
    None
}

/// Whether the address of a unit is in a constant.
fn holds_unit(definitions: &Definitions<'_>, markers: &Markers, constant: u32) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![constant];
    while let Some(id) = open.pop() {
        if markers.units.contains_key(&id) {
            return true;
        }
        let Some(instruction) = definitions.instruction(id) else { continue };
        if seen.insert(id) && matches!(instruction.op(), Some(Op::ConstantComposite | Op::SpecConstantOp)) {
            open.extend(instruction.operands());
        }
    }
    false
}

/// The bits are those of `device_global.hpp`; `None` where there are others.
fn marker(unit: &str, properties: u64) -> Option<DeviceGlobalMarker> {
    if properties >> 16 != 0 {
        return None;
    }
    let field = |shift: u32| (properties >> shift) & 0xf;
    Some(DeviceGlobalMarker {
        unit: unit.to_owned(),
        device_image_scope: match field(0) {
            0 => false,
            1 => true,
            _ => return None,
        },
        host_access: match field(4) {
            0 => None,
            1 => Some(HostAccess::None),
            2 => Some(HostAccess::Read),
            3 => Some(HostAccess::Write),
            4 => Some(HostAccess::ReadWrite),
            _ => return None,
        },
        init_mode: match field(8) {
            0 => None,
            1 => Some(InitMode::Reprogram),
            2 => Some(InitMode::Reset),
            _ => return None,
        },
        implement_in_csr: match field(12) {
            0 => None,
            1 => Some(false),
            2 => Some(true),
            _ => return None,
        },
        in_class: true,
    })
}
