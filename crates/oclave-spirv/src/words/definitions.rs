//! Where each id of a module is defined.

use ::spirv::{Op, StorageClass};

use super::grammar::Role;
use super::id_map::IdMap;
use super::instruction::Instruction;
use super::module::Module;
use super::opcodes::is_access_chain;
use super::section::Section;

/// The defining instruction of every id of a module, built in one walk.
#[derive(Debug, Clone)]
pub struct Definitions<'m> {
    module: &'m Module,
    /// First word of the defining instruction; 0 where there is none.
    at: IdMap<u32>,
    /// The word where each function starts, and its id.
    functions: Vec<(usize, u32)>,
    opencl_std: Option<u32>,
}

impl<'m> Definitions<'m> {
    /// Walks the module. Of several definitions of one id the first counts.
    pub fn new(module: &'m Module) -> Self {
        let mut at = IdMap::new(module, 0);
        let (mut functions, mut opencl_std) = (Vec::new(), None);
        for instruction in module.instructions() {
            let Some(id) = instruction.result_id() else { continue };
            // A module has less than 2^32 words: see Module::from_words.
            if at.value(id) == 0 {
                at.insert(id, instruction.at as u32);
            }
            if instruction.is(Op::Function) {
                functions.push((instruction.at, id));
            }
            if instruction.is(Op::ExtInstImport) && instruction.string_is(0, "OpenCL.std") {
                opencl_std = Some(id);
            }
        }
        Self { module, at, functions, opencl_std }
    }

    /// The module that these are the definitions of.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// The instruction that defines `id`.
    #[inline]
    pub fn instruction(&self, id: u32) -> Option<Instruction<'m>> {
        match self.at.value(id) {
            0 => None,
            at => self.module.instruction_at(at as usize),
        }
    }

    /// The word where the instruction that defines `id` starts.
    #[inline]
    pub fn word_index(&self, id: u32) -> Option<usize> {
        match self.at.value(id) {
            0 => None,
            at => Some(at as usize),
        }
    }

    /// The function that an instruction of the module is in; `None` before the first function.
    pub fn function_of(&self, instruction: &Instruction<'_>) -> Option<u32> {
        let behind = self.functions.partition_point(|(at, _)| *at <= instruction.at);
        self.functions.get(behind.checked_sub(1)?).map(|(_, function)| *function)
    }

    /// The id of the type of the value `id`.
    pub fn type_of(&self, id: u32) -> Option<u32> {
        self.instruction(id)?.result_type()
    }

    /// Whether `id` is a whole private variable, and no part of one.
    pub fn is_private_variable(&self, id: u32) -> bool {
        self.instruction(id)
            .is_some_and(|i| i.is(Op::Variable) && i.operand(0) == Some(StorageClass::Function as u32))
    }

    /// The pointer that `pointer` is made of by casts and access chains. It is a variable, a parameter, or the result of a phi,
    /// a selection or a load. At most 4096 steps are followed.
    pub fn root(&self, mut pointer: u32) -> u32 {
        // The limit keeps callers linear, and ends cycles.
        for _ in 0..4096 {
            let Some(instruction) = self.instruction(pointer) else { break };
            pointer = match (instruction.op(), instruction.operands()) {
                (Some(Op::Bitcast | Op::CopyObject), &[base]) => base,
                (Some(Op::SpecConstantOp), &[_, base, ..]) => base,
                (Some(op), &[base, ..]) if is_access_chain(op) => base,
                _ => break,
            };
        }
        pointer
    }

    /// Whether a private variable can hold values of the type `ty`.
    pub fn is_storable(&self, ty: u32) -> bool {
        self.instruction(ty).and_then(|of| of.op()).is_some_and(|of| {
            matches!(
                of,
                Op::TypeBool
                    | Op::TypeInt
                    | Op::TypeFloat
                    | Op::TypeVector
                    | Op::TypeArray
                    | Op::TypeStruct
                    | Op::TypePointer
            )
        })
    }

    /// The instructions of a function behind `OpFunction`, up to `OpFunctionEnd`.
    pub fn body(&self, function: u32) -> impl Iterator<Item = Instruction<'m>> + use<'m> {
        let start = self.word_index(function).unwrap_or(usize::MAX);
        self.module.instructions_from(start).skip(1).take_while(|i| !i.is(Op::FunctionEnd))
    }

    /// The parameters of a function.
    pub fn parameters(&self, function: u32) -> impl Iterator<Item = u32> + use<'m> {
        let before = self.body(function).take_while(|i| !i.is(Op::Label));
        before.filter(|i| i.is(Op::FunctionParameter)).filter_map(|i| i.result_id())
    }

    /// The id of the import of the `OpenCL.std` instruction set.
    #[inline]
    pub fn opencl_std(&self) -> Option<u32> {
        self.opencl_std
    }

    /// How many words a literal of the type of the value `id` takes: 2 for 64-bit integers, else 1.
    pub fn literal_words(&self, id: u32) -> usize {
        let width = self
            .type_of(id)
            .and_then(|ty| self.instruction(ty))
            .filter(|ty| ty.is(Op::TypeInt))
            .and_then(|ty| ty.operand(0));
        if width.is_some_and(|w| w > 32 && w <= 64) { 2 } else { 1 }
    }

    /// The value of an integer constant, zero-extended from its type's width; `None` for
    /// specialization constants.
    pub fn int_constant(&self, id: u32) -> Option<u64> {
        let constant = self.instruction(id)?;
        let ty = self.instruction(constant.result_type()?).filter(|ty| ty.is(Op::TypeInt))?;
        if constant.is(Op::ConstantNull) {
            return Some(0);
        }
        if !constant.is(Op::Constant) {
            return None;
        }
        let low = u64::from(constant.operand(0)?);
        match ty.operand(0)? {
            64 => Some(low | u64::from(constant.operand(1)?) << 32),
            width @ 1..=32 => Some(low & (u64::MAX >> (64 - width))),
            _ => None,
        }
    }

    /// [`int_constant`](Self::int_constant) with its sign.
    pub fn signed_constant(&self, id: u32) -> Option<i64> {
        let value = self.int_constant(id)?;
        let width = self.instruction(self.type_of(id)?)?.operand(0)?;
        let unused = 64_u32.saturating_sub(width).min(63);
        Some((value << unused).cast_signed() >> unused)
    }

    /// The instructions of a block behind its label.
    pub fn block(&self, label: u32) -> impl Iterator<Item = Instruction<'m>> + use<'m> {
        let start = self.word_index(label).unwrap_or(usize::MAX);
        let rest = self.module.instructions_from(start).skip(1);
        rest.take_while(|i| !matches!(i.op(), Some(Op::Label | Op::FunctionEnd)))
    }

    /// Whether sections, functions without blocks, types, constants or variables stand where the specification does not want them. llvm-spirv
    /// writes constants before those that they use.
    pub fn are_unsorted(&self) -> bool {
        let mut last = Section::Capabilities;
        let mut instructions = self.module.instructions();
        while let Some(instruction) = instructions.next() {
            let section = if instruction.is(Op::Function) {
                let body = instructions.by_ref().take_while(|i| !i.is(Op::FunctionEnd));
                let labels = body.filter(|i| i.is(Op::Label)).count();
                if labels == 0 { Section::Declarations } else { Section::Definitions }
            } else {
                Section::of(&instruction, last)
            };
            if section < last || section == Section::Types && self.uses_later(&instruction) {
                return true;
            }
            last = section;
        }
        false
    }

    fn uses_later(&self, instruction: &Instruction<'_>) -> bool {
        let mut is_late = false;
        instruction.visit_ids(self, |index, role| {
            let used = instruction.word(index).and_then(|id| self.word_index(id));
            is_late |= matches!(role, Role::Id | Role::ResultType) && used > Some(instruction.at);
        });
        is_late
    }
}
