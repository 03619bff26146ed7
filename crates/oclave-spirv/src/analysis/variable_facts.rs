//! Names and decorations of module-scope variables.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Decoration, Definitions, LinkageType, Op};

/// Names, linkage and constness of module-scope variables.
#[derive(Debug, Default)]
pub struct VariableFacts {
    /// From `OpName`.
    pub names: BTreeMap<u32, String>,
    /// Name and linkage type, from `LinkageAttributes`.
    pub linkage: BTreeMap<u32, (String, u32)>,
    /// Those with the decoration `Constant`.
    pub constant: BTreeSet<u32>,
    /// Those with the decoration `BuiltIn`.
    pub builtin: BTreeSet<u32>,
}

impl VariableFacts {
    /// Reads the names and decorations of a module.
    pub fn new(definitions: &Definitions<'_>) -> Self {
        let module = definitions.module();
        let mut facts = Self { names: module.names().collect(), ..Self::default() };
        for instruction in module.instructions().take_while(|i| !i.is(Op::Function)) {
            if let (Some(Op::Decorate), &[id, decoration, ..]) = (instruction.op(), instruction.operands()) {
                if decoration == Decoration::Constant as u32 {
                    facts.constant.insert(id);
                } else if decoration == Decoration::BuiltIn as u32 {
                    facts.builtin.insert(id);
                } else if decoration == Decoration::LinkageAttributes as u32
                    && let (Some(name), Some(&[kind, ..])) =
                        (instruction.string(2), instruction.after_string(2))
                {
                    facts.linkage.insert(id, (name.into_owned(), kind));
                }
            }
        }
        facts
    }

    /// The name of a variable; `(unnamed)` without one.
    pub fn name(&self, id: u32) -> &str {
        match (self.names.get(&id), self.linkage.get(&id)) {
            (Some(name), _) | (None, Some((name, _))) if !name.is_empty() => name,
            _ => "(unnamed)",
        }
    }

    /// Whether the variable is defined in another module.
    pub fn is_import(&self, id: u32) -> bool {
        self.linkage.get(&id).is_some_and(|(_, kind)| *kind == LinkageType::Import as u32)
    }
}
