//! The parts of clang's JSON syntax tree that declarations need.
//!
//! Statements and expressions are skipped while reading: they make up nearly all of the text, and
//! may nest deeper than a recursive reader can follow.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// One node of the tree.
#[derive(Debug, Default, Clone)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) mangled_name: String,
    pub(crate) ty: Type,
    /// `struct`, `union`, `class`.
    pub(crate) tag_used: String,
    /// `extern`, `static`.
    pub(crate) storage_class: String,
    /// `public`, `protected`, `private`, of an access specifier.
    pub(crate) access: String,
    /// The value of a constant expression or a template's argument.
    pub(crate) value: String,
    /// The words of a comment.
    pub(crate) text: String,
    pub(crate) location: Location,
    pub(crate) complete_definition: bool,
    pub(crate) is_implicit: bool,
    pub(crate) is_inline: bool,
    /// The types of the base classes.
    pub(crate) bases: Vec<Type>,
    /// Declared `virtual` itself; overrides need not be.
    pub(crate) is_virtual: bool,
    /// Whether the class has a table of virtual functions.
    pub(crate) is_polymorphic: bool,
    pub(crate) is_bitfield: bool,
    pub(crate) has_initializer: bool,
    pub(crate) fixed_underlying_type: Option<Type>,
    /// The declaration that a type names.
    pub(crate) declaration: Option<Reference>,
    pub(crate) inner: Vec<Node>,
}

/// A type as clang prints it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Type {
    /// As written.
    pub(crate) qual_type: String,
    /// With the outermost typedefs resolved.
    pub(crate) desugared_qual_type: Option<String>,
}

/// A reference to a declaration.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Reference {
    pub(crate) id: String,
    pub(crate) kind: String,
}

/// Where something stands. Clang leaves out the line and file that equal those printed before, but
/// never the offset.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Location {
    /// Bytes from the start of the file.
    pub(crate) offset: Option<usize>,
    pub(crate) included_from: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Base {
    #[serde(rename = "type")]
    ty: Type,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct DefinitionData {
    is_polymorphic: bool,
}

impl Node {
    /// Reads a whole tree.
    pub(crate) fn parse(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }

    /// Whether there is a child of a kind.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.children(kind).next().is_some()
    }

    /// The children of a kind.
    pub(crate) fn children<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Node> {
        self.inner.iter().filter(move |node| node.kind == kind)
    }
}

/// Whether what is inside a node of this kind matters.
fn has_declarations(kind: &str) -> bool {
    matches!(
        kind,
        "TranslationUnitDecl"
            | "NamespaceDecl"
            | "LinkageSpecDecl"
            | "RecordDecl"
            | "CXXRecordDecl"
            | "EnumDecl"
            | "EnumConstantDecl"
            | "FieldDecl"
            | "FunctionDecl"
            | "FunctionTemplateDecl"
            | "CXXMethodDecl"
            | "AnnotateAttr"
            | "TypedefDecl"
            | "TypeAliasDecl"
            | "ElaboratedType"
            | "TypedefType"
            | "AlignedAttr"
            | "FullComment"
            | "ParagraphComment"
    )
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node of clang's syntax tree")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut node = Node::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => node.id = map.next_value()?,
                "kind" => node.kind = map.next_value()?,
                "name" => node.name = map.next_value()?,
                "mangledName" => node.mangled_name = map.next_value()?,
                "type" => node.ty = map.next_value()?,
                "tagUsed" => node.tag_used = map.next_value()?,
                "storageClass" => node.storage_class = map.next_value()?,
                // A string for integers, but a Boolean or a number for other literals.
                "value" if node.kind == "ConstantExpr" => node.value = map.next_value()?,
                "value" if node.kind == "TemplateArgument" => {
                    let value: serde_json::Value = map.next_value()?;
                    node.value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                }
                "text" => node.text = map.next_value()?,
                "loc" => node.location = map.next_value()?,
                "completeDefinition" => node.complete_definition = map.next_value()?,
                "isImplicit" => node.is_implicit = map.next_value()?,
                // The first of namespaces, the second of functions.
                "isInline" | "inline" => node.is_inline = map.next_value()?,
                "access" => node.access = map.next_value()?,
                "isBitfield" => node.is_bitfield = map.next_value()?,
                "bases" => {
                    node.bases = map.next_value::<Vec<Base>>()?.into_iter().map(|base| base.ty).collect();
                }
                "virtual" => node.is_virtual = map.next_value()?,
                "definitionData" => node.is_polymorphic = map.next_value::<DefinitionData>()?.is_polymorphic,
                "init" => {
                    map.next_value::<IgnoredAny>()?;
                    node.has_initializer = true;
                }
                "fixedUnderlyingType" => node.fixed_underlying_type = Some(map.next_value()?),
                "ownedTagDecl" | "decl" => node.declaration = Some(map.next_value()?),
                "inner" if has_declarations(&node.kind) => node.inner = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(node)
    }
}
