//! Vtables and descriptions of types outside of global memory, as clang places them up to version 18.
//!
//! Such variables have the address space of private ones, of which the translator of LLVM 18 takes
//! none at module scope. They become constants in global memory. Whatever refers to them gets
//! `inttoptr` of the new address, typed in the old address space. Devices never see either, since post-link removes the tables.

use std::collections::BTreeSet;

use super::text::tokens;
use super::{Ir, leading_symbol};

const POINTER: &str = "ptr @";

/// Moves the tables to global memory, in modules whose pointers have no types.
pub(super) fn move_to_global_memory(ir: &mut Ir) {
    let tables: BTreeSet<String> =
        ir.lines.iter().filter_map(|line| Some(table(line)?.0.to_owned())).collect();
    let is_pointer = |(_, token): (usize, &str)| token == "ptr";
    // Before LLVM 16 pointers have types, and the translator takes such tables.
    let mut definitions = ir.lines.iter().filter(|line| table(line).is_some());
    if !definitions.any(|line| tokens(line).into_iter().any(is_pointer)) {
        return;
    }
    for line in &mut ir.lines {
        let moved = table(line).map(|(name, before, kind, value)| {
            // Of those that other sources have, only the address counts. SPIR-V has no arrays
            // without elements.
            let value = value.replace("[0 x ptr]", "ptr");
            format!("@{name} = {before}addrspace(1) {kind} {}", with_numbers(&value, &tables))
        });
        match moved {
            Some(moved) => *line = moved,
            None if line.contains("@_ZT") => *line = with_numbers(line, &tables),
            None => {}
        }
    }
}

/// Name, linkage, kind and value of a table that a line defines or declares without an address
/// space.
fn table(line: &str) -> Option<(&str, &str, &str, &str)> {
    let rest = line.strip_prefix('@')?;
    let name = leading_symbol(rest);
    let is_table = ["_ZTV", "_ZTT", "_ZTC", "_ZTI", "_ZTS"].iter().any(|prefix| name.starts_with(prefix));
    let definition = rest.get(name.len()..)?.strip_prefix(" = ").filter(|_| is_table)?;
    let kind = ["constant ", "global "].into_iter().find_map(|kind| Some((definition.find(kind)?, kind)));
    let (at, kind) = kind?;
    let (before, value) = (definition.get(..at)?, definition.get(at + kind.len()..)?);
    (!before.contains("addrspace(")).then(|| (name, before, kind.trim_end(), value))
}

/// A line with numbers in place of the addresses of tables.
fn with_numbers(line: &str, tables: &BTreeSet<String>) -> String {
    let mut new = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(POINTER) {
        new.push_str(before);
        let name = leading_symbol(after);
        if tables.contains(name) {
            let number = format!("ptrtoint (ptr addrspace(1) @{name} to i64)");
            new.push_str(&format!("ptr inttoptr (i64 {number} to ptr)"));
        } else {
            new.push_str(POINTER);
            new.push_str(name);
        }
        rest = after.get(name.len()..).unwrap_or_default();
    }
    new.push_str(rest);
    new
}

#[cfg(test)]
mod tests {
    fn mend(text: &str) -> String {
        crate::ir::mend(text).text
    }

    #[test]
    fn tables_are_in_global_memory() {
        let text = "@_ZTV1a = linkonce_odr unnamed_addr constant { [3 x ptr] } { [3 x ptr] [ptr null, ptr @_ZTI1a, ptr @_ZN1a1fEv] }, comdat, align 8\n\
            @_ZTVx = external dso_local global [0 x ptr]\n\
            @_ZTS1a = linkonce_odr constant [3 x i8] c\"1a\\00\"\n\
            @_ZTI1a = linkonce_odr constant { ptr, ptr } { ptr getelementptr inbounds (ptr, ptr @_ZTVx, i64 2), ptr @_ZTS1a }\n\
            define spir_func void @_ZN1a1fEv(ptr addrspace(4) %0) {\n  \
            store ptr getelementptr inbounds ({ [3 x ptr] }, ptr @_ZTV1a, i64 0, i32 0, i64 2), ptr addrspace(4) %0\n  \
            call void @_ZThn8_N1a1fEv(ptr addrspace(4) %0)\n  ret void\n}\n";
        let mended = mend(text);
        let number = |name| format!("ptr inttoptr (i64 ptrtoint (ptr addrspace(1) @{name} to i64) to ptr)");
        let (description, table) = (number("_ZTI1a"), number("_ZTV1a"));
        for part in [
            "@_ZTV1a = linkonce_odr unnamed_addr addrspace(1) constant { [3 x ptr] } { [3 x ptr] [ptr null, ptr inttoptr",
            &format!("{description}, ptr @_ZN1a1fEv] }}, comdat, align 8\n"),
            "@_ZTVx = external dso_local addrspace(1) global ptr\n",
            "@_ZTS1a = linkonce_odr addrspace(1) constant [3 x i8] c\"1a\\00\"\n",
            &format!("store ptr getelementptr inbounds (i8, {table}, i64 16), ptr addrspace(4) %0\n"),
            "call void @_ZThn8_N1a1fEv(",
        ] {
            assert!(mended.contains(part), "no {part} in\n{mended}");
        }
        assert_eq!(mend(&mended), mended);
    }

    #[test]
    fn typed_tables_stay() {
        let text = "@_ZTV1a = linkonce_odr constant { [1 x i8*] } { [1 x i8*] [i8* bitcast (i32 ()* @f to i8*)] }\n\
            @_ZTS1a = linkonce_odr constant [3 x i8] c\"1a\\00\"\n";
        assert_eq!(mend(text), text);
    }
}
