//! The check of a call's arguments against a kernel's signature, for calls that rustc did not
//! check.

use std::any::TypeId;
use std::sync::Arc;

use oclave_image::{Access, KernelSignature, ParameterKind, Scalar, ValueType};

use crate::MakeError as _;
use crate::command::describe::argument::Argument;
use crate::images::ImagePart;
use crate::program::declaration;
use crate::{Error, ErrorKind, Result};

/// Checks count, kind, size and, where both sides have a scalar type, the type of the arguments of
/// a call.
///
/// # Errors
/// [`ErrorKind::KernelArgument`] naming kernel, index and parameter.
#[inline]
pub(super) fn check(kernel: &KernelSignature, arguments: &[Argument]) -> Result<()> {
    for (index, (parameter, argument)) in kernel.parameters.iter().zip(arguments).enumerate() {
        mismatch(&parameter.kind, argument).map_or(Ok(()), |what| {
            Err(Error::new(ErrorKind::KernelArgument, what)
                .at(format!("argument {index} (`{}`)", parameter.name))
                .at(format!("kernel `{}`", kernel.name))
                .remedy(format!("the kernel is `{}`", declaration(kernel))))
        })?;
    }
    if kernel.parameters.len() != arguments.len() {
        return Err(Error::new(
            ErrorKind::KernelArgument,
            format!(
                "{} arguments for {} parameters: the kernel is `{}`",
                arguments.len(),
                kernel.parameters.len(),
                declaration(kernel)
            ),
        )
        .at(format!("kernel `{}`", kernel.name)));
    }
    Ok(())
}

/// Refuses an image that is given twice, if the kernel writes it.
pub(super) fn check_images(kernel: &KernelSignature, arguments: &[Argument]) -> Result<()> {
    let Some((first, second)) = same_image(arguments) else { return Ok(()) };
    Err(Error::new(
        ErrorKind::KernelArgument,
        format!("arguments {first} and {second} are one image, which the kernel writes"),
    )
    .at(format!("kernel `{}`", kernel.name))
    .remedy("declare it once, as `read_write`, or use two images"))
}

/// The error of an argument, if it has one.
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
        (ParameterKind::Image { type_name, access }, Argument::Image(image)) => {
            wrong_image(type_name, *access, image)
        }
        (ParameterKind::Sampler, Argument::Sampler(_)) => None,
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
        Argument::Image(_) => "an image",
        Argument::Sampler(_) => "a sampler",
    }
}

/// Why a kernel cannot have an image, if so.
fn wrong_image(type_name: &str, access: Access, image: &ImagePart) -> Option<String> {
    if type_name != image.type_name() {
        return Some(format!("the kernel takes {type_name}, {} was given", image.type_name()));
    }
    if access != image.access() {
        let word = |access| match access {
            Access::Read => "read_only",
            Access::Write => "write_only",
            Access::ReadWrite => "read_write",
        };
        return Some(format!(
            "the kernel declares the image {}, the call gives it as {}",
            word(access),
            word(image.access())
        ));
    }
    image.refusal()
}

/// An image that is given twice, one of which writes it: OpenCL does not say what is read then.
fn same_image(arguments: &[Argument]) -> Option<(usize, usize)> {
    let images = || {
        arguments.iter().enumerate().filter_map(|(index, argument)| match argument {
            Argument::Image(image) => Some((index, image)),
            _ => None,
        })
    };
    images().find_map(|(index, image)| {
        let (other, _) = images().take_while(|(other, _)| *other < index).find(|(_, other)| {
            Arc::ptr_eq(image.image(), other.image())
                && (image.requirement().writes() || other.requirement().writes())
                && [image.access(), other.access()] != [Access::ReadWrite; 2]
        })?;
        Some((other, index))
    })
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
    // The common case.
    if host_type(*kernel) == host {
        return None;
    }
    let host = Scalar::ALL.into_iter().find(|scalar| host_type(*scalar) == host)?;
    let same = match (kernel, host) {
        (Scalar::F16 | Scalar::F32 | Scalar::F64, host) => *kernel == host,
        (_, Scalar::F16 | Scalar::F32 | Scalar::F64) => false,
        (kernel, host) => kernel.size_bytes() == host.size_bytes(),
    };
    (!same).then(|| host.opencl_name())
}

fn host_type(scalar: Scalar) -> TypeId {
    match scalar {
        Scalar::I8 => TypeId::of::<i8>(),
        Scalar::U8 => TypeId::of::<u8>(),
        Scalar::I16 => TypeId::of::<i16>(),
        Scalar::U16 => TypeId::of::<u16>(),
        Scalar::I32 => TypeId::of::<i32>(),
        Scalar::U32 => TypeId::of::<u32>(),
        Scalar::I64 => TypeId::of::<i64>(),
        Scalar::U64 => TypeId::of::<u64>(),
        Scalar::F16 => TypeId::of::<half::f16>(),
        Scalar::F32 => TypeId::of::<f32>(),
        Scalar::F64 => TypeId::of::<f64>(),
    }
}
