//! One instruction of a module, as words.

use std::borrow::Cow;
use std::sync::LazyLock;

use ::spirv::{Decoration, LinkageType, Op};

use super::definitions::Definitions;
use super::grammar::{self, Fit, Role};

/// Opcodes by number: `Op::from_u32` is a long chain of comparisons, and passes ask for every
/// instruction.
static OPS: LazyLock<Vec<Option<Op>>> =
    LazyLock::new(|| (0..grammar::INDEXED as u32).map(Op::from_u32).collect());

/// A view of one instruction. All accessors are safe on any words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction<'m> {
    /// The opcode, known to [`Op`] or not.
    pub opcode: u16,
    /// All words, the one with count and opcode first.
    pub words: &'m [u32],
    /// Index of the first word in the module (the header counts).
    pub at: usize,
}

impl<'m> Instruction<'m> {
    /// The opcode by name; `None` where the `spirv` crate does not know it.
    #[inline]
    pub fn op(&self) -> Option<Op> {
        match OPS.get(usize::from(self.opcode)) {
            Some(&op) => op,
            None => Op::from_u32(self.opcode.into()),
        }
    }

    /// Whether this is an `op`.
    #[inline]
    pub fn is(&self, op: Op) -> bool {
        u32::from(self.opcode) == op as u32
    }

    /// Word `index`, 0 being the one with count and opcode.
    #[inline]
    pub fn word(&self, index: usize) -> Option<u32> {
        self.words.get(index).copied()
    }

    /// The words after result type and result id; all but the first word where the opcode is
    /// unknown.
    #[inline]
    pub fn operands(&self) -> &'m [u32] {
        let skip = 1 + usize::from(self.type_index().is_some()) + usize::from(self.result_index().is_some());
        self.words.get(skip..).unwrap_or_default()
    }

    /// Operand `index`, not counting result type and result id (`OpLoad`'s pointer is operand 0).
    #[inline]
    pub fn operand(&self, index: usize) -> Option<u32> {
        self.operands().get(index).copied()
    }

    /// The id that the instruction defines.
    #[inline]
    pub fn result_id(&self) -> Option<u32> {
        self.word(self.result_index()?)
    }

    /// The type of the id that the instruction defines.
    #[inline]
    pub fn result_type(&self) -> Option<u32> {
        self.word(self.type_index()?)
    }

    /// The literal string that starts at operand `index`. Bytes that are not UTF-8 are replaced.
    pub fn string(&self, index: usize) -> Option<Cow<'m, str>> {
        let (bytes, _) = self.string_bytes(self.words.len() - self.operands().len() + index)?;
        Some(match String::from_utf8(bytes) {
            Ok(text) => Cow::Owned(text),
            Err(bad) => Cow::Owned(String::from_utf8_lossy(bad.as_bytes()).into_owned()),
        })
    }

    /// The operands that follow the literal string at operand `index` (the interface of an
    /// `OpEntryPoint`).
    pub fn after_string(&self, index: usize) -> Option<&'m [u32]> {
        let start = self.words.len() - self.operands().len() + index;
        self.words.get(start + self.string_words(start)?..)
    }

    /// Whether the literal string at operand `index` is `text`, without decoding it.
    pub fn string_is(&self, index: usize, text: &str) -> bool {
        let start = self.words.len() - self.operands().len() + index;
        let mut bytes = self.words.get(start..).unwrap_or_default().iter().flat_map(|w| w.to_le_bytes());
        text.bytes().all(|b| bytes.next() == Some(b)) && bytes.next() == Some(0)
    }

    /// Calls `visit(word index, role)` for every word that is, or may be, an id.
    #[inline]
    pub fn visit_ids(&self, definitions: &Definitions<'_>, visit: impl FnMut(usize, Role)) -> Fit {
        grammar::visit_ids(self, definitions, visit)
    }

    /// The words with each id that the instruction uses or defines replaced by `map`. Words of unknown instructions stay as they are.
    pub(super) fn mapped(&self, definitions: &Definitions<'_>, mut map: impl FnMut(u32) -> u32) -> Vec<u32> {
        let mut words = self.words.to_vec();
        self.visit_ids(definitions, |index, role| {
            if role != Role::MaybeId
                && let Some(word) = words.get_mut(index)
            {
                *word = map(*word);
            }
        });
        words
    }

    /// Whether the grammar table has the opcode.
    pub fn is_known(&self) -> bool {
        grammar::is_known(self.opcode)
    }

    #[inline]
    fn type_index(&self) -> Option<usize> {
        grammar::type_index(self.opcode)
    }

    #[inline]
    fn result_index(&self) -> Option<usize> {
        grammar::result_index(self.opcode)
    }

    /// How many words the string at word `start` takes.
    ///
    /// `None` if it does not end, or if its last word is not padded with zeros. The LLVM
    /// translator aborts on the latter.
    pub(super) fn string_words(&self, start: usize) -> Option<usize> {
        let words = self.words.get(start..)?;
        let last = words.iter().position(|w| w.to_le_bytes().contains(&0))?;
        let padded = words.get(last)?.to_le_bytes().into_iter().skip_while(|&b| b != 0).all(|b| b == 0);
        padded.then_some(last + 1)
    }

    fn string_bytes(&self, start: usize) -> Option<(Vec<u8>, usize)> {
        let count = self.string_words(start)?;
        let mut bytes: Vec<u8> =
            self.words.get(start..start + count)?.iter().flat_map(|w| w.to_le_bytes()).collect();
        if let Some(end) = bytes.iter().position(|&b| b == 0) {
            bytes.truncate(end);
        }
        Some((bytes, count))
    }

    /// The id that the instruction gives a linkage name, the name, and whether it is exported or imported.
    pub fn linkage(&self) -> Option<(u32, Cow<'m, str>, LinkageType)> {
        match *self.operands() {
            [id, decoration, ..]
                if self.is(Op::Decorate) && decoration == Decoration::LinkageAttributes as u32 =>
            {
                let kind = self.after_string(2)?.first().copied().and_then(LinkageType::from_u32)?;
                Some((id, self.string(2)?, kind))
            }
            _ => None,
        }
    }
}
