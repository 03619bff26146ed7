//! Names and decorations of module-scope variables.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Decoration, Definitions, Instruction, LinkageType, Op};

/// Names, linkage and constness of module-scope variables.
#[derive(Debug, Default)]
pub struct VariableFacts {
    /// From `OpName`.
    pub names: BTreeMap<u32, String>,
    /// Name and linkage type, from `LinkageAttributes`.
    pub linkage: BTreeMap<u32, (String, LinkageType)>,
    /// Those with the decoration `Constant`.
    pub constant: BTreeSet<u32>,
    /// Those with the decoration `BuiltIn`.
    pub builtin: BTreeSet<u32>,
}

impl VariableFacts {
    /// Reads the names and decorations of a module.
    pub fn new(definitions: &Definitions<'_>) -> Self {
        let module = definitions.module();
        let is_constant =
            |i: &Instruction<'_>| i.is(Op::Decorate) && i.operand(1) == Some(Decoration::Constant as u32);
        let before_code = module.global_instructions();
        Self {
            names: module.names().collect(),
            linkage: module.linkages().map(|(id, name, kind)| (id, (name.into_owned(), kind))).collect(),
            constant: before_code.filter(is_constant).filter_map(|i| i.operand(0)).collect(),
            builtin: module.built_ins().map(|(id, _)| id).collect(),
        }
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
        self.linkage.get(&id).is_some_and(|(_, kind)| *kind == LinkageType::Import)
    }
}
