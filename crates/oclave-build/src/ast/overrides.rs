//! Overrides of virtual functions that are `INDIRECTLY_CALLABLE`, and are not so themselves: calls
//! would not find them.

use std::collections::BTreeMap;

use super::class_globals::Violation;
use super::node::{Node, Type};

/// A class with its bases and functions, by its qualified name.
#[derive(Debug)]
struct Class<'t> {
    node: &'t Node,
    /// The enclosing scope, `a::b::`.
    scope: &'t str,
}

/// The overrides of a source that lack the marker.
pub(super) fn violations(tree: &Node, source: &[u8]) -> Vec<Violation> {
    let mut scopes = Vec::new();
    scopes_of(tree, "", &mut scopes);
    let mut classes = BTreeMap::new();
    for (scope, node) in &scopes {
        classes.insert(format!("{scope}{}", node.name), Class { node, scope });
    }
    let mut found = Vec::new();
    for (scope, node) in &scopes {
        for method in node.children("CXXMethodDecl").filter(|m| !m.is_implicit && !m.has("AnnotateAttr")) {
            if let Some(base) = marked_in_bases(&classes, scope, node, method, 0) {
                found.push(Violation {
                    name: format!("{}::{}", node.name, method.name),
                    line: super::line(method, source),
                    what: format!(
                        "it overrides `{base}::{}`, which is INDIRECTLY_CALLABLE, but is not so itself; calls would not \
                         find it: mark it, too",
                        method.name
                    ),
                });
            }
        }
    }
    found
}

/// All classes with a body, with their enclosing scopes.
fn scopes_of<'t>(node: &'t Node, scope: &str, found: &mut Vec<(String, &'t Node)>) {
    for child in &node.inner {
        match child.kind.as_str() {
            "CXXRecordDecl" if child.complete_definition => {
                found.push((scope.to_owned(), child));
                scopes_of(child, &format!("{scope}{}::", child.name), found);
            }
            "NamespaceDecl" if !child.name.is_empty() => {
                scopes_of(child, &format!("{scope}{}::", child.name), found);
            }
            "NamespaceDecl" | "LinkageSpecDecl" => scopes_of(child, scope, found),
            _ => {}
        }
    }
}

/// The name of the base class whose marked function `method` overrides.
fn marked_in_bases(
    classes: &BTreeMap<String, Class<'_>>,
    scope: &str,
    class: &Node,
    method: &Node,
    depth: u32,
) -> Option<String> {
    // Classes are no bases of themselves; the limit is for trees that say so.
    if depth > 64 {
        return None;
    }
    class.bases.iter().filter_map(|base| find(classes, scope, base)).find_map(|base| {
        let overridden = base.node.children("CXXMethodDecl").any(|other| {
            other.name == method.name
                && other.has("AnnotateAttr")
                && parameters(&other.ty).is_some()
                && parameters(&other.ty) == parameters(&method.ty)
        });
        if overridden {
            return Some(base.node.name.clone());
        }
        marked_in_bases(classes, base.scope, base.node, method, depth + 1)
    })
}

/// A class as named in a scope: in it, or in one around it.
fn find<'c, 't>(classes: &'c BTreeMap<String, Class<'t>>, scope: &str, ty: &Type) -> Option<&'c Class<'t>> {
    let names = [Some(ty.qual_type.as_str()), ty.desugared_qual_type.as_deref()];
    names.into_iter().flatten().find_map(|name| {
        let mut scope = scope;
        loop {
            if let Some(class) = classes.get(&format!("{scope}{name}")) {
                return Some(class);
            }
            let outer = scope.strip_suffix("::")?;
            scope = outer.rfind("::").and_then(|at| outer.get(..at + 2)).unwrap_or_default();
        }
    })
}

/// What follows the result in the type of a function: its parameters and qualifiers.
fn parameters(ty: &Type) -> Option<&str> {
    ty.qual_type.find(" (").and_then(|at| ty.qual_type.get(at..))
}
