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
use super::section::Section;
use crate::Result;

/// Writes a new module from an old one.
#[derive(Debug)]
pub struct Rewriter<'m> {
    declarations: Declarations<'m>,
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
        Self { declarations: Declarations::new(definitions) }
    }

    /// Copies an instruction as it is to where the new module is being written: its section, or the
    /// current function.
    pub fn copy(&mut self, instruction: &Instruction<'_>) {
        self.append(instruction);
    }

    /// Copies an instruction, unless it names or decorates an id that is gone. Decorations of
    /// groups lose such targets, and the interfaces of entry points lose such variables.
    pub fn copy_unless_gone(&mut self, instruction: &Instruction<'_>, is_gone: impl Fn(u32) -> bool) {
        self.append_annotated(instruction, is_gone, &[]);
    }

    /// Copies an instruction with every id that it uses or defines replaced by `map`.
    ///
    /// Words of unknown instructions stay as they are.
    pub fn copy_mapped(&mut self, instruction: &Instruction<'_>, map: impl FnMut(u32) -> u32) {
        self.append_mapped(instruction, map);
    }

    /// Writes an instruction in the place of `instruction`: its section, or the current function.
    pub fn replace(&mut self, instruction: &Instruction<'_>, op: Op, operands: &[u32]) {
        let structural = matches!(op, Op::Function | Op::FunctionEnd | Op::Label);
        let was = instruction.op();
        self.unsorted |= !self.is_in_function() && !structural;
        // What begins and ends functions is told by the new opcode.
        if structural || was.is_some_and(|w| matches!(w, Op::Function | Op::FunctionEnd | Op::Label)) {
            let mut code = Code::new();
            code.push(op, operands);
            let new = Instruction { opcode: op as u16, words: code.words(), at: instruction.at };
            self.append_as(&new, |to| to.push(op, operands));
        } else {
            self.append_as(instruction, |code| code.push(op, operands));
        }
    }

    /// Appends an instruction to the function that is being copied; without one, to
    /// [`Section::Types`].
    pub fn push(&mut self, op: Op, operands: &[u32]) {
        if !self.push_in_function(op, operands) {
            self.push_in(Section::Types, op, operands);
        }
    }

    /// Puts the sections together.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] where ids ran out or an instruction became too long to encode;
    /// [`crate::Error::Malformed`] where what was pushed is no stream of instructions.
    pub fn finish(mut self) -> Result<Module> {
        self.end_appending();
        self.declarations.finish()
    }
}
