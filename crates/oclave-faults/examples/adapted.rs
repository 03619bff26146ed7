//! Digests of adapted modules, for changes of passes that must not change their results:
//! `cargo run -p oclave-faults --example adapted -- FOLDER… > before`.
//!
//! A row is `file,driver,pass,digest`. There is one for each pass that changes a module, and one for the adapted module (`all`). Modules are those
//! of all device images (`.oclimg`) and SPIR-V files (`.spv`) below the folders. New ids may have other numbers, and types and decorations another
//! order: digests do not tell these apart.
//!
//! `adapted --needed FAULTS FOLDER…` writes rows `file,driver,fault` instead: the module has another digest without the work-around of this fault
//! alone. FAULTS are `all`, or some as `Q9,Q16`. It looks at device images only.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a tool fails by panicking")]

#[path = "../tests/support/targets.rs"]
mod targets;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use oclave_faults::Fault;
use oclave_faults::passes::Change;
use oclave_image::passes::legalize_watched;
use oclave_image::{DeviceImage, DeviceTarget};
use oclave_spirv::{Definitions, Module, Op, Role, Section};

fn main() {
    let mut folders: Vec<String> = std::env::args().skip(1).collect();
    let asks_for_needed = folders.first().is_some_and(|word| word == "--needed");
    let faults: Option<Vec<String>> = asks_for_needed
        .then(|| folders.drain(..2).nth(1).unwrap().split(',').map(ToOwned::to_owned).collect());
    let mut files = Vec::new();
    folders.iter().for_each(|folder| find(Path::new(folder), &mut files));
    files.sort();
    files.retain(|file| faults.is_none() || file.extension().is_some_and(|ending| ending == "oclimg"));
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
        for (driver, target) in targets::targets() {
            let rows = match &faults {
                Some(faults) => needed(&image, &target, faults),
                None => passes(&image, &target),
            };
            rows.iter().for_each(|row| writeln!(out, "{},{driver},{row}", file.display()).unwrap());
        }
    }
}

/// A digest after each pass, and of the adapted module.
fn passes(image: &DeviceImage, target: &DeviceTarget) -> Vec<String> {
    let mut rows = Vec::new();
    let all = adapt(image, target, &mut |pass, digest| rows.push(format!("{pass},{digest}")));
    rows.push(format!("all,{all}"));
    rows
}

/// Those of some faults whose work-arounds change the adapted module.
fn needed(image: &DeviceImage, target: &DeviceTarget, faults: &[String]) -> Vec<String> {
    let is_asked = |fault: &Fault| faults.iter().any(|word| word == "all" || *word == fault.to_string());
    let faults: Vec<Fault> = target.faults.iter().filter(is_asked).collect();
    if faults.is_empty() {
        return Vec::new();
    }
    let all = adapt(image, target, &mut |_, _| ());
    let without = |fault| {
        let mut other = target.clone();
        other.faults.remove(fault);
        adapt(image, &other, &mut |_, _| ())
    };
    faults.into_iter().filter(|fault| without(*fault) != all).map(|fault| fault.to_string()).collect()
}

/// The digest of a module that is adapted for a device, or the error. `watch` gets each pass that changes it, and the digest then.
fn adapt(image: &DeviceImage, target: &DeviceTarget, watch: &mut dyn FnMut(&str, String)) -> String {
    let Ok(before) = Module::from_words(image.spirv.clone()) else { return "no module".to_owned() };
    let digest = |module: &Module| format!("{:016x}", digest(module, before.id_bound()));
    let legal = legalize_watched(image, target, Ok, &mut |change: Change<'_>| {
        watch(change.pass, digest(change.after))
    });
    match legal {
        Ok(legal) => digest(&Module::from_words(legal.words).unwrap()),
        Err(error) => error.to_string().replace(['\n', ','], " "),
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
