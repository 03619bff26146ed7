//! What is done with bytes of any kind: the body of the fuzz target, and of the bounded test that runs without it.

use oclave_image::spirv::Module;
use oclave_ptx::{PtxTarget, needs_library, translate};

/// Reads `bytes` as a module and translates it. Must not panic, whatever they are.
pub(crate) fn everything(bytes: &[u8]) {
    let Ok(module) = Module::from_bytes(bytes) else { return };
    let _ = needs_library(&module);
    for capability in [7, 9] {
        let Ok(target) = PtxTarget::new(capability, 0) else { return };
        match translate(&module, &target) {
            Ok(text) => assert!(text.ends_with('\n') && !text.contains('\0'), "PTX is text"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
