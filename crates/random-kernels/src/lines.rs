//! Indented lines of a source.

use std::fmt::Write;

/// A source that is written line by line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) text: String,
    depth: usize,
}

impl Lines {
    /// A line at the depth of the block around it.
    pub(crate) fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 4 * self.depth);
    }

    /// The line before a block.
    pub(crate) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// The line after a block.
    pub(crate) fn close(&mut self, line: &str) {
        self.depth -= 1;
        self.line(line);
    }

    /// The line between two blocks.
    pub(crate) fn between(&mut self, line: &str) {
        self.close(line);
        self.depth += 1;
    }
}
