//! Removal of `freeze`, which SPIR-V does not have.
//!
//! `freeze` returns a fixed value if its operand is poison or undefined, so that code may run which
//! the source would not have reached. This pass replaces it by its operand. Before, it removes the
//! flags and constants that make such values (`nsw` and similar flags, `undef`) from all
//! instructions that lead to the operand. This only makes the program more defined. Values from
//! memory, parameters and calls count as defined, as all operands do for newer translators.

use std::collections::{BTreeMap, BTreeSet};

use super::function::Function;
use super::text::{Cursor, definition, replace_tokens, replace_values, tokens};

/// Flags by which an instruction gives poison where it would have a value.
const FLAGS: [&str; 10] =
    ["nuw", "nsw", "exact", "inbounds", "disjoint", "nneg", "samesign", "nusw", "nnan", "ninf"];
/// Their like that stands for several, and what remains of it.
const FAST: (&str, &str) = ("fast", "reassoc nsz arcp contract afn");

pub(super) fn is_freeze(line: &str) -> bool {
    definition(line).1.starts_with("freeze ")
}

/// Removes all of a function.
pub(super) fn remove(function: &mut Function) {
    let mut operands = BTreeMap::new();
    for line in function.lines.iter().filter(|line| is_freeze(line)) {
        let (name, rest) = definition(line);
        let mut cursor = Cursor::new(rest);
        cursor.next();
        cursor.ty();
        let operand = cursor.value();
        operands.insert(name.to_owned(), defined(operand));
    }
    if operands.is_empty() {
        return;
    }
    let roots: Vec<String> = operands.values().cloned().collect();
    function.lines.retain(|line| !is_freeze(line));
    // The operand may be a frozen value itself.
    let resolved = operands.iter().map(|(name, operand)| {
        let mut last = operand;
        for _ in 0..operands.len() {
            match operands.get(last) {
                Some(next) => last = next,
                None => break,
            }
        }
        (name.clone(), last.clone())
    });
    let resolved: BTreeMap<String, String> = resolved.collect();
    for line in &mut function.lines {
        *line = replace_values(line, &resolved).into_owned();
    }
    let roots = roots.into_iter().map(|root| resolved.get(&root).cloned().unwrap_or(root));
    make_defined(function, roots.collect());
}

/// A constant without undefined parts.
fn defined(operand: &str) -> String {
    replace_tokens(operand, |token| match token {
        "undef" | "poison" => Some("zeroinitializer".to_owned()),
        flag if FLAGS.contains(&flag) => Some(String::new()),
        _ => None,
    })
    .into_owned()
}

/// Removes what makes values poison from all instructions that lead to `roots`.
fn make_defined(function: &mut Function, roots: Vec<String>) {
    let mut definitions: BTreeMap<String, usize> = BTreeMap::new();
    for (at, line) in function.lines.iter().enumerate() {
        let (name, _) = definition(line);
        if !name.is_empty() {
            definitions.insert(name.to_owned(), at);
        }
    }
    let mut seen = BTreeSet::new();
    let mut open = roots;
    let mut shifts = Vec::new();
    while let Some(value) = open.pop() {
        let Some(&at) = definitions.get(&value) else { continue };
        if !seen.insert(value) {
            continue;
        }
        let Some(line) = function.lines.get_mut(at) else { continue };
        let (name, rest) = definition(line);
        let op = rest.split(' ').next().unwrap_or_default();
        // What these give does not depend on their operands alone; intrinsic functions are like
        // instructions.
        let is_call = matches!(op, "call" | "tail" | "notail" | "musttail") && !rest.contains("@llvm.");
        if is_call || matches!(op, "load" | "alloca" | "atomicrmw" | "cmpxchg") {
            continue;
        }
        open.extend(tokens(rest).into_iter().filter(|(_, t)| t.starts_with('%')).map(|(_, t)| t.to_owned()));
        if matches!(op, "shl" | "lshr" | "ashr") {
            shifts.push(name.to_owned());
        }
        let new = replace_tokens(rest, |token| match token {
            token if token == FAST.0 => Some(FAST.1.to_owned()),
            "undef" | "poison" => Some("zeroinitializer".to_owned()),
            flag if FLAGS.contains(&flag) => Some(String::new()),
            _ => None,
        });
        *line = format!("  {name} = {new}");
    }
    shifts.iter().for_each(|shift| bound_shift(function, shift));
}

/// Makes a shift by a variable amount one that is below the width, as OpenCL C's shifts are.
fn bound_shift(function: &mut Function, shift: &str) {
    let Some(at) = function.definition(shift) else { return };
    let line = function.lines.get(at).cloned().unwrap_or_default();
    let (name, rest) = definition(&line);
    let mut cursor = Cursor::new(rest);
    let op = cursor.next();
    let ty = cursor.ty();
    let value = cursor.value();
    cursor.take(",");
    let amount = cursor.value();
    let Some(bits) = ty.bits().filter(|bits| bits.is_power_of_two() && amount.starts_with('%')) else {
        return;
    };
    let tail = cursor.rest();
    let bounded = function.fresh();
    let and = format!("  {bounded} = and {ty} {amount}, {}", ty.splat(bits - 1));
    let new = format!("  {name} = {op} {ty} {value}, {bounded}{tail}");
    function.lines.splice(at..=at, [and, new]);
}
