//! Linking: several modules become one, by the names of what they import and export.
//!
//! Drivers have linkers, too, and they differ: what they accept, what they report, whether what
//! they made can be taken apart or adapted any further. One module, made here, serves all of them,
//! and the passes behind.

mod facts;
mod share;
mod symbols;

use std::collections::{BTreeMap, HashMap, HashSet};

use facts::Facts;
use share::Shared;

use crate::{ImageError, Result};
use oclave_spirv::transform::{interfaces, strip};
use oclave_spirv::{
    Declarations, Definitions, Editor, IdMap, Instruction, Module, Op, Role, Version, is_decoration,
    string_words,
};

/// A module to link, and what messages call it.
#[derive(Debug, Clone, Copy)]
pub struct LinkInput<'m> {
    /// The image's name.
    pub name: &'m str,
    /// A checked module without annotations: see [`strip`](oclave_spirv::transform::strip::strip).
    pub module: &'m Module,
}

/// Makes one module of several.
///
/// Ids are renumbered. Each import becomes the export of the same name, if their types are equal.
/// Capabilities, extensions and instruction sets are merged. Types and constants that are equal,
/// decorations included, are merged too, but not structs with different names. Entry points,
/// exports, names and decorations stay. Debug information goes. If two modules use one name for different functions or
/// variables, the later one gets a new `OpName`, because drivers identify functions by name.
///
/// Several modules may have an export that is `LinkOnceODR`, or for which `merge` returns true. The
/// first is used.
///
/// # Errors
/// [`ImageError::Link`] with symbol and modules, for two exports, an import without export, and
/// different types. The same for two kernels of one name, a specialization constant with two
/// defaults, and different memory models. [`ImageError::Unsupported`] for instructions whose ids
/// are not known.
pub fn link_modules(inputs: &[LinkInput<'_>], merge: impl Fn(&str) -> bool) -> Result<Module> {
    link(inputs, merge, false)
}

/// As [`link_modules`], for modules of several languages before they become images: imports that
/// nothing exports stay.
///
/// # Errors
/// As there.
pub fn link_languages(inputs: &[LinkInput<'_>]) -> Result<Module> {
    link(inputs, |_| false, true)
}

fn link(inputs: &[LinkInput<'_>], merge: impl Fn(&str) -> bool, are_open: bool) -> Result<Module> {
    let plain: Vec<Option<Module>> =
        inputs.iter().map(|input| strip::debug_information(input.module)).collect::<Result<_, _>>()?;
    let inputs: Vec<LinkInput<'_>> = inputs
        .iter()
        .zip(&plain)
        .map(|(input, plain)| LinkInput { module: plain.as_ref().unwrap_or(input.module), ..*input })
        .collect();
    let definitions: Vec<Definitions<'_>> =
        inputs.iter().map(|input| Definitions::new(input.module)).collect();
    let mut parts: Vec<Part<'_>> = inputs
        .iter()
        .zip(&definitions)
        .map(|(input, definitions)| Part::new(input, definitions))
        .collect::<Result<_>>()?;
    check_memory_models(&parts)?;
    let version = inputs.iter().map(|input| input.module.version()).max().unwrap_or(Version::V1_0);
    let generator = inputs.first().map_or(0, |input| input.module.generator());
    let empty = Module::from_words(vec![oclave_spirv::MAGIC_NUMBER, version.word(), generator, 1, 0])?;
    let nothing = Definitions::new(&empty);
    let mut new = Editor::new(&nothing);

    let links = symbols::resolve(&mut parts, &mut new, merge, are_open)?;
    let mut shared = Shared::default();
    for part in &mut parts {
        shared.share(part, &mut new)?;
    }
    symbols::check_types(&parts, &links)?;
    // What is imported may be defined behind its use.
    new.sort_types();

    let mut writer = Writer { new, once: HashSet::new(), names: entry_names(&parts)?, part: 0 };
    for (index, part) in parts.iter_mut().enumerate() {
        writer.part = index;
        writer.write(part)?;
    }
    let linked = writer.new.finish()?.unwrap_or(empty);
    // Kernels now reach the variables of what was linked to them.
    Ok(interfaces::complete(&linked)?.unwrap_or(linked))
}

/// A module on its way into the linked one.
struct Part<'m> {
    name: &'m str,
    definitions: &'m Definitions<'m>,
    facts: Facts,
    /// Id → id in the linked module; 0 where there is none yet.
    map: IdMap<u32>,
    /// What another part, or another id of this one, stands for: definition, names and decorations
    /// go.
    dropped: HashSet<u32>,
}

impl<'m> Part<'m> {
    fn new(input: &LinkInput<'m>, definitions: &'m Definitions<'m>) -> Result<Self> {
        Ok(Self {
            name: input.name,
            definitions,
            facts: Facts::new(input)?,
            map: IdMap::new(input.module, 0),
            dropped: HashSet::new(),
        })
    }

    fn module(&self) -> &'m Module {
        self.definitions.module()
    }

    /// The id in the linked module; a new one where there is none yet.
    fn mapped(&mut self, id: u32, new: &mut Declarations<'_>) -> u32 {
        match self.map.value(id) {
            0 => {
                let fresh = new.fresh_id();
                self.map.insert(id, fresh);
                fresh
            }
            there => there,
        }
    }

    /// The words of an instruction in the linked module.
    fn words(&mut self, instruction: &Instruction<'_>, new: &mut Declarations<'_>) -> Result<Vec<u32>> {
        self.translate(instruction, new, Self::mapped)
    }

    /// The words of an instruction in the linked module, with `result` in the place of the id that
    /// it defines.
    fn translate(
        &mut self,
        instruction: &Instruction<'_>,
        new: &mut Declarations<'_>,
        mut result: impl FnMut(&mut Self, u32, &mut Declarations<'_>) -> u32,
    ) -> Result<Vec<u32>> {
        let mut words = instruction.words.to_vec();
        let mut unknown = false;
        let definitions = self.definitions;
        instruction.visit_ids(definitions, |index, role| match (words.get_mut(index), role) {
            (None, _) | (_, Role::MaybeId) => unknown = true,
            (Some(word), Role::Result) => *word = result(self, *word, new),
            (Some(word), _) => *word = self.mapped(*word, new),
        });
        if unknown {
            let opcode = instruction.opcode;
            return Err(ImageError::Unsupported(format!(
                "module `{}` has an instruction (opcode {opcode}, word {}) of which it is not known where its ids are; \
                 it cannot be linked",
                self.name, instruction.at
            )));
        }
        Ok(words)
    }

    /// Leaves out a definition; of a function, with all that is in it.
    fn drop_definition(&mut self, id: u32) {
        self.dropped.insert(id);
        let Some(first) = self.definitions.instruction(id).filter(|first| first.is(Op::Function)) else {
            return;
        };
        let body = self.module().instructions_from(first.at).take_while(|i| !i.is(Op::FunctionEnd));
        self.dropped.extend(body.filter_map(|instruction| instruction.result_id()));
    }
}

fn check_memory_models(parts: &[Part<'_>]) -> Result<()> {
    let model = |part: &Part<'_>| {
        part.module().instructions().find(|i| i.is(Op::MemoryModel)).map(|i| i.operands().to_vec())
    };
    let Some((first, others)) = parts.split_first() else {
        return Err(ImageError::Link("there is no module to link".to_owned()));
    };
    match others.iter().find(|other| model(other) != model(first)) {
        None => Ok(()),
        Some(other) => Err(ImageError::Link(format!(
            "modules `{}` and `{}` have different memory models or widths of addresses",
            first.name, other.name
        ))),
    }
}

/// The names of the kernels, with the part that has them.
fn entry_names(parts: &[Part<'_>]) -> Result<HashMap<String, usize>> {
    let mut names: BTreeMap<(u32, String), usize> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        for entry in part.module().global_instructions() {
            let (true, Some(model), Some(name)) =
                (entry.is(Op::EntryPoint), entry.operand(0), entry.string(2))
            else {
                continue;
            };
            if let Some(other) = names.insert((model, name.to_string()), index).and_then(|at| parts.get(at)) {
                return Err(ImageError::Link(format!(
                    "kernel `{name}` is in module `{}` and in module `{}`",
                    other.name, part.name
                )));
            }
        }
    }
    Ok(names.into_iter().map(|((_, name), part)| (name, part)).collect())
}

/// Writes the parts one after the other.
struct Writer<'m> {
    new: Editor<'m>,
    /// Capabilities, extensions and the like that stand already.
    once: HashSet<Vec<u32>>,
    /// Names of functions and variables, and the part that they are of.
    names: HashMap<String, usize>,
    part: usize,
}

impl Writer<'_> {
    fn write(&mut self, part: &mut Part<'_>) -> Result<()> {
        let mut skipping = false;
        for instruction in part.module().instructions() {
            let first_dropped = || instruction.operand(0).is_some_and(|id| part.dropped.contains(&id));
            let result_dropped = || instruction.result_id().is_some_and(|id| part.dropped.contains(&id));
            skipping |= instruction.is(Op::Function) && result_dropped();
            if skipping {
                skipping = !instruction.is(Op::FunctionEnd);
                continue;
            }
            let goes = match instruction.op() {
                Some(Op::Capability | Op::Extension | Op::SourceExtension) => {
                    !self.once.insert(instruction.words.to_vec())
                }
                Some(Op::MemoryModel) => self.part > 0,
                Some(op)
                    if is_decoration(op)
                        || matches!(
                            op,
                            Op::Name
                                | Op::MemberName
                                | Op::ExecutionMode
                                | Op::ExecutionModeId
                                | Op::TypeForwardPointer
                        ) =>
                {
                    first_dropped() || instruction.operand(0).is_some_and(|id| part.facts.is_group(id))
                }
                Some(Op::EntryPoint) => instruction.operand(1).is_some_and(|id| part.dropped.contains(&id)),
                Some(Op::DecorationGroup) => true,
                Some(Op::GroupDecorate | Op::GroupMemberDecorate) => {
                    self.group(part, &instruction)?;
                    true
                }
                _ => result_dropped(),
            };
            if goes {
                continue;
            }
            let mut words = part.words(&instruction, &mut self.new)?;
            if instruction.is(Op::Name) {
                self.rename(part, &instruction, &mut words);
            }
            self.new.append(&Instruction { words: &words, ..instruction });
        }
        Ok(())
    }

    /// Decorates the targets of a group one by one.
    fn group(&mut self, part: &mut Part<'_>, instruction: &Instruction<'_>) -> Result<()> {
        for words in part.facts.ungrouped(instruction) {
            let decoration = Instruction {
                opcode: words.first().map_or(0, |first| (first & 0xffff) as u16),
                words: &words,
                at: instruction.at,
            };
            if !decoration.operand(0).is_some_and(|id| part.dropped.contains(&id)) {
                let words = part.words(&decoration, &mut self.new)?;
                self.new.append(&Instruction { words: &words, ..decoration });
            }
        }
        Ok(())
    }

    /// Gives a function or variable another name where one of another part has it.
    fn rename(&mut self, part: &Part<'_>, instruction: &Instruction<'_>, words: &mut Vec<u32>) {
        let (Some(id), Some(name)) = (instruction.operand(0), instruction.string(1)) else { return };
        let is_symbol = part
            .definitions
            .instruction(id)
            .is_some_and(|i| i.is(Op::Function) || i.is(Op::Variable) && part.facts.is_module_scope(i.at));
        if !is_symbol {
            return;
        }
        let mut free = name.to_string();
        let mut count = 0_u32;
        while self.names.get(&free).is_some_and(|other| *other != self.part) {
            count += 1;
            free = format!("{name}.{}.{count}", self.part);
        }
        if free != name {
            words.truncate(2);
            words.extend(string_words(&free));
            // A name that was too long to be renamed would not have been a sound one.
            let count = u32::try_from(words.len()).unwrap_or(0);
            if let Some(first) = words.first_mut() {
                *first = count << 16 | *first & 0xffff;
            }
        }
        self.names.insert(free, self.part);
    }
}
