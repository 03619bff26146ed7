//! Which capabilities and operands instructions, decorations and storage classes need.
//!
//! The tables (`requirements_table.rs`) are written from rspirv's grammar by a test. They are
//! compared with it whenever tests run.

use std::collections::HashSet;

use super::broken;
use super::requirements_table::{DECORATIONS, IMPLIED, MODES, OPCODES, STORAGE_CLASSES};
use crate::Result;
use crate::transform::capabilities::{declared, name};
use crate::transform::hints::HINTS;
use crate::{Capability, Instruction, Module, Op};

/// What a module declares, and which opcodes it may not use without more.
pub(super) struct Requirements {
    capabilities: HashSet<u32>,
    extensions: HashSet<String>,
    /// Opcodes of which no capability is declared.
    closed: HashSet<u16>,
}

impl Requirements {
    /// Reads what the module declares.
    ///
    /// # Errors
    /// For a capability that neither the grammar nor the list of hints knows, and for those of
    /// shaders.
    pub(super) fn new(module: &Module) -> Result<Self> {
        let head = || module.instructions().take_while(|i| !i.is(Op::MemoryModel));
        for instruction in head().filter(|i| i.is(Op::Capability)) {
            let capability = instruction.operand(0).unwrap_or(u32::MAX);
            if Capability::from_u32(capability).is_none() && !HINTS.iter().any(|h| h.capability == capability)
            {
                return Err(broken(&instruction, format!("capability {capability} is not known")));
            }
        }
        let mut capabilities: HashSet<u32> = HashSet::new();
        let mut open: Vec<u32> = declared(module).collect();
        while let Some(capability) = open.pop() {
            if capabilities.insert(capability) {
                open.extend(implied(capability));
            }
        }
        let extensions =
            head().filter(|i| i.is(Op::Extension)).filter_map(|i| Some(i.string(0)?.into_owned())).collect();
        if capabilities.contains(&(Capability::Shader as u32)) {
            let word = head().find(|i| i.is(Op::Capability)).map_or(5, |i| i.at);
            let what = "declares the capability Shader or one that implies it: not a module for OpenCL";
            return Err(crate::Error::Malformed { word, what: what.to_owned() });
        }
        let open = |needed: &[u32]| needed.is_empty() || needed.iter().any(|c| capabilities.contains(c));
        let closed = OPCODES.iter().filter(|(_, needed)| !open(needed)).map(|(opcode, _)| *opcode).collect();
        Ok(Self { capabilities, extensions, closed })
    }

    /// Whether a capability is declared or implied.
    pub(super) fn has(&self, capability: Capability) -> bool {
        self.capabilities.contains(&(capability as u32))
    }

    /// Whether an extension is declared.
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.extensions.contains(extension)
    }

    /// Refuses an instruction of which no capability is declared.
    pub(super) fn instruction(&self, instruction: &Instruction<'_>) -> Result<()> {
        if !self.closed.contains(&instruction.opcode) {
            return Ok(());
        }
        let needed =
            OPCODES.iter().find(|(opcode, _)| *opcode == instruction.opcode).map(|(_, needed)| *needed);
        Err(broken(instruction, lacking(needed.unwrap_or_default())))
    }

    /// Refuses a storage class of which no capability is declared.
    pub(super) fn storage_class(&self, class: u32) -> Result<(), String> {
        self.any(find(STORAGE_CLASSES, class).unwrap_or_default())
    }

    fn any(&self, needed: &[u32]) -> Result<(), String> {
        if needed.is_empty() || needed.iter().any(|c| self.capabilities.contains(c)) {
            Ok(())
        } else {
            Err(lacking(needed))
        }
    }

    /// Checks a decoration's number, its capabilities and its operands, which `ids` tells to be ids
    /// or not.
    pub(super) fn decoration(
        &self,
        instruction: &Instruction<'_>,
        decoration: u32,
        operands: &[u32],
        ids: bool,
    ) -> Result<()> {
        let hint = HINTS.iter().any(|h| h.decorations.iter().any(|range| range.contains(&decoration)));
        let Some((_, needed, letters)) = DECORATIONS.iter().find(|(number, _, _)| *number == decoration)
        else {
            let what = format!("decoration {decoration} is not known");
            return if hint { Ok(()) } else { Err(broken(instruction, what)) };
        };
        if !hint {
            self.any(needed).map_err(|what| broken(instruction, what))?;
        }
        if letters.contains('i') != ids && !hint {
            return Err(broken(
                instruction,
                format!("decoration {decoration} does not go with this instruction"),
            ));
        }
        parameters(instruction, letters, operands)
            .map_err(|what| broken(instruction, format!("decoration {decoration} {what}")))
    }

    /// Checks the capabilities and the operands of an execution mode.
    pub(super) fn mode(&self, instruction: &Instruction<'_>, mode: u32, operands: &[u32]) -> Result<()> {
        if HINTS.iter().any(|h| h.modes.contains(&mode)) {
            return Ok(());
        }
        let Some((_, needed, letters)) = MODES.iter().find(|(number, _, _)| *number == mode) else {
            return Err(broken(instruction, format!("mode {mode} is not known")));
        };
        self.any(needed).map_err(|what| broken(instruction, what))?;
        if instruction.is(Op::ExecutionModeId) != letters.contains('i') {
            let of = if letters.contains('i') { "OpExecutionModeId" } else { "OpExecutionMode" };
            return Err(broken(instruction, format!("mode {mode} is one of {of}")));
        }
        parameters(instruction, letters, operands)
            .map_err(|what| broken(instruction, format!("mode {mode} {what}")))
    }
}

/// Whether the operands are what the letters say: `l` a literal, `i` an id, `s` a string, `*` any
/// number of the last.
fn parameters(instruction: &Instruction<'_>, letters: &str, operands: &[u32]) -> Result<(), String> {
    let first = instruction.words.len() - operands.len();
    let skipped = instruction.words.len() - instruction.operands().len();
    let mut at = 0;
    for letter in letters.chars() {
        match letter {
            '*' => at = operands.len(),
            's' => match instruction.after_string(first + at - skipped) {
                Some(rest) => at = operands.len() - rest.len(),
                None => return Err("has no string".to_owned()),
            },
            _ => at += 1,
        }
    }
    if at == operands.len() { Ok(()) } else { Err(format!("does not take {} operands", operands.len())) }
}

/// The capabilities that one declares, too.
pub fn implied(capability: u32) -> &'static [u32] {
    find(IMPLIED, capability).unwrap_or_default()
}

fn lacking(needed: &[u32]) -> String {
    let names: Vec<String> = needed.iter().map(|&c| name(c)).collect();
    format!("needs the capability {}, which is not declared", names.join(" or "))
}

fn find(table: &[(u32, &'static [u32])], number: u32) -> Option<&'static [u32]> {
    table.binary_search_by_key(&number, |(n, _)| *n).ok().and_then(|i| table.get(i)).map(|(_, list)| *list)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use rspirv::dr::Operand;
    use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind as Kind, OperandQuantifier as Quantifier};

    use crate::{Capability, Decoration, ExecutionMode, StorageClass};

    const LAST: u32 = 8192;

    fn needed(operand: &Operand) -> Vec<u32> {
        let mut all: Vec<u32> = operand.required_capabilities().iter().map(|&c| c as u32).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn letters(operand: &Operand) -> String {
        let mut letters = String::new();
        for operand in operand.additional_operands() {
            letters.push(match operand.kind {
                Kind::IdRef | Kind::IdScope | Kind::IdMemorySemantics => 'i',
                Kind::LiteralString => 's',
                _ => 'l',
            });
            if operand.quantifier != Quantifier::One {
                letters.push('*');
            }
        }
        letters
    }

    fn table() -> String {
        let mut text = String::from(
            "//! Capabilities and operands; see `requirements.rs`. Written by its test, not by hand.\n\n\
             /// Capability → those that it declares, too.\n#[rustfmt::skip]\n\
             pub(super) static IMPLIED: &[(u32, &[u32])] = &[\n",
        );
        let list = |text: &mut String, number: u32, needed: &[u32]| {
            if !needed.is_empty() {
                writeln!(text, "    ({number}, &{needed:?}),").unwrap();
            }
        };
        for capability in (0..LAST).filter_map(Capability::from_u32) {
            list(&mut text, capability as u32, &needed(&Operand::Capability(capability)));
        }
        text += "];\n\n/// Opcode → capabilities of which one must be declared.\n#[rustfmt::skip]\n\
                 pub(super) static OPCODES: &[(u16, &[u32])] = &[\n";
        let mut opcodes: Vec<(u32, Vec<u32>)> = INSTRUCTION_TABLE
            .iter()
            .map(|i| (i.opcode as u32, i.capabilities.iter().map(|&c| c as u32).collect()))
            .collect();
        opcodes.sort();
        opcodes.dedup_by_key(|(opcode, _)| *opcode);
        opcodes.iter().for_each(|(opcode, needed)| list(&mut text, *opcode, needed));
        text += "];\n\n/// Storage class → capabilities of which one must be declared.\n#[rustfmt::skip]\n\
                 pub(super) static STORAGE_CLASSES: &[(u32, &[u32])] = &[\n";
        for class in (0..LAST).filter_map(StorageClass::from_u32) {
            list(&mut text, class as u32, &needed(&Operand::StorageClass(class)));
        }
        let mut enumerants = |title: &str, name: &str, all: Vec<(u32, Operand)>| {
            write!(
                text,
                "];\n\n/// {title} → capabilities of which one must be declared, operands.\n#[rustfmt::skip]\n\
                 pub(super) static {name}: &[(u32, &[u32], &str)] = &[\n"
            )
            .unwrap();
            for (number, operand) in all {
                writeln!(text, "    ({number}, &{:?}, {:?}),", needed(&operand), letters(&operand)).unwrap();
            }
        };
        let decorations = (0..LAST).filter_map(Decoration::from_u32);
        enumerants(
            "Decoration",
            "DECORATIONS",
            decorations.map(|d| (d as u32, Operand::Decoration(d))).collect(),
        );
        let modes = (0..LAST).filter_map(ExecutionMode::from_u32);
        enumerants("Execution mode", "MODES", modes.map(|m| (m as u32, Operand::ExecutionMode(m))).collect());
        text + "];\n"
    }

    /// The tables are what rspirv's grammar says. `OCLAVE_BLESS=1 cargo test` writes them again.
    #[test]
    fn tables_agree_with_rspirv() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/check/requirements_table.rs");
        let text = table();
        assert!(text.lines().count() > 500, "rspirv's grammar is there");
        if std::env::var_os("OCLAVE_BLESS").is_some() {
            std::fs::write(path, text).unwrap();
            return;
        }
        assert!(std::fs::read_to_string(path).unwrap() == text, "OCLAVE_BLESS=1 writes {path}");
    }
}
