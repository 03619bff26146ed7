//! Functions that OpenCL C declares `inline`.
//!
//! C99 has no definition of such a function for calls that are not inlined. Drivers' compilers make
//! one, so real code relies on it. Here clang makes one, too (`-fgnu89-inline`), and this lets the
//! linker keep one of several: the function may be in a header.

use std::collections::BTreeSet;

use super::Ir;

/// The attribute by which clang marks functions that are declared `inline`.
const MARK: &str = "inlinehint";
/// How a definition that everyone sees begins.
const VISIBLE: &str = "define dso_local spir_func ";

/// Lets several sources have an `inline` function.
pub(super) fn share(ir: &mut Ir) {
    let is_marked =
        |line: &&String| line.starts_with("attributes #") && line.split(' ').any(|word| word == MARK);
    let groups: BTreeSet<String> = ir
        .lines
        .iter()
        .filter(is_marked)
        .filter_map(|line| line.split(' ').nth(1).map(str::to_owned))
        .collect();
    for line in &mut ir.lines {
        let Some(rest) = line.strip_prefix(VISIBLE) else { continue };
        if line.split(' ').any(|word| word.starts_with('#') && groups.contains(word)) {
            *line = format!("define linkonce_odr dso_local spir_func {rest}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_with_the_mark_may_be_defined_twice() {
        let text = "define dso_local spir_func i32 @f(i32 %0) local_unnamed_addr #0 {\n\
                    define dso_local spir_func i32 @g(i32 %0) local_unnamed_addr #1 {\n\
                    define internal spir_func i32 @h(i32 %0) #0 {\n\
                    define dso_local spir_kernel void @k() #0 {\n\
                    attributes #0 = { inlinehint nounwind }\n\
                    attributes #1 = { nounwind \"x\"=\"inlinehint\" }\n";
        let mut ir = Ir::new(text);
        share(&mut ir);
        let first = "define dso_local spir_func i32 @f";
        let shared = "define linkonce_odr dso_local spir_func i32 @f";
        assert_eq!(ir.text(), text.replace(first, shared));
    }
}
