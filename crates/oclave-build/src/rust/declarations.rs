//! What kernels in Rust declare, in the terms of kernels in C.

use oclave_image::{Access, Field, Scalar, StructType, ValueType};
use oclave_rust::{Kernel, Parameter, ParameterKind, TypeDescription, Variable};

use crate::ast::{Declarations, KernelDeclaration, ParameterDeclaration, ParameterType, VariableDeclaration};

/// The declarations of a source, which has some of the texts.
pub(super) fn of(
    is_own: &dyn Fn(usize) -> bool,
    kernels: &[Kernel],
    variables: &[Variable],
    constants: &[Variable],
) -> Declarations {
    let own = kernels.iter().filter(|kernel| is_own(kernel.text()));
    let variables = variables.iter().filter(|variable| is_own(variable.text()));
    let constants = constants.iter().filter(|constant| is_own(constant.text()));
    // As `SPEC_CONSTANT` of oclave.h names them.
    let constants = constants.map(|constant| {
        let name = format!("oclave_spec_constant_{}", constant.name);
        VariableDeclaration { symbol: name.clone(), name, is_extern: false, ..variable(constant) }
    });
    Declarations {
        kernels: own.map(kernel).collect(),
        variables: variables.map(variable).chain(constants).collect(),
        ..Declarations::default()
    }
}

fn variable(variable: &Variable) -> VariableDeclaration {
    VariableDeclaration {
        name: variable.name.clone(),
        symbol: variable.name.clone(),
        is_extern: variable.number != 0,
        is_static: false,
        line: usize::try_from(variable.place.line).ok(),
        comment: variable.documentation.lines().map(str::to_owned).collect(),
        ty: Some(value_type(&variable.ty)),
    }
}

fn kernel(kernel: &Kernel) -> KernelDeclaration {
    let shown = kernel.parameters.iter().filter(|parameter| parameter.kind != ParameterKind::Length);
    let parameters: Vec<String> = shown.map(|p| format!("{}: {}", p.name, p.text)).collect();
    KernelDeclaration {
        name: kernel.name.clone(),
        line: usize::try_from(kernel.place.line).ok(),
        comment: kernel.documentation.lines().map(str::to_owned).collect(),
        parameters: kernel.parameters.iter().map(parameter).collect(),
        head: Some(format!("fn {}({})", kernel.name, parameters.join(", "))),
    }
}

fn parameter(parameter: &Parameter) -> ParameterDeclaration {
    let pointee = Some(value_type(&parameter.ty));
    let kind = match parameter.kind {
        ParameterKind::Value => ParameterType::Value(pointee),
        ParameterKind::Read => ParameterType::Pointer { access: Access::Read, pointee },
        ParameterKind::Write | ParameterKind::Out => {
            ParameterType::Pointer { access: Access::ReadWrite, pointee }
        }
        ParameterKind::Local => ParameterType::Local { pointee },
        ParameterKind::Length => ParameterType::Length,
        // The module tells all.
        ParameterKind::Image(..) | ParameterKind::Sampler => ParameterType::Unknown,
    };
    ParameterDeclaration { name: parameter.name.clone(), text: parameter.text.clone(), kind }
}

fn value_type(ty: &TypeDescription) -> ValueType {
    match ty {
        TypeDescription::Scalar(scalar) => ValueType::Scalar(self::scalar(*scalar)),
        TypeDescription::Vector(lane, count) => {
            ValueType::Vector(scalar(*lane), u8::try_from(*count).unwrap_or(u8::MAX))
        }
        TypeDescription::Array(element, count) => ValueType::Array(Box::new(value_type(element)), *count),
        TypeDescription::Struct { name, fields, size, align } => ValueType::Struct(StructType {
            name: name.clone(),
            fields: fields
                .iter()
                .map(|field| Field {
                    name: field.name.clone(),
                    ty: value_type(&field.ty),
                    offset_bytes: field.offset,
                })
                .collect(),
            size_bytes: *size,
            align_bytes: u32::try_from(*align).unwrap_or(1),
        }),
    }
}

fn scalar(scalar: oclave_rust::Scalar) -> Scalar {
    match scalar {
        oclave_rust::Scalar::I8 => Scalar::I8,
        oclave_rust::Scalar::U8 => Scalar::U8,
        oclave_rust::Scalar::I16 => Scalar::I16,
        oclave_rust::Scalar::U16 => Scalar::U16,
        oclave_rust::Scalar::I32 => Scalar::I32,
        oclave_rust::Scalar::U32 => Scalar::U32,
        oclave_rust::Scalar::I64 => Scalar::I64,
        oclave_rust::Scalar::U64 => Scalar::U64,
        oclave_rust::Scalar::F32 => Scalar::F32,
        oclave_rust::Scalar::F64 => Scalar::F64,
        oclave_rust::Scalar::F16 => Scalar::F16,
    }
}
