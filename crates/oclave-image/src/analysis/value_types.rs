//! SPIR-V types as the host knows them.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::{Access, Field, ParameterKind, Scalar, StructType, ValueType};
use oclave_spirv::{Definitions, Op, Type, TypeTable};

/// How deep structs and arrays are taken apart. Deeper ones are passed as bytes.
const MAX_DEPTH: u32 = 16;
/// How many parts of one type are taken apart; a struct of structs of structs can name few types
/// and have very many.
const MAX_PARTS: u32 = 4096;

/// Conversion of types to [`ValueType`].
#[derive(Debug)]
pub(crate) struct ValueTypes<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    /// Struct → its name.
    names: BTreeMap<u32, String>,
}

impl<'a, 'm> ValueTypes<'a, 'm> {
    pub(crate) fn new(definitions: &'a Definitions<'m>, types: &'a TypeTable<'m>) -> Self {
        let names = definitions
            .module()
            .names()
            .filter(|(id, _)| matches!(types.ty(*id), Some(Type::Struct { .. } | Type::Opaque)))
            .collect();
        Self { definitions, types, names }
    }

    /// The type `id`; integers are signed.
    pub(crate) fn value_type(&self, id: u32) -> ValueType {
        self.convert(id, 0, &Cell::new(MAX_PARTS))
    }

    fn convert(&self, id: u32, depth: u32, parts: &Cell<u32>) -> ValueType {
        parts.set(parts.get().saturating_sub(1));
        if depth > MAX_DEPTH || parts.get() == 0 {
            return self.opaque(id);
        }
        match self.types.ty(id) {
            Some(Type::Void) | None => ValueType::Void,
            Some(Type::Bool | Type::Int { .. } | Type::Float { .. }) => {
                self.scalar(id).map_or_else(|| self.opaque(id), ValueType::Scalar)
            }
            Some(Type::Vector { component, count }) => match (self.scalar(component), u8::try_from(count)) {
                (Some(scalar), Ok(lanes @ (2 | 3 | 4 | 8 | 16))) => ValueType::Vector(scalar, lanes),
                _ => self.opaque(id),
            },
            Some(Type::Array { element, length: Some(length) }) => {
                match self.convert(element, depth + 1, parts) {
                    ValueType::Void => self.opaque(id),
                    element if element.size_bytes().checked_mul(length).is_none() => self.opaque(id),
                    element => ValueType::Array(Box::new(element), length),
                }
            }
            Some(Type::Struct { members }) => self.structure(id, members, depth, parts),
            Some(_) => self.opaque(id),
        }
    }

    fn structure(&self, id: u32, members: &[u32], depth: u32, parts: &Cell<u32>) -> ValueType {
        let has_pointer = members.iter().any(|&m| matches!(self.types.ty(m), Some(Type::Pointer { .. })));
        let is_union = self.names.get(&id).is_some_and(|name| name.starts_with("union."));
        let (Some(offsets), Some(size_bytes)) = (self.types.member_offsets(id), self.types.size_bytes(id))
        else {
            return self.opaque(id);
        };
        // Each part of a type needs room in it, but for those without size.
        if has_pointer
            || is_union
            || self.types.is_packed(id)
            || members.len() as u64 > u64::from(parts.get())
        {
            return self.opaque(id);
        }
        let mut fields = Vec::new();
        for (index, (&member, offset_bytes)) in members.iter().zip(offsets).enumerate() {
            let ty = self.convert(member, depth + 1, parts);
            if ty == ValueType::Void || offset_bytes.saturating_add(ty.size_bytes()) > size_bytes {
                return self.opaque(id);
            }
            fields.push(Field { name: format!("field{index}"), ty, offset_bytes });
        }
        let align_bytes = self.types.align_bytes(id);
        ValueType::Struct(StructType { name: self.struct_name(id), fields, size_bytes, align_bytes })
    }

    fn scalar(&self, id: u32) -> Option<Scalar> {
        scalar(self.types.ty(id)?)
    }

    /// The bytes of a type that is not taken apart; [`ValueType::Void`] where it has no layout.
    fn opaque(&self, id: u32) -> ValueType {
        let Some(size_bytes) = self.types.size_bytes(id) else { return ValueType::Void };
        let name = match self.types.ty(id) {
            Some(Type::Struct { .. }) => self.struct_name(id),
            Some(Type::Pointer { .. }) => "pointer".to_owned(),
            Some(Type::Array { .. }) => "array".to_owned(),
            _ => "bytes".to_owned(),
        };
        ValueType::Opaque { name, size_bytes, align_bytes: self.types.align_bytes(id) }
    }

    /// The name of a struct as the source has it: clang writes `struct.name`, LLVM appends `.5` to
    /// tell equal ones apart.
    fn struct_name(&self, id: u32) -> String {
        let name = self.names.get(&id).map_or("", String::as_str);
        let name =
            ["struct.", "class.", "union."].iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name);
        let name = match name.rsplit_once('.') {
            Some((stem, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => stem,
            _ => name,
        };
        if name.is_empty() { format!("anonymous{id}") } else { name.to_owned() }
    }

    /// An image parameter.
    pub(crate) fn image(&self, id: u32) -> ParameterKind {
        let image = self.definitions.instruction(id);
        let image = match image {
            Some(i) if i.is(Op::TypeSampledImage) => {
                i.operand(0).and_then(|id| self.definitions.instruction(id))
            }
            other => other,
        };
        let operands = image.map(|i| i.operands()).unwrap_or_default();
        let operand = |index: usize| operands.get(index).copied().unwrap_or(0);
        let dimension = match operand(1) {
            0 => "1d",
            2 => "3d",
            5 => "1d_buffer",
            _ => "2d",
        };
        let mut type_name = format!("image{dimension}");
        for (set, part) in [(operand(3), "_array"), (operand(4), "_msaa"), (operand(2), "_depth")] {
            if set == 1 {
                type_name.push_str(part);
            }
        }
        type_name.push_str("_t");
        let access = match operand(7) {
            1 => Access::Write,
            2 => Access::ReadWrite,
            _ => Access::Read,
        };
        ParameterKind::Image { type_name, access }
    }
}

/// A type as the source spells it, as far as OpenCL C's own names go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spelling<'s> {
    base: &'s str,
}

impl<'s> Spelling<'s> {
    /// `text` may be a pointer; what counts is what it points to.
    pub(crate) fn new(text: &'s str) -> Self {
        let mut base = text.trim_end_matches(['*', ' ']);
        while let Some((first, rest)) = base.split_once(' ') {
            let qualifier = matches!(first, "const" | "volatile" | "restrict" | "struct" | "union" | "class");
            if !qualifier && !first.starts_with("__") {
                break;
            }
            base = rest;
        }
        Self { base }
    }

    /// The type's name, qualifiers and stars left out.
    pub(crate) fn base(&self) -> &'s str {
        self.base
    }

    /// Gives `ty` the sign that the name tells, where name and type agree; names nameless structs.
    pub(crate) fn apply(&self, ty: &mut ValueType) {
        let (scalar, lanes) = match self.vector() {
            Some((scalar, lanes)) => (Some(scalar), lanes),
            None => (scalar_named(self.base), 1),
        };
        match ty {
            ValueType::Scalar(has) if lanes == 1 => *has = agreeing(*has, scalar),
            ValueType::Vector(has, count) if lanes == *count => *has = agreeing(*has, scalar),
            ValueType::Struct(StructType { name, .. }) | ValueType::Opaque { name, .. }
                if name.starts_with("anon") && is_identifier(self.base) =>
            {
                self.base.clone_into(name);
            }
            _ => {}
        }
    }

    /// Like [`apply`](Self::apply), for the pointee of a pointer.
    ///
    /// A pointer to char may be any pointer where the compiler has opaque pointers (LLVM 17 and
    /// later), and a pointer to void anywhere. The name alone determines the type then.
    pub(crate) fn apply_to_pointee(&self, ty: &mut ValueType) {
        if *ty != ValueType::Scalar(Scalar::I8) {
            return self.apply(ty);
        }
        *ty = match (self.vector(), scalar_named(self.base)) {
            (Some((scalar, lanes)), _) => ValueType::Vector(scalar, lanes),
            (None, Some(scalar)) => ValueType::Scalar(scalar),
            (None, None) => ValueType::Void,
        };
    }

    fn vector(&self) -> Option<(Scalar, u8)> {
        let digits = self.base.trim_start_matches(|c: char| !c.is_ascii_digit());
        let scalar = scalar_named(self.base.strip_suffix(digits)?)?;
        Some((scalar, digits.parse().ok().filter(|lanes| *lanes > 1)?))
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `named` where it is as wide as the type of the module and of the same kind, else what the module
/// has.
fn agreeing(has: Scalar, named: Option<Scalar>) -> Scalar {
    match named {
        Some(named) if named == unsigned(has) || named == has => named,
        _ => has,
    }
}

/// Makes integers unsigned.
pub(crate) fn make_unsigned(ty: &mut ValueType) {
    if let ValueType::Scalar(scalar) | ValueType::Vector(scalar, _) = ty {
        *scalar = unsigned(*scalar);
    }
}

fn unsigned(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::I8 => Scalar::U8,
        Scalar::I16 => Scalar::U16,
        Scalar::I32 => Scalar::U32,
        Scalar::I64 => Scalar::U64,
        other => other,
    }
}

/// The scalar of a name of OpenCL C, or of C.
pub(crate) fn scalar_named(name: &str) -> Option<Scalar> {
    Some(match name {
        "char" | "signed char" | "int8_t" => Scalar::I8,
        "uchar" | "unsigned char" | "uint8_t" | "bool" => Scalar::U8,
        "short" | "signed short" | "int16_t" => Scalar::I16,
        "ushort" | "unsigned short" | "uint16_t" => Scalar::U16,
        "int" | "signed int" | "signed" | "int32_t" => Scalar::I32,
        "uint" | "unsigned int" | "unsigned" | "uint32_t" => Scalar::U32,
        "long" | "signed long" | "int64_t" | "ptrdiff_t" | "intptr_t" => Scalar::I64,
        "ulong" | "unsigned long" | "uint64_t" | "size_t" | "uintptr_t" => Scalar::U64,
        "half" => Scalar::F16,
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        _ => return None,
    })
}

/// The scalar of a SPIR-V type, integers as signed ones; `None` for what is no scalar.
pub(crate) fn scalar(ty: Type<'_>) -> Option<Scalar> {
    Some(match ty {
        // bool is one byte in memory.
        Type::Bool => Scalar::U8,
        Type::Int { width: 8 } => Scalar::I8,
        Type::Int { width: 16 } => Scalar::I16,
        Type::Int { width: 32 } => Scalar::I32,
        Type::Int { width: 64 } => Scalar::I64,
        Type::Float { width: 16 } => Scalar::F16,
        Type::Float { width: 32 } => Scalar::F32,
        Type::Float { width: 64 } => Scalar::F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_to_char_may_stand_for_others() {
        let pointee = |text: &str, mut ty: ValueType| {
            Spelling::new(text).apply_to_pointee(&mut ty);
            ty
        };
        let char_pointee = || ValueType::Scalar(Scalar::I8);
        assert_eq!(pointee("char*", char_pointee()), char_pointee());
        assert_eq!(pointee("uchar*", char_pointee()), ValueType::Scalar(Scalar::U8));
        assert_eq!(pointee("float*", char_pointee()), ValueType::Scalar(Scalar::F32));
        assert_eq!(pointee("ulong2*", char_pointee()), ValueType::Vector(Scalar::U64, 2));
        assert_eq!(pointee("void*", char_pointee()), ValueType::Void);
        assert_eq!(pointee("params_t*", char_pointee()), ValueType::Void);
        assert_eq!(pointee("uint*", ValueType::Scalar(Scalar::I64)), ValueType::Scalar(Scalar::I64));
    }

    fn spelled(text: &str, mut ty: ValueType) -> ValueType {
        Spelling::new(text).apply(&mut ty);
        ty
    }

    #[test]
    fn spellings_give_signs_where_they_agree() {
        assert_eq!(spelled("uint", ValueType::Scalar(Scalar::I32)), ValueType::Scalar(Scalar::U32));
        assert_eq!(spelled("uint", ValueType::Scalar(Scalar::I64)), ValueType::Scalar(Scalar::I64));
        assert_eq!(spelled("uchar4*", ValueType::Vector(Scalar::I8, 4)), ValueType::Vector(Scalar::U8, 4));
        assert_eq!(
            spelled("__global const ulong16 *", ValueType::Vector(Scalar::I64, 16)),
            ValueType::Vector(Scalar::U64, 16)
        );
        assert_eq!(spelled("my_t", ValueType::Scalar(Scalar::I8)), ValueType::Scalar(Scalar::I8));
        assert_eq!(spelled("unsigned int", ValueType::Scalar(Scalar::I32)), ValueType::Scalar(Scalar::U32));
    }
}
