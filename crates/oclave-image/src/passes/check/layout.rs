//! Sections, functions and blocks; and that ids are defined once, and used where they can be seen.

use super::broken;
use crate::Result;
use crate::spirv::{Definitions, Fit, IdMap, Instruction, Module, Op, Role, Section, is_terminator};

/// Where functions and blocks are.
pub(super) struct Layout<'m> {
    pub(super) functions: Vec<Function<'m>>,
    /// The blocks of all functions in order.
    pub(super) blocks: Vec<Block<'m>>,
    /// For ids defined in functions: one more than the index of their block. 0 for all others.
    pub(super) block_of: IdMap<u32>,
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

/// Every id that is used is defined: outside of functions before it is used, else there or in the same function.
fn uses(module: &Module, definitions: &Definitions<'_>, layout: &Layout<'_>) -> Result<()> {
    // Function of a block, by the index of the block.
    let mut functions = layout.functions.iter();
    let mut current: std::ops::Range<usize> = 0..0;
    let mut in_function = false;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            in_function = true;
            current = functions.next().map_or(0..0, |f| f.blocks.clone());
        }
        let forward = !in_function && may_look_ahead(&instruction);
        let mut wrong = None;
        let fit = instruction.visit_ids(definitions, |index, role| {
            if !matches!(role, Role::Id | Role::ResultType) {
                return;
            }
            let id = instruction.word(index).unwrap_or(0);
            let Some(at) = definitions.word_index(id) else {
                wrong = wrong.or(Some((id, "is not defined")));
                return;
            };
            match layout.block_of.value(id) {
                0 if in_function || forward || at < instruction.at => {}
                0 => wrong = wrong.or(Some((id, "is used before it is defined"))),
                block if in_function && current.contains(&(block as usize - 1)) => {}
                _ if forward => {}
                _ => wrong = wrong.or(Some((id, "is defined in another function"))),
            }
        });
        if let Some((id, what)) = wrong {
            return Err(broken(&instruction, format!("%{id} {what}")));
        }
        if fit == Fit::Malformed {
            return Err(broken(&instruction, "operands are missing or left over"));
        }
        in_function &= !instruction.is(Op::FunctionEnd);
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
