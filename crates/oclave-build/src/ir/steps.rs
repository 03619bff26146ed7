//! Steps from scalars in constants, counted in bytes.
//!
//! `getelementptr (i32, ptr @number, i64 1)` is the address behind a number. The translator of LLVM
//! 18 forgets the type, so its result cannot be told from one byte behind. Newer compilers write
//! bytes (`i8`) themselves.

use super::Ir;

const STEP: &str = "getelementptr ";

/// Makes them steps of bytes.
pub(super) fn count_bytes(ir: &mut Ir) {
    for line in &mut ir.lines {
        let mut from = 0;
        while let Some(at) = line.get(from..).and_then(|rest| rest.find(STEP)).map(|at| from + at) {
            if let Some(step) = line.get(at..).and_then(in_bytes) {
                line.replace_range(at..at + step.0, &step.1);
            }
            from = at + STEP.len();
        }
    }
}

/// The length of the constant at the start of `text`, and the same in bytes, if it is a step of a
/// scalar.
fn in_bytes(text: &str) -> Option<(usize, String)> {
    let (head, inside) = text.split_once('(')?;
    let flags_only = |word: &str| matches!(word, "getelementptr" | "inbounds" | "nuw" | "nusw");
    let (ty, rest) = inside.split_once(", ptr ")?;
    if !head.split_whitespace().all(flags_only) {
        return None;
    }
    let size = size_of(ty)?;
    // One index: no other constant is nested in the pointer.
    let (pointer, rest) = rest.split_once(", i64 ")?;
    let (steps, _) = rest.split_once(')')?;
    let name = pointer.rsplit_once('@').map(|(space, _)| space)?;
    if !(name.is_empty() || name.starts_with("addrspace(")) || pointer.contains(STEP) {
        return None;
    }
    let bytes = steps.parse::<i64>().ok()?.checked_mul(size)?;
    let length = text.len() - rest.len() + steps.len();
    Some((length, format!("{head}(i8, ptr {pointer}, i64 {bytes}")))
}

fn size_of(ty: &str) -> Option<i64> {
    Some(match ty {
        "i16" | "half" | "bfloat" => 2,
        "i32" | "float" => 4,
        "i64" | "double" => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn steps_of_scalars_count_bytes() {
        let step = |ty, index| {
            format!(
                "@end = global ptr addrspace(1) getelementptr inbounds ({ty}, ptr addrspace(1) @lone, i64 {index}), align 8\n"
            )
        };
        for (before, after) in [
            (step("i32", "1"), step("i8", "4")),
            (step("double", "-2"), step("i8", "-16")),
            (step("i8", "3"), step("i8", "3")),
            (step("%struct.pair", "1"), step("%struct.pair", "1")),
            (step("i32", "1, i64 2"), step("i32", "1, i64 2")),
            (step("[4 x i32]", "0, i64 1"), step("[4 x i32]", "0, i64 1")),
        ] {
            assert_eq!(crate::ir::mend(&before).text, after);
        }
        let instruction = "  %2 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 1\n";
        assert_eq!(crate::ir::mend(instruction).text, instruction);
        let two = format!("{}{}", step("i64", "1").trim_end(), step("i32", "3"));
        let wanted = format!("{}{}", step("i8", "8").trim_end(), step("i8", "12"));
        assert_eq!(crate::ir::mend(&two).text, wanted);
    }
}
