//! The check of a call's arguments against a kernel's signature, for calls that rustc did not
//! check.

use std::any::TypeId;

use oclave_image::{Access, KernelSignature, Parameter, ParameterKind, Scalar, ValueType};

use crate::command::Argument;
use crate::{Error, ErrorKind, Result};

/// Checks count, kind, size and, where both sides have a scalar type, the type of the arguments of
/// a call.
///
/// # Errors
/// [`ErrorKind::KernelArgument`] naming kernel, index and parameter.
pub(crate) fn check(kernel: &KernelSignature, arguments: &[Argument]) -> Result<()> {
    for (index, (parameter, argument)) in kernel.parameters.iter().zip(arguments).enumerate() {
        mismatch(&parameter.kind, argument).map_or(Ok(()), |what| {
            Err(Error::new(ErrorKind::KernelArgument, what)
                .at(format!("argument {index} (`{}`)", parameter.name))
                .at(format!("kernel `{}`", kernel.name)))
        })?;
    }
    if kernel.parameters.len() != arguments.len() {
        let names: Vec<String> = kernel.parameters.iter().map(describe).collect();
        return Err(Error::new(
            ErrorKind::KernelArgument,
            format!(
                "{} arguments for {} parameters ({})",
                arguments.len(),
                kernel.parameters.len(),
                names.join(", ")
            ),
        )
        .at(format!("kernel `{}`", kernel.name)));
    }
    Ok(())
}

fn describe(parameter: &Parameter) -> String {
    let name = &parameter.name;
    match &parameter.kind {
        ParameterKind::Value(ty) => format!("{ty} {name}"),
        ParameterKind::Pointer { pointee, access: Access::Read, .. } => format!("const {pointee} *{name}"),
        ParameterKind::Pointer { pointee, .. } => format!("{pointee} *{name}"),
        ParameterKind::Local { pointee } => format!("local {pointee} *{name}"),
        ParameterKind::Image { type_name, .. } => format!("{type_name} {name}"),
        ParameterKind::Sampler => format!("sampler_t {name}"),
    }
}

/// What is wrong with an argument, if anything.
fn mismatch(parameter: &ParameterKind, argument: &Argument) -> Option<String> {
    match (parameter, argument) {
        (ParameterKind::Value(ty), Argument::Value(value)) => {
            let given = value.bytes().len();
            if usize::try_from(ty.size_bytes()) != Ok(given) {
                return Some(format!(
                    "the kernel takes {ty} of {} bytes, {given} bytes were given",
                    ty.size_bytes()
                ));
            }
            wrong_scalar(ty, value.ty).map(|given| format!("the kernel takes {ty}, {given} was given"))
        }
        (ParameterKind::Pointer { pointee, access, .. }, Argument::Pointer(pointer)) => {
            if *access == Access::ReadWrite && pointer.access() == Access::Read {
                return Some(
                    "the kernel may write through this pointer, the call gives it for reading".to_owned(),
                );
            }
            wrong_pointee(pointee, pointer.ty())
                .map(|given| format!("the kernel takes a pointer to {pointee}, one to {given} was given"))
        }
        (ParameterKind::Local { pointee }, Argument::Local { ty, .. }) => {
            wrong_pointee(pointee, *ty).map(|given| {
                format!("the kernel takes local memory of {pointee}, local memory of {given} was given")
            })
        }
        (ParameterKind::Image { type_name, .. }, _) => {
            Some(format!("parameters of type {type_name} are not supported"))
        }
        (ParameterKind::Sampler, _) => Some("parameters of type sampler_t are not supported".to_owned()),
        (parameter, argument) => Some(format!(
            "the kernel takes {}, {} was given",
            parameter_kind(parameter),
            argument_kind(argument)
        )),
    }
}

fn parameter_kind(parameter: &ParameterKind) -> &'static str {
    match parameter {
        ParameterKind::Value(_) => "a value",
        ParameterKind::Pointer { .. } => "a pointer to memory",
        ParameterKind::Local { .. } => "local memory",
        ParameterKind::Image { .. } => "an image",
        ParameterKind::Sampler => "a sampler",
    }
}

fn argument_kind(argument: &Argument) -> &'static str {
    match argument {
        Argument::Value(_) => "a value",
        Argument::Pointer(_) => "a pointer to memory",
        Argument::Local { .. } => "local memory",
    }
}

/// The host's element where memory of it cannot stand for what the kernel takes. SPIR-V has bytes
/// for `void`.
fn wrong_pointee(kernel: &ValueType, host: TypeId) -> Option<&'static str> {
    match kernel {
        ValueType::Scalar(Scalar::I8 | Scalar::U8) => None,
        kernel => wrong_scalar(kernel, host),
    }
}

/// The host's scalar where it cannot stand for the kernel's. The sign of integers is not compared:
/// SPIR-V has none.
fn wrong_scalar(kernel: &ValueType, host: TypeId) -> Option<&'static str> {
    let ValueType::Scalar(kernel) = kernel else { return None };
    let host = scalar_of(host)?;
    let same = match (kernel, host) {
        (Scalar::F16 | Scalar::F32 | Scalar::F64, host) => *kernel == host,
        (_, Scalar::F16 | Scalar::F32 | Scalar::F64) => false,
        (kernel, host) => kernel.size_bytes() == host.size_bytes(),
    };
    (!same).then(|| host.opencl_name())
}

fn scalar_of(ty: TypeId) -> Option<Scalar> {
    let table = [
        (TypeId::of::<i8>(), Scalar::I8),
        (TypeId::of::<u8>(), Scalar::U8),
        (TypeId::of::<i16>(), Scalar::I16),
        (TypeId::of::<u16>(), Scalar::U16),
        (TypeId::of::<i32>(), Scalar::I32),
        (TypeId::of::<u32>(), Scalar::U32),
        (TypeId::of::<i64>(), Scalar::I64),
        (TypeId::of::<u64>(), Scalar::U64),
        (TypeId::of::<half::f16>(), Scalar::F16),
        (TypeId::of::<f32>(), Scalar::F32),
        (TypeId::of::<f64>(), Scalar::F64),
    ];
    table.into_iter().find(|(of, _)| *of == ty).map(|(_, scalar)| scalar)
}
