//! Dead-code elimination: what is not reachable from the roots goes, with its names, decorations
//! and capabilities.

use std::collections::HashMap;

use crate::Result;
use crate::transform::capabilities;
use crate::{Definitions, Editor, IdMap, Instruction, LinkageType, Module, Op, Role, is_decoration};

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
/// more go too, as far as [`capabilities::prune`] knows. Sections end up in order, types and constants behind those that they use.
///
/// # Errors
/// As [`Editor::finish`].
pub fn eliminate(module: &Module, mut keep: impl FnMut(Root<'_>) -> bool) -> Result<Module> {
    let definitions = Definitions::new(module);
    let mut live = Live::new(&definitions);
    let mut kept_entries = Vec::new();
    for instruction in module.global_instructions() {
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
                if let Some((id, name, LinkageType::Export)) = instruction.linkage()
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
    for instruction in module.global_instructions().filter(|i| i.is(Op::ExecutionModeId)) {
        if instruction.operand(0).is_some_and(|f| entry_functions.contains(&f)) {
            live.mark_operands(&instruction);
        }
    }
    live.run();

    let mut edit = Editor::new(&definitions);
    // A changed module has all in order.
    if definitions.are_unsorted() {
        edit.sort_types();
    }
    let mut instructions = module.instructions();
    let mut continues = false;
    while let Some(instruction) = instructions.next() {
        let is_live = |id: Option<u32>| id.is_some_and(|id| live.contains(id));
        if instruction.is(Op::Function) {
            if let Some(id) = instruction.result_id().filter(|id| !live.contains(*id)) {
                edit.remove_function(id);
            }
            instructions.by_ref().find(|i| i.is(Op::FunctionEnd));
            continue;
        }
        let stays = match instruction.op() {
            None | Some(Op::ExtInstImport | Op::GroupDecorate | Op::GroupMemberDecorate) => true,
            Some(Op::EntryPoint) => kept_entries.contains(&instruction.at),
            Some(Op::ExecutionMode | Op::ExecutionModeId) => {
                instruction.operand(0).is_some_and(|f| entry_functions.contains(&f))
            }
            Some(Op::Name | Op::MemberName | Op::TypeForwardPointer) => is_live(instruction.operand(0)),
            Some(op) if is_decoration(op) => is_live(instruction.operand(0)),
            Some(op) if is_continuation(op) => continues,
            Some(Op::Line | Op::NoLine) => false,
            Some(_) => match instruction.result_id() {
                Some(id) => live.contains(id),
                None => stands_alone(&instruction),
            },
        };
        continues = stays;
        if !stays {
            edit.remove(&instruction);
        }
    }
    let alive = edit.finish()?;
    capabilities::prune(alive.as_ref().unwrap_or(module))
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
        for instruction in module.global_instructions() {
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
