//! Function bodies in source text, found by lines.

use std::collections::BTreeSet;
use std::ops::Range;

/// A body that fits any function, and that needs fp64. So do the kernels that call the function.
const BODY: &str = "{volatile double d;for(;;)d;}";

/// The text with [`BODY`] for the bodies of the functions that have one of the lines; `None` where a
/// line is in no function. Lines are counted from 1, and all keep their numbers.
///
/// Functions in a namespace or a class are not found.
pub(super) fn replace_bodies(text: &str, lines: &BTreeSet<usize>) -> Option<String> {
    let blocks = blocks(text.as_bytes());
    let mut replaced: BTreeSet<usize> = BTreeSet::new();
    for line in lines {
        let index = blocks.iter().position(|block| block.lines.contains(line))?;
        replaced.insert(index);
    }
    let mut new = String::new();
    let mut copied = 0;
    for block in replaced.iter().filter_map(|index| blocks.get(*index)) {
        if !block.is_body {
            return None;
        }
        new.push_str(text.get(copied..block.bytes.start)?);
        new.push_str(BODY);
        new.extend(text.get(block.bytes.clone())?.chars().filter(|c| *c == '\n'));
        copied = block.bytes.end;
    }
    new.push_str(text.get(copied..)?);
    Some(new)
}

/// A pair of braces that is in no other.
#[derive(Debug)]
struct Block {
    bytes: Range<usize>,
    /// From the beginning of its declaration.
    lines: Range<usize>,
    /// Whether it stands behind a list of parameters.
    is_body: bool,
}

fn blocks(text: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut depth, mut line, mut declared_at, mut opened_at) = (0_usize, 1, None, 0);
    let mut last = b'\n';
    let mut is_body = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let end = at + token_length(text, at, last == b'\n');
        match byte {
            b'{' => {
                if depth == 0 {
                    (opened_at, is_body) = (at, last == b')');
                }
                depth += 1;
            }
            b'}' if depth == 1 => {
                let lines = declared_at.unwrap_or(line)..line + 1;
                blocks.push(Block { bytes: opened_at..end, lines, is_body });
                (depth, declared_at) = (0, None);
            }
            b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => declared_at = None,
            _ => {}
        }
        let token = text.get(at..end).unwrap_or_default();
        // Of white space, only the ends of lines matter, for directives. They do not hide a `)`.
        let is_comment = token.starts_with(b"//") || token.starts_with(b"/*");
        let is_blank = is_comment || byte == b'#' && last == b'\n' || byte.is_ascii_whitespace();
        if !is_blank && !matches!((byte, depth), (b'}' | b';', 0)) {
            declared_at.get_or_insert(line);
        }
        line += token.iter().filter(|byte| **byte == b'\n').count();
        if !is_blank {
            last = byte;
        } else if byte == b'\n' && last != b')' {
            last = b'\n';
        }
        at = end;
    }
    blocks
}

/// The length of what begins at a place: a comment, a literal, a directive or a single byte.
fn token_length(text: &[u8], at: usize, is_line_start: bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let until = |end: &[u8]| rest.windows(end.len()).position(|window| window == end);
    match rest {
        [b'/', b'/', ..] => until(b"\n").unwrap_or(rest.len()),
        [b'/', b'*', ..] => until(b"*/").map_or(rest.len(), |end| end + 2),
        [b'#', ..] if is_line_start => {
            let mut escaped = false;
            let ends = |byte: &u8| {
                let is_end = *byte == b'\n' && !escaped;
                escaped = *byte == b'\\';
                is_end
            };
            rest.iter().position(ends).unwrap_or(rest.len())
        }
        [quote @ (b'"' | b'\''), inner @ ..] => {
            let mut escaped = false;
            let ends = |byte: &u8| {
                let is_end = *byte == *quote && !escaped;
                escaped = *byte == b'\\' && !escaped;
                is_end
            };
            inner.iter().position(ends).map_or(rest.len(), |end| end + 2)
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#define BODY() { \\\n }\nconstant float T[] = { 0.1 };\n\n\
        float f(float x) { return x; } // }\n\
        kernel void k(global double *x, /* { */\n              int n)\n// {\n{\n    if (n > '{') { x[0] = 1; }\n    printf(\"}\\\"\");\n}\n\
        kernel void l() {}\n";

    fn replaced(lines: &[usize]) -> Option<String> {
        replace_bodies(TEXT, &lines.iter().copied().collect())
    }

    #[test]
    fn bodies_are_replaced_and_lines_stay() {
        let text = replaced(&[10]).unwrap_or_default();
        let (left, before): (Vec<&str>, Vec<&str>) = (text.lines().collect(), TEXT.lines().collect());
        assert_eq!(left.len(), before.len());
        assert_eq!((&left[..8], left[12]), (&before[..8], before[12]));
        assert_eq!(left[8..12], [BODY, "", "", ""]);
        assert!(replaced(&[5]).unwrap_or_default().contains(&format!("float f(float x) {BODY} // }}\n")));
        assert!(replaced(&[5, 11, 13]).unwrap_or_default().ends_with(&format!("kernel void l() {BODY}\n")));
    }

    #[test]
    fn lines_outside_of_functions_are_refused() {
        assert_eq!(replaced(&[3]), None);
        assert_eq!(replaced(&[99]), None);
        assert_eq!(replaced(&[5, 3]), None);
    }
}
