//! Limits what drivers inline where virtual calls nest.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use oclave_spirv::analysis::references::kernel_entry;
use oclave_spirv::transform::function_controls;
use oclave_spirv::{Definitions, FunctionControl, Module, Op};

/// The most instructions of a function that is inlined. Those of the functions that it inlines itself count, too.
///
/// If each class makes two calls, each level has many times the code of the next. For four levels of seven classes, a driver's compiler took 27 s.
/// With this limit it takes 0.5 s. With a limit of 1000, chains of calls took more than ten times as long at run time.
const MOST: usize = 2000;

/// The module in which functions with more instructions, after inlining, are not inlined themselves; `None` if there are none.
///
/// # Errors
/// As [`function_controls::change`].
pub(super) fn limit(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let kernels: BTreeSet<u32> =
        module.instructions().filter_map(|i| kernel_entry(&i)).map(|entry| entry.function).collect();
    let large = large_functions(&definitions);
    let is_wanted = |id: u32| large.contains(&id) && !kernels.contains(&id);
    let kept = |control: u32| control & !FunctionControl::INLINE.bits() | FunctionControl::DONT_INLINE.bits();
    Ok(function_controls::change(&definitions, is_wanted, kept)?)
}

/// The functions with more than [`MOST`] instructions. Calls of other functions count as the code of these.
fn large_functions(definitions: &Definitions<'_>) -> BTreeSet<u32> {
    let functions =
        || definitions.module().instructions().filter(|i| i.is(Op::Function)).filter_map(|i| i.result_id());
    let mut sizes: BTreeMap<u32, usize> =
        functions().map(|function| (function, definitions.body(function).count())).collect();
    let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    // The calls of each function whose callees have no final size yet. Those of a recursive function never have one.
    let mut open: BTreeMap<u32, usize> = BTreeMap::new();
    for function in functions() {
        let calls = definitions.body(function).filter(|i| i.is(Op::FunctionCall));
        for callee in calls.filter_map(|i| i.operand(0)).filter(|callee| sizes.contains_key(callee)) {
            callers.entry(callee).or_default().push(function);
            *open.entry(function).or_default() += 1;
        }
    }
    let mut done: Vec<u32> = functions().filter(|function| !open.contains_key(function)).collect();
    let mut large = BTreeSet::new();
    while let Some(callee) = done.pop() {
        let size = sizes.get(&callee).copied().unwrap_or_default();
        if size > MOST {
            large.insert(callee);
        }
        for caller in callers.get(&callee).into_iter().flatten() {
            if let Some(of_caller) = sizes.get_mut(caller).filter(|_| size <= MOST) {
                *of_caller = of_caller.saturating_add(size);
            }
            if let Some(left) = open.get_mut(caller) {
                *left -= 1;
                if *left == 0 {
                    done.push(*caller);
                }
            }
        }
    }
    large
}

#[cfg(test)]
mod tests {
    use super::*;
    use oclave_spirv::{Code, ExecutionModel, Version, string_words};

    const VOID: u32 = 1;
    const OF_FUNCTION: u32 = 2;
    const LARGE: u32 = 10;
    const SMALL: u32 = 11;
    const CALLER: u32 = 12;
    const KERNEL: u32 = 13;
    const RECURSIVE: u32 = 14;

    #[test]
    fn large_functions_keep_their_calls() {
        let mut code = Code::new();
        let name = [&[ExecutionModel::Kernel as u32, KERNEL], &*string_words("k")].concat();
        code.push(Op::EntryPoint, &name);
        code.push(Op::TypeVoid, &[VOID]);
        code.push(Op::TypeFunction, &[OF_FUNCTION, VOID]);
        let mut next = 20;
        let mut function = |id: u32, calls: &[u32], more: usize| {
            code.push(Op::Function, &[VOID, id, FunctionControl::INLINE.bits(), OF_FUNCTION]);
            code.push(Op::Label, &[next]);
            for callee in calls {
                next += 1;
                code.push(Op::FunctionCall, &[VOID, next, *callee]);
            }
            (0..more).for_each(|_| code.push(Op::Nop, &[]));
            code.push(Op::Return, &[]);
            code.push(Op::FunctionEnd, &[]);
            next += 1;
        };
        function(SMALL, &[], MOST / 2);
        // Two of its calls are too much, and one is not.
        function(LARGE, &[SMALL, SMALL], 0);
        function(CALLER, &[LARGE, SMALL], 0);
        function(RECURSIVE, &[RECURSIVE], MOST);
        function(KERNEL, &[LARGE, CALLER, CALLER, RECURSIVE], 0);
        let words = [&[0x0723_0203, Version::V1_2.word(), 0, 100, 0], code.words()].concat();
        let module = Module::from_words(words).unwrap();
        let kept = |module: &Module| -> Vec<u32> {
            let functions = module.instructions().filter(|i| i.is(Op::Function));
            let kept = functions.filter(|i| i.operand(0) == Some(FunctionControl::DONT_INLINE.bits()));
            kept.filter_map(|i| i.result_id()).collect()
        };
        let limited = limit(&module).unwrap().unwrap();
        assert_eq!(kept(&limited), [LARGE]);
        assert_eq!(kept(&limit(&limited).unwrap().unwrap_or(limited.clone())), [LARGE]);
    }
}
