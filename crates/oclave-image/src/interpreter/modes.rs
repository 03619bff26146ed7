//! Execution modes of kernels: which ones an interpreter module can honour.

use std::collections::BTreeMap;

use oclave_spirv::{ExecutionMode, Module, Op};

/// How a kernel rounds and what it does with denormals: its execution modes with their operands,
/// sorted.
pub(super) type FloatModes = Vec<Vec<u32>>;

/// Function → floating-point modes, and why it cannot be interpreted.
pub(super) fn of_functions(module: &Module) -> BTreeMap<u32, (FloatModes, Option<String>)> {
    let mut functions: BTreeMap<u32, (FloatModes, Option<String>)> = BTreeMap::new();
    for instruction in module.global_instructions() {
        let (Some(Op::ExecutionMode | Op::ExecutionModeId), &[function, ref mode @ ..]) =
            (instruction.op(), instruction.operands())
        else {
            continue;
        };
        let (modes, refusal) = functions.entry(function).or_default();
        let number = mode.first().copied().unwrap_or(u32::MAX);
        match kind(number) {
            Kind::Irrelevant => {}
            Kind::Float if instruction.is(Op::ExecutionMode) => modes.push(mode.to_vec()),
            Kind::Float | Kind::Refused => {
                let name = ExecutionMode::from_u32(number)
                    .map_or_else(|| number.to_string(), |mode| format!("{mode:?}"));
                refusal.get_or_insert(format!("it has the execution mode {name}"));
            }
        }
    }
    functions.values_mut().for_each(|(modes, _)| modes.sort());
    functions
}

/// Whether a kernel of the module must not fuse multiplications and additions.
///
/// If one must not, no kernel of the interpreter module may. `llvm-spirv` writes this mode only for
/// kernels that have such pairs, and readers of SPIR-V apply it to the whole module. A kernel
/// without the mode may be left unfused.
pub(super) fn contraction_off(module: &Module) -> bool {
    let before = module.global_instructions();
    before
        .filter(|i| i.is(Op::ExecutionMode))
        .any(|i| i.operand(1) == Some(ExecutionMode::ContractionOff as u32))
}

enum Kind {
    /// The index space comes from the task, hints are hints, and for the rest see
    /// [`contraction_off`].
    Irrelevant,
    Float,
    Refused,
}

fn kind(number: u32) -> Kind {
    use ExecutionMode as M;
    match ExecutionMode::from_u32(number) {
        Some(
            M::LocalSize
            | M::LocalSizeId
            | M::LocalSizeHint
            | M::LocalSizeHintId
            | M::VecTypeHint
            | M::ContractionOff,
        ) => Kind::Irrelevant,
        Some(
            M::DenormPreserve
            | M::DenormFlushToZero
            | M::SignedZeroInfNanPreserve
            | M::RoundingModeRTE
            | M::RoundingModeRTZ
            | M::RoundingModeRTPINTEL
            | M::RoundingModeRTNINTEL
            | M::FloatingPointModeALTINTEL
            | M::FloatingPointModeIEEEINTEL,
        ) => Kind::Float,
        _ => Kind::Refused,
    }
}

/// The modes that most of `all` have; of several, the first.
pub(super) fn most_common<'a>(all: impl Iterator<Item = &'a FloatModes>) -> FloatModes {
    let mut counts: Vec<(&FloatModes, usize)> = Vec::new();
    for modes in all {
        match counts.iter_mut().find(|(of, _)| *of == modes) {
            Some((_, count)) => *count += 1,
            None => counts.push((modes, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max();
    counts
        .iter()
        .find(|(_, count)| Some(*count) == most)
        .map(|(modes, _)| (*modes).clone())
        .unwrap_or_default()
}
