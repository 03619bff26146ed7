//! Lays what clang's syntax tree tells over the signatures that SPIR-V gives: names, signs, struct
//! fields.
//!
//! The module decides, because it is what runs. A type from the tree is used only if its kind, and
//! for values its size, match the module. Pointee types come from the tree, because newer compilers
//! have opaque pointers.

use oclave_image::{DeviceImage, Parameter, ParameterKind};

use crate::ast::{ParameterDeclaration, ParameterType};
use crate::compile::Unit;

/// Improves the kernel signatures of an image.
pub(crate) fn kernels(image: &mut DeviceImage, units: &[Unit]) {
    for kernel in &mut image.kernels {
        let declared = units
            .iter()
            .flat_map(|unit| &unit.declarations.kernels)
            .find(|declared| declared.name == kernel.name);
        let Some(declared) = declared else { continue };
        if declared.parameters.len() != kernel.parameters.len() {
            continue;
        }
        kernel.parameters.iter_mut().zip(&declared.parameters).for_each(|(parameter, declared)| {
            overlay(parameter, declared);
        });
    }
}

fn overlay(parameter: &mut Parameter, declared: &ParameterDeclaration) {
    if !declared.name.is_empty() {
        parameter.name.clone_from(&declared.name);
    }
    match (&mut parameter.kind, &declared.kind) {
        (ParameterKind::Value(ty), ParameterType::Value(Some(known)))
            if ty.size_bytes() == known.size_bytes() =>
        {
            ty.clone_from(known);
        }
        (
            ParameterKind::Pointer { access, pointee, .. },
            ParameterType::Pointer { access: declared, pointee: known },
        ) => {
            *access = *declared;
            known.iter().for_each(|known| pointee.clone_from(known));
        }
        (ParameterKind::Local { pointee }, ParameterType::Local { pointee: Some(known) }) => {
            pointee.clone_from(known);
        }
        _ => {}
    }
}
