//! Digests of adapted modules, for changes of passes that must not change their results:
//! `cargo run -p oclave-faults --example adapted -- FOLDER… > before`.
//!
//! A row is `file,driver,pass,digest`, for each device image (`.oclimg`) and module (`.spv`) below the folders, for each pass that changes it,
//! and for the whole adaptation. New ids may have other numbers, and types and decorations another order: digests do not tell these apart.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a tool fails by panicking")]

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use oclave_faults::{Driver, Family, FaultSet, Version};
use oclave_image::passes::legalize_watched;
use oclave_image::{Aspects, DeviceImage, DeviceTarget};
use oclave_spirv::{Definitions, Module, Op, Role, Section};

const DRIVERS: [(&str, Family, Version); 4] = [
    ("intel", Family::IntelCpu, Version(2026, 22)),
    ("pocl6", Family::Pocl, Version(6, 0)),
    ("pocl7", Family::Pocl, Version(7, 1)),
    ("rusticl", Family::Rusticl, Version(26, 1)),
];

fn main() {
    let mut files = Vec::new();
    std::env::args().skip(1).for_each(|folder| find(Path::new(&folder), &mut files));
    files.sort();
    let mut out = std::io::stdout().lock();
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let image = if file.extension().is_some_and(|ending| ending == "spv") {
            let Ok(module) = Module::from_bytes(&bytes) else { continue };
            DeviceImage {
                name: "module".to_owned(),
                spirv: module.words().to_vec(),
                ..DeviceImage::default()
            }
        } else {
            let Ok(image) = DeviceImage::from_bytes(&bytes) else { continue };
            image
        };
        let Ok(before) = Module::from_words(image.spirv.clone()) else { continue };
        for (driver, family, version) in DRIVERS {
            let target = DeviceTarget {
                faults: FaultSet::of(&Driver { family, version, is_cpu: true }),
                aspects: Aspects::all(),
                spirv_version: oclave_spirv::Version::V1_4,
                vector_argument_bytes: 64,
                ..DeviceTarget::default()
            };
            let file = file.display();
            let mut rows = String::new();
            let mut watch = |change: oclave_faults::passes::Change<'_>| {
                rows.push_str(&format!(
                    "{file},{driver},{},{:016x}\n",
                    change.pass,
                    digest(change.after, before.id_bound())
                ));
            };
            let row = match legalize_watched(&image, &target, Ok, &mut watch) {
                Ok(legal) => {
                    format!("{:016x}", digest(&Module::from_words(legal.words).unwrap(), before.id_bound()))
                }
                Err(error) => format!("{error}").replace(['\n', ','], " "),
            };
            write!(out, "{rows}{file},{driver},all,{row}\n").unwrap();
        }
    }
}

fn find(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| find(&entry.unwrap().path(), files));
    } else if path.extension().is_some_and(|ending| ending == "spv" || ending == "oclimg") {
        files.push(path.to_path_buf());
    }
}

/// A digest in which ids from `bound` on have no numbers.
fn digest(module: &Module, bound: u32) -> u64 {
    let definitions = Definitions::new(module);
    let functions_at = module.instructions().find(|i| i.is(Op::Function)).map_or(usize::MAX, |i| i.at);
    let mut ids = Ids { definitions: &definitions, bound, functions_at, known: HashMap::new(), new: 0 };
    let mut outside = Vec::new();
    let mut functions = Vec::new();
    let mut section = Section::Capabilities;
    let mut body: Option<Vec<u64>> = None;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            body = Some(Vec::new());
        }
        match &mut body {
            Some(code) => {
                code.push(ids.instruction(&instruction, true));
                if instruction.is(Op::FunctionEnd) {
                    functions.extend(body.take().map(|code| hash(&code)));
                }
            }
            None => {
                section = Section::of(&instruction, section);
                if instruction.is(Op::EntryPoint) {
                    // The order of an interface has no meaning.
                    let listed = instruction.after_string(2).unwrap();
                    let mut interface: Vec<u64> = listed.iter().map(|id| ids.id(*id)).collect();
                    interface.sort_unstable();
                    let head = &instruction.words[1..instruction.words.len() - listed.len()];
                    outside.push(hash(&(head, interface)));
                } else if section != Section::Types {
                    outside.push(ids.instruction(&instruction, false));
                }
            }
        }
    }
    outside.sort_unstable();
    outside.dedup();
    // The order of functions has one: some compilers depend on it.
    hash(&(outside, functions))
}

struct Ids<'d, 'm> {
    definitions: &'d Definitions<'m>,
    bound: u32,
    /// The word where functions begin.
    functions_at: usize,
    known: HashMap<u32, u64>,
    /// How many new ids came in code so far.
    new: usize,
}

impl Ids<'_, '_> {
    /// A number for an id: what it is declared as, or when it came first in code.
    fn id(&mut self, id: u32) -> u64 {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let is_old = id < self.bound;
        let number = match self.definitions.instruction(id) {
            Some(declared)
                if Section::of(&declared, Section::Definitions) == Section::Types
                    && declared.at < self.functions_at =>
            {
                // A type may be part of itself.
                self.known.insert(id, 1);
                let number = self.instruction(&declared, false);
                let is_distinct = declared.is(Op::Variable) || declared.is(Op::TypeStruct);
                if is_distinct && is_old { hash(&(number, id)) } else { number }
            }
            _ if is_old => u64::from(id),
            _ => {
                self.new += 1;
                hash(&("new", self.new))
            }
        };
        self.known.insert(id, number);
        number
    }

    fn instruction(&mut self, instruction: &oclave_spirv::Instruction<'_>, has_result: bool) -> u64 {
        let mut words: Vec<u64> = instruction.words.iter().map(|word| u64::from(*word)).collect();
        let definitions = self.definitions;
        instruction.visit_ids(definitions, |index, role| {
            words[index] = match role {
                Role::Result if !has_result => 0,
                Role::MaybeId => return,
                _ => self.id(instruction.words[index]),
            };
        });
        hash(&words)
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
