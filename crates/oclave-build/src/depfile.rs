//! Reads the dependency files that clang and rustc write for make.

use std::path::PathBuf;

/// The prerequisites of the first rule. Make's escapes: `\ ` for a space, `\#`, `$$`, and a
/// backslash before a line end.
pub(crate) fn prerequisites(text: &str) -> Vec<PathBuf> {
    let text = text.replace("\r\n", "\n");
    let Some(colon) = rule_colon(&text) else { return Vec::new() };
    let mut paths = Vec::new();
    let mut path = String::new();
    let mut chars = text.get(colon + 1..).unwrap_or_default().chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
                finish(&mut path, &mut paths);
            }
            ('\\', Some(&escaped @ (' ' | '#'))) => {
                chars.next();
                path.push(escaped);
            }
            ('$', Some('$')) => {
                chars.next();
                path.push('$');
            }
            ('\n', _) => break,
            (c, _) if c.is_whitespace() => finish(&mut path, &mut paths),
            (c, _) => path.push(c),
        }
    }
    finish(&mut path, &mut paths);
    paths
}

/// The variables of the environment that a source in Rust reads, as rustc lists them in comments:
/// `# env-dep:NAME=VALUE`, or `# env-dep:NAME` where it is not set. Those that cargo sets are left out.
pub(crate) fn variables(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("# env-dep:")?.split('=').next());
    names.filter(|name| !name.starts_with("CARGO_") && *name != "OUT_DIR").map(str::to_owned).collect()
}

/// The colon after the target is followed by a space; that of `C:\x` is not.
fn rule_colon(text: &str) -> Option<usize> {
    text.match_indices(':')
        .map(|(at, _)| at)
        .find(|at| text.get(at + 1..).and_then(|rest| rest.chars().next()).is_none_or(char::is_whitespace))
}

fn finish(path: &mut String, paths: &mut Vec<PathBuf>) {
    if !path.is_empty() {
        paths.push(PathBuf::from(std::mem::take(path)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        prerequisites(text).into_iter().map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn continuation_lines_and_escapes() {
        let text = "a.bc: kernels/a.cl kernels/my\\ header.h \\\n  inc/x\\#y.h c$$d.h \\\r\n  C:\\k\\z.h\nother: no.h\n";
        assert_eq!(read(text), ["kernels/a.cl", "kernels/my header.h", "inc/x#y.h", "c$d.h", "C:\\k\\z.h"]);
    }

    #[test]
    fn variables_are_in_comments() {
        let text = "a.d: a.rs\n\na.rs:\n\n# env-dep:SEED=1=2\n# env-dep:NONE\n# env-dep:CARGO_PKG_NAME=x\n";
        assert_eq!(variables(text), ["SEED", "NONE"]);
        assert!(variables("a.d: a.rs\n").is_empty());
    }

    #[test]
    fn odd_files_give_nothing() {
        assert!(read("").is_empty());
        assert!(read("no rule here").is_empty());
        assert!(read("a.bc:").is_empty());
        assert!(read("C:\\a.bc: \n").is_empty());
    }
}
