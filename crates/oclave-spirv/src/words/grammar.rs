//! Which words of an instruction are ids.
//!
//! The table (`grammar_table.rs`) holds one line per opcode: its operands, one letter each. It is
//! checked against the grammar of `rspirv` by a test. Opcodes that it does not list are carried
//! through untouched, and every operand of theirs counts as a possible id.

use super::definitions::Definitions;
use super::grammar_table::TABLE;
use super::instruction::Instruction;

/// What a word of an instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The type of the result.
    ResultType,
    /// The id that the instruction defines.
    Result,
    /// An id that the instruction uses.
    Id,
    /// A word of an unknown instruction or extended instruction set: an id, or a literal that looks
    /// like one.
    MaybeId,
}

/// How well the words of an instruction fit its grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// All words are accounted for.
    Exact,
    /// Operands are missing, or words are left over.
    Malformed,
    /// The opcode is not in the table.
    Unknown,
}

/// One more than the highest opcode that the index covers.
pub(super) const INDEXED: usize = 8192;
const HAS_TYPE: u16 = 1 << 15;
const HAS_RESULT: u16 = 1 << 14;
const LINE: u16 = HAS_RESULT - 1;

/// For every opcode: its line in the table plus one (0: not there), and whether it has a type and a
/// result.
static INDEX: [u16; INDEXED] = index();

const fn index() -> [u16; INDEXED] {
    let mut index = [0; INDEXED];
    let mut line = 0;
    while line < TABLE.len() {
        let (opcode, layout) = TABLE[line];
        let layout = layout.as_bytes();
        let mut entry = line as u16 + 1;
        let mut i = 0;
        while i < layout.len() && i < 2 {
            match layout[i] {
                b't' => entry |= HAS_TYPE,
                b'r' => entry |= HAS_RESULT,
                _ => {}
            }
            i += 1;
        }
        index[opcode as usize] = entry;
        line += 1;
    }
    index
}

/// For every opcode whose operands are all ids: their number plus one, and 0 for all others.
///
/// Type and result count as operands. [`MORE`] is set where any number of ids may follow.
static ALL_IDS: [u8; INDEXED] = all_ids();
const MORE: u8 = 1 << 7;

const fn all_ids() -> [u8; INDEXED] {
    let mut table = [0; INDEXED];
    let mut line = 0;
    while line < TABLE.len() {
        let (opcode, layout) = TABLE[line];
        let layout = layout.as_bytes();
        let mut count = 0;
        let mut i = 0;
        while i < layout.len() && matches!(layout[i], b't' | b'r' | b'i') {
            count += 1;
            i += 1;
        }
        if i == layout.len() {
            table[opcode as usize] = count + 1;
        } else if count > 0 && i + 1 == layout.len() && layout[i] == b'*' {
            // The last of them is the one that repeats.
            table[opcode as usize] = count | MORE;
        }
        line += 1;
    }
    table
}

#[inline]
fn entry(opcode: u16) -> u16 {
    INDEX.get(usize::from(opcode)).copied().unwrap_or(0)
}

/// The letters of an opcode's operands; `None` where it is not known.
fn layout(opcode: u16) -> Option<&'static [u8]> {
    let line = (entry(opcode) & LINE).checked_sub(1)?;
    TABLE.get(usize::from(line)).map(|(_, layout)| layout.as_bytes())
}

/// Word index of the result type, if the opcode has one.
#[inline]
pub(super) fn type_index(opcode: u16) -> Option<usize> {
    (entry(opcode) & HAS_TYPE != 0).then_some(1)
}

/// Word index of the result id, if the opcode has one.
#[inline]
pub(super) fn result_index(opcode: u16) -> Option<usize> {
    let entry = entry(opcode);
    (entry & HAS_RESULT != 0).then_some(if entry & HAS_TYPE != 0 { 2 } else { 1 })
}

/// Whether the opcode is in the table.
pub(super) fn is_known(opcode: u16) -> bool {
    entry(opcode) != 0
}

/// Calls `visit(word index, role)` for every word that is, or may be, an id.
///
/// `definitions` tell the width of `OpSwitch` literals and the set of extended instructions.
pub(super) fn visit_ids(
    instruction: &Instruction<'_>,
    definitions: &Definitions<'_>,
    mut visit: impl FnMut(usize, Role),
) -> Fit {
    let words = instruction.words;
    let ids = ALL_IDS.get(usize::from(instruction.opcode)).copied().unwrap_or(0);
    if ids != 0 {
        let fixed = usize::from(ids & !MORE);
        let has_type = type_index(instruction.opcode).is_some();
        let result = result_index(instruction.opcode).unwrap_or(0);
        for index in 1..words.len() {
            visit(
                index,
                match index {
                    1 if has_type => Role::ResultType,
                    _ if index == result => Role::Result,
                    _ => Role::Id,
                },
            );
        }
        let fits = words.len() == fixed || ids & MORE != 0 && words.len() > fixed;
        return if fits { Fit::Exact } else { Fit::Malformed };
    }
    let Some(layout) = layout(instruction.opcode) else {
        (1..words.len()).for_each(|i| visit(i, Role::MaybeId));
        return Fit::Unknown;
    };
    let mut walk = Walk { instruction, definitions, at: 1, missing: false };
    walk.operands(layout, &mut visit);
    if walk.missing || walk.at != words.len() { Fit::Malformed } else { Fit::Exact }
}

struct Walk<'a, 'm> {
    instruction: &'a Instruction<'m>,
    definitions: &'a Definitions<'m>,
    at: usize,
    missing: bool,
}

impl Walk<'_, '_> {
    fn operands(&mut self, layout: &[u8], visit: &mut impl FnMut(usize, Role)) {
        let end = self.instruction.words.len();
        let mut letters = layout.iter().copied().peekable();
        while let Some(letter) = letters.next() {
            match letters.peek() {
                Some(b'?') => {
                    letters.next();
                    if self.at < end {
                        self.one(letter, visit);
                    }
                }
                Some(b'*') => {
                    letters.next();
                    while self.at < end && !self.missing {
                        self.one(letter, visit);
                    }
                }
                _ => self.one(letter, visit),
            }
            if self.missing {
                return;
            }
        }
    }

    fn one(&mut self, letter: u8, visit: &mut impl FnMut(usize, Role)) {
        match letter {
            b't' => self.id(Role::ResultType, visit),
            b'r' => self.id(Role::Result, visit),
            b'i' => self.id(Role::Id, visit),
            b'l' => self.skip(1),
            b's' => self.string(),
            // A mask or enumerant whose parameters are all literals, and numbers as wide as their
            // type.
            b'L' => {
                self.skip(1);
                self.at = self.at.max(self.instruction.words.len());
            }
            // A mask or enumerant whose parameters are all ids.
            b'I' => {
                self.skip(1);
                while self.at < self.instruction.words.len() {
                    self.id(Role::Id, visit);
                }
            }
            b'M' => self.memory_access(visit),
            b'O' => self.constant_operation(visit),
            b'X' => self.extended(visit),
            b'S' => self.switch_case(visit),
            // Pairs.
            b'p' => {
                self.id(Role::Id, visit);
                self.skip(1);
            }
            b'q' => {
                self.id(Role::Id, visit);
                self.id(Role::Id, visit);
            }
            _ => self.missing = true,
        }
    }

    fn word(&self) -> Option<u32> {
        self.instruction.words.get(self.at).copied()
    }

    fn skip(&mut self, words: usize) {
        self.at += words;
        self.missing |= self.at > self.instruction.words.len();
    }

    fn id(&mut self, role: Role, visit: &mut impl FnMut(usize, Role)) {
        if self.at < self.instruction.words.len() {
            visit(self.at, role);
        }
        self.skip(1);
    }

    fn string(&mut self) {
        match self.instruction.string_words(self.at) {
            Some(words) => self.skip(words),
            None => self.missing = true,
        }
    }

    fn memory_access(&mut self, visit: &mut impl FnMut(usize, Role)) {
        let Some(mask) = self.word() else {
            self.missing = true;
            return;
        };
        self.skip(1);
        let access = ::spirv::MemoryAccess::from_bits_retain(mask);
        if access.contains(::spirv::MemoryAccess::ALIGNED) {
            self.skip(1);
        }
        for with_id in [
            ::spirv::MemoryAccess::MAKE_POINTER_AVAILABLE,
            ::spirv::MemoryAccess::MAKE_POINTER_VISIBLE,
            ::spirv::MemoryAccess::ALIAS_SCOPE_INTEL_MASK,
            ::spirv::MemoryAccess::NO_ALIAS_INTEL_MASK,
        ] {
            if access.contains(with_id) {
                self.id(Role::Id, visit);
            }
        }
    }

    /// The operation of an `OpSpecConstantOp`: an opcode, then its operands without type and
    /// result.
    fn constant_operation(&mut self, visit: &mut impl FnMut(usize, Role)) {
        let inner = self.word().and_then(|w| u16::try_from(w).ok()).and_then(layout);
        self.skip(1);
        match inner.and_then(|l| l.strip_prefix(b"tr")) {
            // An OpSpecConstantOp within itself, or an OpSwitch, would not end.
            Some(inner) if !inner.contains(&b'O') && !inner.contains(&b'S') => self.operands(inner, visit),
            _ => self.rest(Role::MaybeId, visit),
        }
    }

    fn rest(&mut self, role: Role, visit: &mut impl FnMut(usize, Role)) {
        while self.at < self.instruction.words.len() {
            self.id(role, visit);
        }
    }

    /// The operands of an `OpExtInst`: set, instruction number, arguments.
    fn extended(&mut self, visit: &mut impl FnMut(usize, Role)) {
        let set = self.word();
        self.id(Role::Id, visit);
        let number = self.word();
        self.skip(1);
        if set.is_none() || set != self.definitions.opencl_std() {
            return self.rest(Role::MaybeId, visit);
        }
        // The only instructions of OpenCL.std with a literal, as last operand. It is the number of
        // lanes of vloadn, vload_halfn and vloada_halfn, and the rounding mode of vstore_half_r,
        // vstore_halfn_r and vstorea_halfn_r.
        let literal = matches!(number, Some(171 | 174 | 179 | 176 | 178 | 181));
        let ids_end = self.instruction.words.len().saturating_sub(usize::from(literal));
        while self.at < ids_end {
            self.id(Role::Id, visit);
        }
        self.at = self.at.max(self.instruction.words.len());
    }

    /// One case of an `OpSwitch`: a literal as wide as the selector, then a label.
    fn switch_case(&mut self, visit: &mut impl FnMut(usize, Role)) {
        let selector = self.instruction.operand(0).unwrap_or(0);
        self.skip(self.definitions.literal_words(selector));
        self.id(Role::Id, visit);
    }
}

#[cfg(test)]
mod tests {
    use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind as Kind, OperandQuantifier as Quantifier};

    use super::TABLE;

    /// The letters of one opcode, or `None` for operands that have no place in kernels (tensors,
    /// matrices).
    fn letters(instruction: &rspirv::grammar::Instruction<'_>) -> Option<String> {
        use ::spirv::Op;
        match instruction.opcode {
            Op::ExtInst => return Some("trX".into()),
            Op::SpecConstantOp => return Some("trO".into()),
            // Their decorations and modes have ids for parameters.
            Op::DecorateId => return Some("iI".into()),
            Op::ExecutionModeId => return Some("iI".into()),
            _ => {}
        }
        let mut letters = String::new();
        for operand in instruction.operands {
            letters.push(match operand.kind {
                Kind::IdResultType => 't',
                Kind::IdResult => 'r',
                Kind::IdRef | Kind::IdScope | Kind::IdMemorySemantics => 'i',
                Kind::LiteralString => 's',
                Kind::LiteralFloat => 'l',
                Kind::LiteralInteger | Kind::LiteralExtInstInteger => 'l',
                Kind::Decoration
                | Kind::ExecutionMode
                | Kind::LoopControl
                | Kind::LiteralContextDependentNumber => 'L',
                Kind::ImageOperands => 'I',
                Kind::MemoryAccess => 'M',
                Kind::PairLiteralIntegerIdRef => 'S',
                Kind::PairIdRefLiteralInteger => 'p',
                Kind::PairIdRefIdRef => 'q',
                Kind::TensorOperands
                | Kind::TensorAddressingOperands
                | Kind::CooperativeMatrixOperands
                | Kind::RawAccessChainOperands
                | Kind::MatrixMultiplyAccumulateOperands => return None,
                _ => 'l',
            });
            match operand.quantifier {
                Quantifier::One => {}
                Quantifier::ZeroOrOne => letters.push('?'),
                Quantifier::ZeroOrMore => letters.push('*'),
            }
        }
        Some(letters)
    }

    /// The table agrees with rspirv's grammar. `OCLAVE_BLESS=1 cargo test` writes it again.
    #[test]
    fn table_agrees_with_rspirv() {
        let mut lines: Vec<(u16, String)> =
            INSTRUCTION_TABLE.iter().filter_map(|i| Some((i.opcode as u16, letters(i)?))).collect();
        lines.sort();
        lines.dedup();
        if std::env::var_os("OCLAVE_BLESS").is_some() {
            let mut text = String::from(
                "//! Operands of every opcode; see `grammar.rs` for the letters. Written by its test, not by hand.\n\n\
                 #[rustfmt::skip]\npub(super) static TABLE: &[(u16, &str)] = &[\n",
            );
            for (opcode, layout) in &lines {
                text += &format!("    ({opcode}, {layout:?}),\n");
            }
            text += "];\n";
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/spirv/grammar_table.rs");
            std::fs::write(path, text).unwrap();
            return;
        }
        assert!(lines.len() > 500, "rspirv's grammar is there: {} opcodes", lines.len());
        let ours: Vec<(u16, String)> = TABLE.iter().map(|(o, l)| (*o, (*l).to_owned())).collect();
        assert_eq!(ours, lines);
    }
}
