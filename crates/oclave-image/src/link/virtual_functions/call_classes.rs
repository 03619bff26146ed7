//! Through which class each virtual call goes: the type of `this`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::demangle::class_of_type;
use crate::TranslationUnit;
use oclave_spirv::{Definitions, FunctionParameterAttribute, Module, Op, Type, TypeTable};

/// `ArgumentAttributeINTEL`, for calls through function pointers.
pub(super) const ARGUMENT_ATTRIBUTE: u32 = 6409;

/// The calls through pointers of one function, in order, with the class where it is known.
type Calls = Vec<(u32, Option<String>)>;

/// Call → class, where it is known.
///
/// Linking sources merges structs of equal layout, but keeps the order of calls in a function. So
/// the class of each call is that in the source, if the function is the same in all sources that
/// have it.
pub(super) fn call_classes(unit: &TranslationUnit, module: &Module) -> HashMap<u32, String> {
    let linked = calls(module);
    if unit.sources.is_empty() {
        return linked.into_iter().flat_map(|(_, calls)| calls).filter_map(known).collect();
    }
    let mut of_sources: HashMap<String, Option<Vec<Option<String>>>> = HashMap::new();
    for (function, calls) in unit.sources.iter().flat_map(calls).filter(|(name, _)| !name.is_empty()) {
        let classes: Vec<Option<String>> = calls.into_iter().map(|(_, class)| class).collect();
        match of_sources.entry(function) {
            Entry::Vacant(entry) => {
                entry.insert(Some(classes));
            }
            Entry::Occupied(mut entry) if entry.get().as_ref() != Some(&classes) => {
                entry.insert(None);
            }
            Entry::Occupied(_) => {}
        }
    }
    let mut found = HashMap::new();
    for (function, calls) in linked {
        let of_source = of_sources.get(&function).and_then(Option::as_ref);
        if let Some(classes) = of_source.filter(|classes| classes.len() == calls.len()) {
            let ids = calls.iter().map(|(id, _)| *id);
            found.extend(ids.zip(classes.iter().cloned()).filter_map(known));
        }
    }
    found
}

fn known((call, class): (u32, Option<String>)) -> Option<(u32, String)> {
    class.map(|class| (call, class))
}

/// The functions that call through pointers, without the numbers that may stand behind their names.
fn calls(module: &Module) -> Vec<(String, Calls)> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let names: HashMap<u32, String> = module.names().collect();
    let struct_results = struct_results(module);
    let class_of = |call: u32, pointer: u32| {
        let Type::Pointer { pointee, .. } = types.ty(definitions.type_of(pointer)?)? else { return None };
        let Type::Function { parameters, .. } = types.ty(pointee)? else { return None };
        // The place for a struct as result comes first.
        let this = parameters.get(usize::from(struct_results.contains(&call)))?;
        let Type::Pointer { pointee, .. } = types.ty(*this)? else { return None };
        class_of_type(names.get(&pointee)?)
    };
    let mut functions: Vec<(String, Calls)> = Vec::new();
    let mut function = None;
    for instruction in module.instructions() {
        match (instruction.op(), instruction.result_id(), instruction.operands()) {
            (Some(Op::Function), id, _) => function = id,
            (Some(Op::FunctionPointerCallINTEL), Some(call), &[pointer, ..]) => {
                if let Some(id) = function.take() {
                    let name = names.get(&id).map_or("", |name| stem(name));
                    functions.push((name.to_owned(), Vec::new()));
                }
                if let Some((_, calls)) = functions.last_mut() {
                    calls.push((call, class_of(call, pointer)));
                }
            }
            _ => {}
        }
    }
    functions
}

/// A name without the number that `llvm-link` gives to functions that other sources do not see.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, number)) if number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}

/// The calls through pointers whose first argument has the attribute `sret`.
fn struct_results(module: &Module) -> HashSet<u32> {
    let marked = module.global_instructions().filter_map(|i| match *i.operands() {
        [call, ARGUMENT_ATTRIBUTE, 0, attribute] if i.is(Op::Decorate) => {
            (attribute == FunctionParameterAttribute::Sret as u32).then_some(call)
        }
        _ => None,
    });
    marked.collect()
}
