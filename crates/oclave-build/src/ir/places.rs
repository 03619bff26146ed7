//! Files, lines and names of functions in the debug information of LLVM's textual form.

use std::collections::BTreeMap;

/// The debug information of a module: number → the words of its node.
pub(crate) struct Places<'m>(BTreeMap<u32, &'m str>);

impl<'m> Places<'m> {
    pub(crate) fn new(module: &'m str) -> Self {
        let nodes = module.lines().filter_map(|line| {
            let (id, words) = line.strip_prefix('!')?.split_once(" = ")?;
            Some((id.parse().ok()?, words))
        });
        Self(nodes.collect())
    }

    /// File, line and column of a location.
    pub(crate) fn of(&self, location: u32) -> Option<(String, u32, u32)> {
        let words = self.0.get(&location)?;
        let mut scope = self.0.get(&number(words, "scope: !")?)?;
        // Blocks lie in functions, which always name their file.
        let file = loop {
            match number(scope, "file: !") {
                Some(file) => break self.0.get(&file)?,
                None => scope = self.0.get(&number(scope, "scope: !")?)?,
            }
        };
        let (_, name) = file.split_once("filename: \"")?;
        let (name, _) = name.split_once('"')?;
        Some((name.to_owned(), number(words, "line: ")?, number(words, "column: ").unwrap_or(0)))
    }

    /// Name, file and line of a function by its own attachment.
    pub(crate) fn function(&self, subprogram: u32) -> Option<(String, String, u32)> {
        let words = self.0.get(&subprogram)?;
        let name = quoted(words, "name: \"")?;
        let file = quoted(self.0.get(&number(words, "file: !")?)?, "filename: \"")?;
        Some((name, file, number(words, "line: ")?))
    }
}

fn quoted(words: &str, key: &str) -> Option<String> {
    let (_, rest) = words.split_once(key)?;
    rest.split_once('"').map(|(text, _)| text.to_owned())
}

/// The number that an attachment `!dbg !N` of a line names.
pub(crate) fn attachment(line: &str) -> Option<u32> {
    line.rsplit_once("!dbg !").and_then(|(_, id)| leading_number(id))
}

fn number(words: &str, key: &str) -> Option<u32> {
    words.split_once(key).and_then(|(_, rest)| leading_number(rest))
}

pub(crate) fn leading_number(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
