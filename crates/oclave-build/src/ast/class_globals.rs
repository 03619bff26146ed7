//! Variables of the class template `oclave::device_global`: the type of their value, and rules for
//! declaring them. These are the "Restrictions on creating device global objects" that the compiler
//! itself does not know.

use super::node::{Node, Type};

const CLASS: &str = "device_global<";

/// A declaration that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) name: String,
    /// Line in the source. It is unknown for declarations in headers and macros.
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
}

/// The type of the value of a device global; `None` for other types.
pub(crate) fn value_type(ty: &Type) -> Option<Type> {
    let desugared = ty.desugared_qual_type.as_deref().and_then(first_argument);
    let written = first_argument(&ty.qual_type).or(desugared)?;
    Some(Type { qual_type: written.to_owned(), desugared_qual_type: desugared.map(str::to_owned) })
}

fn is_class(ty: &Type) -> bool {
    value_type(ty).is_some()
}

/// `T` of `oclave::device_global<T, Properties…>`.
fn first_argument(text: &str) -> Option<&str> {
    let start = text.find(CLASS)?;
    let before = text.get(..start)?;
    if !(before.is_empty() || before.ends_with([' ', ':'])) {
        return None;
    }
    let arguments = text.get(start + CLASS.len()..)?;
    let mut depth = 0_u32;
    for (at, c) in arguments.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            ',' | '>' if depth == 0 => return arguments.get(..at).map(str::trim),
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// What breaks the rules in a source.
pub(crate) fn violations(tree: &Node, source: &[u8]) -> Vec<Violation> {
    let mut found = Vec::new();
    scope(tree, source, &mut found);
    found
}

fn scope(node: &Node, source: &[u8], found: &mut Vec<Violation>) {
    let in_class = node.kind == "CXXRecordDecl";
    let mut access = if in_class && node.tag_used == "class" { "private" } else { "public" };
    for child in &node.inner {
        let mut report = |what: &str| {
            let line = super::line(child, source);
            found.push(Violation { name: child.name.clone(), line, what: what.to_owned() });
        };
        match child.kind.as_str() {
            "AccessSpecDecl" => access = &child.access,
            "FieldDecl" if is_class(&child.ty) => {
                report(
                    "a device_global must not be a non-static member; declare it static, or outside of the class",
                );
            }
            "VarDecl" if is_class(&child.ty) => {
                if in_class && access != "public" {
                    report("a device_global that is a static member must be public");
                }
                if child.ty.qual_type.ends_with(']') {
                    report("an array of device_global is not allowed; write device_global<T[N]>");
                }
            }
            "NamespaceDecl" | "LinkageSpecDecl" | "CXXRecordDecl" => scope(child, source, found),
            _ => {}
        }
    }
    if !in_class {
        shadowed(node, source, found);
    }
}

/// Names of this scope that an inline namespace in it declares again: the device globals behind
/// them are out of reach.
fn shadowed(node: &Node, source: &[u8], found: &mut Vec<Violation>) {
    let inline = |child: &&Node| child.kind == "NamespaceDecl" && child.is_inline;
    for outer in &node.inner {
        let hides_globals = match outer.kind.as_str() {
            "VarDecl" => is_class(&outer.ty),
            "NamespaceDecl" => !outer.is_inline && holds_globals(outer),
            _ => false,
        };
        if !hides_globals || outer.name.is_empty() {
            continue;
        }
        for other in node.inner.iter().filter(inline).flat_map(|namespace| &namespace.inner) {
            if other.name == outer.name && !other.is_implicit {
                found.push(Violation {
                    name: other.name.clone(),
                    line: super::line(other, source),
                    what: "it stands in an inline namespace and hides a device_global, or a namespace with one, of the \
                           enclosing scope; rename one"
                        .to_owned(),
                });
            }
        }
    }
}

fn holds_globals(namespace: &Node) -> bool {
    namespace.inner.iter().any(|child| match child.kind.as_str() {
        "VarDecl" => is_class(&child.ty),
        "NamespaceDecl" | "CXXRecordDecl" => holds_globals(child),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_argument_is_the_type_of_the_value() {
        for (text, wanted) in [
            ("__global oclave::device_global<int>", Some("int")),
            ("const __global device_global<int[4][2], oclave::host_access_read>", Some("int[4][2]")),
            ("device_global<pair<int, float>, host_access_none>", Some("pair<int, float>")),
            ("oclave::device_global<int>[4]", Some("int")),
            ("my_device_global<int>", None),
            ("__global int", None),
            ("device_global<int", None),
        ] {
            assert_eq!(first_argument(text), wanted, "{text}");
        }
    }
}
