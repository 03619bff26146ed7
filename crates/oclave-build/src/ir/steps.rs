//! Address computations in constants, counted in bytes.
//!
//! `getelementptr (i32, ptr @number, i64 1)` is the address behind a number. The translator of LLVM
//! 18 forgets the type, so its result cannot be told from one byte behind. The same happens to
//! every type where the pointer is no variable, but a constant that is computed from one. Newer
//! compilers write bytes (`i8`) themselves.

use std::borrow::Cow;

use super::layout::Layouts;
use super::{Ir, brackets, fields};

const STEP: &str = "getelementptr ";

/// Makes them steps of bytes.
pub(super) fn count_bytes(ir: &mut Ir) {
    let mut changed = Vec::new();
    let layouts = Layouts::new(ir);
    for (number, line) in ir.lines.iter().enumerate().filter(|(_, line)| line.contains(STEP)) {
        let mut line = Cow::from(line);
        let mut from = 0;
        while let Some(at) = line.get(from..).and_then(|rest| rest.find(STEP)).map(|at| from + at) {
            let step = line.get(at..).and_then(|text| in_bytes(&layouts, text));
            if let Some((length, step)) = step {
                line.to_mut().replace_range(at..at + length, &step);
            }
            from = at + STEP.len();
        }
        if let Cow::Owned(line) = line {
            changed.push((number, line));
        }
    }
    for (number, line) in changed {
        if let Some(old) = ir.lines.get_mut(number) {
            *old = line;
        }
    }
}

/// The length of the constant at the start of `text`, and the same in bytes, if its type may be
/// forgotten.
fn in_bytes(layouts: &Layouts<'_>, text: &str) -> Option<(usize, String)> {
    let (head, inside, rest) = brackets(text)?;
    let flags_only = |word: &str| matches!(word, "getelementptr" | "inbounds" | "nuw" | "nusw");
    if !head.split_whitespace().all(flags_only) {
        return None;
    }
    let fields = fields(inside);
    let [ty, pointer, indices @ ..] = fields.as_slice() else { return None };
    let base = pointer.strip_prefix("ptr ")?;
    let base =
        base.strip_prefix("addrspace(").and_then(|rest| Some(rest.split_once(") ")?.1)).unwrap_or(base);
    if base.starts_with('@') && is_aggregate(ty) {
        return None;
    }
    let mut bytes = 0_i64;
    let mut of = None;
    for index in indices {
        let (_, index) = index.strip_prefix("inrange ").unwrap_or(index).split_once(' ')?;
        let index = index.parse::<i64>().ok()?;
        let (step, element) = match of {
            None => (index.checked_mul(layouts.of(ty)?.size)?, *ty),
            Some(of) => layouts.step(of, index)?,
        };
        bytes = bytes.checked_add(step)?;
        of = Some(element);
    }
    Some((text.len() - rest.len(), format!("{head}(i8, {pointer}, i64 {bytes})")))
}

fn is_aggregate(ty: &str) -> bool {
    ty.starts_with(['{', '[', '<', '%'])
}

#[cfg(test)]
mod tests {
    fn step(ty: &str, index: &str) -> String {
        format!(
            "@end = global ptr addrspace(1) getelementptr inbounds ({ty}, ptr addrspace(1) @lone, i64 {index}), align 8\n"
        )
    }

    #[test]
    fn steps_of_scalars_count_bytes() {
        for (before, after) in [
            (step("i32", "1"), step("i8", "4")),
            (step("double", "-2"), step("i8", "-16")),
            (step("i8", "3"), step("i8", "3")),
            (step("%struct.pair", "1"), step("%struct.pair", "1")),
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

    #[test]
    fn steps_from_computed_pointers_count_bytes() {
        let table = "ptr inttoptr (i64 ptrtoint (ptr addrspace(1) @_ZTV6capped to i64) to ptr)";
        let line = |step: &str| format!("@rate = global {{ ptr, i32 }} {{ ptr {step}, i32 50 }}, align 8\n");
        let typed = format!("getelementptr inbounds ({{ [3 x ptr] }}, {table}, i32 0, i32 0, inrange i32 2)");
        let bytes = format!("getelementptr inbounds (i8, {table}, i64 16)");
        assert_eq!(crate::ir::mend(&line(&typed)).text, line(&bytes));
        // The outer one, the inner one, and both.
        let outer = format!("getelementptr ([2 x i64], ptr {typed}, i64 1, i64 1)");
        let wanted = format!("getelementptr (i8, ptr {bytes}, i64 24)");
        assert_eq!(crate::ir::mend(&line(&outer)).text, line(&wanted));
        let unknown = format!("getelementptr (%opaque, {table}, i64 1)");
        assert_eq!(crate::ir::mend(&line(&unknown)).text, line(&unknown));
    }
}
