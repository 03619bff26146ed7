//! Calls that work-items make together: barriers, and the functions of work-groups and sub-groups.
//!
//! Clang marks them `convergent`. The SimplifyCFG pass of LLVM 15 sinks and hoists equal calls of
//! several blocks into one all the same. It makes one barrier of the one before a loop and the one
//! at its end. Then work-items meet in two nested loops, which drivers compile wrongly. It also makes
//! one non-uniform reduction of those in both arms of an `if`, which then has another result. LLVM 17
//! and later leave such calls where they are.

/// Whether the optimiser of this clang merges convergent calls.
pub(crate) fn merges_convergent_calls(clang: u32) -> bool {
    clang <= 15
}

/// Options that keep SimplifyCFG from merging anything, for IR that cannot be marked.
pub(crate) const KEEP_CALLS_APART: [&str; 4] =
    ["-mllvm", "-simplifycfg-sink-common=false", "-mllvm", "-simplifycfg-hoist-common=false"];

/// Whether code calls barriers, or other functions of work-groups and sub-groups.
pub(crate) fn calls_group_functions(text: &str) -> bool {
    let names = ["@_Z7barrierj", "work_group_", "sub_group_", "__spirv_ControlBarrier", "__spirv_Group"];
    text.lines().any(|line| line.contains("call ") && names.iter().any(|name| line.contains(name)))
}

/// Marks all convergent functions and calls `nomerge`, in IR that no pass has seen.
pub(crate) fn keep_convergent_calls_apart(text: &str) -> String {
    let mut marked = String::with_capacity(text.len() + text.len() / 64);
    for line in text.lines() {
        match line.split_once(" convergent ") {
            Some((before, after)) if before.starts_with("attributes #") => {
                marked.extend([before, " convergent nomerge ", after]);
            }
            _ => marked.push_str(line),
        }
        marked.push('\n');
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::{calls_group_functions, keep_convergent_calls_apart};

    #[test]
    fn calls_of_group_functions_are_found() {
        let declared = "declare void @_Z7barrierj(i32) #0\n";
        assert!(!calls_group_functions(declared));
        assert!(!calls_group_functions("  %1 = call spir_func i64 @_Z12get_local_idj(i32 noundef 0) #3\n"));
        assert!(calls_group_functions("  call spir_func void @_Z7barrierj(i32 noundef 1) #3\n"));
        assert!(calls_group_functions("  call void @_Z18work_group_barrierj12memory_scope(i32 1, i32 1)\n"));
    }

    #[test]
    fn only_groups_of_attributes_are_marked() {
        let text = "define void @f() #0 {\n  call void @g(i8* c\" convergent \") #1\n}\n\
            attributes #0 = { norecurse nounwind }\nattributes #1 = { convergent nounwind }\n";
        let expected = text.replace("{ convergent nounwind", "{ convergent nomerge nounwind");
        assert_eq!(keep_convergent_calls_apart(text), expected);
    }
}
