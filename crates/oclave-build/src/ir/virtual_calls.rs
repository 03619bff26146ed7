//! The classes that virtual calls go through, where pointers have no types (LLVM 16 and newer).
//!
//! With [`WANTED`] clang asserts at each virtual call that the vtable is one of the call's class.
//! The translator knows no such assertions. A call of a function whose name holds the class takes
//! their place; post-link knows it ([`CLASS_MARKER`]).

use std::collections::{BTreeMap, BTreeSet};

use oclave_image::CLASS_MARKER;

use super::function::Function;
use super::text::{definition, replace_values, tokens};

/// The option by which clang says the classes.
pub(crate) const WANTED: &str = "-fwhole-program-vtables";
const TESTS: [&str; 2] = ["@llvm.type.test(", "@llvm.public.type.test("];
const ASSUMED: &str = "call void @llvm.assume(i1 true)";

/// Whether a line asks for the class of a vtable.
pub(super) fn is_test(line: &str) -> bool {
    line.contains(" call i1 @llvm.") && TESTS.iter().any(|test| line.contains(test))
}

/// Replaces the tests of a function by markers; gives the markers.
pub(super) fn mark(function: &mut Function) -> BTreeSet<String> {
    let sources: BTreeMap<String, String> = function.lines.iter().filter_map(|line| source(line)).collect();
    let mut markers = BTreeSet::new();
    let mut tests = BTreeMap::new();
    // Vtable → class, in this block.
    let mut classes: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut lines = Vec::with_capacity(function.lines.len());
    for line in std::mem::take(&mut function.lines) {
        if !line.starts_with(' ') {
            classes.clear();
        } else if is_test(&line) {
            let (result, test) = definition(&line);
            tests.insert(result.to_owned(), "true".to_owned());
            if let Some((vtable, class)) = tested(test) {
                classes.insert(vtable, class);
            }
            continue;
        } else if let Some(class) = called(&line).and_then(|pointer| class_of(pointer, &sources, &classes)) {
            let marker = format!("@\"{CLASS_MARKER}{class}\"");
            lines.push(format!("  call spir_func void {marker}()"));
            markers.insert(marker);
        }
        lines.push(line);
    }
    for line in &mut lines {
        *line = replace_values(line, &tests).into_owned();
    }
    lines.retain(|line| !line.contains(ASSUMED));
    function.lines = lines;
    markers
}

/// What declares a marker.
pub(super) fn declaration(marker: &str) -> String {
    format!("declare spir_func void {marker}()")
}

/// The vtable of a test and the mangled name of the class. Classes that other sources do not see
/// have no name here.
fn tested(test: &str) -> Option<(String, Option<String>)> {
    let vtable = tokens(test).into_iter().map(|(_, token)| token).find(|token| token.starts_with('%'))?;
    let class = test.split_once("metadata !\"_ZTS").and_then(|(_, rest)| rest.split('"').next());
    Some((vtable.to_owned(), class.map(str::to_owned)))
}

/// Loads and address computations: the result, and the pointer that it comes from.
fn source(line: &str) -> Option<(String, String)> {
    let (result, rest) = definition(line);
    if !rest.starts_with("load ") && !rest.starts_with("getelementptr ") {
        return None;
    }
    // Types may begin with `%`, but pointers stand behind a comma.
    let (_, operands) = rest.split_once(", ptr")?;
    let pointer =
        tokens(operands).into_iter().map(|(_, token)| token).find(|token| token.starts_with('%'))?;
    (!result.is_empty()).then(|| (result.to_owned(), pointer.to_owned()))
}

/// The pointer that a line calls a function through.
fn called(line: &str) -> Option<&str> {
    let (_, rest) = definition(line);
    let (_, call) = rest
        .split_once("call ")
        .filter(|(before, _)| matches!(before.trim(), "" | "tail" | "notail" | "musttail"))?;
    let is_callee = |(at, token): &(usize, &str)| {
        token.starts_with(['%', '@'])
            && call.get(at + token.len()..).is_some_and(|rest| rest.starts_with('('))
    };
    let (_, callee) = tokens(call).into_iter().find(is_callee)?;
    callee.starts_with('%').then_some(callee)
}

/// The class of the vtable that a pointer to a function was loaded from.
fn class_of(
    pointer: &str,
    sources: &BTreeMap<String, String>,
    classes: &BTreeMap<String, Option<String>>,
) -> Option<String> {
    // The slot, and its address behind that of the vtable.
    let slot = sources.get(pointer)?;
    let vtable = if classes.contains_key(slot) { slot } else { sources.get(slot)? };
    classes.get(vtable)?.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "define spir_kernel void @k(ptr addrspace(4) %0) {
  %2 = load ptr addrspace(1), ptr addrspace(4) %0, align 8
  %3 = tail call i1 @llvm.public.type.test(ptr addrspace(1) %2, metadata !\"_ZTS5shape\")
  tail call void @llvm.assume(i1 %3)
  %4 = getelementptr inbounds i8, ptr addrspace(1) %2, i64 8
  %5 = load ptr, ptr addrspace(1) %4, align 8
  tail call spir_func void %5(ptr sret(%struct.s) align 4 %0, ptr addrspace(4) %0)
  ret void
}
declare i1 @llvm.public.type.test(ptr, metadata)
";

    fn mend(text: &str) -> String {
        crate::ir::mend(text).text
    }

    #[test]
    fn tests_become_markers() {
        let mended = mend(CALL);
        let marked =
            "  call spir_func void @\"oclave.class.5shape\"()\n  tail call spir_func void %oclave.5(";
        for part in [marked, "\ndeclare spir_func void @\"oclave.class.5shape\"()\n"] {
            assert!(mended.contains(part), "no {part} in\n{mended}");
        }
        assert!(!mended.contains("@llvm."), "{mended}");
        assert_eq!(mend(&mended), mended);
    }

    #[test]
    fn tests_of_other_blocks_and_classes_without_a_name_do_not_count() {
        let elsewhere = CALL.replace("  %4 = ", "  br label %behind\n\nbehind:\n  %4 = ");
        let local = CALL.replace("metadata !\"_ZTS5shape\"", "metadata !20");
        let other = CALL.replace("inbounds i8, ptr addrspace(1) %2", "inbounds i8, ptr addrspace(1) %0");
        for text in [elsewhere, local, other] {
            let mended = mend(&text);
            assert!(!mended.contains(CLASS_MARKER) && !mended.contains("@llvm."), "{mended}");
        }
    }
}
