//! A SPIR-V module as its words.

use std::borrow::Cow;
use std::fmt;

use ::spirv::{Decoration, LinkageType, Op, StorageClass};

use super::instruction::Instruction;
use crate::{Error, Result};

const MAGIC: u32 = ::spirv::MAGIC_NUMBER;
pub(super) const HEADER_WORDS: usize = 5;
/// Upper limit of the id bound (SPIR-V specification, section 2.17 "Universal Limits").
pub(super) const MAX_ID_BOUND: u32 = 0x3f_ffff + 1;

/// A SPIR-V version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl Version {
    /// SPIR-V 1.0, what every OpenCL device with SPIR-V takes.
    pub const V1_0: Self = Self::new(1, 0);
    /// SPIR-V 1.2, the version of OpenCL 2.2.
    pub const V1_2: Self = Self::new(1, 2);
    /// SPIR-V 1.4.
    pub const V1_4: Self = Self::new(1, 4);

    /// Version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// The version word of a module's header.
    pub const fn word(self) -> u32 {
        (self.major as u32) << 16 | (self.minor as u32) << 8
    }

    const fn from_word(word: u32) -> Self {
        Self { major: (word >> 16) as u8, minor: (word >> 8) as u8 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A SPIR-V module: a sound header and a stream of instructions that fills the rest exactly.
///
/// Nothing more is promised: ids may be undefined, operands missing, sections out of order.
/// [`crate::check`] looks at that. Words are kept as they are, so that a module goes out byte for
/// byte as it came in.
#[derive(Clone, PartialEq, Eq)]
pub struct Module {
    words: Vec<u32>,
    foreign_order: bool,
}

impl Module {
    /// Reads a module from bytes in either byte order.
    ///
    /// # Errors
    /// [`Error::Malformed`] where the length is no multiple of four, and as
    /// [`Module::from_words`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if !bytes.len().is_multiple_of(4) {
            let what = format!("{} bytes are no whole number of words; the file is truncated", bytes.len());
            return Err(Error::Malformed { word: bytes.len() / 4, what });
        }
        let words = bytes.chunks_exact(4).map(|c| match *c {
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        });
        Self::from_words(words.collect())
    }

    /// Takes the words of a module, in either byte order.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the header is not one of SPIR-V 1.x, or its id bound is zero or
    /// above the universal limit. The same if an instruction has no words or reaches past the end.
    pub fn from_words(mut words: Vec<u32>) -> Result<Self> {
        let foreign_order = words.first() == Some(&MAGIC.swap_bytes());
        if foreign_order {
            words.iter_mut().for_each(|w| *w = w.swap_bytes());
        }
        let &[magic, version, _, bound, schema] = words
            .first_chunk::<HEADER_WORDS>()
            .ok_or_else(|| bad(0, format!("{} words are no SPIR-V header of {HEADER_WORDS}", words.len())))?;
        if magic != MAGIC {
            return Err(bad(0, format!("magic number {magic:#010x} is not SPIR-V's {MAGIC:#010x}")));
        }
        if version >> 16 != 1 || version & 0xff != 0 {
            return Err(bad(1, format!("version word {version:#010x} is none of SPIR-V 1.x")));
        }
        if bound == 0 || bound > MAX_ID_BOUND {
            return Err(bad(3, format!("id bound {bound} is not in 1..={MAX_ID_BOUND}")));
        }
        if schema != 0 {
            return Err(bad(4, format!("instruction schema {schema} is not 0")));
        }
        if u32::try_from(words.len()).is_err() {
            return Err(bad(0, "the module has more than 2^32 words".to_owned()));
        }
        let mut at = HEADER_WORDS;
        while let Some(&first) = words.get(at) {
            let count = (first >> 16) as usize;
            if count == 0 {
                return Err(bad(at, format!("opcode {} with a word count of 0", first & 0xffff)));
            }
            if count > words.len() - at {
                let left = words.len() - at;
                let what = format!("opcode {} says {count} words, but only {left} are left", first & 0xffff);
                return Err(bad(at, what));
            }
            at += count;
        }
        Ok(Self { words, foreign_order })
    }

    /// The `SpecId`s of its specialization constants.
    pub fn spec_ids(&self) -> impl Iterator<Item = u32> {
        self.instructions().filter_map(|instruction| match instruction.operands() {
            &[_, decoration, id]
                if instruction.op() == Some(Op::Decorate) && decoration == Decoration::SpecId as u32 =>
            {
                Some(id)
            }
            _ => None,
        })
    }

    /// The instructions in order.
    pub fn instructions(&self) -> Instructions<'_> {
        Instructions { words: &self.words, at: HEADER_WORDS }
    }

    /// The instructions at module scope: all before the first function.
    pub fn global_instructions(&self) -> impl Iterator<Item = Instruction<'_>> {
        self.instructions().take_while(|i| !i.is(Op::Function))
    }

    /// The instruction that starts at word `at`. Only positions from an [`Instruction::at`] of this
    /// module make sense.
    #[inline]
    pub fn instruction_at(&self, at: usize) -> Option<Instruction<'_>> {
        if at < HEADER_WORDS { None } else { read(&self.words, at) }
    }

    /// The instructions from word `at` on. Only positions from an [`Instruction::at`] of this
    /// module make sense.
    pub fn instructions_from(&self, at: usize) -> Instructions<'_> {
        Instructions { words: &self.words, at: at.max(HEADER_WORDS) }
    }

    /// The SPIR-V version of the header.
    pub fn version(&self) -> Version {
        Version::from_word(self.header(1))
    }

    /// The generator's number of the header.
    pub fn generator(&self) -> u32 {
        self.header(2)
    }

    /// All ids are below this.
    pub fn id_bound(&self) -> u32 {
        self.header(3)
    }

    /// All words in host order, the header first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// All words in host order, the header first.
    pub fn into_words(self) -> Vec<u32> {
        self.words
    }

    /// The module as bytes, in the byte order in which it was read (little-endian if it was made
    /// here).
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.foreign_order {
            self.words.iter().flat_map(|w| w.to_be_bytes()).collect()
        } else {
            self.words.iter().flat_map(|w| w.to_le_bytes()).collect()
        }
    }

    /// The string of the `OpName` of every named id, in the module's order.
    pub fn names(&self) -> impl Iterator<Item = (u32, String)> {
        self.global_instructions()
            .filter(|i| i.is(Op::Name))
            .filter_map(|i| Some((i.operand(0)?, i.string(1)?.into_owned())))
    }

    /// The ids with a linkage name, each with the name and whether it is exported or imported.
    pub fn linkages(&self) -> impl Iterator<Item = (u32, Cow<'_, str>, LinkageType)> {
        self.global_instructions().filter_map(|i| i.linkage())
    }

    /// The module's variables of a storage class. Those of functions are not among them.
    pub fn variables(&self, class: StorageClass) -> impl Iterator<Item = u32> {
        let outside = self.global_instructions();
        let found = outside.filter(move |i| i.is(Op::Variable) && i.operand(0) == Some(class as u32));
        found.filter_map(|i| i.result_id())
    }

    /// The ids that are decorated as built-in, each with the number of its built-in.
    pub fn built_ins(&self) -> impl Iterator<Item = (u32, u32)> {
        self.global_instructions().filter(|i| i.is(Op::Decorate)).filter_map(|i| match *i.operands() {
            [id, decoration, number, ..] if decoration == Decoration::BuiltIn as u32 => Some((id, number)),
            _ => None,
        })
    }

    fn header(&self, word: usize) -> u32 {
        self.words.get(word).copied().unwrap_or(0)
    }

    /// A module without instructions.
    pub fn empty(version: Version) -> Self {
        Self { words: vec![MAGIC, version.word(), 0, 1, 0], foreign_order: false }
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("version", &self.version())
            .field("id_bound", &self.id_bound())
            .field("words", &self.words.len())
            .finish()
    }
}

fn bad(word: usize, what: String) -> Error {
    Error::Malformed { word, what }
}

#[inline]
fn read(words: &[u32], at: usize) -> Option<Instruction<'_>> {
    let first = *words.get(at)?;
    let count = ((first >> 16) as usize).max(1);
    let end = at.saturating_add(count).min(words.len());
    Some(Instruction { opcode: (first & 0xffff) as u16, words: words.get(at..end)?, at })
}

/// The instructions of a stream without header.
pub(super) fn instructions_of(words: &[u32]) -> Instructions<'_> {
    Instructions { words, at: 0 }
}

/// Iterator over the instructions of a module.
#[derive(Debug, Clone)]
pub struct Instructions<'m> {
    words: &'m [u32],
    at: usize,
}

impl<'m> Iterator for Instructions<'m> {
    type Item = Instruction<'m>;

    #[inline]
    fn next(&mut self) -> Option<Instruction<'m>> {
        let instruction = read(self.words, self.at)?;
        self.at += instruction.words.len();
        Some(instruction)
    }
}
