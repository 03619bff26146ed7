//! Functions marked `SHARED`: what the host needs to know to call them.

use oclave_image::ValueType;

use super::class_globals::Violation;
use super::node::{Node, Type};
use super::type_text::TypeText;
use super::types::Types;

/// The number in the annotation of `SHARED` in `oclave.h`: the tree does not tell the annotation's
/// words.
const MARK: &str = "793214";

/// A function for both sides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharedFunction {
    pub(crate) name: String,
    /// Namespaces, and the class of a static member function.
    pub(crate) scopes: Vec<Scope>,
    /// Arguments of an instance of a function template.
    pub(crate) arguments: Vec<String>,
    /// Name for the linker of devices.
    pub(crate) symbol: String,
    /// Whether this source has the body.
    pub(crate) is_defined: bool,
    pub(crate) line: Option<usize>,
    pub(crate) comment: Vec<String>,
    pub(crate) parameters: Vec<SharedParameter>,
    pub(crate) result: SharedParameter,
}

/// What a function is declared in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) name: String,
    pub(crate) is_namespace: bool,
}

/// A parameter or the result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharedParameter {
    pub(crate) name: String,
    /// The type as written, the parameter's own address space left out.
    pub(crate) text: String,
    pub(crate) ty: SharedType,
}

/// What the host passes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SharedType {
    /// Nothing, of results.
    Void,
    /// A Boolean.
    Bool,
    /// A value with this layout.
    Value(ValueType),
    /// A pointer; the pointee is unknown of pointers to `void` and to pointers.
    Pointer { pointee: Option<ValueType>, is_const: bool },
    /// A C++ reference.
    Reference { pointee: ValueType, is_const: bool },
    /// What the host cannot pass.
    Unknown,
}

impl SharedFunction {
    /// The name with its scopes, as the source would call it.
    pub(crate) fn path(&self) -> String {
        let mut path: String = self.scopes.iter().map(|scope| format!("{}::", scope.name)).collect();
        path.push_str(&self.name);
        path
    }
}

/// Reads the tree's shared functions, in its order; declarations of one function are one, the
/// definition if there is one.
pub(super) fn functions(
    tree: &Node,
    types: &Types<'_>,
    source: &[u8],
    violations: &mut Vec<Violation>,
) -> Vec<SharedFunction> {
    let mut functions: Vec<SharedFunction> = Vec::new();
    collect(tree, &mut Vec::new(), &mut |node, scopes| {
        let function = function(node, scopes, types, source);
        let refused = refusal(node, &function);
        violations.extend(refused.map(|what| Violation { name: function.path(), line: function.line, what }));
        match functions.iter_mut().find(|known| known.symbol == function.symbol) {
            Some(known) if function.is_defined => *known = function,
            Some(_) => {}
            None => functions.push(function),
        }
    });
    functions
}

fn collect<'a>(node: &'a Node, scopes: &mut Vec<Scope>, found: &mut dyn FnMut(&'a Node, &[Scope])) {
    for child in &node.inner {
        let scope = |is_namespace| Scope { name: child.name.clone(), is_namespace };
        match child.kind.as_str() {
            "NamespaceDecl" if !child.name.is_empty() => {
                scopes.push(scope(true));
                collect(child, scopes, found);
                scopes.pop();
            }
            "CXXRecordDecl" if !child.name.is_empty() => {
                scopes.push(scope(false));
                collect(child, scopes, found);
                scopes.pop();
            }
            "NamespaceDecl" | "LinkageSpecDecl" => collect(child, scopes, found),
            // The first function of a template is the pattern, the others are instances.
            "FunctionTemplateDecl" => {
                let instances = child.inner.iter().filter(|node| node.has("TemplateArgument"));
                instances.filter(|node| is_shared(node)).for_each(|node| found(node, scopes));
            }
            "FunctionDecl" | "CXXMethodDecl" if is_shared(child) => found(child, scopes),
            _ => {}
        }
    }
}

fn is_shared(node: &Node) -> bool {
    node.children("AnnotateAttr")
        .flat_map(|attribute| attribute.children("ConstantExpr"))
        .any(|number| number.value == MARK)
}

/// Why the host cannot have a function.
fn refusal(node: &Node, function: &SharedFunction) -> Option<String> {
    if node.has("OpenCLKernelAttr") || node.has("DeviceKernelAttr") {
        return Some("a kernel cannot be SHARED: mark the functions that it calls".to_owned());
    }
    if node.kind == "CXXMethodDecl" && node.storage_class != "static" {
        return Some(
            "a SHARED member function must be static; what SHARED functions call needs no mark".to_owned(),
        );
    }
    let unknown = |what: &str, parameter: &SharedParameter| {
        let layout = "whose layout the host cannot know";
        format!("{what} has the type `{}`, {layout}; pass a pointer to it, or a plain struct", parameter.text)
    };
    let mut parameters = function.parameters.iter();
    if let Some(bad) = parameters.find(|parameter| parameter.ty == SharedType::Unknown) {
        return Some(unknown(&format!("the parameter `{}` of a SHARED function", bad.name), bad));
    }
    matches!(function.result.ty, SharedType::Unknown | SharedType::Reference { .. })
        .then(|| unknown("the result of a SHARED function", &function.result))
}

fn function(node: &Node, scopes: &[Scope], types: &Types<'_>, source: &[u8]) -> SharedFunction {
    let symbol = if node.mangled_name.is_empty() { &node.name } else { &node.mangled_name };
    let argument = |node: &Node| match (node.ty.qual_type.as_str(), node.value.as_str()) {
        ("", value) => value.to_owned(),
        (ty, _) => without_private(ty),
    };
    let qualified: String = scopes.iter().map(|scope| format!("{}::", scope.name)).collect();
    let result = result_text(&node.ty.qual_type).unwrap_or_default();
    let result = Type { qual_type: result.to_owned(), desugared_qual_type: None };
    SharedFunction {
        name: node.name.clone(),
        scopes: scopes.to_vec(),
        arguments: node.children("TemplateArgument").map(argument).collect(),
        symbol: symbol.clone(),
        is_defined: node.has("CompoundStmt"),
        line: super::line(node, source),
        comment: super::comment(node),
        parameters: node
            .children("ParmVarDecl")
            .map(|parameter| self::parameter(&parameter.name, &parameter.ty, &qualified, types))
            .collect(),
        result: parameter("", &result, &qualified, types),
    }
}

fn parameter(name: &str, ty: &Type, scope: &str, types: &Types<'_>) -> SharedParameter {
    let shared = shared_type(&ty.qual_type, ty, scope, types);
    let text = match shared {
        SharedType::Pointer { .. } | SharedType::Reference { .. } => {
            ty.qual_type.strip_suffix("__private").unwrap_or(&ty.qual_type).to_owned()
        }
        _ => without_private(&ty.qual_type),
    };
    SharedParameter { name: name.to_owned(), text, ty: shared }
}

fn shared_type(text: &str, ty: &Type, scope: &str, types: &Types<'_>) -> SharedType {
    let is_reference = text.contains('&');
    // A reference is a pointer to the host; one to a pointer is beyond it.
    let Some(parsed) = TypeText::parse(&text.replacen('&', "*", 1)) else { return SharedType::Unknown };
    match parsed.pointer {
        Some(pointer) => {
            let pointee = (!pointer.to_pointer)
                .then(|| types.base(&parsed).or_else(|| types.base(&scoped(&parsed, scope))))
                .flatten()
                .filter(|pointee| *pointee != ValueType::Void);
            match (is_reference, pointee) {
                (false, pointee) => SharedType::Pointer { pointee, is_const: pointer.is_const },
                (true, Some(pointee)) => SharedType::Reference { pointee, is_const: pointer.is_const },
                (true, None) => SharedType::Unknown,
            }
        }
        None if parsed.base == "void" => SharedType::Void,
        None if matches!(parsed.base.as_str(), "bool" | "_Bool") && parsed.dimensions.is_empty() => {
            SharedType::Bool
        }
        None => {
            // A typedef may hide a pointer.
            let desugared = ty.desugared_qual_type.as_deref().filter(|desugared| desugared.contains('*'));
            if let Some(desugared) = desugared.and_then(TypeText::parse) {
                let pointee = if desugared.pointer.is_some_and(|p| p.to_pointer) {
                    None
                } else {
                    types.base(&desugared)
                };
                let is_const = desugared.pointer.is_some_and(|pointer| pointer.is_const);
                return SharedType::Pointer { pointee, is_const };
            }
            let value = types.value(ty).or_else(|| types.base(&scoped(&parsed, scope)));
            value.map_or(SharedType::Unknown, SharedType::Value)
        }
    }
}

/// Newer compilers print names as they are written, without the namespaces around them.
fn scoped(text: &TypeText, scope: &str) -> TypeText {
    TypeText { base: format!("{scope}{}", text.base), ..text.clone() }
}

fn without_private(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "__private").collect::<Vec<_>>().join(" ")
}

/// The result in the type of a function: `float4` of `float4 (__private int)`.
fn result_text(text: &str) -> Option<&str> {
    if let Some((_, trailing)) = text.rsplit_once(") -> ") {
        return Some(trailing);
    }
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        let before = text.get(..at)?.trim_end();
        let group = depth == 0
            && (before.ends_with("__attribute__")
                || text.get(at..)?.starts_with("(unnamed")
                || text.get(at..)?.starts_with("(anonymous"));
        match c {
            '(' if depth == 0 && !group => return Some(before),
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_from_parameters() {
        for (text, result) in [
            ("int (__private int, __global int *__private)", "int"),
            ("__global int *(__global int *__private)", "__global int *"),
            ("float __attribute__((ext_vector_type(4))) (int)", "float __attribute__((ext_vector_type(4)))"),
            ("auto (int) -> ns::P", "ns::P"),
            ("int (__private int) __generic", "int"),
        ] {
            assert_eq!(result_text(text), Some(result), "{text}");
        }
        assert_eq!(result_text("int"), None);
    }
}
