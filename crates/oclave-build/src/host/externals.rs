//! Functions of the host's own libraries that bodies for the host call: `extern "C"` ones, for
//! example.
//!
//! All that a source declares has internal linkage on the host, so that what nobody reaches is not
//! compiled. That renames functions which are only declared, too; their true names come from a
//! compilation without it.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::replace_tokens;

/// The only warning that is on: by it the compiler tells of such functions.
pub(super) const WARNING: &str = "-Wundefined-internal";

/// Whether the compiler warned of one.
pub(super) fn are_used(stderr: &str) -> bool {
    stderr.contains("has internal linkage but is not defined")
}

/// LLVM IR with the names that `plain`, the same program without internal linkage, has for
/// functions that are only declared.
pub(super) fn renamed(ir: &str, plain: &str) -> String {
    let known: BTreeSet<&str> = plain.lines().filter_map(declared).collect();
    let names: BTreeMap<String, String> = ir
        .lines()
        .filter_map(declared)
        .filter_map(|symbol| {
            let rest = symbol.strip_prefix("_ZL")?;
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let (length, name) = rest.split_at_checked(digits)?;
            let c = name.get(..length.parse().ok()?)?;
            let cpp = format!("_Z{rest}");
            let own = if known.contains(c) { c } else { known.get(cpp.as_str())? };
            Some((format!("@{symbol}"), format!("@{own}")))
        })
        .collect();
    let lines = ir.lines().map(|line| replace_tokens(line, |token| names.get(token).cloned()));
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

/// The function that a line declares.
fn declared(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("declare ")?.split_once('@')?;
    rest.split('(').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_are_only_declared_get_their_true_names() {
        let ir = "define i32 @w() {\n  %1 = call i32 @_ZL7toupperi(i32 1)\n  %2 = call i32 @_ZL3cppi(i32 %1)\n}\n\
                  declare i32 @_ZL7toupperi(i32)\ndeclare i32 @_ZL3cppi(i32)\n";
        let plain = "declare i32 @toupper(i32)\ndeclare i32 @_Z3cppi(i32)\n";
        let expected = ir.replace("_ZL7toupperi", "toupper").replace("_ZL3cppi", "_Z3cppi");
        assert_eq!(renamed(ir, plain), expected);
    }
}
