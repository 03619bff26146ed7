//! Vtables in global memory, as clang 19 and newer place them.
//!
//! Functions are in another address space, so that the vtables hold casts that SPIR-V does not
//! have, and the translator refuses them. A declared variable whose name holds the function's takes
//! the place of such a cast; post-link knows it ([`FUNCTION_PLACEHOLDER`]).

use std::collections::{BTreeMap, BTreeSet};

use oclave_image::FUNCTION_PLACEHOLDER;

use super::{Ir, leading_symbol};

const CAST: &str = "addrspacecast (ptr @";
const TO_GLOBAL: &str = " to ptr addrspace(1))";

/// Makes vtables in global memory such that they can be translated.
pub(super) fn name_functions(ir: &mut Ir) {
    give_sizes_to_external_tables(ir);
    let functions: BTreeSet<String> =
        ir.lines.iter().filter(|line| holds_functions(line)).flat_map(|line| casts(line)).collect();
    if functions.is_empty() {
        return;
    }
    // Placeholders hold names, so functions must have one name wherever they end up.
    let source =
        ir.lines.iter().find(|line| line.starts_with("source_filename")).cloned().unwrap_or_default();
    let mut renamed: BTreeMap<&str, String> = BTreeMap::new();
    for line in &mut ir.lines {
        let Some(rest) = line.strip_prefix("define ") else { continue };
        let Some(name) = rest.split_once('@').and_then(|(_, rest)| functions.get(leading_symbol(rest)))
        else {
            continue;
        };
        if rest.starts_with("internal ") {
            // Two of one name get numbers when their sources are linked; these are theirs already.
            renamed.insert(name, format!("{name}.{}", number_of(&source)));
        } else if let Some(rest) = rest.strip_prefix("linkonce_odr ") {
            // Nothing but placeholders uses it, so that the linker would drop it.
            *line = format!("define weak_odr {rest}");
        }
    }
    for line in &mut ir.lines {
        if !renamed.is_empty() {
            *line = replace_symbols(line, &renamed);
        }
        if holds_functions(line) {
            *line = replace_casts(line);
        }
    }
    for name in &functions {
        let name = renamed.get(name.as_str()).unwrap_or(name);
        ir.lines.push(format!("@\"{FUNCTION_PLACEHOLDER}{name}\" = external addrspace(1) global i8"));
    }
}

/// Whether functions construct objects with virtual bases through tables of vtables.
pub(crate) fn constructs_by_tables(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("  ") && line.contains("@_ZTT"))
}

/// The tables of the C++ library to which descriptions of types point: clang declares them as
/// arrays without elements, which SPIR-V does not have. Nothing reads them.
fn give_sizes_to_external_tables(ir: &mut Ir) {
    for line in ir.lines.iter_mut().filter(|line| line.starts_with("@_ZTV") && line.contains(" = external "))
    {
        *line = line.replace("[0 x ptr addrspace(1)]", "[1 x ptr addrspace(1)]");
    }
}

/// Whether a line defines a variable, with addresses of functions where they are data.
fn holds_functions(line: &str) -> bool {
    line.starts_with('@') && !line.starts_with("@llvm.") && line.contains(CAST)
}

/// The functions that a line casts to pointers to global memory.
fn casts(line: &str) -> Vec<String> {
    let names = line.match_indices(CAST).filter_map(|(at, _)| {
        let rest = line.get(at + CAST.len()..)?;
        let name = leading_symbol(rest);
        rest.get(name.len()..)?.starts_with(TO_GLOBAL).then(|| name.to_owned())
    });
    names.collect()
}

/// A line with placeholders instead of such casts.
fn replace_casts(line: &str) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(CAST) {
        replaced.push_str(before);
        let name = leading_symbol(after);
        match after.get(name.len()..).and_then(|behind| behind.strip_prefix(TO_GLOBAL)) {
            Some(behind) => {
                replaced.push_str(&format!("@\"{FUNCTION_PLACEHOLDER}{name}\""));
                rest = behind;
            }
            None => {
                replaced.push_str(CAST);
                rest = after;
            }
        }
    }
    replaced.push_str(rest);
    replaced
}

/// A line with other names for symbols.
fn replace_symbols(line: &str, names: &BTreeMap<&str, String>) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('@') {
        replaced.push_str(before);
        replaced.push('@');
        let found = leading_symbol(after);
        replaced.push_str(names.get(found).map_or(found, String::as_str));
        rest = after.get(found.len()..).unwrap_or_default();
    }
    replaced.push_str(rest);
    replaced
}

/// A number for a source, in as many digits as always.
fn number_of(source: &str) -> u64 {
    let hash = source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    1_000_000_000 + hash % 9_000_000_000
}

#[cfg(test)]
mod tests {
    fn mend(text: &str) -> String {
        crate::ir::mend(text).text
    }

    const TABLE: &str = "@_ZTV1a = linkonce_odr addrspace(1) constant { [2 x ptr addrspace(1)] } { [2 x ptr addrspace(1)] \
        [ptr addrspace(1) addrspacecast (ptr @_ZN1a1fEv to ptr addrspace(1)), ptr addrspace(1) addrspacecast (ptr @_ZN1a1gEv to ptr addrspace(1))] }";

    #[test]
    fn functions_become_placeholders() {
        let text = format!(
            "source_filename = \"a.clcpp\"\n{TABLE}\n@_ZTVx = external dso_local addrspace(1) global [0 x ptr addrspace(1)]\n\
             define linkonce_odr spir_func i32 @_ZN1a1fEv(ptr addrspace(4) %0) {{\n  ret i32 0\n}}\n\
             define internal spir_func i32 @_ZN1a1gEv(ptr addrspace(4) %0) {{\n  call i32 @_ZN1a1gEv(ptr addrspace(4) %0)\n  ret i32 0\n}}\n"
        );
        let mended = mend(&text);
        let number = super::number_of("source_filename = \"a.clcpp\"");
        for expected in [
            "[ptr addrspace(1) @\"oclave.function._ZN1a1fEv\", ptr addrspace(1) @\"oclave.function._ZN1a1gEv.NUMBER\"]",
            "@_ZTVx = external dso_local addrspace(1) global [1 x ptr addrspace(1)]",
            "define weak_odr spir_func i32 @_ZN1a1fEv(",
            "define internal spir_func i32 @_ZN1a1gEv.NUMBER(",
            "  call i32 @_ZN1a1gEv.NUMBER(",
            "@\"oclave.function._ZN1a1fEv\" = external addrspace(1) global i8\n",
            "@\"oclave.function._ZN1a1gEv.NUMBER\" = external addrspace(1) global i8\n",
        ] {
            let expected = expected.replace("NUMBER", &number.to_string());
            assert!(mended.contains(&expected), "no {expected} in\n{mended}");
        }
        assert_eq!(mend(&mended), mended);
    }

    #[test]
    fn tables_with_plain_addresses_stay() {
        let text = "@_ZTV1a = linkonce_odr addrspace(1) constant { [1 x ptr] } { [1 x ptr] [ptr @_ZN1a1fEv] }\n\
            @llvm.used = appending addrspace(1) global [1 x ptr addrspace(1)] [ptr addrspace(1) addrspacecast (ptr @f to ptr addrspace(1))]\n\
            define linkonce_odr spir_func i32 @_ZN1a1fEv() {\n  ret i32 0\n}\n";
        assert_eq!(mend(text), text);
    }
}
