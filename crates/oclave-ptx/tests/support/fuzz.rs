//! What is done with bytes of any kind: the body of the fuzz target, and of the bounded test that
//! runs without it.

use oclave_ptx::{PtxTarget, needs_library, translate};
use oclave_spirv::Module;

/// Reads `bytes` as a module and translates it. Must not panic, whatever they are.
pub(crate) fn everything(bytes: &[u8]) {
    if let Ok(module) = Module::from_bytes(bytes) {
        translated(&module, true);
        translated(&module, false);
    }
}

/// The same for words, and for one device alone. Returns whether there was PTX.
#[allow(dead_code, reason = "the fuzz target has bytes")]
pub(crate) fn module(words: &[u32], newer: bool) -> bool {
    Module::from_words(words.to_vec()).is_ok_and(|module| translated(&module, newer))
}

fn translated(module: &Module, newer: bool) -> bool {
    let Ok(target) = PtxTarget::new(if newer { 9 } else { 7 }, 0) else { return false };
    let _ = needs_library(module);
    match translate(module, &target) {
        Ok(text) => {
            assert!(text.ends_with('\n') && !text.contains('\0'), "PTX is text");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
