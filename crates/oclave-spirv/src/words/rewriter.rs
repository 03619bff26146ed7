//! Editing of a module: the old one is read from front to back, and a new one is written.
//!
//! ```
//! use oclave_spirv::{Definitions, Module, Op, Rewriter};
//! # fn strip_names(module: &Module) -> oclave_spirv::Result<Module> {
//! let definitions = Definitions::new(module);
//! let mut new = Rewriter::new(&definitions);
//! for instruction in module.instructions() {
//!     if !instruction.is(Op::Name) {
//!         new.copy(&instruction);
//!     }
//! }
//! new.finish()
//! # }
//! ```
//! Every section has a stream of its own, so anything can be added to any section at any time.
//! Types and constants that are added are put before their first use when the module is finished.

use std::ops::{Deref, DerefMut};

use ::spirv::Op;

use super::code::Code;
use super::declarations::Declarations;
use super::definitions::Definitions;
use super::instruction::Instruction;
use super::module::Module;
use super::opcodes::is_decoration;
use super::section::Section;
use crate::Result;

/// Writes a new module from an old one.
#[derive(Debug)]
pub struct Rewriter<'m> {
    declarations: Declarations<'m>,
    /// The section of the last instruction outside of functions.
    last: Section,
    /// `OpLine`s that belong to the next instruction.
    lines: Code,
    /// The function that is being copied, and whether it has blocks.
    function: Option<(Code, bool)>,
}

impl<'m> Deref for Rewriter<'m> {
    type Target = Declarations<'m>;

    fn deref(&self) -> &Self::Target {
        &self.declarations
    }
}

impl DerefMut for Rewriter<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.declarations
    }
}

impl<'m> Rewriter<'m> {
    /// An empty module with the header of the one that `definitions` belong to.
    pub fn new(definitions: &'m Definitions<'m>) -> Self {
        Self::with_declarations(Declarations::new(definitions))
    }

    pub(super) fn with_declarations(declarations: Declarations<'m>) -> Self {
        Self { declarations, last: Section::Capabilities, lines: Code::new(), function: None }
    }

    /// Copies an instruction as it is to where the new module is being written: its section, or the
    /// current function.
    pub fn copy(&mut self, instruction: &Instruction<'_>) {
        self.place(instruction, |code| code.extend(instruction.words));
    }

    /// Copies an instruction, unless it names or decorates an id that is gone. Decorations of
    /// groups lose such targets, and the interfaces of entry points lose such variables.
    pub fn copy_unless_gone(&mut self, instruction: &Instruction<'_>, is_gone: impl Fn(u32) -> bool) {
        self.copy_annotated(instruction, is_gone, &[]);
    }

    /// As [`copy_unless_gone`](Self::copy_unless_gone), with more variables in the interfaces of entry points.
    pub(super) fn copy_annotated(
        &mut self,
        instruction: &Instruction<'_>,
        is_gone: impl Fn(u32) -> bool,
        used: &[u32],
    ) {
        let Some(op) = instruction.op() else { return self.copy(instruction) };
        let all = instruction.operands();
        let is_group = matches!(op, Op::GroupDecorate | Op::GroupMemberDecorate);
        let is_annotation = is_group || matches!(op, Op::Name | Op::MemberName) || is_decoration(op);
        let left: Vec<u32> = match *all {
            // A decorated id, or a group.
            [id, ..] if is_annotation && is_gone(id) => return,
            [group, ref targets @ ..] if is_group => {
                let targets = targets.chunks(if op == Op::GroupDecorate { 1 } else { 2 });
                let stay = targets.filter(|target| !target.first().is_some_and(|id| is_gone(*id)));
                std::iter::once(group).chain(stay.flatten().copied()).collect()
            }
            _ if op == Op::EntryPoint => {
                let listed = instruction.after_string(2).unwrap_or_default();
                let (head, interface) = all.split_at(all.len() - listed.len());
                let missing = used.iter().filter(|variable| !listed.contains(variable));
                let stay = interface.iter().filter(|id| !is_gone(**id)).chain(missing);
                head.iter().chain(stay).copied().collect()
            }
            _ => return self.copy(instruction),
        };
        match left.len() {
            _ if left == all => self.copy(instruction),
            // A group without targets.
            1 => {}
            _ => self.replace(instruction, op, &left),
        }
    }

    /// Copies an instruction with every id that it uses or defines replaced by `map`.
    ///
    /// Words of unknown instructions stay as they are.
    pub fn copy_mapped(&mut self, instruction: &Instruction<'_>, map: impl FnMut(u32) -> u32) {
        let words = instruction.mapped(self.definitions(), map);
        self.place(instruction, |code| code.extend(&words));
    }

    /// Writes an instruction in the place of `instruction`: its section, or the current function.
    pub fn replace(&mut self, instruction: &Instruction<'_>, op: Op, operands: &[u32]) {
        let structural = matches!(op, Op::Function | Op::FunctionEnd | Op::Label);
        let was = instruction.op();
        self.unsorted |= self.function.is_none() && !structural;
        // What begins and ends functions is told by the new opcode.
        if structural || was.is_some_and(|w| matches!(w, Op::Function | Op::FunctionEnd | Op::Label)) {
            let mut code = Code::new();
            code.push(op, operands);
            let new = Instruction { opcode: op as u16, words: code.words(), at: instruction.at };
            self.place(&new, |to| to.push(op, operands));
        } else {
            self.place(instruction, |code| code.push(op, operands));
        }
    }

    /// Appends an instruction to the function that is being copied; without one, to
    /// [`Section::Types`].
    pub fn push(&mut self, op: Op, operands: &[u32]) {
        match &mut self.function {
            Some((code, _)) => {
                code.append(&mut self.lines);
                code.push(op, operands);
            }
            None => self.push_in(Section::Types, op, operands),
        }
    }

    /// Appends code to where the new module is being written: the section of `instruction`, or the current function.
    pub(super) fn append(&mut self, instruction: &Instruction<'_>, code: &mut Code) {
        if code.is_empty() && code.overlong().is_none() {
            return;
        }
        self.place(instruction, |to| to.append(code));
        self.unsorted |= self.function.is_none() && self.last == Section::Types;
    }

    /// Appends a whole function, with the lines before it. These go where the function is empty.
    pub(super) fn append_function(&mut self, mut function: Code) {
        let mut code = std::mem::take(&mut self.lines);
        if !function.is_empty() {
            code.append(&mut function);
            self.add_function(code);
        }
        self.last = Section::Definitions;
    }

    /// Puts the sections together.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] where ids ran out or an instruction became too long to encode;
    /// [`crate::Error::Malformed`] where what was pushed is no stream of instructions.
    pub fn finish(self) -> Result<Module> {
        self.finish_with(Default::default())
    }

    /// As [`finish`](Self::finish), with more at the end of the sections.
    pub(super) fn finish_with(mut self, added: [Code; Section::COUNT]) -> Result<Module> {
        if let Some((mut code, has_blocks)) = self.function.take() {
            let section = if has_blocks { Section::Definitions } else { Section::Declarations };
            self.section(section).append(&mut code);
        }
        let (last, mut lines) = (self.last, std::mem::take(&mut self.lines));
        self.section(last).append(&mut lines);
        self.declarations.append_sections(added);
        self.declarations.finish()
    }

    fn place(&mut self, instruction: &Instruction<'_>, write: impl FnOnce(&mut Code)) {
        if let Some((code, has_blocks)) = &mut self.function {
            write(code);
            *has_blocks |= instruction.is(Op::Label);
            if instruction.is(Op::FunctionEnd)
                && let Some((mut code, has_blocks)) = self.function.take()
            {
                let section = if has_blocks { Section::Definitions } else { Section::Declarations };
                self.section(section).append(&mut code);
            }
            return;
        }
        if instruction.is(Op::Line) || instruction.is(Op::NoLine) {
            write(&mut self.lines);
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        if instruction.is(Op::Function) {
            write(&mut lines);
            self.function = Some((lines, false));
            self.last = Section::Definitions;
            return;
        }
        self.last = Section::of(instruction, self.last);
        let section = self.declarations.section(self.last);
        section.append(&mut lines);
        write(section);
    }
}
