//! Whether two images that provide one virtual function mean the same by it.
//!
//! Functions are told apart by their names, as linkers do, and of two of one name only one is
//! linked. So what they execute must be the same. Names of types and lines of sources may differ.
//! One source at two optimisation levels has two bodies, too. Nothing tells that from another
//! function, so it is refused as well.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::virtual_functions::VirtualFunction;
use crate::{DeviceImage, Result, VirtualFunctions};
use oclave_spirv::{Definitions, Instruction, Module, Op};

/// A function that two images provide with different bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyConflict {
    /// The name of the function.
    pub function: String,
    /// Places of the two images among the sets.
    pub images: [usize; 2],
}

/// Functions that several images provide with different bodies.
///
/// # Errors
/// For images whose words are no module.
pub(super) fn conflicts(
    sets: &[&DeviceImage],
    described: &[(&str, VirtualFunctions)],
) -> Result<Vec<BodyConflict>> {
    let mut providers: BTreeMap<&str, Vec<(usize, &VirtualFunction)>> = BTreeMap::new();
    for (index, (_, set)) in described.iter().enumerate() {
        for function in &set.functions {
            providers.entry(&function.name).or_default().push((index, function));
        }
    }
    providers.retain(|_, images| images.len() > 1);
    let mut modules: BTreeMap<usize, Module> = BTreeMap::new();
    for &(index, _) in providers.values().flatten() {
        if let (false, Some(set)) = (modules.contains_key(&index), sets.get(index)) {
            modules.insert(index, Module::from_words(set.spirv.clone())?);
        }
    }
    let facts: BTreeMap<usize, Facts<'_>> =
        modules.iter().map(|(index, module)| (*index, Facts::new(module))).collect();
    let body = |(index, function): &(usize, &VirtualFunction)| facts.get(index)?.body(&function.wrapper);
    let mut conflicts = Vec::new();
    for (name, images) in &providers {
        let Some((first, others)) = images.split_first() else { continue };
        let expected = body(first);
        if let Some(other) = others.iter().find(|other| body(other) != expected) {
            conflicts.push(BodyConflict { function: (*name).to_owned(), images: [first.0, other.0] });
        }
    }
    Ok(conflicts)
}

/// A module and the names that its ids have for other modules.
struct Facts<'m> {
    definitions: Definitions<'m>,
    names: BTreeMap<u32, String>,
}

impl<'m> Facts<'m> {
    fn new(module: &'m Module) -> Self {
        let names = module.linkages().map(|(id, name, _)| (id, name.into_owned())).collect();
        Self { definitions: Definitions::new(module), names }
    }

    /// All that the exported function executes, in words that do not depend on how the module
    /// numbers its ids.
    fn body(&self, export: &str) -> Option<Vec<u32>> {
        let root = self.names.iter().find(|(_, name)| *name == export).map(|(id, _)| *id)?;
        let mut walk =
            Walk { facts: self, numbers: BTreeMap::new(), open: VecDeque::new(), words: Vec::new() };
        walk.number(root);
        let mut inside = BTreeSet::new();
        while let Some(id) = walk.open.pop_front() {
            if !inside.contains(&id) {
                walk.definition(id, id == root, &mut inside);
            }
        }
        Some(walk.words)
    }
}

/// Ids in the order in which they are met.
struct Walk<'w, 'm> {
    facts: &'w Facts<'m>,
    numbers: BTreeMap<u32, u32>,
    open: VecDeque<u32>,
    words: Vec<u32>,
}

impl Walk<'_, '_> {
    fn number(&mut self, id: u32) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(id).or_insert_with(|| {
            self.open.push_back(id);
            next
        })
    }

    /// A type, constant, variable or function; `inside` gets the ids that a function defines.
    fn definition(&mut self, id: u32, is_root: bool, inside: &mut BTreeSet<u32>) {
        let definitions = &self.facts.definitions;
        let Some(instruction) = definitions.instruction(id) else { return };
        let name = self.facts.names.get(&id).filter(|_| !is_root);
        if !instruction.is(Op::Function) {
            if let (true, Some(name)) = (instruction.is(Op::Variable), name) {
                return self.words.extend(name.bytes().map(u32::from));
            }
            return self.instruction(&instruction);
        }
        let code = definitions.module().instructions_from(instruction.at);
        let body: Vec<Instruction<'_>> = code.take_while(|i| !i.is(Op::FunctionEnd)).collect();
        // Found by its name where it is linked.
        if let (false, Some(name)) = (body.iter().any(|i| i.is(Op::Label)), name) {
            return self.words.extend(name.bytes().map(u32::from));
        }
        for instruction in body {
            inside.extend(instruction.result_id());
            if !instruction.is(Op::Line) && !instruction.is(Op::NoLine) {
                self.instruction(&instruction);
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let mut ids = BTreeSet::new();
        instruction.visit_ids(&self.facts.definitions, |index, _| {
            ids.insert(index);
        });
        self.words.push(u32::from(instruction.opcode));
        for index in 1.. {
            let Some(word) = instruction.word(index) else { break };
            let word = if ids.contains(&index) { self.number(word) } else { word };
            self.words.push(word);
        }
    }
}
