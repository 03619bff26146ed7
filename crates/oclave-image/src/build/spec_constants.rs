//! The specialization constants of a module.

use std::collections::BTreeMap;

use crate::analysis::value_types::{Spelling, scalar_named};
use crate::build::markers::Markers;
use crate::{ImageError, Result, Scalar, SpecConstantInfo, ValueType};
use oclave_spirv::{Decoration, Definitions, Module, Op, TypeTable};

/// What the markers of a program say of each SpecId: name and spelled type.
pub(crate) type SpecNames = BTreeMap<u32, (String, String)>;

/// Reads the names of specialization constants from markers.
///
/// # Errors
/// [`ImageError::Diagnostic`] where two constants share an id or a name, or the type is none that
/// the host can set.
pub(crate) fn spec_names(markers: &Markers) -> Result<SpecNames> {
    let mut names = SpecNames::new();
    let mut ids: BTreeMap<&str, u32> = BTreeMap::new();
    for marker in markers.spec_constants.values() {
        let name = &marker.name;
        if scalar_named(&marker.ty).is_none() || marker.ty == "bool" {
            return Err(ImageError::Diagnostic(format!(
                "specialization constant {name}: its type \"{}\" is no scalar of OpenCL C (char … ulong, float, double)",
                marker.ty
            )));
        }
        if let Some((other, ty)) = names.insert(marker.id, (name.clone(), marker.ty.clone()))
            && (&other, &ty) != (name, &marker.ty)
        {
            return Err(ImageError::Diagnostic(format!(
                "specialization constants `{ty} {other}` and `{} {name}` share the id {}; give each its own",
                marker.ty, marker.id
            )));
        }
        if let Some(other) = ids.insert(name, marker.id).filter(|other| *other != marker.id) {
            return Err(ImageError::Diagnostic(format!(
                "specialization constant {name} has the ids {other} and {}; one name is one constant",
                marker.id
            )));
        }
    }
    Ok(names)
}

/// The specialization constants of a module, sorted by SpecId; those without marker are named
/// `spec<id>`.
///
/// # Errors
/// [`ImageError::Diagnostic`] where one SpecId has several defaults or types.
pub(crate) fn spec_constants(module: &Module, names: &SpecNames) -> Result<Vec<SpecConstantInfo>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let mut found: BTreeMap<u32, SpecConstantInfo> = BTreeMap::new();
    for instruction in module.global_instructions() {
        let (true, &[constant, decoration, id, ..]) = (instruction.is(Op::Decorate), instruction.operands())
        else {
            continue;
        };
        if decoration != Decoration::SpecId as u32 {
            continue;
        }
        let Some((scalar, default)) = value(&definitions, &types, constant) else { continue };
        let (name, ty) = match names.get(&id) {
            Some((name, spelled)) => {
                let mut ty = ValueType::Scalar(scalar);
                Spelling::new(spelled).apply(&mut ty);
                if ty != scalar_named(spelled).map_or(ValueType::Void, ValueType::Scalar) {
                    return Err(ImageError::Diagnostic(format!(
                        "specialization constant {name}: declared as {spelled}, but the module has a {}; \
                         another constant uses its id {id}",
                        scalar.opencl_name()
                    )));
                }
                (name.clone(), scalar_named(spelled).unwrap_or(scalar))
            }
            None => (format!("spec{id}"), scalar),
        };
        let info = SpecConstantInfo { id, name, ty, default };
        // The optimiser copies constants with the functions that it inlines, so one may stand
        // several times.
        if let Some(other) = found.get(&id).filter(|other| **other != info) {
            return Err(ImageError::Diagnostic(format!(
                "specialization constant {} (id {id}) has several default values ({:?} and {:?}, as bytes)",
                other.name, other.default, info.default
            )));
        }
        found.insert(id, info);
    }
    Ok(found.into_values().collect())
}

fn value(definitions: &Definitions<'_>, types: &TypeTable<'_>, constant: u32) -> Option<(Scalar, Vec<u8>)> {
    let instruction = definitions.instruction(constant)?;
    let scalar = crate::analysis::value_types::scalar(types.ty(instruction.result_type()?)?)?;
    let bytes = match instruction.op()? {
        Op::SpecConstantTrue => vec![1],
        Op::SpecConstantFalse => vec![0],
        Op::SpecConstant => {
            let bytes: Vec<u8> = instruction.operands().iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.get(..scalar.size_bytes() as usize)?.to_vec()
        }
        _ => return None,
    };
    Some((scalar, bytes))
}
