//! Vectors of more, narrower lanes than SPIR-V has.
//!
//! Clang's optimiser may need a few bits of a lane. It casts the vector to one with lanes of that width,
//! and takes one of these: the first lane of `bitcast <4 x i32> %v to <64 x i2>`. It casts numbers as
//! well. This pass gets the same bits from the number, or the lane of the original vector, by a shift.

use super::function::Function;
use super::text::{Cursor, Ty, definition, tokens};
use super::unknown::Leftover;

/// Replaces such vectors, where nothing but their lanes is used. Gives the first vector of single bits
/// that stays: translators write wrong code of it, and say nothing. Those of other widths are found
/// with the integers of such widths.
pub(super) fn shift(function: &mut Function) -> Option<Leftover> {
    let vectors: Vec<Narrow> = function.lines.iter().filter_map(|line| Narrow::read(line)).collect();
    for vector in vectors {
        vector.replace(function);
    }
    let (line, lanes) =
        function.lines.iter().find_map(|line| bits_without_spirv(line).map(|lanes| (line, lanes)))?;
    Some(Leftover {
        function: function.symbol().to_owned(),
        instruction: line.trim().to_owned(),
        cause: format!("a vector of {lanes} bits"),
    })
}

/// The number of single bits that a line casts something to, if SPIR-V has no such vector.
fn bits_without_spirv(line: &str) -> Option<u32> {
    let (_, ty) = definition(line).1.strip_prefix("bitcast ")?.rsplit_once(" to ")?;
    match Cursor::new(ty).ty() {
        Ty::Vector(lanes, 1) if !has_spirv(lanes) => Some(lanes),
        _ => None,
    }
}

/// Whether SPIR-V has vectors of so many lanes.
fn has_spirv(lanes: u32) -> bool {
    matches!(lanes, 2 | 3 | 4 | 8 | 16)
}

/// Whether a line has such a vector.
pub(super) fn has_narrow_lanes(line: &str) -> bool {
    line.contains("bitcast ") && (Narrow::read(line).is_some() || bits_without_spirv(line).is_some())
}

/// A vector that a line makes of a number, or of a vector with wider lanes.
struct Narrow {
    name: String,
    from: String,
    /// Number and width of the lanes there; no lanes of a number.
    wide: (Option<u32>, u32),
    /// Number and width of the new ones.
    narrow: (u32, u32),
}

impl Narrow {
    fn read(line: &str) -> Option<Self> {
        let (name, rest) = definition(line);
        let mut cursor = Cursor::new(rest);
        if !cursor.take("bitcast") {
            return None;
        }
        let (lanes, bits) = match cursor.ty() {
            Ty::Vector(lanes, bits) => (Some(lanes), bits),
            Ty::Int(bits) => (None, bits),
            _ => return None,
        };
        let from = cursor.value();
        cursor.take("to");
        let Ty::Vector(count, width) = cursor.ty() else { return None };
        let is_known = has_spirv(count) && matches!(width, 8 | 16 | 32 | 64);
        let is_narrow = !is_known && width < bits && width > 0 && bits.is_multiple_of(width) && bits <= 64;
        is_narrow.then(|| Self {
            name: name.to_owned(),
            from: from.to_owned(),
            wide: (lanes, bits),
            narrow: (count, width),
        })
    }

    fn replace(&self, function: &mut Function) {
        let uses = |line: &&String| {
            definition(line).0 != self.name && tokens(line).iter().any(|(_, token)| *token == self.name)
        };
        if !function.lines.iter().filter(uses).all(|line| self.lane(line).is_some()) {
            return;
        }
        let lines = std::mem::take(&mut function.lines);
        for line in lines {
            let (name, _) = definition(&line);
            match self.lane(&line) {
                Some(lane) => {
                    let ((lanes, bits), (_, width)) = (self.wide, self.narrow);
                    let bit = lane * width;
                    let wide = match lanes {
                        Some(lanes) => {
                            let wide = function.fresh();
                            let (from, at) = (&self.from, bit / bits);
                            function.lines.push(format!(
                                "  {wide} = extractelement <{lanes} x i{bits}> {from}, i64 {at}"
                            ));
                            wide
                        }
                        None => self.from.clone(),
                    };
                    let shifted = function.fresh();
                    function.lines.push(format!("  {shifted} = lshr i{bits} {wide}, {}", bit % bits));
                    function.lines.push(format!("  {name} = trunc i{bits} {shifted} to i{width}"));
                }
                None if name == self.name => {}
                None => function.lines.push(line),
            }
        }
    }

    /// The number of the lane that a line takes.
    fn lane(&self, line: &str) -> Option<u32> {
        let mut cursor = Cursor::new(definition(line).1);
        if !cursor.take("extractelement") {
            return None;
        }
        let is_this = cursor.ty() == Ty::Vector(self.narrow.0, self.narrow.1) && cursor.value() == self.name;
        if !is_this || !cursor.take(",") {
            return None;
        }
        cursor.ty();
        cursor.value().parse().ok().filter(|lane| *lane < self.narrow.0)
    }
}

#[cfg(test)]
mod tests {
    const HEAD: &str = "define void @k(<4 x i32> %v) {\n";

    #[test]
    fn lanes_are_shifted() {
        let text = format!(
            "{HEAD}  %n = bitcast <4 x i32> %v to <64 x i2>\n  %a = extractelement <64 x i2> %n, i64 0\n  %b = extractelement <64 x i2> %n, i64 37\n  %c = icmp eq i2 %a, %b\n  ret void\n}}\n"
        );
        let mended = crate::ir::mend(&text);
        assert!(mended.leftovers.is_empty(), "{mended:?}");
        for wanted in
            ["<4 x i32> %v, i64 0", "<4 x i32> %v, i64 2", "lshr i32 %oclave.new3, 10", "icmp eq i8"]
        {
            assert!(mended.text.contains(wanted), "{wanted}: {}", mended.text);
        }
        assert!(!mended.text.contains("i2>"), "{}", mended.text);
    }

    #[test]
    fn bytes_of_long_vectors_are_shifted() {
        let text = "define void @k(<8 x i64> %v) {\n  %n = bitcast <8 x i64> %v to <64 x i8>\n  %a = extractelement <64 x i8> %n, i32 9\n  ret void\n}\n";
        let mended = crate::ir::mend(text).text;
        assert!(mended.contains("extractelement <8 x i64> %v, i64 1\n"), "{mended}");
        assert!(
            mended.contains(", 8\n") && mended.contains("trunc i64") && !mended.contains("bitcast"),
            "{mended}"
        );
        // What the translator takes stays.
        let text =
            "define void @k(<4 x i32> %v) {\n  %n = bitcast <4 x i32> %v to <16 x i8>\n  ret void\n}\n";
        assert_eq!(crate::ir::mend(text).text, text);
    }

    #[test]
    fn single_bits_and_lanes_of_numbers_are_shifted() {
        let text = "define void @k(<4 x i32> %v, i64 %w) {\n  %n = bitcast <4 x i32> %v to <128 x i1>\n  \
                    %a = extractelement <128 x i1> %n, i64 70\n  %m = bitcast i64 %w to <32 x i2>\n  \
                    %b = extractelement <32 x i2> %m, i64 5\n  ret void\n}\n";
        let mended = crate::ir::mend(text);
        assert!(mended.leftovers.is_empty(), "{mended:?}");
        for wanted in ["<4 x i32> %v, i64 2", ", 6\n", "to i1\n", "lshr i64 %w, 10"] {
            assert!(mended.text.contains(wanted), "{wanted}: {}", mended.text);
        }
        assert!(!mended.text.contains("bitcast"), "{}", mended.text);
    }

    #[test]
    fn a_vector_that_is_used_as_one_is_named() {
        let text = format!(
            "{HEAD}  %n = bitcast <4 x i32> %v to <64 x i2>\n  %a = add <64 x i2> %n, %n\n  ret void\n}}\n"
        );
        assert_eq!(crate::ir::mend(&text).leftovers.len(), 1);
        // Of floats, a shift would need another cast.
        for text in [text.replace("<64 x i2>", "<128 x i1>"), text.replace("<4 x i32>", "<4 x float>")] {
            assert_eq!(crate::ir::mend(&text).leftovers.len(), 1, "{text}");
        }
        let bits = "define void @k(<4 x float> %v) {\n  %n = bitcast <4 x float> %v to <128 x i1>\n  \
                    %a = extractelement <128 x i1> %n, i64 3\n  ret void\n}\n";
        assert_eq!(crate::ir::mend(bits).leftovers.len(), 1);
    }
}
