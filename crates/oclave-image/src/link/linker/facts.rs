//! What the parts of a link say of their ids: linkage, decorations, names.

use std::collections::{HashMap, HashSet};

use super::LinkInput;
use crate::{ImageError, Result};
use oclave_spirv::{Decoration, Instruction, LinkageType, Op, is_decoration};

/// Whether a decoration, as [`Facts::decorations`] has it, says which built-in value a variable has.
pub(super) fn is_built_in(words: &[u32]) -> bool {
    words.get(..2) == Some(&[Op::Decorate as u32, Decoration::BuiltIn as u32])
}

/// An id with a linkage name.
#[derive(Debug, Clone)]
pub(super) struct Symbol {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) linkage: LinkageType,
}

/// Facts that stand before the functions of a module.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) symbols: Vec<Symbol>,
    /// Id → its decorations as words, the target left out; groups resolved.
    decorations: HashMap<u32, Vec<Vec<u32>>>,
    names: HashMap<u32, Vec<u32>>,
    groups: HashSet<u32>,
    /// Word where the functions begin.
    functions_at: usize,
}

impl Facts {
    pub(super) fn new(input: &LinkInput<'_>) -> Result<Self> {
        let mut facts = Self { functions_at: usize::MAX, ..Self::default() };
        for instruction in input.module.instructions() {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::Function), _) => {
                    facts.functions_at = instruction.at;
                    break;
                }
                (Some(Op::DecorationGroup), _) => facts.groups.extend(instruction.result_id()),
                (Some(Op::Name), &[id, ref name @ ..]) => {
                    facts.names.insert(id, name.to_vec());
                }
                (Some(op), _) if is_decoration(op) => facts.decoration(input, &instruction)?,
                (Some(Op::GroupDecorate | Op::GroupMemberDecorate), _) => {
                    for words in facts.ungrouped(&instruction) {
                        if let &[first, target, ref rest @ ..] = words.as_slice() {
                            let words = [&[first & 0xffff], rest].concat();
                            facts.decorations.entry(target).or_default().push(words);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(facts)
    }

    fn decoration(&mut self, input: &LinkInput<'_>, instruction: &Instruction<'_>) -> Result<()> {
        let &[target, ref rest @ ..] = instruction.operands() else { return Ok(()) };
        if instruction.is(Op::Decorate) && rest.first() == Some(&(Decoration::LinkageAttributes as u32)) {
            let Some((id, name, linkage)) = instruction.linkage() else {
                let what = format!("module `{}`: linkage of an unknown kind", input.name);
                return Err(ImageError::Spirv { word: instruction.at, what });
            };
            self.symbols.push(Symbol { id, name: name.into_owned(), linkage });
        }
        let words = [&[u32::from(instruction.opcode)], rest].concat();
        self.decorations.entry(target).or_default().push(words);
        Ok(())
    }

    /// Whether the id is a group of decorations.
    pub(super) fn is_group(&self, id: u32) -> bool {
        self.groups.contains(&id)
    }

    /// Whether a place is before the functions.
    pub(super) fn is_module_scope(&self, at: usize) -> bool {
        at < self.functions_at
    }

    /// Whether a variable is one that every device provides.
    pub(super) fn is_builtin(&self, id: u32) -> bool {
        self.decorations.get(&id).is_some_and(|all| all.iter().any(|words| is_built_in(words)))
    }

    /// The `SpecId` of a constant.
    pub(super) fn spec_id(&self, id: u32) -> Option<u32> {
        self.decorations.get(&id)?.iter().find_map(|words| match words.as_slice() {
            &[op, decoration, spec_id]
                if op == Op::Decorate as u32 && decoration == Decoration::SpecId as u32 =>
            {
                Some(spec_id)
            }
            _ => None,
        })
    }

    /// What an id is decorated with, in an order that depends on nothing else; `None` where that
    /// names other ids.
    pub(super) fn decorations(&self, id: u32) -> Option<Vec<&[u32]>> {
        let Some(all) = self.decorations.get(&id) else { return Some(Vec::new()) };
        let mut sorted: Vec<&[u32]> = all.iter().map(Vec::as_slice).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let names_ids = |words: &&[u32]| words.first() == Some(&(Op::DecorateId as u32));
        (!sorted.iter().any(names_ids)).then_some(sorted)
    }

    /// The words of the name of an id.
    pub(super) fn name(&self, id: u32) -> &[u32] {
        self.names.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The decorations that an `OpGroupDecorate` or `OpGroupMemberDecorate` stands for, as
    /// instructions.
    pub(super) fn ungrouped(&self, instruction: &Instruction<'_>) -> Vec<Vec<u32>> {
        let &[group, ref targets @ ..] = instruction.operands() else { return Vec::new() };
        let of_group = self.decorations.get(&group).map(Vec::as_slice).unwrap_or_default();
        let members = instruction.is(Op::GroupMemberDecorate);
        let mut all = Vec::new();
        for target in targets.chunks_exact(if members { 2 } else { 1 }) {
            for words in of_group {
                let Some((&op, rest)) = words.split_first() else { continue };
                let op = match Op::from_u32(op) {
                    Some(Op::Decorate) if members => Op::MemberDecorate as u32,
                    Some(Op::DecorateString) if members => Op::MemberDecorateString as u32,
                    _ => op,
                };
                let count = u32::try_from(1 + target.len() + rest.len()).unwrap_or(0);
                all.push([&[count << 16 | op], target, rest].concat());
            }
        }
        all
    }
}
