//! Annotations: without arguments, so that modules link, and without those of clang's own copies of
//! kernels.
//!
//! From LLVM 18 on, an annotation with arguments has another type of entry in
//! `llvm.global.annotations`: its last member has another address space. The tool llvm-link refuses
//! to append arrays of different types. Clang also writes modules with both kinds of entries, which
//! LLVM's own tools refuse to read. The build needs no arguments here: it finds those of the SHARED
//! marker in clang's syntax tree.

use std::collections::BTreeSet;

use super::{Ir, brackets, fields};

/// Where clang collects the annotations of a module.
const ANNOTATIONS: &str = "@llvm.global.annotations";
/// The beginning of the names of variables with arguments, and where they are.
const ARGUMENTS: &str = "@.args";
const METADATA: &str = "section \"llvm.metadata\"";
/// The beginning of the names of functions that clang 21 and newer make of the bodies of kernels,
/// with all their attributes.
const KERNEL_BODY: &str = "@__clang_ocl_kern_imp_";

/// Replaces the arguments of all annotations by a null pointer of one type.
pub(super) fn drop_arguments(ir: &mut Ir) {
    let Some(line) = ir.global(ANNOTATIONS) else { return };
    // What has another form is for LLVM to judge.
    if let Some(without) = without_arguments(line) {
        *line = without;
        drop_unused_arguments(ir);
    }
}

/// Removes the variables of arguments. Clang 18 leaves them among private variables, of which its
/// translator takes none.
fn drop_unused_arguments(ir: &mut Ir) {
    let is_used = |name: &str| {
        let mut others = ir.lines.iter().filter(|line| !line.starts_with(name));
        others.any(|line| {
            line.split(name).skip(1).any(|rest| !rest.starts_with(|c: char| c == '.' || c.is_ascii_digit()))
        })
    };
    let names = ir.lines.iter().filter(|line| line.starts_with(ARGUMENTS) && line.contains(METADATA));
    let unused: BTreeSet<String> = names
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name.to_owned()))
        .filter(|name| !is_used(name))
        .collect();
    ir.lines.retain(|line| line.split_once(" = ").is_none_or(|(name, _)| !unused.contains(name)));
}

/// `… global [N x { T0, T1, T2, i32, T4 }] [{ … } { … }, …], …` with the type T1 and the value null
/// in place of the last member.
fn without_arguments(line: &str) -> Option<String> {
    let (before, definition) = line.split_once(" global ")?;
    let (_, _, initializer) = brackets(definition)?;
    let (_, elements, after) = brackets(initializer)?;
    let is_kept = |element: &&str| !element.contains(KERNEL_BODY);
    let elements: Vec<String> =
        fields(elements).into_iter().filter(is_kept).map(element).collect::<Option<_>>()?;
    let (ty, _) = elements.first()?.split_once("} {")?;
    Some(format!(
        "{before} global [{count} x {ty}}}] [{list}]{after}",
        count = elements.len(),
        list = elements.join(", ")
    ))
}

/// `{ T0, T1, T2, i32, T4 } { V0, V1, V2, V3, V4 }`, changed likewise.
fn element(text: &str) -> Option<String> {
    let (_, types, values) = brackets(text)?;
    let (_, values, _) = brackets(values)?;
    let [entity, string, file, line, _] = fields(types)[..] else { return None };
    let [entity_value, string_value, file_value, line_value, _] = fields(values)[..] else { return None };
    Some(format!(
        "{{ {entity}, {string}, {file}, {line}, {string} }} \
         {{ {entity_value}, {string_value}, {file_value}, {line_value}, {string} null }}"
    ))
}

#[cfg(test)]
mod tests {
    const OPAQUE: &str = "{ ptr addrspace(1), ptr addrspace(2), ptr addrspace(2), i32, ptr addrspace(2) }";

    #[test]
    fn entries_with_and_without_arguments_get_one_type() {
        // As clang 22 writes it: the second entry has another type than the array.
        let other = OPAQUE.replace("i32, ptr addrspace(2)", "i32, ptr addrspace(1)");
        let text = format!(
            "@a = global i32 0\n@llvm.global.annotations = appending addrspace(1) global [2 x {OPAQUE}] \
             [{OPAQUE} {{ ptr addrspace(1) addrspacecast (ptr addrspace(2) @u to ptr addrspace(1)), \
             ptr addrspace(2) @.str, ptr addrspace(2) @.str.1, i32 7, ptr addrspace(2) null }}, \
             {other} {{ ptr addrspace(1) @a, ptr addrspace(2) @.str, ptr addrspace(2) @.str.1, i32 9, \
             ptr addrspace(1) @.args }}], section \"llvm.metadata\"\n"
        );
        let mended = crate::ir::mend(&text).text;
        let expected =
            text.replace(&other, OPAQUE).replace("ptr addrspace(1) @.args", "ptr addrspace(2) null");
        assert_eq!(mended, expected);
        assert_eq!(crate::ir::mend(&mended).text, mended);
    }

    #[test]
    fn arguments_go_unless_something_else_holds_them() {
        let ty = "{ ptr, ptr, ptr, i32, ptr }";
        let text = |used: &str, arguments: &str, of: &str| {
            format!(
                "{arguments}@x = global ptr {used}\n@llvm.global.annotations = appending global [1 x {ty}] \
                 [{ty} {{ ptr @a, ptr @.str, ptr @.str.1, i32 9, ptr {of} }}], section \"llvm.metadata\"\n"
            )
        };
        let args = "@.args = private unnamed_addr constant { i32 } { i32 7 }, section \"llvm.metadata\"\n";
        assert_eq!(crate::ir::mend(&text("@.args.1", args, "@.args")).text, text("@.args.1", "", "null"));
        assert_eq!(crate::ir::mend(&text("@.args", args, "@.args")).text, text("@.args", args, "null"));
    }

    #[test]
    fn bodies_of_kernels_are_not_annotated() {
        let of = |entity: &str| {
            format!(
                "{OPAQUE} {{ ptr addrspace(1) addrspacecast (ptr @{entity} to ptr addrspace(1)), ptr addrspace(2) @.str, \
                 ptr addrspace(2) @.str.1, i32 7, ptr addrspace(2) null }}"
            )
        };
        let text = |count: usize, list: &str| {
            format!(
                "@llvm.global.annotations = appending addrspace(1) global [{count} x {OPAQUE}] [{list}]\n"
            )
        };
        let both = text(2, &format!("{}, {}", of("k"), of("__clang_ocl_kern_imp_k")));
        assert_eq!(crate::ir::mend(&both).text, text(1, &of("k")));
    }

    #[test]
    fn typed_pointers_are_kept() {
        let ty = "{ i8*, i8*, i8*, i32, i8* }";
        let text = format!(
            "@llvm.global.annotations = appending global [1 x {ty}] [{ty} {{ i8* bitcast (i32 (i32, i32)* @f to i8*), \
             i8* getelementptr inbounds ([14 x i8], [14 x i8]* @.str, i32 0, i32 0), i8* null, i32 4, \
             i8* bitcast ({{ i32 }}* @.args to i8*) }}], section \"llvm.metadata\"\n"
        );
        let expected = text.replace("i8* bitcast ({ i32 }* @.args to i8*)", "i8* null");
        assert_eq!(crate::ir::mend(&text).text, expected);
    }

    #[test]
    fn other_forms_are_left_alone() {
        for text in [
            "@llvm.global.annotations = appending global [1 x ptr] [ptr @a], section \"llvm.metadata\"\n",
            "@llvm.global.annotations = external global i32\n",
            "define void @f() {\n  ret void\n}\n",
        ] {
            assert_eq!(crate::ir::mend(text).text, text);
        }
    }
}
