//! Imports find their exports.

use std::collections::BTreeMap;

use super::Part;
use crate::{ImageError, Result};
use oclave_spirv::{Declarations, Instruction, LinkageType, Op, StorageClass, Type, TypeTable};

/// An id of a part.
#[derive(Debug, Clone, Copy)]
struct Place {
    part: usize,
    id: u32,
}

/// An id that another stands for.
#[derive(Debug)]
pub(super) struct Link {
    name: String,
    from: Place,
    to: Place,
}

/// Finds the export of every import, and leaves out the imports, and exports that are merged with
/// earlier ones.
///
/// # Errors
/// [`ImageError::Link`] for names that are exported twice, and for those that are imported only, unless
/// these `are_open`.
pub(super) fn resolve(
    parts: &mut [Part<'_>],
    new: &mut Declarations<'_>,
    merge: impl Fn(&str) -> bool,
    are_open: bool,
) -> Result<Vec<Link>> {
    let mut exports: BTreeMap<String, (Place, bool)> = BTreeMap::new();
    let mut imports = Vec::new();
    let mut links = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        for symbol in &part.facts.symbols {
            let (from, name) = (Place { part: index, id: symbol.id }, symbol.name.clone());
            let once = match symbol.linkage {
                LinkageType::Import => {
                    if !part.facts.is_builtin(symbol.id) {
                        imports.push((name, from));
                    }
                    continue;
                }
                LinkageType::Export => merge(&name),
                // Defined wherever it is used, each time the same.
                LinkageType::LinkOnceODR => true,
            };
            match exports.get(&name) {
                None => {
                    exports.insert(name, (from, once));
                }
                Some((to, true)) if once => links.push(Link { name, from, to: *to }),
                Some((to, _)) => {
                    let first = parts.get(to.part).map_or("", |part| part.name);
                    return Err(ImageError::Link(format!(
                        "`{name}` is defined in module `{first}` and in module `{}`",
                        part.name
                    )));
                }
            }
        }
    }
    let mut missing = Vec::new();
    for (name, from) in imports {
        match exports.get(&name) {
            Some((to, _)) => links.push(Link { name, from, to: *to }),
            None if are_open => {}
            None => missing
                .push(format!("`{name}` (module `{}`)", parts.get(from.part).map_or("", |part| part.name))),
        }
    }
    if !missing.is_empty() {
        return Err(ImageError::Link(format!("no module defines {}", missing.join(", "))));
    }
    for link in &links {
        let to = parts.get_mut(link.to.part).ok_or_else(|| no_module(link.to.part))?;
        let id = to.mapped(link.to.id, new);
        let from = parts.get_mut(link.from.part).ok_or_else(|| no_module(link.from.part))?;
        from.map.insert(link.from.id, id);
        from.drop_definition(link.from.id);
    }
    Ok(links)
}

fn no_module(part: usize) -> ImageError {
    ImageError::Link(format!("there is no module {part}, which a link leads to"))
}

/// Checks that symbols which were linked by name have one type. Equal types have one id by now.
///
/// # Errors
/// [`ImageError::Link`] with the name and both types.
pub(super) fn check_types(parts: &[Part<'_>], links: &[Link]) -> Result<()> {
    for link in links {
        let of = |part: usize| parts.get(part).ok_or_else(|| no_module(part));
        let (from, to) = (of(link.from.part)?, of(link.to.part)?);
        let (here, there) = (type_of(from, link.from.id), type_of(to, link.to.id));
        if here.map(|ty| (ty.is_function, from.map.value(ty.id)))
            != there.map(|ty| (ty.is_function, to.map.value(ty.id)))
        {
            let text = |part: &Part<'_>, ty: Option<SymbolType>| {
                ty.map_or_else(|| "nothing".to_owned(), |ty| ty.describe(part))
            };
            return Err(ImageError::Link(format!(
                "`{}` is {} in module `{}`, and {} in module `{}`",
                link.name,
                text(from, here),
                from.name,
                text(to, there),
                to.name
            )));
        }
    }
    Ok(())
}

/// The type of a function or variable.
#[derive(Debug, Clone, Copy)]
struct SymbolType {
    is_function: bool,
    id: u32,
}

fn type_of(part: &Part<'_>, id: u32) -> Option<SymbolType> {
    let definition: Instruction<'_> = part.definitions.instruction(id)?;
    match definition.op()? {
        Op::Function => Some(SymbolType { is_function: true, id: definition.operand(1)? }),
        Op::Variable => Some(SymbolType { is_function: false, id: definition.result_type()? }),
        _ => None,
    }
}

impl SymbolType {
    fn describe(self, part: &Part<'_>) -> String {
        let kind = if self.is_function { "a function" } else { "a variable" };
        let mut text = String::new();
        describe(&TypeTable::new(part.definitions), self.id, 0, &mut text);
        format!("{kind} of type {text}")
    }
}

/// A type in short: `i32(i64, global i8*)`.
fn describe(types: &TypeTable<'_>, id: u32, depth: u32, text: &mut String) {
    use std::fmt::Write;
    // Messages stay short, whatever the type.
    if depth > 6 || text.len() > 200 {
        text.push('…');
        return;
    }
    let part_of = |id: u32, text: &mut String| describe(types, id, depth + 1, text);
    let _ = match types.ty(id) {
        Some(Type::Void) => write!(text, "void"),
        Some(Type::Bool) => write!(text, "bool"),
        Some(Type::Int { width }) => write!(text, "i{width}"),
        Some(Type::Float { width }) => write!(text, "f{width}"),
        Some(Type::Vector { component, count }) => {
            part_of(component, text);
            write!(text, "x{count}")
        }
        Some(Type::Array { element, length }) => {
            part_of(element, text);
            write!(text, "[{}]", length.map_or_else(String::new, |n| n.to_string()))
        }
        Some(Type::Pointer { class, pointee }) => {
            match StorageClass::from_u32(class) {
                Some(class) => {
                    let _ = write!(text, "{class:?} ");
                }
                None => text.push('?'),
            }
            part_of(pointee, text);
            write!(text, "*")
        }
        Some(Type::Function { returns, parameters }) => {
            part_of(returns, text);
            text.push('(');
            for (index, &parameter) in parameters.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                part_of(parameter, text);
            }
            write!(text, ")")
        }
        Some(Type::Struct { members }) => {
            text.push('{');
            for (index, &member) in members.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                part_of(member, text);
            }
            write!(text, "}}")
        }
        _ => write!(text, "%{id}"),
    };
}
