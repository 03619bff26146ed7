//! NVIDIA's assembler takes the PTX of every fixture that has some; `ci/setup ptxas` installs it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use oclave_image::spirv::Module;
use oclave_ptx::{Library, PtxTarget, link, translate};

/// How many fixtures must have PTX: the others have images, 32-bit addresses, or functions that other modules define.
const AT_LEAST: usize = 60;

#[test]
fn fixtures_assemble() {
    let (Some(ptxas), Ok(library)) = (support::ptxas(), Library::installed()) else {
        println!("skipped: no ptxas or no libclc; ci/setup ptxas installs both");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (mut count, mut failures) = (0, Vec::new());
    for (name, bytes) in support::modules() {
        let Ok(mut module) = Module::from_bytes(&bytes) else { continue };
        if let Ok(Some(part)) = library.part_for(&module) {
            module = link(&module, &part).unwrap();
        }
        for target in ["sm_70", "sm_80", "sm_90"] {
            let Ok(ptx) = translate(&module, &target.parse::<PtxTarget>().unwrap()) else { break };
            count += usize::from(target == "sm_70");
            let path = folder.path().join(format!("{name}.ptx"));
            std::fs::write(&path, ptx).unwrap();
            let output = std::process::Command::new(&ptxas)
                .args(["-O0", &format!("-arch={target}"), "-o"])
                .arg(path.with_extension("cubin"))
                .arg(&path)
                .output()
                .unwrap();
            if !output.status.success() {
                failures.push(format!("{name} for {target}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
    }
    println!("{count} modules assembled for three targets");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= AT_LEAST, "only {count} modules have PTX");
}
