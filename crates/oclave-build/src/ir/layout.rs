//! Sizes of types, as SPIR's data layouts have them.

use super::{Ir, brackets, fields};

/// Size and alignment in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) size: i64,
    pub(super) align: i64,
}

/// The types of a module.
#[derive(Debug)]
pub(super) struct Layouts<'a> {
    ir: &'a Ir,
    pointer: i64,
}

impl<'a> Layouts<'a> {
    pub(super) fn new(ir: &'a Ir) -> Self {
        let is_narrow = |line: &String| {
            line.starts_with("target triple = \"spir-") || line.starts_with("target triple = \"spirv32")
        };
        Self { ir, pointer: if ir.lines.iter().any(is_narrow) { 4 } else { 8 } }
    }

    pub(super) fn of(&self, ty: &str) -> Option<Layout> {
        let plain = |size| Some(Layout { size, align: size });
        match ty.trim() {
            "i1" | "i8" => plain(1),
            "i16" | "half" | "bfloat" => plain(2),
            "i32" | "float" => plain(4),
            "i64" | "double" => plain(8),
            ty if ty == "ptr" || ty.starts_with("ptr addrspace(") => plain(self.pointer),
            ty if ty.starts_with('%') => self.of(self.definition(ty)?),
            ty => {
                let (members, is_packed) = match ty.strip_prefix('<').filter(|rest| rest.starts_with('{')) {
                    Some(rest) => (rest, true),
                    None => (ty, false),
                };
                let (_, inside, _) = brackets(members)?;
                match members.as_bytes().first()? {
                    b'{' => self.of_struct(inside, is_packed),
                    b'[' => {
                        let (count, element) = self.counted(inside)?;
                        Some(Layout { size: element.size.checked_mul(count)?, align: element.align })
                    }
                    b'<' => {
                        let (count, element) = self.counted(inside)?;
                        let size = element.size.checked_mul(count)?;
                        plain(u64::try_from(size).ok()?.checked_next_power_of_two()?.try_into().ok()?)
                    }
                    _ => None,
                }
            }
        }
    }

    /// How many bytes into a type its element or member `index` lies, and its type.
    pub(super) fn step(&self, ty: &'a str, index: i64) -> Option<(i64, &'a str)> {
        let ty = if ty.starts_with('%') { self.definition(ty)? } else { ty };
        let packed = ty.strip_prefix('<').filter(|rest| rest.starts_with('{'));
        let (_, inside, _) = brackets(packed.unwrap_or(ty))?;
        if packed.unwrap_or(ty).starts_with('{') {
            let members = fields(inside);
            let index = usize::try_from(index).ok()?;
            let (start, _) = self.places(members.get(..=index)?, packed.is_some())?;
            return Some((start, members.get(index)?));
        }
        let (_, element) = inside.split_once(" x ")?;
        Some((index.checked_mul(self.of(element)?.size)?, element))
    }

    fn counted(&self, inside: &str) -> Option<(i64, Layout)> {
        let (count, element) = inside.split_once(" x ")?;
        Some((count.trim().parse().ok()?, self.of(element)?))
    }

    fn of_struct(&self, inside: &str, is_packed: bool) -> Option<Layout> {
        let members = fields(inside);
        let mut align = 1;
        for member in &members {
            align = align.max(if is_packed { 1 } else { self.of(member)?.align });
        }
        let (_, end) = self.places(&members, is_packed)?;
        Some(Layout { size: up(end, align)?, align })
    }

    /// Where the last of some members starts, and where it ends.
    fn places(&self, members: &[&str], is_packed: bool) -> Option<(i64, i64)> {
        let (mut start, mut end) = (0, 0);
        for member in members {
            let layout = self.of(member)?;
            start = up(end, if is_packed { 1 } else { layout.align })?;
            end = start.checked_add(layout.size)?;
        }
        Some((start, end))
    }

    fn definition(&self, name: &str) -> Option<&'a str> {
        self.ir.lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = type "))
    }
}

/// The next multiple of a power of two.
fn up(size: i64, align: i64) -> Option<i64> {
    Some(size.checked_add(align - 1)? & !(align - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_places() {
        let ir =
            Ir::new("%struct.pair = type { i8, %\"class.it's\" }\n%\"class.it's\" = type <{ i8, i32 }>\n");
        let layouts = Layouts::new(&ir);
        for (ty, size, align) in [
            ("i1", 1, 1),
            ("double", 8, 8),
            ("ptr addrspace(4)", 8, 8),
            ("<3 x float>", 16, 16),
            ("<2 x i8>", 2, 2),
            ("[3 x { i8, i16 }]", 12, 2),
            ("{ [3 x ptr], i8 }", 32, 8),
            ("{}", 0, 1),
            ("%struct.pair", 6, 1),
        ] {
            assert_eq!(layouts.of(ty), Some(Layout { size, align }), "{ty}");
        }
        for unknown in ["void", "i31", "%struct.opaque", "[x ptr]", "<{ i8", ""] {
            assert_eq!(layouts.of(unknown), None, "{unknown}");
        }
        assert_eq!(layouts.step("{ i8, [2 x i32], i16 }", 2), Some((12, "i16")));
        assert_eq!(layouts.step("%struct.pair", 1), Some((1, "%\"class.it's\"")));
        assert_eq!(layouts.step("[4 x i32]", -1), Some((-4, "i32")));
        assert_eq!(layouts.step("{ i8 }", 1), None);
        let narrow = Ir::new("target triple = \"spir-unknown-unknown\"\n");
        assert_eq!(Layouts::new(&narrow).of("ptr"), Some(Layout { size: 4, align: 4 }));
    }
}
