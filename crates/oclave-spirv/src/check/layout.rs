//! Sections, functions and blocks; and that ids are defined once, and used where they can be seen.

use super::broken;
use crate::Result;
use crate::{Definitions, Fit, IdMap, Instruction, Module, Op, Role, Section, is_terminator};

/// The block of parameters of declarations.
const NO_BLOCK: u32 = u32::MAX;

/// Where functions and blocks are.
pub(super) struct Layout<'m> {
    pub(super) functions: Vec<Function<'m>>,
    /// The blocks of all functions in order.
    pub(super) blocks: Vec<Block<'m>>,
    /// For ids defined in functions: one more than the index of their block. 0 for all others.
    pub(super) block_of: IdMap<u32>,
}

impl Layout<'_> {
    /// Index among the function's blocks of the one with this label.
    pub(super) fn block_of_label(&self, function: &Function<'_>, label: u32) -> Option<usize> {
        let block = (self.block_of.value(label) as usize).checked_sub(1)?;
        let is_label = function.blocks.contains(&block) && self.blocks.get(block)?.label == label;
        is_label.then(|| block - function.blocks.start)
    }
}

pub(super) struct Function<'m> {
    /// The `OpFunction`.
    pub(super) begin: Instruction<'m>,
    /// Parameters, as ids.
    pub(super) parameters: Vec<u32>,
    /// Index of its first block, and of the one after its last. The same for a declaration.
    pub(super) blocks: std::ops::Range<usize>,
}

pub(super) struct Block<'m> {
    pub(super) label: u32,
    /// Word after the label.
    pub(super) start: usize,
    pub(super) terminator: Instruction<'m>,
}

/// Reads the layout, and refuses what is not in order.
pub(super) fn read<'m>(module: &'m Module, definitions: &Definitions<'m>) -> Result<Layout<'m>> {
    let mut reader = Reader {
        layout: Layout { functions: Vec::new(), blocks: Vec::new(), block_of: IdMap::new(module, 0) },
        function: None,
        block: None,
        section: Section::Capabilities,
        definitions,
        bound: module.id_bound(),
    };
    for instruction in module.instructions() {
        reader.instruction(&instruction)?;
    }
    if let Some(function) = reader.function {
        return Err(broken(&function.begin, "has no OpFunctionEnd; the module is truncated"));
    }
    let layout = reader.layout;
    uses(module, definitions, &layout)?;
    Ok(layout)
}

struct Reader<'a, 'm> {
    layout: Layout<'m>,
    function: Option<Function<'m>>,
    /// Label and first word of the block that is open.
    block: Option<(u32, usize)>,
    section: Section,
    definitions: &'a Definitions<'m>,
    bound: u32,
}

impl<'m> Reader<'_, 'm> {
    fn instruction(&mut self, instruction: &Instruction<'m>) -> Result<()> {
        let Some(op) = instruction.op() else {
            return Err(broken(instruction, "is not known to this library"));
        };
        // Those that the rules of bodies do not look at; Intel's compiler dies of an OpLabel of
        // three words.
        if matches!(op, Op::Label | Op::FunctionEnd | Op::Line | Op::NoLine | Op::Nop)
            && instruction.visit_ids(self.definitions, |_, _| {}) == Fit::Malformed
        {
            return Err(broken(instruction, "operands are missing or left over"));
        }
        let mut block = self.layout.blocks.len() as u32 + 1;
        if self.function.is_none() {
            self.outside(instruction, op)?;
            block = 0;
        } else {
            self.inside(instruction, op)?;
        }
        let Some(id) = instruction.result_id() else { return Ok(()) };
        if id == 0 || id >= self.bound {
            return Err(broken(
                instruction,
                format!("the id is not in 1..{} (the header's bound)", self.bound),
            ));
        }
        if self.definitions.word_index(id) != Some(instruction.at) {
            return Err(broken(instruction, "the id is already defined"));
        }
        if block != 0 {
            self.layout.block_of.insert(id, block);
        }
        Ok(())
    }

    fn outside(&mut self, instruction: &Instruction<'m>, op: Op) -> Result<()> {
        if op == Op::Function {
            let first = self.layout.blocks.len();
            self.function =
                Some(Function { begin: *instruction, parameters: Vec::new(), blocks: first..first });
            return Ok(());
        }
        if matches!(op, Op::Line | Op::NoLine | Op::Nop) {
            return Ok(());
        }
        let Some(section) = Section::of_op(op) else {
            return Err(broken(instruction, "may not stand outside of a function"));
        };
        if section < self.section {
            return Err(broken(instruction, format!("stands after the section {:?}", self.section)));
        }
        self.section = section;
        Ok(())
    }

    fn inside(&mut self, instruction: &Instruction<'m>, op: Op) -> Result<()> {
        let Some(function) = &mut self.function else { return Ok(()) };
        let has_blocks = self.layout.blocks.len() > function.blocks.start || self.block.is_some();
        match op {
            Op::FunctionParameter => {
                if has_blocks {
                    return Err(broken(instruction, "stands after the function's first block"));
                }
                function.parameters.extend(instruction.result_id());
            }
            Op::FunctionEnd => {
                if self.block.is_some() {
                    return Err(broken(instruction, "the block before has no terminator"));
                }
                function.blocks.end = self.layout.blocks.len();
                let section =
                    if function.blocks.is_empty() { Section::Declarations } else { Section::Definitions };
                if section < self.section {
                    let what = "a declaration stands after definitions of functions";
                    return Err(broken(&function.begin, what));
                }
                self.section = section;
                if function.blocks.is_empty() {
                    // They must not count as those of the function that follows.
                    function.parameters.iter().for_each(|&id| _ = self.layout.block_of.insert(id, NO_BLOCK));
                }
                self.layout.functions.extend(self.function.take());
            }
            Op::Label => {
                if self.block.is_some() {
                    return Err(broken(instruction, "the block before has no terminator"));
                }
                let Some(id) = instruction.result_id() else {
                    return Err(broken(instruction, "operands are missing"));
                };
                self.block = Some((id, instruction.at + instruction.words.len()));
            }
            Op::Line | Op::NoLine | Op::Nop => {}
            _ if self.block.is_none() => return Err(broken(instruction, "stands outside of a block")),
            _ if is_terminator(op) => {
                if let Some((label, start)) = self.block.take() {
                    self.layout.blocks.push(Block { label, start, terminator: *instruction });
                }
            }
            Op::Function => return Err(broken(instruction, "stands within a function")),
            Op::Variable | Op::UntypedVariableKHR | Op::Undef | Op::ExtInst => {}
            _ if Section::of_op(op).is_some() => {
                return Err(broken(instruction, "may not stand in a function"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// What stands outside of functions uses ids that are defined, and before if it must. Functions:
/// see `flow.rs`.
fn uses(module: &Module, definitions: &Definitions<'_>, layout: &Layout<'_>) -> Result<()> {
    for instruction in module.global_instructions() {
        let forward = may_look_ahead(&instruction);
        let is_type_or_value = instruction.op().and_then(Section::of_op) == Some(Section::Types);
        let mut wrong = None;
        let fit = instruction.visit_ids(definitions, |index, role| {
            if !matches!(role, Role::Id | Role::ResultType) {
                return;
            }
            let id = instruction.word(index).unwrap_or(0);
            match definitions.word_index(id) {
                None => wrong = wrong.or(Some((id, "is not defined"))),
                Some(at) if at >= instruction.at && !forward => {
                    wrong = wrong.or(Some((id, "is used before it is defined")));
                }
                Some(_) if is_type_or_value && layout.block_of.value(id) != 0 => {
                    wrong = wrong.or(Some((id, "is defined in a function")));
                }
                Some(_) => {}
            }
        });
        if let Some((id, what)) = wrong {
            return Err(broken(&instruction, format!("%{id} {what}")));
        }
        if fit == Fit::Malformed {
            return Err(broken(&instruction, "operands are missing or left over"));
        }
    }
    Ok(())
}

/// What may use ids that are defined later.
fn may_look_ahead(instruction: &Instruction<'_>) -> bool {
    instruction.op().is_some_and(|op| {
        Section::of_op(op).is_some_and(|section| section < Section::Types)
            || matches!(op, Op::TypeForwardPointer | Op::ConstantFunctionPointerINTEL | Op::ExtInst)
            // Structs may hold pointers that were announced; see types.rs.
            || matches!(op, Op::TypeStruct | Op::TypeStructContinuedINTEL)
    })
}
