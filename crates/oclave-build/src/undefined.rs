//! Functions that are called and have no body: drivers only say so when the first kernel runs, in
//! their own words.

use std::collections::{BTreeMap, BTreeSet};

use oclave_image::DeviceImage;
use oclave_spirv::{Decoration, Module, Op};

use crate::compile::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// Linkage type `Import`.
const IMPORT: u32 = 1;

/// Refuses images with calls of functions that no source of the program defines. The compiler's own
/// functions, such as those of drivers' extensions, are left to drivers.
pub(crate) fn refuse(compiler: &Compiler<'_>, sources: &[Source], images: &[DeviceImage]) -> Result<()> {
    let mut calls = BTreeSet::new();
    for image in images {
        let module = Module::from_words(image.spirv.clone()).map_err(|error| {
            Error::new(ErrorKind::PostLink, "a device image is malformed").with_source(error)
        })?;
        calls.extend(calls_without_body(&module));
    }
    let mut lines = Vec::new();
    for (function, caller) in calls {
        if !is_of_the_compiler(compiler, sources, &function)? {
            lines.push(format!(
                "`{caller}` calls `{}`, which no source of the program defines; compile the source that does together \
                 with this one, or name the function with `Config::driver_functions` if the driver has it",
                identifier(&function).unwrap_or(&function)
            ));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = sources.iter().map(|source| source.path.display().to_string()).collect();
    Err(Error::new(ErrorKind::Link, format!("{}: {}", names.join(", "), lines.join("\n"))))
}

/// Symbols of imported functions, each with the name of a function that calls it.
fn calls_without_body(module: &Module) -> BTreeSet<(String, String)> {
    let (mut names, mut imports) = (BTreeMap::new(), BTreeMap::new());
    let mut caller = None;
    let mut found = BTreeSet::new();
    for instruction in module.instructions() {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Name), &[id, ..]) => {
                names.extend(instruction.string(1).map(|name| (id, name.into_owned())));
            }
            (Some(Op::EntryPoint), &[_, id, ..]) => {
                names.extend(instruction.string(2).map(|name| (id, name.into_owned())));
            }
            (Some(Op::Decorate), &[id, decoration, ..])
                if decoration == Decoration::LinkageAttributes as u32 =>
            {
                let Some(name) = instruction.string(2) else { continue };
                if instruction.after_string(2).and_then(|kind| kind.first()) == Some(&IMPORT) {
                    imports.insert(id, name.into_owned());
                } else {
                    names.entry(id).or_insert(name.into_owned());
                }
            }
            (Some(Op::Function), _) => caller = instruction.result_id(),
            (Some(Op::FunctionCall), &[callee, ..]) => {
                let Some(symbol) = imports.get(&callee) else { continue };
                let caller = caller.and_then(|id| names.get(&id)).filter(|name| !name.is_empty());
                let caller = caller.map_or("a function", |name| identifier(name).unwrap_or(name));
                found.insert((symbol.clone(), caller.to_owned()));
            }
            _ => {}
        }
    }
    found
}

/// Whether the compiler declares a function by itself, or the name is one of those that are
/// reserved.
fn is_of_the_compiler(compiler: &Compiler<'_>, sources: &[Source], symbol: &str) -> Result<bool> {
    let name = identifier(symbol).unwrap_or(symbol);
    if symbol.starts_with("__") || compiler.config.driver_functions.iter().any(|known| known == name) {
        return Ok(true);
    }
    // Built-in functions have overloads, and names that are not in a namespace.
    let (Some(name), Some(source)) = (identifier(symbol), sources.first()) else { return Ok(false) };
    compiler.knows(source, name)
}

/// The name in `_Z<length><name>…`.
fn identifier(symbol: &str) -> Option<&str> {
    let rest = symbol.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (length, name) = rest.split_at_checked(digits)?;
    name.get(..length.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_have_their_identifier() {
        assert_eq!(identifier("_Z5twicei"), Some("twice"));
        assert_eq!(identifier("_ZN1a5twiceEi"), None);
        assert_eq!(identifier("twice"), None);
    }
}
