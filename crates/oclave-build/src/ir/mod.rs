//! LLVM IR as text: what clang writes is mended here before other tools read it.
//!
//! Each mend is a module of its own with a function that takes an [`Ir`]; [`mend`] calls them all.
//! They look at single lines, which are complete definitions or instructions in what clang prints,
//! and must cope with typed (`i8*`) and opaque (`ptr`) pointers.

mod address_spaces;
mod annotations;
mod convergent;
mod freeze;
mod function;
mod inline;
mod intrinsics;
mod lanes;
mod language;
mod layout;
mod limbs;
pub(crate) mod places;
mod steps;
mod tables;
mod text;
mod unknown;
mod virtual_calls;
mod vtables;
mod widths;

pub(crate) use convergent::{
    KEEP_CALLS_APART, calls_group_functions, keep_convergent_calls_apart, merges_convergent_calls,
};
pub(crate) use function::symbol;
pub(crate) use inline::share as share_inline;
pub(crate) use text::replace_tokens;
pub(crate) use unknown::Leftover;
pub(crate) use virtual_calls::WANTED as CLASSES_WANTED;
pub(crate) use vtables::constructs_by_tables;

/// A module as clang prints it, line by line.
#[derive(Debug)]
pub(crate) struct Ir {
    pub(crate) lines: Vec<String>,
}

/// A module as the linker and the translator take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mended {
    pub(crate) text: String,
    /// What the translator will refuse.
    pub(crate) leftovers: Vec<Leftover>,
}

/// Makes of a module what the linker and the translator take.
pub(crate) fn mend(text: &str) -> Mended {
    let mut ir = Ir::new(text);
    language::call_it_c(&mut ir);
    annotations::drop_arguments(&mut ir);
    tables::move_to_global_memory(&mut ir);
    vtables::name_functions(&mut ir);
    address_spaces::cast(&mut ir);
    address_spaces::move_constructors(&mut ir);
    steps::count_bytes(&mut ir);
    let leftovers = unknown::replace(&mut ir);
    limbs::rename_members(&mut ir);
    Mended { text: ir.text(), leftovers }
}

/// Whether the pointers of this clang have types when it compiles for SPIR-V.
pub(crate) fn has_typed_pointers(clang: u32) -> bool {
    clang <= 15
}

/// Whether this clang must be told that text has typed pointers. Clang 15 takes text without any
/// pointer for text with opaque pointers, and then does not link it with others. Older ones know no
/// others.
pub(crate) fn needs_typed_pointers_option(clang: u32) -> bool {
    clang == 15
}

impl Ir {
    pub(crate) fn new(text: &str) -> Self {
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }

    /// The line that defines or declares a variable or function of module scope: `@name = …`.
    pub(crate) fn global(&mut self, name: &str) -> Option<&mut String> {
        self.lines.iter_mut().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" = ")))
    }
}

/// The parts between the commas that are outside of all brackets and strings.
pub(crate) fn fields(text: &str) -> Vec<&str> {
    let (mut fields, mut start) = (Vec::new(), 0);
    for (at, depth, byte) in outline(text) {
        if depth == 0 && byte == b',' {
            fields.extend(text.get(start..at).map(str::trim));
            start = at + 1;
        }
    }
    let last = text.get(start..).unwrap_or_default().trim();
    if !last.is_empty() {
        fields.push(last);
    }
    fields
}

/// What stands before, in and after the first pair of brackets of any kind: `a (b) c` is `a `, `b`
/// and ` c`.
pub(crate) fn brackets(text: &str) -> Option<(&str, &str, &str)> {
    let mut open = None;
    for (at, depth, byte) in outline(text) {
        match byte {
            b'(' | b'[' | b'{' | b'<' if depth == 1 => open = open.or(Some(at)),
            b')' | b']' | b'}' | b'>' if depth == 0 => {
                let open = open?;
                return Some((text.get(..open)?, text.get(open + 1..at)?, text.get(at + 1..)?));
            }
            _ => {}
        }
    }
    None
}

/// The name of module scope at the beginning of a text, in quotation marks if it has some; it
/// stands behind an `@`.
pub(crate) fn leading_symbol(text: &str) -> &str {
    let length = match text.strip_prefix('"') {
        Some(rest) => rest.find('"').map_or(0, |end| end + 2),
        None => {
            text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.$-".contains(byte)).count()
        }
    };
    text.get(..length).unwrap_or_default()
}

/// The bytes outside of strings with their places, and the depth of brackets behind each.
fn outline(text: &str) -> impl Iterator<Item = (usize, usize, u8)> {
    let (mut quoted, mut depth) = (false, 0_usize);
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        // LLVM writes a quotation mark in a string as \22.
        if byte == b'"' {
            quoted = !quoted;
        }
        if quoted {
            return None;
        }
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((at, depth, byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_outside_of_brackets_and_strings() {
        assert_eq!(fields(r#"{ ptr, i32 } { ptr @a, i32 1 }, c"a,\22,", <2 x i8> zeroinitializer"#).len(), 3);
        assert_eq!(
            fields("i8* bitcast (i32 (i32, i32)* @f to i8*), i32 7"),
            ["i8* bitcast (i32 (i32, i32)* @f to i8*)", "i32 7"]
        );
        assert!(fields("  ").is_empty());
    }

    #[test]
    fn brackets_are_balanced() {
        assert_eq!(brackets("[2 x { i8, i8 }] [a]"), Some(("", "2 x { i8, i8 }", " [a]")));
        assert_eq!(brackets(r#"section "(" (x)"#), Some((r#"section "(" "#, "x", "")));
        assert_eq!(brackets("none"), None);
        assert_eq!(brackets("(open"), None);
    }

    #[test]
    fn a_module_keeps_its_lines() {
        let text = "target triple = \"spir64\"\n\n@a = global i32 0\n@ab = global i32 1\n";
        let mut ir = Ir::new(text);
        assert_eq!(ir.text(), text);
        assert_eq!(ir.global("@a").map(|line| line.clone()).as_deref(), Some("@a = global i32 0"));
        assert!(ir.global("@b").is_none());
    }
}
