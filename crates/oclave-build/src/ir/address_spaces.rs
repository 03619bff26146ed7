//! Address spaces that clang gets wrong.
//!
//! Deleting destructors pass `this` to `operator delete` with `bitcast ptr addrspace(4) … to ptr`.
//! LLVM reads no such cast. The list of code that initializes variables is among private variables,
//! of which newer translators take none at module scope. Post-link needs it to refuse such code.

use super::Ir;

const CONSTRUCTORS: &str = "@llvm.global_ctors";

/// Moves the list of code that runs before kernels to global memory, where pointers have no types.
pub(super) fn move_constructors(ir: &mut Ir) {
    if let Some(line) = ir.global(CONSTRUCTORS).filter(|line| line.contains("ptr @")) {
        *line = line.replacen(" appending global ", " appending addrspace(1) global ", 1);
    }
}

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
    fn constructors_are_in_global_memory() {
        let text = |space, pointer| {
            format!(
                "@llvm.global_ctors = appending {space}global [1 x {{ i32, {pointer}, i8 }}] [{{ i32, {pointer}, i8 }} \
                 {{ i32 65535, {pointer} @_GLOBAL__sub_I_a, i8 0 }}]\n"
            )
        };
        let mended = crate::ir::mend(&text("", "ptr")).text;
        assert_eq!(mended, text("addrspace(1) ", "ptr"));
        assert_eq!(crate::ir::mend(&mended).text, mended);
        assert_eq!(crate::ir::mend(&text("", "void ()*")).text, text("", "void ()*"));
    }

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
