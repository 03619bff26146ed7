//! Drops what devices do not take and do not need: annotations and their strings, debug information, hints of
//! extensions.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::Result;
use crate::transform::hints::{
    EXPECT_ASSUME, FAST_MATH_INTEL, FPGA_LOOP_CONTROLS, HINTS, Hint, LOOP_CONTROL_CORE, LOOP_CONTROLS,
    MEMORY_ALIASING, OPT_NONE, trim_loop_control,
};
use crate::transform::{block_layout, decoration_groups};
use crate::{Decoration, Definitions, Editor, Instruction, Module, Op, Role, StorageClass, is_decoration};

/// The decoration by which `annotate` attributes arrive.
pub const USER_SEMANTIC: u32 = 5635;

const OP_ASSUME_TRUE: u32 = 5630;
const OP_EXPECT: u32 = 5631;
const OP_LOOP_CONTROL: u32 = 5887;
/// `OpAliasDomainDeclINTEL`, `OpAliasScopeDeclINTEL`, `OpAliasScopeListDeclINTEL`.
const OP_ALIAS: std::ops::RangeInclusive<u32> = 5911..=5913;
const ALIGNED_BIT: u32 = 2;
const ALIAS_SCOPE_BIT: u32 = 0x10000;
const NO_ALIAS_BIT: u32 = 0x20000;
const OPT_NONE_BIT: u32 = 0x10000;

/// Whether an `OpSource` names a language that drivers for kernels know: none, OpenCL C, OpenCL
/// C++, C++ for OpenCL. Intel's runtime dies of the others.
pub fn is_kernel_language(language: u32) -> bool {
    matches!(language, 0 | 3 | 4 | 6)
}

/// Drops annotations, debug information (see [`debug_information`]), and all hints of capabilities of which `takes` says no.
///
/// It always drops `UserSemantic` decorations. It drops unused module-scope variables of storage class
/// Function, too. `llvm-spirv` leaves the strings of annotations in such variables, and drivers crash on
/// them. It also drops `OpSource` of languages that drivers do not know, attributes of pointers on
/// images and the like, and repeated decorations, which drivers refuse. Variables and merge
/// instructions end up where SPIR-V wants them in blocks, sections in order, types and constants behind those that they use. Groups of
/// decorations become decorations.
///
/// A capability that is not taken goes with its extension, decorations, execution modes, mask bits
/// and instructions. A capability that means more than a hint is never touched.
///
/// # Errors
/// As [`Editor::finish`].
pub fn strip(module: &Module, takes: impl Fn(u32) -> bool) -> Result<Module> {
    let ungrouped = decoration_groups::resolve(module)?;
    let module = ungrouped.as_ref().unwrap_or(module);
    let definitions = Definitions::new(module);
    let untaken: Vec<&Hint> = HINTS.iter().filter(|hint| !takes(hint.capability)).collect();
    let plan = Plan {
        decorations: untaken.iter().flat_map(|h| h.decorations.iter().cloned().flatten()).collect(),
        modes: untaken.iter().flat_map(|h| h.modes.iter().copied()).collect(),
        capabilities: untaken.iter().map(|h| h.capability).collect(),
        extensions: untaken
            .iter()
            .map(|h| h.extension)
            // One extension may bring several capabilities.
            .filter(|e| !HINTS.iter().any(|h| h.extension == *e && takes(h.capability)))
            .collect(),
        leftovers: leftovers(&definitions),
        descriptions: Descriptions::of(module),
    };
    let mut edit = Editor::new(&definitions);
    // A changed module has all in order.
    if definitions.are_unsorted() {
        edit.sort_types();
    }
    if plan.lacks(EXPECT_ASSUME) {
        expectations(module).into_iter().for_each(|(result, value)| edit.replace_uses(result, value));
    }
    let mut in_function = false;
    let mut decorations = HashSet::new();
    for instruction in module.instructions() {
        in_function |= instruction.is(Op::Function);
        let mut is_repetition = || {
            instruction.op().is_some_and(is_decoration)
                && !decorations.insert((instruction.opcode, instruction.operands()))
        };
        if in_function {
            plan.in_function(&mut edit, &instruction);
        } else if is_repetition()
            // LLVM had a pointer there.
            || is_attribute_of_object(&definitions, &instruction)
            || !plan.keeps(&instruction)
        {
            edit.remove(&instruction);
        } else if let Some(operands) = fast_math(&instruction).filter(|_| plan.lacks(FAST_MATH_INTEL)) {
            edit.replace(&instruction, Op::Decorate, &operands);
        }
        in_function &= !instruction.is(Op::FunctionEnd);
    }
    let stripped = edit.finish()?;
    let sorted = block_layout::sort(stripped.as_ref().unwrap_or(module))?;
    Ok(sorted.or(stripped).unwrap_or_else(|| module.clone()))
}

/// Drops debug information: the instructions of `OpenCL.DebugInfo.100` and the like, and those that are not semantic. Lines and names stay.
/// `None` where there is none.
///
/// Most drivers take none of these sets. llvm-spirv writes their instructions between phis and variables, and which of their words are ids
/// is not known. So passes and the linker would have to look out for them.
///
/// # Errors
/// As [`Editor::finish`].
pub fn debug_information(module: &Module) -> Result<Option<Module>> {
    let descriptions = Descriptions::of(module);
    let mut gone = module.instructions().filter(|i| descriptions.has(i)).peekable();
    if gone.peek().is_none() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    gone.for_each(|i| edit.remove(&i));
    edit.finish()
}

/// The instruction sets of a module that only describe its source.
struct Descriptions(HashSet<u32>);

impl Descriptions {
    fn of(module: &Module) -> Self {
        let before_code = module.global_instructions();
        Self(before_code.filter(imports_description).filter_map(|i| i.result_id()).collect())
    }

    /// Whether an instruction is of such a set, or declares one.
    fn has(&self, instruction: &Instruction<'_>) -> bool {
        match instruction.op() {
            Some(Op::ExtInst) => instruction.operand(0).is_some_and(|set| self.0.contains(&set)),
            Some(Op::Extension) => instruction.string_is(0, "SPV_KHR_non_semantic_info"),
            _ => imports_description(instruction),
        }
    }
}

/// Whether the instruction imports a set that only describes the source: debug information, or what is not semantic.
fn imports_description(instruction: &Instruction<'_>) -> bool {
    let is_description = |name: Cow<'_, str>| name.contains("DebugInfo") || name.starts_with("NonSemantic.");
    instruction.is(Op::ExtInstImport) && instruction.string(0).is_some_and(is_description)
}

/// Whether an attribute of pointers (`NoCapture` …) is on a parameter that is an image, a sampler or
/// the like. Translators from typed pointers leave it there.
fn is_attribute_of_object(definitions: &Definitions<'_>, instruction: &Instruction<'_>) -> bool {
    let &[parameter, decoration, _] = instruction.operands() else { return false };
    let ty = || definitions.instruction(definitions.type_of(parameter)?)?.op();
    instruction.is(Op::Decorate)
        && decoration == Decoration::FuncParamAttr as u32
        && matches!(
            ty(),
            Some(
                Op::TypeImage
                    | Op::TypeSampler
                    | Op::TypeSampledImage
                    | Op::TypePipe
                    | Op::TypeEvent
                    | Op::TypeDeviceEvent
                    | Op::TypeReserveId
                    | Op::TypeQueue
            )
        )
}

/// Everything that goes.
struct Plan {
    decorations: HashSet<u32>,
    modes: HashSet<u32>,
    capabilities: HashSet<u32>,
    extensions: HashSet<&'static str>,
    leftovers: HashSet<u32>,
    descriptions: Descriptions,
}

impl Plan {
    fn lacks(&self, capability: u32) -> bool {
        self.capabilities.contains(&capability)
    }

    /// Whether an instruction outside of functions stays.
    fn keeps(&self, instruction: &Instruction<'_>) -> bool {
        let Some(op) = instruction.op() else { return true };
        let operand = |i| instruction.operand(i);
        let goes = |decoration: Option<u32>| {
            decoration.is_some_and(|d| d == USER_SEMANTIC || self.decorations.contains(&d))
        };
        match op {
            Op::Capability => !operand(0).is_some_and(|c| self.capabilities.contains(&c)),
            Op::Source => operand(0).is_some_and(is_kernel_language),
            Op::Extension if self.extensions.iter().any(|e| instruction.string_is(0, e)) => false,
            Op::Decorate | Op::DecorateId | Op::DecorateString => !goes(operand(1)),
            Op::MemberDecorate | Op::MemberDecorateString => !goes(operand(2)),
            Op::ExecutionMode | Op::ExecutionModeId => !operand(1).is_some_and(|m| self.modes.contains(&m)),
            Op::Variable => !instruction.result_id().is_some_and(|id| self.leftovers.contains(&id)),
            _ if self.lacks(MEMORY_ALIASING) && OP_ALIAS.contains(&u32::from(instruction.opcode)) => false,
            _ => !self.descriptions.has(instruction),
        }
    }

    fn in_function(&self, edit: &mut Editor<'_>, instruction: &Instruction<'_>) {
        let opcode = u32::from(instruction.opcode);
        let is_dropped = match opcode {
            OP_ASSUME_TRUE | OP_EXPECT => self.lacks(EXPECT_ASSUME),
            OP_LOOP_CONTROL => self.lacks(LOOP_CONTROLS),
            _ if OP_ALIAS.contains(&opcode) => self.lacks(MEMORY_ALIASING),
            _ => self.descriptions.has(instruction),
        };
        if is_dropped {
            edit.remove(instruction);
        } else if let Some((op, mut operands)) =
            self.unhinted(instruction).or_else(|| with_alignment(instruction))
        {
            // Pointers and values may be expectations, which went.
            let ids = match op {
                Op::Load => 2..3,
                Op::Store => 0..2,
                _ => 0..0,
            };
            operands.get_mut(ids).into_iter().flatten().for_each(|id| *id = edit.replaced(*id));
            edit.replace(instruction, op, &operands);
        }
    }

    /// The instruction without the mask bits of what is not taken, where it has such.
    fn unhinted(&self, instruction: &Instruction<'_>) -> Option<(Op, Vec<u32>)> {
        let op = instruction.op()?;
        let all = instruction.words.get(1..)?;
        let memory = ALIAS_SCOPE_BIT | NO_ALIAS_BIT;
        match (op, all) {
            (Op::Function, &[ty, id, control, of]) if self.lacks(OPT_NONE) && control & OPT_NONE_BIT != 0 => {
                Some((op, vec![ty, id, control & !OPT_NONE_BIT, of]))
            }
            (Op::LoopMerge, [merge, next, control @ ..])
                if self.lacks(FPGA_LOOP_CONTROLS)
                    && control.first().is_some_and(|c| c & !LOOP_CONTROL_CORE != 0) =>
            {
                Some((
                    op,
                    [&[*merge, *next], trim_loop_control(control, LOOP_CONTROL_CORE).as_slice()].concat(),
                ))
            }
            (Op::Load, [head @ .., _]) | (Op::Store, [head @ .., _]) if self.lacks(MEMORY_ALIASING) => {
                let fixed = if op == Op::Load { 3 } else { 2 };
                let (&mask, _) = all.get(fixed..)?.split_first()?;
                if mask & memory == 0 {
                    return None;
                }
                // The ids of these two bits are the last operands, one each.
                let gone = (mask & memory).count_ones() as usize;
                let mut operands = all.get(..(head.len() + 1).checked_sub(gone)?)?.to_vec();
                *operands.get_mut(fixed)? = mask & !memory;
                Some((op, operands))
            }
            _ => None,
        }
    }
}

/// The operands of an access that is aligned to zero bytes, with an alignment of one. LLVM aligns an
/// access by way of a null pointer to 2³² bytes, and translators cut that to 32 bits.
fn with_alignment(instruction: &Instruction<'_>) -> Option<(Op, Vec<u32>)> {
    let op = instruction.op()?;
    let mask = match op {
        Op::Load => 3,
        Op::Store => 2,
        _ => return None,
    };
    let all = instruction.words.get(1..)?;
    let &[bits, 0, ..] = all.get(mask..)? else { return None };
    (bits & ALIGNED_BIT != 0).then(|| {
        let mut operands = all.to_vec();
        operands.splice(mask + 1..mask + 2, [1]);
        (op, operands)
    })
}

/// Module-scope variables of storage class Function that nothing refers to but names, decorations
/// and interfaces.
fn leftovers(definitions: &Definitions<'_>) -> HashSet<u32> {
    let module = definitions.module();
    let mut variables: HashSet<u32> = module
        .global_instructions()
        .filter(|i| i.is(Op::Variable) && i.operand(0) == Some(StorageClass::Function as u32))
        .filter_map(|i| i.result_id())
        .collect();
    for instruction in module.instructions() {
        if variables.is_empty() {
            break;
        }
        if matches!(instruction.op(), Some(Op::Name | Op::Decorate | Op::DecorateId | Op::EntryPoint)) {
            continue;
        }
        instruction.visit_ids(definitions, |index, role| {
            if matches!(role, Role::Id | Role::MaybeId) {
                instruction.word(index).map(|id| variables.remove(&id));
            }
        });
    }
    variables
}

/// The results of `OpExpectKHR`, each with the value that is expected to be something.
fn expectations(module: &Module) -> HashMap<u32, u32> {
    let found: HashMap<u32, u32> = module
        .instructions()
        .filter(|i| u32::from(i.opcode) == OP_EXPECT)
        .filter_map(|i| Some((i.result_id()?, i.operand(0)?)))
        .collect();
    // Expectations of expectations: as many steps as there are, so that a cycle ends.
    let value = |id: u32| {
        std::iter::successors(Some(id), |id| found.get(id).copied())
            .take(found.len() + 1)
            .last()
            .unwrap_or(id)
    };
    found.keys().map(|id| (*id, value(*id))).collect()
}

/// The operands of an `FPFastMathMode` decoration without the bits of
/// `SPV_INTEL_fp_fast_math_mode`, where it has some.
fn fast_math(instruction: &Instruction<'_>) -> Option<[u32; 3]> {
    let &[id, decoration, mode] = instruction.operands() else { return None };
    let core = 0x1f;
    (instruction.is(Op::Decorate) && decoration == Decoration::FPFastMathMode as u32 && mode & !core != 0)
        .then_some([id, decoration, mode & core])
}
