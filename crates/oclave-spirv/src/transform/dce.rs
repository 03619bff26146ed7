//! Dead-code elimination: what is not reachable from the roots goes, with its names, decorations
//! and capabilities.

use std::collections::HashMap;

use crate::Result;
use crate::transform::capabilities;
use crate::{
    Decoration, Definitions, IdMap, Instruction, LinkageType, Module, Op, Rewriter, Role, is_decoration,
};

/// Something that may be needed from outside of the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root<'a> {
    /// An entry point, by its name.
    EntryPoint(&'a str),
    /// A function or variable with linkage `Export`, by its linkage name.
    Export(&'a str),
}

/// Drops everything that no root needs of which `keep` says true.
///
/// An entry point that is not kept loses its `OpEntryPoint` and execution modes; an export that is
/// not kept but used stays, linkage included. Module-scope `OpLine`s go. Words of unknown
/// instructions count as uses of the ids that they would name. Capabilities that nothing needs any
/// more go too, as far as [`capabilities::prune`] knows.
///
/// # Errors
/// As [`Rewriter::finish`].
pub fn eliminate(module: &Module, mut keep: impl FnMut(Root<'_>) -> bool) -> Result<Module> {
    let definitions = Definitions::new(module);
    let mut live = Live::new(&definitions);
    let mut kept_entries = Vec::new();
    for instruction in before_functions(module) {
        match instruction.op() {
            Some(Op::EntryPoint) => {
                let (Some(name), Some(function)) = (instruction.string(2), instruction.operand(1)) else {
                    continue;
                };
                if keep(Root::EntryPoint(&name)) {
                    kept_entries.push(instruction.at);
                    live.mark(function);
                }
            }
            Some(Op::Decorate) => {
                if let Some((id, name)) = export(&instruction)
                    && keep(Root::Export(&name))
                {
                    live.mark(id);
                }
            }
            // These stay whatever happens, so their operands do.
            Some(Op::Source) | None => live.mark_operands(&instruction),
            _ => {}
        }
    }
    live.run();
    // The function of a kept entry point lives; the operands of its execution modes must, too.
    let entry_functions: std::collections::HashSet<u32> =
        kept_entries.iter().filter_map(|&at| module.instruction_at(at)?.operand(1)).collect();
    for instruction in before_functions(module).filter(|i| i.is(Op::ExecutionModeId)) {
        if instruction.operand(0).is_some_and(|f| entry_functions.contains(&f)) {
            live.mark_operands(&instruction);
        }
    }
    live.run();

    let mut new = Rewriter::new(&definitions);
    // Whether the function that the walk is in lives.
    let mut function: Option<bool> = None;
    let mut continues = false;
    for instruction in module.instructions() {
        let first_operand_live = || instruction.operand(0).is_some_and(|id| live.contains(id));
        let result_live = || instruction.result_id().is_some_and(|id| live.contains(id));
        if instruction.is(Op::Function) {
            function = Some(result_live());
        }
        let stays = match instruction.op() {
            _ if function.is_some() => function == Some(true),
            None => true,
            Some(Op::EntryPoint) => {
                if kept_entries.contains(&instruction.at) {
                    new.copy_unless_gone(&instruction, |id| !live.contains(id));
                }
                false
            }
            Some(Op::ExecutionMode | Op::ExecutionModeId) => {
                instruction.operand(0).is_some_and(|f| entry_functions.contains(&f))
            }
            Some(Op::GroupDecorate | Op::GroupMemberDecorate) => {
                group(&mut new, &instruction, &live);
                false
            }
            Some(Op::Name | Op::MemberName | Op::TypeForwardPointer) => first_operand_live(),
            Some(op) if is_decoration(op) => first_operand_live(),
            Some(op) if is_continuation(op) => continues,
            Some(Op::Line | Op::NoLine) => false,
            Some(Op::ExtInstImport) => true,
            Some(_) => match instruction.result_id() {
                Some(_) => result_live(),
                None => stands_alone(&instruction),
            },
        };
        if instruction.is(Op::FunctionEnd) {
            function = None;
        }
        continues = stays;
        if stays {
            new.copy(&instruction);
        }
    }
    capabilities::prune(&new.finish()?)
}

/// The ids that are needed.
struct Live<'d, 'm> {
    definitions: &'d Definitions<'m>,
    first_function: usize,
    live: IdMap<bool>,
    work: Vec<u32>,
    /// Ids that a decorated id needs: operands of `OpDecorateId`, decoration groups.
    attached: HashMap<u32, Vec<u32>>,
}

impl<'d, 'm> Live<'d, 'm> {
    fn new(definitions: &'d Definitions<'m>) -> Self {
        let module = definitions.module();
        let mut attached: HashMap<u32, Vec<u32>> = HashMap::new();
        for instruction in before_functions(module) {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::DecorateId), &[target, _, ref ids @ ..]) => {
                    attached.entry(target).or_default().extend(ids);
                }
                (Some(Op::GroupDecorate), &[group, ref targets @ ..]) => {
                    targets.iter().for_each(|&target| attached.entry(target).or_default().push(group));
                }
                (Some(Op::GroupMemberDecorate), &[group, ref targets @ ..]) => {
                    for target in targets.iter().step_by(2) {
                        attached.entry(*target).or_default().push(group);
                    }
                }
                _ => {}
            }
        }
        let first_function = module.instructions().find(|i| i.is(Op::Function)).map_or(usize::MAX, |f| f.at);
        Self { definitions, first_function, live: IdMap::new(module, false), work: Vec::new(), attached }
    }

    fn contains(&self, id: u32) -> bool {
        self.live.value(id)
    }

    /// Marks a function, or what is defined outside of functions. The rest lives and dies with its
    /// function.
    fn mark(&mut self, id: u32) {
        let Some(at) = self.definitions.word_index(id) else { return };
        let is_local = at > self.first_function
            && !self.definitions.instruction(id).is_some_and(|definition| definition.is(Op::Function));
        if !is_local && !self.live.insert(id, true) {
            self.work.push(id);
        }
    }

    fn mark_operands(&mut self, instruction: &Instruction<'_>) {
        let definitions = self.definitions;
        instruction.visit_ids(definitions, |index, role| match (role, instruction.word(index)) {
            (Role::Result, Some(id)) => {
                self.live.insert(id, true);
            }
            (_, Some(id)) => self.mark(id),
            _ => {}
        });
    }

    /// Marks all that the marked ids need.
    fn run(&mut self) {
        let module = self.definitions.module();
        while let Some(id) = self.work.pop() {
            if !self.attached.is_empty()
                && let Some(ids) = self.attached.remove(&id)
            {
                ids.into_iter().for_each(|id| self.mark(id));
            }
            let Some(at) = self.definitions.word_index(id) else { continue };
            let mut instructions = module.instructions_from(at);
            let Some(first) = instructions.next() else { continue };
            self.mark_operands(&first);
            // A function needs all of its body, other ids their own instruction and its
            // continuations.
            let function = first.is(Op::Function);
            for instruction in instructions {
                let belongs = if function {
                    !instruction.is(Op::Function)
                } else {
                    instruction.op().is_some_and(is_continuation)
                };
                if !belongs {
                    break;
                }
                self.mark_operands(&instruction);
                if instruction.is(Op::FunctionEnd) {
                    break;
                }
            }
        }
    }
}

/// Words of the instruction before, continued.
pub fn is_continuation(op: Op) -> bool {
    matches!(
        op,
        Op::TypeStructContinuedINTEL
            | Op::ConstantCompositeContinuedINTEL
            | Op::SpecConstantCompositeContinuedINTEL
            | Op::CompositeConstructContinuedINTEL
            | Op::SourceContinued
    )
}

/// Whether an instruction without result is for the module as a whole.
fn stands_alone(instruction: &Instruction<'_>) -> bool {
    matches!(
        instruction.op(),
        Some(
            Op::Capability
                | Op::Extension
                | Op::MemoryModel
                | Op::Source
                | Op::SourceExtension
                | Op::ModuleProcessed
        )
    )
}

fn before_functions(module: &Module) -> impl Iterator<Item = Instruction<'_>> {
    module.instructions().take_while(|i| !i.is(Op::Function))
}

/// Target and linkage name of an `OpDecorate … LinkageAttributes … Export`.
fn export<'m>(instruction: &Instruction<'m>) -> Option<(u32, std::borrow::Cow<'m, str>)> {
    let &[id, decoration, ..] = instruction.operands() else { return None };
    if decoration != Decoration::LinkageAttributes as u32 {
        return None;
    }
    let linkage = instruction.after_string(2)?.first()?;
    (*linkage == LinkageType::Export as u32).then_some((id, instruction.string(2)?))
}

/// Copies the decoration of those members of a group that live.
fn group(new: &mut Rewriter<'_>, instruction: &Instruction<'_>, live: &Live<'_, '_>) {
    let (Some(op), &[group, ref targets @ ..]) = (instruction.op(), instruction.operands()) else { return };
    let step = if op == Op::GroupMemberDecorate { 2 } else { 1 };
    let mut operands = vec![group];
    for target in targets.chunks(step) {
        if target.first().is_some_and(|&id| live.contains(id)) {
            operands.extend(target);
        }
    }
    if operands.len() > 1 {
        new.replace(instruction, op, &operands);
    }
}
