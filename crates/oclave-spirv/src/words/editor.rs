//! Changes of a module at given instructions.
//!
//! ```
//! use oclave_spirv::{Definitions, Editor, Module, Op};
//! # fn negate_conditions(module: &Module) -> oclave_spirv::Result<Option<Module>> {
//! let definitions = Definitions::new(module);
//! let mut edit = Editor::new(&definitions);
//! let bool_type = edit.bool_type();
//! for branch in module.instructions().filter(|i| i.is(Op::BranchConditional)) {
//!     let &[condition, yes, no, ref weights @ ..] = branch.operands() else { continue };
//!     let negated = edit.before(&branch).emit(Op::LogicalNot, bool_type, &[condition]);
//!     edit.replace(&branch, Op::BranchConditional, &[&[negated, no, yes], weights].concat());
//! }
//! edit.finish()
//! # }
//! ```
//! An editor of an empty module writes a new one:
//! ```
//! use oclave_spirv::{Capability, Code, Definitions, Editor, Module, Op, Version};
//! # fn empty_kernel() -> oclave_spirv::Result<Option<Module>> {
//! let empty = Module::empty(Version::V1_2);
//! let definitions = Definitions::new(&empty);
//! let mut new = Editor::new(&definitions);
//! new.kernel_header(&[Capability::Addresses, Capability::Kernel]);
//! let void = new.void_type();
//! let (ty, function, label) = (new.function_type(void, &[]), new.fresh_id(), new.fresh_id());
//! let mut code = Code::new();
//! code.push(Op::Function, &[void, function, 0, ty]);
//! code.push(Op::Label, &[label]);
//! code.push(Op::Return, &[]);
//! code.push(Op::FunctionEnd, &[]);
//! new.add_function(code);
//! new.entry_point(function, "empty", &[]);
//! new.finish()
//! # }
//! ```
//! The old module stays as it is until the end, so what is known of it stays true. Instructions without changes keep their words.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Deref, DerefMut};

use ::spirv::{Op, StorageClass};

use super::code::Code;
use super::declarations::Declarations;
use super::definitions::Definitions;
use super::grammar::Role;
use super::instruction::Instruction;
use super::module::{Instructions, Module};
use super::opcodes::{is_block_end, is_decoration, is_terminator};
use crate::Result;

/// Collects changes of a module, and makes them all at once. New types, constants, decorations, names and functions come by
/// [`Declarations`].
#[derive(Debug)]
pub struct Editor<'m> {
    declarations: Declarations<'m>,
    /// The word where an instruction starts → its changes.
    edits: BTreeMap<usize, Edit>,
    /// Uses of an id → the id that takes its place.
    replaced: HashMap<u32, u32>,
    /// Labels in phis → those that take their place.
    predecessors: HashMap<u32, u32>,
    /// Ids that lose their names and decorations.
    unannotated: HashSet<u32>,
    /// Functions that go, and no other takes their place.
    removed_functions: HashSet<u32>,
    /// Variables that all entry points get.
    interface: Vec<u32>,
}

/// The changes at an instruction.
#[derive(Debug, Default)]
struct Edit {
    code: BTreeMap<Place, Code>,
    /// The instruction goes. What stands in [`Place::Instead`] takes its place.
    is_removed: bool,
    /// All of the function that begins here goes.
    is_function_removed: bool,
}

/// Where code is written, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Variables at the start of a function.
    Variables,
    /// The start of a function.
    Entry,
    /// The start of a block.
    Start,
    Before,
    Instead,
    After,
}

impl<'m> Deref for Editor<'m> {
    type Target = Declarations<'m>;

    fn deref(&self) -> &Self::Target {
        &self.declarations
    }
}

impl DerefMut for Editor<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.declarations
    }
}

impl<'m> Editor<'m> {
    /// For the module that `definitions` belong to.
    pub fn new(definitions: &'m Definitions<'m>) -> Self {
        Self {
            declarations: Declarations::new(definitions),
            edits: BTreeMap::new(),
            replaced: HashMap::new(),
            predecessors: HashMap::new(),
            unannotated: HashSet::new(),
            removed_functions: HashSet::new(),
            interface: Vec::new(),
        }
    }

    /// Writes before an instruction, but after what is written at the start of its block. Code of several calls keeps their order.
    pub fn before(&mut self, instruction: &Instruction<'_>) -> Cursor<'_, 'm> {
        self.at(instruction.at, Place::Before)
    }

    /// Writes after an instruction.
    pub fn after(&mut self, instruction: &Instruction<'_>) -> Cursor<'_, 'm> {
        self.at(instruction.at, Place::After)
    }

    /// Removes an instruction, and writes in its place. Code of several calls keeps their order.
    pub fn instead_of(&mut self, instruction: &Instruction<'_>) -> Cursor<'_, 'm> {
        self.edit(instruction.at).is_removed = true;
        self.at(instruction.at, Place::Instead)
    }

    /// Replaces an instruction by another one.
    pub fn replace(&mut self, instruction: &Instruction<'_>, op: Op, operands: &[u32]) {
        self.instead_of(instruction).push(op, operands);
    }

    /// Replaces the words of an instruction after the first, if they differ from these.
    pub fn replace_words(&mut self, instruction: &Instruction<'_>, words: &[u32]) {
        if let Some(op) = instruction.op().filter(|_| instruction.words.get(1..) != Some(words)) {
            self.replace(instruction, op, words);
        }
    }

    /// Removes an instruction, and the names and decorations of its result.
    pub fn remove(&mut self, instruction: &Instruction<'_>) {
        self.edit(instruction.at).is_removed = true;
        instruction.result_id().into_iter().for_each(|id| self.remove_annotations(id));
    }

    /// Removes the names and decorations of an id, and takes it out of the interfaces of entry points.
    pub fn remove_annotations(&mut self, id: u32) {
        self.unannotated.insert(id);
    }

    /// Writes at the start of a block, after its phis and variables.
    pub fn at_start(&mut self, label: u32) -> Cursor<'_, 'm> {
        let at = self.first_of_block(label);
        self.at(at, Place::Start)
    }

    /// Writes at the end of a block, before its terminator and the merge instruction before that.
    pub fn at_end(&mut self, label: u32) -> Cursor<'_, 'm> {
        let mut block = self.declarations.definitions().block(label);
        let end = block.find(|i| i.op().is_some_and(is_block_end));
        self.at(end.map_or(0, |i| i.at), Place::Before)
    }

    /// Writes at the start of a function, after its variables. What is written here dominates the rest of the function.
    pub fn at_entry(&mut self, function: u32) -> Cursor<'_, 'm> {
        let at = self.first_of_function(function);
        self.at(at, Place::Entry)
    }

    /// A new private variable of a function, for values of a type. It holds `initial` at first, if that is given.
    pub fn variable(&mut self, function: u32, ty: u32, initial: Option<u32>) -> u32 {
        let pointer = self.pointer_type(StorageClass::Function, ty);
        let at = self.first_of_function(function);
        let operands: Vec<u32> = std::iter::once(StorageClass::Function as u32).chain(initial).collect();
        self.at(at, Place::Variables).emit(Op::Variable, pointer, &operands)
    }

    /// Removes the instructions of a block, from its label to its terminator, and writes in their place. What they define keeps its names
    /// and decorations.
    pub fn instead_of_block(&mut self, label: u32) -> Cursor<'_, 'm> {
        let definitions = self.declarations.definitions();
        let start = definitions.word_index(label).unwrap_or(usize::MAX);
        for instruction in definitions.module().instructions_from(start) {
            self.edit(instruction.at).is_removed = true;
            if instruction.op().is_some_and(is_terminator) {
                break;
            }
        }
        self.at(start, Place::Instead)
    }

    /// Removes a whole function, and writes another one in its place: `OpFunction` to `OpFunctionEnd`. Other changes of the function
    /// are lost.
    pub fn instead_of_function(&mut self, function: u32) -> Cursor<'_, 'm> {
        let start = self.declarations.definitions().instruction(function);
        let at = start.filter(|i| i.is(Op::Function)).map_or(0, |i| i.at);
        let edit = self.edit(at);
        (edit.is_removed, edit.is_function_removed) = (true, true);
        self.at(at, Place::Instead)
    }

    /// Removes a whole function, and the names and decorations of what it defines.
    pub fn remove_function(&mut self, function: u32) {
        self.removed_functions.insert(function);
        let _ = self.instead_of_function(function);
    }

    /// Lets the module use one value for another, and one type for another, everywhere but in code that was written by this editor.
    /// Names and decorations are no uses.
    pub fn replace_uses(&mut self, of: u32, by: u32) {
        self.replaced.insert(of, by);
    }

    /// What takes the place of an id by [`replace_uses`](Self::replace_uses); the id itself where nothing does.
    pub fn replaced(&self, id: u32) -> u32 {
        self.replaced.get(&id).copied().unwrap_or(id)
    }

    /// Says that the terminator of the block `old` is in the block `new` now: phis name that one. Code that was written by this editor stays.
    pub fn move_end(&mut self, old: u32, new: u32) {
        self.predecessors.insert(old, new);
    }

    /// Adds a variable to the interfaces of all entry points that lack it: all that a kernel uses must be there.
    pub fn add_to_interfaces(&mut self, variable: u32) {
        if !self.interface.contains(&variable) {
            self.interface.push(variable);
        }
    }

    /// The module with these changes; `None` where there are none.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] where ids ran out or an instruction became too long to encode;
    /// [`crate::Error::Malformed`] where what was written is no stream of instructions.
    pub fn finish(self) -> Result<Option<Module>> {
        let Self {
            declarations: mut new,
            edits,
            replaced,
            predecessors,
            unannotated,
            removed_functions,
            interface,
        } = self;
        let rules = Rules { replaced, predecessors, unannotated, removed_functions, interface };
        if edits.is_empty() && rules.are_empty() && !new.has_additions() {
            return Ok(None);
        }
        let module = new.definitions().module();
        let added = new.take_sections();
        let mut edits = edits.into_iter().peekable();
        let mut instructions = module.instructions();
        let mut in_function = false;
        while let Some(instruction) = instructions.next() {
            let is_code = in_function && !instruction.is(Op::FunctionEnd);
            in_function = is_code || instruction.is(Op::Function);
            // Those in a function that went are lost.
            while edits.next_if(|(at, _)| *at < instruction.at).is_some() {}
            let Some((_, mut edit)) = edits.next_if(|(at, _)| *at == instruction.at) else {
                if is_code && rules.keep_code() {
                    let next = edits.peek().map_or(usize::MAX, |(at, _)| *at);
                    new.append(&run(module, instruction, &mut instructions, next));
                } else {
                    rules.copy(&mut new, &instruction);
                }
                continue;
            };
            if edit.is_function_removed {
                new.append_function(edit.code.remove(&Place::Instead).unwrap_or_default());
                instructions.by_ref().find(|i| i.is(Op::FunctionEnd));
                in_function = false;
                continue;
            }
            let rest = edit.code.split_off(&Place::Instead);
            edit.code.into_values().for_each(|mut code| new.append_code(&instruction, &mut code));
            if !edit.is_removed {
                rules.copy(&mut new, &instruction);
            }
            rest.into_values().for_each(|mut code| new.append_code(&instruction, &mut code));
        }
        new.end_appending();
        new.append_sections(added);
        new.finish().map(Some)
    }

    fn edit(&mut self, at: usize) -> &mut Edit {
        self.edits.entry(at).or_default()
    }

    fn at(&mut self, at: usize, place: Place) -> Cursor<'_, 'm> {
        Cursor { editor: self, at, place }
    }

    /// Where the first instruction of a block is that is no phi and no variable.
    fn first_of_block(&self, label: u32) -> usize {
        let definitions = self.declarations.definitions();
        let start = definitions.word_index(label).unwrap_or(0);
        let rest = definitions.module().instructions_from(start).skip(1);
        let leads =
            |i: &Instruction<'_>| matches!(i.op(), Some(Op::Phi | Op::Variable | Op::Line | Op::NoLine));
        rest.skip_while(leads).map(|i| i.at).next().unwrap_or(start)
    }

    fn first_of_function(&self, function: u32) -> usize {
        let definitions = self.declarations.definitions();
        let label = definitions.body(function).find(|i| i.is(Op::Label)).and_then(|i| i.result_id());
        self.first_of_block(label.unwrap_or(function))
    }
}

/// An instruction of a function and those that follow it, as if they were one, to copy them at once. They end before word `end`, and before
/// the end of the function. It is a label if one of them is.
fn run<'m>(
    module: &'m Module,
    first: Instruction<'m>,
    rest: &mut Instructions<'m>,
    end: usize,
) -> Instruction<'m> {
    let (mut opcode, mut length) = (first.opcode, first.words.len());
    loop {
        let before = rest.clone();
        let Some(next) = rest.next().filter(|i| i.at < end && !i.is(Op::FunctionEnd)) else {
            *rest = before;
            break;
        };
        if next.is(Op::Label) {
            opcode = next.opcode;
        }
        length += next.words.len();
    }
    let words = module.words().get(first.at..first.at + length).unwrap_or_default();
    Instruction { opcode, words, at: first.at }
}

/// Changes of instructions that have none of their own.
struct Rules {
    replaced: HashMap<u32, u32>,
    predecessors: HashMap<u32, u32>,
    unannotated: HashSet<u32>,
    removed_functions: HashSet<u32>,
    interface: Vec<u32>,
}

impl Rules {
    fn are_empty(&self) -> bool {
        self.keep_code() && self.keep_annotations()
    }

    /// Whether code stays as it is.
    fn keep_code(&self) -> bool {
        self.replaced.is_empty() && self.predecessors.is_empty()
    }

    /// Whether names, decorations and interfaces stay as they are.
    fn keep_annotations(&self) -> bool {
        self.unannotated.is_empty() && self.removed_functions.is_empty() && self.interface.is_empty()
    }

    fn is_gone(&self, id: u32, definitions: &Definitions<'_>) -> bool {
        let is_in_removed = || {
            let function = definitions.function_of(&definitions.instruction(id)?)?;
            Some(self.removed_functions.contains(&function))
        };
        self.unannotated.contains(&id) || !self.removed_functions.is_empty() && is_in_removed() == Some(true)
    }

    fn copy(&self, new: &mut Declarations<'_>, instruction: &Instruction<'_>) {
        let moves = instruction.is(Op::Phi) && !self.predecessors.is_empty();
        if self.replaced.is_empty() && !moves {
            return self.copy_annotated(new, instruction);
        }
        let definitions = new.definitions();
        // Names and decorations stay with their ids, and what goes has no other in its place in interfaces.
        let stays = |index: usize, id: u32| match instruction.op() {
            Some(Op::GroupDecorate | Op::GroupMemberDecorate) => true,
            Some(Op::EntryPoint) => self.is_gone(id, definitions),
            Some(op) => index == 1 && (matches!(op, Op::Name | Op::MemberName) || is_decoration(op)),
            None => false,
        };
        let mut words: Cow<'_, [u32]> = instruction.words.into();
        instruction.visit_ids(definitions, |index, role| {
            if !matches!(role, Role::MaybeId | Role::Result)
                && let Some(id) = instruction.word(index)
                && let Some(by) = self.replaced.get(&id)
                && !stays(index, id)
                && let Some(word) = words.to_mut().get_mut(index)
            {
                *word = *by;
            }
        });
        if moves {
            // The opcode, the type and the result come before pairs of a value and a label.
            for label in words.to_mut().iter_mut().skip(4).step_by(2) {
                *label = self.predecessors.get(label).copied().unwrap_or(*label);
            }
        }
        self.copy_annotated(new, &Instruction { words: &words, ..*instruction });
    }

    fn copy_annotated(&self, new: &mut Declarations<'_>, instruction: &Instruction<'_>) {
        if self.keep_annotations() {
            return new.append(instruction);
        }
        let definitions = new.definitions();
        new.append_annotated(instruction, |id| self.is_gone(id, definitions), &self.interface);
    }
}

/// A place in a module where code is written.
#[derive(Debug)]
pub struct Cursor<'e, 'm> {
    editor: &'e mut Editor<'m>,
    at: usize,
    place: Place,
}

impl<'m> Deref for Cursor<'_, 'm> {
    type Target = Editor<'m>;

    fn deref(&self) -> &Self::Target {
        self.editor
    }
}

impl DerefMut for Cursor<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.editor
    }
}

impl Cursor<'_, '_> {
    /// Writes an instruction: operands with result type and result id, if it has these.
    pub fn push(&mut self, op: Op, operands: &[u32]) {
        self.code().push(op, operands);
    }

    /// Writes an instruction with a new result.
    pub fn emit(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.editor.fresh_id();
        self.push(op, &[&[ty, id], operands].concat());
        id
    }

    /// Writes an instruction of the old module.
    pub fn copy(&mut self, instruction: &Instruction<'_>) {
        self.code().extend(instruction.words);
    }

    /// Writes an instruction of the old module, with each id that it uses or defines replaced by `map`. Words of unknown
    /// instructions stay as they are.
    pub fn copy_mapped(&mut self, instruction: &Instruction<'_>, map: impl FnMut(u32) -> u32) {
        let words = instruction.mapped(self.editor.definitions(), map);
        self.code().extend(&words);
    }

    fn code(&mut self) -> &mut Code {
        let (at, place) = (self.at, self.place);
        self.editor.edit(at).code.entry(place).or_default()
    }
}
