//! Casts between address spaces that clang 19 writes as casts of bits.
//!
//! Deleting destructors pass `this` to `operator delete` with `bitcast ptr addrspace(4) … to ptr`. LLVM reads no such
//! cast.

use super::Ir;

/// Makes them casts of address spaces.
pub(super) fn cast(ir: &mut Ir) {
    for line in &mut ir.lines {
        if casts_address_space(line) {
            *line = line.replacen(" = bitcast ptr", " = addrspacecast ptr", 1);
        }
    }
}

/// Whether a line is `%N = bitcast ptr … to ptr …` with different address spaces.
fn casts_address_space(line: &str) -> bool {
    let parts = line.split_once(" = bitcast ptr").and_then(|(_, cast)| cast.split_once(" to ptr"));
    parts.is_some_and(|(from, to)| address_space(from) != address_space(to))
}

/// The address space at the start of what follows `ptr`; none is that of private variables.
fn address_space(text: &str) -> Option<&str> {
    text.strip_prefix(" addrspace(")?.split_once(')').map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    #[test]
    fn casts_of_address_spaces_are_such() {
        let text = "define spir_func void @d(ptr addrspace(4) %0) {\n  %2 = bitcast ptr addrspace(4) %0 to ptr\n  \
            %3 = bitcast ptr %2 to ptr addrspace(4)\n  %4 = bitcast ptr addrspace(4) %0 to ptr addrspace(4)\n  \
            %5 = bitcast i32 %1 to float\n  ret void\n}\n";
        let mended = crate::ir::mend(text).text;
        assert_eq!(
            mended,
            text.replace("%2 = bitcast", "%2 = addrspacecast").replace("%3 = bitcast", "%3 = addrspacecast")
        );
    }
}
