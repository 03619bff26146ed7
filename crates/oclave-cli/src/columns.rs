//! Text in aligned columns.

use std::io::{self, Write};

/// Widest cell; longer text continues on the next line.
const WIDEST: usize = 60;

/// Prints rows so that the cells of a column begin at the same place. An empty first cell continues
/// the row before.
pub(crate) fn print(out: &mut impl Write, rows: &[Vec<String>]) -> io::Result<()> {
    let wrapped: Vec<Vec<Vec<String>>> =
        rows.iter().map(|row| row.iter().map(|cell| wrap(cell, WIDEST)).collect()).collect();
    let count = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|column| {
            let lines = wrapped.iter().filter_map(|row| row.get(column)).flatten();
            lines.map(|line| line.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in &wrapped {
        let height = row.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let mut text = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let part = cell.get(line).map_or("", String::as_str);
                text.push_str(&format!("{part:<width$}  "));
            }
            writeln!(out, "{}", text.trim_end())?;
        }
    }
    Ok(())
}

/// Breaks a text at blanks into lines of at most `width` characters; a longer word stays whole.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_long_cells_wrap() {
        let long = "word ".repeat(20);
        let rows = [
            vec!["a".into(), "b".into(), "c".into()],
            vec!["long name".into(), long, "end".into()],
            vec![String::new(), "x".into()],
        ];
        let mut out = Vec::new();
        print(&mut out, &rows).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[0].find('b'), Some(11));
        assert_eq!(lines[1].find("end"), lines[0].find('c'));
        assert_eq!(lines[2].find("word"), Some(11));
        assert!(lines.iter().all(|line| !line.ends_with(' ')));
    }
}
