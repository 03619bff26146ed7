//! From type names to layouts: typedefs, structs, unions and enums of one source.

use std::collections::HashMap;

use oclave_image::{Field, Scalar, StructType, ValueType};

use super::node::{Node, Type};
use super::type_text::TypeText;

/// Typedefs of typedefs and structs in structs beyond this depth are not followed.
const DEEPEST: u32 = 64;

/// The named types of a source.
#[derive(Debug, Default)]
pub(crate) struct Types<'a> {
    /// Definitions of structs, unions, classes and enums by clang's id.
    definitions: HashMap<&'a str, &'a Node>,
    /// Ids by qualified name.
    tags: HashMap<String, &'a str>,
    typedefs: HashMap<String, &'a Node>,
    /// Names of structs that have theirs from a typedef only, by id.
    typedef_names: HashMap<&'a str, &'a str>,
}

impl<'a> Types<'a> {
    /// Takes note of a declaration, if it is a type's. `scope` ends in `::` or is empty.
    pub(crate) fn declare(&mut self, node: &'a Node, scope: &str) {
        match node.kind.as_str() {
            "RecordDecl" | "CXXRecordDecl" | "EnumDecl" => {
                if node.kind != "EnumDecl" && !node.complete_definition {
                    return;
                }
                self.definitions.insert(&node.id, node);
                if !node.name.is_empty() {
                    self.tags.insert(format!("{scope}{}", node.name), &node.id);
                }
            }
            "TypedefDecl" | "TypeAliasDecl" => {
                self.typedefs.insert(format!("{scope}{}", node.name), node);
                if let Some(id) = tag_of(node) {
                    self.typedef_names.entry(id).or_insert(&node.name);
                }
            }
            _ => {}
        }
    }

    /// The layout of a type as clang prints it; `None` where it cannot be told with certainty.
    pub(crate) fn value(&self, ty: &Type) -> Option<ValueType> {
        self.resolve(ty, None, 0)
    }

    /// The layout of what a type names, its pointer taken off.
    pub(crate) fn base(&self, text: &TypeText) -> Option<ValueType> {
        self.parts(text, None, 0)
    }

    fn resolve(&self, ty: &Type, unnamed: Option<&Node>, depth: u32) -> Option<ValueType> {
        // The written type keeps the name of a struct that only a typedef names; the desugared one
        // knows scopes.
        let written = TypeText::parse(&ty.qual_type).and_then(|text| self.whole(&text, unnamed, depth));
        written.or_else(|| {
            let desugared = TypeText::parse(ty.desugared_qual_type.as_deref()?)?;
            self.whole(&desugared, unnamed, depth)
        })
    }

    /// The value of this type: an address where it is a pointer.
    fn whole(&self, text: &TypeText, unnamed: Option<&Node>, depth: u32) -> Option<ValueType> {
        match text.pointer {
            Some(_) => Some(ValueType::Scalar(Scalar::U64)),
            None => self.parts(text, unnamed, depth),
        }
    }

    fn parts(&self, text: &TypeText, unnamed: Option<&Node>, depth: u32) -> Option<ValueType> {
        let base = self.named(&text.base, unnamed, depth)?;
        let element = match (text.lanes, base) {
            (None, base) => base,
            (Some(lanes), ValueType::Scalar(scalar)) => ValueType::Vector(scalar, lanes),
            (Some(_), _) => return None,
        };
        Some(
            text.dimensions
                .iter()
                .rev()
                .fold(element, |element, count| ValueType::Array(Box::new(element), *count)),
        )
    }

    fn named(&self, name: &str, unnamed: Option<&Node>, depth: u32) -> Option<ValueType> {
        if depth > DEEPEST {
            return None;
        }
        if name == "void" {
            return Some(ValueType::Void);
        }
        if let Some(scalar) = scalar(name) {
            return Some(ValueType::Scalar(scalar));
        }
        if name.contains("(unnamed") || name.contains("(anonymous") {
            return self.definition(unnamed?, depth);
        }
        let tag =
            ["struct ", "union ", "enum ", "class "].iter().find_map(|prefix| name.strip_prefix(prefix));
        let bare = tag.unwrap_or(name);
        if let Some(definition) = self.tags.get(bare).and_then(|id| self.definitions.get(id)) {
            return self.definition(definition, depth);
        }
        let typedef = self.typedefs.get(bare)?;
        if let Some(definition) = tag_of(typedef).and_then(|id| self.definitions.get(id)) {
            return self.definition(definition, depth);
        }
        self.resolve(&typedef.ty, None, depth + 1)
    }

    fn definition(&self, node: &Node, depth: u32) -> Option<ValueType> {
        if node.kind == "EnumDecl" {
            return self.enumeration(node, depth);
        }
        let name = match (node.name.as_str(), self.typedef_names.get(node.id.as_str())) {
            ("", Some(name)) => (*name).to_owned(),
            (name, _) => name.to_owned(),
        };
        if !node.bases.is_empty() || node.is_polymorphic || node.has("MaxFieldAlignmentAttr") {
            return None;
        }
        let packed = node.has("PackedAttr");
        let mut fields = Vec::new();
        let mut align_bytes = alignment(node)?;
        let (mut end, mut largest) = (0u64, 0u64);
        let mut last_record = None;
        for member in &node.inner {
            if member.kind == "RecordDecl" || member.kind == "CXXRecordDecl" || member.kind == "EnumDecl" {
                last_record = Some(member);
            }
            if member.kind != "FieldDecl" {
                continue;
            }
            if member.is_bitfield || member.has("PackedAttr") {
                return None;
            }
            let index = fields.len();
            let field_name =
                if member.name.is_empty() { format!("field{index}") } else { member.name.clone() };
            let mut ty = self.resolve(&member.ty, last_record, depth + 1)?;
            name_unnamed(&mut ty, &name, &field_name);
            let own = alignment(member)?;
            if packed && own > 1 {
                return None;
            }
            let field_align = if packed { 1 } else { own.max(ty.align_bytes()) };
            align_bytes = align_bytes.max(field_align);
            let offset_bytes = if node.tag_used == "union" { 0 } else { round_up(end, field_align)? };
            end = offset_bytes.checked_add(ty.size_bytes())?;
            largest = largest.max(end);
            fields.push(Field { name: field_name, ty, offset_bytes });
        }
        let size_bytes = round_up(largest, align_bytes)?;
        if packed || node.tag_used == "union" {
            return Some(ValueType::Opaque { name, size_bytes, align_bytes });
        }
        // The size of an empty struct is 0 in C and 1 in C++: left to what the module says.
        if fields.is_empty() {
            return None;
        }
        Some(ValueType::Struct(StructType { name, fields, size_bytes, align_bytes }))
    }

    fn enumeration(&self, node: &Node, depth: u32) -> Option<ValueType> {
        if let Some(ty) = &node.fixed_underlying_type {
            return self.resolve(ty, None, depth + 1);
        }
        let negative = node
            .children("EnumConstantDecl")
            .flat_map(|constant| constant.children("ConstantExpr"))
            .any(|value| value.value.starts_with('-'));
        Some(ValueType::Scalar(if negative { Scalar::I32 } else { Scalar::U32 }))
    }
}

/// The id of the struct, union or enum that a typedef names directly.
fn tag_of(typedef: &Node) -> Option<&str> {
    typedef.inner.iter().find_map(|ty| {
        let declaration = ty.declaration.as_ref()?;
        matches!(declaration.kind.as_str(), "RecordDecl" | "CXXRecordDecl" | "EnumDecl")
            .then_some(declaration.id.as_str())
    })
}

/// A struct inside a struct may have no name of its own: it gets one from where it stands.
fn name_unnamed(ty: &mut ValueType, outer: &str, field: &str) {
    match ty {
        ValueType::Struct(StructType { name, .. }) | ValueType::Opaque { name, .. } if name.is_empty() => {
            *name = format!("{outer}_{field}");
        }
        ValueType::Array(element, _) => name_unnamed(element, outer, field),
        _ => {}
    }
}

/// What `aligned` asks for, at least 1; `None` where the tree does not tell the number.
fn alignment(node: &Node) -> Option<u32> {
    let mut align = 1;
    for attribute in node.children("AlignedAttr") {
        let value: u32 = attribute.children("ConstantExpr").next()?.value.parse().ok()?;
        if !value.is_power_of_two() {
            return None;
        }
        align = align.max(value);
    }
    Some(align)
}

fn round_up(value: u64, align: u32) -> Option<u64> {
    value.checked_next_multiple_of(u64::from(align))
}

fn scalar(name: &str) -> Option<Scalar> {
    Some(match name {
        // A Boolean in memory is a byte; as bytes any value of it is sound.
        "bool" | "_Bool" | "unsigned char" => Scalar::U8,
        "char" | "signed char" => Scalar::I8,
        "short" => Scalar::I16,
        "unsigned short" => Scalar::U16,
        "int" => Scalar::I32,
        "unsigned int" => Scalar::U32,
        "long" => Scalar::I64,
        "unsigned long" => Scalar::U64,
        "half" | "_Float16" => Scalar::F16,
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        _ => return None,
    })
}
