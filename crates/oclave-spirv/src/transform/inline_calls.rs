//! Calls that become part of the function that makes them, for assemblers that inline nothing.
//!
//! NVIDIA's assembler keeps each call. On an H100 a call costs as much as ten to fifty
//! instructions. A call also prevents other improvements. Values that are the same in each round of
//! a loop are computed again. A private variable whose address is passed stays in memory. Each
//! virtual call is three calls.

use std::collections::{BTreeMap, BTreeSet};

use super::inline::{Bodies, Wanted, bodies, inline, words};
use crate::Result;
use crate::{Definitions, FunctionControl, Instruction, Module, Op, Type, TypeTable};

/// Functions of so many words are inlined wherever they are called.
const SMALL_WORDS: usize = 1 << 10;
/// Functions of so many words are inlined if there is one call of them.
const ONCE_WORDS: usize = 1 << 14;
/// Private variables of each copy take memory of their own: functions with more bytes are inlined only
/// if there is one call.
const MOST_PRIVATE_BYTES: u64 = 256;
/// A module may grow to so many times its words, and by so many words in any case.
const GROWTH: (usize, usize) = (3, 1 << 16);

/// The module with what its kernels call inlined, where that is small or called once. The functions
/// stay, without calls from kernels.
///
/// Functions with images or samplers as parameters are inlined whatever their size: only kernels can
/// name images in PTX.
///
/// These stay calls: functions that call themselves, those marked so (`DontInline`), and the
/// function of a kernel that does nothing but call it.
///
/// # Errors
/// As [`Editor::finish`](crate::Editor::finish).
pub fn inline_calls(module: Module) -> Result<Module> {
    let most = module.words().len().saturating_mul(GROWTH.0).max(module.words().len() + GROWTH.1);
    inline(module, BTreeSet::new(), |module| wanted(module, most.saturating_sub(module.words().len())))
}

/// Which functions each function takes in now: those that call no other of them, as long as the
/// module grows by `budget` words at most.
fn wanted(module: &Module, budget: usize) -> Wanted {
    let bodies = bodies(module);
    let kernels = || module.instructions().filter(|i| i.is(Op::EntryPoint)).filter_map(|i| i.operand(1));
    let mut calls: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut sites: BTreeMap<u32, usize> = BTreeMap::new();
    let mut open: Vec<u32> = kernels().collect();
    while let Some(caller) = open.pop() {
        if calls.contains_key(&caller) {
            continue;
        }
        let body = bodies.get(&caller).map(Vec::as_slice).unwrap_or_default();
        let callees = body.iter().filter(|i| i.is(Op::FunctionCall)).filter_map(|i| i.operand(0));
        for callee in callees.clone() {
            *sites.entry(callee).or_default() += 1;
            open.push(callee);
        }
        calls.insert(caller, callees.collect());
    }
    if sites.is_empty() {
        return Wanted::default();
    }
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let stay: BTreeSet<u32> =
        kernels().chain(kernels().filter_map(|kernel| only_call(&bodies, kernel))).collect();
    let must_go = |id: &u32| bodies.get(id).is_some_and(|body| has_images(&types, body));
    let may_go = |id: u32, sites: usize| {
        let Some(body) = bodies.get(&id).filter(|_| !stay.contains(&id)) else { return false };
        if must_go(&id) {
            return true;
        }
        let control = body.first().and_then(|function| function.operand(0)).unwrap_or(0);
        let is_small = || words(body) <= SMALL_WORDS && private_bytes(&types, body) <= MOST_PRIVATE_BYTES;
        control & FunctionControl::DONT_INLINE.bits() == 0
            && (sites == 1 && words(body) <= ONCE_WORDS || is_small())
    };
    let all: BTreeMap<u32, usize> = sites.into_iter().filter(|(id, sites)| may_go(*id, *sites)).collect();
    let calls_none =
        |id: &u32| calls.get(id).is_none_or(|callees| callees.iter().all(|callee| !all.contains_key(callee)));
    let mut leaves: Vec<(usize, u32)> = all
        .iter()
        .filter(|(id, _)| calls_none(id))
        .map(|(id, sites)| (bodies.get(id).map_or(0, |body| words(body)).saturating_mul(*sites), *id))
        .collect();
    leaves.sort_unstable();
    let mut left = budget;
    let callees = leaves
        .into_iter()
        .filter(|(growth, id)| {
            let fits = *growth <= left;
            left = left.saturating_sub(*growth);
            fits || must_go(id)
        })
        .map(|(_, id)| id)
        .collect();
    Wanted { callers: calls.into_keys().collect(), callees }
}

/// The function that a kernel calls, where it does nothing else.
fn only_call(bodies: &Bodies<'_>, kernel: u32) -> Option<u32> {
    let mut does = bodies.get(&kernel)?.iter().skip_while(|i| !i.is(Op::Label)).skip(1);
    let call = does.next().filter(|i| i.is(Op::FunctionCall))?;
    does.next().filter(|i| i.is(Op::Return))?;
    call.operand(0)
}

/// Whether a parameter of the function is an image or a sampler.
fn has_images(types: &TypeTable<'_>, body: &[Instruction<'_>]) -> bool {
    let parameters = body.iter().skip(1).take_while(|i| i.is(Op::FunctionParameter));
    parameters
        .filter_map(|parameter| types.ty(parameter.result_type()?))
        .any(|ty| matches!(ty, Type::Image | Type::Sampler | Type::SampledImage))
}

/// Bytes of a function's private variables.
fn private_bytes(types: &TypeTable<'_>, body: &[Instruction<'_>]) -> u64 {
    let bytes = |variable: &Instruction<'_>| match types.ty(variable.result_type()?) {
        Some(Type::Pointer { pointee, .. }) => types.size_bytes(pointee),
        _ => None,
    };
    let variables = body.iter().filter(|i| i.is(Op::Variable));
    variables.map(|variable| bytes(variable).unwrap_or(u64::MAX)).fold(0, u64::saturating_add)
}
