//! What the sources declare, read from clang's syntax tree: names, signs, struct fields, comments,
//! lines.
//!
//! SPIR-V alone does not tell these. Where the tree leaves a doubt the answer is "unknown", and the
//! module's view holds.

mod class_globals;
mod node;
mod overrides;
mod shared;
mod type_text;
mod types;

use std::collections::BTreeSet;

use oclave_image::{Access, ValueType};

pub(crate) use class_globals::Violation;
use node::Node;
pub(crate) use shared::{SharedFunction, SharedParameter, SharedType};
use type_text::{Space, TypeText};
use types::Types;

/// The kernels and variables of one source.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Declarations {
    pub(crate) kernels: Vec<KernelDeclaration>,
    pub(crate) variables: Vec<VariableDeclaration>,
    /// Functions that the host has, too.
    pub(crate) shared: Vec<SharedFunction>,
    /// The names for the linker of functions that are declared `inline` and not `static`.
    pub(crate) inline: BTreeSet<String>,
    /// Device globals, virtual and shared functions that must not be declared as they are.
    pub(crate) violations: Vec<Violation>,
}

/// A kernel with a body.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct KernelDeclaration {
    pub(crate) name: String,
    /// Line in the source; unknown for kernels from headers and macros.
    pub(crate) line: Option<usize>,
    /// The comment in front of it.
    pub(crate) comment: Vec<String>,
    pub(crate) parameters: Vec<ParameterDeclaration>,
    /// The head in words of another language than C.
    pub(crate) head: Option<String>,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParameterDeclaration {
    pub(crate) name: String,
    /// The type as written, `__` and `__private` left out.
    pub(crate) text: String,
    pub(crate) kind: ParameterType,
}

/// What a parameter is, as far as its type tells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ParameterType {
    /// Passed by value.
    Value(Option<ValueType>),
    /// A pointer to what the host provides.
    Pointer { access: Access, pointee: Option<ValueType> },
    /// A pointer to local memory.
    Local { pointee: Option<ValueType> },
    /// The number of elements of the parameter before it, which the host knows.
    Length,
    /// Not understood.
    Unknown,
}

/// A variable at program scope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VariableDeclaration {
    /// Name in the source.
    pub(crate) name: String,
    /// Name for the linker.
    pub(crate) symbol: String,
    /// Declared `extern` without a value: another source defines it.
    pub(crate) is_extern: bool,
    pub(crate) is_static: bool,
    pub(crate) line: Option<usize>,
    pub(crate) comment: Vec<String>,
    pub(crate) ty: Option<ValueType>,
}

impl VariableDeclaration {
    /// Whether post-link gives this variable, of a source with this unit name, a unique id.
    pub(crate) fn has_unique_id(&self, id: &str, unit: &str) -> bool {
        if id == self.symbol {
            return !self.is_static;
        }
        id.strip_prefix(unit).and_then(|rest| rest.strip_prefix('.')) == Some(self.symbol.as_str())
    }
}

impl Declarations {
    /// Reads the tree that `clang -ast-dump=json` prints for `source`.
    pub(crate) fn parse(json: &[u8], source: &[u8]) -> serde_json::Result<Self> {
        let tree = Node::parse(json)?;
        let mut types = Types::default();
        let mut found = Vec::new();
        collect(&tree, "", &mut types, &mut found);
        let mut violations = class_globals::violations(&tree, source);
        violations.extend(overrides::violations(&tree, source));
        let shared = shared::functions(&tree, &types, source, &mut violations);
        let inline = tree.children("FunctionDecl").filter(|function| is_shared_inline(function)).map(symbol);
        let inline = inline.map(str::to_owned).collect();
        let mut declarations = Self { shared, inline, violations, ..Self::default() };
        for node in found {
            if node.kind == "FunctionDecl" {
                declarations.kernels.push(kernel(node, &types, source));
            } else {
                let variable = variable(node, &types, source);
                // A definition says more than the declarations before it.
                match declarations.variables.iter_mut().find(|known| known.symbol == variable.symbol) {
                    Some(known) if known.is_extern => *known = variable,
                    Some(_) => {}
                    None => declarations.variables.push(variable),
                }
            }
        }
        Ok(declarations)
    }
}

fn collect<'a>(node: &'a Node, scope: &str, types: &mut Types<'a>, found: &mut Vec<&'a Node>) {
    for child in &node.inner {
        types.declare(child, scope);
        match child.kind.as_str() {
            "NamespaceDecl" | "RecordDecl" | "CXXRecordDecl" if !child.name.is_empty() => {
                collect(child, &format!("{scope}{}::", child.name), types, found);
                if !child.kind.starts_with("CXX") && child.kind != "NamespaceDecl" {
                    // In C the tags inside a struct are visible outside without its name.
                    collect(child, scope, types, &mut Vec::new());
                }
            }
            "NamespaceDecl" | "LinkageSpecDecl" | "RecordDecl" | "CXXRecordDecl" => {
                collect(child, scope, types, found);
            }
            "FunctionDecl" if is_kernel(child) => found.push(child),
            "VarDecl" if !child.is_implicit => found.push(child),
            _ => {}
        }
    }
}

/// Clang 21 renamed the attribute.
fn is_kernel(node: &Node) -> bool {
    (node.has("OpenCLKernelAttr") || node.has("DeviceKernelAttr")) && node.has("CompoundStmt")
}

fn is_shared_inline(function: &Node) -> bool {
    function.is_inline && function.storage_class != "static"
}

/// The name for the linker.
fn symbol(node: &Node) -> &str {
    if node.mangled_name.is_empty() { &node.name } else { &node.mangled_name }
}

fn kernel(node: &Node, types: &Types<'_>, source: &[u8]) -> KernelDeclaration {
    KernelDeclaration {
        name: node.name.clone(),
        line: line(node, source),
        comment: comment(node),
        parameters: node.children("ParmVarDecl").map(|parameter| self::parameter(parameter, types)).collect(),
        head: None,
    }
}

fn parameter(node: &Node, types: &Types<'_>) -> ParameterDeclaration {
    let kind = match TypeText::parse(&node.ty.qual_type) {
        // A typedef may hide a pointer.
        Some(TypeText { pointer: None, .. }) => {
            match node.ty.desugared_qual_type.as_deref().map(TypeText::parse) {
                Some(Some(text)) if text.pointer.is_some() => pointer(&text, types),
                _ => ParameterType::Value(types.value(&node.ty)),
            }
        }
        Some(text) => pointer(&text, types),
        None => ParameterType::Unknown,
    };
    ParameterDeclaration { name: node.name.clone(), text: readable(&node.ty.qual_type), kind }
}

fn pointer(text: &TypeText, types: &Types<'_>) -> ParameterType {
    let Some(pointer) = text.pointer else { return ParameterType::Unknown };
    let pointee = if pointer.to_pointer { None } else { types.base(text) };
    match pointer.space {
        Space::Constant => ParameterType::Pointer { access: Access::Read, pointee },
        Space::Global if pointer.is_const => ParameterType::Pointer { access: Access::Read, pointee },
        Space::Global => ParameterType::Pointer { access: Access::ReadWrite, pointee },
        Space::Local => ParameterType::Local { pointee },
        Space::Private | Space::Generic => ParameterType::Unknown,
    }
}

fn variable(node: &Node, types: &Types<'_>, source: &[u8]) -> VariableDeclaration {
    VariableDeclaration {
        name: node.name.clone(),
        symbol: symbol(node).to_owned(),
        is_extern: node.storage_class == "extern" && !node.has_initializer,
        is_static: node.storage_class == "static",
        line: line(node, source),
        comment: comment(node),
        ty: types.value(class_globals::value_type(&node.ty).as_ref().unwrap_or(&node.ty)),
    }
}

/// Parameters as the author would write them.
fn readable(ty: &str) -> String {
    let words: Vec<&str> = ty.split_whitespace().filter(|word| *word != "__private").collect();
    let mut text = words.join(" ").replace("*__private", "*");
    for space in ["__global", "__constant", "__local", "__read_only", "__write_only", "__read_write"] {
        text = text.replace(space, &space[2..]);
    }
    text
}

fn line(node: &Node, source: &[u8]) -> Option<usize> {
    if node.location.included_from.is_some() {
        return None;
    }
    let before = source.get(..node.location.offset?)?;
    Some(1 + before.iter().filter(|byte| **byte == b'\n').count())
}

fn comment(node: &Node) -> Vec<String> {
    let paragraphs = node.children("FullComment").flat_map(|comment| comment.children("ParagraphComment"));
    let mut lines = Vec::new();
    for paragraph in paragraphs {
        let words: Vec<String> =
            paragraph.children("TextComment").map(|text| text.text.trim().to_owned()).collect();
        if words.iter().all(String::is_empty) {
            continue;
        }
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(words.into_iter().filter(|line| !line.is_empty()));
    }
    lines
}

#[cfg(test)]
mod tests;
