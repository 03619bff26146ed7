//! Device globals in code for the host: they live on devices, so that a host's copy would silently
//! be another variable.
//!
//! The optimiser may replace a variable that nobody writes by its value. So the module is read as
//! it comes from the front end: it has the functions that the wrappers reach, and the lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::VariableDeclaration;
use crate::ir::places::{Places, leading_number};

/// Where `DEVICE_GLOBAL` of `oclave.h` puts variables on the host, and the class of
/// `device_global.hpp`.
const MARKS: [&str; 2] = ["section \"oclave_device_globals\"", "oclave::device_global"];

/// A use of a device global.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    /// `file:line:column`, where the compiler tells it.
    place: Option<(String, u32, u32)>,
    variable: String,
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some((file, line, column)) = &self.place {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        write!(
            f,
            "error: the host does not have the device global `{}`; use it inside oclave::if_device, or between #ifndef \
             OCLAVE_HOST and #endif",
            self.variable
        )
    }
}

/// The uses in a module of LLVM's textual form that has lines, sorted.
pub(super) fn uses(module: &str, declared: &[VariableDeclaration]) -> BTreeSet<Use> {
    let globals: Vec<&str> = module.lines().filter_map(|line| device_global(line, declared)).collect();
    let mut found = BTreeSet::new();
    if globals.is_empty() {
        return found;
    }
    let places = Places::new(module);
    for line in reached(module) {
        for global in globals.iter().filter(|global| mentions(line, global)) {
            let place = line.rsplit_once("!dbg !").and_then(|(_, id)| places.of(leading_number(id)?));
            let known = declared.iter().find(|variable| names(global, variable));
            let variable = known.map_or_else(|| (*global).to_owned(), |variable| variable.name.clone());
            found.insert(Use { place, variable });
        }
    }
    found
}

/// The lines of the functions that are visible outside, and of those that they reach. Clang 21 and
/// newer also emit the bodies of kernels, which nothing calls on the host.
fn reached(module: &str) -> Vec<&str> {
    let mut functions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut open, mut current) = (Vec::new(), "");
    for line in module.lines() {
        if let Some(rest) = line.strip_prefix("define ") {
            current = symbols(rest).next().unwrap_or_default();
            if !rest.starts_with("internal ") {
                open.push(current);
            }
        } else if line.starts_with("  ") {
            functions.entry(current).or_default().push(line);
        } else if line.starts_with('@')
            && (!line.starts_with("@llvm.") || line.starts_with("@llvm.global_ctors"))
        {
            // Vtables and other variables may hold addresses of functions. Annotations have those
            // of kernels.
            open.extend(symbols(line).skip(1));
        }
    }
    let mut lines = Vec::new();
    while let Some(function) = open.pop() {
        for line in functions.remove(function).unwrap_or_default() {
            lines.push(line);
            open.extend(symbols(line));
        }
    }
    lines
}

/// The symbols in a line, without their `@`.
fn symbols(line: &str) -> impl Iterator<Item = &str> {
    line.split('@').skip(1).map(|rest| match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_.$-".contains(c);
            rest.split(|c| !is_part(c)).next().unwrap_or_default()
        }
    })
}

/// The symbol that a line of the module defines or declares as a device global.
fn device_global<'m>(line: &'m str, declared: &[VariableDeclaration]) -> Option<&'m str> {
    let (symbol, rest) = line.strip_prefix('@')?.split_once(" = ")?;
    // Another source has the marker of a variable that is `extern` here.
    let is_elsewhere = || {
        rest.starts_with("external ")
            && declared.iter().any(|variable| variable.is_extern && names(symbol, variable))
    };
    (MARKS.iter().any(|mark| rest.contains(mark)) || is_elsewhere()).then_some(symbol)
}

/// Whether a symbol is that of a variable: as it is in C, mangled in C++, where linkage changes it.
fn names(symbol: &str, variable: &VariableDeclaration) -> bool {
    symbol == variable.symbol
        || symbol.starts_with("_Z") && symbol.contains(&format!("{}{}", variable.name.len(), variable.name))
}

fn mentions(line: &str, symbol: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
    line.match_indices(symbol).any(|(at, _)| {
        line.get(..at).is_some_and(|before| before.ends_with('@'))
            && !line.get(at + symbol.len()..).is_some_and(|after| after.starts_with(is_part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_kernels_do_not_count() {
        let module = "@table = internal constant [1 x ptr] [ptr @held]\n\
            define dso_local i32 @wrapper() {\n  call i32 @called()\n}\n\
            define internal i32 @called() {\n  load 1\n}\n\
            define internal i32 @held() {\n  load 2\n}\n\
            @llvm.global_ctors = appending global [1 x ptr] [ptr @first]\n\
            @llvm.global.annotations = appending global [1 x ptr] [ptr @__clang_ocl_kern_imp_k]\n\
            define internal i32 @first() {\n  load 5\n}\n\
            define internal void @__clang_ocl_kern_imp_k() {\n  call i32 @only_there()\n  load 3\n}\n\
            define internal i32 @only_there() {\n  load 4\n}\n";
        let mut lines = reached(module);
        lines.sort_unstable();
        assert_eq!(lines, ["  call i32 @called()", "  load 1", "  load 2", "  load 5"]);
    }
}
