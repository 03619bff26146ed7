//! NVIDIA's assembler takes the PTX of every fixture that has some; `ci/setup ptxas` installs it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

#[path = "support/assembler.rs"]
mod assembler;

use assembler::{Assembler, Text};
use oclave_ptx::{Library, PtxTarget, link, translate};
use oclave_spirv::Module;

/// How many fixtures must have PTX: the others have 32-bit addresses, or functions that other
/// modules define.
const AT_LEAST: usize = 60;

#[test]
fn fixtures_assemble() {
    let (Some(assembler), Ok(library)) = (Assembler::find(), Library::installed()) else {
        println!("skipped: no ptxas or no libclc; ci/setup ptxas installs both");
        return;
    };
    let (mut count, mut texts) = (0, Vec::new());
    for (name, bytes) in support::modules() {
        let Ok(mut module) = Module::from_bytes(&bytes) else { continue };
        if let Ok(Some(part)) = library.part_for(&module) {
            module = link(&module, &part).unwrap();
        }
        for target in ["sm_70", "sm_80", "sm_90"] {
            let Ok(ptx) = translate(&module, &target.parse::<PtxTarget>().unwrap()) else { break };
            count += usize::from(target == "sm_70");
            texts.push(Text { name: name.clone(), target, ptx });
        }
    }
    let (assembled, failures) = assembler.assemble(&texts);
    println!("{count} modules for three targets, {assembled} texts assembled now");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= AT_LEAST, "only {count} modules have PTX");
}
