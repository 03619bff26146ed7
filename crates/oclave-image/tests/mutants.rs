//! `check` beside `spirv-val`: what the validator refuses, `check` refuses as well, or the class is
//! listed here.
//!
//! `cargo test --release -p oclave-image --test mutants -- --ignored --nocapture` runs it.
//! `MUTANTS` sets how many modules are made, `SEED` the first number. The validator is the library
//! of SPIRV-Tools (`spirv-tools` with its headers), in a process of its own. `MUTANTS_VALIDATOR`
//! names one that is compiled already.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use oclave_image::passes::interpreter::interpreter_module;
use oclave_image::passes::{LinkInput, link_modules};
use oclave_image::{DeviceImage, DeviceTarget, legalize};
use oclave_spirv::check;
use oclave_spirv::transform::capabilities;
use oclave_spirv::transform::dce;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::version;
use oclave_spirv::{Module, Version};
use support::mutate::Mutator;

/// What `spirv-val` refuses and `check` takes: a part of the validator's message, and why `check`
/// takes it.
const TAKEN: &[(&str, &str)] = &[
    (
        "is used by entry point",
        "drivers do not read the interfaces of kernels, and older translators leave them out",
    ),
    (
        "may not be targeted by both an OpEntryPoint",
        "OpenCL C kernels may call kernels, and older translators write that as it is",
    ),
    ("because it is targeted by an OpEntryPoint", "older translators export kernels; drivers take it"),
    ("All OpVariable instructions in a function must be", "translators leave allocas where LLVM has them"),
    ("appears in the binary before its dominator", "translators keep LLVM's order of blocks"),
    (
        "must immediately precede either an OpBranch",
        "translators put OpLoopMerge where LLVM has its metadata",
    ),
    ("must be the second-to-last instruction", "the same rule"),
    ("requires SPIR-V version", "drivers take newer capabilities in modules of older versions"),
    ("Target of NonWritable decoration is invalid", "a rule for the storage classes of shaders"),
    ("OpEntryPoint interfaces must be", "drivers do not read the interfaces of kernels"),
    ("Invalid decoration operand", "decorations that are newer than Debian 12's spirv-val"),
    ("Invalid capability operand", "capabilities that are newer than Debian 12's spirv-val"),
    ("is already a merge block for another header", "kernels are not structured, and drivers drop merges"),
    ("Duplicate non-aggregate type declarations", "translators write them; equal types are taken as one"),
    ("expected Format data type", "translators from opaque pointers give the array of the format"),
    ("FPGAInvocationPipeliningAttributesINTEL", "decorations for FPGAs, which other drivers do not read"),
    ("FPGAMemoryAttributesINTEL", "decorations for FPGAs, which other drivers do not read"),
    ("FPGALoopControlsINTEL", "loop controls for FPGAs, which other drivers do not read"),
    ("FPGAMemoryAccessesINTEL", "decorations for FPGAs, which other drivers do not read"),
    ("IOPipesINTEL", "decorations for FPGAs, which other drivers do not read"),
    (
        "two memory access operands requires SPIR-V",
        "drivers take newer operands in modules of older versions",
    ),
    (
        "OpTypeVector Component Type",
        "translators write vectors of pointers without Intel's extension for them",
    ),
    // Modules with these were built on each device. rusticl refuses them with a log.
    ("Merge Block may not be the block containing", "kernels are not structured, and drivers drop merges"),
    ("Merge Block and Continue Target must be different", "the same reason"),
    ("loop controls must not both be specified", "hints that contradict each other are no danger"),
    ("IterationMultiple loop control operand must be", "a hint"),
    (
        "Expected Image 'Sampled Type' to be the same as",
        "kernels' images have none, and the drivers that do not refuse it do not read it",
    ),
    // So were seven capabilities without their extensions.
    ("requires one of these extensions", "Intel's runtime and PoCL do not ask; rusticl refuses with a log"),
    ("one of the following extensions", "the same rule for instructions, whose capabilities are checked"),
    ("must be a constant for WorkgroupSize", "a rule of shaders; in kernels it is get_local_size"),
];

struct Validator(Child);

impl Validator {
    /// Compiles and starts it; `None` where SPIRV-Tools' headers or a compiler are missing.
    fn start() -> Option<Self> {
        if let Some(program) = std::env::var_os("MUTANTS_VALIDATOR") {
            return Some(Self::run(program.as_ref()));
        }
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/validator.c");
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("validator");
        let compiled = Command::new("cc")
            .args(["-O1", source, "-lSPIRV-Tools", "-lstdc++", "-lm", "-o"])
            .arg(&program)
            .stderr(Stdio::null())
            .status();
        if !compiled.is_ok_and(|status| status.success()) {
            return None;
        }
        Some(Self::run(&program))
    }

    fn run(program: &std::path::Path) -> Self {
        Self(Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// The message with which a module is refused; empty for a valid one.
    fn message(&mut self, words: &[u32]) -> String {
        let mut bytes = Vec::with_capacity(words.len() * 4 + 4);
        bytes.extend_from_slice(&(words.len() as u32).to_le_bytes());
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        let stdin = self.0.stdin.as_mut().unwrap();
        stdin.write_all(&bytes).unwrap();
        stdin.flush().unwrap();
        let stdout = self.0.stdout.as_mut().unwrap();
        let mut length = [0; 4];
        stdout.read_exact(&mut length).unwrap();
        let mut message = vec![0; u32::from_le_bytes(length) as usize];
        stdout.read_exact(&mut message).unwrap();
        String::from_utf8_lossy(&message).into_owned()
    }
}

impl Drop for Validator {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Modules that both take: those of the corpus and the fixtures, and the interpreter modules of
/// them.
fn bases(validator: &mut Validator) -> Vec<Vec<u32>> {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files: Vec<_> = std::fs::read_dir(fixtures).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "spv"));
    files.sort();
    let mut modules: Vec<Module> =
        support::corpus().iter().map(|(_, bytes)| Module::from_bytes(bytes).unwrap()).collect();
    modules.extend(files.iter().map(|path| Module::from_bytes(&std::fs::read(path).unwrap()).unwrap()));
    let mut all = Vec::new();
    for module in modules {
        let stripped = strip::strip(&module, |_| true).unwrap();
        if check::check(&stripped).is_err() || !validator.message(stripped.words()).is_empty() {
            continue;
        }
        if let Ok(made) = interpreter_module(&stripped, &DeviceTarget::default(), 1 << 20) {
            assert_eq!(validator.message(made.module.words()), "", "interpreter modules are valid");
            all.push(made.module.into_words());
        }
        all.push(stripped.into_words());
    }
    assert!(all.len() >= 40, "only {} modules to begin with", all.len());
    all
}

/// What the passes of the runtime make of a module, where they make something.
fn passes(module: &Module) -> Vec<(&'static str, Module)> {
    let interpreted = |turns| {
        let target = DeviceTarget { serial_work_items: turns, ..DeviceTarget::default() };
        interpreter_module(module, &target, 1 << 20).map(|made| made.module).ok()
    };
    let input = LinkInput { name: "mutant", module };
    let image = DeviceImage { spirv: module.words().to_vec(), ..DeviceImage::default() };
    let made = [
        ("interpreter", interpreted(false)),
        ("interpreter of turns", interpreted(true)),
        ("dce", dce::eliminate(module, |root| matches!(root, dce::Root::EntryPoint(_))).ok()),
        ("prune", capabilities::prune(module).ok()),
        ("lower", version::lower(module, Version::V1_0).ok()),
        ("link", link_modules(&[input], |_| true).ok()),
    ];
    let legal = support::fuzz::targets().map(|(name, target)| {
        (name, legalize(&image, &target).ok().and_then(|words| Module::from_words(words).ok()))
    });
    made.into_iter().chain(legal).filter_map(|(pass, made)| Some((pass, made?))).collect()
}

/// Writes a module into the folder `MUTANTS_OUT`, where the variable is set.
fn keep(name: &str, module: &Module) {
    if let Some(folder) = std::env::var_os("MUTANTS_OUT") {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(std::path::Path::new(&folder).join(name), module.to_bytes()).unwrap();
    }
}

/// A message without names and numbers.
fn class(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let mut class = String::new();
    let mut skip = None;
    for c in line.chars() {
        match (skip, c) {
            (Some(end), _) if c == end => skip = None,
            (Some(_), _) => {}
            (None, '\'') => skip = Some('\''),
            (None, '[') => skip = Some(']'),
            (None, '0'..='9') => class.push('#'),
            _ => class.push(c),
        }
    }
    while class.contains("##") {
        class = class.replace("##", "#");
    }
    class
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// A short run without the validator: passes make sound modules of sound ones.
#[test]
fn passes_keep_mutants_sound() {
    let corpus = support::corpus();
    let bases: Vec<Module> = corpus
        .iter()
        .filter_map(|(_, bytes)| strip::strip(&Module::from_bytes(bytes).ok()?, |_| true).ok())
        .filter(|module| check::check(module).is_ok())
        .collect();
    assert!(bases.len() >= 20, "only {} modules to begin with", bases.len());
    let mut mutator = Mutator::new(1);
    let mut made = 0;
    for _ in 0..400 {
        let mut words = bases[mutator.below(bases.len())].words().to_vec();
        mutator.module(&mut words);
        let Ok(module) = Module::from_words(words) else { continue };
        if check::check(&module).is_err() {
            continue;
        }
        for (pass, result) in passes(&module) {
            check::check(&result).unwrap_or_else(|error| panic!("{pass}: {error}"));
            made += 1;
        }
    }
    assert!(made >= 50, "only {made} modules were made");
}

#[test]
#[ignore = "long: for release mode, see above"]
fn what_the_validator_refuses_is_refused() {
    let Some(mut validator) = Validator::start() else {
        println!("skipped: SPIRV-Tools with its headers is not installed");
        return;
    };
    let bases = bases(&mut validator);
    let count = number("MUTANTS", 20_000);
    let mut mutator = Mutator::new(number("SEED", 1));
    let mut seen = HashSet::new();
    let (mut parsed, mut accepted, mut refused, mut both) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut broken = 0;
    let mut classes: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for _ in 0..count {
        let mut words = bases[mutator.below(bases.len())].clone();
        mutator.module(&mut words);
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        let Ok(module) = Module::from_words(words) else { continue };
        parsed += 1;
        if check::check(&module).is_err() {
            continue;
        }
        accepted += 1;
        if !seen.insert(hasher.finish()) {
            continue;
        }
        let message = validator.message(module.words());
        if message.is_empty() {
            both += 1;
            for (pass, made) in passes(&module) {
                let verdict = check::check(&made).map_err(|error| error.to_string());
                let message = verdict.err().unwrap_or_else(|| validator.message(made.words()));
                if !message.is_empty() && !TAKEN.iter().any(|(part, _)| message.contains(part)) {
                    broken += 1;
                    println!("{pass} made an invalid module of a valid one: {message}");
                    keep(&format!("{pass}-{:016x}.spv", hasher.finish()), &module);
                }
            }
            continue;
        }
        refused += 1;
        let entry = classes.entry(class(&message)).or_insert_with(|| (0, message.clone()));
        entry.0 += 1;
        if entry.0 <= 3 {
            println!("{:016x}.spv: {message}", hasher.finish());
            keep(&format!("{:016x}.spv", hasher.finish()), &module);
        }
    }
    println!(
        "{count} mutants of {} modules: {parsed} parsed, {accepted} accepted by check, of {} different ones {both} \
         accepted and {refused} refused by spirv-val",
        bases.len(),
        both + refused
    );
    let mut unexplained = 0;
    let mut sorted: Vec<_> = classes.iter().collect();
    sorted.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for (class, (count, example)) in sorted {
        let reason = TAKEN.iter().find(|(part, _)| example.contains(part)).map(|(_, reason)| *reason);
        println!("{count:7}  {class}\n         {}", reason.unwrap_or(example.trim()));
        unexplained += u64::from(reason.is_none());
    }
    println!("{broken} invalid modules made of valid ones by passes");
    assert_eq!(broken, 0, "passes that make invalid modules of valid ones");
    assert_eq!(unexplained, 0, "classes that spirv-val refuses, that check takes, and that are not listed");
}
