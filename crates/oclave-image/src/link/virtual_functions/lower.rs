//! The pass as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::call_classes::call_classes;
use super::class_markers;
use super::demangle::readable;
use super::rewrite::{Old, Rewrite, problem};
use super::sets::{FunctionSets, function_sets, is_uncallable};
use super::symbols::symbols;
use super::types::CodeTypes;
use super::vtables::{Names, Vtables};
use super::wrappers::Callable;
use crate::TranslationUnit;
use crate::build::markers::{CallsMarker, Markers};
use crate::virtual_functions::{Dispatcher, VirtualOffset, VirtualSlot};
use crate::{ImageError, Result};
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::transform::merge_types::merge_types;
use oclave_spirv::{Definitions, Module, Op, TypeTable};

/// Codes with this in their last 16 bits are those of functions; smaller ones are offsets in
/// vtables.
const LAST_OFFSET: u64 = 0xffff;

/// A module without function pointers, and what was known of them.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) module: Module,
    /// The functions of sets, one entry for each set.
    pub(crate) callables: Vec<Callable>,
    /// Slots of functions that belong to a set, or that the module does not define.
    pub(crate) slots: Vec<VirtualSlot>,
    pub(crate) offsets: Vec<VirtualOffset>,
    /// Imported function → dispatcher.
    pub(crate) dispatchers: BTreeMap<u32, Dispatcher>,
    /// Constant → the code that it is.
    pub(crate) codes: BTreeMap<u32, u64>,
    /// Code of a vtable's first byte → the names of the functions in it.
    pub(crate) vtables: BTreeMap<u64, BTreeSet<String>>,
    /// Kernel → what it says that it calls.
    pub(crate) calls: BTreeMap<String, CallsMarker>,
}

/// Lowers the virtual functions of a unit, of which `module` is what is left so far; `None` where
/// it has none.
///
/// # Errors
/// [`ImageError::Diagnostic`] for function pointers that are not those of virtual calls, and
/// markers in wrong places.
pub(crate) fn lower(unit: &TranslationUnit, module: &Module, markers: &Markers) -> Result<Option<Lowered>> {
    if !has_virtual_functions(module, markers) {
        return Ok(None);
    }
    let unmarked = class_markers::remove(module)?;
    let module = unmarked.as_ref().map_or(module, |unmarked| &unmarked.module);
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let names = Names::new(&unit.name, module);
    let code_types = CodeTypes::new(module, &types);
    let vtables = Vtables::new(&definitions, &types, &names);
    let symbols = symbols(&definitions, &types, &names, &vtables);
    let sets = function_sets(module, &markers.indirectly_callable, &names, &vtables);
    let calls = kernels(module, markers, &names)?;
    check_pointers(&vtables, &sets, &names, module)?;
    check_sizes(&vtables, &names)?;
    let mut call_classes = call_classes(unit, module);
    call_classes.extend(unmarked.iter().flat_map(|unmarked| unmarked.classes.clone()));
    let old = Old {
        definitions: &definitions,
        types: &types,
        code_types: &code_types,
        names: &names,
        vtables: &vtables,
        symbols: &symbols,
        call_classes: &call_classes,
    };
    let mut rewrite = Rewrite::new(old, &definitions);
    rewrite.run()?;
    let all_sets: BTreeSet<&String> = sets.values().flatten().collect();
    let mut callables = Vec::new();
    for (&function, of_function) in &sets {
        for (index, set) in all_sets.iter().enumerate().filter(|(_, set)| of_function.contains(**set)) {
            callables.push(rewrite.wrapper(function, index, set)?);
        }
    }
    let Rewrite { edit, codes, dispatchers, .. } = rewrite;
    let rewritten = edit.finish()?;
    let lowered = Lowered {
        module: merge_types(rewritten.as_ref().unwrap_or(module))?,
        slots: slots(&vtables, &sets, &names, module),
        offsets: offsets(&vtables),
        vtables: functions_of_vtables(&vtables, &names),
        dispatchers: dispatchers.into_functions(),
        callables,
        codes,
        calls,
    };
    check_codes(&lowered.callables, &lowered.slots)?;
    Ok(Some(lowered))
}

fn has_virtual_functions(module: &Module, markers: &Markers) -> bool {
    !markers.indirectly_callable.is_empty()
        || !markers.calls_indirectly.is_empty()
        || module.instructions().any(|i| {
            matches!(i.op(), Some(Op::ConstantFunctionPointerINTEL | Op::FunctionPointerCallINTEL))
                || i.is(Op::Name) && i.string(1).is_some_and(|name| name.starts_with("_ZTV"))
        })
}

/// The markers of kernels. They sit on the function in the entry point's one, which has the
/// kernel's name.
fn kernels(module: &Module, markers: &Markers, names: &Names) -> Result<BTreeMap<String, CallsMarker>> {
    let kernels: BTreeSet<String> =
        module.instructions().filter_map(|i| kernel_entry(&i)).map(|entry| entry.name).collect();
    for &function in markers.indirectly_callable.keys() {
        if kernels.contains(names.plain(function)) {
            return Err(problem(names, function, "kernels are not INDIRECTLY_CALLABLE"));
        }
    }
    let mut calls = BTreeMap::new();
    for (&function, marker) in &markers.calls_indirectly {
        let name = names.plain(function);
        if !kernels.contains(name) {
            let what = "only kernels say CALLS_INDIRECTLY: those that call it, whatever is in between";
            return Err(problem(names, function, what));
        }
        calls.insert(name.to_owned(), marker.clone());
    }
    Ok(calls)
}

/// Checks that pointers to functions are those of virtual functions.
fn check_pointers(vtables: &Vtables, sets: &FunctionSets, names: &Names, module: &Module) -> Result<()> {
    let in_tables: BTreeSet<u32> =
        vtables.tables.iter().flat_map(|table| table.slots.values().map(|slot| slot.function)).collect();
    for function in vtables.function_pointers.values() {
        if !in_tables.contains(function) && !sets.contains_key(function) {
            let what = "its address is taken. Devices have no pointers to functions and to member functions; if it is \
                        virtual, mark it INDIRECTLY_CALLABLE";
            return Err(problem(names, *function, what));
        }
    }
    if vtables.construction_tables.is_empty() {
        return Ok(());
    }
    // Constructors of classes with virtual bases take such tables where they were not inlined.
    let definitions = Definitions::new(module);
    let references = oclave_spirv::analysis::references::References::new(&definitions);
    let tables: BTreeSet<u32> = vtables.construction_tables.iter().copied().collect();
    match references.users(&tables).first() {
        None => Ok(()),
        Some(&function) => {
            let what = "it constructs objects with virtual bases by a table of vtables; let the constructors be inlined \
                        (optimise, or mark them __attribute__((always_inline)))";
            Err(problem(names, function, what))
        }
    }
}

/// Checks that the offsets in a vtable fit in the 16 bits that codes have for them.
fn check_sizes(vtables: &Vtables, names: &Names) -> Result<()> {
    for table in &vtables.tables {
        let last = table.slots.last_key_value().filter(|(offset, _)| **offset >= LAST_OFFSET);
        if let Some((_, slot)) = last {
            let what = "its class has more than 8000 virtual functions, which have no codes";
            return Err(problem(names, slot.function, what));
        }
    }
    Ok(())
}

fn slots(vtables: &Vtables, sets: &FunctionSets, names: &Names, module: &Module) -> Vec<VirtualSlot> {
    let defined = functions_with_bodies(module);
    let mut slots = Vec::new();
    for table in &vtables.tables {
        for (&offset, slot) in &table.slots {
            let known = sets.contains_key(&slot.function) || !defined.contains(&slot.function);
            if known && !is_uncallable(names.plain(slot.function)) {
                slots.push(VirtualSlot {
                    code: table.base + offset,
                    function: names.unique(slot.function),
                    slot: slot.number,
                    classes: slot.classes.clone(),
                });
            }
        }
    }
    slots.sort_by_key(|slot| slot.code);
    slots
}

fn offsets(vtables: &Vtables) -> Vec<VirtualOffset> {
    let of_table = |table: &super::vtables::Vtable| {
        let base = table.base;
        let offsets =
            table.offsets.iter().map(move |(&offset, &value)| VirtualOffset { code: base + offset, value });
        offsets.collect::<Vec<_>>()
    };
    let mut offsets: Vec<VirtualOffset> = vtables.tables.iter().flat_map(of_table).collect();
    offsets.sort_by_key(|offset| offset.code);
    offsets
}

fn functions_of_vtables(vtables: &Vtables, names: &Names) -> BTreeMap<u64, BTreeSet<String>> {
    let functions = |table: &super::vtables::Vtable| {
        table.slots.values().map(|slot| names.unique(slot.function)).collect()
    };
    vtables.tables.iter().map(|table| (table.base, functions(table))).collect()
}

pub(super) fn functions_with_bodies(module: &Module) -> BTreeSet<u32> {
    let mut bodies = BTreeSet::new();
    let mut function = None;
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => function = instruction.result_id(),
            Some(Op::Label) => bodies.extend(function.take()),
            _ => {}
        }
    }
    bodies
}

/// Codes are hashes: two functions may have one, though that takes thousands of millions of them.
fn check_codes(callables: &[Callable], slots: &[VirtualSlot]) -> Result<()> {
    let functions = callables.iter().map(|callable| (callable.code, callable.name.as_str()));
    let slots = slots.iter().map(|slot| (slot.code, slot.function.as_str()));
    let mut known: BTreeMap<u64, &str> = BTreeMap::new();
    for (code, name) in functions.chain(slots) {
        if let Some(other) = known.insert(code, name).filter(|other| *other != name) {
            return Err(ImageError::Diagnostic(format!(
                "functions `{}` and `{}` have the same hash; rename one of them, or its class",
                readable(other),
                readable(name)
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_functions_of_one_hash_are_named() {
        let callable = |name: &str, code| Callable {
            name: name.to_owned(),
            code,
            set: "s".to_owned(),
            signature: "v_p8".parse().unwrap(),
            wrapper: 1,
            export: format!("__vfw_{name}"),
        };
        let slot = |name: &str, code| VirtualSlot {
            code,
            function: name.to_owned(),
            slot: Some(0),
            classes: Vec::new(),
        };
        // A function in two sets and two vtables is one function.
        let same = [callable("_ZN1a1fEv", 0x1ffff), callable("_ZN1a1fEv", 0x1ffff)];
        check_codes(&same, &[slot("_ZN1a1fEv", 0x20010), slot("_ZN1a1fEv", 0x30010)]).unwrap();
        for (callables, slots) in [
            (vec![callable("_ZN1a1fEv", 0x1ffff), callable("_ZN1b1gEv", 0x1ffff)], vec![]),
            (vec![], vec![slot("_ZN1a1fEv", 0x20010), slot("_ZN1b1gEv", 0x20010)]),
        ] {
            let error = check_codes(&callables, &slots).unwrap_err().to_string();
            assert!(error.contains("`a::f`") && error.contains("`b::g`"), "{error}");
            assert!(error.contains("same hash; rename one of them"), "{error}");
        }
    }
}
