//! Modules for tests, and comparisons of modules. The tests of oclave-image include this file, too.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

use std::io::Write;
use std::process::{Command, Stdio};

use oclave_spirv::{Capability, Code, Module, Op, Version, string_words};

/// Every module of the corpus, by file name.
pub(crate) fn corpus() -> Vec<(String, Vec<u8>)> {
    modules_in("oclave-spirv/tests/corpus")
}

/// Every module in a folder below `crates`, by file name.
pub(crate) fn modules_in(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut modules: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "spv"))
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    modules.sort();
    assert!(modules.len() >= 20, "{} has only {} modules", folder.display(), modules.len());
    modules
}

/// One module of the corpus.
pub(crate) fn module(name: &str) -> Module {
    let (_, bytes) = corpus().into_iter().find(|(n, _)| n == name).unwrap();
    Module::from_bytes(&bytes).unwrap()
}

/// What `spirv-val` says; `None` where it is not installed.
pub(crate) fn validate(module: &Module) -> Option<Result<(), String>> {
    let mut validator = Command::new("spirv-val")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // A validator that does not read to the end closes the pipe; its words tell why.
    let _ = validator.stdin.take().unwrap().write_all(&module.to_bytes());
    let output = validator.wait_with_output().unwrap();
    Some(if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

/// Whether `spirv-val` accepts a module; `None` where it is not installed.
pub(crate) fn is_valid(module: &Module) -> Option<bool> {
    Some(validate(module)?.is_ok())
}

/// Fails where `spirv-val` is installed and refuses the module.
pub(crate) fn assert_valid(name: &str, module: &Module) {
    match validate(module) {
        None => println!("skipped: no spirv-val, {name} was not validated"),
        Some(Ok(())) => {}
        Some(Err(what)) => panic!("{name}: {what}"),
    }
}

/// One line an instruction, `%id = Op words`, to compare and to read.
pub(crate) fn listing(module: &Module) -> String {
    let mut text = format!("SPIR-V {}\n", module.version());
    for instruction in module.instructions() {
        if let Some(id) = instruction.result_id() {
            text += &format!("%{id} = ");
        }
        text += &instruction.op().map_or_else(|| format!("{}", instruction.opcode), |op| format!("{op:?}"));
        if let Some(ty) = instruction.result_type() {
            text += &format!(" %{ty}");
        }
        let string = match instruction.op() {
            Some(Op::Extension | Op::ExtInstImport) => Some(0),
            Some(Op::Name) => Some(1),
            Some(Op::EntryPoint | Op::MemberName) => Some(2),
            Some(Op::Decorate) if matches!(instruction.operand(1), Some(41 | 5635)) => Some(2),
            _ => None,
        };
        let literals = string.map_or(instruction.operands(), |at| &instruction.operands()[..at]);
        literals.iter().for_each(|word| text += &format!(" {word}"));
        if let Some(at) = string {
            text += &format!(" {:?}", instruction.string(at).unwrap());
            instruction.after_string(at).unwrap().iter().for_each(|word| text += &format!(" {word}"));
        }
        text.push('\n');
    }
    text
}

/// Compares a module with `tests/golden/NAME.txt`; `OCLAVE_BLESS=1` writes that file.
pub(crate) fn golden(name: &str, module: &Module) {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    let text = listing(module);
    if std::env::var_os("OCLAVE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} is not as in its golden file (OCLAVE_BLESS=1 writes it); now:\n{text}");
}

/// A module of these instructions; the id bound is one more than the highest result.
pub(crate) fn assemble(version: Version, instructions: &[(Op, Vec<u32>)]) -> Module {
    let mut code = Code::new();
    instructions.iter().for_each(|(op, operands)| code.push(*op, operands));
    let mut words = vec![0x0723_0203, version.word(), 0, 1000, 0];
    words.extend_from_slice(code.words());
    Module::from_words(words).unwrap()
}

/// The instructions of a module of kernels with 64-bit addresses: their capabilities with some more, the memory model, and `rest`.
pub(crate) fn of_kernel(
    capabilities: &[Capability],
    rest: impl IntoIterator<Item = (Op, Vec<u32>)>,
) -> Vec<(Op, Vec<u32>)> {
    let all = [Capability::Addresses, Capability::Kernel].iter().chain(capabilities);
    let head = all.map(|capability| (Op::Capability, vec![*capability as u32]));
    head.chain([(Op::MemoryModel, vec![2, 2])]).chain(rest).collect()
}

/// `operands` with a string behind them.
pub(crate) fn with_string(operands: &[u32], text: &str, rest: &[u32]) -> Vec<u32> {
    [operands, &string_words(text), rest].concat()
}
