//! Encoding of instructions.

use ::spirv::Op;

/// A stream of encoded instructions: part of a module, or of a function, that is being made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    words: Vec<u32>,
    overlong: Option<u32>,
}

impl Code {
    /// No instructions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `op` with `operands` (result type and result id included, in the order of the
    /// specification).
    ///
    /// An instruction of more than 65535 words cannot be encoded: it is left out, and
    /// [`Editor::finish`] fails.
    ///
    /// [`Editor::finish`]: super::Editor::finish
    pub fn push(&mut self, op: Op, operands: &[u32]) {
        self.push_opcode(op as u32, operands);
    }

    /// Appends an instruction whose opcode has no name.
    pub(super) fn push_opcode(&mut self, opcode: u32, operands: &[u32]) {
        match u16::try_from(operands.len() + 1) {
            Ok(count) => {
                self.words.push(u32::from(count) << 16 | opcode & 0xffff);
                self.words.extend_from_slice(operands);
            }
            Err(_) => self.overlong = Some(opcode),
        }
    }

    /// Appends whole instructions as they are.
    pub(super) fn extend(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    /// Moves the instructions of `other` to the end.
    pub fn append(&mut self, other: &mut Self) {
        self.words.append(&mut other.words);
        self.overlong = self.overlong.or(other.overlong.take());
    }

    /// The words so far.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Whether there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn overlong(&self) -> Option<u32> {
        self.overlong
    }
}

/// The words of a literal string: UTF-8, a zero byte, zeros up to a whole word. `text` ends at its
/// first zero byte.
pub fn string_words(text: &str) -> Vec<u32> {
    let bytes = text.split('\0').next().unwrap_or_default().as_bytes();
    let mut words: Vec<u32> = bytes
        .chunks(4)
        .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)))
        .collect();
    if bytes.len().is_multiple_of(4) {
        words.push(0);
    }
    words
}
