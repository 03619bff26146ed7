//! Kernel signatures in the container.

use super::bad;
use super::read::Reader;
use super::write::Writer;
use crate::{
    Access, AddressSpace, Aspects, Field, KernelSignature, Parameter, ParameterKind, Result, Scalar,
    StructType, ValueType,
};

/// How deep arrays and structs may nest; keeps the reader's stack bounded.
const MAX_TYPE_DEPTH: u32 = 32;

pub(super) fn write_kernel(out: &mut Writer, kernel: &KernelSignature) {
    out.text(&kernel.name);
    out.count(kernel.parameters.len());
    for parameter in &kernel.parameters {
        out.text(&parameter.name);
        write_parameter_kind(out, &parameter.kind);
    }
    out.option(kernel.required_work_group_size, |out, size| size.iter().for_each(|&n| out.u32(n)));
    out.u8(u8::from(kernel.uniform_work_groups));
    out.option(kernel.required_sub_group_size, Writer::u32);
    out.u64(kernel.aspects.bits());
    out.count(kernel.device_globals.len());
    kernel.device_globals.iter().for_each(|id| out.text(id));
}

pub(super) fn read_kernel(reader: &mut Reader<'_>) -> Result<KernelSignature> {
    Ok(KernelSignature {
        name: reader.text("kernel name")?,
        parameters: reader.list("parameter", |reader| {
            Ok(Parameter { name: reader.text("parameter name")?, kind: read_parameter_kind(reader)? })
        })?,
        required_work_group_size: reader.option("required work-group size", |reader| {
            Ok([reader.u32("x")?, reader.u32("y")?, reader.u32("z")?])
        })?,
        uniform_work_groups: reader.flag("uniform work-groups")?,
        required_sub_group_size: reader.option("required sub-group size", |r| r.u32("sub-group size"))?,
        aspects: read_aspects(reader)?,
        device_globals: reader.list("device global", |reader| reader.text("device global"))?,
    })
}

fn read_aspects(reader: &mut Reader<'_>) -> Result<Aspects> {
    let at = reader.offset();
    let bits = reader.u64("aspects")?;
    Aspects::from_bits(bits)
        .ok_or_else(|| bad(at, format!("aspects {bits:#x} hold bits that this library does not know")))
}

fn write_parameter_kind(out: &mut Writer, kind: &ParameterKind) {
    match kind {
        ParameterKind::Value(ty) => {
            out.u8(0);
            write_type(out, ty);
        }
        ParameterKind::Pointer { address_space, access, pointee } => {
            out.u8(1);
            out.u8(match address_space {
                AddressSpace::Global => 0,
                AddressSpace::Constant => 1,
            });
            write_access(out, *access);
            write_type(out, pointee);
        }
        ParameterKind::Local { pointee } => {
            out.u8(2);
            write_type(out, pointee);
        }
        ParameterKind::Image { type_name, access } => {
            out.u8(3);
            out.text(type_name);
            write_access(out, *access);
        }
        ParameterKind::Sampler => out.u8(4),
    }
}

fn read_parameter_kind(reader: &mut Reader<'_>) -> Result<ParameterKind> {
    let at = reader.offset();
    Ok(match reader.u8("parameter kind")? {
        0 => ParameterKind::Value(read_type(reader, 0)?),
        1 => ParameterKind::Pointer {
            address_space: match reader.u8("address space")? {
                0 => AddressSpace::Global,
                1 => AddressSpace::Constant,
                tag => return Err(bad(at, format!("address space {tag} is not in the format"))),
            },
            access: read_access(reader)?,
            pointee: read_type(reader, 0)?,
        },
        2 => ParameterKind::Local { pointee: read_type(reader, 0)? },
        3 => ParameterKind::Image { type_name: reader.text("image type")?, access: read_access(reader)? },
        4 => ParameterKind::Sampler,
        tag => return Err(bad(at, format!("parameter kind {tag} is not in the format"))),
    })
}

fn write_access(out: &mut Writer, access: Access) {
    out.u8(match access {
        Access::Read => 0,
        Access::Write => 1,
        Access::ReadWrite => 2,
    });
}

fn read_access(reader: &mut Reader<'_>) -> Result<Access> {
    let at = reader.offset();
    Ok(match reader.u8("access")? {
        0 => Access::Read,
        1 => Access::Write,
        2 => Access::ReadWrite,
        tag => return Err(bad(at, format!("access {tag} is not in the format"))),
    })
}

/// The number of a scalar in files and property sets.
pub(crate) fn scalar_number(scalar: Scalar) -> u8 {
    Scalar::ALL.iter().zip(0..).find(|(s, _)| **s == scalar).map_or(0, |(_, number)| number)
}

/// The scalar of a number in files and property sets.
pub(crate) fn scalar_of_number(number: u32) -> Option<Scalar> {
    Scalar::ALL.get(usize::try_from(number).ok()?).copied()
}

fn read_scalar(reader: &mut Reader<'_>) -> Result<Scalar> {
    let at = reader.offset();
    let number = reader.u8("scalar")?;
    scalar_of_number(number.into()).ok_or_else(|| bad(at, format!("scalar {number} is not in the format")))
}

fn write_type(out: &mut Writer, ty: &ValueType) {
    match ty {
        ValueType::Void => out.u8(0),
        ValueType::Scalar(scalar) => {
            out.u8(1);
            out.u8(scalar_number(*scalar));
        }
        ValueType::Vector(scalar, lanes) => {
            out.u8(2);
            out.u8(scalar_number(*scalar));
            out.u8(*lanes);
        }
        ValueType::Array(element, count) => {
            out.u8(3);
            out.u64(*count);
            write_type(out, element);
        }
        ValueType::Struct(ty) => {
            out.u8(4);
            out.text(&ty.name);
            out.u64(ty.size_bytes);
            out.u32(ty.align_bytes);
            out.count(ty.fields.len());
            for field in &ty.fields {
                out.text(&field.name);
                out.u64(field.offset_bytes);
                write_type(out, &field.ty);
            }
        }
        ValueType::Opaque { name, size_bytes, align_bytes } => {
            out.u8(5);
            out.text(name);
            out.u64(*size_bytes);
            out.u32(*align_bytes);
        }
    }
}

fn read_type(reader: &mut Reader<'_>, depth: u32) -> Result<ValueType> {
    let at = reader.offset();
    if depth > MAX_TYPE_DEPTH {
        return Err(bad(at, format!("a type nests deeper than {MAX_TYPE_DEPTH}")));
    }
    Ok(match reader.u8("type")? {
        0 => ValueType::Void,
        1 => ValueType::Scalar(read_scalar(reader)?),
        2 => {
            let scalar = read_scalar(reader)?;
            match reader.u8("lanes")? {
                lanes @ (2 | 3 | 4 | 8 | 16) => ValueType::Vector(scalar, lanes),
                lanes => return Err(bad(at, format!("no vector has {lanes} lanes"))),
            }
        }
        3 => {
            let count = reader.u64("array length")?;
            let element = read_type(reader, depth + 1)?;
            if element.size_bytes().checked_mul(count).is_none() {
                return Err(bad(at, format!("an array of {count} elements has more than 2^64 bytes")));
            }
            ValueType::Array(Box::new(element), count)
        }
        4 => ValueType::Struct(read_struct(reader, depth)?),
        5 => {
            let name = reader.text("type name")?;
            let (size_bytes, align_bytes) = (reader.u64("size")?, read_alignment(reader)?);
            ValueType::Opaque { name, size_bytes, align_bytes }
        }
        tag => return Err(bad(at, format!("type {tag} is not in the format"))),
    })
}

fn read_struct(reader: &mut Reader<'_>, depth: u32) -> Result<StructType> {
    let at = reader.offset();
    let name = reader.text("struct name")?;
    let size_bytes = reader.u64("struct size")?;
    let align_bytes = read_alignment(reader)?;
    let fields = reader.list("field", |reader| {
        let name = reader.text("field name")?;
        let offset_bytes = reader.u64("field offset")?;
        Ok(Field { name, offset_bytes, ty: read_type(reader, depth + 1)? })
    })?;
    let mut end = Some(0);
    for field in &fields {
        if end.is_none_or(|end| field.offset_bytes < end) {
            return Err(bad(at, format!("fields of struct {name} overlap at `{}`", field.name)));
        }
        end = field.offset_bytes.checked_add(field.ty.size_bytes());
    }
    if end.is_none_or(|end| end > size_bytes) {
        return Err(bad(at, format!("the fields of struct {name} reach past its {size_bytes} bytes")));
    }
    Ok(StructType { name, fields, size_bytes, align_bytes })
}

fn read_alignment(reader: &mut Reader<'_>) -> Result<u32> {
    let at = reader.offset();
    let align = reader.u32("alignment")?;
    if !align.is_power_of_two() || align > 1 << 16 {
        return Err(bad(at, format!("alignment {align} is no power of two up to 65536")));
    }
    Ok(align)
}
