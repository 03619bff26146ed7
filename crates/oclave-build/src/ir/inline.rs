//! Functions that OpenCL C declares `inline`.
//!
//! C99 has no definition of such a function for calls that are not inlined. Drivers' compilers make
//! one, so real code relies on it. Here clang makes one, too (`-fgnu89-inline`), and this lets the
//! linker keep one of several: the function may be in a header.

use std::collections::BTreeSet;

use super::{Ir, leading_symbol};

/// How a definition that everyone sees begins.
const VISIBLE: &str = "define dso_local spir_func ";

/// Lets several sources have the functions with these names. The attributes in LLVM IR do not tell
/// which functions are `inline`: clang leaves `inlinehint` out at -O0 and beside other attributes.
pub(crate) fn share(text: &str, names: &BTreeSet<String>) -> String {
    let mut ir = Ir::new(text);
    for line in &mut ir.lines {
        let Some(rest) = line.strip_prefix(VISIBLE) else { continue };
        let name = rest.split_once('@').map(|(_, rest)| leading_symbol(rest));
        if name.is_some_and(|name| names.contains(name.trim_matches('"'))) {
            *line = format!("define linkonce_odr dso_local spir_func {rest}");
        }
    }
    ir.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_functions_may_be_defined_twice() {
        let text = "define dso_local spir_func i32 @f(i32 %0) local_unnamed_addr #0 {\n\
                    define dso_local spir_func i32 @ff(i32 %0) local_unnamed_addr #1 {\n\
                    define internal spir_func i32 @h(i32 %0) #0 {\n\
                    define dso_local spir_kernel void @k() #0 {\n";
        let names = ["f", "h", "k"].map(str::to_owned).into();
        let first = "define dso_local spir_func i32 @f(";
        let shared = "define linkonce_odr dso_local spir_func i32 @f(";
        assert_eq!(share(text, &names), text.replace(first, shared));
    }
}
